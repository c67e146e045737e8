"""Makes a run directory from a model of Hugging Face transformers.

It has run file, tokenizer and weights, as a trained run has, so every command works with it. It
cannot be resumed, because nothing was trained here; another run can start from it with `init`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import config as configs
from ..arguments import checked
from ..data.codecs.text import TextCodec, TextConfig
from ..data.config import DataConfig
from ..environment import current_environment
from ..errors import ConfigError, RunError
from ..models.state_dict import weights_of
from ..run_config import RunConfig
from ..runs import RunDir
from ..runs.directory import IMPORTED_FROM, NORMALISED
from ..tasks.base import Task
from ..tasks.language_model import Language
from ..tasks.pretrain.base import Pretrain
from ..tasks.pretrain.config import CONFIGS
from ..tasks.translate import Translate
from ..text import Tokenizer
from .hugging_face.folder import Folder
from .hugging_face.generation_config import search_of
from .hugging_face.model_files import HuggingFaceModel, read_model
from .hugging_face.task_heads import with_head_codecs
from .hugging_face.tokenizer_files import read_tokenizers


@dataclass(frozen=True)
class Imported:
    """A finished import.

    Attributes:
        layout: the name of the architecture.
        notes: what was left out, with the reason.
    """

    run: Path
    layout: str
    task: str
    n_parameters: int
    notes: tuple[str, ...]


@checked
def import_run(folder: str | Path, out: str | Path, pairs: bool = False) -> Imported:
    """Makes the run directory `out` from a folder that `save_pretrained` wrote.

    Only JSON and safetensors are read; no code of the folder is run.

    Args:
        pairs: labels or values belong to two texts, which a folder does not say.

    Raises:
        ConfigError: `pairs` for a model that has neither labels nor values.
        RunError: the folder is damaged or holds a model that headway does not have, and the message
            names everything that does not fit; or `out` is not empty.
    """
    origin = Folder(folder)
    imported = read_model(origin)
    if pairs and (imported.task_head is None or imported.task_head.form != "texts"):
        raise ConfigError(
            f"`pairs` is for labels and values of two texts, and {origin.path} is a model for task "
            f"{imported.task!r}; leave it out"
        )
    name = imported.architecture.name
    tokenizers = read_tokenizers(origin, imported.architecture, imported.vocabularies)
    config = _checked(_run_config(origin, imported, tokenizers[0]), origin)
    facts = {
        **current_environment(config.device),
        IMPORTED_FROM: str(origin.path.resolve()),
        "imported_as": name,
    }
    if imported.sentences is not None:
        facts[NORMALISED] = imported.sentences.normalises
    weights = weights_of(imported.model)
    run = RunDir.create(out, facts)
    with run.lock():
        with run.writing_codecs() as codecs:
            _task_with_codecs(config, imported, *tokenizers, pairs).save_codecs(codecs)
        run.save_weights(weights, "imported", 0)
        run.log.finish(0)
        # Last, because the run file makes the directory a run.
        run.write_text("run.toml", configs.to_toml(config))
    n_parameters = sum(tensor.numel() for tensor in weights.values())
    return Imported(run.path, name, config.task, n_parameters, imported.notes)


def _task_with_codecs(
    config: RunConfig, imported: HuggingFaceModel, source: Tokenizer, target: Tokenizer, pairs: bool
) -> Task:
    """The task of the run file with the tokenizers of the folder."""
    task, input_codec = config.make_task(), TextCodec(source, reads=True)
    if imported.task_head is not None:
        return with_head_codecs(task, imported.task_head, input_codec, pairs)
    if isinstance(task, Language):
        return task.with_codecs(TextCodec(source))
    if isinstance(task, Translate):
        return task.with_codecs(input_codec, TextCodec(target))
    assert isinstance(task, Pretrain)  # architectures have no other task
    return task.with_codecs(input_codec)


def _checked(config: RunConfig, folder: Folder) -> RunConfig:
    """The run file, which can be read again.

    Raises:
        RunError: the folder has a value that no run file may have.
    """
    try:
        return configs.parse(configs.to_dict(config), RunConfig, str(folder.path))
    except ConfigError as error:
        problems = "; ".join(str(error).splitlines())
        raise RunError(f"{problems}; give the folder as it was saved") from None


def _run_config(folder: Folder, imported: HuggingFaceModel, tokenizer: Tokenizer) -> RunConfig:
    """A run file that describes the model; it names no training data."""
    longest = imported.config.max_positions
    if imported.sentences is not None and imported.sentences.max_length is not None:
        longest = min(longest, imported.sentences.max_length)
    block = min(longest, DataConfig.block)
    data = DataConfig(train=[], max_length=longest, block=block)
    is_pretrained = imported.task == "pretrain"
    tokenizer_type: Any = tokenizer.settings.kind
    return RunConfig(
        data,
        task=imported.task,
        text=TextConfig(kind=tokenizer_type, begin=tokenizer.frame.begin),
        model=imported.config,
        pretrain=CONFIGS[imported.vocabularies.head]() if is_pretrained else None,
        search=search_of(folder.generation(), longest),
    )
