"""`task = "translate"`: text to text.

Two text columns with their tokenizers, teacher-forced cross-entropy, search, and the metrics of
translation. Any mapping of a line to a line is this task: dates, spellings, commands.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ..data.batching import Batches
from ..data.codecs.text import TextCodec, TextConfig, fit_codecs
from ..data.collate import collate, pad, pair_batch
from ..data.config import DataConfig
from ..data.store import Store
from ..errors import ConfigError, batch_in_memory
from ..metrics.fitting import SAMPLE, fitting_metric
from ..metrics.score import Score
from ..metrics.text_metrics import TEXT_METRICS
from ..models import SequenceModel, VocabularySizes
from ..nn.decoding import StepModel
from ..parallel import (
    LARGE_SEARCH,
    decode_batches,
    map_batches,
    n_processes,
    single_thread_if_small,
)
from ..search import (
    Constraints,
    Hypothesis,
    LogitsRules,
    Prefix,
    SearchConfig,
    SearchTrace,
    TokenBytes,
    Tracer,
    beam,
    constrained,
    count_slots,
    exhaustive,
    greedy,
    length_limits,
    make_logits_rules,
    sample,
)
from .base import SAMPLES, TOKENS, Batch, Objective, Rows, Task, Validation, Validator, device_of
from .losses import SequenceLoss


class Translate(Task):
    """An output text for each source text: translations, pronunciations, dates.

    Attributes:
        source: codec of the input column.
        target: codec of the output column; it has the same tokenizer if the vocabulary is shared.
    """

    name = "translate"
    trained_class = "headway.inference.translator:Translator"
    columns = ("source", "target")
    needs = frozenset({"step", "score"})
    family = "transformer"
    lengths = ("target", "source")
    label_smoothing = 0.1
    metric_table = TEXT_METRICS
    usual_metrics = tuple(name for name, row in TEXT_METRICS.items() if row.is_usual)

    source: TextCodec
    target: TextCodec

    def with_codecs(self, source: TextCodec, target: TextCodec) -> Self:
        """The task with these codecs."""
        task = self.without_codecs()
        task.source = task.codec = source
        task.target = target
        return task

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizers on pairs of texts, in as many passes as needed."""
        return self.with_codecs(*fit_codecs(rows, text))

    @property
    def is_shared(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.source.tokenizer is self.target.tokenizer

    def save_codecs(self, folder: Path) -> None:
        """Writes `tokenizer.json`, or one file per side."""
        if self.is_shared:
            self.source.save(folder / "tokenizer.json")
        else:
            self.source.save(folder / "source.tokenizer.json")
            self.target.save(folder / "target.tokenizer.json")

    def load_codecs(self, folder: Path) -> Self:
        if (folder / "tokenizer.json").exists():
            source = TextCodec.load(folder / "tokenizer.json", reads=True)
            return self.with_codecs(source, TextCodec(source.tokenizer))
        return self.with_codecs(
            TextCodec.load(folder / "source.tokenizer.json", reads=True),
            TextCodec.load(folder / "target.tokenizer.json"),
        )

    @property
    def codecs(self) -> dict[str, TextCodec]:
        """The codec of each column, in their order."""
        return {"source": self.source, "target": self.target}

    @property
    def vocabularies(self) -> VocabularySizes:
        sizes = self.source.tokenizer.size, self.target.tokenizer.size
        return VocabularySizes(*sizes, self.is_shared, head="words")

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "kind": self.target.tokenizer.settings.kind}

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

    def fitting_metric(self, store: Store) -> str:
        indices = range(0, len(store), max(1, len(store) // SAMPLE))
        return fitting_metric([self.target.decode(store["target"][i].tolist()) for i in indices])

    def comparison_metric(self, references: Iterable[str]) -> str:
        return fitting_metric(list(references))

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "TranslationValidator":
        return TranslationValidator(self, store, metric, sample, search)

    def pairs(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Tensor]:
        """A batch of pairs of texts."""
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
        """The n best outputs of each encoded source, in their order.

        Args:
            limits: largest length of each output, instead of the limits of the settings.
            prefixes: the required start of each output.
            constraints: terms that each output must contain or must not contain.
            ids: seeds of the random draws. Default: the index in `sources`.

        Raises:
            ConfigError: the method does not support prefixes or constraints.
        """
        _check_method(config, prefixes, constraints)

        def search(rows: list[int]) -> list[list[Hypothesis]]:
            longest = max(len(sources[i]) for i in rows)
            with batch_in_memory("a search", len(rows), longest, LARGE_SEARCH):
                return self._search(
                    model,
                    self._sources([sources[i] for i in rows], device),
                    config,
                    None if limits is None else torch.tensor([limits[i] for i in rows]).to(device),
                    [] if prefixes is None else [prefixes[i] for i in rows],
                    [] if constraints is None else [constraints[i] for i in rows],
                    rows if ids is None else [ids[i] for i in rows],
                )

        device = device_of(model)
        processes = n_processes(len(sources), device)
        is_bound = [False] * len(sources) if constraints is None else [bool(c) for c in constraints]
        batches = []
        for group in (False, True):  # unconstrained sentences use the fast search
            chosen = [i for i, bound in enumerate(is_bound) if bound == group]
            width = config.n_best if config.method == "sample" else config.beam
            if group and constraints is not None:
                width = max((count_slots(constraints[i], width) for i in chosen), default=width)
            lengths = [len(sources[i]) for i in chosen]
            for rows in decode_batches(lengths, width, processes):
                batches.append([chosen[i] for i in rows])
        n_hypotheses = max(map(len, batches), default=0) * config.beam
        with single_thread_if_small(model, n_hypotheses):
            return map_batches(search, batches, processes)

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
            ConfigError: the method is not beam search.
        """
        if config.method != "beam":
            raise ConfigError(f'method = "{config.method}" has no trace; set method = "beam"')
        batch = self._sources([source], device_of(model))
        prefixes = [] if prefix is None else [prefix]
        tracer = Tracer(1, self.target.eos, config)
        limits = _limits(batch, config, prefixes)
        common: Any = {**self._special_tokens, "config": config, "limits": limits, "tracer": tracer}
        common["rules"] = self._rules(batch, config, limits, prefixes)
        if constraints:
            text = self.target.decode
            [outputs] = constrained(model, batch, [constraints], text=text, **common)
        else:
            [outputs] = beam(model, batch, **common)
        return outputs, tracer.traces()[0]

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
            results = exhaustive(model, batch, **self._special_tokens, config=config, limits=limits)
            return [[replace(result.best, proven=result.proven)] for result in results]
        limits = _limits(batch, config, prefixes) if limits is None else limits
        rules = self._rules(batch, config, limits, prefixes)
        common: Any = {**self._special_tokens, "config": config, "limits": limits, "rules": rules}
        if config.method == "sample":
            return sample(model, batch, **common, ids=ids)
        if any(constraints):
            return constrained(model, batch, constraints, text=self.target.decode, **common)
        if config.beam == 1 and config.stop == "finished":
            return [[best] for best in greedy(model, batch, **common)]
        return beam(model, batch, **common)

    def _rules(
        self, batch: Batch, config: SearchConfig, limits: Tensor, prefixes: list[Prefix]
    ) -> LogitsRules | None:
        return make_logits_rules(
            batch,
            config,
            eos=self.target.eos,
            limits=limits,
            prefixes=prefixes,
            spellings=lambda: self._spellings,
        )

    @property
    def _special_tokens(self) -> Any:
        """The tokens that start and end an output."""
        return {"bos": self.target.bos, "eos": self.target.eos}

    @cached_property
    def _spellings(self) -> TokenBytes:
        return TokenBytes(self.target.tokenizer.spellings())

    @staticmethod
    def _sources(sources: Sequence[np.ndarray], device: torch.device) -> dict[str, Tensor]:
        ids, valid = pad(sources)
        return {
            "src": torch.from_numpy(ids).to(device),
            "src_valid": torch.from_numpy(valid).to(device),
        }

    def text(self, hypothesis: Hypothesis) -> str:
        """The text of a hypothesis."""
        return self.target.decode(hypothesis.tokens)

    def judge(
        self,
        name: str,
        outputs: Sequence[str],
        references: Sequence[str] | Sequence[Sequence[str]],
        tokenized: bool = False,
        resamples: int = 0,
    ) -> Score:
        """The score of outputs against references by a metric of `TEXT_METRICS`."""
        return self.find_metric(name)(outputs, references, tokenized, resamples)


def _check_method(
    config: SearchConfig,
    prefixes: Sequence[Prefix] | None,
    constraints: Sequence[Constraints] | None,
) -> None:
    """Refuses requests that the search method does not support."""
    requests = {
        "a prefix": any(prefix.tokens or prefix.opening for prefix in prefixes or ()),
        "required or forbidden terms": any(constraints or ()),
    }
    able = {"beam": requests.keys(), "sample": {"a prefix"}, "exhaustive": set()}
    for name, is_made in requests.items():
        if is_made and name not in able[config.method]:
            raise ConfigError(
                f'method = "{config.method}" cannot search with {name}; set method = "beam"'
            )


def _limits(batch: Batch, config: SearchConfig, prefixes: list[Prefix]) -> Tensor:
    """The limits of the settings, with room after each prefix."""
    limits = length_limits(batch, config)
    if not prefixes:
        return limits
    lengths = torch.tensor([len(p.tokens) + len(p.opening) for p in prefixes], device=limits.device)
    room = max(1, config.max_extra)  # END at least
    return torch.where(lengths > 0, limits.maximum(lengths + room), limits)


# Replaces unknown tokens in references. Unicode guarantees that this code point is never a
# character, so no output contains it: an unknown token counts as wrong, whatever the output is.
NEVER_RIGHT = "\ufdd0"


class TranslationValidator(Validator):
    """Loss, exact match, BLEU and the deciding metric.

    References are decoded from their tokens: in lower case if the tokenizer lowercases, and without
    a match for unknown tokens. `evaluate` compares with the original text.

    Args:
        metric: the deciding metric: `loss` or a metric of the task.
        sample: number of examples to decode.
    """

    def __init__(
        self, task: "Translate", store: Store, metric: str, sample: int, search: SearchConfig
    ) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store
        self.search = search
        # Spread over the set, because its order may not be random.
        step = max(1, len(store) // sample)
        self.chosen = list(range(0, len(store), step))[:sample]
        targets = [store["target"][i].tolist() for i in self.chosen]
        self.references = [task.target.decode(ids) for ids in targets]
        self._strict_references = [task.target.decode(ids, unknown=NEVER_RIGHT) for ids in targets]
        self.sources = [task.source.decode(store["source"][i].tolist()) for i in self.chosen]

    def batches(self) -> Iterator[Batch]:
        for indices in Batches(self.store, self.task.lengths, TOKENS, seed=0).epoch(0):
            yield self.task.batch(self.store, indices)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        outputs = self._outputs(objective, limited)
        names = dict.fromkeys(("bleu", "exact", self.metric))
        figures = {
            name: self.task.judge(name, outputs, self._strict_references).value
            for name in names
            if name != "loss"
        }
        rows = list(zip(self.sources, outputs, self.references, strict=True))
        return Validation(figures, rows[:SAMPLES])

    def _outputs(self, objective: Objective, limited: bool) -> list[str]:
        sources = [self.store["source"][i] for i in self.chosen]
        limits = [len(self.store["target"][i]) for i in self.chosen] if limited else None
        outputs = self.task.predict(objective.model, sources, self.search, limits)
        return [self.task.text(hypotheses[0]) for hypotheses in outputs]
