"""Files beyond all bounds are refused before anything is built from them."""

import gzip
import json
import os
import subprocess
import sys
import time

import pytest

from headway.config import load
from headway.data.config import Corpus
from headway.data.formats.lines import read_lines, read_pieces
from headway.data.formats.read import has_column
from headway.errors import ConfigError, DataError, RunError
from headway.file_limits import (
    LINE_BYTES,
    NESTING,
    UNPACKED_BYTES,
    UNPACKED_RATIO,
    VOCABULARY_SIZE,
    check_unpacked,
    max_line_bytes,
    parse_json,
    read_bounded,
    refuse_named_pipe,
)
from headway.models.transformer import TransformerConfig
from headway.run_config import RunConfig
from headway.text import Tokenizer
from headway.text.config import TokenizerConfig
from headway.text.train import train_tokenizer


def test_the_length_of_a_line_is_a_setting(monkeypatch):
    monkeypatch.delenv("HEADWAY_MAX_LINE", raising=False)
    assert max_line_bytes() == LINE_BYTES
    monkeypatch.setenv("HEADWAY_MAX_LINE", "10")
    assert max_line_bytes() == 10
    for wrong in ("", "0", "-1", "many", "1e6", "9" * 30):
        monkeypatch.setenv("HEADWAY_MAX_LINE", wrong)
        with pytest.raises(ConfigError, match="expected a number of bytes, at least 1"):
            max_line_bytes()


def test_a_line_that_is_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_MAX_LINE", "10")
    (tmp_path / "a").write_text("123456789\n123456789\n1234567890\n")
    with pytest.raises(DataError) as caught:
        list(read_lines(tmp_path / "a"))
    assert str(caught.value) == (
        f"{tmp_path / 'a'}:3: the line has more than 10 bytes; break it up, or set "
        "HEADWAY_MAX_LINE to a larger number"
    )


def test_a_gzip_bomb_without_line_ends_takes_little_memory(tmp_path):
    with gzip.open(tmp_path / "bomb.gz", "wb") as file:
        for _ in range(512):
            file.write(bytes(1 << 20))
    program = (
        "import resource, sys\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "from headway.data.formats.lines import read_lines\n"
        "from headway.errors import DataError\n"
        "before = peak()\n"
        "try:\n    next(read_lines(sys.argv[1]))\n"
        "except DataError as error:\n    assert 'more than' in str(error), error\n"
        "print(peak() - before)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "bomb.gz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100_000  # KiB; the line has 524,288


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is a named pipe; give a file"):
        next(read_lines(pipe))
    with pytest.raises(ConfigError, match="is a named pipe; give a file"):
        load(pipe, RunConfig)
    refuse_named_pipe(tmp_path / "nowhere", DataError)  # the reader says that it is missing


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a = " + "[" * 3000 + "]" * 3000, "nested more than 64 deep"),
        ("#" * (5 << 20), "has more than 1048576 bytes"),
        (".".join(["a"] * 300_000) + " = 1", "a key has more than 64 parts"),
        ("[" + " . ".join(['"a b"'] * 30_000) + "]", "a key has more than 64 parts"),
        ("a = {" + ".".join(["'a'"] * 30_000) + " = 1}", "a key has more than 64 parts"),
        ("seed = " + "9" * 5000, "a number of hundreds of digits"),
        ("seed = 0x" + "f" * 5000, "a number of hundreds of digits"),
        ("device = '" + "9" * 5000 + "'\nseed = '" + "[" * 5000 + "'", "seed = "),
    ],
)
def test_a_run_file_beyond_all_bounds(tmp_path, content, said):
    (tmp_path / "run.toml").write_text(content)
    with pytest.raises(ConfigError, match=said) as caught:
        load(tmp_path / "run.toml", RunConfig)
    assert max(map(len, str(caught.value).splitlines())) < 500


@pytest.mark.parametrize(
    "content",
    [
        "".join(f"key{i} = 1\n" for i in range(10_000)),
        "[model]\n" + "".join(f"key{i} = 1\n" for i in range(10_000)),
        "[data]\ntrain = [" + "1, " * 100_000 + "]",
    ],
)
def test_of_a_hundred_thousand_problems_the_first_are_named(tmp_path, content):
    (tmp_path / "run.toml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "run.toml", RunConfig)
    lines = str(caught.value).splitlines()
    assert 20 <= len(lines) <= 21


def test_a_long_key_is_not_echoed_whole(tmp_path):
    (tmp_path / "run.toml").write_text("k" * 10_000 + " = 1\n[data]\ntrain = 'a.tsv'\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "run.toml", RunConfig)
    assert len(str(caught.value)) < 500


def test_huge_sizes_are_refused_at_once(tmp_path):
    (tmp_path / "run.toml").write_text(
        "[data]\ntrain = 'a.tsv'\n[model]\nd_model = 1000000007\nn_heads = 8\n"
    )
    started = time.process_time()
    with pytest.raises(ConfigError, match=r"model\.d_model = 1000000007: expected"):
        load(tmp_path / "run.toml", RunConfig)
    with pytest.raises(ValueError, match="is not divisible"):
        TransformerConfig(d_model=1048573, n_heads=8)
    assert time.process_time() - started < 30


def test_an_id_of_two_thousand_million_builds_no_list(tmp_path):
    content = {
        "version": "1.0",
        "added_tokens": [],
        "model": {
            "type": "WordLevel",
            "vocab": {"a": 0, "<pad>": 1, "b": 2_000_000_000},
            "unk_token": "<pad>",
        },
    }
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(content))
    roles = dict.fromkeys(("pad", "bos", "eos", "unk"), "<pad>")
    with pytest.raises(RunError) as caught:
        Tokenizer.from_hugging_face(file, roles, None)
    assert str(caught.value) == (
        f"{file} is not a tokenizer (an id is 2000000000; expected less than {VOCABULARY_SIZE}); "
        "expected a tokenizer.json of the library tokenizers"
    )


def test_a_text_is_not_doubled_again_and_again(tmp_path):
    file = tmp_path / "tokenizer.json"
    train_tokenizer(["a b"], TokenizerConfig(kind="bpe")).save(file)
    content = json.loads(file.read_text())
    steps = content["pre_tokenizer"]["pretokenizers"]
    steps += [steps[-1]] * 100  # each makes two bytes of one that is not ASCII
    file.write_text(json.dumps(content))
    with pytest.raises(RunError, match=rf"pre_tokenizer has {len(steps)} steps; expected at most"):
        Tokenizer.load(file)


def test_depth_and_numbers_of_json():
    deepest = "[" * NESTING + "1" + "]" * NESTING
    assert parse_json(deepest)
    assert parse_json(b'{"a": [1e400, -1]}') == {"a": [float("inf"), -1]}
    for text, reason in {
        f"[{deepest}]": "nested more than 64 deep",
        "[" * 100_000: "nested more than 64 deep",
        '{"a":' * 500 + "1" + "}" * 500: "nested more than 64 deep",
        "9" * 400: "a number of hundreds of digits",
        "-" + "9" * 5000: "a number of hundreds of digits",
    }.items():
        with pytest.raises(ValueError) as caught:
            parse_json(text)
        assert str(caught.value) == reason
    with pytest.raises(json.JSONDecodeError):
        parse_json("{")


def test_the_size_of_a_file_is_bounded(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5, RunError, "copy it") == b"12345"
    with pytest.raises(RunError, match=r"a: has more than 4 bytes; copy it$"):
        read_bounded(tmp_path / "a", 4, RunError, "copy it")
    with pytest.raises(RunError, match="has more than 1000 bytes"):
        read_bounded("/dev/zero", 1000, RunError, "copy it")
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "b", 5, RunError, "copy it")


def test_packed_files_may_not_grow_beyond_all_bounds(tmp_path, monkeypatch):
    check_unpacked(1, UNPACKED_BYTES)
    check_unpacked(UNPACKED_BYTES, UNPACKED_BYTES * UNPACKED_RATIO)
    with pytest.raises(ValueError, match="it unpacks to more than 250 times its size"):
        check_unpacked(UNPACKED_BYTES, UNPACKED_BYTES * UNPACKED_RATIO + 1)
    (tmp_path / "lines.gz").write_bytes(gzip.compress(b"\n" * (1 << 20)))
    assert sum(1 for _ in read_lines(tmp_path / "lines.gz")) == 1 << 20
    monkeypatch.setattr("headway.file_limits.UNPACKED_BYTES", 1 << 19)
    with pytest.raises(DataError) as caught:
        list(read_lines(tmp_path / "lines.gz"))
    assert str(caught.value) == (
        f"{tmp_path / 'lines.gz'}: it unpacks to more than 250 times its size; unpack it (gunzip) "
        "and give the plain file if it is right"
    )


def test_white_space_without_end_is_no_running_text(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_MAX_LINE", "1000000")
    (tmp_path / "a").write_bytes(b"one two\n" + b"\n" * 3_000_000)
    with pytest.raises(DataError, match=r"a:1: a run of white space has more than 1000000 bytes"):
        list(read_pieces(tmp_path / "a"))


def test_a_header_that_is_no_csv_names_no_columns(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text,\rlabel\n")
    assert not has_column(Corpus(file="a.csv"), "text2", tmp_path)
