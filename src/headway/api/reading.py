"""What a model that reads makes of texts: a state of each token, and a vector of each text.

Whatever the model was trained for: labels, tags, answers, values, words that were hidden, and, of
one network that reads and writes, texts.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..data.codecs import TextCodec
from ..data.collate import source_batch
from ..errors import ConfigError
from ..models import FAMILIES
from ..tasks.decoding import decode_batches
from .pieces import check_length
from .trained import Trained

TooLong = Literal["refuse", "cut"]
CUT = "shorten it, or have it cut off (--cut)"


class Read(NamedTuple):
    """Texts of like length that were read together.

    Attributes:
        rows: their places among all.
        states: of their tokens, marks included (B, S, D).
        pooled: what a head tells a label from (B, D).
        valid: what is no padding (B, S).
    """

    rows: list[int]
    states: Tensor
    pooled: Tensor
    valid: Tensor


class Reading:
    """The model of a run as one that reads.

    Attributes:
        longest: number of tokens that it can read at once, marks included.

    Raises:
        ConfigError: the model does not read, or there are several.
    """

    def __init__(self, trained: Trained) -> None:
        check_reads(trained)
        config = trained.config
        self.model: Any = trained.only_model("reading texts")
        self.trained, self.pooling = trained, str(getattr(config.model, "pooling", "own"))
        task: Any = trained.task
        self.codec: TextCodec = task.source if config.task == "translate" else task.codec
        # Pre-training knows blocks; a model that was imported was trained on nothing here.
        in_blocks = config.task == "pretrain" and bool(config.data.train)
        self.longest = config.data.block if in_blocks else trained.max_length

    @property
    def width(self) -> int:
        """Of states and vectors."""
        width: int = self.trained.config.model.d_model
        return width

    def framed(
        self,
        ids: Sequence[int],
        place: str,
        too_long: TooLong = "refuse",
        remedy: str = CUT,
    ) -> np.ndarray:
        """The tokens of a text with the marks around them.

        Args:
            place: what messages call the text.
            too_long: what to do with a text that is longer than the model can read.
            remedy: what its user can do.

        Raises:
            DataError: it is.
        """
        n = len(ids) + self.codec.marks
        if too_long == "refuse":
            check_length(n, self.longest, place, remedy)
        return self.codec.single(ids[: self.longest - self.codec.marks])

    def length(self, text: str, place: str, remedy: str) -> int:
        """Tokens of a text with the marks around them.

        Raises:
            DataError: there are more than the model can read.
        """
        return len(self.framed(self.codec.tokenizer.encode(text), place, remedy=remedy))

    @torch.inference_mode()
    def read(self, framed: Sequence[np.ndarray]) -> Iterator[Read]:
        """All that is made of texts, those of like length together."""
        for rows in decode_batches([len(ids) for ids in framed], 1):
            batch = self.trained.to_device(source_batch([framed[row] for row in rows]))
            states, pooled = self.model.backbone(batch)
            yield Read(rows, states, pooled, batch["src_valid"])


def place_of(number: int, places: Sequence[str] | None) -> str:
    """What messages call a text."""
    return f"text {number + 1}" if places is None else places[number]


def check_reads(trained: Trained) -> None:
    """Refuses a run whose model makes no states of a text that is only read."""
    family = trained.config.model.family
    if "read" not in FAMILIES[family].abilities:
        able = [name for name, other in FAMILIES.items() if "read" in other.abilities]
        raise ConfigError(
            f"the model of {trained.run.path} is of the family {family!r}, which gives no states "
            f"of a text; take a run of one of {', '.join(able)}"
        )
