"""Texts as blocks of tokens: what a store holds of running text and of documents.

Every block but the last of a text is full, and none holds tokens of two texts. A store of documents
also has, of each example, the number of its document, and one of sentences, of each token, whether
a sentence begins with it.
"""

from collections.abc import Iterable, Iterator
from itertools import tee

import numpy as np

from headway.data.codecs import TextCodec, in_blocks
from headway.data.lines import pieces_of
from headway.data.store import DOCUMENT, Column
from headway.text.sentences import sentences

SENTENCE = "sentence"
BLOCK = "block"
"""The note of a store of sentences that tells how long a full block is."""

DOCUMENT_COLUMN = Column(DOCUMENT, "int32")
SENTENCE_COLUMN = Column(SENTENCE, "uint8")

Block = dict[str, np.ndarray]


def text_blocks(name: str, codec: TextCodec, parts: Iterable[str], size: int) -> Iterator[Block]:
    """The blocks of one text that comes in parts, each of which ends before white space."""
    pieces = (piece for part in parts for piece in pieces_of(part))
    return ({name: block} for block in in_blocks(codec.encode_running(pieces), size))


def sentence_blocks(
    name: str, codec: TextCodec, parts: Iterable[str], size: int
) -> Iterator[Block]:
    """The same with the beginnings of sentences."""
    pieces = (sentence for part in parts for sentence in sentences(part))
    encoded, again = tee(codec.encode_running(pieces))
    tokens = in_blocks(encoded, size)
    begins = in_blocks((np.arange(len(ids)) == 0 for ids in again), size)
    return ({name: ids, SENTENCE: flags} for ids, flags in zip(tokens, begins, strict=True))
