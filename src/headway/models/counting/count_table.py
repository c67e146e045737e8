"""A table of counts as a module: looks up contexts and the probabilities of the words after them.

Its buffers have the sizes of the data, so an empty table takes those of the loaded tensors.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .ngrams import Counts


class Counted(nn.Module):
    """A module whose buffers have the shapes of the counts.

    `load_state_dict` gives each buffer the shape of the loaded tensor; other modules require equal
    shapes.
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

    `share = (count - D) / mass` and `backoff = (added + sum of the D) / mass`, where p' is the
    distribution that the caller mixes in, `mass = total + added`, and D depends on the count: none,
    or three discounts for 1, 2 and more.

    Args:
        size: size of the vocabulary.
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
        source: Counts,
        discounts: tuple[float, float, float] = (0.0, 0.0, 0.0),
        added: float = 0.0,
    ) -> None:
        """Fills the buffers from counts.

        Args:
            added: added to the total of each context, for words that never followed it.
        """
        self.contexts = torch.from_numpy(source.contexts)
        self.entries = torch.from_numpy(source.entries)
        self.counts = torch.from_numpy(source.counts).int()
        self.discounts = torch.tensor([0.0, *discounts])
        taken = self.discounts.double()[self.counts.clamp(max=3)].numpy()
        mass = source.totals(self.size) + added
        self.mass = torch.from_numpy(mass).float()
        backoff = (added + source.per_context(taken, self.size)) / mass
        self.backoff = torch.from_numpy(backoff).float()

    def find(self, shorter: Tensor, word: Tensor) -> Tensor:
        """Indices of the contexts with `word` before the contexts `shorter`, -1 if unseen."""
        if not self.contexts.numel():
            return torch.full_like(shorter + word, -1)
        key = shorter * self.size + word  # negative, so never found, if `shorter` is -1
        index = torch.searchsorted(self.contexts, key).clamp_(max=self.contexts.numel() - 1)
        return torch.where(self.contexts[index] == key, index, -1)

    def shares(self, context: Tensor, row: Tensor, n_rows: int, targets: Tensor | None) -> Tensor:
        """Shares of the words after contexts, summed over the contexts of each row.

        Args:
            row: the row of each context.
            targets: one word for each row; None is all words.

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
        """All entries of contexts (m,), and for each entry the index of its context, below m."""
        begin = torch.searchsorted(self.entries, context * self.size)
        length = torch.searchsorted(self.entries, (context + 1) * self.size) - begin
        index = torch.repeat_interleave(length)
        first = length.cumsum(0) - length  # the start of each context in `index`
        offset = torch.arange(index.numel(), device=index.device) - first[index]
        return begin[index] + offset, index

    def _followed_by(self, context: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        """The entries of contexts (m,) with words (m,), and the indices of those that have one."""
        key = context * self.size + word
        entry = torch.searchsorted(self.entries, key).clamp_(max=self.entries.numel() - 1)
        index = (self.entries[entry] == key).nonzero().squeeze(1)
        return entry[index], index
