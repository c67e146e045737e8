"""Running text and documents as blocks of tokens, the examples of a store.

Every block but the last of a text is full, and none holds tokens of two texts. A store of documents
also has the document number of each example; a store of sentences also marks each token that begins
a sentence.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import tee

import numpy as np

from ..text.sentences import sentences
from .batching import BORDER_STREAM
from .codecs.text import TextCodec, in_blocks
from .formats.lines import pieces_of
from .store import DOCUMENT, Column, Offsets, Store

SENTENCE = "sentence"
BLOCK = "block"
"""The note of a store of sentences with the length of a full block."""

DOCUMENT_COLUMN = Column(DOCUMENT, "int32")
SENTENCE_COLUMN = Column(SENTENCE, "uint8")

Block = dict[str, np.ndarray]


def text_blocks(name: str, codec: TextCodec, parts: Iterable[str], size: int) -> Iterator[Block]:
    """The blocks of one text, which is given in parts that end before white space."""
    pieces = (piece for part in parts for piece in pieces_of(part))
    return ({name: block} for block in in_blocks(codec.encode_running(pieces), size))


def sentence_blocks(
    name: str, codec: TextCodec, parts: Iterable[str], size: int
) -> Iterator[Block]:
    """The blocks of one text, with a flag for each token that begins a sentence."""
    pieces = (sentence for part in parts for sentence in sentences(part))
    encoded, again = tee(codec.encode_running(pieces))
    tokens = in_blocks(encoded, size)
    begins = in_blocks((np.arange(len(ids)) == 0 for ids in again), size)
    return ({name: ids, SENTENCE: flags} for ids, flags in zip(tokens, begins, strict=True))


def shift_blocks(
    store: Store, sizes: Sequence[int], is_running: Sequence[bool], seed: int, epoch: int
) -> tuple[Store, tuple[int, ...]]:
    """The store with the block borders of an epoch, and the number of examples of each corpus.

    The first block of a text is shortened and its other blocks move up, which may leave tokens for
    one more block. A text of one block stays whole.

    Args:
        sizes: number of stored examples of each corpus.
        is_running: which corpora are in blocks: of documents, which the store numbers, or of one
            running text each.
    """
    if not any(is_running):
        return store, tuple(sizes)
    has_documents = DOCUMENT in store.columns
    starts = store.documents if has_documents else np.cumsum([0, *sizes])  # of texts, and the end
    blocks = np.diff(starts)
    is_moved = blocks > 1
    if not has_documents:
        is_moved &= np.array(is_running)
    offsets = store[store.columns[0]].offsets
    firsts, ends = starts[:-1][is_moved], starts[1:][is_moved]
    moved = np.zeros(len(blocks), np.int64)  # tokens of the shortened first block
    rng = np.random.default_rng([seed, epoch, BORDER_STREAM])
    moved[is_moved] = rng.integers(1, _lengths(offsets, firsts) + 1)
    blocks[is_moved] += moved[is_moved] < _lengths(offsets, ends - 1)
    cut = np.concatenate([[0], np.cumsum(blocks)])
    borders = _Moved(offsets, starts, cut, moved)
    # The edges of corpora are edges of texts.
    edges = cut[np.searchsorted(starts, np.cumsum([0, *sizes]))]
    cut_store = store.with_borders(borders, int(cut[-1]), cut if has_documents else None)
    return cut_store, tuple(np.diff(edges).tolist())


def _lengths(offsets: Offsets, examples: np.ndarray) -> np.ndarray:
    start, end = (offsets.gather(indices, len(indices)) for indices in (examples, examples + 1))
    return end.astype(np.int64) - start.astype(np.int64)


class _Moved:
    """Offsets of examples after all blocks but the first of each text were moved.

    Args:
        stored_starts: the first example of each text as stored, and the end of all.
        starts: the first example of each text after the move, and the end of all.
        moved: for each text, the number of tokens between the start of its first block and that of
            its second; 0 for a text that stays as stored.
    """

    def __init__(
        self, stored: Offsets, stored_starts: np.ndarray, starts: np.ndarray, moved: np.ndarray
    ) -> None:
        self._stored = stored
        self._stored_starts = stored_starts
        self._starts = starts
        # The end of everything is the start of one text more, which is as stored.
        self._moved = np.append(moved, 0)

    def span(self, start: int, stop: int) -> np.ndarray:
        return self.gather(np.arange(start, stop), 1)

    def gather(self, positions: np.ndarray, pieces: int) -> np.ndarray:
        text = np.searchsorted(self._starts, positions, side="right") - 1
        block = positions - self._starts[text]
        by = np.where(block > 0, self._moved[text], 0)
        stored = self._stored_starts[text] + block - (by > 0)
        return self._stored.gather(stored, pieces).astype(np.int64) + by
