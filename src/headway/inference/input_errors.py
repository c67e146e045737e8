"""Inputs that cannot be used: the first one stops a call, or each is the result of its input."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, cast

from ..errors import DataError, InputError
from ..text.tokenizer import check_characters

Output = TypeVar("Output")
OnError = Literal["stop", "keep"]
"""Whether an input that cannot be used stops the call, or is left out with its error as result."""


class InputErrors:
    """The errors of single inputs in one call.

    Args:
        inputs: all inputs; one that is an `InputError` already stays its own result.
        location: the name of an input in messages, by its index.
    """

    def __init__(
        self, inputs: Sequence[Any], on_error: OnError, location: Callable[[int], str]
    ) -> None:
        self._n, self._on_error = len(inputs), on_error
        self._kept: dict[int, InputError] = {}
        for row, value in enumerate(inputs):
            with self.of(row):
                if isinstance(value, InputError):
                    raise value
                _check_characters(value, location(row))

    @property
    def rows(self) -> list[int]:
        """The indices of the inputs that can be used, as far as is known."""
        return [row for row in range(self._n) if row not in self._kept]

    @contextmanager
    def of(self, row: int) -> Iterator[None]:
        """Around the work on one input: its DataErrors are raised, or kept.

        Raises:
            InputError: by `stop`.
        """
        try:
            yield
        except DataError as error:
            if self._on_error == "stop":
                raise InputError(str(error)) from None
            self._kept[row] = InputError(str(error))

    def with_results(self, results: Iterable[Output]) -> list[Output]:
        """The results of all inputs in order: those of `rows`, and the errors of the others."""
        found, kept = iter(results), cast("dict[int, Any]", self._kept)
        return [kept[row] if row in kept else next(found) for row in range(self._n)]


def _check_characters(value: Any, location: str) -> None:
    """Refuses half a character here, because encoders take many inputs at once.

    Args:
        value: a text, a request with a source, or several texts; others have no characters.
    """
    text = getattr(value, "source", value)
    parts = text if isinstance(text, tuple | list) else [text]
    try:
        for part in parts:
            if isinstance(part, str):
                check_characters(part)
    except DataError as error:
        raise DataError(f"{location}: {error}") from None
