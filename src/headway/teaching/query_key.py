"""The skip model in the form of attention: a query, keys, values, a weighted sum.

The masks of all words are stacked into a matrix of keys. The one-hot query of the newest word
selects its mask; the mask selects some of the earlier words; their rows are the values. The results
equal those of `MarkovModel`, which never stores such matrices of V x V x V numbers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..models.counting.markov import MarkovModel
from ..models.counting.ngrams import BOS

MOST_NUMBERS = 10**8


@dataclass(frozen=True)
class QueryKeyForm:
    """A skip model as matrices.

    Attributes:
        keys: for each newest word, which earlier words have a vote (V, V), 1 or 0.
        values: for each newest word, the row of each earlier word (V, V, V).
        first: for each newest word, the row of the first order, used if no word has a vote (V, V).
    """

    keys: Tensor
    values: Tensor
    first: Tensor

    def attend(self, query: Tensor, history: Tensor) -> Tensor:
        """Probabilities of the next word.

        Args:
            query: the newest word, one-hot.
            history: 1 for each earlier word within the distance of the skips.

        Shape: (n, V), (n, V) -> (n, V).
        """
        mask = query @ self.keys  # (n, V)
        weights = mask * history
        n_votes = weights.sum(1, keepdim=True)
        rows = torch.einsum("nq,qxw->nxw", query, self.values)
        votes = torch.einsum("nx,nxw->nw", weights / n_votes.clamp(min=1), rows)
        return votes + (n_votes == 0) * (query @ self.first)


def query_key_form(model: MarkovModel) -> QueryKeyForm:
    """The matrices of a model with skips.

    Raises:
        ValueError: the model has no skips, or its vocabulary is too large for a matrix.
    """
    V = model.size
    newest, earlier = model.pair_words()
    if V**3 > MOST_NUMBERS:
        raise ValueError(
            f"a vocabulary of {V} makes a matrix of {V**3:,} numbers, expected at most "
            f"{MOST_NUMBERS:,}; step the model itself, which computes the same"
        )
    keys = torch.zeros(V, V, device=model.device)
    values = torch.zeros(V, V, V, device=model.device)
    keys[newest, earlier] = model.pair_votes().float()
    values[newest, earlier] = model.pair_probs()
    # Before the newest word there is only BOS, which has no vote.
    context = torch.full((V, 2), BOS, device=model.device)
    context[:, 1] = torch.arange(V)
    return QueryKeyForm(keys, values, model.probs(context))
