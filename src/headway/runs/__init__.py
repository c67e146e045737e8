"""The run directory: what is in it, and how it is read and written so that a kill loses nothing.

Files only: what the tensors mean, when to save and what to do next is decided by the callers.
"""

from .checkpoint import Checkpoint
from .directory import RunDir
from .log import RunLog

__all__ = ["Checkpoint", "RunDir", "RunLog"]
