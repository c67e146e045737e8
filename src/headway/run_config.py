"""`RunConfig`: the run file as a typed value, composed of the settings of the rooms."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from . import config as configs
from .arguments import check_fields, checked
from .config import Choice, OneOf
from .config.messages import did_you_mean, either
from .data.codecs.text import TextConfig
from .data.config import (
    Corpus,
    DataConfig,
    columns_named,
    data_root,
    is_cut,
    learned_from,
    reads_series,
)
from .data.kept_form import KeptForm, with_kept_form
from .errors import ConfigError, RunError
from .models import FAMILIES
from .models.finetuning import FinetuneConfig
from .runs import RunDir
from .search import SearchConfig
from .tasks import OBJECTIVES, TASKS, make_task, task_class, task_meanings
from .tasks.base import Task
from .tasks.config import AnswerConfig, ForecastConfig, SeriesConfig
from .tasks.pretrain.config import CONFIGS
from .training.config import TrainConfig


class _FamilyConfigs(Mapping[str, type]):
    """The settings class of each family, imported when a run file names it."""

    def __getitem__(self, name: str) -> type:
        return FAMILIES[name].config

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)


def _objectives() -> dict[str, type]:
    return CONFIGS


def _task_tables() -> list[str]:
    """The tables of the run file that belong to the task of the same name."""
    return [name for name in TASKS if name in RunConfig.__dataclass_fields__]


@dataclass(frozen=True)
class RunConfig:
    """A run file: all settings of a run."""

    data: DataConfig
    """The data of the run."""
    task: Annotated[str, OneOf(lambda: TASKS, task_meanings)] = "translate"
    """The task of the model."""
    seed: Annotated[int, Ge(0)] = 1
    """Seed of all random numbers."""
    init: str | None = None
    """A run directory whose weights and vocabulary initialise this run: domain adaptation, or
    fine-tuning on another task, which gets its own head. Keys of `[model]` then default to that
    run's."""
    device: str = "auto"
    """`auto` chooses CUDA, then Apple's GPU, then the CPU; or a device by its PyTorch name."""
    text: TextConfig = field(default_factory=TextConfig)
    """The tokenizer."""
    model: Annotated[Any, Choice(key="family", table=_FamilyConfigs, default="transformer")] = None
    """The model. The default family depends on the task: `transformer` for `translate`, `decoder`
    for `language`, one that fits the objective for `pretrain`, `encoder` for the others."""
    pretrain: Annotated[Any, Choice("objective", _objectives, default="masked")] = None
    """For `task = "pretrain"`: the corruption of a text, and the labels to predict."""
    answer: AnswerConfig | None = None
    """For `task = "answer"`: the search for answers in texts."""
    forecast: ForecastConfig | None = None
    """For `task = "forecast"`: the windows, their scaling, and what is predicted."""
    series: SeriesConfig = field(default_factory=SeriesConfig)
    """For `classify` and `regress` with series: their treatment in training."""
    tune: FinetuneConfig = field(default_factory=FinetuneConfig)
    """The weights that are trained, for a run with `init`."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """The training."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """The search for outputs, unless a command overrides it."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.task not in TASKS:
            hint = did_you_mean(self.task, TASKS)
            raise ValueError(f"task = {self.task!r}: expected one of {', '.join(TASKS)}{hint}")
        self._fill_in()
        self._check_family()
        metrics = list(dict.fromkeys(("auto", "loss", *self.make_task().validated)))
        if self.train.metric not in metrics:
            raise ValueError(
                f"train.metric = {self.train.metric!r}: expected one of {', '.join(metrics)}"
                f"{did_you_mean(self.train.metric, metrics)}"
            )
        if self.tune.mode != "full" and self.init is None:
            raise ValueError(
                f'tune.mode = "{self.tune.mode}" freezes weights, which are random without init; '
                'set init = "run directory", or leave it out'
            )
        if self.train.patience and self.data.valid == []:
            raise ValueError("train.patience needs validation data; set data.valid")
        columns = self.make_task().columns
        if self.series != SeriesConfig() and "series" not in columns:
            raise ValueError(
                "[series] is for series with a label or a value, and data.train has none; leave it "
                "out"
            )
        if reads_series(columns):
            self._check_series()
        else:
            self._check_dropout()
            self._check_positions()

    def with_held_out(self) -> "tuple[RunConfig, tuple[str, ...]]":
        """The settings with the form of times that the training data show, and validation data.

        Validation data are held out of the training data if the run file names none.

        Returns:
            Also the lines that report it.
        """
        task, root = self.make_task(), Path(self.data.root or ".")
        columns = task.columns_of(learned_from(self.data), root)
        kept = KeptForm(self.data)
        if reads_series(columns):
            kept = with_kept_form(self.data, columns, root)
        held_out = task.hold_out(kept.data, columns, root, self.seed)
        if held_out is None:
            return replace(self, data=kept.data), kept.lines
        try:
            return replace(self, data=held_out.data), (*kept.lines, held_out.line)
        except ValueError as error:
            problem = held_out.line.removeprefix("warning: ")
            raise ConfigError(f"{problem}; {error}") from None

    @property
    def model_name(self) -> str:
        """The family of the model, and its preset if it has one."""
        preset = getattr(self.model, "preset", "auto")
        return self.model.family + (f" {preset}" if preset != "auto" else "")

    def make_task(self) -> Task:
        """The task with its settings, for the training data, without codecs."""
        is_shared = TASKS[self.task].config_class is SeriesConfig
        own = getattr(self, self.task) if self.task in _task_tables() else None
        settings = self.series if is_shared else own
        task = make_task(self.task, settings, self.data.max_length)
        return task.narrowed(learned_from(self.data))

    def _fill_in(self) -> None:
        """Fills in the settings that depend on the task."""
        for name in _task_tables():
            usual = TASKS[name].config_class if name == self.task else None
            if getattr(self, name) is None and usual is not None:
                object.__setattr__(self, name, usual())
            if getattr(self, name) is not None and self.task != name:
                raise ValueError(
                    f'[{name}] is for task = "{name}", and this run file has task = "{self.task}"; '
                    "leave it out"
                )
        task = self.make_task()
        if self.model is None:
            defaults = dict(task.model_defaults.get(task.family, {}))
            object.__setattr__(self, "model", FAMILIES[task.family].config(**defaults))
        if task.starts_with_bos and not self.text.begin:
            object.__setattr__(self, "text", replace(self.text, begin=True))

    def _check_series(self) -> None:
        """Refuses settings of texts."""
        if self.text != TextConfig():
            raise ValueError("[text] is for texts, and this run reads series; leave it out")
        if self.data.max_length != DataConfig.max_length:
            raise ValueError(
                "data.max_length is for texts, and this run reads series, which may have any "
                "length; leave it out"
            )

    def _check_dropout(self) -> None:
        """Refuses BPE dropout for text that is split into blocks, which is tokenized once."""
        cut = sorted(corpus.format for corpus in learned_from(self.data) if is_cut(corpus))
        if self.text.dropout and (cut or self.make_task().in_sentences):
            source = f'format = "{cut[0]}"' if cut else f'task = "{self.task}"'
            raise ValueError(
                f"text.dropout = {self.text.dropout:g} has no meaning for {source}: text in blocks "
                "is tokenized once; leave it out"
            )

    def _check_positions(self) -> None:
        """Refuses lengths beyond the positions of the model; models check vectors themselves."""
        if "vectors" in self.make_task().needs:
            return
        is_learned = getattr(self.model, "positions", None) == "learned"
        too_long = {
            keys: length
            for keys, length in self._lengths().items()
            if is_learned and length > self.model.max_positions
        }
        if too_long:
            longest = max(too_long.values())
            # With init, the number of positions is that of the other run.
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
                f'tokens that data.max_length allows and model.score = "location" needs; '
                f"raise it to {longest} or lower data.max_length"
            )

    def _lengths(self) -> dict[str, int]:
        """The largest number of tokens that the model sees at once, by the keys that set it."""
        are_cut, task = {is_cut(corpus) for corpus in learned_from(self.data)}, self.make_task()
        if task.in_sentences and are_cut:
            return {"data.block": self.data.block}
        is_stream = getattr(self.model, "one_stream", False) and task.has_source
        if is_stream and "step" in task.needs:  # the source precedes the target
            source, target = self.data.max_length, self.search.max_length
            return {
                "data.max_length for source and target": 2 * source,
                "data.max_length and search.max_length together": source + target,
            }
        lengths = {}
        if True in are_cut:
            lengths["data.block"] = self.data.block
        if are_cut != {True}:
            lengths["data.max_length"] = self.data.max_length
        if "step" in task.needs:
            lengths["search.max_length"] = self.search.max_length
        return lengths

    def _check_family(self) -> None:
        task, family = self.make_task(), FAMILIES[self.model.family]
        if task.fits(family):
            if problem := task.family_problem(family):
                raise ValueError(problem)
            return
        able = [name for name, other in FAMILIES.items() if task.fits(other)]
        needs = "with a source" if task.has_source else "without a source"
        needs += f" that can {', '.join(sorted(task.needs))}"
        raise ValueError(
            f"{self.objective_name} needs a model {needs}; model.family = {family.name!r} does not "
            f"fit, use one of {', '.join(able)}"
        )

    @property
    def objective_name(self) -> str:
        """The task as in the run file, or its objective if it has one."""
        if self.pretrain is None:
            return f"task = {self.task!r}"
        return f"pretrain.objective = {self.pretrain.objective!r}"


@checked
def read_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """The run file at `path`, with an absolute `data.root`, so that the run can resume anywhere."""
    loaded = configs.load(path, RunConfig, overrides, _with_defaults)
    _refuse_unused_columns(loaded)
    init = None if loaded.init is None else str(Path(loaded.init).expanduser().resolve())
    return with_absolute_root(replace(loaded, init=init), Path(path).resolve().parent)


def _refuse_unused_columns(config: RunConfig) -> None:
    """Refuses a column of a corpus that the task does not use."""
    columns = config.make_task().columns
    for split in ("train", "valid", "test"):
        corpora = getattr(config.data, split)
        for corpus in corpora if isinstance(corpora, list) else [corpora]:
            named = set() if corpus is None else columns_named(corpus)
            if unused := sorted(named - set(columns)):
                raise ConfigError(
                    f"data.{split}: {unused[0]} is not a column of task = {config.task!r}, which "
                    f"has {', '.join(columns)}; {_remedy(config.make_task(), named)}"
                )


def _remedy(task: Task, named: set[str]) -> str:
    """Advice for columns of a corpus that are not those of the task."""
    missing = [name for name in task.columns if name not in named | task.optional]
    if not missing:
        return "leave it out"
    fitting = [f'"{name}"' for name, other in TASKS.items() if named <= set(other.columns)]
    others = f", or set task = {either(fitting)}" if fitting else ""
    return f"write {' and '.join(missing)} instead{others}"


def _with_defaults(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables with defaults in `[model]`: those of the `init` run, or the task's family."""
    init, model = tables.get("init"), tables.get("model", {})
    if not isinstance(model, dict):
        return tables  # parsing reports the error
    if isinstance(init, str):
        parent = configs.to_dict(_parent_run_config(init).model)
        if model.get("family", parent["family"]) == parent["family"] and "preset" not in model:
            return {**tables, "model": parent | model}
    family = _default_family(tables)
    if family is None:
        return tables
    defaults = _model_defaults(tables, model.get("family", family))
    return {**tables, "model": {"family": family} | defaults | model}


def _model_defaults(tables: dict[str, Any], family: Any) -> dict[str, Any]:
    """The defaults of a task for its data and a family."""
    task = make_task(tables.get("task", RunConfig.task)).narrowed(_corpora_of(tables))
    return dict(task.model_defaults.get(family, {})) if isinstance(family, str) else {}


def _corpora_of(tables: dict[str, Any]) -> tuple[Corpus, ...]:
    """The training corpora of tables; none if there is a mistake, which parsing reports."""
    data = tables.get("data")
    try:
        return learned_from(configs.parse(data, DataConfig, "")) if isinstance(data, dict) else ()
    except ConfigError:
        return ()


def _parent_run_config(init: str) -> RunConfig:
    try:
        return load_run_config(RunDir.open(Path(init).expanduser()))
    except RunError as error:
        raise RunError(f"init: {error}") from error


def _default_family(tables: dict[str, Any]) -> str | None:
    """The default family for the task of a run file; None if the task is unknown."""
    task: Any = tables.get("task", RunConfig.task)
    if not isinstance(task, str) or task not in TASKS:
        return None
    objective: Any = getattr(TASKS[task].config_class, "objective", None)
    if objective is not None:
        settings = tables.get(task, {})
        objective = settings.get("objective", objective) if isinstance(settings, dict) else None
        if not isinstance(objective, str) or objective not in OBJECTIVES:
            return None
    return task_class(task, objective).family


def with_absolute_root(config: RunConfig, folder: Path) -> RunConfig:
    """The config with an absolute `data.root`, resolved from `folder`."""
    root = data_root(config.data.root, folder).resolve()
    try:
        str(root).encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"data.root is {str(root)!r}, which is not UTF-8, and a run file is; rename the folder"
        ) from None
    return replace(config, data=replace(config.data, root=str(root)))


def _with_new_names(tables: dict[str, Any], run: RunDir) -> dict[str, Any]:
    """The tables of a stored run file, with the current name of the metric."""
    train = tables.get("train", {})
    metric = train.get("metric") if isinstance(train, dict) else None
    if metric not in run.renamed_metrics:
        return tables
    return {**tables, "train": {**train, "metric": run.renamed_metrics[metric]}}


LAST = "search"  # the last table of a stored run file


def load_run_config(run: RunDir) -> RunConfig:
    """The run file stored in a run directory.

    Raises:
        RunError: it is damaged. A file that was cut off between two lines is recognised by its
            missing last table; the missing settings would otherwise get their defaults.
    """
    path = run.path / "run.toml"
    try:
        tables = tomllib.loads(run.read_text("run.toml"))
        if LAST not in tables:
            raise RunError(f"{path} is damaged (no [{LAST}] at its end); restore it from a copy")
        return configs.parse(_with_new_names(tables, run), RunConfig, str(path))
    except tomllib.TOMLDecodeError as error:
        raise RunError(f"{path} is damaged ({error}); restore it from a copy") from None
    except ConfigError as error:
        raise RunError(f"the run cannot be used: {error}") from None
