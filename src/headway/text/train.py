"""Trains a tokenizer on text, and chooses the size of its vocabulary.

The trainers are those of `tokenizers` if they are deterministic (`unigram.py` replaces the one that
is not). The caller reads files and selects the texts.
"""

import heapq
import json
import math
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import tokenizers
from tokenizers import models, trainers

from ..errors import ConfigError
from .config import TokenizerConfig
from .normalize import build_normalizer
from .pretokenize import CONTINUES, build_cutter, build_decoder, build_pre_tokenizer, byte_alphabet
from .special_tokens import UNK, SpecialTokenTemplate, all_specials, vocabulary_name
from .tokenizer import Tokenizer, check_characters
from .unigram import train_unigram

WAIT_SECONDS = 0.5  # some systems deliver signals only between two waits
_SAMPLE = 16_000_000  # characters of the sample for sub-words; bounds memory
_UNLIMITED = 2**31
_LONGEST_WORD = 1000  # characters; to WordPiece a longer word is unknown
_RUN = re.compile(rf"\S{{{_LONGEST_WORD}}}(?=\S)")


def vocabulary_size(n_characters: int) -> int:
    """A good number of sub-words for a corpus: twice the square root of its characters.

    It is rounded to hundreds (from 2000 to thousands) and limited to 300 to 32000: 5000 dates (0.15
    million characters) give 800, 29000 pairs of captions (3.9 million) 4000, a million pairs of
    sentences (130 million) 23000. The number of sub-words follows the vocabulary of a text, which
    grows roughly with the square root of its length (Heaps' law).
    """
    size = 2 * math.sqrt(n_characters)
    step = 100 if size < 2000 else 1000
    return min(32000, max(300, round(size / step) * step))


def train_tokenizer(
    texts: Iterable[str],
    config: TokenizerConfig,
    extra_specials: Sequence[str] = (),
    frame: SpecialTokenTemplate | None = None,
) -> Tokenizer:
    """Trains a tokenizer; the same texts in the same order always give the same tokenizer.

    Sub-words are learned from at most 16 million characters, sampled evenly from all texts, so that
    memory does not grow with the corpus. Words and characters are counted over all texts, with
    memory for each distinct one.

    Args:
        extra_specials: special tokens beyond pad, bos, eos and unk, such as ("mask", "sep", "cls");
            their ids start at 4.
        frame: the special tokens around texts for an encoder; by default EOS alone.

    Raises:
        ConfigError: `config.size` cannot be reached, or is too small to encode the text.
        DataError: a text has a lone surrogate.
    """
    specials = all_specials(extra_specials)
    names = [vocabulary_name(special) for special in specials]
    if config.kind == "bytes":
        model: models.Model = _bytes_model(names)
    elif config.kind in ("words", "characters"):
        model = _train_words(texts, config, names)
    else:
        sample, n_characters = _sample(texts)
        model = _train_subwords(sample, config, names, vocabulary_size(n_characters))
    backend = _make_backend(model, config)
    backend.add_special_tokens(names)
    tokenizer = Tokenizer(
        json.loads(backend.to_str()), config, specials, frame or SpecialTokenTemplate()
    )
    if config.size is not None and tokenizer.size < config.size:
        raise ConfigError(
            f"text.size={config.size} is larger than this text allows (only {tokenizer.size} "
            f"{_unit(config)} can be learned); try size={tokenizer.size} or leave it out"
        )
    return tokenizer


def _unit(config: TokenizerConfig) -> str:
    return config.kind if config.kind in ("words", "characters") else "pieces"


def _sample(texts: Iterable[str]) -> tuple[list[str], int]:
    """An even sample of at most `_SAMPLE` characters, and the number of characters of all texts.

    Each text draws a random number, and texts with the smallest numbers stay: a single pass over
    any number of texts, with a reproducible result, that is even if languages alternate. Runs
    without white space are cut: the trainers take the square of a word's length, and hear no
    signal meanwhile.
    """
    rng = random.Random(0)
    kept: list[tuple[float, int, str]] = []  # a heap; the largest number is on top (negated)
    n_kept = n_characters = 0
    for index, text in enumerate(texts):
        n_characters += len(text)
        n_kept += len(text)
        heapq.heappush(kept, (-rng.random(), index, text))
        while n_kept > _SAMPLE and len(kept) > 1:
            n_kept -= len(heapq.heappop(kept)[2])
    kept.sort(key=lambda item: item[1])
    texts = _checked(text for _, _, text in kept)
    return [_RUN.sub(r"\g<0> ", text) for text in texts], n_characters


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        check_characters(text)
        yield text


def _bytes_model(names: Sequence[str]) -> models.Model:
    vocabulary = {piece: index for index, piece in enumerate([*names, *byte_alphabet()])}
    return models.BPE(vocabulary, [])


def _train_words(
    texts: Iterable[str], config: TokenizerConfig, names: Sequence[str]
) -> models.Model:
    """The most frequent words or characters; ties are ordered by code point."""
    _check_size(config, len(names) + 1, f"{len(names)} special tokens and a single one")
    trainer = trainers.WordLevelTrainer(
        vocab_size=config.size or _UNLIMITED,
        min_frequency=config.min_count,
        special_tokens=list(names),
        show_progress=False,
    )
    return _train(models.WordLevel(unk_token=names[UNK]), trainer, _checked(texts), config)


def _train_subwords(
    sample: Sequence[str], config: TokenizerConfig, names: Sequence[str], automatic: int
) -> models.Model:
    if config.kind == "wordpiece":
        return _train_wordpiece(sample, config, names, automatic)
    alphabet = byte_alphabet()
    _check_size(
        config,
        len(names) + len(alphabet),
        f"{len(alphabet)} bytes and {len(names)} special tokens",
    )
    size = config.size or max(automatic, len(names) + len(alphabet))
    if config.kind == "bpe":
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=list(names),
            initial_alphabet=alphabet,
            show_progress=False,
        )
        return _train(models.BPE(), trainer, sample, config)
    pieces = train_unigram(_count_words(sample, config), alphabet, size - len(names))
    return models.Unigram([(name, 0.0) for name in names] + pieces, unk_id=UNK)


def _train_wordpiece(
    sample: Sequence[str], config: TokenizerConfig, names: Sequence[str], automatic: int
) -> models.Model:
    characters = sorted({character for word in _count_words(sample, config) for character in word})
    # The trainer numbers the continuing characters in an order that changes from run to run, and
    # breaks ties by number; passed as special tokens, they have a fixed order.
    fixed = [*names, *(CONTINUES + character for character in characters)]
    smallest = len(fixed) + len(characters)
    _check_size(
        config,
        smallest,
        f"{len(characters)} characters, first and inside a word, and {len(names)} special tokens",
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=config.size or max(automatic, smallest),
        min_frequency=2,
        special_tokens=fixed,
        initial_alphabet=characters,
        continuing_subword_prefix=CONTINUES,
        show_progress=False,
    )
    trained = _train(models.WordPiece(unk_token=names[UNK]), trainer, sample, config)
    return models.WordPiece(
        tokenizers.Tokenizer(trained).get_vocab(),
        unk_token=names[UNK],
        max_input_chars_per_word=_LONGEST_WORD,
        continuing_subword_prefix=CONTINUES,
    )


def _train(
    model: models.Model, trainer: trainers.Trainer, texts: Iterable[str], config: TokenizerConfig
) -> models.Model:
    backend = _make_backend(model, config)
    _run_in_thread(lambda: backend.train_from_iterator(texts, trainer))
    trained: models.Model = backend.model
    return trained


def _run_in_thread(work: Callable[[], None]) -> None:
    """Calls a function of the library, which takes minutes and hears no signal, in a thread.

    A signal ends the wait for it. The thread then ends with the process.
    """
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(WAIT_SECONDS)
    if errors:
        raise errors[0]


def _make_backend(model: models.Model, config: TokenizerConfig) -> tokenizers.Tokenizer:
    """The library's tokenizer with `model`, normalizer, pre-tokenizer and decoder."""
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = build_normalizer(config)
    backend.pre_tokenizer = build_pre_tokenizer(config)
    backend.decoder = build_decoder(config)
    return backend


def _count_words(sample: Iterable[str], config: TokenizerConfig) -> Counter[str]:
    cut = build_cutter(build_normalizer(config), build_pre_tokenizer(config))
    counts: Counter[str] = Counter()
    for text in sample:
        counts.update(cut(text))
    return counts


def _check_size(config: TokenizerConfig, smallest: int, needs: str) -> None:
    if config.size is not None and config.size < smallest:
        raise ConfigError(
            f"text.size={config.size} is too small for kind={config.kind!r}: {needs} "
            f"take {smallest}; leave it out, or set at least {smallest}"
        )
