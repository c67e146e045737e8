"""`Metric`: a row of a table of metrics, with a function of outputs and references.

The tables are next to the functions. A task names its table as `metric_table`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .score import Score


@dataclass(frozen=True)
class Metric:
    """A metric of outputs against references.

    Attributes:
        label: its name in reports.
        function: from outputs and references to a `Score`.
        lower_is_better: whether a lower value is better.
        is_usual: whether `evaluate` computes it by default.
        takes_references: whether `function` has the parameter `references`; errors of forecasts are
            differences to the targets already.
        takes_tokenized: whether `function` has the parameter `tokenized`.
        takes_resamples: whether `function` has the parameter `resamples`, for a bootstrap interval.
    """

    label: str
    function: Callable[..., Score]
    lower_is_better: bool = False
    is_usual: bool = False
    takes_references: bool = True
    takes_tokenized: bool = False
    takes_resamples: bool = True

    def __call__(
        self,
        outputs: Any,
        references: Sequence[Any] | NDArray[Any] | None = None,
        tokenized: bool = False,
        resamples: int = 0,
    ) -> Score:
        """The score of outputs against references.

        Args:
            tokenized: both sides are already tokenised, with spaces between words.
            resamples: size of the bootstrap; 0 omits intervals that need one.
        """
        options: dict[str, int] = {}
        if self.takes_tokenized:
            options["tokenized"] = tokenized
        if self.takes_resamples:
            options["resamples"] = resamples
        inputs = (outputs, references) if self.takes_references else (outputs,)
        return self.function(*inputs, **options)
