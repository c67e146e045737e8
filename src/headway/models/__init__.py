"""Model families, one per file, and the table that names them.

To add a family from your own program, put a `Family` into `FAMILIES` before you load a run file.
"""

from typing import Any

from ..errors import ConfigError
from ..lazy_table import LazyTable
from .family import EncoderModel, Family, OutputLayer, SequenceModel, Vectors, VocabularySizes

FAMILIES: LazyTable[Family] = LazyTable(
    __name__,
    {
        "transformer": ".transformer:TRANSFORMER",
        "recurrent": ".recurrent:RECURRENT",
        "convolutional": ".convolutional:CONVOLUTIONAL",
        "decoder": ".decoder:DECODER",
        "recurrent_decoder": ".recurrent_decoder:RECURRENT_DECODER",
        "markov": ".counting.markov:MARKOV",
        "bag": ".counting.bag_of_words:BAG",
        "recurrent_encoder": ".recurrent_encoder:RECURRENT_ENCODER",
        "encoder": ".encoder:ENCODER",
        "unilm": ".unilm:UNILM",
        "naive": ".counting.floors:NAIVE",
        "seasonal": ".counting.floors:SEASONAL",
        "ridge": ".counting.ridge:RIDGE",
    },
)


def build_model(config: Any, vocabularies: VocabularySizes) -> Any:
    """The model of resolved settings, with fresh weights.

    Raises:
        ConfigError: the settings do not fit each other.
    """
    try:
        return FAMILIES[config.family].build(config, vocabularies)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from None


__all__ = [
    "FAMILIES",
    "EncoderModel",
    "Family",
    "OutputLayer",
    "SequenceModel",
    "Vectors",
    "VocabularySizes",
    "build_model",
]
