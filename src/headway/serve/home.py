"""The page at `/`: what is served and where it is described. Foreign text enters through `text`."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..view.page import Section, page, text


def home_page(models: Sequence[Mapping[str, Any]]) -> str:
    """A page of the models that are served; without any, where a token is needed to see them."""
    rows = "".join(
        f"<tr><td>{text(model['name'])}</td><td>{text(model['task'])}</td>"
        f"<td>{text(model['family'])}</td><td>{text(model['parameters'])}</td>"
        f"<td>{text(', '.join('/' + verb for verb in model['verbs']))}</td></tr>"
        for model in models
    )
    head = "<tr><th>Model</th><th>Task</th><th>Family</th><th>Parameters</th><th>Ask</th></tr>"
    table = f"<table>{head}{rows}</table>" if models else "<p>GET /models lists them.</p>"
    described = '<p>Requests and answers are described in <a href="openapi.json">OpenAPI</a>.</p>'
    return page("headway", [Section("Models", table), Section("Asking", described)])
