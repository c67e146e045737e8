"""Arguments of Python functions as flags: how messages of the library read on the command line.

Below `cli`, a message names an argument in backticks, as a Python program would write it.
"""

import re

ARGUMENT = re.compile(r'`(?P<name>[a-z]\w*)(?:=(?:True|"(?P<value>[^"`]*)"))?`')


def with_flags(message: str) -> str:
    """The message with flags for arguments: --out for `out`, --cut for `too_long="cut"`."""
    return ARGUMENT.sub(_flag, message)


def _flag(argument: re.Match[str]) -> str:
    name, value = argument["name"], argument["value"]
    if name == "too_long":
        return f"--{value}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None else f"{flag} {value}"
