"""The frame every page shares: head, sections, and the one escaping function.

Pictures and tables are made elsewhere and arrive here as finished HTML.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway.view.style import STYLE

# Not allowed in HTML, or (lone surrogates) impossible to write as UTF-8.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

# The browser itself enforces that a page asks for nothing, even if something slipped through.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A part of a page; `body` is finished HTML whose text has gone through `text`."""

    title: str
    body: str


def text(value: object) -> str:
    """Any value as HTML text or attribute value: the only way foreign text enters a page."""
    return html.escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True)


def page(title: str, sections: Sequence[Section], subtitle: str = "") -> str:
    """A complete HTML document; title and subtitle are plain text."""
    below = f'<p class="subtitle" dir="auto">{text(subtitle)}</p>' if subtitle else ""
    body = "\n".join(_section(section) for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">
<link rel="icon" href="data:,">
<title>{text(title)}</title>
<style>
{STYLE}</style>
</head>
<body>
<header><h1 dir="auto">{text(title)}</h1>{below}</header>
<main>
{body}
</main>
</body>
</html>
"""


def _section(section: Section) -> str:
    heading = f'<h2 dir="auto">{text(section.title)}</h2>\n' if section.title else ""
    return f"<section>\n{heading}{section.body}\n</section>"
