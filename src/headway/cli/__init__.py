"""The command `headway`: one file per verb, which parses and prints.

Nothing heavy is imported here or at the top of a verb's file, so that `headway --help` is quick.
Other packages do the work; a verb imports them when it is called.
"""

from .program import main, run

__all__ = ["main", "run"]
