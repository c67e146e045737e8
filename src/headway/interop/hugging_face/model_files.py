"""Reads and writes `config.json` and `model.safetensors` of a folder.

An import accounts for every weight: whatever is missing, unexpected or does not fit is named.
Tokenizers, search settings and the files of sentence-transformers have modules of their own.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...config import parse
from ...errors import ConfigError, RunError
from ...models import FAMILIES, VocabularySizes
from ...runs.tensors import save_tensors
from . import ARCHITECTURES
from .architecture import Architecture
from .config_map import ConfigReader
from .folder import CONFIG, GENERATION, WEIGHTS, Folder
from .sentence_transformers import SentenceConfig, read_sentence_config
from .task_heads import Form, TaskHead, read_task_head
from .weight_map import Mismatch, format_names, materialize

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@dataclass(frozen=True)
class HuggingFaceModel:
    """An imported model.

    Attributes:
        config: the complete settings of our family.
        task_head: of a fine-tuned model, else None.
        sentences: how texts become vectors, if the folder is one of sentence-transformers.
        notes: what the import left out, with the reason.
    """

    architecture: Architecture
    config: Any
    vocabularies: VocabularySizes
    task_head: TaskHead | None
    model: nn.Module
    sentences: SentenceConfig | None
    notes: tuple[str, ...]

    @property
    def task(self) -> str:
        """The task of its run."""
        return self.architecture.task if self.task_head is None else self.task_head.task


def read_model(folder: Folder) -> HuggingFaceModel:
    """The model of a folder, with its weights.

    Raises:
        RunError: the architecture is unknown, or settings or weights do not fit our models; the
            message names all of them.
    """
    architecture = _read_architecture(folder)
    tensors = folder.tensors()
    names = architecture.canonical_names(tensors)
    reader = ConfigReader(folder.config, frozenset(names))
    form = architecture.form(reader)
    task_head, sentences = None, None
    if form in architecture.output_layers:
        task_head = _read_task_head(folder, architecture, form, tensors)
    elif (sentences := read_sentence_config(folder)) is not None:
        reader.pooling = sentences.pooling
    n_weights = sum(tensor.numel() for tensor in tensors.values())
    config, vocabularies, model = _build(folder, architecture, reader, task_head, n_weights)
    weights = {
        name: tensors[name_in_file]
        for name, name_in_file in names.items()
        if not name.startswith(tuple(reader.ignored_prefixes))
    }
    _load_weights(model, architecture, form, weights, names, folder)
    return HuggingFaceModel(
        architecture,
        config,
        vocabularies,
        task_head,
        model.eval(),
        sentences,
        notes=tuple(reader.notes),
    )


def _read_architecture(folder: Folder) -> Architecture:
    model_type, classes = folder.config.get("model_type"), folder.config.get("architectures")
    where = folder.path / CONFIG
    if not isinstance(model_type, str) or model_type not in ARCHITECTURES:
        raise RunError(
            f"{where}: model_type = {model_type!r}; expected one of {', '.join(ARCHITECTURES)}"
        )
    architecture = ARCHITECTURES[model_type]
    unknown = classes
    if isinstance(classes, list):
        unknown = [name for name in classes if name not in tuple(architecture.classes)]
    if unknown not in (None, []):
        raise RunError(
            f"{where}: architectures = {unknown}; expected {' or '.join(architecture.classes)}"
        )
    if folder.config.get("quantization_config") is not None:
        raise RunError(f"{where}: the weights are quantised; give a model in float32 or float16")
    return architecture


def _read_task_head(
    folder: Folder, architecture: Architecture, form: Form, tensors: Mapping[str, Tensor]
) -> TaskHead:
    name = f"{architecture.output_layers[form]}.weight"
    if name not in tensors:
        raise RunError(
            f"{folder.path} does not fit a {architecture.class_name(form)}: missing: {name}; give "
            "the folder as it was saved"
        )
    n_outputs = tensors[name].shape[:1].numel()
    return read_task_head(folder.config, form, n_outputs, folder.path / CONFIG)


def _build(
    folder: Folder,
    architecture: Architecture,
    reader: ConfigReader,
    task_head: TaskHead | None,
    n_weights: int,
) -> tuple[Any, VocabularySizes, nn.Module]:
    """Settings, vocabulary sizes and a model with fresh weights.

    Args:
        n_weights: of the file; a model that must have more is refused before it is built.
    """
    settings = architecture.read(reader)
    vocabularies = architecture.read_vocabularies(reader, task_head)
    if reader.obstacles.messages:
        raise RunError(
            f"{folder.path / CONFIG}: headway has no such {architecture.name} model: "
            f"{', '.join(reader.obstacles.messages)}; import another model"
        )
    family, where = FAMILIES[architecture.family], f"{folder.path / CONFIG} (as [model])"
    try:
        config = parse(settings, family.config, where)
        _check_size(config, vocabularies, n_weights, where)
        return config, vocabularies, family.build(config, vocabularies)
    except ConfigError as error:
        raise RunError("; ".join(str(error).splitlines())) from None
    except ValueError as error:
        raise RunError(f"{where}: {error}") from None


MANY_WEIGHTS = 1 << 26
"""Up to this many weights, a model is built in any case, and then the wrong tensors are named."""
MANY_LAYERS = 1000


def _check_size(config: Any, vocabularies: VocabularySizes, n_weights: int, where: str) -> None:
    """Refuses sizes that the weights of the file cannot have, which may not fit the memory."""
    sides = ("", "encoder_", "decoder_")
    n_layers = sum(getattr(config, f"{side}layers", None) or 0 for side in sides)
    most = max(n_weights, MANY_WEIGHTS)
    if n_layers > MANY_LAYERS or _n_numbers(config, vocabularies) > most:
        raise RunError(
            f"{where}: a model with d_model = {config.d_model}, d_ff = {config.d_ff}, {n_layers} "
            f"layers, {config.max_positions} positions and {vocabularies.source} tokens has more "
            f"weights than the file, which has {n_weights}; give the folder as it was saved"
        )


def _n_numbers(config: Any, vocabularies: VocabularySizes) -> int:
    """The number of numbers in a model and in its position table, which a formula may compute."""
    with torch.device("meta"):  # shapes without memory
        model = FAMILIES[config.family].build(config, vocabularies)
    tensors = (*model.parameters(), *model.buffers())
    n_numbers = sum(tensor.numel() for tensor in tensors)
    return max(n_numbers, config.max_positions * config.d_model)


@torch.no_grad()
def _load_weights(
    model: nn.Module,
    architecture: Architecture,
    form: Form,
    weights: Mapping[str, Tensor],
    names: dict[str, str],
    folder: Folder,
) -> None:
    """Copies all weights into the model.

    Args:
        weights: by the names of the weight map.
        names: the weight map's names -> the file's names.

    Raises:
        RunError: weights that do not fit, by the file's names.
    """

    def format_all(those: Iterable[str]) -> str:
        return format_names([architecture.name_in_file(name, names) for name in those])

    what = f"{folder.path} does not fit a {architecture.name} model"
    dtypes = {name: tensor.dtype for name, tensor in weights.items() if tensor.dtype not in FLOATS}
    if dtypes:
        types = sorted({str(dtype).removeprefix("torch.") for dtype in dtypes.values()})
        raise RunError(
            f"{what}: {format_all(dtypes)} hold {' and '.join(types)}; give it in float32 or "
            "float16"
        )
    weights = {name: tensor.float() for name, tensor in weights.items()}
    broken = [name for name, tensor in weights.items() if not tensor.isfinite().all()]
    if broken:
        raise RunError(
            f"{what}: not a number, or infinite: {format_all(broken)}; give one that works"
        )
    config: Any = model.config
    weight_map = architecture.weight_map(config, form)
    expected = materialize(model, weight_map.rows, config.max_positions)
    if mismatch := weight_map.mismatch(expected, weights):
        raise RunError(
            f"{what}: {_format_mismatch(mismatch, format_all)}; give the folder as it was saved"
        )
    state = model.state_dict()
    for name, tensor in weight_map.from_hf(weights).items():
        if name in state:  # the others follow from the settings
            state[name].copy_(tensor)


def _format_mismatch(mismatch: Mismatch, format_all: Callable[[Iterable[str]], str]) -> str:
    parts = []
    if mismatch.missing:
        parts.append(f"missing: {format_all(mismatch.missing)}")
    if mismatch.unexpected:
        parts.append(f"unexpected: {format_all(mismatch.unexpected)}")
    for shapes in dict.fromkeys(mismatch.wrong_shapes.values()):
        names = [name for name, other in mismatch.wrong_shapes.items() if other == shapes]
        parts.append(f"shape {shapes[0]} instead of {shapes[1]}: {format_all(names)}")
    for first, second in mismatch.unequal:
        parts.append(f"tied, but not equal: {format_all([first])} and {format_all([second])}")
    if mismatch.wrong_values:
        parts.append(f"not what the formula gives: {format_all(mismatch.wrong_values)}")
    return "; ".join(parts)


def write_model(
    folder: Path,
    model: nn.Module,
    architecture: Architecture,
    vocabularies: VocabularySizes,
    ids: Mapping[str, int],
    n_positions: int,
    task_head: TaskHead | None = None,
) -> None:
    """Writes weights and `config.json`.

    Args:
        architecture: one without obstacles for the model.
        ids: ids of the special tokens, those of the target if there are two vocabularies.
        n_positions: length of the position table; learned positions keep their own.
        task_head: of a fine-tuned model, else None.
    """
    config: Any = model.config
    if config.positions == "learned":
        n_positions = config.max_positions
    form = vocabularies.head if task_head is None else task_head.form
    weight_map = architecture.weight_map(config, form)
    tensors = materialize(model, weight_map.rows, n_positions)
    if task_head is not None:  # our models give standardised values, the library's plain ones
        tensors["output.weight"] = tensors["output.weight"] * task_head.deviation
        bias = tensors["output.bias"]
        tensors["output.bias"] = bias * task_head.deviation + task_head.mean
    save_tensors(folder / WEIGHTS, weight_map.to_hf(tensors), {"format": "pt"})
    config = replace(config, max_positions=n_positions)
    entries = architecture.write(config, vocabularies, task_head)
    _write_json(folder / CONFIG, {**entries, **_special_ids(architecture, ids)})


def write_generation(
    folder: Path, architecture: Architecture, ids: Mapping[str, int], generation: Mapping[str, Any]
) -> None:
    """Writes `generation_config.json`.

    Args:
        ids: ids of the special tokens.
        generation: its other entries.
    """
    _write_json(folder / GENERATION, {**_special_ids(architecture, ids), **generation})


def _special_ids(architecture: Architecture, ids: Mapping[str, int]) -> dict[str, int]:
    entries = {f"{name}_token_id": ids[name] for name in ("pad", "bos", "eos")}
    if architecture.task != "translate":
        return entries
    # Marian starts from the padding token, but takes any; ours is the begin token.
    return {**entries, "decoder_start_token_id": ids.get("start", ids["bos"])}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
