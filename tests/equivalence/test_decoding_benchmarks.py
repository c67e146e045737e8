"""Benchmarks of decoding: all contestants find the same outputs; terms are met or reported."""

import importlib
import json
import sys
from pathlib import Path

import pytest
import torch
from planned_figures import planned_figures

import headway

FOLDER = Path(__file__).parents[2] / "benchmarks"
RUN = """
task = "translate"
[data]
train = "pairs.tsv"
valid = "pairs.tsv"
[text]
kind = "characters"
[model]
d_model = 32
d_ff = 32
n_heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 200
batch_tokens = 256
lr = 5e-3
evaluate_every = 200
[search]
max_ratio = 0
max_extra = 12  # one limit for all: peers have one for a batch
"""


@pytest.fixture(scope="module", autouse=True)
def _benchmarks():
    """The programs stand beside each other and find each other there."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def bench():
    return importlib.import_module("decode_speed")


@pytest.fixture
def given(bench, run):
    arguments = [str(run / "run"), "--source", str(run / "test.txt")]
    return bench.parse([*arguments, "--rounds", "2", "--latency", "4", "--threads", "1"])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decode")
    words = ["abc", "cab", "bca", "bac", "acb", "cba", "aab", "bbc", "cca", "abab", "caca"]
    (folder / "pairs.tsv").write_text("".join(f"{w}\t{w[::-1]}\n" for w in words * 4))
    (folder / "test.txt").write_text("".join(f"{w}\n" for w in [*words, "abcabc", "c"]))
    (folder / "run.toml").write_text(RUN)
    headway.train(headway.read_config(folder / "run.toml"), folder / "run")
    return folder


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_all_contestants_find_the_same(bench, run, tmp_path):
    translator = headway.load(run / "run")
    decoders = importlib.import_module("decoders")
    sources = decoders.read_sources(run / "run", run / "test.txt", None)
    exports = bench.exported(translator, tmp_path)
    outputs = {}
    for name in (bench.OURS, bench.HF, bench.CT2):
        one = decoders.make_contestant(name, run / "run", exports, 1)
        for beam in (5, 1):
            settings = one.tune(sources[:2], beam)
            outputs[name, beam] = one(sources, beam, settings)
    for beam in (5, 1):
        ours = outputs[bench.OURS, beam]
        assert len(set(map(tuple, ours))) > 5
        for peer in (bench.HF, bench.CT2):
            counts = bench.agreement(translator, sources, ours, outputs[peer, beam])
            assert counts["same"] + counts["tie"] == len(sources), (beam, peer, counts)


def test_a_contestant_answers_from_its_process(bench, given, tmp_path):
    one = bench.Rival(bench.OURS, given, tmp_path)
    try:
        whole = one.ask(watch=True, beam=2)
        assert one.ask(beam=2, rows=[3, 1])["outputs"] == [whole["outputs"][i] for i in (3, 1)]
        assert whole["seconds"] > 0
        assert one.ask(beam=2, tune=True) == {"settings": {}}
        assert 50 < one.peak < 5000
    finally:
        one.end()
    assert one.process.returncode == 0


@pytest.mark.slow
def test_the_program_ends_with_a_line_of_json(bench, run, capsys):
    arguments = [str(run / "run"), "--source", str(run / "test.txt")]
    assert bench.main([*arguments, "--rounds", "2", "--latency", "4", "--threads", "1"]) == 0
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["name"] == "decode_speed"
    assert {"headway/huggingface", "headway/ctranslate2 fp32", "headway/ctranslate2 int8"} <= set(
        line["ratios"]
    )
    assert all(value > 0 for value in line["ratios"].values())
    assert line["results"]["memory_mb"][bench.OURS] > 50
    assert float(planned_figures("decode_speed", line)["ms"]) >= 0


def test_differences_are_told_by_the_models_own_score(bench, run):
    translator = headway.load(run / "run")
    sources = translator.task.source.encode_batch(["abc", "cab", "bca"])
    ours = importlib.import_module("decoders").Headway(run / "run", 1)(sources, 5, {})
    worse = [ours[0], ours[1][:-1], ours[2]]
    assert bench.agreement(translator, sources, ours, worse) == {
        "same": 2,
        "tie": 0,
        "ours better": 1,
        "peer's better": 0,
    }
    assert bench.agreement(translator, sources, worse, ours)["peer's better"] == 1


def test_terms_are_met_or_reported(run, tmp_path, capsys):
    terms = importlib.import_module("terms")
    counts = terms.Counter({"abc": 5, "cab": 2, "bca": 2, "ab": 2})
    assert terms.rarest_word("abc ab bca cab .", counts) == "bca"
    assert terms.rarest_word(". 12", counts) is None
    for name, content in {"src": "abc\ncab\n", "tgt": "cba\nzzz\n"}.items():
        (tmp_path / name).write_text(content)
    files = ["--source", str(tmp_path / "src"), "--target", str(tmp_path / "tgt")]
    assert terms.main([str(run / "run"), *files, "--counts", str(tmp_path / "tgt")]) == 0
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["name"] == "terms"
    assert line["met"]["with terms"] == 1  # no z was ever seen, so "zzz" cannot be written
    assert line["not met and not reported"] == 0
    assert planned_figures("terms", line)["met"] == "1"
