"""References in the form that metrics use: a list of alternatives for every output."""

from collections.abc import Sequence

from ..errors import DataError

References = Sequence[str] | Sequence[Sequence[str]]


def alternatives(outputs: Sequence[str], references: References) -> list[list[str]]:
    """A non-empty list of references for each output.

    Raises:
        DataError: there is nothing to score, lengths differ, or an output has no reference.
    """
    if len(outputs) != len(references):
        raise DataError(
            f"{len(outputs)} outputs but {len(references)} references; expected one reference, "
            "or one list of alternatives, for each output"
        )
    if not outputs:
        raise DataError("no outputs to score: got 0 lines, expected at least 1; check the input")
    result = [[item] if isinstance(item, str) else list(item) for item in references]
    for number, items in enumerate(result, start=1):
        if not items:
            raise DataError(
                f"output {number} has no reference: got an empty list, expected at least one "
                "alternative; leave the line out or add a reference"
            )
    return result


def count_label(references: Sequence[Sequence[str]]) -> str:
    """The number of references per output, for signatures, or `var` if it varies."""
    sizes = {len(items) for items in references}
    return str(sizes.pop()) if len(sizes) == 1 else "var"
