"""Inputs that the live page may begin with: samples of a run, or words of its vocabulary."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..inference.base import TrainedModel
from ..tasks.text_inputs import BETWEEN
from ..text.tokenizer import Tokenizer

SPACE = "▁"  # in the readable form of a token
WORDS = 4
LETTERS = (3, 2, 1)
"""The fewest letters of a word; the next value if there is no such word."""


def example_inputs(
    trained: TrainedModel, records: Iterable[Mapping[str, Any]]
) -> Iterator[list[str]]:
    """Inputs of a run, the best first; each has as many texts as the model reads together.

    Args:
        records: the training log, whose validations have samples (source, output, reference).
    """
    size = len(trained.inputs)
    samples: Sequence[Sequence[str]] = []
    for record in records:
        samples = record.get("samples") or samples
    sources = [source.split(BETWEEN) for source, *_ in samples]
    yield from (texts for texts in sources if len(texts) == size)
    codec = getattr(trained.task, "source", None) or getattr(trained.task, "codec", None)
    words = common_words(codec.tokenizer) if codec is not None else ""
    for texts in [*sources, []]:  # the samples of a reader have the question without its context
        yield [*texts, *[words] * size][:size]


def common_words(tokenizer: Tokenizer) -> str:
    """The first words of a vocabulary, which are the most frequent in most of them."""
    ids = sorted(set(range(tokenizer.size)) - set(tokenizer.specials.values()))
    pieces = tokenizer.tokens(ids)
    begun = [piece for piece in pieces if piece.startswith(SPACE) and piece != SPACE]  # subwords
    texts = dict.fromkeys(piece.removeprefix(SPACE) for piece in begun or pieces)
    letters = [text for text in texts if text.isalpha()]
    for fewest in LETTERS:
        if words := list(islice((text for text in letters if len(text) >= fewest), WORDS)):
            return (" " if fewest > 1 else "").join(words)
    return ""
