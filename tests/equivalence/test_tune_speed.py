"""The benchmark of fine-tuning compares the same work: loss, gradients, places of dropout agree."""

import importlib
import json
import runpy
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from planned_figures import planned_figures
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import headway
from headway.nn.dropout import keep_mask, scale
from headway.nn.rng import use_generator
from headway.tasks.classify import LabelLoss
from headway.text import BOS, EOS

ROOT = Path(__file__).parents[2]
CLOSE = {"rtol": 1e-4, "atol": 1e-6}
V, SEED = 60, 7

sys.path.insert(0, str(ROOT / "benchmarks"))  # the programs find each other there
bench = importlib.import_module("tune_speed")
rounds = importlib.import_module("rounds")
sys.path.remove(str(ROOT / "benchmarks"))
TOY = bench.bert(layers=2, d_model=16, n_heads=2, vocabulary=V)
POOLINGS = {
    "pooler": TOY,  # the library's own class
    "mean": replace(TOY, config=replace(TOY.config, pooling="mean", pooler=False)),
    "first": replace(TOY, config=replace(TOY.config, pooling="first", pooler=False)),
}
pooled = pytest.mark.parametrize("start", POOLINGS.values(), ids=POOLINGS)


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def our_model(start=TOY, dropout=0.0, attention_dropout=0.0):
    model = bench.headway_model(start, attention_dropout, dropout)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            # Gains and biases start at 1 and 0, where a mistake with them would not show.
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def some_batch():
    """Unequal lengths, so with padding."""
    return bench.synthetic(V, 40).batch(np.arange(12))


def check_same_gradients(ours, theirs):
    mine = {name: p.grad for name, p in ours.named_parameters()}
    found = bench.hugging_face_layout(mine, ours.config)
    other = {name: p.grad for name, p in theirs.named_parameters()}
    assert found.keys() == other.keys()
    for name, value in found.items():
        torch.testing.assert_close(value, other[name], **CLOSE, msg=lambda m, n=name: f"{n}: {m}")


@pooled
def test_loss_and_gradients_are_the_same(start):
    ours, batch = our_model(start), some_batch()
    theirs = bench.hugging_face_model(ours)
    mine = LabelLoss(ours, 0.0).train()(batch, SEED)["loss"] / len(batch["label"])
    other = bench.hugging_face(theirs).forward(batch, 0.0)
    mine.backward(), other.backward()
    torch.testing.assert_close(mine, other, rtol=1e-5, atol=0.0)
    check_same_gradients(ours, theirs)


@pooled
def test_both_drop_at_the_same_places(start, monkeypatch):
    """Given our masks one after another, the library has our loss and our gradients."""
    ours, batch, rates = our_model(start, 0.3, 0.2), some_batch(), []
    # What `sdpa` draws cannot be given to it; the other way drops the same weights.
    theirs = bench.hugging_face_model(ours, attention="eager")

    def dropout(x, p=0.5, training=True, inplace=False):
        assert training
        rates.append(p)
        return x * keep_mask(x.shape, p, x.device) * scale(p)

    mine = LabelLoss(ours, 0.0).train()(batch, SEED)["loss"] / len(batch["label"])
    monkeypatch.setattr(torch.nn.functional, "dropout", dropout)
    with use_generator(torch.Generator().manual_seed(SEED)):
        other = bench.hugging_face(theirs).forward(batch, 0.0)
    mine.backward(), other.backward()
    # Embeddings; of each layer the weights and two branches; before the head.
    assert rates == [0.3, *[0.2, 0.3, 0.3] * start.config.layers, 0.3]
    torch.testing.assert_close(mine, other, rtol=1e-5, atol=0.0)
    check_same_gradients(ours, theirs)


@pytest.mark.parametrize("workers", [1, 2])
def test_both_train_the_same_without_dropout(workers):
    torch.set_num_threads(workers)
    model = our_model()
    theirs = bench.hugging_face(bench.hugging_face_model(model))
    ours = rounds.Headway(LabelLoss(model, 0.0), workers)
    for number, batch in enumerate(rounds.update_batches(bench.synthetic(V, 40), 128, 3), 1):
        assert ours.update(batch, number) == theirs.update(batch, number)
        assert ours.loss(batch) == pytest.approx(theirs.loss(batch), rel=1e-4)


def test_weights_that_do_not_fit_are_refused():
    theirs = bench.hugging_face_model(our_model())
    deeper = bench.bert(layers=3, d_model=16, n_heads=2, vocabulary=V)
    with pytest.raises(RuntimeError, match=r"not the same parts: .*layer\.2\.attention"):
        bench.copy_weights(our_model(deeper), theirs)


@pooled
def test_operations_are_those_that_torch_counts(start):
    model, batch = our_model(start), some_batch()
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        LabelLoss(model, 0.0).train()(batch)["loss"].backward()
    assert bench.matmul_flops(model.config, batch) == counter.get_total_flops()


def test_the_usual_model_has_the_size_of_minilm():
    with torch.device("meta"):
        start = bench.bert()
        model = bench.FAMILIES["encoder"].build(start.config, bench._sizes(start.vocabulary))
    sizes = {name: p.numel() for name, p in model.backbone.named_parameters()}
    assert sum(n for name, n in sizes.items() if not name.startswith("pooler")) == 22_565_376


def test_synthetic_texts():
    examples = bench.synthetic(V, 500)
    for text in examples.columns["text"]:
        assert (text[0], text[-1]) == (BOS, EOS)
        assert (text[1:-1] > EOS).all()
        assert text.max() < V
    lengths = examples.lengths("text")
    assert lengths.min() >= 3
    assert 9 <= np.median(lengths) <= 11
    assert 12 <= lengths.mean() <= 14.5
    assert lengths.max() <= bench.LONGEST
    assert {int(label[0]) for label in examples.columns["label"]} == {0, 1}


def test_a_run_gives_weights_and_tokenizer(tmp_path):
    make = runpy.run_path(str(ROOT / "tests/support/foreign_folders.py"))["make_folder"]
    folder = make("sentences", tmp_path / "theirs")
    headway.import_run(folder, tmp_path / "run")
    start = bench.from_run(str(tmp_path / "run"))
    run = headway.load(tmp_path / "run")
    model = bench.headway_model(start, 0.0)
    for name, tensor in run.model.backbone.state_dict().items():
        assert torch.equal(model.backbone.state_dict()[name], tensor)
    (tmp_path / "texts.tsv").write_text("sentence\tlabel\nthe cat sat\t1\na dog\t0\n")
    examples = bench.from_table(str(tmp_path / "texts.tsv"), start, "sentence", "label")
    [expected] = run.task.codec.encode_batch(["the cat sat"])
    assert np.array_equal(examples.columns["text"][0], expected)
    assert [int(label[0]) for label in examples.columns["label"]] == [1, 0]
    ours = bench.headway_model(start, 0.0, dropout=0.0)
    batch = examples.batch(np.arange(2))
    contestants = {
        "ours": rounds.Headway(LabelLoss(ours, 0.0), 1),
        "theirs": bench.hugging_face(bench.hugging_face_model(ours)),
    }
    rounds.check_same_model(contestants, batch)


def test_what_is_no_bert_is_refused(tmp_path):
    make = runpy.run_path(str(ROOT / "tests/support/foreign_folders.py"))["make_folder"]
    for kind, complaint in {
        "gpt2": "has model.family = 'decoder'; expected an encoder",
        "distilbert": "is no BERT: model.segments = 0 .*; give another run",
    }.items():
        headway.import_run(make(kind, tmp_path / kind), tmp_path / f"{kind}-run")
        with pytest.raises(bench.ConfigError, match=complaint):
            bench.from_run(str(tmp_path / f"{kind}-run"))


def test_a_table_without_a_run_has_a_tokenizer_of_its_own(tmp_path):
    file = tmp_path / "texts.tsv"
    file.write_text("sentence\tlabel\n" + "a film\tyes\nno\tno\n" * 20)
    start = replace(TOY, vocabulary=1000)
    examples = bench.from_table(str(file), start, "sentence", "label")
    assert len(examples) == 40
    assert examples.vocabulary == 1000
    first = examples.columns["text"][0]
    assert (first[0], first[-1]) == (BOS, EOS)
    with pytest.raises(bench.ConfigError, match="tokens and the model has 5; give a run"):
        bench.from_table(str(file), replace(TOY, vocabulary=5), "sentence", "label")
    file.write_text("sentence\tlabel\na\t0\nb\t1\nc\t2\n")
    with pytest.raises(bench.ConfigError, match="has 3 labels; expected 2"):
        bench.from_table(str(file), start, "sentence", "label")


def test_the_program_ends_with_one_line_of_json(monkeypatch, capsys):
    monkeypatch.setattr(rounds, "matmul_rate", partial(rounds.matmul_rate, seconds=0.01, size=64))
    more = ["--rounds", "2", "--updates", "1", "--threads", "1", "--tokens", "64"]
    assert bench.main(more, TOY) == 0
    output = capsys.readouterr()
    (line,) = output.out.splitlines()
    result = json.loads(line)
    assert result["name"] == "tune_speed"
    assert list(result["ratios"]) == [
        "headway/huggingface (attention dropout 0.1)",
        "headway/huggingface (attention dropout 0)",
    ]
    assert planned_figures("tune_speed", result)["share"].count("%") == 2
    for found in result["results"]:
        assert found["setting"]["tokens"] == 64
        assert [len(v) for v in found["tokens_per_second"].values()] == [2, 2, 2]
        assert all(share > 0 for share in found["share_of_matmul_rate"].values())
    assert "round 2/2" in output.err


def test_wrong_usage(capsys):
    with pytest.raises(SystemExit):
        bench.main(["--tokens", "0"])
    assert "--tokens is 0; expected 1 or more" in capsys.readouterr().err


def test_a_missing_run_is_one_line(capsys, tmp_path):
    assert bench.main(["--run", str(tmp_path / "no")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
