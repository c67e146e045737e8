"""The models that equivalences are tried on: every family, and variants of some.

A family is tried with what it declares it can do; one that is new to the table is tried with its
default settings until it gets small ones here.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from equivalence_vectors import VARIANTS as VECTORS
from equivalence_vectors import dressed, has_fixed_size, sizes_of_vectors

from headway.data.collate import pair_batch
from headway.models import FAMILIES, SequenceModel, VocabularySizes
from headway.models.family import Head
from headway.models.transformer_layers import LayerSettings
from headway.nn.scores import SCORES, score_name
from headway.search import Hypothesis
from headway.text import BOS, EOS, PAD

VOCABULARY = 14
STEPS_TAUGHT = 40
SEQUENCES_COUNTED = 60
SPECIALS = 4  # words begin here
LABELS = 3

SMALL: dict[str, dict[str, Any]] = {
    "transformer": {
        "d_model": 16,
        "d_ff": 24,
        "n_heads": 2,
        "encoder_layers": 2,
        "decoder_layers": 2,
    },
    "recurrent": {"d_model": 16},
    "convolutional": {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2},
    "decoder": {"d_model": 16, "d_ff": 24, "n_heads": 2, "layers": 2},
    "recurrent_decoder": {"d_model": 16},
    "encoder": {"d_model": 16, "d_ff": 24, "n_heads": 2, "layers": 2},
    "recurrent_encoder": {"d_model": 16},
    "unilm": {"d_model": 16, "d_ff": 24, "n_heads": 2, "layers": 2},
}
TRANSFORMERS: dict[str, dict[str, Any]] = {
    "post-norm": {"residual": "post"},
    "rms": {"norm": "rms", "bias": False},
    "rotary": {"positions": "rotary"},
    "learned": {"positions": "learned", "max_positions": 40},
    "gated silu": {"gated": True, "activation": "silu"},
    "d_head free": {"n_heads": 3, "d_head": 6},
    "d_value other": {"d_value": 5},
    "share target": {"share": "target"},
    "share none": {"share": "none", "output_bias": True},
    "additive": {"score": "additive"},
    "general": {"score": "general", "positions": "rotary"},
    "bart": {
        "residual": "post",
        "positions": "learned",
        "max_positions": 40,
        "embedding_norm": True,
        "scale_embeddings": False,
        "activation": "gelu",
    },
    "t5": {
        "norm": "rms",
        "norm_eps": 1e-6,
        "bias": False,
        "score": "dot",
        "positions": "relative",
        "position_buckets": 8,
        "position_distance": 12,
        "n_heads": 3,
        "d_head": 6,
        "scale_embeddings": False,
        "scale_output": True,
    },
    "t5 gated": {
        "norm": "rms",
        "bias": False,
        "score": "dot",
        "positions": "relative",
        "gated": True,
        "activation": "gelu_tanh",
        "scale_embeddings": False,
        "share": "inputs",
    },
}
RECURRENTS: dict[str, dict[str, Any]] = {
    "rnn none": {"cell": "rnn", "attention": "none", "bidirectional": False},
    "lstm none": {"cell": "lstm", "attention": "none", "layers": 2},
    "gru bahdanau": {"attention": "bahdanau"},
    "lstm bahdanau": {"cell": "lstm", "attention": "bahdanau", "score": "concat", "layers": 2},
    "rnn location": {
        "cell": "rnn",
        "attention": "bahdanau",
        "score": "location",
        "max_positions": 40,
        "share": "none",
    },
    "gru cosine": {"score": "cosine", "layers": 2, "bidirectional": False},
    "gru feeding": {"score": "scaled_dot", "input_feeding": True},
    "lstm feeding": {"cell": "lstm", "score": "dot", "input_feeding": True, "layers": 2},
}
ENCODERS: dict[str, dict[str, Any]] = {
    "first": {"pooling": "first", "positions": "rotary"},
    "post-norm": {"residual": "post", "positions": "learned", "max_positions": 40},
    "cosine": {"score": "cosine", "d_value": 5},
    "bert": {"preset": "bert-tiny", "max_positions": 40},
    "relative": {"positions": "relative", "position_buckets": 8, "position_distance": 12},
}
RECURRENT_ENCODERS: dict[str, dict[str, Any]] = {
    "lstm": {"cell": "lstm", "layers": 2, "bidirectional": False},
    "rnn mean": {"cell": "rnn", "pooling": "mean"},
}
DECODERS: dict[str, dict[str, Any]] = {
    "gpt-2": {
        "positions": "learned",
        "max_positions": 40,
        "activation": "gelu_tanh",
        "scale_embeddings": False,
    },
    "additive": {"score": "additive", "d_value": 5},
    "relative": {"positions": "relative", "position_buckets": 8, "position_distance": 12},
}
RECURRENT_DECODERS: dict[str, dict[str, Any]] = {
    "rnn": {"cell": "rnn", "share": False},
    "lstm": {"cell": "lstm", "layers": 2},
}
UNILMS: dict[str, dict[str, Any]] = {
    "bert": {"preset": "bert-tiny", "output_bias": True},
    "relative": {"positions": "relative", "position_buckets": 8, "position_distance": 12},
}
MARKOVS: dict[str, dict[str, Any]] = {
    "add-k": {"order": 3, "smoothing": "add-k", "k": 0.1},
    "skips": {"skips": True},
    "selective": {"skips": 3, "selective": True},
}


def scores_left(family: str, variants: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A variant for every score of the table that none of the others has, named after it."""
    config, sizes = FAMILIES[family].config, VocabularySizes(VOCABULARY, VOCABULARY, shared=True)
    resolved = [config(**given).resolve(100, sizes).score for given in ({}, *variants.values())]
    taken = {score_name(score) for score in resolved if score != "auto"}
    in_heads = issubclass(config, LayerSettings)
    return {
        name: {"score": name}
        for name, spec in SCORES.items()
        if name not in taken and not (in_heads and spec.unfit_in_heads)
    }


TRANSFORMER_SCORES = scores_left("transformer", TRANSFORMERS)
RECURRENT_SCORES = scores_left("recurrent", RECURRENTS)


@dataclass(frozen=True, eq=False)
class Case:
    """A family with settings; its name is a row of the matrix."""

    name: str
    family: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def abilities(self) -> frozenset[str]:
        abilities = FAMILIES[self.family].abilities
        if self.settings.get("attention") == "none":
            abilities -= {"attend"}
        if self.settings.get("pooling") == "all":  # its head is not for single states
            abilities -= {"read"}
        return abilities

    @property
    def has_source(self) -> bool:
        return FAMILIES[self.family].source != "none"

    @property
    def has_tokens(self) -> bool:
        """Whether its source is tokens, not vectors."""
        return "input" not in self.settings

    @property
    def is_padded(self) -> bool:
        """Whether all sources are padded to one size."""
        return not self.has_tokens and has_fixed_size(self.name)

    @property
    def heads(self) -> tuple[Head, ...]:
        """Heads of an encoder."""
        return ("linear", "masked_next") if self.has_tokens else ("linear",)

    @property
    def counts(self) -> bool:
        """Whether it learns by counting, not by gradient."""
        return FAMILIES[self.family].learns == "counting"

    def build(
        self,
        vocabulary: int = VOCABULARY,
        dropout: float = 0.0,
        seed: int = 0,
        head: Head | None = None,
    ) -> Any:
        """A random model in evaluation mode; one that counts has seen some labelled texts.

        Without `head`, one that can both read and write is one that writes.
        """
        family = FAMILIES[self.family]
        head = head or ("words" if "step" in self.abilities else "linear")
        sizes = VocabularySizes(vocabulary, vocabulary, shared=True, head=head)
        if head != "words":
            sizes = VocabularySizes(vocabulary, LABELS, shared=False, head=head)
        if family.count is not None and head != "words":
            return family.count(family.config(**self.settings), sizes, labelled(vocabulary))
        settings = {**SMALL.get(self.family, {}), **self.settings}
        if hasattr(family.config, "dropout"):
            settings = {"dropout": dropout, **settings}
        if not self.has_tokens:
            sizes = sizes_of_vectors(sizes, self.name, self.settings)
        torch.manual_seed(seed)
        config = family.config(**settings).resolve(100, sizes)
        model: Any = family.build(config, sizes)
        with torch.no_grad():
            for parameter in model.parameters():
                # Gains and biases start at 1 and 0, where a mistake with them would not show.
                parameter.add_(0.1 * torch.randn_like(parameter))
        if not self.has_tokens:
            model = dressed(model, vocabulary, sizes, config.input)
        return model.eval()

    @cache  # noqa: B019  (a handful of cases, for one test session)
    def taught(self, vocabulary: int = VOCABULARY) -> Any:
        """A model that has learnt a little: its outputs end, differ and follow their sources.

        It is the same object each time; tests leave its weights alone.
        """
        if self.counts:
            return self._counted(vocabulary)
        model = self.build(vocabulary)
        batches = [some_batch(seed, vocabulary) for seed in range(3)]
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in range(STEPS_TAUGHT):
            batch = batches[step % len(batches)]
            valid = batch["tgt_valid"]
            optimizer.zero_grad()
            model.output.cross_entropy(model(batch)[valid], batch["tgt_out"][valid]).backward()
            optimizer.step()
        return model.requires_grad_(False)

    def _counted(self, vocabulary: int) -> Any:
        """Some words come far more often than others: equal counts would make outputs ties."""
        family, sizes = FAMILIES[self.family], VocabularySizes(vocabulary, vocabulary, shared=True)
        assert family.count is not None
        draw, possible = random.Random(0), range(SPECIALS - 1, vocabulary)  # unknowns among them
        shares = [1 / (1 + place) ** 1.5 for place in range(len(possible))]
        sequences = [
            np.array([*draw.choices(possible, shares, k=draw.randint(0, 9)), EOS])
            for _ in range(SEQUENCES_COUNTED)
        ]
        given = {**SMALL.get(self.family, {}), **self.settings}
        return family.count(family.config(**given).resolve(100, sizes), sizes, sequences).eval()


CASES = [
    *(Case(name, name) for name in FAMILIES),
    *(Case(f"transformer {name}", "transformer", given) for name, given in TRANSFORMERS.items()),
    *(Case(f"recurrent {name}", "recurrent", given) for name, given in RECURRENTS.items()),
    *(Case(f"decoder {name}", "decoder", given) for name, given in DECODERS.items()),
    *(
        Case(f"recurrent_decoder {name}", "recurrent_decoder", given)
        for name, given in RECURRENT_DECODERS.items()
    ),
    *(Case(f"markov {name}", "markov", given) for name, given in MARKOVS.items()),
    *(Case(f"encoder {name}", "encoder", given) for name, given in ENCODERS.items()),
    *(
        Case(f"recurrent_encoder {name}", "recurrent_encoder", given)
        for name, given in RECURRENT_ENCODERS.items()
    ),
    *(Case(f"unilm {name}", "unilm", given) for name, given in UNILMS.items()),
    Case("bag counts", "bag", {"weighting": "counts", "ngrams": (1, 3)}),
    *(Case(f"transformer {n}", "transformer", given) for n, given in TRANSFORMER_SCORES.items()),
    *(Case(f"recurrent {n}", "recurrent", given) for n, given in RECURRENT_SCORES.items()),
    *(
        Case(f"{family} {name}", family, given)
        for family, variants in VECTORS
        for name, given in variants.items()
    ),
]


def fitting(abilities: Sequence[str], only: Callable[[Case], bool]) -> list[Case]:
    return [case for case in CASES if case.abilities >= set(abilities) and only(case)]


def equivalence(
    column: str, *abilities: str, only: Callable[[Case], bool] = lambda case: True
) -> pytest.MarkDecorator:
    """Parametrises a test over the cases that can do what it needs: cells of one column."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.name, marks=pytest.mark.equivalence(case.name, column))
            for case in fitting(abilities, only)
        ],
    )


def equivalence_of_heads(column: str, *abilities: str) -> pytest.MarkDecorator:
    """The same, over each case and each of its heads."""
    return pytest.mark.parametrize(
        ("case", "head"),
        [
            pytest.param(
                case,
                head,
                id=f"{case.name}-{head}",
                marks=pytest.mark.equivalence(case.name, column),
            )
            for case in fitting(abilities, lambda case: True)
            for head in case.heads
        ],
    )


def is_family(case: Case) -> bool:
    """The family itself, no variant of it."""
    return case.name == case.family


def has_source(case: Case) -> bool:
    return case.has_source


def has_gradients(case: Case) -> bool:
    return not case.counts


@torch.inference_mode()
def teacher_forced(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Logits of every word at every place (B, T, V); of a counted model its log probabilities."""
    if isinstance(model, SequenceModel):
        return model.output(model(batch))
    tokens, impossible = batch["tgt_in"], torch.full(batch["tgt_in"].shape, -torch.inf)
    rows = [
        impossible if word == PAD else model.log_probs(tokens, torch.full_like(tokens, word))
        for word in range(model.size)
    ]
    return torch.stack(rows, dim=-1)


def differ(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether logits differ clearly somewhere; what is impossible in both does not."""
    return bool((one - other).nan_to_num(0.0).abs().max() > 1e-2)


def words(n: int, seed: int, vocabulary: int = VOCABULARY) -> list[int]:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(SPECIALS, vocabulary, (n,), generator=draw).tolist()


def labelled(vocabulary: int = VOCABULARY) -> list[tuple[np.ndarray, int]]:
    """Texts and the number of the label of each."""
    return [
        (np.array([*words(seed % 9, seed, vocabulary), EOS]), seed % LABELS) for seed in range(30)
    ]


def make_batch(
    sources: list[list[int]], targets: list[list[int]] | None = None
) -> dict[str, torch.Tensor]:
    """Padded tensors; every sequence ends with END."""
    ended = [[np.array([*s, EOS]) for s in side] for side in (sources, targets or sources)]
    return pair_batch(*ended, BOS)


def some_batch(seed: int = 0, vocabulary: int = VOCABULARY) -> dict[str, torch.Tensor]:
    """Pairs of unequal lengths, one of them as short as can be."""
    lengths = [(5, 7), (1, 3), (9, 1), (3, 9), (0, 0), (6, 4)]
    return make_batch(
        [words(s, seed + 10 * i, vocabulary) for i, (s, _) in enumerate(lengths)],
        [words(t, seed + 10 * i + 5, vocabulary) for i, (_, t) in enumerate(lengths)],
    )


def sources_of(batch: dict[str, torch.Tensor], rows: slice) -> dict[str, torch.Tensor]:
    """Some rows, without the columns that are padding for all of them."""
    width = int(batch["src_valid"][rows].sum(1).max())
    return {name: batch[name][rows, :width] for name in ("src", "src_valid")}


def same_hypotheses(ours: list[Hypothesis], theirs: list[Hypothesis], close: float = 1e-4) -> bool:
    """Asserts that the lists agree: scores, and tokens wherever no tie could have turned them.

    Returns whether they were compared to the last token.
    """
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if one.tokens != other.tokens or one.finished != other.finished:
            assert _is_tie(one, other, close), (one, other)
            return False  # after a tie the two searches went different ways
        assert one.score == pytest.approx(other.score, abs=close)
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=close)
    return True


def _is_tie(one: Hypothesis, other: Hypothesis, close: float) -> bool:
    """Whether they are equally good, as a whole or at the point where they part."""
    if abs(one.score - other.score) <= close:
        return True
    pairs = zip([*one.tokens, EOS], [*other.tokens, EOS], strict=False)
    parting = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if parting is None:
        return False
    here = sum(one.token_log_probs[: parting + 1])
    there = sum(other.token_log_probs[: parting + 1])
    return abs(here - there) <= close


__all__ = [
    "BOS",
    "CASES",
    "EOS",
    "LABELS",
    "PAD",
    "RECURRENT_SCORES",
    "TRANSFORMER_SCORES",
    "VOCABULARY",
    "Case",
    "differ",
    "equivalence",
    "equivalence_of_heads",
    "has_gradients",
    "has_source",
    "is_family",
    "labelled",
    "make_batch",
    "same_hypotheses",
    "some_batch",
    "sources_of",
    "teacher_forced",
    "words",
]
