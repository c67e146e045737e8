"""The inspection page: outputs, search, attention, positions and training of a model at work.

It draws one object of plain data, made elsewhere. A live page asks the server it came from.
"""

from collections.abc import Mapping
from typing import Any

from .page import content_policy, render_page

_SCRIPT = "inspection_page"


def inspection_page(data: Mapping[str, Any] | None, live: bool = False) -> str:
    """One self-contained HTML document.

    Args:
        data: an inspection; None for a live page on which nothing has been asked yet.
        live: whether the page talks to the server it came from.
    """
    run = (data or {}).get("run") or {}
    title = run.get("name") or "headway"
    return render_page("inspection.html", _SCRIPT, live, title=title, data=data)


def page_policy(live: bool) -> str:
    """The content security policy of the page, for a server to repeat in its header."""
    return content_policy(_SCRIPT, live)
