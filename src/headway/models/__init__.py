"""Model families, one per file, and the table that names them.

To add a family from your own program, put a `Family` into `FAMILIES` before you load a run file.
"""

from ..nn.random import drawing_from
from .convolutional import CONVOLUTIONAL
from .decoder import DECODER
from .family import Family, Output, SequenceModel, Vocabularies
from .recurrent import RECURRENT
from .transformer import TRANSFORMER

FAMILIES: dict[str, Family] = {
    family.name: family for family in (TRANSFORMER, RECURRENT, CONVOLUTIONAL, DECODER)
}

__all__ = ["FAMILIES", "Family", "Output", "SequenceModel", "Vocabularies", "drawing_from"]
