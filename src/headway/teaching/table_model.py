"""A model that is a table: for each whole prefix, the log probabilities of the next words.

It is not trained. It is the smallest model that can be searched, for worked examples and for tests
with results computed by hand. Words that the table does not list are impossible.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from ..errors import DataError
from ..nn.decoding import DecoderState, RecurrentCache

BEGIN = "START"
END = "END"
UNLISTED = 0  # the node of every prefix that the table does not list
OUTSIDE = 1  # the node before the begin token

Prefix = str | Sequence[str]


class TableModel:
    """A `StepModel` over log probabilities keyed by the whole prefix.

    The table is stored as a trie; the cache of a state is one node index per hypothesis.

    Args:
        table: for each prefix (a sequence of words, or a string of words separated by spaces; ""
            is the start) the possible next words and their log probabilities. The word "END" ends a
            sequence. Rows need not sum to one: `normalise=False` searches with the numbers
            unchanged.

    Raises:
        DataError: a log probability is above 0, or a prefix contains START or END.
    """

    def __init__(
        self,
        table: Mapping[str, Mapping[str, float]] | Mapping[tuple[str, ...], Mapping[str, float]],
    ) -> None:
        rows = {_split(prefix): dict(nexts) for prefix, nexts in table.items()}
        for prefix, nexts in rows.items():
            _check_row(prefix, nexts)
        words = {word for prefix, nexts in rows.items() for word in (*prefix, *nexts)}
        self.words = [BEGIN, END, *sorted(words - {END})]
        self.bos = 0
        self.eos = 1
        self._ids = {word: index for index, word in enumerate(self.words)}
        self._grow(rows)

    def _grow(self, rows: Mapping[tuple[str, ...], Mapping[str, float]]) -> None:
        """Makes the trie: `_child` (nodes, V) and `_log_probs` (nodes, V)."""
        prefixes = {()} | {prefix[:n] for prefix in rows for n in range(1, len(prefix) + 1)}
        nodes = {prefix: index for index, prefix in enumerate(sorted(prefixes), start=2)}
        shape = (len(nodes) + 2, len(self.words))
        self._child = torch.full(shape, UNLISTED)
        self._log_probs = torch.full(shape, -torch.inf)
        self._child[OUTSIDE, self.bos] = nodes[()]
        for prefix, node in nodes.items():
            if prefix:
                self._child[nodes[prefix[:-1]], self._ids[prefix[-1]]] = node
            for word, log_prob in rows.get(prefix, {}).items():
                self._log_probs[node, self._ids[word]] = log_prob

    def encode(self, words: Prefix) -> list[int]:
        """The token ids of words, in a sequence or a string as in the table."""
        return [self._ids[word] for word in _split(words)]

    def decode(self, tokens: Iterable[int]) -> str:
        """The words of tokens, separated by spaces."""
        return " ".join(self.words[token] for token in tokens)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """The state of one hypothesis per row of the batch; all rows use the same table."""
        rows = next((tensor.size(0) for tensor in batch.values()), None)
        if rows is None:
            raise ValueError("the batch is empty; give it a tensor with one row per sentence")
        node = torch.full((rows, 1), OUTSIDE)
        if prefix is not None:
            node = self._walk(node, prefix[:, None])
        return DecoderState({}, {"node": RecurrentCache(node)})

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        cache = state.cache["node"]
        assert isinstance(cache, RecurrentCache)
        node = self._walk(cache.value, tokens)
        return self._log_probs[node], state.successor({"node": RecurrentCache(node)})

    def _walk(self, node: Tensor, tokens: Tensor) -> Tensor:
        """The nodes (B, N) that tokens (B, N, t) reach from nodes (B, N)."""
        for newest in tokens.unbind(dim=-1):
            node = self._child[node, newest]
        return node


def _split(prefix: Prefix) -> tuple[str, ...]:
    return tuple(prefix.split()) if isinstance(prefix, str) else tuple(prefix)


def _check_row(prefix: tuple[str, ...], nexts: Mapping[str, float]) -> None:
    row = f"table row {' '.join(prefix)!r}"
    if END in prefix or BEGIN in (*prefix, *nexts):
        raise DataError(
            f"{row}: a prefix contains no {BEGIN} and no {END}; write the start as '' "
            f"and list {END} among the words that follow"
        )
    for word, log_prob in nexts.items():
        if not log_prob <= 0:
            raise DataError(
                f"{row}: {word!r} has {log_prob}, expected a log probability, at most 0"
            )
