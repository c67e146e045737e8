"""Resolved model, validator and summary line of a run, for gradient training and counting."""

from dataclasses import replace

from ..data.prepare import Prepared
from ..errors import ConfigError
from ..run_config import RunConfig
from ..search import SETTINGS, SearchConfig
from ..tasks.base import Task, Validator
from .config import TrainConfig


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
    """The validator of a prepared set, if there is one."""
    if validation is None:
        return None
    # Always greedy: fast and not random.
    used = [name for name, setting in SETTINGS.items() if setting.validation]
    greedy = SearchConfig(beam=1, **{name: getattr(config.search, name) for name in used})
    return task.validator(
        validation.store,
        config.data,
        task.metric(settings.metric),
        settings.evaluate_sample,
        greedy,
    )


def model_line(config: RunConfig, n_examples: int, n_parameters: int, task: Task) -> str:
    """One line with the model's name, number of parameters, vocabulary and number of examples."""
    vocabularies = task.vocabularies
    size = str(vocabularies.source)
    if not vocabularies.shared:
        size += f" and {vocabularies.target}"
    sizes = f"{n_parameters:,} parameters, vocabulary {size}, {n_examples:,} examples"
    return f"{config.model_name}, {sizes}"
