"""An inspection as JSON of bounded size: tensors in base64; what does not fit is left out and said.

First the precision is halved. Then, in the order of what is missed least, the matrices behind the
heads go, the attention of all outputs but the best, values and embeddings, and single layers.
"""

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .close_look import Inputs, Part

if TYPE_CHECKING:
    from .inspection import Inspected, Inspection

FORMAT = 1
LIMIT = 8 * 2**20
"""Bytes of JSON that a page should not exceed."""
TENSOR = 64
"""Bytes of a tensor beside its numbers."""
SHARED = {"cross": ("key", "value", "out", "bias"), "decoder": ("out", "bias")}
"""What is the same for all outputs, by the kind of attention."""

Plain = dict[str, Any]


@dataclass(frozen=True)
class Packing:
    """What is packed, and how.

    Attributes:
        steps: whether values and embeddings are.
        without: names of attentions that are not.
    """

    half: bool = False
    projections: bool = True
    every_output: bool = True
    steps: bool = True
    without: tuple[str, ...] = ()

    def left_out(self) -> Iterator[str]:
        """For a person."""
        if not self.projections:
            yield "what each head adds behind its sum"
        if not self.every_output:
            yield "attention of all outputs but the best"
        if not self.steps:
            yield "values and embeddings"
        yield from self.without

    def part(self, part: Part, only: Callable[[str], bool] = lambda name: True) -> Plain:
        """One attention; `only` chooses among its tensors."""
        rows = "source" if part.kind == "encoder" else "target"
        columns = "target" if part.kind == "decoder" else "source"
        found = {"name": part.name, "kind": part.kind, "layer": part.layer}
        found |= {"heads": len(part.weights), "rows": rows, "columns": columns}
        found |= {"causal": part.causal, "form": "weights" if part.scale is None else "dot"}
        if part.scale is not None:
            found["scale"] = part.scale
        return found | {name: t for name, t in self.tensors(part).items() if only(name)}

    def tensors(self, part: Part) -> dict[str, np.ndarray | None]:
        names = ("weights",) if part.scale is None else ("query", "key")
        found = {name: getattr(part, name) for name in names}
        found["value"] = part.value if self.steps else None
        for name in ("out", "bias"):
            found[name] = getattr(part, name) if self.projections else None
        return found

    def has(self, part: Part) -> bool:
        return part.name not in self.without

    def inputs(self, inputs: Inputs | None) -> Plain | None:
        if inputs is None or not self.steps:
            return None
        return {"embedding": inputs[0], "position": inputs[1]}


def pack(inspection: "Inspection", limit: int = LIMIT) -> Plain:
    """Plain data, `limit` bytes of JSON at most unless the rest alone is larger."""
    for packing in _packings(inspection):
        tree = _tree(inspection, packing, limit)
        if _size(tree, packing.half) <= limit:
            break
    packed: Plain = plain(tree, packing.half)
    return packed


def dumped(packed: Plain) -> str:
    """JSON as every reader takes it, in one line."""
    return json.dumps(packed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def tensor(values: np.ndarray, half: bool) -> Plain:
    """Numbers in base64; those that half precision cannot hold stay as they are."""
    fits = half and (values.size == 0 or np.abs(values).max() <= np.finfo(np.float16).max)
    packed = np.ascontiguousarray(values, "<f2" if fits else "<f4")
    return {
        "shape": list(values.shape),
        "dtype": "float16" if fits else "float32",
        "data": base64.b64encode(packed.tobytes()).decode("ascii"),
    }


def unpacked(packed: Mapping[str, Any]) -> np.ndarray:
    """The numbers of a tensor."""
    dtype = {"float16": "<f2", "float32": "<f4"}[packed["dtype"]]
    return np.frombuffer(base64.b64decode(packed["data"]), dtype).reshape(packed["shape"])


def _packings(inspection: "Inspection") -> Iterator[Packing]:
    """From all to the least."""
    yield Packing()
    half = Packing(half=True)
    yield half
    yield replace(half, projections=False)
    if sum(one.parts is not None for one in inspection.outputs) > 1:
        half = replace(half, every_output=False)
        yield half
    half = replace(half, projections=False)
    yield half
    half = replace(half, steps=False)
    yield half
    parts = [*inspection.encoder, *(p for one in inspection.outputs for p in one.parts or ())]
    without: dict[str, None] = {}
    for kind in ("decoder", "encoder", "cross"):
        for part in parts:
            if part.kind == kind and part.name not in without:
                without[part.name] = None
                yield replace(half, without=tuple(without))


def _tree(inspection: "Inspection", packing: Packing, limit: int) -> Plain:
    """All of it, with arrays where tensors will be."""
    i, background = inspection, inspection.background
    looked = [number for number, one in enumerate(i.outputs) if one.parts is not None]
    shown = looked if packing.every_output else looked[:1]
    return {
        "format": FORMAT,
        "precision": "half" if packing.half else "full",
        "limit": limit,
        "left_out": list(packing.left_out()),
        "kind": i.kind,
        "begin": i.begin,
        "run": background.run,
        "source": None if i.tokens is None else {"text": i.text, "tokens": i.tokens},
        "search": i.search,
        "outputs": [_output(one, number in shown, packing) for number, one in enumerate(i.outputs)],
        "encoder": [packing.part(part) for part in i.encoder if packing.has(part)],
        "memory": _memory(i.outputs[shown[0]], packing) if shown else {},
        "inputs": packing.inputs(i.inputs),
        "trace": i.trace,
        "positions": background.positions,
        "training": {"rows": background.rows} if background.rows else None,
    }


def _output(one: "Inspected", is_shown: bool, packing: Packing) -> Plain:
    output = one.output
    attention = None
    if is_shown:
        attention = [
            packing.part(part, lambda name, part=part: name not in SHARED[part.kind])  # type: ignore[misc]
            for part in one.parts or ()
            if packing.has(part)
        ]
    return {
        "text": output.text,
        "tokens": output.tokens,
        "log_prob": output.log_prob,
        "score": output.score,
        "token_log_probs": output.token_log_probs,
        "finished": output.finished,
        "unmet": output.unmet,
        "proven": output.proven,
        "top": one.top,
        "inputs": packing.inputs(one.inputs) if is_shown else None,
        "attention": attention,
        "words": one.words,
        "span": one.span,
        "value": one.value,
    }


def _memory(one: "Inspected", packing: Packing) -> Plain:
    """What the parts of all outputs share, by name."""
    return {
        part.name: {
            name: values
            for name, values in packing.tensors(part).items()
            if name in SHARED[part.kind]
        }
        for part in one.parts or ()
        if packing.has(part)
    }


def _size(tree: Plain, half: bool) -> int:
    """Bytes of JSON, without making it."""
    n_numbers, n_tensors = 0, 0

    def count(values: Any) -> None:
        nonlocal n_numbers, n_tensors
        n_numbers, n_tensors = n_numbers + values.size, n_tensors + 1

    rest = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), default=count)
    n_bytes = n_numbers * (2 if half else 4)
    return len(rest.encode("utf-8", "replace")) + n_bytes * 4 // 3 + n_tensors * TENSOR


def plain(value: Any, half: bool = False) -> Any:
    """With tensors for arrays, and nothing that JSON or UTF-8 does not have."""
    if isinstance(value, np.ndarray):
        return tensor(value, half)
    if isinstance(value, Mapping):
        return {name: plain(one, half) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, half) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):  # a log may hold half of a character, which no UTF-8 can
        return value.encode("utf-8", "replace").decode("utf-8")
    return value
