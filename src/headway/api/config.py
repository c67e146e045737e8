"""`RunConfig`: the run file as a typed value, put together from the settings of the rooms."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge

from .. import config as configs
from ..config import Choice
from ..data.codecs import TextConfig
from ..data.corpora import WHOLE, DataConfig, data_root, learned_from
from ..errors import ConfigError, RunError
from ..models import FAMILIES
from ..models.tuning import TuneConfig
from ..runs import RunDir
from ..search import SearchConfig
from ..tasks import CONFIGS, OBJECTIVES, TASKS, Answer, AnswerConfig, Pretrain, Task, kind_of
from ..training.settings import TrainConfig

if TYPE_CHECKING:
    TaskName = str
else:
    TaskName = Literal[tuple(TASKS)]


def _families() -> dict[str, type]:
    return {name: family.config for name, family in FAMILIES.items()}


def _objectives() -> dict[str, type]:
    return CONFIGS


@dataclass(frozen=True)
class RunConfig:
    """A run file: everything that decides about a run."""

    data: DataConfig
    """What to learn from."""
    task: TaskName = "translate"
    """What the model is trained for; `translate` is any text to any text, `language` predicts the
    next token of one, `classify` gives a text or a pair of texts a label, `regress` a number, `tag`
    gives every word a tag, `answer` finds the part of a text that answers a question, `pretrain`
    restores text that was damaged, which other tasks then start from."""
    seed: Annotated[int, Ge(0)] = 1
    """All randomness comes from it."""
    init: str | None = None
    """A run directory whose weights and vocabulary to start from: domain adaptation, or fine-tuning
    for another task, which takes its own head. `[model]` is then that run's, but for the keys that
    are given."""
    device: str = "auto"
    """`auto` takes CUDA, then Apple's GPU, then the CPU; or a device by its PyTorch name."""
    text: TextConfig = field(default_factory=TextConfig)
    """How text becomes tokens."""
    model: Annotated[Any, Choice(key="family", table=_families, default="transformer")] = None
    """The model. Where no family is named, it is one that fits the task: `transformer` for
    `translate`, `decoder` for `language`, one that fits the objective for `pretrain`, `encoder` for
    the others."""
    pretrain: Annotated[Any, Choice("objective", _objectives, default="masked")] = None
    """Of `task = "pretrain"`: what is done to a text, and what is then asked."""
    answer: AnswerConfig | None = None
    """Of `task = "answer"`: how answers are looked for in texts."""
    tune: TuneConfig = field(default_factory=TuneConfig)
    """What of it learns, where it starts from another run."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """How it learns."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """How outputs are searched for, unless a command says otherwise."""

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task = {self.task!r}: expected one of {', '.join(TASKS)}")
        self._settle()
        self._check_family()
        task = self.kind
        metrics = list(dict.fromkeys(("auto", "loss", *task.validated)))
        if self.train.metric not in metrics:
            raise ValueError(
                f"train.metric = {self.train.metric!r}: expected one of {', '.join(metrics)}"
            )
        if self.tune.mode != "full" and self.init is None:
            raise ValueError(
                f'tune.mode = "{self.tune.mode}" keeps weights as they are, and without init they '
                'are random; give init = "run directory", or leave it out'
            )
        if self.train.patience and self.data.valid is None:
            raise ValueError("train.patience needs validation data; give data.valid")
        self._check_dropout()
        self._check_positions()

    @property
    def model_name(self) -> str:
        """The family of the model, and the preset if its sizes are from one."""
        preset = getattr(self.model, "preset", "auto")
        return self.model.family + (f" {preset}" if preset != "auto" else "")

    @property
    def kind(self) -> type[Task]:
        """The task, with the settings that it has of its own."""
        return kind_of(self.task, self.pretrain, self.answer, self.data.max_length)

    def _settle(self) -> None:
        """Fills in what follows from the task."""
        for name, usual in {Pretrain.name: CONFIGS["masked"], Answer.name: AnswerConfig}.items():
            if getattr(self, name) is None and self.task == name:
                object.__setattr__(self, name, usual())
            if getattr(self, name) is not None and self.task != name:
                raise ValueError(
                    f'[{name}] is for task = "{name}", and this run file has task = "{self.task}"; '
                    "leave it out"
                )
        if self.model is None:
            object.__setattr__(self, "model", FAMILIES[self.kind.family].config())
        if self.kind.begins and not self.text.begin:
            object.__setattr__(self, "text", replace(self.text, begin=True))

    def _check_dropout(self) -> None:
        """That no text is to be cut in several ways which is cut into blocks."""
        whole = sorted(self._formats() & set(WHOLE))
        if self.text.dropout and (whole or self.kind.in_sentences):
            what = f'format = "{whole[0]}"' if whole else f'task = "{self.task}"'
            raise ValueError(
                f"text.dropout = {self.text.dropout:g} has no meaning for {what}: what is learned "
                "from in blocks is cut into tokens once; leave it out"
            )

    def _check_positions(self) -> None:
        """That what has a row for each position has enough of them."""
        is_learned = getattr(self.model, "positions", None) == "learned"
        too_long = {
            keys: length
            for keys, length in self._lengths().items()
            if is_learned and length > self.model.max_positions
        }
        if too_long:
            longest = max(too_long.values())
            # The number of positions is then that of the run it starts from.
            remedy = f"raise it to {longest} or lower" if self.init is None else "lower"
            raise ValueError(
                f"model.max_positions = {self.model.max_positions} is less than the {longest} "
                f"tokens that {' and '.join(too_long)} allow{'s' if len(too_long) == 1 else ''}; "
                f"{remedy} {'that' if len(too_long) == 1 else 'those'}"
            )
        longest = self.data.max_length  # of a source
        if getattr(self.model, "score", None) == "location" and self.model.max_positions < longest:
            raise ValueError(
                f"model.max_positions = {self.model.max_positions} is less than the {longest} "
                f'tokens that data.max_length allows and model.score = "location" has to know; '
                f"raise it to {longest} or lower data.max_length"
            )

    def _lengths(self) -> dict[str, int]:
        """The most tokens that the model sees at once, by the keys that say so."""
        formats = self._formats()
        if self.kind.in_sentences and formats:
            return {"data.block": self.data.block}
        is_stream = getattr(self.model, "one_stream", False) and self.kind.has_source
        if is_stream and "step" in self.kind.needs:  # the source stands before the target
            source, target = self.data.max_length, self.search.max_length
            return {
                "data.max_length for source and target": 2 * source,
                "data.max_length and search.max_length together": source + target,
            }
        lengths = {}
        if formats & set(WHOLE):
            lengths["data.block"] = self.data.block
        if not formats or formats - set(WHOLE):
            lengths["data.max_length"] = self.data.max_length
        if "step" in self.kind.needs:
            lengths["search.max_length"] = self.search.max_length
        return lengths

    def _check_family(self) -> None:
        task, family = self.kind, FAMILIES[self.model.family]
        if task.fits(family):
            return
        able = [name for name, other in FAMILIES.items() if task.fits(other)]
        needs = f"can {', '.join(sorted(task.needs))}"
        needs += " and reads a source" if task.has_source else " and goes without a source"
        raise ValueError(
            f"{self.asked} needs a model that {needs}, which model.family = "
            f"{family.name!r} does not; take one of {', '.join(able)}"
        )

    @property
    def asked(self) -> str:
        """What is asked of the model, in words: the task, or its objective where it has one."""
        if self.pretrain is None:
            return f"task = {self.task!r}"
        return f"pretrain.objective = {self.pretrain.objective!r}"

    def _formats(self) -> set[str]:
        return {corpus.format for corpus in learned_from(self.data)}


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """The run file at `path`, with `data.root` made absolute so that the run can go on anywhere."""
    loaded = configs.load(path, RunConfig, overrides, _completed)
    init = None if loaded.init is None else str(Path(loaded.init).expanduser().resolve())
    return rooted(replace(loaded, init=init), Path(path).resolve().parent)


def _completed(tables: dict[str, Any]) -> dict[str, Any]:
    """With the family that fits the task where `[model]` names none; with `init`, the keys of
    `[model]` that are not given are those of that run."""
    init, model = tables.get("init"), tables.get("model", {})
    if not isinstance(model, dict):
        return tables  # what is wrong is said when it is checked
    if isinstance(init, str):
        begun = configs.to_dict(_begun(init).model)
        if model.get("family", begun["family"]) == begun["family"] and "preset" not in model:
            return {**tables, "model": begun | model}
    usual = _usual_family(tables)
    return tables if usual is None else {**tables, "model": {"family": usual} | model}


def _begun(init: str) -> RunConfig:
    try:
        return stored_config(RunDir.open(Path(init).expanduser()))
    except RunError as error:
        raise RunError(f"init: {error}") from error


def _usual_family(tables: dict[str, Any]) -> str | None:
    """The family that is trained for the task of a run file, where it has a task that is known."""
    task: Any = tables.get("task", RunConfig.task)
    known: Mapping[str, type[Task]] = TASKS
    if task == Pretrain.name:
        settings = tables.get(Pretrain.name, {})
        task = settings.get("objective", "masked") if isinstance(settings, dict) else None
        known = OBJECTIVES
    return known[task].family if isinstance(task, str) and task in known else None


def rooted(config: RunConfig, folder: Path) -> RunConfig:
    """The same with an absolute `data.root`, found from `folder`."""
    root = data_root(config.data.root, folder).resolve()
    try:
        str(root).encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"data.root is {str(root)!r}, which is not UTF-8, and a run file is; rename the folder"
        ) from None
    return replace(config, data=replace(config.data, root=str(root)))


LAST = "search"  # the table that ends a run file as a run directory keeps it


def stored_config(run: RunDir) -> RunConfig:
    """The run file that a run directory keeps.

    Raises:
        RunError: it is damaged; one that was cut off between two lines would else be read as if the
            rest had its defaults.
    """
    where = run.path / "run.toml"
    try:
        given = tomllib.loads(run.read_text("run.toml"))
        if LAST not in given:
            raise RunError(f"{where} is damaged (no [{LAST}] at its end); restore it from a copy")
        return configs.parse(given, RunConfig, str(where))
    except tomllib.TOMLDecodeError as error:
        raise RunError(f"{where} is damaged ({error}); restore it from a copy") from None
    except ConfigError as error:
        raise RunError(f"the run cannot be used: {error}") from None
