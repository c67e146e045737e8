"""A row of the tables of metrics: a function of outputs and references, and how to call it.

The tables are beside the functions: `TEXT_METRICS`, `LABEL_METRICS`, `VALUE_METRICS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .score import Score


@dataclass(frozen=True)
class Metric:
    """A metric of outputs against references.

    Attributes:
        label: how reports name it.
        function: from outputs and references to a `Score`.
        lower_is_better: whether it counts errors.
        is_usual: whether `evaluate` measures it by default.
        takes_tokenized: whether `function` must know that texts are tokenised already.
        takes_resamples: whether its interval is a bootstrap, whose size `function` takes.
    """

    label: str
    function: Callable[..., Score]
    lower_is_better: bool = False
    is_usual: bool = False
    takes_tokenized: bool = False
    takes_resamples: bool = True

    def __call__(
        self,
        outputs: Sequence[Any],
        references: Sequence[Any],
        tokenized: bool = False,
        resamples: int = 0,
    ) -> Score:
        """The metric of outputs against references.

        Args:
            tokenized: both sides are tokenised already, with spaces between words.
            resamples: size of the bootstrap; 0 leaves out an interval that needs one.
        """
        options: dict[str, int] = {}
        if self.takes_tokenized:
            options["tokenized"] = tokenized
        if self.takes_resamples:
            options["resamples"] = resamples
        return self.function(outputs, references, **options)
