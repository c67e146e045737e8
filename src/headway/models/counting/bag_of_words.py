"""Bag of words: a linear classifier over the counts of tokens or their n-grams.

Order and context beyond the n-gram are lost. scikit-learn fits the weights (logistic regression)
and has no other use: n-grams are numbered and weighted here, the weights are in buffers, and a
saved run predicts without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge, Gt
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...errors import MissingExtra
from ..family import Family, VocabularySizes
from .count_table import Counted

_CHUNK = 1024  # texts whose n-grams are listed at once
_ITERATIONS = 1000

Labelled = Iterable[tuple[np.ndarray, int]]
"""Token sequences, each with its EOS, and the index of the label of each."""


@dataclass(frozen=True)
class BagConfig:
    """Bag of words: logistic regression over n-grams of tokens."""

    family: Literal["bag"] = "bag"
    """The model family."""
    ngrams: tuple[Annotated[int, Ge(1)], Annotated[int, Ge(1)]] = (1, 2)
    """The shortest and the longest n-grams; `[1, 1]` is single tokens only."""
    weighting: Literal["counts", "presence", "tfidf"] = "tfidf"
    """The weight of an n-gram in a text: its count, 1, or its count times
    `ln((1 + texts) / (1 + texts that have it)) + 1`, with each text then scaled to length 1."""
    min_count: Annotated[int, Ge(1)] = 1
    """Smallest number of training texts that have an n-gram; rarer ones are left out."""
    c: Annotated[float, Gt(0)] = 1.0
    """Inverse strength of regularisation, C of scikit-learn; a smaller value shrinks weights."""

    def __post_init__(self) -> None:
        if self.ngrams[0] > self.ngrams[1]:
            raise ValueError(
                f"ngrams={list(self.ngrams)} starts above its end; "
                f"try ngrams={list(reversed(self.ngrams))}"
            )

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "BagConfig":
        longest, size = self.ngrams[1], vocabularies.source
        if size**longest > 2**63:
            most = max(n for n in range(1, longest) if size**n <= 2**63)
            raise ValueError(
                f"n-grams of {longest} out of {size} tokens are too many to be numbered; "
                f"try ngrams=[{min(self.ngrams[0], most)}, {most}]"
            )
        return self


class Bag(Counted):
    """The n-grams of the training data, their weights, and the linear classifier over them.

    The number of an n-gram has its tokens as digits in base V. No token of a text is 0 (padding),
    so n-grams of different length have different numbers.

    Attributes:
        ngrams: their numbers, sorted (F,).
        idf: the factor of each, 1 without tf-idf (F,).
        weight: (F, labels).
        bias: (labels,).
    """

    ngrams: Tensor
    idf: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, config: BagConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        self.size = vocabularies.source
        self.register_buffer("ngrams", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("idf", torch.zeros(0))
        self.register_buffer("weight", torch.zeros(0, vocabularies.target))
        self.register_buffer("bias", torch.zeros(vocabularies.target))

    @torch.no_grad()
    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Logits of the labels (B, labels)."""
        src = batch["src"]
        row, feature, value = self.features(src, batch["src_valid"])
        logits = self.bias.repeat(src.size(0), 1)
        return logits.index_add_(0, row, value[:, None] * self.weight[feature])

    def features(self, src: Tensor, src_valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The known n-grams of each text and their values in it.

        Shape: (B, S), (B, S) -> row, feature, value (n,), each pair of row and feature once.
        """
        n_features = self.ngrams.numel()
        row, number = self.occurrences(src, src_valid)
        feature = torch.searchsorted(self.ngrams, number).clamp(max=n_features - 1)
        known = self.ngrams[feature] == number
        pair, count = torch.unique(row[known] * n_features + feature[known], return_counts=True)
        row, feature = pair // n_features, pair % n_features
        value = torch.ones_like(count) if self.config.weighting == "presence" else count
        if self.config.weighting != "tfidf":
            return row, feature, value.to(self.idf.dtype)
        value = value * self.idf[feature]
        norm = value.new_zeros(src.size(0)).index_add_(0, row, value.square()).sqrt()
        return row, feature, value / norm[row]

    def occurrences(self, src: Tensor, src_valid: Tensor) -> tuple[Tensor, Tensor]:
        """All n-grams of each text, without EOS: row and number, (n,) each."""
        shortest, longest = self.config.ngrams
        tokens, inside = src[:, :-1], src_valid[:, 1:]  # without the last one of each text
        number, rows, numbers = torch.zeros_like(tokens), [], []
        for n in range(1, longest + 1):
            number = number[:, : tokens.size(1)] * self.size + tokens
            if n >= shortest:
                rows.append(inside.nonzero()[:, 0])
                numbers.append(number[inside])
            tokens, inside = tokens[:, 1:], inside[:, 1:]
        return torch.cat(rows), torch.cat(numbers)


def count(config: BagConfig, vocabularies: VocabularySizes, examples: Labelled) -> Bag:
    """The model of labelled texts: lists and weights their n-grams, then fits the classifier.

    Raises:
        ValueError: no n-gram occurs often enough.
        MissingExtra: scikit-learn is not installed.
    """
    regression = _logistic_regression()
    model = Bag(config, vocabularies)
    _list_ngrams(model, examples)
    features, labels = _matrix(model, examples)
    fitted = regression(C=config.c, max_iter=_ITERATIONS).fit(features, labels)
    coefficients, intercept = fitted.coef_, fitted.intercept_
    if len(coefficients) == 1:  # for two labels, only those of the second; the first has zeros
        coefficients = np.concatenate([np.zeros_like(coefficients), coefficients])
        intercept = np.concatenate([np.zeros_like(intercept), intercept])
    model.weight = torch.from_numpy(coefficients.T.astype(np.float32).copy())
    model.bias = torch.from_numpy(intercept.astype(np.float32))
    return model


def _list_ngrams(model: Bag, examples: Labelled) -> None:
    """Sets the n-grams of a model and the factor of each, from the texts."""
    n_texts, ngrams, frequencies = 0, [], []
    for src, src_valid, labels in _chunks(examples):
        pairs = torch.unique(torch.stack(model.occurrences(src, src_valid)), dim=1)
        numbers, n_rows = torch.unique(pairs[1], return_counts=True)
        ngrams.append(numbers)
        frequencies.append(n_rows)
        n_texts += len(labels)
    numbers, index = torch.unique(torch.cat(ngrams), return_inverse=True)
    frequency = torch.zeros_like(numbers).index_add_(0, index, torch.cat(frequencies))
    kept = frequency >= model.config.min_count
    if not kept.any():
        raise ValueError(
            f"no n-gram of {' to '.join(map(str, model.config.ngrams))} tokens occurs in "
            f"min_count={model.config.min_count} training texts; lower one of them"
        )
    model.ngrams = numbers[kept]
    idf = ((1 + n_texts) / (1 + frequency[kept].double())).log() + 1
    is_weighed = model.config.weighting == "tfidf"
    model.idf = idf.float() if is_weighed else torch.ones(len(model.ngrams))


def _matrix(model: Bag, examples: Labelled) -> tuple[Any, np.ndarray]:
    """The features of all texts, sparse (texts, F), and the labels."""
    from scipy.sparse import csr_matrix  # comes with scikit-learn

    rows, features, values, all_labels = [], [], [], []
    n_texts = 0
    for src, src_valid, labels in _chunks(examples):
        row, feature, value = model.features(src, src_valid)
        rows.append(row + n_texts)
        features.append(feature)
        values.append(value.double())
        all_labels.append(labels)
        n_texts += len(labels)
    indices = tuple(torch.cat(parts).numpy() for parts in (rows, features))
    shape = (n_texts, model.ngrams.numel())
    return csr_matrix((torch.cat(values).numpy(), indices), shape), np.concatenate(all_labels)


def _chunks(examples: Labelled) -> Iterator[tuple[Tensor, Tensor, np.ndarray]]:
    """Padded texts and the mask of their tokens, (B, S) each, and their labels."""
    rest = iter(examples)
    while chunk := list(islice(rest, _CHUNK)):
        texts = [torch.from_numpy(tokens.astype(np.int64)) for tokens, _ in chunk]
        lengths = torch.tensor([len(text) for text in texts])
        src = pad_sequence(texts, batch_first=True)
        valid = torch.arange(src.size(1)) < lengths[:, None]
        yield src, valid, np.array([label for _, label in chunk])


def _logistic_regression() -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra(
            'training with model.family = "bag"', "scikit-learn", "sklearn"
        ) from None
    return LogisticRegression


BAG = Family(
    "bag",
    BagConfig,
    Bag,
    frozenset({"classify"}),
    learns="counting",
    count=count,
    require=_logistic_regression,
)
