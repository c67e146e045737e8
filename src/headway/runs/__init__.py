"""The run directory: its files, read and written so that a kill loses nothing.

The callers decide the meaning of the tensors, when to save and what to do next.
"""

from .checkpoint import Checkpoint
from .directory import RunDir
from .log import RunLog

__all__ = ["Checkpoint", "RunDir", "RunLog"]
