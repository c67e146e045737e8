"""Text to text: what `task = "translate"` means.

Two text columns with their tokenizers, teacher-forced cross-entropy, search, and the metrics of
translation. Anything that maps one line to another is this task: dates, spellings, commands.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..data.codecs import TextCodec, TextConfig, learn_codecs
from ..data.collate import collate, pad, pair_batch
from ..data.store import Store
from ..errors import ConfigError
from ..metrics.error_rate import phoneme_error_rate, word_error_rate
from ..metrics.exact import exact_match
from ..metrics.score import Score
from ..metrics.translation import bleu, chrf, ter
from ..models import SequenceModel, Vocabularies
from ..search import Hypothesis, SearchConfig, beam, greedy
from .loss import Batch
from .sequence_loss import SequenceLoss

DECODE_TOKENS = 4096  # source tokens times beam in one batch of a search


class Translate:
    """The task with its codecs.

    Args:
        source: codec of the input column.
        target: codec of the output column; the same object when the vocabulary is shared.
    """

    name = "translate"
    columns = ("source", "target")
    needs = frozenset({"step", "score"})
    metrics = ("bleu", "chrf", "ter", "exact", "wer", "per")
    usual_metrics = ("bleu", "chrf", "ter", "exact")
    lower_is_better = frozenset({"ter", "wer", "per"})

    def __init__(self, source: TextCodec, target: TextCodec) -> None:
        self.source = source
        self.target = target

    @classmethod
    def learn(cls, rows: Callable[[], Iterator[Sequence[str]]], config: TextConfig) -> "Translate":
        """Learns the tokenizers from pairs of texts, read as often as needed."""
        return cls(*learn_codecs(rows, config))

    def save(self, folder: Path) -> None:
        """`tokenizer.json`, or one file per side."""
        if self.source is self.target:
            self.source.save(folder / "tokenizer.json")
        else:
            self.source.save(folder / "source.tokenizer.json")
            self.target.save(folder / "target.tokenizer.json")

    @classmethod
    def load(cls, folder: Path) -> "Translate":
        if (folder / "tokenizer.json").exists():
            codec = TextCodec.load(folder / "tokenizer.json")
            return cls(codec, codec)
        return cls(
            TextCodec.load(folder / "source.tokenizer.json"),
            TextCodec.load(folder / "target.tokenizer.json"),
        )

    @property
    def codecs(self) -> dict[str, TextCodec]:
        """By column, in the order of the columns."""
        return {"source": self.source, "target": self.target}

    @property
    def vocabularies(self) -> Vocabularies:
        return Vocabularies(
            self.source.tokenizer.size, self.target.tokenizer.size, self.source is self.target
        )

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """The tensors of some examples.

        Args:
            draw: in training, what random segmentations depend on (seed, epoch).
        """
        if draw is None or not (self.source.is_random or self.target.is_random):
            return collate(store, indices)
        return pair_batch(
            [self.source.redraw(store["source"][i], (*draw, int(i), 0)) for i in indices],
            [self.target.redraw(store["target"][i], (*draw, int(i), 1)) for i in indices],
        )

    def objective(self, model: SequenceModel, label_smoothing: float) -> SequenceLoss:
        return SequenceLoss(model, label_smoothing)

    def pairs(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Tensor]:
        """A batch of given texts."""
        return pair_batch(self.source.encode_batch(sources), self.target.encode_batch(targets))

    def predict(
        self,
        model: SequenceModel,
        sources: Sequence[np.ndarray],
        config: SearchConfig,
        limits: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:
        """The n best outputs of each encoded source, in the order given.

        Args:
            limits: largest output length of each, in place of the settings' rule.
        """
        results: list[list[Hypothesis]] = [[] for _ in sources]
        device = next(model.parameters()).device
        for rows in decode_batches([len(s) for s in sources], config.beam):
            ids, valid = pad([sources[i] for i in rows])
            batch = {
                "src": torch.from_numpy(ids).to(device),
                "src_valid": torch.from_numpy(valid).to(device),
            }
            bounds = None
            if limits is not None:
                bounds = torch.tensor([limits[i] for i in rows], device=device)
            for i, hypotheses in zip(rows, _search(model, batch, config, bounds), strict=True):
                results[i] = hypotheses
        return results

    def text(self, hypothesis: Hypothesis) -> str:
        """What a hypothesis says."""
        return self.target.decode(hypothesis.tokens)

    def judge(
        self,
        name: str,
        outputs: Sequence[str],
        references: Sequence[str] | Sequence[Sequence[str]],
        tokenized: bool = False,
        resamples: int = 0,
    ) -> Score:
        """One metric of outputs against references.

        `wer` and `per` are those of pronunciation papers: words that match none of their
        references, and edits of symbols.
        """
        if name == "exact":
            return exact_match(outputs, references)
        if name == "chrf":
            return chrf(outputs, references, resamples=resamples)
        if name == "ter":
            return ter(outputs, references, resamples=resamples)
        if name == "bleu":
            return bleu(outputs, references, tokenized=tokenized, resamples=resamples)
        if name == "wer":
            return word_error_rate(outputs, references)
        if name == "per":
            return phoneme_error_rate(outputs, references, resamples=resamples)
        raise self.unknown_metric(name)

    def unknown_metric(self, name: str) -> ConfigError:
        """What to say of a metric the task does not have."""
        return ConfigError(
            f"no metric {name!r} for task 'translate'; expected one of {', '.join(self.metrics)}"
        )


def _search(
    model: SequenceModel, batch: Batch, config: SearchConfig, limits: Tensor | None
) -> list[list[Hypothesis]]:
    if config.beam == 1:
        found = greedy(
            model, batch, bos=TextCodec.bos, eos=TextCodec.eos, config=config, limits=limits
        )
        return [[best] for best in found]
    return beam(model, batch, bos=TextCodec.bos, eos=TextCodec.eos, config=config, limits=limits)


def decode_batches(lengths: Sequence[int], beam: int) -> Iterator[list[int]]:
    """Rows of like length, as many as the token budget allows; the longest come first."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        rows = max(1, DECODE_TOKENS // (max(lengths[order[start]], 1) * beam))
        yield order[start : start + rows]
        start += rows


__all__ = ["TextConfig", "Translate", "decode_batches"]
