"""A trained run for other libraries, and the proof that they compute the same with it.

The folder is written beside its place, loaded back with the library it is for and compared with the
run; it appears only if the two agree.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError, RunError
from ..models import FAMILIES
from ..models.transformer import Transformer
from ..runs.atomic import replacing_directory
from ..runs.export.ctranslate2_model import obstacles as ctranslate2_obstacles
from ..runs.export.ctranslate2_model import write_ctranslate2
from ..runs.hugging_face import (
    LAYOUTS,
    Layout,
    layout_for,
    write_generation,
    write_model,
    write_sentences,
    write_text,
)
from ..text import Tokenizer
from .export_check import Check, check_ctranslate2, check_hugging_face
from .generation import generation_of, search_obstacles
from .importing import NORMALISED
from .purposes import purpose_of
from .trained import Trained
from .translator import Translator

Format = Literal["hf", "ctranslate2"]
Quantization = Literal["float32", "int8", "int8_float32"]

POSITIONS = 1024  # at least so many are written down


@dataclass(frozen=True)
class Exported:
    """A finished export.

    Attributes:
        layout: as what the other library knows the model.
        check: None if that library is not installed here.
    """

    folder: Path
    layout: str
    check: Check | None


def export(
    trained: Trained,
    to: Format,
    out: str | Path,
    quantization: Quantization = "float32",
) -> Exported:
    """Writes the model into the folder `out`, which must not exist or be empty.

    Args:
        quantization: how CTranslate2 stores weights.

    Raises:
        ConfigError: the format has no place for some settings of the run; all are named.
        MissingExtra: CTranslate2 is needed to write its format and is not installed.
        RunError: `out` holds something, or the export computes something else than the run.
    """
    out = Path(out)
    _require_expressible(trained, to)
    if to == "hf" and quantization != "float32":
        raise ConfigError(
            f"--quantization {quantization} goes with --to ctranslate2; "
            "leave it out, or quantise with transformers when the model is loaded"
        )
    is_searched = FAMILIES[trained.config.model.family].abilities & {"step"}
    if to == "hf" and is_searched and (found := search_obstacles(trained.config.search)):
        raise ConfigError(
            f"transformers cannot search with {', '.join(found)}; take that out of [search] in "
            f"{trained.run.path}/run.toml, which changes no weight"
        )
    _require_vacant(out)
    try:
        with replacing_directory(out) as folder:
            if to == "hf":
                layout = _write_hf(trained, folder).name
                check = check_hugging_face(trained, folder)
            else:
                assert isinstance(trained, Translator)  # nothing else is expressible
                layout = f"CTranslate2 {quantization}"
                _write_ctranslate2(trained, folder, quantization)
                check = check_ctranslate2(trained, folder, quantization)
    except OSError as error:
        raise RunError(
            f"cannot write {out} ({error.strerror or error}); make room there or choose another "
            "--out"
        ) from error
    return Exported(out, layout, check)


def _require_expressible(trained: Trained, to: Format) -> None:
    """Refuses a model that the format has no place for."""
    found = _obstacles(trained, to)
    if not found:
        return
    other: Format = "ctranslate2" if to == "hf" else "hf"
    remedy = "" if _obstacles(trained, other) else f"export with --to {other}, or "
    known = {layout.family for layout in LAYOUTS.values()}
    families = (trained.config.model.family, trained.task.family)
    able = next((name for name in families if name in known), None)
    if able is None:
        remedy += f"it has no counterpart of {families[0]!r}, which is for use here alone"
    else:
        remedy += f"train {'an' if able[0] in 'aeiou' else 'a'} {able} with other settings"
    raise ConfigError(
        f"{trained.run.path} cannot be expressed in the format {to!r} because of "
        f"{', '.join(found)}; {remedy}"
    )


def _obstacles(trained: Trained, to: Format) -> list[str]:
    model = trained.only_model("an export")
    if to == "hf":
        return _layout(trained)[1]
    if not isinstance(model, Transformer):
        return [f'model.family = "{trained.config.model.family}"']
    if not isinstance(trained, Translator):
        return [f'task = "{trained.config.task}"']
    return ctranslate2_obstacles(model.config)


def _layout(trained: Trained) -> tuple[Layout | None, list[str]]:
    task, purpose = trained.task, purpose_of(trained.task)
    ids, told = _tokenizers(task)[1].specials, None if purpose is None else purpose.task
    return layout_for(trained.config.model, task.vocabularies, ids, told)


def _tokenizers(task: Any) -> tuple[Tokenizer, Tokenizer]:
    """Of what is read and what is written, which is one where nothing is written."""
    if purpose_of(task) is not None:
        return task.codec.tokenizer, task.codec.tokenizer
    first, *_, last = [*task.codecs.values()] * 2
    return first.tokenizer, last.tokenizer


def _require_vacant(out: Path) -> None:
    if out.is_dir():
        names = sorted(path.name for path in out.iterdir())
        if names:
            listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            raise RunError(f"{out} is not empty (it holds {listed}); choose another --out")
    elif out.exists():
        raise RunError(f"{out} is a file; choose another --out")


def _n_positions(trained: Trained) -> int:
    config = trained.config
    return max(POSITIONS, config.data.max_length, config.search.max_length)


def _write_hf(trained: Trained, folder: Path) -> Layout:
    model, vocabularies = trained.only_model("an export"), trained.task.vocabularies
    (source, target), purpose = _tokenizers(trained.task), purpose_of(trained.task)
    layout, _ = _layout(trained)
    assert layout is not None  # an expressible one
    n_positions, longest = _n_positions(trained), trained.config.data.max_length
    write_model(folder, model, layout, vocabularies, target.specials, n_positions, purpose)
    if layout.family != "encoder":
        write_generation(folder, layout, target.specials, generation_of(trained.config.search))
    elif trained.config.model.pooling == "mean" and purpose is None:
        normalises = bool(trained.run.facts.get(NORMALISED))
        write_sentences(folder, longest, model.config.d_model, normalises)
    write_text(folder, layout, model.config, source, target, longest)
    return layout


def _write_ctranslate2(translator: Translator, folder: Path, quantization: str) -> None:
    task = translator.task
    write_ctranslate2(
        folder,
        translator.only_model("an export"),
        task.source.tokenizer,
        task.target.tokenizer,
        _n_positions(translator),
        quantization,
    )
