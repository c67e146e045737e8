"""The trained part of a model that starts from another run: all weights, all but the encoder, or
LoRA products beside its matrices."""

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
    """Fine-tuning of a run that starts from `init`."""

    mode: Literal["full", "frozen", "lora"] = "full"
    """`full` trains all weights; `frozen` trains all but the encoder, and embeddings only if a
    decoder or an output layer shares them; `lora` (Hu et al. 2021) adds a product of two thin
    matrices to each matrix and trains those and the head, if there is one. The run's weights
    include the result in all modes."""
    rank: Annotated[int, Ge(1)] = 8
    """With `lora`: the rank of the products."""
    alpha: Annotated[float, Gt(0)] = 16.0
    """With `lora`: the products are multiplied by `alpha / rank`."""
    where: Literal["attention", "all"] = "all"
    """With `lora`: the matrices of attention alone, or those of the feed-forward layers too."""

    def __post_init__(self) -> None:
        unused = ("rank", "alpha", "where") if self.mode != "lora" else ()
        for name in unused:
            if getattr(self, name) != getattr(FinetuneConfig, name):
                raise ValueError(
                    f'{name} = {getattr(self, name)!r} has no meaning with mode = "{self.mode}"; '
                    'set mode = "lora", or leave it out'
                )


def tune(model: nn.Module, family: Family, config: FinetuneConfig) -> None:
    """Freezes the weights that are not trained and adds those of LoRA.

    Raises:
        ValueError: the family has no encoder to freeze, or no matrix for LoRA.
    """
    if config.mode == "frozen":
        _freeze(model, family)
    elif config.mode == "lora":
        _adapt(model, family, config)


def _freeze(model: nn.Module, family: Family) -> None:
    if not family.encoder:
        raise ValueError(
            f'tune.mode = "frozen" has no meaning for model.family = "{family.name}", which has no '
            'encoder; set "full" or "lora"'
        )
    used: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        used.setdefault(parameter, []).append(name)
    for parameter, names in used.items():
        # Weights that the decoder shares are trained with it.
        if all(name.startswith(family.encoder) for name in names):
            parameter.requires_grad_(False)


def _adapt(model: nn.Module, family: Family, config: FinetuneConfig) -> None:
    body = dict(model.named_children()).get(BACKBONE, model)
    layers = [
        (owner, name, layer)
        for owner in body.modules()
        for name, layer in owner.named_children()
        if isinstance(layer, nn.Linear)
        and (config.where == "all" or isinstance(owner, SelfAttention | CrossAttention))
    ]
    if not layers:
        others = '"full" or "frozen"' if family.encoder else '"full"'
        raise ValueError(
            f'tune.mode = "lora" with where = "{config.where}" has no matrix to adapt in '
            f'model.family = "{family.name}"; set mode = {others}'
        )
    widest = max(min(layer.weight.shape) for _, _, layer in layers)
    if config.rank > widest:
        raise ValueError(
            f"tune.rank = {config.rank} is larger than {widest}, the largest rank of the model's "
            f'matrices; set a smaller one (8 is usual), or mode = "full"'
        )
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    for owner, name, layer in layers:
        setattr(owner, name, Adapted(layer, config.rank, config.alpha))
