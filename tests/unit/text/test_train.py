"""Learning a vocabulary: sizes, errors, determinism, memory."""

import ctypes
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from headway.errors import ConfigError
from headway.text import TokenizerConfig, train, train_tokenizer, vocabulary_size

WORDS = ["low", "lower", "newest", "widest", "slow", "west", "lowest", "new"]
TEXTS = [" ".join(WORDS[i % 8 :] + WORDS[: i % 5]) for i in range(50)]


@pytest.mark.parametrize(
    ("n_characters", "expected"),
    [
        (0, 300),
        (150_000, 800),  # a few thousand dates
        (3_900_000, 4000),  # Multi30k, both sides
        (130_000_000, 23000),  # a million pairs
        (10**12, 32000),
    ],
)
def test_vocabulary_size(n_characters, expected):
    assert vocabulary_size(n_characters) == expected


def test_vocabulary_size_grows_with_the_corpus():
    sizes = [vocabulary_size(10**6 * n) for n in range(100)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(("kind", "size"), [("bpe", 270), ("unigram", 270), ("wordpiece", 35)])
def test_an_explicit_size_is_met_exactly(kind, size):
    assert train_tokenizer(TEXTS, TokenizerConfig(kind=kind, size=size)).size == size


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words", "characters"])
def test_a_size_the_text_does_not_allow(kind):
    with pytest.raises(ConfigError) as caught:
        train_tokenizer(TEXTS, TokenizerConfig(kind=kind, size=8000))
    message = str(caught.value)
    assert message.startswith("text.size=8000 is larger than this text allows (only ")
    assert message.endswith(" or leave it out")
    reachable = int(message.split("only ")[1].split()[0])
    assert f"try size={reachable} or" in message
    # The remedies work.
    assert train_tokenizer(TEXTS, TokenizerConfig(kind=kind, size=reachable)).size == reachable
    assert train_tokenizer(TEXTS, TokenizerConfig(kind=kind)).size <= reachable


def test_the_message_counts_words():
    with pytest.raises(ConfigError, match=r"\(only 6 words can be learned\); try size=6 or"):
        train_tokenizer(["a b a"], TokenizerConfig(kind="words", size=7))


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        (
            "bpe",
            100,
            "text.size=100 is too small for kind='bpe': 256 bytes and 4 special tokens "
            "take 260; leave it out, or set at least 260",
        ),
        (
            "unigram",
            259,
            "text.size=259 is too small for kind='unigram': 256 bytes and 4 special tokens "
            "take 260; leave it out, or set at least 260",
        ),
        (
            "wordpiece",
            9,
            "text.size=9 is too small for kind='wordpiece': 3 characters, first and inside a "
            "word, and 4 special tokens take 10; leave it out, or set at least 10",
        ),
        (
            "words",
            4,
            "text.size=4 is too small for kind='words': 4 special tokens and a single one "
            "take 5; leave it out, or set at least 5",
        ),
    ],
)
def test_a_size_too_small_to_spell_the_text(kind, size, message):
    with pytest.raises(ConfigError) as caught:
        train_tokenizer(["abc cab"], TokenizerConfig(kind=kind, size=size))
    assert str(caught.value) == message


def test_the_smallest_size_is_bytes_alone():
    tokenizer = train_tokenizer(TEXTS, TokenizerConfig(size=260))
    assert tokenizer.size == 260
    assert len(tokenizer.encode("low")) == 4  # the space before it, and three letters


@pytest.mark.parametrize(("kind", "left"), [("words", ["b", "a"]), ("characters", [" ", "b", "a"])])
def test_frequent_ones_first_and_rare_ones_unknown(kind, left):
    tokenizer = train_tokenizer(["b b a", "b a c"], TokenizerConfig(kind=kind, min_count=2))
    assert [tokenizer.decode([index]) for index in range(4, tokenizer.size)] == left


def test_size_keeps_the_most_frequent_words():
    tokenizer = train_tokenizer(["c b b a a"], TokenizerConfig(kind="words", size=6))
    assert tokenizer.tokens(range(4, 6)) == ["a", "b"]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words", "characters", "bytes"])
def test_no_text_at_all(kind):
    tokenizer = train_tokenizer([], TokenizerConfig(kind=kind))
    assert tokenizer.size == (260 if kind in ("bpe", "unigram", "bytes") else 4)
    assert tokenizer.encode("") == []


def test_any_iterable_is_accepted():
    def once() -> Iterator[str]:
        yield from TEXTS

    for kind in ("bpe", "words"):
        config = TokenizerConfig(kind=kind)
        assert train_tokenizer(once(), config).to_json() == train_tokenizer(TEXTS, config).to_json()


@pytest.mark.parametrize("kind", ["bpe", "words"])
def test_an_error_of_the_reader_passes_through(kind):
    def broken() -> Iterator[str]:
        yield "a b"
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        train_tokenizer(broken(), TokenizerConfig(kind=kind))


def test_other_processes_learn_the_same():
    code = (
        "import hashlib\n"
        "from headway.text import *\n"
        f"texts = {TEXTS!r} + ['ab ba cd dc abcd', 'Кот сел', 'x']\n"
        "for kind in 'bpe unigram wordpiece words characters'.split():\n"
        "    text = train_tokenizer(texts, TokenizerConfig(kind=kind)).to_json()\n"
        "    print(kind, hashlib.sha256(text.encode()).hexdigest())\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(3)
    }
    assert len(runs) == 1
    assert len(runs.pop().splitlines()) == 5


def test_a_long_line_without_spaces_is_learned_and_encoded():
    text = "acgtcgtaa" * 20_000
    tokenizer = train_tokenizer([text], TokenizerConfig())
    ids = tokenizer.encode(text)
    assert len(ids) < len(text) / 4
    assert tokenizer.decode(ids) == text


def test_the_sample_is_bounded_and_even(monkeypatch):
    monkeypatch.setattr(train, "_SAMPLE", 1000)
    # The two languages alternate: a sample of every other text would lose one of them.
    texts = ["aaaaa" if index % 2 else "bbbbb" for index in range(10_000)]
    sample, n_characters = train._sample(iter(texts))
    assert n_characters == 50_000
    assert sum(map(len, sample)) == 1000
    assert 60 < sample.count("aaaaa") < 140
    assert train._sample(iter(texts)) == (sample, n_characters)
    assert train._sample(texts[:200]) == (texts[:200], 1000)
    # One text that is too long alone is still learned from.
    assert len(train._sample(["x" * 5000, "y" * 5000])[0]) == 1


def test_extra_specials_are_checked():
    with pytest.raises(
        ValueError, match=r"'\[MASK\]' is not a plain name; use letters, as in 'mas"
    ):
        train_tokenizer([], TokenizerConfig(), extra_specials=["[MASK]"])
    with pytest.raises(ValueError, match="are not distinct; name each once"):
        train_tokenizer([], TokenizerConfig(), extra_specials=["pad"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses a lock of the C library")
def test_a_signal_is_heard_while_the_library_works():
    """The trainers of the library run for minutes without looking at signals."""
    library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(128)

    def deaf():
        library.pthread_mutex_lock(lock)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        library.pthread_mutex_lock(lock)  # for ever: signals do not end it

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever ran before
    try:
        with pytest.raises(KeyboardInterrupt):
            train._run_in_thread(deaf)
    finally:
        signal.signal(signal.SIGINT, before)
        library.pthread_mutex_unlock(lock)


def test_an_error_in_the_texts_is_raised():
    def texts():
        yield "a"
        raise ConfigError("wrong")

    with pytest.raises(ConfigError, match="wrong"):
        train_tokenizer(texts(), TokenizerConfig(kind="words"))


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_the_time_for_a_line_without_spaces_grows_with_its_length(kind):
    line = "ab" * 100_000  # uncut, a word of this length takes WordPiece most of a minute
    started = time.process_time()
    tokenizer = train_tokenizer([line, "a b"], TokenizerConfig(kind=kind))
    assert time.process_time() - started < 20
    assert tokenizer.decode(tokenizer.encode("ab ab")) == "ab ab"
