"""The benchmark of recurrent training compares the same work: loss and gradients agree."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch
from equivalence_cases import some_batch
from planned_figures import planned_figures
from torch.nn.functional import cross_entropy

from headway.nn.scores import SCORES
from headway.text import PAD

FOLDER = Path(__file__).parents[2] / "benchmarks"
CLOSE = {"rtol": 1e-4, "atol": 1e-6}


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))  # where it finds `rounds`
        spec = importlib.util.spec_from_file_location(
            "recurrent_speed", FOLDER / "recurrent_speed.py"
        )
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def toy(bench):
    before = torch.get_num_threads()
    yield bench.Setting(d_model=8, vocabulary=20, tokens=64, updates=1, sentences=30)
    torch.set_num_threads(before)


@pytest.mark.parametrize("form", ["bahdanau", "luong"])
def test_the_plain_model_is_the_same_function(bench, toy, form):
    ours = bench.headway_model(toy, form, bench.FORMS[form], rate=0.0)
    torch.nn.init.normal_(ours.output.bias)
    theirs = bench.PlainModel(toy, form, 0.0)
    bench.copy_weights(ours, theirs)
    batch = some_batch(vocabulary=20)
    losses = [
        cross_entropy(logits.flatten(0, 1), batch["tgt_out"].flatten(), ignore_index=PAD)
        for logits in (ours.output(ours(batch)), theirs(batch))
    ]
    torch.testing.assert_close(*losses)
    sum(losses).backward()
    torch.testing.assert_close(ours.source_embedding.grad, theirs.embedding.grad, **CLOSE)
    torch.testing.assert_close(
        ours.decoder.combine.weight.grad, theirs.combine.weight.grad, **CLOSE
    )
    keys = ours.decoder.attention.score
    ours_keys = keys.key_weight if form == "bahdanau" else keys.weight
    torch.testing.assert_close(ours_keys.grad[0], theirs.keys.weight.grad, **CLOSE)


def test_the_program_ends_with_one_line_of_json(bench, toy, monkeypatch, capsys):
    monkeypatch.setattr("rounds.matmul_rate", lambda threads: 1e9)
    assert bench.main(["--rounds", "2", "--threads", "1"], toy) == 0
    output = capsys.readouterr()
    (line,) = output.out.splitlines()
    result = json.loads(line)
    assert result["name"] == "recurrent_speed"
    assert list(result["ratios"]) == [
        "headway/torch.nn (bahdanau)",
        "headway plain/torch.nn (bahdanau)",
        "headway/torch.nn (luong)",
        "headway plain/torch.nn (luong)",
    ]
    assert all(ratio > 0 for ratio in result["ratios"].values())
    assert planned_figures("recurrent_speed", result).keys() == {"bahdanau", "luong"}
    for times in result["time_over_dot"].values():
        assert set(times) == set(SCORES)
        assert times["dot"] == 1.0
    assert "luong, every score:" in output.err


def test_wrong_usage(bench, capsys):
    with pytest.raises(SystemExit):
        bench.main(["--rounds", "0"])
    assert "--rounds is 0; expected 1 or more" in capsys.readouterr().err
