"""The models of the library that ours can be, and which of them a model of ours is."""

from collections.abc import Mapping
from typing import Any

from ...models import Vocabularies
from .bart import BART, BLENDERBOT, MARIAN, PEGASUS
from .bert import BERT, DISTILBERT, ROBERTA
from .gpt2 import GPT2
from .layout import Layout
from .t5 import T5

LAYOUTS: dict[str, Layout] = {
    layout.model_type: layout
    for layout in (ROBERTA, BERT, DISTILBERT, GPT2, T5, BART, MARIAN, PEGASUS, BLENDERBOT)
}
"""By what `config.json` calls them. A model of ours is written as the first that it fits."""


def layout_for(
    model: Any, vocabularies: Vocabularies, ids: Mapping[str, int], task: str | None = None
) -> tuple[Layout | None, list[str]]:
    """As what settings of ours can be written; if as nothing, what stands in the way.

    Args:
        model: resolved settings of a family.
        ids: those of the control tokens.
        task: what the model was trained further for, if it was.

    Returns:
        The layout, and the obstacles of the one that comes nearest.
    """
    able = [layout for layout in LAYOUTS.values() if layout.family == model.family]
    if not able:
        return None, [f'model.family = "{model.family}"']
    found = {layout.name: layout.obstacles(model, vocabularies, ids, task) for layout in able}
    for layout in able:
        if not found[layout.name]:
            return layout, []
    # Where the norm stands is what tells layouts apart; of equals the last asks for least.
    return None, min(
        reversed(found.values()),
        key=lambda names: ("model.residual" in " ".join(names), len(names)),
    )
