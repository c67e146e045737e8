"""What of a model that starts from another run is trained: all of it, all but its encoder, or thin
additions to its matrices."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt
from torch import nn

from ..nn.attention import CrossAttention, SelfAttention
from ..nn.lora import Adapted, merged
from .family import BACKBONE, Family

__all__ = ["FinetuneConfig", "merged", "tune"]


@dataclass(frozen=True)
class FinetuneConfig:
    """What is trained of a run that begins with `init`."""

    mode: Literal["full", "frozen", "lora"] = "full"
    """`full` trains every weight; `frozen` leaves the encoder as it is and trains what stands
    behind it, and with it the embeddings where a decoder or an output layer shares them; `lora`
    adds to each matrix a product of two thin ones and trains those, and the head where there is
    one. What was learned is in the run's weights either way."""
    rank: Annotated[int, Ge(1)] = 8
    """With `lora`: the inner width of the products."""
    alpha: Annotated[float, Gt(0)] = 16.0
    """With `lora`: the products are multiplied by `alpha / rank`."""
    where: Literal["attention", "all"] = "all"
    """With `lora`: the matrices of attention alone, or those of the feed-forward layers too."""

    def __post_init__(self) -> None:
        usual = ("rank", "alpha", "where") if self.mode != "lora" else ()
        for name in usual:
            if getattr(self, name) != getattr(FinetuneConfig, name):
                raise ValueError(
                    f'{name} = {getattr(self, name)!r} has no meaning with mode = "{self.mode}"; '
                    'set mode = "lora", or leave it out'
                )


def tune(model: nn.Module, family: Family, config: FinetuneConfig) -> None:
    """Freezes what is not to be trained and adds what is.

    Raises:
        ValueError: the family has nothing of that kind.
    """
    if config.mode == "frozen":
        _freeze(model, family)
    elif config.mode == "lora":
        _adapt(model, family, config)


def _freeze(model: nn.Module, family: Family) -> None:
    if not family.encoder:
        raise ValueError(
            f'tune.mode = "frozen" has no meaning for model.family = "{family.name}", which has no '
            'encoder; take "full" or "lora"'
        )
    used: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        used.setdefault(parameter, []).append(name)
    for parameter, names in used.items():
        # What the decoder shares is trained with it.
        if all(name.startswith(family.encoder) for name in names):
            parameter.requires_grad_(False)


def _adapt(model: nn.Module, family: Family, config: FinetuneConfig) -> None:
    body = dict(model.named_children()).get(BACKBONE, model)
    found = [
        (owner, name, layer)
        for owner in body.modules()
        for name, layer in owner.named_children()
        if isinstance(layer, nn.Linear)
        and (config.where == "all" or isinstance(owner, SelfAttention | CrossAttention))
    ]
    if not found:
        others = '"full" or "frozen"' if family.encoder else '"full"'
        raise ValueError(
            f'tune.mode = "lora" with where = "{config.where}" finds no matrix to add to in '
            f'model.family = "{family.name}"; take mode = {others}'
        )
    widest = max(min(layer.weight.shape) for _, _, layer in found)
    if config.rank > widest:
        raise ValueError(
            f"tune.rank = {config.rank} is more than the {widest} that the matrices of the model "
            f'have; take less (8 is usual), or mode = "full"'
        )
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    for owner, name, layer in found:
        setattr(owner, name, Adapted(layer, config.rank, config.alpha))
