"""`TextEncoder`: the encoder of a trained run, which gives token states and text vectors.

It works for every task whose model has an encoder: classifiers, taggers, answerers, regressors,
masked language models and `unilm`. Embedding and mask filling build on it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..data.codecs.text import TextCodec
from ..data.collate import source_batch
from ..data.config import reads_series
from ..errors import ConfigError, batch_in_memory
from ..models import FAMILIES
from ..parallel import LARGE_INPUTS, decode_batches
from ..tasks.base import size_of
from .base import CUT, TooLong, TrainedModel
from .requests import check_length


class EncodedBatch(NamedTuple):
    """Texts of similar length, encoded together.

    Attributes:
        rows: their indices among all texts.
        states: states of their tokens, special tokens included (B, S, D).
        pooled: the vectors that a head takes (B, D).
        valid: True where there is no padding (B, S).
    """

    rows: list[int]
    states: Tensor
    pooled: Tensor
    valid: Tensor


class TextEncoder:
    """The encoder of a run.

    Attributes:
        longest: largest number of tokens it reads at once, special tokens included.

    Raises:
        ConfigError: the model is no encoder, or is an ensemble.
    """

    def __init__(self, trained: TrainedModel) -> None:
        require_encoder(trained)
        config = trained.config
        self.model: Any = trained.single_model("reading texts")
        self.trained, self.pooling = trained, str(getattr(config.model, "pooling", "own"))
        self.codec: TextCodec = trained.task.codec
        # Pre-training reads blocks; an imported model has no training data here.
        in_blocks = trained.task.in_sentences and bool(config.data.train)
        self.longest = config.data.block if in_blocks else trained.max_length

    @property
    def width(self) -> int:
        """The width of states and vectors."""
        width: int = self.trained.config.model.d_model
        return width

    def add_special_tokens(
        self,
        ids: Sequence[int],
        location: str,
        too_long: TooLong = "refuse",
        remedy: str = CUT,
    ) -> np.ndarray:
        """The tokens of a text, with special tokens around them.

        Args:
            location: name of the text in messages.
            too_long: refuse a text longer than the model reads, or cut its end off.
            remedy: advice for a text that is too long.

        Raises:
            DataError: the text is refused.
        """
        n = len(ids) + self.codec.marks
        if too_long == "refuse":
            check_length(n, self.longest, location, remedy)
        return self.codec.single(ids[: self.longest - self.codec.marks])

    def length(self, text: str, location: str, remedy: str) -> int:
        """Number of tokens of a text, special tokens included.

        Raises:
            DataError: there are more than the model reads.
        """
        return len(
            self.add_special_tokens(self.codec.tokenizer.encode(text), location, remedy=remedy)
        )

    @torch.inference_mode()
    def read(self, framed: Sequence[np.ndarray]) -> Iterator[EncodedBatch]:
        """The states and vectors of texts with special tokens, in batches of similar length."""
        for rows in decode_batches([len(ids) for ids in framed], 1):
            batch = self.trained.to_device(source_batch([framed[row] for row in rows]))
            with batch_in_memory("an encoding", *size_of(batch), LARGE_INPUTS):
                states, pooled = self.model.backbone(batch)
            yield EncodedBatch(rows, states, pooled, batch["src_valid"])


def require_encoder(trained: TrainedModel) -> None:
    """Refuses a run whose model is no encoder of texts.

    Raises:
        ConfigError: names the families that are.
    """
    if reads_series(trained.task.columns):
        raise ConfigError(
            f"{trained.run.path} reads series, and this is for texts; use another run"
        )
    family = trained.config.model.family
    if "read" not in FAMILIES[family].abilities:
        able = [name for name, other in FAMILIES.items() if "read" in other.abilities]
        raise ConfigError(
            f"the model of {trained.run.path} is of the family {family!r}, which gives no states "
            f"of a text; take a run of one of {', '.join(able)}"
        )
