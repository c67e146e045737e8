"""The task `language`: batches, losses, validation over whole texts, continuations."""

import math

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.prepare import prepare
from headway.models import FAMILIES
from headway.models.decoder import DecoderConfig
from headway.models.ensemble import Ensemble
from headway.nn.decoding import DecoderState, RecurrentCache
from headway.search import SearchConfig
from headway.tasks import TASKS
from headway.tasks.language_model import Language, window_size
from headway.tasks.losses import CountedLoss, SequenceLoss, forced_log_probs
from headway.text import BOS, EOS

TEXT = "abba ab\nbaab aba\n"
GREEDY = SearchConfig(beam=1)


class Repeating(torch.nn.Module):
    """Like a counting model: each token repeats with probability 0.5."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("rows", torch.full((size, size), math.log(0.5 / (size - 1))))
        self.rows.fill_diagonal_(math.log(0.5))

    def log_probs(self, tokens, targets):
        return self.rows[tokens].gather(2, targets[..., None]).squeeze(2)

    def start(self, batch, prefix=None):
        rows = next(iter(batch.values())).size(0)
        return DecoderState({}, {"empty": RecurrentCache(torch.zeros(rows, 1))})

    def step(self, tokens, state):
        return self.rows[tokens[:, :, -1]], state.successor(state.cache)


@pytest.fixture
def task():
    return Language().fit_codecs(lambda: iter([(TEXT,)]), TextConfig(kind="characters"))


@pytest.fixture
def store(task, tmp_path):
    """One running text in blocks of 4: 17 characters and the end."""
    (tmp_path / "a.txt").write_text(TEXT, "utf-8")
    corpus = Corpus(file="a.txt", format="text")
    return prepare([corpus], task.codecs, tmp_path / "stores", root=tmp_path, block=4).store


def decoder(task, **settings):
    small = {"d_model": 8, "d_ff": 8, "n_heads": 2, "layers": 1, **settings}
    config = DecoderConfig(**small).resolve(1, task.vocabularies)
    torch.manual_seed(0)
    return FAMILIES["decoder"].build(config, task.vocabularies)


def data(**settings):
    return DataConfig(train=Corpus(file="a.txt", format="text"), block=4, **settings)


def test_it_stands_in_the_table_and_takes_models_without_a_source():
    assert TASKS["language"] is Language
    able = [name for name, family in FAMILIES.items() if Language().fits(family)]
    assert able == ["decoder", "recurrent_decoder", "markov", "unilm"]


def test_codecs_are_kept(task, tmp_path):
    task.save_codecs(tmp_path)
    again = Language().load_codecs(tmp_path)
    assert again.codec.fingerprint() == task.codec.fingerprint()
    assert task.describe() == {"kind": "characters", "source": 8, "target": 8, "shared": True}


def test_every_example_is_predicted_from_the_begin_mark(task, store):
    batch = task.batch(store, np.array([1, 4]))
    ids = task.codec.tokenizer.encode
    first, last = ids(" ab\n"), [*ids("\n"), EOS]
    assert batch["tgt_out"].tolist() == [first, [*last, 0, 0]]
    assert batch["tgt_in"].tolist() == [[BOS, *first[:3]], [BOS, last[0], 0, 0]]
    assert batch["tgt_valid"].tolist() == [[True] * 4, [True, True, False, False]]


def test_bpe_dropout_is_drawn_anew_for_each_epoch(tmp_path):
    lines = ["low lower lowest newer newest wider widest"] * 4
    task = Language().fit_codecs(
        lambda: iter([(t,) for t in lines]), TextConfig(size=275, dropout=0.5)
    )
    (tmp_path / "a.txt").write_text("\n".join(lines), "utf-8")
    store = prepare([Corpus(file="a.txt")], task.codecs, tmp_path / "s", root=tmp_path).store
    drawn = [task.batch(store, np.arange(4), draw)["tgt_out"] for draw in ((1, 0), (1, 0), (1, 1))]
    assert torch.equal(drawn[0], drawn[1])
    assert drawn[0].shape != drawn[2].shape or not torch.equal(drawn[0], drawn[2])
    for row in drawn[2]:
        assert task.codec.decode(row.tolist()) == lines[0]


def test_the_loss_of_a_counted_model_is_its_log_probabilities(task, store):
    objective = task.objective(Repeating(8), 0.0)
    assert isinstance(objective, CountedLoss)
    batch = task.batch(store, np.array([0]))  # abba: of four steps one repeats
    assert objective.counts(batch) == {"loss": 4}
    expected = -(math.log(0.5) + 3 * math.log(0.5 / 7))
    assert objective(batch)["loss"].item() == pytest.approx(expected, rel=1e-6)
    assert isinstance(task.objective(decoder(task), 0.1), SequenceLoss)


def test_forced_scores_are_the_same_in_one_pass_and_step_by_step(task, store):
    for model in (decoder(task).eval(), Repeating(8)):
        batch = task.batch(store, np.array([0, 1, 4]))
        batch["tgt_valid"][1, :2] = False  # context, which an ensemble must see as well
        at_once = forced_log_probs(model, batch, BOS)
        stepped = forced_log_probs(Ensemble([model]), batch, BOS)
        assert at_once.shape == (4 + 2 + 2,)
        torch.testing.assert_close(stepped, at_once, rtol=1e-4, atol=1e-5)


def test_validation_scores_every_token_of_the_text_once(task, store):
    judge = task.validator(store, data(), "loss", 500, GREEDY)
    model = Repeating(8)
    validation = judge(task.objective(model, 0.0))
    ids = [*task.codec.tokenizer.encode(TEXT), EOS]
    # Windows begin anew after the begin mark, but what they score has its own past.
    steps = zip([BOS, *ids], ids, strict=False)
    repeats = sum(before == after for before, after in steps)
    expected = -(repeats * math.log(0.5) + (18 - repeats) * math.log(0.5 / 7)) / 18
    assert validation.figures["valid_loss"] == pytest.approx(expected, rel=1e-6)
    assert validation.figures["perplexity"] == pytest.approx(math.exp(expected), rel=1e-6)
    assert judge.goodness(validation) == -validation.figures["valid_loss"]


def test_the_context_of_a_window_is_the_half_before_it(task, store):
    judge = task.validator(store, data(), "perplexity", 500, GREEDY)
    model = decoder(task, dropout=0.0).eval()
    ids = np.array([*task.codec.tokenizer.encode(TEXT), EOS])
    total = 0.0
    for start, scored, stop in [(0, 0, 4), *((s - 2, s, s + 2) for s in range(4, 18, 2))]:
        inputs = torch.tensor([[BOS, *ids[start : stop - 1]]])
        logits = model.output(model({"tgt_in": inputs}))[0].log_softmax(-1)
        total -= sum(logits[i - start, ids[i]].item() for i in range(scored, stop))
    validation = judge(SequenceLoss(model, 0.1).train())
    assert validation.figures["valid_loss"] == pytest.approx(total / 18, rel=1e-5)
    assert judge.goodness(validation) == -validation.figures["perplexity"]


def test_samples_are_drawn_after_real_beginnings_and_always_the_same(task, store):
    judge = task.validator(store, data(), "loss", 500, GREEDY)
    objective = task.objective(Repeating(8), 0.0)
    first, second = judge(objective).samples, judge(objective).samples
    assert first == second
    assert [(source, truth) for source, _, truth in first] == [
        ("ab", "ba"),
        (" a", "b\n"),
        ("ba", "ab"),
    ]


def test_a_window_is_as_long_as_what_was_learned_from():
    running, lines = Corpus(file="a.txt", format="text"), "b.txt"
    sizes = {"block": 7, "max_length": 9}
    assert window_size(DataConfig(train=running, **sizes)) == 7
    assert window_size(DataConfig(train=lines, **sizes)) == 9
    assert window_size(DataConfig(train=[running, lines], **sizes)) == 9
    documents = Corpus(file="c.txt", format="documents")
    assert window_size(DataConfig(train=[running, documents], **sizes)) == 7


def test_whole_texts_are_what_is_counted(task, store):
    [text] = task.sequences(store)
    assert text.tolist() == [*task.codec.tokenizer.encode(TEXT), EOS]
