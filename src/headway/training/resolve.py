"""Resolved model, validator and summary line of a run, for gradient training and counting."""

from dataclasses import replace

from ..config.messages import counted
from ..data.prepare import Prepared
from ..errors import ConfigError
from ..run_config import RunConfig
from ..search import SETTINGS, SearchConfig
from ..tasks.base import Task, Validator
from .config import TrainConfig

FEWEST_EXAMPLES = 50
"""A validation uses at least this many examples, however small its share is."""


def resolve_model(config: RunConfig, task: Task, n_examples: int) -> RunConfig:
    """The run file with a resolved model."""
    try:
        model = config.model.resolve(n_examples, task.vocabularies)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from None
    return replace(config, model=model)


def make_validator(
    config: RunConfig, task: Task, validation: Prepared | None, settings: TrainConfig
) -> Validator | None:
    """The validator of a prepared set, or of the share of it that is used, if there is one."""
    if validation is None:
        return None
    share, decoded = settings.evaluate_share or 1.0, settings.evaluate_sample
    # Always greedy: fast and not random.
    used = [name for name, setting in SETTINGS.items() if setting.validation]
    greedy = SearchConfig(beam=1, **{name: getattr(config.search, name) for name in used})
    return task.validator(
        validation.sample(share, FEWEST_EXAMPLES),
        config.data,
        task.metric(settings.metric),
        max(min(FEWEST_EXAMPLES, decoded), round(share * decoded)),
        greedy,
    )


def model_line(config: RunConfig, n_examples: int, n_parameters: int, task: Task) -> str:
    """One line with the model's name, its sizes and number of examples."""
    sizes = f"{n_parameters:,} parameters, {_sizes_read(task)}, {n_examples:,} examples"
    return f"{config.model_name}, {sizes}"


def _sizes_read(task: Task) -> str:
    """The size of the vocabulary, or of the vectors, and of the output."""
    sizes = task.vocabularies
    if sizes.vectors is not None:
        features = counted(sizes.vectors.features, "feature")
        return f"{features} a step, {counted(sizes.target, 'output')}"
    return f"vocabulary {sizes.source}" + ("" if sizes.shared else f" and {sizes.target}")
