"""Models of Hugging Face transformers, imported and exported.

This file lists the architectures and chooses one for an export. `model_files.py`,
`tokenizer_files.py`, `generation_config.py` and `sentence_transformers.py` read and write the files
of a folder. Run directories are made in `interop/import_model.py`.
"""

from collections.abc import Mapping
from typing import Any

from ...models import VocabularySizes
from .architecture import Architecture
from .bart import BART, BLENDERBOT, MARIAN, PEGASUS
from .bert import BERT, DISTILBERT, ROBERTA
from .gpt2 import GPT2
from .gpt_neox import GPT_NEOX
from .t5 import T5

ARCHITECTURES: dict[str, Architecture] = {
    architecture.model_type: architecture
    for architecture in (
        ROBERTA,
        BERT,
        DISTILBERT,
        GPT2,
        GPT_NEOX,
        T5,
        BART,
        MARIAN,
        PEGASUS,
        BLENDERBOT,
    )
}
"""By `model_type` of `config.json`. An export uses the first that can express the model."""


def architecture_for(
    model: Any, vocabularies: VocabularySizes, ids: Mapping[str, int], task: str | None = None
) -> tuple[Architecture | None, list[str]]:
    """The architecture that can express our settings, or None and the obstacles.

    Args:
        model: resolved settings of a family.
        ids: ids of the special tokens.
        task: of a fine-tuned model, else None.

    Returns:
        The architecture, and the obstacles of the closest one if there is none.
    """
    candidates = [other for other in ARCHITECTURES.values() if other.family == model.family]
    if not candidates:
        return None, [f'model.family = "{model.family}"']
    obstacles = [other.obstacles(model, vocabularies, ids, task) for other in candidates]
    for architecture, messages in zip(candidates, obstacles, strict=True):
        if not messages:
            return architecture, []
    # Where the norm stands separates the architectures; among equals the last asks for least.
    closest = min(
        reversed(obstacles),
        key=lambda messages: ("model.residual" in " ".join(messages), len(messages)),
    )
    return None, closest


__all__ = ["ARCHITECTURES", "Architecture", "architecture_for"]
