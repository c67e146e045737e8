"""A pre-trained model: how well it restores damaged text, and what it puts in gaps. No printing.

What it is for is to be started from (`init`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.collate import source_batch
from ..data.corpora import Corpus, default_cache
from ..data.prepare import prepare
from ..metrics.interval import RESAMPLES
from ..models import FAMILIES
from ..tasks.pretrain import Judged, Pretrain
from .config import RunConfig
from .filling import GAP, Filled, Gaps, with_gaps
from .inspecting import check_not_blank, inspect_reading, told
from .inspection import Inspection
from .reading import Reading
from .trained import Trained


class Pretrained(Trained):
    """A model with its vocabulary, made by `headway.load`."""

    commands = {"fill": '"... [MASK] ..."', "embed": "FILE"}  # noqa: RUF012 (as in the base)
    task: Pretrain

    @classmethod
    def uses(cls, config: RunConfig) -> Mapping[str, str]:
        kind: Any = config.kind
        reads = "read" in FAMILIES[config.model.family].abilities
        fitting = {"fill": "masked" in kind.parts, "embed": reads}
        return {verb: given for verb, given in cls.commands.items() if fitting[verb]}

    def inspect(self, text: str) -> Inspection:
        """How the model reads a text, and what it puts in its gaps if it was trained to.

        Raises:
            DataError: the text is blank, or too long.
            ConfigError: the model does not read, or this is an ensemble.
        """
        reading = Reading(self)
        check_not_blank(not text.strip())
        framed = self._framed(reading, text, "the text", "shorten it")
        filled = [
            told(_with_filler(text, number, filler.text), filler.probability)
            for number, fillers in enumerate(self.fill(text).gaps if self._has_gaps(text) else ())
            for filler in fillers
        ]
        tokenizer, batch = reading.codec.tokenizer, source_batch([framed])
        return inspect_reading(
            self.task.name, reading.model, text, tokenizer, batch, filled, self.background()
        )

    def length(self, given: str, place: str, remedy: str) -> int:
        return len(self._framed(Reading(self), given, place, remedy))

    def _has_gaps(self, text: str) -> bool:
        return GAP in text and "masked" in self.task.parts

    def _framed(self, reading: Reading, text: str, place: str, remedy: str) -> np.ndarray:
        """The tokens of a text that is looked at, marks included."""
        codec = reading.codec
        if self._has_gaps(text):
            return reading.framed(with_gaps(codec, text, place), place, remedy=remedy)
        return reading.framed(codec.tokenizer.encode(text), place, remedy=remedy)

    def fill(self, text: str, top: int = 5) -> Filled:
        """The likeliest words for each `[MASK]` of a text, which here is the control token.

        Raises:
            ConfigError: the objective hid no words, or this is an ensemble.
            DataError: there is no `[MASK]`, or the text is too long.
        """
        return Gaps(self).fill([text], top, ["the text"])[0]

    def evaluate(
        self,
        corpora: Sequence[Corpus],
        metrics: Sequence[str] | None = None,
        root: str | Path = ".",
        resamples: int = RESAMPLES,
    ) -> Judged:
        """How much of the texts is restored; what is asked of a text is always the same.

        Args:
            metrics: by default all of the task.
            root: the folder that relative file names start from.

        Raises:
            DataError: the files are missing or hold nothing to use.
        """
        for name in metrics or ():
            if name not in self.task.metrics:
                raise self.task.unknown_metric(name)
        model = self.only_model("restoring text")
        prepared = prepare(
            corpora,
            self.task.codecs,
            default_cache() / "stores",
            root=Path(root),
            block=self.task.block(self.config.data),
            sentences=True,
        )
        self.task.check(prepared.store)
        found = self.task.judge(model, prepared.store, resamples)
        return replace(
            found, scores={name: found.scores[name] for name in metrics or self.task.metrics}
        )


def _with_filler(text: str, number: int, filler: str) -> str:
    """The text with one of its gaps filled."""
    parts = text.split(GAP)
    return GAP.join(parts[: number + 1]) + filler + GAP.join(parts[number + 1 :])
