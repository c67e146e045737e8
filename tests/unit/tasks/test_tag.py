"""The task `tag`: labels at first tokens, loss, well-formed predictions, validation."""

import math

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.prepare import prepare
from headway.errors import ConfigError, DataError
from headway.models import FAMILIES
from headway.models.ensemble import Ensemble
from headway.run_config import RunConfig
from headway.search import SearchConfig
from headway.tasks import TASKS
from headway.tasks.tag import IGNORED, Tag

ROWS = [("Ann saw Bob", "I-X O I-X"), ("Ann Bob sat", "I-X B-X O"), ("it sat", "O O")]
WORDS = ("Ann", "Bob", "saw", "sat", "it")
DATA = DataConfig(train="a.tsv")


class ByToken(torch.nn.Module):
    """Each token has a tag, with logit 2."""

    def __init__(self, tags):
        super().__init__()
        self.rows = torch.nn.Parameter(torch.zeros(400, 3))
        for token, tag in tags.items():
            self.rows.data[token, tag] = 2.0

    def token_logits(self, batch):
        return self.rows[batch["src"]]


def made(folder, text=None, rows=ROWS, **settings):
    task = Tag().fit_codecs(lambda: iter(rows), text or TextConfig(kind="words"))
    lines = "".join("\t".join(row) + "\n" for row in rows)
    (folder / "a.tsv").write_text(lines, "utf-8")
    corpus = Corpus(file="a.tsv")
    return task, prepare([corpus], task.codecs, folder / "s", root=folder, rules=task, **settings)


@pytest.fixture
def model(tmp_path):
    """Tells people by B-X and all else by O."""
    task, _ = made(tmp_path)
    ids = {word: task.codec.encode_batch([word])[0][0] for word in WORDS}
    return ByToken({**dict.fromkeys(ids.values(), 0), ids["Ann"]: 1, ids["Bob"]: 1})


def test_codecs_are_saved_and_loaded(tmp_path):
    task, _ = made(tmp_path)
    task.save_codecs(tmp_path)
    loaded = Tag().load_codecs(tmp_path)
    assert (loaded.tags.tags, loaded.tags.scheme) == (("O", "B-X", "I-X"), "iob1")
    for column, codec in task.codecs.items():
        assert loaded.codecs[column].fingerprint() == codec.fingerprint()
    assert task.describe()["scheme"] == "iob1"
    adopted = Tag().adopt_codecs(tmp_path, lambda: iter([("a b", "B-Z O")]))
    assert (adopted.tags.scheme, adopted.tags.tags) == ("bio", ("O", "B-Z", "I-Z"))
    assert adopted.codec.fingerprint() == task.codec.fingerprint()


def test_only_the_first_token_of_a_word_has_a_label(tmp_path):
    task, prepared = made(tmp_path, TextConfig(kind="characters"))
    batch = task.batch(prepared.store, np.array([2, 0]))
    #       i  t  _  s  a  t  end: a space goes with the word after it
    expected = [0, IGNORED, 0, IGNORED, IGNORED, IGNORED, IGNORED]
    assert batch["label"][0].tolist() == expected + [IGNORED] * 5
    assert batch["label"][1].tolist() == [1, *[IGNORED] * 2, 0, *[IGNORED] * 3, 1, *[IGNORED] * 4]
    assert batch["src_valid"].sum(1).tolist() == [7, 12]
    assert task.objective(None, 0.0).counts(batch) == {"loss": 5}


def test_labels_follow_their_words_through_other_segmentations(tmp_path):
    rows = [("abab abba ba", "I-X O I-X"), ("ba abab", "O I-X")]
    task, prepared = made(tmp_path, TextConfig(dropout=0.5), rows)
    for epoch in range(4):
        batch = task.batch(prepared.store, np.array([0, 1]), (1, epoch))
        labels = [row[row != IGNORED].tolist() for row in batch["label"]]
        assert labels == [[1, 0, 1], [0, 1]]


def test_the_loss_is_a_sum_over_words(tmp_path, model):
    task, prepared = made(tmp_path)
    batch = task.batch(prepared.store, np.arange(3))
    objective = task.objective(model, 0.1).eval()
    assert objective.counts(batch) == {"loss": 8}
    assert objective.tokens(batch) == 8 + 3
    right = math.log(1 + 2 * math.exp(-2))  # all are, inside it is B-X always
    assert objective(batch)["loss"].item() == pytest.approx(8 * right, rel=1e-6)
    smoothed = objective.train()(batch)["loss"].item()
    assert smoothed == pytest.approx(8 * (right + 0.1 * 2 * 2 / 3), rel=1e-6)


def test_probabilities_keep_the_order(tmp_path, model):
    task, _ = made(tmp_path)
    sentences = task.words.encode_batch(["it", "Ann saw Bob it", "Bob"])
    probabilities = task.probabilities(model, sentences)
    assert [values.shape for values in probabilities] == [(1, 3), (4, 3), (1, 3)]
    for words, values in zip(sentences, probabilities, strict=True):
        np.testing.assert_allclose(task.probabilities(model, [words])[0], values, rtol=1e-6)
    assert task.tags.tags_of(task.best(probabilities[1])) == ["I-X", "O", "I-X", "O"]
    both = task.probabilities(Ensemble([model, ByToken({})]), sentences)
    np.testing.assert_allclose(both[1], (probabilities[1] + 1 / 3) / 2, rtol=1e-6)


def test_what_is_predicted_is_well_formed(tmp_path):
    task, _ = made(tmp_path)
    probabilities = np.array([[0.4, 0.05, 0.55], [0.1, 0.3, 0.6]])  # I-X begins nothing
    assert task.best(probabilities).tolist() == [0, 1]
    assert task.best(np.array([[0.2, 0.2, 0.6], [0.1, 0.1, 0.8]])).tolist() == [1, 2]


def test_a_validation_counts_entities(tmp_path, model):
    task, prepared = made(tmp_path)
    validator = task.validator(prepared.store, DATA, "entity_f1", 500, SearchConfig())
    validation = validator(task.objective(model, 0.0))
    assert validation.figures["entity_f1"] == validation.figures["accuracy"] == 100.0
    assert validation.samples[1] == ("Ann Bob sat", "I-X B-X O", "I-X B-X O")
    worse = validator(task.objective(ByToken(dict.fromkeys(range(400), 0)), 0.0))
    assert (worse.figures["entity_f1"], worse.figures["accuracy"]) == (0.0, 50.0)
    assert validator.goodness(validation) > validator.goodness(worse)


def test_plain_tags_have_the_f1_of_words(tmp_path):
    task, _ = made(tmp_path, rows=[("the cat", "DT NN"), ("sat", "VB")])
    for metric in ("entity_f1", "strict_f1", "accuracy"):
        score = task.judge(metric, [["DT", "VB"], ["VB"]], [["DT", "NN"], ["VB"]])
        assert score.value == pytest.approx(200 / 3)


def test_words_and_tags_have_the_same_number(tmp_path):
    with pytest.raises(DataError) as error:
        made(tmp_path, rows=[*ROWS, ("Ann saw it", "I-X O")])
    assert str(error.value) == "a.tsv:4: 3 words and 2 tags; expected a tag for each word"


def test_tags_that_training_does_not_have(tmp_path):
    task, _ = made(tmp_path)
    (tmp_path / "b.tsv").write_text("Ann sat\tI-X O\nit sat\tO I-XY\n", "utf-8")
    with pytest.raises(DataError) as error:
        prepare([Corpus(file="b.tsv")], task.codecs, tmp_path / "s", root=tmp_path, rules=task)
    assert str(error.value) == (
        "b.tsv:2: the training data have no tag 'I-XY'; did you mean 'I-X'?"
    )


def test_metrics_it_does_not_have(tmp_path):
    task, _ = made(tmp_path)
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'tag'; expected one of ent"):
        task.judge("bleu", [["O"]], [["O"]])


def test_the_families_that_fit():
    able = {name for name, family in FAMILIES.items() if TASKS["tag"]().fits(family)}
    assert able == {"encoder", "recurrent_encoder", "unilm"}
    assert RunConfig(DATA, task="tag").model.family == "encoder"


def test_a_mistyped_tag_is_shown_in_its_sentence(tmp_path):
    rows = [*ROWS * 20, ("he said that Ann saw Bob there", "O O O PER O I-X O")]
    with pytest.raises(DataError) as error:
        made(tmp_path, rows=rows)
    assert str(error.value).startswith("1 of 167 words of the training data have a tag other than")
    assert str(error.value).endswith(" ('PER' is in: he said that Ann saw Bob there)")
    task, _ = made(tmp_path)
    with pytest.raises(DataError, match=r"\('PER' is in: he said that Ann saw Bob there\)$"):
        task.with_classes_of(lambda: iter(rows))


def test_the_number_of_tags_and_their_scheme_are_noted(tmp_path):
    task, prepared = made(tmp_path)
    assert task.remarks(prepared.store) == ["3 tags, iob1"]
