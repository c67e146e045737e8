"""The command `headway`: one file per verb, which parses and prints.

Nothing heavy is imported here or at the top of a verb's file, so that `headway --help` is quick;
the work is done by `api` and `studies`, imported where a verb calls them.
"""

from .program import main

__all__ = ["main"]
