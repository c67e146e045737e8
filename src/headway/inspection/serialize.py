"""An inspection as JSON of bounded size: tensors in base64, with a list of what is left out.

If it is too large, the precision is halved. Then these are left out in turn: output projections,
the attention of all outputs but the best, values and embeddings, single layers.
"""

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .attention import AttentionTrace, Inputs

if TYPE_CHECKING:
    from .inspection import InspectedOutput, Inspection

FORMAT = 1
LIMIT = 8 * 2**20
"""Largest size of the JSON of a page, in bytes."""
TENSOR = 64
"""Bytes of JSON for a tensor besides its numbers."""
SHARED = {"cross": ("key", "value", "out", "bias"), "decoder": ("out", "bias")}
"""Tensors that all outputs share, by type of attention."""

Plain = dict[str, Any]


@dataclass(frozen=True)
class Packing:
    """The parts of an inspection that are packed, and their precision.

    Attributes:
        half: whether numbers have half precision.
        projections: whether output projections are packed.
        every_output: whether all outputs have attention, or only the best.
        steps: whether values and embeddings are packed.
        without: names of attention layers that are left out.
    """

    half: bool = False
    projections: bool = True
    every_output: bool = True
    steps: bool = True
    without: tuple[str, ...] = ()

    def left_out(self) -> Iterator[str]:
        """The parts that are left out, for readers."""
        if not self.projections:
            yield "what each head adds behind its sum"
        if not self.every_output:
            yield "attention of all outputs but the best"
        if not self.steps:
            yield "values and embeddings"
        yield from self.without

    def part(self, part: AttentionTrace, only: Callable[[str], bool] = lambda name: True) -> Plain:
        """One attention layer; `only` selects its tensors by name."""
        rows = "source" if part.kind == "encoder" else "target"
        columns = "target" if part.kind == "decoder" else "source"
        packed = {"name": part.name, "kind": part.kind, "layer": part.layer}
        packed |= {"heads": len(part.weights), "rows": rows, "columns": columns}
        packed |= {"causal": part.causal, "form": "weights" if part.scale is None else "dot"}
        if part.scale is not None:
            packed["scale"] = part.scale
        return packed | {name: t for name, t in self.tensors(part).items() if only(name)}

    def tensors(self, part: AttentionTrace) -> dict[str, np.ndarray | None]:
        """The tensors of an attention layer by name; None where they are left out."""
        names = ("weights",) if part.scale is None else ("query", "key")
        tensors = {name: getattr(part, name) for name in names}
        tensors["value"] = part.value if self.steps else None
        for name in ("out", "bias"):
            tensors[name] = getattr(part, name) if self.projections else None
        return tensors

    def has(self, part: AttentionTrace) -> bool:
        return part.name not in self.without

    def inputs(self, inputs: Inputs | None) -> Plain | None:
        if inputs is None or not self.steps:
            return None
        return {"embedding": inputs[0], "position": inputs[1]}


def to_json_tree(inspection: "Inspection", limit: int = LIMIT) -> Plain:
    """Plain data of at most `limit` bytes of JSON, unless the text and the log alone are larger."""
    return fitted(_packings(inspection), lambda packing: _tree(inspection, packing, limit), limit)


def fitted(packings: Iterable[Packing], tree_of: Callable[[Packing], Plain], limit: int) -> Plain:
    """The plain data of the first packing that fits into `limit` bytes of JSON, or of the last.

    Args:
        tree_of: what a packing keeps, still with arrays in place of tensors.
    """
    for packing in packings:
        tree = tree_of(packing)
        if _size(tree, packing.half) <= limit:
            break
    packed: Plain = plain(tree, packing.half)
    return packed


def dumped(packed: Plain) -> str:
    """Strict JSON in one line."""
    return json.dumps(packed, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def tensor(values: np.ndarray, half: bool) -> Plain:
    """An array in base64; it keeps full precision if half precision would overflow."""
    fits = half and (values.size == 0 or np.abs(values).max() <= np.finfo(np.float16).max)
    packed = np.ascontiguousarray(values, "<f2" if fits else "<f4")
    return {
        "shape": list(values.shape),
        "dtype": "float16" if fits else "float32",
        "data": base64.b64encode(packed.tobytes()).decode("ascii"),
    }


def unpacked(packed: Mapping[str, Any]) -> np.ndarray:
    """The array of a packed tensor."""
    dtype = {"float16": "<f2", "float32": "<f4"}[packed["dtype"]]
    return np.frombuffer(base64.b64decode(packed["data"]), dtype).reshape(packed["shape"])


def _packings(inspection: "Inspection") -> Iterator[Packing]:
    """All packings, from the largest to the smallest."""
    yield Packing()
    half = Packing(half=True)
    yield half
    yield replace(half, projections=False)
    if sum(output.parts is not None for output in inspection.outputs) > 1:
        half = replace(half, every_output=False)
        yield half
    half = replace(half, projections=False)
    yield half
    half = replace(half, steps=False)
    yield half
    parts = [*inspection.encoder, *(p for output in inspection.outputs for p in output.parts or ())]
    without: dict[str, None] = {}
    for type_ in ("decoder", "encoder", "cross"):
        for part in parts:
            if part.kind == type_ and part.name not in without:
                without[part.name] = None
                yield replace(half, without=tuple(without))


def _tree(inspection: "Inspection", packing: Packing, limit: int) -> Plain:
    """The packed parts, still with arrays in place of tensors."""
    i, background = inspection, inspection.background
    traced = [index for index, output in enumerate(i.outputs) if output.parts is not None]
    packed = traced if packing.every_output else traced[:1]
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
        "outputs": [
            _output(output, index in packed, packing) for index, output in enumerate(i.outputs)
        ],
        "encoder": [packing.part(part) for part in i.encoder if packing.has(part)],
        "memory": _memory(i.outputs[packed[0]], packing) if packed else {},
        "inputs": packing.inputs(i.inputs),
        "trace": i.trace,
        "positions": background.positions,
        "training": {"rows": background.rows} if background.rows else None,
        "series": None if i.series is None else i.series.to_dict(i.encoder),
    }


def _output(inspected: "InspectedOutput", has_attention: bool, packing: Packing) -> Plain:
    output = inspected.output
    attention = None
    if has_attention:
        attention = [
            packing.part(part, lambda name, part=part: name not in SHARED[part.kind])  # type: ignore[misc]
            for part in inspected.parts or ()
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
        "top": inspected.top,
        "inputs": packing.inputs(inspected.inputs) if has_attention else None,
        "attention": attention,
        "words": inspected.words,
        "span": inspected.span,
        "value": inspected.value,
    }


def _memory(inspected: "InspectedOutput", packing: Packing) -> Plain:
    """The tensors that all outputs share, by layer."""
    return {
        part.name: {
            name: values
            for name, values in packing.tensors(part).items()
            if name in SHARED[part.kind]
        }
        for part in inspected.parts or ()
        if packing.has(part)
    }


def _size(tree: Plain, half: bool) -> int:
    """The size of the JSON in bytes, estimated without packing the tensors."""
    n_numbers, n_tensors = 0, 0

    def count(values: Any) -> None:
        nonlocal n_numbers, n_tensors
        n_numbers, n_tensors = n_numbers + values.size, n_tensors + 1

    without_tensors = json.dumps(tree, ensure_ascii=False, separators=(",", ":"), default=count)
    n_bytes = n_numbers * (2 if half else 4)
    text_bytes = len(without_tensors.encode("utf-8", "replace"))
    return text_bytes + n_bytes * 4 // 3 + n_tensors * TENSOR


def plain(value: Any, half: bool = False) -> Any:
    """The value with arrays as packed tensors, and nothing that JSON or UTF-8 lacks."""
    if isinstance(value, np.ndarray):
        return tensor(value, half)
    if isinstance(value, Mapping):
        return {name: plain(item, half) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, half) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):  # a log may contain lone surrogates, which UTF-8 lacks
        return value.encode("utf-8", "replace").decode("utf-8")
    return value
