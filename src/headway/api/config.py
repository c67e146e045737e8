"""`RunConfig`: the run file as a typed value, put together from the settings of the rooms."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from .. import config as configs
from ..config import Choice
from ..data.codecs import TextConfig
from ..data.corpora import DataConfig, as_corpora, data_root
from ..errors import ConfigError, RunError
from ..models import FAMILIES
from ..models.tuning import TuneConfig
from ..runs import RunDir
from ..search import SearchConfig
from ..tasks import TASKS
from ..training.settings import TrainConfig


def _families() -> dict[str, type]:
    return {name: family.config for name, family in FAMILIES.items()}


@dataclass(frozen=True)
class RunConfig:
    """A run file: everything that decides about a run."""

    data: DataConfig
    """What to learn from."""
    task: str = "translate"
    """What the model is trained for; `translate` is any text to any text, `language` predicts the
    next token of one, `classify` gives a text a label."""
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
    """The model. All of it left out, the family is one that fits the task: `transformer` for
    `translate`, `decoder` for `language`, `encoder` for `classify`."""
    tune: TuneConfig = field(default_factory=TuneConfig)
    """What of it learns, where it starts from another run."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """How it learns."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """How outputs are searched for, unless a command says otherwise."""

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task = {self.task!r}: expected one of {', '.join(TASKS)}")
        task = TASKS[self.task]
        if self.model is None:
            object.__setattr__(self, "model", FAMILIES[task.family].config())
        self._check_family()
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
        if self.text.dropout and "text" in self._formats():
            raise ValueError(
                f'text.dropout = {self.text.dropout:g} has no meaning for format = "text": a '
                "running text is cut into tokens once; leave it out"
            )
        self._check_positions()

    def _check_positions(self) -> None:
        """That what has a row for each position has enough of them."""
        longest = max(self.data.max_length, self.data.block, self.search.max_length)
        if getattr(self.model, "one_stream", False) and TASKS[self.task].has_source:
            longest += self.data.max_length  # the source stands before it
        is_learned = getattr(self.model, "positions", None) == "learned"
        if is_learned and self.model.max_positions < longest:
            raise ValueError(
                f"model.max_positions = {self.model.max_positions} is less than the {longest} "
                "tokens that data.max_length and search.max_length allow; raise it to "
                f"{longest} or lower those"
            )
        longest = self.data.max_length  # of a source
        if getattr(self.model, "score", None) == "location" and self.model.max_positions < longest:
            raise ValueError(
                f"model.max_positions = {self.model.max_positions} is less than the {longest} "
                f'tokens that data.max_length allows and model.score = "location" has to know; '
                f"raise it to {longest} or lower data.max_length"
            )

    def _check_family(self) -> None:
        task, family = TASKS[self.task], FAMILIES[self.model.family]
        if task.fits(family):
            return
        able = [name for name, other in FAMILIES.items() if task.fits(other)]
        needs = f"can {', '.join(sorted(task.needs))}"
        needs += " and reads a source" if task.has_source else " and goes without a source"
        raise ValueError(
            f"task = {self.task!r} needs a model that {needs}, which model.family = "
            f"{family.name!r} does not; take one of {', '.join(able)}"
        )

    def _formats(self) -> set[str]:
        corpora = as_corpora(self.data.train, "data.train")
        return {corpus.format for corpus in corpora}


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """The run file at `path`, with `data.root` made absolute so that the run can go on anywhere."""
    loaded = configs.load(path, RunConfig, overrides, _completed)
    init = None if loaded.init is None else str(Path(loaded.init).expanduser().resolve())
    return rooted(replace(loaded, init=init), Path(path).resolve().parent)


def _completed(tables: dict[str, Any]) -> dict[str, Any]:
    """With `init`, the keys of `[model]` that are not given are those of that run."""
    init, model = tables.get("init"), tables.get("model", {})
    if not isinstance(init, str) or not isinstance(model, dict):
        return tables  # what is wrong is said when it is checked
    begun = configs.to_dict(stored_config(RunDir.open(Path(init).expanduser())).model)
    if model.get("family", begun["family"]) != begun["family"] or "preset" in model:
        return tables
    return {**tables, "model": begun | model}


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
