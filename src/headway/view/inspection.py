"""The page on which a model is watched at work: outputs, search, attention, positions, training.

The scripts and styles in `assets` are plain modules; they are joined here into one document that
works from a file. What it shows is one object of plain data, made elsewhere; live, the page asks
the server that gave it out, and no one else.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from headway.view.page import text
from headway.view.style import CHART, COLOURS

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


def inspection_page(data: Mapping[str, Any] | None, live: bool = False) -> str:
    """One self-contained HTML document.

    Args:
        data: an inspection; None for a live page on which nothing has been asked yet.
        live: whether the page talks to the server it came from.
    """
    script = script_of("main")
    run = (data or {}).get("run") or {}
    return _PAGE.format(
        policy=text(page_policy(live)),
        title=text(run.get("name") or "headway"),
        style=COLOURS + CHART + asset("inspection.css"),
        live='<div id="live"></div>' if live else "",
        data=_embedded(data),
        script=script,
    )


def asset(name: str) -> str:
    """The text of a file in `assets`."""
    return resources.files("headway.view").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def script_of(entry: str) -> str:
    """A module and all it imports as one script: each in a scope of its own, in order of need."""
    scopes: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"{name}.js imports itself through {' and '.join(above)}")
        if name in scopes:
            return
        source = asset(f"{name}.js")
        for _, needed in _IMPORT.findall(source):
            add(needed, (*above, name))
        exported = ", ".join(_EXPORT.findall(source))
        body = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = $\2;\n", source))
        scopes[name] = f"const ${name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    add(entry, ())
    return "".join(scopes.values())


def page_policy(live: bool) -> str:
    """With this the browser itself sees to it that only our script runs and no one else is asked.

    It stands in the page; a server says the same in its header.
    """
    script = script_of("main")
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    policy += "; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{policy}; connect-src 'self'" if live else policy


def _embedded(data: Mapping[str, Any] | None) -> str:
    """JSON that cannot end its element and can be written as UTF-8, whatever text is in it."""
    try:
        words = _dumped(data)
    except ValueError:  # a loss that ran away
        words = _dumped(_finite(data))
    words = re.sub("[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", words)
    return words.replace("<", "\\u003c")


def _dumped(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """Numbers that JSON has no word for become null."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<div><h1 id="name" dir="auto"></h1><p id="about" class="subtitle"></p></div>
<details id="more" hidden>
<summary>About this run</summary><dl id="facts" class="facts"></dl>
</details>
</header>
{live}
<div id="sentences"></div>
<p id="missing" class="quiet small"></p>
<nav><div id="tabs" role="tablist" aria-label="Views"></div><div id="which"></div></nav>
<main id="view" role="tabpanel"></main>
<p id="said" class="unseen" aria-live="polite"></p>
<noscript><p>This page needs JavaScript; it is all inside the page.</p></noscript>
<script type="application/json" id="inspection">{data}</script>
<script type="module">
{script}</script>
</body>
</html>
"""
