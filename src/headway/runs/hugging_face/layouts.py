"""The models of the library that ours can be, and which of them a model of ours is."""

from typing import Any

from ...models import Vocabularies
from .gpt2 import GPT2
from .layout import Layout
from .marian import BLENDERBOT, MARIAN, PEGASUS

LAYOUTS: dict[str, Layout] = {
    layout.model_type: layout for layout in (MARIAN, PEGASUS, BLENDERBOT, GPT2)
}
"""By what `config.json` calls them. A model of ours is written as the first that it fits."""


def layout_for(model: Any, vocabularies: Vocabularies) -> tuple[Layout | None, list[str]]:
    """As what settings of ours can be written; if as nothing, what stands in the way.

    Args:
        model: resolved settings of a family.

    Returns:
        The layout, and the obstacles of the one that comes nearest.
    """
    able = [layout for layout in LAYOUTS.values() if layout.family == model.family]
    if not able:
        return None, [f'model.family = "{model.family}"']
    found = {layout.name: layout.obstacles(model, vocabularies) for layout in able}
    for layout in able:
        if not found[layout.name]:
            return layout, []
    # Where the norm stands is what tells layouts apart; of equals the last asks for least.
    return None, min(
        reversed(found.values()),
        key=lambda names: ("model.residual" in " ".join(names), len(names)),
    )
