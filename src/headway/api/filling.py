"""Words for the gaps of a text, by a model that was trained to find hidden ones.

Here, and nowhere else, the characters `[MASK]` in a text stand for the control token: everywhere
else they are characters like others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data.codecs import TextCodec
from ..errors import ConfigError, DataError
from ..models import MaskedReader
from .reading import Reading, place_of
from .trained import Trained

GAP = "[MASK]"


@dataclass(frozen=True)
class Filler:
    """A token that may stand in a gap.

    Attributes:
        token: as a person reads it.
        text: what it writes, without the space before it.
    """

    token: str
    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text, and for each of its gaps the likeliest tokens, the best first.

    Each gap is judged for itself, while the others are gaps.
    """

    text: str
    gaps: list[list[Filler]]


class Gaps:
    """Fills the gaps of texts.

    Raises:
        ConfigError: the model was not trained to find hidden words, or there are several.
    """

    def __init__(self, trained: Trained) -> None:
        self.model = trained.only_model("filling gaps")
        if "masked" not in trained.task.parts:
            raise ConfigError(
                f"the model of {trained.run.path} was not trained to find hidden words; take a run "
                'of task = "pretrain" with pretrain.objective = "masked", "masked_next" or "unilm"'
            )
        self.reading = Reading(trained)
        self.codec = self.reading.codec

    @torch.inference_mode()
    def fill(
        self, texts: Sequence[str], top: int = 5, places: Sequence[str] | None = None
    ) -> list[Filled]:
        """The likeliest tokens for each `[MASK]`; probabilities are of all tokens there are.

        Args:
            places: names of the texts in messages, by default `text 1`, `text 2`, ...

        Raises:
            DataError: in a text there is no gap, or it is too long.
        """
        framed = [self.framed(text, place_of(number, places)) for number, text in enumerate(texts)]
        gaps: dict[int, list[list[Filler]]] = {}
        for read in self.reading.read(framed):
            for row, states in zip(read.rows, read.states, strict=True):
                hidden = torch.from_numpy(np.flatnonzero(framed[row] == self._mask))
                found = self._logits(states[hidden]).float().softmax(-1).cpu().numpy()
                gaps[row] = [self._best(probabilities, top) for probabilities in found]
        return [Filled(text, gaps[row]) for row, text in enumerate(texts)]

    def framed(self, text: str, place: str, remedy: str = "shorten it") -> np.ndarray:
        """The tokens of a text, those of its gaps and marks included.

        Args:
            place: what messages call the text.
            remedy: what its user can do if it is too long.

        Raises:
            DataError: there is no gap, or the text is too long.
        """
        return self.reading.framed(with_gaps(self.codec, text, place), place, remedy=remedy)

    def _logits(self, states: Tensor) -> Tensor:
        """Shape: (n, D) -> (n, V)."""
        if isinstance(self.model, MaskedReader):
            states = self.model.masked(states)
            return self.model.masked.output(states)
        found: Tensor = self.model.output(states)  # of one network that reads and writes
        return found

    @property
    def _mask(self) -> int:
        return self.codec.tokenizer.specials["mask"]

    def _best(self, probabilities: np.ndarray, top: int) -> list[Filler]:
        """The likeliest of what is text: control tokens fill no gap."""
        tokenizer = self.codec.tokenizer
        spelled = tokenizer.spellings()
        best = [int(i) for i in np.argsort(-probabilities, kind="stable") if spelled[i]][:top]
        return [
            Filler(name, spelled[i].decode(errors="replace").strip(), float(probabilities[i]))
            for i, name in zip(best, tokenizer.tokens(best), strict=True)
        ]


def with_gaps(codec: TextCodec, text: str, place: str) -> list[int]:
    """The tokens of a text, without marks, with the control token in the place of each gap.

    A space before a gap is part of what was there, as it is part of the token of a word; where
    spaces are tokens themselves it stays.

    Raises:
        DataError: there is no gap.
    """
    parts = text.split(GAP)
    if len(parts) == 1:
        raise DataError(
            f"{place} has no {GAP}; put it where a word is to be found, as in "
            f"'the dog {GAP} the cat'"
        )
    tokenizer = codec.tokenizer
    if tokenizer.settings.kind not in ("characters", "bytes"):
        parts = [part.removesuffix(" ") for part in parts[:-1]] + parts[-1:]
    first, *others = tokenizer.encode_running(parts)
    return [*first, *(i for ids in others for i in (tokenizer.specials["mask"], *ids))]
