"""Exports a trained run to the format of another library.

The folder is written under a temporary name, loaded with the library it is for and compared with
the run (`verify.py`). It appears only if the two agree.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..data.config import reads_series
from ..errors import ConfigError, RunError
from ..inference.base import TrainedModel
from ..inference.translator import Translator
from ..models import FAMILIES
from ..models.transformer import Transformer
from ..runs.atomic import replacing_directory
from ..runs.directory import NORMALISED
from ..text import Tokenizer
from .ctranslate2.convert import obstacles as ctranslate2_obstacles
from .ctranslate2.convert import write_ctranslate2
from .hugging_face import ARCHITECTURES, Architecture, architecture_for
from .hugging_face.generation_config import generation_of, search_obstacles
from .hugging_face.model_files import write_generation, write_model
from .hugging_face.sentence_transformers import write_sentence_config
from .hugging_face.task_heads import task_head_of
from .hugging_face.tokenizer_files import write_tokenizers
from .verify import Check, check_ctranslate2, check_hugging_face

Format = Literal["hf", "ctranslate2"]
Quantization = Literal["float32", "int8", "int8_float32"]

MIN_POSITIONS = 1024  # length of written position tables, at least


@dataclass(frozen=True)
class Exported:
    """A finished export.

    Attributes:
        layout: the architecture, or the format with its quantization.
        check: None if the library is not installed here.
    """

    folder: Path
    layout: str
    check: Check | None


def export(
    trained: TrainedModel,
    to: Format,
    out: str | Path,
    quantization: Quantization = "float32",
) -> Exported:
    """Writes the model into the folder `out`, which must be new or empty.

    Args:
        quantization: how CTranslate2 stores weights.

    Raises:
        ConfigError: the format cannot express some settings of the run; the message names all.
        MissingExtra: CTranslate2 is needed to write its format and is not installed.
        RunError: `out` is not empty, or the export computes something else than the run.
    """
    out = Path(out)
    _require_expressible(trained, to)
    if to == "hf" and quantization != "float32":
        raise ConfigError(
            f'`quantization="{quantization}"` goes with `to="ctranslate2"`; '
            "leave it out, or quantise with transformers when the model is loaded"
        )
    is_searched = FAMILIES[trained.config.model.family].abilities & {"step"}
    if to == "hf" and is_searched and (obstacles := search_obstacles(trained.config.search)):
        raise ConfigError(
            f"transformers cannot search with {', '.join(obstacles)}; take that out of [search] in "
            f"{trained.run.path}/run.toml and delete manifest.json there; no weight changes"
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
            "`out`"
        ) from error
    return Exported(out, layout, check)


def _require_expressible(trained: TrainedModel, to: Format) -> None:
    """Raises ConfigError for a model that the format cannot express."""
    if reads_series(trained.task.columns):
        raise ConfigError(
            f"{trained.run.path} reads series, which the format {to!r} does not have; only models "
            "of texts can be exported"
        )
    obstacles = _obstacles(trained, to)
    if not obstacles:
        return
    other: Format = "ctranslate2" if to == "hf" else "hf"
    remedy = "" if _obstacles(trained, other) else f'export with `to="{other}"`, or '
    known = {architecture.family for architecture in ARCHITECTURES.values()}
    families = (trained.config.model.family, trained.task.family)
    able = next((name for name in families if name in known), None)
    if able is None:
        remedy += f"it has no counterpart of {families[0]!r}, which is for use here alone"
    else:
        remedy += f"train {'an' if able[0] in 'aeiou' else 'a'} {able} with other settings"
    raise ConfigError(
        f"{trained.run.path} cannot be expressed in the format {to!r} because of "
        f"{', '.join(obstacles)}; {remedy}"
    )


def _obstacles(trained: TrainedModel, to: Format) -> list[str]:
    model = trained.single_model("an export")
    if to == "hf":
        return _architecture(trained)[1]
    if not isinstance(model, Transformer):
        return [f'model.family = "{trained.config.model.family}"']
    if not isinstance(trained, Translator):
        return [f'task = "{trained.config.task}"']
    return ctranslate2_obstacles(model.config)


def _architecture(trained: TrainedModel) -> tuple[Architecture | None, list[str]]:
    """The architecture of an export to transformers, or None and the obstacles."""
    task, task_head = trained.task, task_head_of(trained.task)
    ids = _tokenizers(task)[1].specials
    fine_tuned = None if task_head is None else task_head.task
    return architecture_for(trained.config.model, task.vocabularies, ids, fine_tuned)


def _tokenizers(task: Any) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of inputs and outputs; the same one for a task without text outputs.

    Raises:
        ConfigError: the task has columns other than text, and the library has no head for it.
    """
    if task_head_of(task) is not None:
        return task.codec.tokenizer, task.codec.tokenizer
    first, *_, last = [*task.codecs.values()] * 2
    if not (hasattr(first, "tokenizer") and hasattr(last, "tokenizer")):
        raise ConfigError(
            f"runs of task = {task.name!r} cannot be exported: the library has no head for it; add "
            "a row to HEADS in interop/hugging_face/task_heads.py"
        )
    return first.tokenizer, last.tokenizer


def _require_vacant(out: Path) -> None:
    if out.is_dir():
        names = sorted(path.name for path in out.iterdir())
        if names:
            listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            raise RunError(f"{out} is not empty (it holds {listed}); choose another `out`")
    elif out.exists():
        raise RunError(f"{out} is a file; choose another `out`")


def _n_positions(trained: TrainedModel) -> int:
    config = trained.config
    return max(MIN_POSITIONS, config.data.max_length, config.search.max_length)


def _write_hf(trained: TrainedModel, folder: Path) -> Architecture:
    model, vocabularies = trained.single_model("an export"), trained.task.vocabularies
    (source, target), task_head = _tokenizers(trained.task), task_head_of(trained.task)
    architecture, _ = _architecture(trained)
    assert architecture is not None  # `_require_expressible` has passed
    n_positions, longest = _n_positions(trained), trained.config.data.max_length
    ids = target.specials
    write_model(folder, model, architecture, vocabularies, ids, n_positions, task_head)
    if architecture.family != "encoder":
        write_generation(folder, architecture, ids, generation_of(trained.config.search))
    elif trained.config.model.pooling == "mean" and task_head is None:
        normalises = bool(trained.run.facts.get(NORMALISED))
        write_sentence_config(folder, longest, model.config.d_model, normalises)
    write_tokenizers(folder, architecture, model.config, source, target, longest)
    return architecture


def _write_ctranslate2(translator: Translator, folder: Path, quantization: str) -> None:
    task = translator.task
    write_ctranslate2(
        folder,
        translator.single_model("an export"),
        task.source.tokenizer,
        task.target.tokenizer,
        _n_positions(translator),
        quantization,
    )
