"""Model families, one per file, and the table that names them.

To add a family from your own program, put a `Family` into `FAMILIES` before you load a run file.
"""

from ..nn.random import drawing_from
from .bag import BAG
from .convolutional import CONVOLUTIONAL
from .decoder import DECODER
from .encoder import ENCODER
from .family import Family, Output, Reader, SequenceModel, Vocabularies
from .heads import MaskedReader
from .markov import MARKOV
from .recurrent import RECURRENT
from .recurrent_decoder import RECURRENT_DECODER
from .recurrent_encoder import RECURRENT_ENCODER
from .transformer import TRANSFORMER
from .unilm import UNILM

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        TRANSFORMER,
        RECURRENT,
        CONVOLUTIONAL,
        DECODER,
        RECURRENT_DECODER,
        MARKOV,
        BAG,
        RECURRENT_ENCODER,
        ENCODER,
        UNILM,
    )
}

__all__ = [
    "FAMILIES",
    "Family",
    "MaskedReader",
    "Output",
    "Reader",
    "SequenceModel",
    "Vocabularies",
    "drawing_from",
]
