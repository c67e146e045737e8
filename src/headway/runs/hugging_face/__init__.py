"""Models of Hugging Face's transformers, read and written.

`layouts` names the models that ours can be; each has a file with one table of weights and one of
settings, which serve both directions, and `purposes` says what a model was trained further for.
`reading` and `writing` go through them; `folder` reads what lies on the disk. Where a run directory
or an export is made of it is the caller's.
"""

from .folder import Folder
from .layout import Layout
from .layouts import LAYOUTS, layout_for
from .purposes import Purpose
from .reading import Found, read_model
from .sentences import write_sentences
from .tokens import read_tokenizers
from .writing import write_generation, write_model, write_text

__all__ = [
    "LAYOUTS",
    "Folder",
    "Found",
    "Layout",
    "Purpose",
    "layout_for",
    "read_model",
    "read_tokenizers",
    "write_generation",
    "write_model",
    "write_sentences",
    "write_text",
]
