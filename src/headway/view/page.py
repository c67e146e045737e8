"""HTML and SVG from the templates in `templates`, which escape all text.

Every page is one document with its style, its script and its data, and works from a file. Its
content policy makes the browser refuse any other script and any request.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from .bundle import asset, bundle_script

if TYPE_CHECKING:
    from jinja2 import Environment

# Not allowed in HTML, or (lone surrogates) impossible to write as UTF-8.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def text(value: object) -> str:
    """The value as HTML text or attribute value, for drawings that use no template."""
    return str(escape(_allowed(str(value))))


def render(template: str, **values: Any) -> str:
    """The document of a template with these values."""
    return _environment().get_template(template).render(values)


def render_page(template: str, script: str, live: bool = False, **values: Any) -> str:
    """One self-contained HTML page.

    Args:
        script: entry module in `assets`, without its suffix.
        live: whether the page sends requests to its own server.
    """
    return render(template, policy=content_policy(script, live), script=script, live=live, **values)


def notebook_frame(page: str, height: int) -> str:
    """An inline frame for a notebook that isolates the styles and scripts of a page."""
    return render("frame.html", page=page, height=height)


def content_policy(script: str, live: bool = False) -> str:
    """The content security policy under which only this page's script runs.

    A page can send no requests; a live page can send them to its own server only.
    """
    digest = base64.b64encode(hashlib.sha256(_script_text(script).encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    policy += "; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{policy}; connect-src 'self'" if live else policy


@cache
def _environment() -> "Environment":
    from jinja2 import (  # here, because most commands draw nothing
        Environment,
        PackageLoader,
        StrictUndefined,
    )

    environment = Environment(
        loader=PackageLoader("headway.view"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_allowed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Files of this package are the only text that enters a page as markup.
    environment.globals["style"] = lambda *names: Markup("".join(map(asset, names)))
    environment.globals["script_text"] = lambda entry: Markup(_script_text(entry))
    environment.policies["json.dumps_function"] = _dump_json
    environment.policies["json.dumps_kwargs"] = {}
    return environment


def _allowed(value: Any) -> Any:
    """The value, with U+FFFD for characters that are forbidden in a page."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _FORBIDDEN.sub("\ufffd", value)
    return value


def _script_text(entry: str) -> str:
    return f"\n{bundle_script(entry)}"


def _dump_json(data: Any) -> str:
    """JSON that can be written as UTF-8, with null for numbers that are not finite."""
    try:
        dumped = _dump_finite(data)
    except ValueError:  # a loss that is not finite
        dumped = _dump_finite(_finite(data))
    return _SURROGATES.sub(lambda lone: f"\\u{ord(lone[0]):04x}", dumped)


def _dump_finite(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """The data with None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
