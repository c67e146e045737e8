"""Pre-trained models in use: mask filling, and scores of restored text.

Their main use is to initialise other runs (`init`), which is the trainer's work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..arguments import checked
from ..data.codecs.text import TextCodec
from ..data.collate import source_batch
from ..data.config import Corpus, default_cache
from ..data.prepare import prepare
from ..errors import ConfigError, DataError
from ..inspection.build import check_not_blank, inspect_encoder, scored_output
from ..inspection.inspection import Inspection
from ..inspection.report import CommandUse
from ..metrics.interval import RESAMPLES
from ..models import FAMILIES
from ..models.heads import MaskedLMModel
from ..run_config import RunConfig
from ..tasks.pretrain.base import Pretrain, PretrainScores
from .base import TrainedModel, location_of
from .evaluation import (
    EvaluationOptions,
    EvaluationReport,
    TimedEvaluation,
    scores_to_dict,
    timed,
)
from .text_encoder import TextEncoder

GAP = "[MASK]"


@dataclass(frozen=True)
class FillCandidate:
    """A candidate token for a mask.

    Attributes:
        token: the readable token.
        text: its text, without the space before it.
    """

    token: str
    text: str
    probability: float


@dataclass(frozen=True)
class FillResult:
    """A text, and for each of its masks the likeliest tokens.

    Attributes:
        gaps: candidates for each mask, best first, predicted while the other masks stay masks.
    """

    text: str
    gaps: list[list[FillCandidate]]


class MaskFiller:
    """Fills the masks of texts.

    Raises:
        ConfigError: the model was not trained with masks, or is an ensemble.
    """

    def __init__(self, trained: TrainedModel) -> None:
        self.model = trained.single_model("filling gaps")
        if "masked" not in trained.task.parts:
            raise ConfigError(
                f"the model of {trained.run.path} was not trained to find hidden words; take a run "
                'of task = "pretrain" with pretrain.objective = "masked", "masked_next" or "unilm"'
            )
        self.reading = TextEncoder(trained)
        self.codec = self.reading.codec

    @torch.inference_mode()
    def fill(
        self, texts: Sequence[str], top: int = 5, places: Sequence[str] | None = None
    ) -> list[FillResult]:
        """The likeliest tokens for each `[MASK]`, with their probabilities over the vocabulary.

        Args:
            places: names of the texts in messages; by default `text 1`, `text 2`, ...

        Raises:
            DataError: a text has no mask, or is too long.
        """
        framed = [
            self.add_special_tokens(text, location_of(number, places))
            for number, text in enumerate(texts)
        ]
        gaps: dict[int, list[list[FillCandidate]]] = {}
        for batch in self.reading.read(framed):
            for row, states in zip(batch.rows, batch.states, strict=True):
                masked = torch.from_numpy(np.flatnonzero(framed[row] == self._mask))
                probabilities = self._logits(states[masked]).float().softmax(-1).cpu().numpy()
                gaps[row] = [self._best(of_mask, top) for of_mask in probabilities]
        return [FillResult(text, gaps[row]) for row, text in enumerate(texts)]

    def add_special_tokens(
        self, text: str, location: str, remedy: str = "shorten it"
    ) -> np.ndarray:
        """The tokens of a text, masks and special tokens included.

        Args:
            location: name of the text in messages.
            remedy: advice for a text that is too long.

        Raises:
            DataError: the text has no mask, or is too long.
        """
        return self.reading.add_special_tokens(
            encode_with_masks(self.codec, text, location), location, remedy=remedy
        )

    def _logits(self, states: Tensor) -> Tensor:
        """Shape: (n, D) -> (n, V)."""
        if isinstance(self.model, MaskedLMModel):
            states = self.model.masked(states)
            return self.model.masked.output(states)
        logits: Tensor = self.model.output(states)  # unilm: encoder and decoder share the head
        return logits

    @property
    def _mask(self) -> int:
        return self.codec.tokenizer.specials["mask"]

    def _best(self, probabilities: np.ndarray, top: int) -> list[FillCandidate]:
        """The likeliest tokens that are text; special tokens are left out."""
        tokenizer = self.codec.tokenizer
        spellings = tokenizer.spellings()
        best = [int(i) for i in np.argsort(-probabilities, kind="stable") if spellings[i]][:top]
        return [
            FillCandidate(
                name, spellings[i].decode(errors="replace").strip(), float(probabilities[i])
            )
            for i, name in zip(best, tokenizer.tokens(best), strict=True)
        ]


def encode_with_masks(codec: TextCodec, text: str, location: str) -> list[int]:
    """The tokens of a text with the mask token for each `[MASK]`, without other special tokens.

    The space before a mask is dropped, because the masked token includes it. It stays where spaces
    are tokens of their own.

    Raises:
        DataError: the text has no mask.
    """
    parts = text.split(GAP)
    if len(parts) == 1:
        raise DataError(
            f"{location} has no {GAP}; put it where a word is to be found, as in "
            f"'the dog {GAP} the cat'"
        )
    tokenizer = codec.tokenizer
    if tokenizer.settings.kind not in ("characters", "bytes"):
        parts = [part.removesuffix(" ") for part in parts[:-1]] + parts[-1:]
    first, *others = tokenizer.encode_running(parts)
    return [*first, *(i for ids in others for i in (tokenizer.specials["mask"], *ids))]


class Pretrained(TrainedModel):
    """A pre-trained model with its vocabulary, made by `headway.load`."""

    commands: ClassVar[Mapping[str, CommandUse]] = {
        "fill": CommandUse('"... [MASK] ..."', "Fill masks in a text."),
        "embed": CommandUse("FILE", "Compute vectors of lines."),
    }
    task: Pretrain

    @classmethod
    def commands_for(cls, config: RunConfig) -> Mapping[str, CommandUse]:
        task: Any = config.make_task()
        encodes = "read" in FAMILIES[config.model.family].abilities
        fits = {"fill": "masked" in task.parts, "embed": encodes}
        return {verb: use for verb, use in cls.commands.items() if fits[verb]}

    @classmethod
    def verbs_for(cls, config: RunConfig) -> set[str]:
        verbs = super().verbs_for(config)
        return verbs if "embed" in verbs else verbs - {"inspect"}  # only encoders are inspected

    @checked
    def inspect(self, text: str) -> Inspection:
        """The inspection of a text, with the tokens for its masks if the model fills masks.

        Raises:
            DataError: the text is blank, or too long.
            ConfigError: the model is no encoder, or is an ensemble.
        """
        reading = TextEncoder(self)
        check_not_blank(not text.strip())
        framed = self._framed(reading, text, "the text", "shorten it")
        filled = [
            scored_output(_with_filler(text, number, filler.text), filler.probability)
            for number, fillers in enumerate(self.fill(text).gaps if self._has_masks(text) else ())
            for filler in fillers
        ]
        tokenizer, batch = reading.codec.tokenizer, source_batch([framed])
        return inspect_encoder(
            self.task.name, reading.model, text, tokenizer, batch, filled, self.background()
        )

    def length(self, text: str, location: str, remedy: str) -> int:
        return len(self._framed(TextEncoder(self), text, location, remedy))

    def _has_masks(self, text: str) -> bool:
        return GAP in text and "masked" in self.task.parts

    def _framed(self, reading: TextEncoder, text: str, location: str, remedy: str) -> np.ndarray:
        """The tokens of a text, masks and special tokens included."""
        codec = reading.codec
        if self._has_masks(text):
            return reading.add_special_tokens(
                encode_with_masks(codec, text, location), location, remedy=remedy
            )
        return reading.add_special_tokens(codec.tokenizer.encode(text), location, remedy=remedy)

    @checked
    def fill(self, text: str, top: int = 5) -> FillResult:
        """The likeliest tokens for each `[MASK]` of a text.

        Raises:
            ConfigError: the model was not trained with masks, or is an ensemble, or `top` is 0.
            DataError: the text has no `[MASK]`, or is too long.
        """
        if top < 1:
            raise ConfigError(f"`top` {top}: expected a number of at least 1")
        return MaskFiller(self).fill([text], top, ["the text"])[0]

    @checked
    def evaluate(
        self,
        corpora: Sequence[Corpus],
        metrics: Sequence[str] | None = None,
        root: str | Path = ".",
        resamples: int = RESAMPLES,
    ) -> PretrainScores:
        """The scores of restored text; a text is corrupted in the same way every time.

        Args:
            metrics: by default all metrics of the task.
            root: the folder that relative file names start from.

        Raises:
            DataError: a file is missing, or there is no usable text.
        """
        self.check_metrics(metrics or ())
        model = self.single_model("restoring text")
        prepared = prepare(
            corpora,
            self.task.codecs,
            default_cache() / "stores",
            root=Path(root),
            block=self.task.block(self.config.data),
            sentences=True,
        )
        self.task.check(prepared.store)
        result = self.task.judge(model, prepared.store, resamples)
        scores = {name: result.scores[name] for name in metrics or self.task.metrics}
        return replace(result, scores=scores)

    def evaluate_corpora(
        self, corpora: Sequence[Corpus], root: Path, options: EvaluationOptions
    ) -> EvaluationReport:
        """The scores of restored text."""
        result = self.evaluate(corpora, options.metrics, root)
        objective = self.config.pretrain.objective
        notes = [
            f"{result.scores[name].name}: the most frequent answer, always given, is right in "
            f"{value:.3f}"
            for name, value in result.floors.items()
            if name in result.scores
        ]
        return EvaluationReport(
            result.scores,
            {
                "n": result.n_passages,
                "objective": objective,
                "metrics": scores_to_dict(result.scores),
                "floors": result.floors,
            },
            f"{result.n_passages} passages, objective {objective}",
            notes=notes,
            digits=3,
        )

    def time_evaluation(
        self, corpora: Sequence[Corpus], root: Path, metric: str, tokenized: bool
    ) -> TimedEvaluation:
        """The score of restored text; the speed is that of forced scoring."""
        result, seconds = timed(lambda: self.evaluate(corpora, [metric], root, RESAMPLES))
        n = result.n_passages
        score = result.scores[metric]
        return TimedEvaluation(lambda _: score, n, "passages", n / seconds, "passages")


def _with_filler(text: str, number: int, filler: str) -> str:
    """The text with one of its masks filled."""
    parts = text.split(GAP)
    return GAP.join(parts[: number + 1]) + filler + GAP.join(parts[number + 1 :])
