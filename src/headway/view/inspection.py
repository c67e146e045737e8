"""The inspection page: outputs, search, attention, positions and training of a model.

It draws one object of plain data. A live page sends requests to its own server.
"""

from collections.abc import Mapping
from typing import Any

from .page import content_policy, render_page

_SCRIPT = "inspection_page"


def inspection_page(data: Mapping[str, Any] | None, live: bool = False) -> str:
    """One self-contained HTML document.

    Args:
        data: an inspection; None for a live page before its first request.
        live: whether the page sends requests to its own server.
    """
    run = (data or {}).get("run") or {}
    title = run.get("name") or "headway"
    return render_page("inspection.html", _SCRIPT, live, title=title, data=data)


def page_policy(live: bool) -> str:
    """The content security policy of the page, for a server to repeat in its header."""
    return content_policy(_SCRIPT, live)
