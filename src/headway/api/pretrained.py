"""A pre-trained model: how well it restores damaged text, and what it puts in gaps. No printing.

What it is for is to be started from (`init`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.corpora import Corpus, default_cache
from ..data.prepare import prepare
from ..metrics.interval import RESAMPLES
from ..models import FAMILIES
from ..tasks.pretrain import Judged, Pretrain
from .config import RunConfig
from .filling import GAP, Filled, Gaps, with_gaps
from .inspecting import check_not_blank, inspect_reading
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
        tokenizer = reading.codec.tokenizer
        has_gaps = GAP in text and "masked" in self.task.parts
        ids = with_gaps(reading.codec, text, "the text") if has_gaps else tokenizer.encode(text)
        framed = reading.framed(ids, "the text", remedy="shorten it")
        filled = [
            (_with_filler(text, number, filler.text), filler.probability)
            for number, fillers in enumerate(self.fill(text).gaps if has_gaps else ())
            for filler in fillers
        ]
        return inspect_reading(reading.model, text, tokenizer, framed, filled, self.background())

    def fill(self, text: str, top: int = 5) -> Filled:
        """The likeliest words for each `[MASK]` of a text, which here is the control token.

        Raises:
            ConfigError: the objective hid no words, or this is an ensemble.
            DataError: there is no `[MASK]`, or the text is too long.
        """
        return Gaps(self).fill(text, top)

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
