"""A table of counts as a module: finds contexts, and what each gives to the words after it.

Its buffers have the sizes of the data, so an empty table takes on those of whatever is loaded.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .ngrams import Counts


class Counted(nn.Module):
    """A module whose buffers have the shapes of what was counted.

    `load_state_dict` gives each buffer the shape of the tensor that is loaded; all other modules
    insist on their own.
    """

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        for name, buffer in self.named_buffers(recurse=False):
            loaded = state_dict.get(prefix + name)
            if isinstance(loaded, Tensor):
                setattr(self, name, loaded.new_empty(loaded.shape, device=buffer.device))
        super()._load_from_state_dict(state_dict, prefix, *arguments)


class CountTable(Counted):
    """Contexts and the words that followed them: `p(w | c) = share(w, c) + backoff(c) p'(w)`.

    `share = (count - D) / mass` and `backoff = (added + sum of the D) / mass`, where p' is whatever
    the caller mixes in, `mass = total + added`, and D depends on the count: none, or three
    discounts for 1, 2 and more.

    Args:
        size: of the vocabulary.
    """

    contexts: Tensor
    entries: Tensor
    counts: Tensor
    mass: Tensor
    backoff: Tensor
    discounts: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("contexts", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("entries", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("counts", torch.zeros(0, dtype=torch.int32))
        self.register_buffer("mass", torch.zeros(0))
        self.register_buffer("backoff", torch.zeros(0))
        self.register_buffer("discounts", torch.zeros(4))

    def fill(
        self,
        found: Counts,
        discounts: tuple[float, float, float] = (0.0, 0.0, 0.0),
        added: float = 0.0,
    ) -> None:
        """Takes over counts.

        Args:
            added: to the total of each context, for words it was never seen with.
        """
        self.contexts = torch.from_numpy(found.contexts)
        self.entries = torch.from_numpy(found.entries)
        self.counts = torch.from_numpy(found.counts).int()
        self.discounts = torch.tensor([0.0, *discounts])
        taken = self.discounts.double()[self.counts.clamp(max=3)].numpy()
        mass = found.totals(self.size) + added
        self.mass = torch.from_numpy(mass).float()
        passed_on = (added + found.per_context(taken, self.size)) / mass
        self.backoff = torch.from_numpy(passed_on).float()

    def find(self, shorter: Tensor, word: Tensor) -> Tensor:
        """The contexts with `word` in front of the contexts `shorter`, -1 where there is none."""
        if not self.contexts.numel():
            return torch.full_like(shorter + word, -1)
        key = shorter * self.size + word  # negative, so never found, where `shorter` is -1
        place = torch.searchsorted(self.contexts, key).clamp_(max=self.contexts.numel() - 1)
        return torch.where(self.contexts[place] == key, place, -1)

    def shares(self, context: Tensor, row: Tensor, n_rows: int, targets: Tensor | None) -> Tensor:
        """What contexts give to the words after them, summed over the contexts of each row.

        Args:
            row: to which row each context belongs.
            targets: the one word asked for in each row; None is all words.

        Shape: context and row (m,), targets (n_rows,) -> (n_rows, 1), or (n_rows, V) without.
        """
        if targets is None:
            entry, index = self._followers(context)
            cell = row[index] * self.size + self.entries[entry] % self.size
        else:
            entry, index = self._followed_by(context, targets[row])
            cell = row[index]
        count = self.counts[entry]
        share = (count - self.discounts[count.clamp(max=3)]) / self.mass[context[index]]
        width = self.size if targets is None else 1
        return share.new_zeros(n_rows * width).index_add_(0, cell, share).view(n_rows, width)

    def _followers(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """All entries of contexts (m,), and for each of them which of the m it belongs to."""
        begin = torch.searchsorted(self.entries, context * self.size)
        length = torch.searchsorted(self.entries, (context + 1) * self.size) - begin
        index = torch.repeat_interleave(length)
        first = length.cumsum(0) - length  # where in `index` each of the m begins
        place = torch.arange(index.numel(), device=index.device) - first[index]
        return begin[index] + place, index

    def _followed_by(self, context: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        """The entries of contexts (m,) with words (m,), and which of the m have one."""
        key = context * self.size + word
        place = torch.searchsorted(self.entries, key).clamp_(max=self.entries.numel() - 1)
        index = (self.entries[place] == key).nonzero().squeeze(1)
        return place[index], index
