"""A trained run for other libraries, and the proof that they compute the same with it.

The folder is written beside its place, loaded back with the library it is for and compared with the
run; it appears only if the two agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from ..data.collate import pair_batch
from ..data.corpora import as_corpora
from ..data.read import read
from ..errors import ConfigError, HeadwayError, RunError
from ..models.transformer import Transformer
from ..runs.atomic import replacing_directory
from ..runs.export.ctranslate2_model import obstacles as ctranslate2_obstacles
from ..runs.export.ctranslate2_model import write_ctranslate2
from ..runs.export.hugging_face import layout_of, write_hugging_face
from ..runs.export.hugging_face import obstacles as hf_obstacles
from ..runs.export.obstacles import Obstacles
from ..search import SearchConfig
from .peers import load_ctranslate2, load_hugging_face

if TYPE_CHECKING:
    from .translator import Translator

Format = Literal["hf", "ctranslate2"]
Quantization = Literal["float32", "int8", "int8_float32"]
Pairs = list[tuple[np.ndarray, np.ndarray]]

SENTENCES = 20  # compared with the run
POSITIONS = 1024  # at least so many are written down
LOGITS, LOG_PROBS = 1e-4, 1e-3  # what rounding may differ by


@dataclass(frozen=True)
class Check:
    """A comparison of the run with its export.

    Attributes:
        difference: the largest one found.
        what: the numbers that were compared.
        sentences: how many pairs.
        origin: where those are from.
    """

    difference: float
    what: str
    sentences: int
    origin: str


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
    translator: "Translator",
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
    model = _expressible(translator, to)
    if to == "hf" and quantization != "float32":
        raise ConfigError(
            f"--quantization {quantization} goes with --to ctranslate2; "
            "leave it out, or quantise with transformers when the model is loaded"
        )
    if to == "hf" and (found := _search_obstacles(translator.config.search)):
        raise ConfigError(
            f"transformers cannot search with {', '.join(found)}; take that out of [search] in "
            f"{translator.run.path}/run.toml, which changes no weight"
        )
    _require_vacant(out)
    try:
        with replacing_directory(out) as folder:
            if to == "hf":
                layout = _write_hf(translator, model, folder)
                check = _check_hf(translator, folder)
            else:
                layout = f"CTranslate2 {quantization}"
                _write_ctranslate2(translator, model, folder, quantization)
                check = _check_ctranslate2(translator, folder, quantization)
    except OSError as error:
        raise RunError(
            f"cannot write {out} ({error.strerror or error}); make room there or choose another "
            "--out"
        ) from error
    return Exported(out, layout, check)


def _expressible(translator: "Translator", to: Format) -> Transformer:
    """The model, if the format has a place for everything in it."""
    model = translator.only_model("an export")
    if isinstance(model, Transformer):
        found = _obstacles(translator, model, to)
        other: Format = "ctranslate2" if to == "hf" else "hf"
        fits_other = not _obstacles(translator, model, other)
        if not found:
            return model
    else:
        found, fits_other = [f'model.family = "{translator.config.model.family}"'], False
    remedy = f"export with --to {other}, or " if fits_other else ""
    raise ConfigError(
        f"{translator.run.path} cannot be expressed in the format {to!r} because of "
        f"{', '.join(found)}; {remedy}train a transformer with other settings"
    )


def _obstacles(translator: "Translator", model: Transformer, to: Format) -> list[str]:
    if to == "hf":
        return hf_obstacles(model.config, translator.task.vocabularies)
    return ctranslate2_obstacles(model.config)


def _require_vacant(out: Path) -> None:
    if out.is_dir():
        names = sorted(path.name for path in out.iterdir())
        if names:
            listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            raise RunError(f"{out} is not empty (it holds {listed}); choose another --out")
    elif out.exists():
        raise RunError(f"{out} is a file; choose another --out")


def _n_positions(translator: "Translator") -> int:
    config = translator.config
    return max(POSITIONS, config.data.max_length, config.search.max_length)


def _search_obstacles(search: SearchConfig) -> list[str]:
    """The settings of the search that `generation_config.json` has no place for."""
    found = Obstacles()
    if search.method == "exhaustive":
        found.add("search.method", search.method, "only beam and sample")
    if search.min_ratio:
        found.add("search.min_ratio", search.min_ratio, "no limit follows the input")
    if search.stop == "safe" and search.beam == 1:
        found.add("search.stop", search.stop, "a beam of 1 stops at its first end")
    return found.found


def _generation(search: SearchConfig) -> dict[str, Any]:
    """The search as `generation_config.json` has it."""
    settings: dict[str, Any] = {
        "max_length": search.max_length + 1,  # the library counts the begin mark too
        "num_return_sequences": search.n_best,
        # It also counts the begin mark here, but not the end mark.
        "min_length": min(search.min_length, search.max_length),
        "no_repeat_ngram_size": search.no_repeat,
    }
    if search.method == "sample":
        drawn = {name: getattr(search, name) for name in ("temperature", "top_k", "top_p")}
        return {**settings, "do_sample": True, "num_beams": 1, **drawn}
    settings |= {"do_sample": False, "num_beams": search.beam}
    if search.beam > 1:
        settings["length_penalty"] = search.alpha
        settings["early_stopping"] = True if search.stop == "finished" else "never"
    return settings


def _write_hf(translator: "Translator", model: Transformer, folder: Path) -> str:
    task = translator.task
    write_hugging_face(
        folder,
        model,
        task.source.tokenizer,
        task.target.tokenizer,
        _n_positions(translator),
        translator.config.data.max_length,
        _generation(translator.config.search),
    )
    return layout_of(model.config).name


def _write_ctranslate2(
    translator: "Translator", model: Transformer, folder: Path, quantization: str
) -> None:
    task = translator.task
    write_ctranslate2(
        folder,
        model,
        task.source.tokenizer,
        task.target.tokenizer,
        _n_positions(translator),
        quantization,
    )


# The comparison


@torch.inference_mode()
def _check_hf(translator: "Translator", folder: Path) -> Check | None:
    """The logits of given outputs, and the tokens of their inputs."""
    loaded = load_hugging_face(folder)
    if loaded is None:
        return None
    theirs, tokenizer = loaded
    pairs, texts, origin = _pairs(translator)
    for text, (source, _) in zip(texts, pairs, strict=False):
        found = tokenizer(text)["input_ids"]
        if found != source.tolist():
            raise RunError(
                f"the exported tokenizer reads {text!r} as {found}, and headway as "
                f"{source.tolist()}; nothing was exported: please report this with the version of "
                "transformers"
            )
    bos = translator.task.target.bos
    batch = pair_batch([source for source, _ in pairs], [target for _, target in pairs], bos)
    model = translator.only_model("an export")
    expected = model.output(model(translator.to_device(batch))).cpu()[batch["tgt_valid"]]
    logits = theirs(
        input_ids=batch["src"],
        attention_mask=batch["src_valid"].long(),
        decoder_input_ids=batch["tgt_in"],
    ).logits[batch["tgt_valid"]]
    check = Check(float((logits - expected).abs().max()), "logits", len(pairs), origin)
    # Rounding grows with the numbers themselves.
    _require(check, LOGITS * max(1.0, float(expected.abs().max())), "transformers")
    return check


@torch.inference_mode()
def _check_ctranslate2(
    translator: "Translator", folder: Path, quantization: Quantization
) -> Check | None:
    """The log probabilities of given outputs; of quantised weights they are only reported."""
    theirs = load_ctranslate2(folder, threads=torch.get_num_threads())
    pairs, _, origin = _pairs(translator)
    source, target = (codec.tokenizer.pieces for codec in translator.task.codecs.values())
    found = theirs.score_batch(
        [[source[i] for i in src] for src, _ in pairs],
        [[target[i] for i in tgt[:-1]] for _, tgt in pairs],  # the engine adds the end mark
        max_input_length=0,
    )
    scores = np.concatenate([result.log_probs for result in found])
    expected = translator.forced([source for source, _ in pairs], [target for _, target in pairs])
    difference = float(np.abs(scores - np.concatenate(expected)).max())
    check = Check(difference, "log probabilities", len(pairs), origin)
    if quantization == "float32":
        _require(check, LOG_PROBS, "ctranslate2")
    return check


def _require(check: Check, tolerance: float, package: str) -> None:
    if not check.difference <= tolerance:  # NaN is no agreement either
        raise RunError(
            f"the export computes something else than the run: the largest difference of "
            f"{check.what} is {check.difference:.2g} and rounding explains {tolerance:.2g}; "
            f"nothing was exported: please report this with the version of {package}"
        )


def _pairs(translator: "Translator") -> tuple[Pairs, list[str], str]:
    """Encoded pairs to compare on, the texts of their sources if there are any, and their origin.

    The first of the run's test set; where that cannot be read, made-up sequences.
    """
    task, limit = translator.task, translator.config.data.max_length
    rows = _test_rows(translator)
    if rows:
        sources = task.source.encode_batch([row[0] for row in rows])
        targets = task.target.encode_batch([row[1] for row in rows])
        short = [
            (row[0], (source, target))
            for row, source, target in zip(rows, sources, targets, strict=True)
            if max(len(source), len(target)) <= limit
        ]
        if short:
            return [pair for _, pair in short], [text for text, _ in short], "the test set"
    return _made_up(translator), [], "made-up sequences"


def _test_rows(translator: "Translator") -> list[Sequence[str]]:
    data = translator.config.data
    try:
        corpora = as_corpora(data.test, "data.test")
        rows = (
            row.values
            for corpus in corpora
            for row in read(corpus, translator.task.columns, Path(data.root or "."))
        )
        return list(islice(rows, SENTENCES))
    except (HeadwayError, OSError):
        return []  # the run may have come here without its data


def _made_up(translator: "Translator") -> Pairs:
    """Random sequences of ordinary tokens, of lengths from none to 20, always the same."""
    rng = np.random.default_rng(0)
    longest = min(20, translator.config.data.max_length - 1)

    def sequence(name: str) -> np.ndarray:
        tokenizer = translator.task.codecs[name].tokenizer
        ordinary = np.setdiff1d(np.arange(tokenizer.size), list(tokenizer.specials.values()))
        length = int(rng.integers(longest + 1)) if len(ordinary) else 0
        drawn = ordinary[rng.integers(max(len(ordinary), 1), size=length)]
        return np.append(drawn, tokenizer.specials["eos"])

    return [(sequence("source"), sequence("target")) for _ in range(SENTENCES)]
