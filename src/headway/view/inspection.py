"""The page of one inspection: outputs, attention, and all of its data for scripts."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.view.heatmap import heatmap
from headway.view.page import Section, page, text


def inspection_page(data: Mapping[str, Any]) -> str:
    """One self-contained HTML document from the plain data of an inspection."""
    name = data["run"]["name"]
    shown = data["outputs"][0] if data["outputs"] else None
    body = "".join(
        f'<li dir="auto">{text(output["text"])} ({output["score"] or 0.0:.4f})</li>'
        for output in data["outputs"]
    )
    sections = [Section("Outputs", f"<ol>{body}</ol>")]
    if shown and shown["attention"]:
        part = shown["attention"][-1]
        sections.append(Section("Attention", _picture(data, shown, part)))
    # In a script, only `<` could end it.
    embedded = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    sections.append(Section("", f'<script type="application/json" id="data">{embedded}</script>'))
    source = data["source"] or {"text": shown["text"] if shown else ""}
    return page(f"{name}: inside", sections, source["text"])


def _picture(data: Mapping[str, Any], output: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    shared = data["memory"].get(part["name"], {})
    if part["form"] == "weights":
        weights = _numbers(part["weights"])
    else:
        query, key = _numbers(part["query"]), _numbers(part.get("key") or shared["key"])
        scores = part["scale"] * query @ key.transpose(0, 2, 1)
        if part["causal"]:
            scores = np.where(np.triu(np.ones(scores.shape[1:], bool), 1), -np.inf, scores)
        raised = np.exp(scores - scores.max(-1, keepdims=True))
        weights = raised / raised.sum(-1, keepdims=True)
    columns = [data["begin"], *output["tokens"][:-1]]
    if part["columns"] == "source":
        columns = data["source"]["tokens"]
    return heatmap(weights.mean(0).tolist(), output["tokens"], columns, part["name"])


def _numbers(tensor: Mapping[str, Any]) -> np.ndarray:
    dtype = {"float16": "<f2", "float32": "<f4"}[tensor["dtype"]]
    found = np.frombuffer(base64.b64decode(tensor["data"]), dtype).reshape(tensor["shape"])
    return found.astype(np.float32)
