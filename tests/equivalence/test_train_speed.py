"""The benchmark of training speed compares the same work, and headway's fast path is exact.

Fast is: the loss that never holds all logits, fused attention, micro-batches in threads. Plain is:
all logits at once into PyTorch's cross-entropy, attention spelled out, one batch. Gradients agree,
with the same dropout masks too, and so they do with Marian, which gets the masks at its own places.
"""

import importlib
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from equivalence_cases import some_batch
from planned_figures import planned_figures
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from headway.nn.capture import capture
from headway.nn.dropout import keep_mask, scale
from headway.nn.rng import use_generator
from headway.tasks.losses import SequenceLoss
from headway.text import EOS, PAD
from headway.training.distributed import Processes
from headway.training.seeds import microbatch_seed
from headway.training.update import Updater

FOLDER = Path(__file__).parents[2] / "benchmarks"
CLOSE = {"rtol": 1e-4, "atol": 1e-6}
V, SMOOTHING, SEED = 600, 0.1, 7  # more words than a chunk of the loss has positions


sys.path.insert(0, str(FOLDER))  # the programs find each other there
bench = importlib.import_module("train_speed")
rounds = importlib.import_module("rounds")
sys.path.remove(str(FOLDER))
TOY = bench.Setting("toy", 16, 24, 2, 2, V, 128, updates=1)


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def our_model(dropout=0.0):
    model = bench.headway_model(TOY, V, dropout)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            # Gains and biases start at 1 and 0, where a mistake with them would not show.
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def both_models(dropout=0.0):
    ours, theirs = our_model(dropout), bench.marian_model(TOY, V, dropout)
    bench.copy_to_marian(ours, theirs)
    return ours, theirs


def long_batch():
    """More positions than one chunk of the loss, of unequal lengths."""
    examples = rounds.synthetic(V, 60)
    return examples.batch(np.arange(60))


def gradients(module):
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


def check_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], **CLOSE, msg=lambda m, n=name: f"{n}: {m}")


def fast(model, batch, seed):
    """headway's loss as it trains."""
    return SequenceLoss(model, SMOOTHING).train()(batch, seed)["loss"]


def plain(model, batch, seed):
    """All logits, attention spelled out, with the draws of the same seed."""
    model.train()
    with use_generator(torch.Generator().manual_seed(seed)), capture(model) as maps:
        logits = model.output(model(batch))
    assert maps  # the fused kernel was not taken
    return cross_entropy(
        logits.flatten(0, 1),
        batch["tgt_out"].flatten(),
        ignore_index=PAD,
        label_smoothing=SMOOTHING,
        reduction="sum",
    )


@pytest.mark.parametrize("batch", [some_batch(vocabulary=V), long_batch()], ids=["short", "long"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_of_the_fast_path_are_those_of_the_plain_path(batch, dropout):
    models = our_model(dropout), our_model(dropout)
    losses = [way(model, batch, SEED) for way, model in zip((fast, plain), models, strict=True)]
    for loss in losses:
        (loss / batch["tgt_valid"].sum()).backward()
    torch.testing.assert_close(*losses, rtol=1e-6, atol=0.0)
    check_same(*map(gradients, models))


def test_with_other_masks_they_would_differ():
    batch, models = long_batch(), (our_model(0.3), our_model(0.3))
    one, other = fast(models[0], batch, SEED), plain(models[1], batch, SEED + 1)
    assert abs(one - other) > 1e-4 * other


@pytest.mark.parametrize("workers", [1, 2])
def test_gradients_of_divided_updates_are_those_of_the_plain_path(workers):
    batch, ours, reference = long_batch(), our_model(0.3), our_model(0.3)
    updater = Updater(
        SequenceLoss(ours, SMOOTHING).train(),
        torch.optim.SGD(ours.parameters(), lr=0.0),
        SEED,
        clip=0.0,
        processes=Processes(),
        workers=workers,
    )
    parts = rounds.split_rows(batch, 2)
    result = updater(list(enumerate(parts)), update=1, lr=0.0)
    total = sum(plain(reference, part, microbatch_seed(SEED, 1, i)) for i, part in enumerate(parts))
    loss = total / batch["tgt_valid"].sum()
    loss.backward()
    assert result.losses["loss"] == pytest.approx(loss.item(), rel=1e-5)
    check_same(gradients(ours), gradients(reference))


@pytest.mark.parametrize("batch", [some_batch(vocabulary=V), long_batch()], ids=["short", "long"])
def test_marian_with_copied_weights_has_the_same_loss_and_gradients(batch):
    ours, theirs = both_models()
    mine = fast(ours, batch, SEED) / batch["tgt_valid"].sum()
    other = bench.hugging_face(theirs).forward(batch, SMOOTHING)
    mine.backward(), other.backward()
    torch.testing.assert_close(mine, other, rtol=1e-5, atol=0.0)
    check_same(bench.marian_layout(gradients(ours)), gradients(theirs))


def test_marian_drops_at_the_same_places(monkeypatch):
    """Given our masks one after another, it has our loss and our gradients."""
    ours, theirs = both_models(dropout=0.3)
    batch, order, rates = long_batch(), bench.marian_channels(TOY.d_model), []

    def dropout(x, p=0.5, training=True, inplace=False):
        assert training
        rates.append(p)
        return x * keep_mask(x.shape, p, x.device)[..., order] * scale(p) if p else x

    mine = fast(ours, batch, SEED) / batch["tgt_valid"].sum()
    monkeypatch.setattr(torch.nn.functional, "dropout", dropout)
    with use_generator(torch.Generator().manual_seed(SEED)):
        other = bench.hugging_face(theirs).forward(batch, SMOOTHING)
    mine.backward(), other.backward()
    # Embeddings of both sides, two branches of an encoder layer, three of a decoder layer.
    assert sum(p > 0 for p in rates) == 2 + TOY.layers * (2 + 3)
    torch.testing.assert_close(mine, other, rtol=1e-5, atol=0.0)
    check_same(bench.marian_layout(gradients(ours)), gradients(theirs))


def test_both_train_the_same_without_dropout():
    ours, theirs = both_models()
    ours, theirs = (
        rounds.Headway(SequenceLoss(ours, SMOOTHING), workers=1),
        bench.hugging_face(theirs),
    )
    for number in range(1, 4):
        batch = some_batch(number, V)
        assert ours.update(batch, number) == theirs.update(batch, number)
        assert ours.loss(batch) == pytest.approx(theirs.loss(batch), rel=1e-4)


def test_weights_that_do_not_fit_are_refused():
    deeper = bench.Setting("deeper", 16, 24, 2, 3, V, 128, updates=1)
    with pytest.raises(RuntimeError, match=r"not the same parts: .*layers\.2\.fc1"):
        bench.copy_to_marian(our_model(), bench.marian_model(deeper, V))


def test_operations_are_those_that_torch_counts():
    """On the plain loss: torch's counter does not see products that are added into a tensor."""
    model, batch = our_model(), long_batch()
    valid = batch["tgt_valid"]
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        logits = model.output(model(batch)[valid])
        cross_entropy(logits, batch["tgt_out"][valid]).backward()
    assert bench.matmul_flops(TOY, V, batch) == counter.get_total_flops()


def test_synthetic_sentences():
    examples = rounds.synthetic(V, 500)
    for column in ("source", "target"):
        assert all(s[-1] == EOS and (s[:-1] > EOS).all() for s in examples.columns[column])
        assert max(s.max() for s in examples.columns[column]) < V
        lengths = examples.lengths(column)
        assert lengths.min() >= 2
        assert 12 <= np.median(lengths) <= 16
        assert lengths.max() > 1.5 * np.median(lengths)
    again = rounds.synthetic(V, 500)
    assert all(map(np.array_equal, examples.columns["target"], again.columns["target"]))


def test_batches_keep_to_the_budget_and_go_on_after_an_epoch():
    examples = rounds.synthetic(V, 40)
    batches = rounds.update_batches(examples, 256, 20)
    assert len(batches) == 20
    assert all(batch[name].numel() <= 256 for batch in batches for name in ("src", "tgt_in"))


@pytest.mark.parametrize("parts", [1, 2, 4, 9])
def test_split_rows_are_the_batch(parts):
    batch = some_batch(vocabulary=V)  # 6 rows
    split = rounds.split_rows(batch, parts)
    assert len(split) == min(parts, 6)
    for name, value in batch.items():
        assert torch.equal(torch.cat([part[name] for part in split]), value)


def test_files_are_cut_by_a_vocabulary_of_their_own(tmp_path):
    (tmp_path / "a").write_text("a dog runs\na cat sleeps\n" * 20)
    (tmp_path / "b").write_text("ein hund rennt\neine katze\n" * 20)
    examples = bench.from_files(str(tmp_path / "a"), str(tmp_path / "b"), 280)
    assert len(examples) == 40
    assert examples.vocabulary == 280
    assert examples.columns["source"][0][-1] == EOS


def test_overlong_pairs_are_left_out_and_counted(capsys):
    short, long = np.array([5, EOS]), np.full(rounds.MAX_LENGTH + 1, EOS)
    assert len(rounds.Pairs([short, short], [short, long], V)) == 1
    assert capsys.readouterr().err == "left out 1 pairs of more than 256 tokens\n"
    with pytest.raises(rounds.DataError, match="none of 1 pairs has at most 256 tokens"):
        rounds.Pairs([long], [short], V)


def test_ratio_by_hand():
    assert rounds.ratio([3.0, 2.0, 4.0], [2.0, 1.0, 4.0]) == {
        "of_medians": 1.5,
        "of_rounds": [1.5, 2.0, 1.0],
        "least": 1.0,
        "greatest": 2.0,
    }


class Counting:
    """A contestant that leaves words out, if told so."""

    def __init__(self, missing=0, value=1.0):
        self.missing, self.value, self.numbers = missing, value, []

    def loss(self, batch):
        return self.value

    def update(self, batch, number):
        self.numbers.append(number)
        return int(batch["tgt_valid"].sum()) - self.missing


def test_less_work_is_refused():
    with pytest.raises(RuntimeError, match="not the same work: 29 tokens instead of 30"):
        rounds.speed(Counting(missing=1), [some_batch()], 1, threads=1)


def test_another_model_is_refused():
    with pytest.raises(RuntimeError, match="not the same model"):
        rounds.check_same_model({"a": Counting(value=1.0), "b": Counting(value=1.01)}, some_batch())


def test_every_round_has_new_batches_for_all(monkeypatch):
    monkeypatch.setattr(rounds, "matmul_rate", lambda threads: 1e9)
    contestants = {"a": Counting(), "b": Counting()}
    batches = [some_batch(seed) for seed in range(6)]
    speeds, rates = rounds.run_rounds(contestants, batches, rounds=3, threads=1)
    assert rates == [1e9] * 3
    assert [len(values) for values in speeds.values()] == [3, 3]
    for contestant in contestants.values():
        assert contestant.numbers == [1, 2, *range(3, 9)]


def test_the_program_ends_with_one_line_of_json(monkeypatch, capsys):
    smaller = bench.Setting("tiny, recipe", 16, 24, 2, 1, 300, 64, updates=1)
    monkeypatch.setitem(bench.SIZES, "tiny", (TOY, smaller))
    monkeypatch.setattr(rounds, "matmul_rate", partial(rounds.matmul_rate, seconds=0.01, size=64))
    assert bench.main(["--rounds", "2", "--threads", "1"]) == 0
    output = capsys.readouterr()
    (line,) = output.out.splitlines()
    result = json.loads(line)
    assert result["name"] == "train_speed"
    first, second = result["results"]
    assert result["ratios"] == {
        "headway/huggingface": first["headway/huggingface"]["of_medians"],
        "headway/huggingface (tiny, recipe)": second["headway/huggingface"]["of_medians"],
    }
    assert [len(v) for v in first["tokens_per_second"].values()] == [2, 2, 2]
    assert first["share_of_matmul_rate"]["headway"] > 0
    assert planned_figures("train_speed", result).keys() == {"tiny", "recipe"}
    assert planned_figures("train_speed_base", result).keys() == {"base"}
    assert "round 2/2" in output.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--source", "x"], "--source and --target go together; give both or neither"),
        (["--rounds", "0"], "--rounds is 0; expected 1 or more"),
    ],
)
def test_wrong_usage(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stop:
        bench.main(arguments)
    assert stop.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_missing_file_is_one_line(capsys, tmp_path):
    assert bench.main(["--source", str(tmp_path / "no"), "--target", str(tmp_path / "no")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: no file ")
