"""Models of Hugging Face's transformers as runs of ours.

The run directory has all that a trained one has, so that every command knows it: run file,
tokenizer, weights. It was trained on nothing here, and there is nothing to resume; it is evaluated,
used, looked into, and trained further by another run with `init`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import config as configs
from ..data.codecs import TextCodec, TextConfig
from ..data.corpora import DataConfig
from ..errors import ConfigError
from ..runs import RunDir
from ..runs.hugging_face import Folder, Found, read_model, read_tokenizers
from ..runs.module import weights_of
from ..tasks import CONFIGS, OBJECTIVES, Language, Task, Translate
from ..text import Tokenizer
from .config import RunConfig
from .facts import facts_now
from .generation import search_of
from .purposes import task_of

IMPORTED_FROM = "imported_from"
"""The fact by which a directory that was not trained here is known."""
NORMALISED = "normalised"
"""The fact of an import from sentence-transformers: whether vectors of texts have length 1."""


PAIRED = ("classify", "regress")


@dataclass(frozen=True)
class Imported:
    """A finished import.

    Attributes:
        layout: as what the other library knows the model.
        notes: what was left out, with the reason.
    """

    run: Path
    layout: str
    task: str
    n_parameters: int
    notes: tuple[str, ...]


def import_run(folder: str | Path, out: str | Path, pairs: bool = False) -> Imported:
    """Makes the run directory `out` of a folder that `save_pretrained` wrote.

    Only JSON and safetensors are read; no code that lies in the folder is run.

    Args:
        pairs: whether labels or values are those of two texts, which no folder tells.

    Raises:
        ConfigError: `pairs` of a model that has neither.
        RunError: the folder is damaged or holds a model that headway does not have, in which case
            all that does not fit is named; or `out` holds something.
    """
    given = Folder(folder)
    found = read_model(given)
    if pairs and found.task not in PAIRED:
        raise ConfigError(
            f"--pairs is for labels and values of two texts, and {given.path} is a model for task "
            f"{found.task!r}; leave it out"
        )
    source, target = read_tokenizers(given, found.layout, found.vocabularies)
    config = _run_file(given, found, source)
    facts = {
        **facts_now(config.device),
        IMPORTED_FROM: str(given.path.resolve()),
        "imported_as": found.layout.name,
    }
    if found.sentences is not None:
        facts[NORMALISED] = found.sentences.normalises
    weights = weights_of(found.model)
    run = RunDir.create(out, facts)
    with run.lock():
        with run.writing_codecs() as codecs:
            _task(config, found, source, target, pairs).save(codecs)
        run.save_weights(weights, "imported", 0)
        run.log.append({"step": 0, "finished": True})
        # Last, because it is what makes the directory a run.
        run.write_text("run.toml", configs.to_toml(config))
    n_parameters = sum(tensor.numel() for tensor in weights.values())
    return Imported(run.path, found.layout.name, config.task, n_parameters, found.notes)


def _task(
    config: RunConfig, found: Found, source: Tokenizer, target: Tokenizer, pairs: bool
) -> Task:
    if config.task == "language":
        return Language(TextCodec(source))
    reading = TextCodec(source, reads=True)
    if found.purpose is not None:
        return task_of(found.purpose, config.kind, reading, pairs)
    if config.task == "translate":
        return Translate(reading, TextCodec(target))
    return OBJECTIVES[config.pretrain.objective].settled(config.pretrain)(reading)


def _run_file(folder: Folder, found: Found, tokenizer: Tokenizer) -> RunConfig:
    """A run file that says what the model is; nothing in it was trained on."""
    longest = found.config.max_positions
    if found.sentences is not None and found.sentences.max_length is not None:
        longest = min(longest, found.sentences.max_length)
    block = min(longest, DataConfig.block)
    data = DataConfig(train=[], max_length=longest, block=block)
    kind: Any = tokenizer.settings.kind
    is_reader = found.task == "pretrain"
    return RunConfig(
        data,
        task=found.task,
        text=TextConfig(kind=kind, begin=tokenizer.frame.begin),
        model=found.config,
        pretrain=CONFIGS[found.vocabularies.head]() if is_reader else None,
        search=search_of(folder.generation(), longest),
    )
