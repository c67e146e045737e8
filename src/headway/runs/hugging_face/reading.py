"""From a folder of the library to settings and weights of ours."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...config import parse
from ...errors import ConfigError, RunError
from ...models import FAMILIES, Vocabularies
from .folder import CONFIG, Folder
from .layout import Layout
from .layouts import LAYOUTS
from .purposes import Form, Purpose, read_purpose
from .sentences import Sentences, read_sentences
from .settings import Reading
from .spelling_out import spelled_out
from .table import Mismatch, listed

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@dataclass(frozen=True)
class Found:
    """A model of the library that is now one of ours.

    Attributes:
        config: its settings, complete.
        purpose: what it was trained further for, if it was.
        sentences: how a text becomes a vector, if the folder is one of sentence-transformers.
        notes: what was left out, with the reason.
    """

    layout: Layout
    config: Any
    vocabularies: Vocabularies
    purpose: Purpose | None
    model: nn.Module
    sentences: Sentences | None
    notes: tuple[str, ...]

    @property
    def task(self) -> str:
        """That of a run of it."""
        return self.layout.task if self.purpose is None else self.purpose.task


def read_model(folder: Folder) -> Found:
    """The model of a folder, with its weights.

    Raises:
        RunError: it is of an unknown kind, has settings that our models do not, or weights that do
            not fit them; each is named.
    """
    layout = _layout(folder)
    tensors = folder.tensors()
    names = layout.canonical(tensors)
    given = Reading(folder.config, frozenset(names))
    form = layout.form(given)
    purpose, sentences = None, None
    if form in layout.outputs:
        purpose = _purpose(folder, layout, form, tensors)
    elif (sentences := read_sentences(folder)) is not None:
        given.pooling = sentences.pooling
    settings, vocabularies = layout.read(given), layout.read_vocabularies(given, purpose)
    if given.obstacles.found:
        raise RunError(
            f"{folder.path / CONFIG}: headway has no such {layout.name} model: "
            f"{', '.join(given.obstacles.found)}; import another model"
        )
    family, where = FAMILIES[layout.family], f"{folder.path / CONFIG} (as [model])"
    try:
        config = parse(settings, family.config, where)
        model = family.build(config, vocabularies)
    except ConfigError as error:
        raise RunError("; ".join(str(error).splitlines())) from None
    except ValueError as error:
        raise RunError(f"{where}: {error}") from None
    held = {
        name: tensors[found]
        for name, found in names.items()
        if not name.startswith(tuple(given.left_out))
    }
    _fill(model, layout, form, held, names, folder)
    notes = tuple(given.notes)
    return Found(layout, config, vocabularies, purpose, model.eval(), sentences, notes)


def _purpose(folder: Folder, layout: Layout, form: Form, tensors: Mapping[str, Tensor]) -> Purpose:
    """What a model was trained further for."""
    name = f"{layout.outputs[form]}.weight"
    if name not in tensors:
        raise RunError(
            f"{folder.path} does not fit a {layout.architecture(form)}: missing: {name}; give the "
            "folder as it was saved"
        )
    n_outputs = tensors[name].shape[:1].numel()
    return read_purpose(folder.config, form, n_outputs, folder.path / CONFIG)


def _layout(folder: Folder) -> Layout:
    kind, classes = folder.config.get("model_type"), folder.config.get("architectures")
    where = folder.path / CONFIG
    if kind not in LAYOUTS:
        raise RunError(f"{where}: model_type = {kind!r}; expected one of {', '.join(LAYOUTS)}")
    layout = LAYOUTS[kind]
    unknown = [name for name in classes or () if name not in layout.architectures]
    if unknown:
        raise RunError(
            f"{where}: architectures = {unknown}; expected {' or '.join(layout.architectures)}"
        )
    if folder.config.get("quantization_config") is not None:
        raise RunError(f"{where}: the weights are quantised; give a model in float32 or float16")
    return layout


@torch.no_grad()
def _fill(
    model: nn.Module,
    layout: Layout,
    form: Form,
    held: Mapping[str, Tensor],
    names: dict[str, str],
    folder: Folder,
) -> None:
    """Copies all tensors into the model, or says which do not fit.

    Args:
        held: by the names of the table.
        names: the same as the file spells them.
    """

    def spelt(these: Iterable[str]) -> str:
        return listed([layout.spell(name, names) for name in these])

    what = f"{folder.path} does not fit a {layout.name} model"
    other = {name: tensor.dtype for name, tensor in held.items() if tensor.dtype not in FLOATS}
    if other:
        raise RunError(
            f"{what}: {spelt(other)} hold {_kinds(other)}; give it in float32 or float16"
        )
    plain = {name: tensor.float() for name, tensor in held.items()}
    broken = [name for name, tensor in plain.items() if not tensor.isfinite().all()]
    if broken:
        raise RunError(f"{what}: not a number, or infinite: {spelt(broken)}; give one that works")
    config: Any = model.config
    table = layout.table(config, form)
    found = table.mismatch(spelled_out(model, table.rows, config.max_positions), plain)
    if found:
        raise RunError(f"{what}: {_words(found, spelt)}; give the folder as it was saved")
    own = model.state_dict()
    for name, tensor in table.take(plain).items():
        if name in own:  # the rest is what the settings imply
            own[name].copy_(tensor)


def _kinds(dtypes: Mapping[str, torch.dtype]) -> str:
    return " and ".join(sorted({str(dtype).removeprefix("torch.") for dtype in dtypes.values()}))


def _words(found: Mismatch, spelt: Callable[[Iterable[str]], str]) -> str:
    """Everything that does not fit, in one line."""
    parts = []
    if found.missing:
        parts.append(f"missing: {spelt(found.missing)}")
    if found.unexpected:
        parts.append(f"unexpected: {spelt(found.unexpected)}")
    for shapes in dict.fromkeys(found.misshapen.values()):
        these = [name for name, shape in found.misshapen.items() if shape == shapes]
        parts.append(f"shape {shapes[0]} instead of {shapes[1]}: {spelt(these)}")
    for first, second in found.unequal:
        parts.append(f"tied, but not equal: {spelt([first])} and {spelt([second])}")
    if found.unfit:
        parts.append(f"not what the formula gives: {spelt(found.unfit)}")
    return "; ".join(parts)
