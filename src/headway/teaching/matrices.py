"""The matrices of a counting model as plain data, with their words as labels.

`matrix_picture.py` prints and draws them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..models.counting.markov import MarkovModel
from ..models.counting.ngrams import BOS


class Matrix(NamedTuple):
    """Labels of rows and columns, and a value for each pair of them."""

    rows: list[str]
    columns: list[str]
    values: list[list[float]]


def transition_matrix(
    model: MarkovModel,
    words: Sequence[str],
    contexts: Sequence[Sequence[int]] | None = None,
    following: Sequence[int] | None = None,
) -> Matrix:
    """Rows: contexts; columns: next words; values: probabilities.

    Args:
        words: the text of each token of the vocabulary.
        contexts: token ids, the newest last. Default: all counted contexts of the model's order
            (with skips: all single words).
        following: the columns. Default: every counted word.
    """
    rows = _contexts(model).tolist() if contexts is None else [list(c) for c in contexts]
    # A shorter context is at the start of a sequence.
    widest = max([model.depth, *map(len, rows)])
    padded = torch.tensor([[BOS] * (widest - len(c)) + c for c in rows], dtype=torch.int64)
    probs = model.probs(padded.reshape(len(rows), widest).to(model.device))
    columns = _following(model) if following is None else _tokens(following, model)
    labels = [" ".join(words[token] for token in context) for context in rows]
    return Matrix(labels, _texts(columns, words), probs[:, columns].tolist())


def pair_matrix(model: MarkovModel, words: Sequence[str], newest: int) -> Matrix:
    """The votes of a model with skips: a row for each word counted before `newest`.

    Columns are the next words that were counted after one of the pairs.
    """
    queries, earlier = model.pair_words()
    chosen = (queries == newest).nonzero().squeeze(1)
    pairs = model.pair_table()
    followers = pairs.entries[torch.isin(pairs.entries // model.size, chosen)] % model.size
    columns = followers.unique()
    probs = model.pair_probs(chosen)[:, columns]
    labels = [f"{words[token]} … {words[newest]}" for token in earlier[chosen].tolist()]
    return Matrix(labels, _texts(columns, words), probs.tolist())


def mask_matrix(
    model: MarkovModel, words: Sequence[str], newest: Sequence[int] | None = None
) -> Matrix:
    """Which votes count. Rows: newest words; columns: earlier words; 1: has a vote, 0: has none.

    Args:
        newest: the rows. Default: every word that was counted as the newest of a pair.
    """
    queries, earlier = model.pair_words()
    rows = queries.unique() if newest is None else _tokens(newest, model)
    chosen = torch.isin(queries, rows)
    columns, column = earlier[chosen].unique(return_inverse=True)
    has_vote = torch.zeros(model.size, len(columns), device=model.device)
    has_vote[queries[chosen], column] = model.pair_votes()[chosen].float()
    return Matrix(_texts(rows, words), _texts(columns, words), has_vote[rows].tolist())


def _contexts(model: MarkovModel) -> Tensor:
    """The words of every counted context of the longest length (C, depth)."""
    keys = model.level(model.depth).contexts
    columns = []
    for depth in range(model.depth, 0, -1):
        columns.append(keys % model.size)
        keys = model.level(depth - 1).contexts[keys // model.size]
    return torch.stack(columns, 1) if columns else torch.zeros(1, 0, dtype=torch.int64)


def _following(model: MarkovModel) -> Tensor:
    """The ids of all tokens that were counted as a next token."""
    return model.level(0).entries % model.size


def _tokens(tokens: Sequence[int], model: MarkovModel) -> Tensor:
    return torch.tensor(tokens, dtype=torch.int64, device=model.device)


def _texts(tokens: Tensor, words: Sequence[str]) -> list[str]:
    return [words[token] for token in tokens.tolist()]
