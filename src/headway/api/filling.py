"""Words for the gaps of a text, by a model that was trained to find hidden ones.

Here, and nowhere else, the characters `[MASK]` in a text stand for the control token: everywhere
else they are characters like others.
"""

from dataclasses import dataclass

import numpy as np
import torch

from ..data.codecs import TextCodec
from ..errors import ConfigError, DataError
from ..models import MaskedReader
from .reading import Reading
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
        ConfigError: the model has no head for hidden words, or there are several.
    """

    def __init__(self, trained: Trained) -> None:
        model = trained.only_model("filling gaps")
        if not isinstance(model, MaskedReader):
            raise ConfigError(
                f"the model of {trained.run.path} was not trained to find hidden words and has no "
                'head for them; take a run of task = "pretrain" with pretrain.objective = "masked" '
                'or "masked_next"'
            )
        self.model, self.reading = model, Reading(trained)
        self.codec = self.reading.codec

    def fill(self, text: str, top: int = 5, place: str = "the text") -> Filled:
        """The likeliest tokens for each `[MASK]`; probabilities are of all tokens there are.

        Args:
            place: what messages call the text.

        Raises:
            DataError: there is no gap, or the text is too long.
        """
        ids = with_gaps(self.codec, text, place)
        framed = self.reading.framed(ids, place, remedy="shorten it")
        places = np.flatnonzero(framed == self._mask)
        [read] = self.reading.read([framed])
        with torch.inference_mode():
            states = self.model.masked(read.states[0, torch.from_numpy(places)])
            probabilities = self.model.masked.output(states).float().softmax(-1).cpu().numpy()
        return Filled(text, [self._best(row, top) for row in probabilities])

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
