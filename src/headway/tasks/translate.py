"""Text to text: what `task = "translate"` means.

Two text columns with their tokenizers, teacher-forced cross-entropy, search, and the metrics of
translation. Anything that maps one line to another is this task: dates, spellings, commands.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.codecs import TextCodec, TextConfig, learn_codecs
from ..data.collate import collate, pad, pair_batch
from ..data.corpora import DataConfig
from ..data.store import Store
from ..errors import ConfigError
from ..metrics.error_rate import phoneme_error_rate, word_error_rate
from ..metrics.exact import exact_match
from ..metrics.score import Score
from ..metrics.translation import bleu, chrf, ter
from ..models import SequenceModel, Vocabularies
from ..search import (
    Constraints,
    Hypothesis,
    Prefix,
    Rules,
    SearchConfig,
    SearchTrace,
    Spellings,
    StepModel,
    Tracer,
    beam,
    constrained,
    exhaustive,
    greedy,
    length_limits,
    make_rules,
    n_places,
    sample,
)
from .decoded import DecodedValidator
from .decoding import decode_batches, fitting_threads, n_processes, side_by_side
from .loss import Batch
from .sequence_loss import SequenceLoss
from .task import Rows, Task
from .validation import device_of


class Translate(Task):
    """The task with its codecs.

    Args:
        source: codec of the input column.
        target: codec of the output column; of the same tokenizer when the vocabulary is shared.
    """

    name = "translate"
    columns = ("source", "target")
    needs = frozenset({"step", "score"})
    family = "transformer"
    lengths = ("target", "source")
    label_smoothing = 0.1
    metrics = ("bleu", "chrf", "ter", "exact", "wer", "per")
    validated = metrics
    usual_metrics = ("bleu", "chrf", "ter", "exact")
    lower_is_better = frozenset({"ter", "wer", "per"})

    def __init__(self, source: TextCodec, target: TextCodec) -> None:
        self.source = source
        self.target = target

    @classmethod
    def learn(cls, rows: Rows, text: TextConfig) -> "Translate":  # type: ignore[override]
        """Learns the tokenizers from pairs of texts, read as often as needed."""
        return cls(*learn_codecs(rows, text))

    @property
    def is_shared(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.source.tokenizer is self.target.tokenizer

    def save(self, folder: Path) -> None:
        """`tokenizer.json`, or one file per side."""
        if self.is_shared:
            self.source.save(folder / "tokenizer.json")
        else:
            self.source.save(folder / "source.tokenizer.json")
            self.target.save(folder / "target.tokenizer.json")

    @classmethod
    def load(cls, folder: Path) -> "Translate":
        if (folder / "tokenizer.json").exists():
            source = TextCodec.load(folder / "tokenizer.json", reads=True)
            return cls(source, TextCodec(source.tokenizer))
        return cls(
            TextCodec.load(folder / "source.tokenizer.json", reads=True),
            TextCodec.load(folder / "target.tokenizer.json"),
        )

    @property
    def codecs(self) -> dict[str, TextCodec]:
        """By column, in the order of the columns."""
        return {"source": self.source, "target": self.target}

    @property
    def vocabularies(self) -> Vocabularies:
        sizes = self.source.tokenizer.size, self.target.tokenizer.size
        return Vocabularies(*sizes, self.is_shared, head="words")

    def describe(self) -> dict[str, Any]:
        sizes = self.vocabularies
        return {
            "kind": self.target.tokenizer.settings.kind,
            "source": sizes.source,
            "target": sizes.target,
            "shared": sizes.shared,
        }

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        if draw is None or not (self.source.is_random or self.target.is_random):
            return collate(store, indices, self.target.bos)
        return pair_batch(
            [self.source.redraw(store["source"][i], (*draw, int(i), 0)) for i in indices],
            [self.target.redraw(store["target"][i], (*draw, int(i), 1)) for i in indices],
            self.target.bos,
        )

    def objective(self, model: SequenceModel, label_smoothing: float) -> SequenceLoss:
        return SequenceLoss(model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> DecodedValidator:
        return DecodedValidator(self, store, metric, sample, search)

    def pairs(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Tensor]:
        """A batch of given texts."""
        encoded = self.source.encode_batch(sources), self.target.encode_batch(targets)
        return pair_batch(*encoded, self.target.bos)

    def predict(
        self,
        model: StepModel,
        sources: Sequence[np.ndarray],
        config: SearchConfig,
        limits: Sequence[int] | None = None,
        *,
        prefixes: Sequence[Prefix] | None = None,
        constraints: Sequence[Constraints] | None = None,
        ids: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:
        """The n best outputs of each encoded source, in the order given.

        Args:
            limits: largest output length of each, in place of the settings' rule.
            prefixes: how each output has to begin.
            constraints: terms that each output must and must not hold.
            ids: what random draws depend on; the place in `sources` when not given.

        Raises:
            ConfigError: prefixes or constraints with a method that has none.
        """
        _check_method(config, prefixes, constraints)

        def find(rows: list[int]) -> list[list[Hypothesis]]:
            return self._search(
                model,
                self._sources([sources[i] for i in rows], device),
                config,
                None if limits is None else torch.tensor([limits[i] for i in rows], device=device),
                [] if prefixes is None else [prefixes[i] for i in rows],
                [] if constraints is None else [constraints[i] for i in rows],
                rows if ids is None else [ids[i] for i in rows],
            )

        device = device_of(model)
        processes = n_processes(len(sources), device)
        is_bound = [False] * len(sources) if constraints is None else [bool(c) for c in constraints]
        batches = []
        for group in (False, True):  # what is not constrained takes the fast way
            chosen = [i for i, bound in enumerate(is_bound) if bound == group]
            width = config.n_best if config.method == "sample" else config.beam
            if group and constraints is not None:
                width = max((n_places(constraints[i], width) for i in chosen), default=width)
            lengths = [len(sources[i]) for i in chosen]
            for rows in decode_batches(lengths, width, processes):
                batches.append([chosen[i] for i in rows])
        n_hypotheses = max(map(len, batches), default=0) * config.beam
        with fitting_threads(model, n_hypotheses):
            return side_by_side(find, batches, processes)

    def trace(
        self,
        model: StepModel,
        source: np.ndarray,
        config: SearchConfig,
        prefix: Prefix | None = None,
        constraints: Constraints | None = None,
    ) -> tuple[list[Hypothesis], SearchTrace]:
        """The n best outputs of one source, and every step of the beam search that found them.

        Raises:
            ConfigError: the method is no beam search.
        """
        if config.method != "beam":
            raise ConfigError(f'method = "{config.method}" has no trace; set method = "beam"')
        batch = self._sources([source], device_of(model))
        prefixes = [] if prefix is None else [prefix]
        tracer = Tracer(1, self.target.eos, config)
        limits = _limits(batch, config, prefixes)
        common: Any = {**self._marks, "config": config, "limits": limits, "tracer": tracer}
        common["rules"] = self._rules(batch, config, limits, prefixes)
        if constraints:
            text = self.target.decode
            [found] = constrained(model, batch, [constraints], text=text, **common)
        else:
            [found] = beam(model, batch, **common)
        return found, tracer.traces()[0]

    def _search(
        self,
        model: StepModel,
        batch: Batch,
        config: SearchConfig,
        limits: Tensor | None,
        prefixes: list[Prefix],
        constraints: list[Constraints],
        ids: list[int],
    ) -> list[list[Hypothesis]]:
        if config.method == "exhaustive":
            found = exhaustive(model, batch, **self._marks, config=config, limits=limits)
            return [[replace(one.best, proven=one.proven)] for one in found]
        limits = _limits(batch, config, prefixes) if limits is None else limits
        rules = self._rules(batch, config, limits, prefixes)
        common: Any = {**self._marks, "config": config, "limits": limits, "rules": rules}
        if config.method == "sample":
            return sample(model, batch, **common, ids=ids)
        if any(constraints):
            return constrained(model, batch, constraints, text=self.target.decode, **common)
        if config.beam == 1 and config.stop == "finished":
            return [[best] for best in greedy(model, batch, **common)]
        return beam(model, batch, **common)

    def _rules(
        self, batch: Batch, config: SearchConfig, limits: Tensor, prefixes: list[Prefix]
    ) -> Rules | None:
        is_open = any(prefix.opening for prefix in prefixes)
        return make_rules(
            batch,
            config,
            eos=self.target.eos,
            limits=limits,
            prefixes=prefixes,
            spellings=self._spellings if is_open else None,
        )

    @property
    def _marks(self) -> Any:
        """Between which an output is searched."""
        return {"bos": self.target.bos, "eos": self.target.eos}

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self.target.tokenizer.spellings())

    @staticmethod
    def _sources(sources: Sequence[np.ndarray], device: torch.device) -> dict[str, Tensor]:
        ids, valid = pad(sources)
        return {
            "src": torch.from_numpy(ids).to(device),
            "src_valid": torch.from_numpy(valid).to(device),
        }

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


def _check_method(
    config: SearchConfig,
    prefixes: Sequence[Prefix] | None,
    constraints: Sequence[Constraints] | None,
) -> None:
    """Refuses what a method would have to pass over."""
    asked = {
        "a beginning": any(prefix.tokens or prefix.opening for prefix in prefixes or ()),
        "required or forbidden terms": any(constraints or ()),
    }
    able = {"beam": asked.keys(), "sample": {"a beginning"}, "exhaustive": set()}
    for name, is_asked in asked.items():
        if is_asked and name not in able[config.method]:
            raise ConfigError(
                f'method = "{config.method}" cannot search with {name}; set method = "beam"'
            )


def _limits(batch: Batch, config: SearchConfig, prefixes: list[Prefix]) -> Tensor:
    """The settings' limits, with room after each beginning that was given."""
    limits = length_limits(batch, config)
    if not prefixes:
        return limits
    given = torch.tensor([len(p.tokens) + len(p.opening) for p in prefixes], device=limits.device)
    room = max(1, config.max_extra)  # END at least
    return torch.where(given > 0, limits.maximum(given + room), limits)
