"""Language models from the run file to scores, learned and counted."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import pytest
import torch
from annotated_types import Gt

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, DataError
from headway.inspection.report import write_report
from headway.inspection.run_info import info
from headway.models import FAMILIES, Family
from headway.models.decoder import DecoderConfig
from headway.nn.decoding import DecoderState, RecurrentCache
from headway.runs import RunDir
from headway.search import SearchConfig
from headway.training.config import TrainConfig

SMALL = DecoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.0)
LINES = ["abab", "baba", "aabb", "abba", "bbaa", "b", "a"]
RUNNING = "\n".join(LINES * 3) + "\n"
DOCUMENTS = ["abab\nbaba", "a", "aabb\nabba bbaa\nbabababa", "bb"]
STEPS = TrainConfig(steps=4, evaluate_every=2, batch_tokens=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("language")
    (folder / "lines.txt").write_text("\n".join(LINES) + "\n\n", "utf-8")
    (folder / "book.txt").write_text(RUNNING, "utf-8")
    (folder / "documents.txt").write_text("\n\n".join(DOCUMENTS) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        yield folder


def config_of(folder, form="lines", **changes):
    name = {"lines": "lines.txt", "text": "book.txt", "documents": "documents.txt"}[form]
    data = DataConfig(
        train=Corpus(file=name, format=form),
        valid=Corpus(file=name, format=form),
        root=str(folder),
        block=8,
    )
    given = {"text": TextConfig(kind="characters"), "model": SMALL, "train": STEPS, **changes}
    return api.RunConfig(data=data, task="language", **given)


@pytest.fixture(scope="module")
def by_lines(folder):
    return api.train(config_of(folder), folder / "lines")


@pytest.fixture(scope="module")
def by_blocks(folder):
    return api.train(config_of(folder, "text"), folder / "blocks")


# Run files


def test_a_run_file_without_a_model_gets_one_that_fits(folder):
    assert config_of(folder, model=None).model == DecoderConfig()
    assert api.RunConfig(data=DataConfig(train="a.tsv")).model.family == "transformer"


@pytest.mark.parametrize(
    ("task", "family", "words"),
    [
        (
            "language",
            "transformer",
            "task = 'language' needs a model without a source that can score, step; "
            "model.family = 'transformer' does not fit, use one of decoder",
        ),
        (
            "translate",
            "decoder",
            "task = 'translate' needs a model with a source that can score, step; "
            "model.family = 'decoder' does not fit, use one of transformer",
        ),
    ],
)
def test_a_family_that_does_not_fit_the_task_is_refused(task, family, words):
    with pytest.raises(ValueError) as caught:
        api.RunConfig(data=DataConfig(train="a.txt"), task=task, model=FAMILIES[family].config())
    assert str(caught.value).startswith(words)


def test_settings_that_have_no_meaning(folder):
    with pytest.raises(ValueError, match=r"train\.metric = 'bleu': expected one of auto, loss, p"):
        config_of(folder, train=TrainConfig(metric="bleu"))
    with pytest.raises(
        ValueError, match=r'text\.dropout = 0\.1 has no meaning for format = "text"'
    ):
        config_of(folder, "text", text=TextConfig(dropout=0.1))
    with pytest.raises(ValueError, match='no meaning for format = "documents"'):
        config_of(folder, "documents", text=TextConfig(dropout=0.1))
    short = replace(SMALL, positions="learned", max_positions=100)
    both = r"256 tokens that data\.max_length and search\.max_length allow; raise it to 256"
    with pytest.raises(ValueError, match=both):
        config_of(folder, model=short)
    few = SearchConfig(max_length=100)
    with pytest.raises(ValueError, match=r"256 tokens that data\.max_length allows; lower that$"):
        config_of(folder, model=short, search=few, init="begun")
    running = config_of(folder, "text", model=short, search=few)  # learned from in blocks
    with pytest.raises(ValueError, match=r"the 101 tokens that data\.block allows"):
        replace(running, data=replace(running.data, block=101))


def test_labels_are_smoothed_in_translation_only(by_lines):
    assert by_lines.config.train.label_smoothing == 0.0


# Learned


def test_load_gives_a_language_model(by_lines, folder):
    assert isinstance(by_lines, api.LanguageModel)
    again = api.load(folder / "lines")
    assert isinstance(again, api.LanguageModel)
    assert again.score(["ab"]) == by_lines.score(["ab"])
    assert (by_lines.window, again.n_parameters) == (
        256,
        sum(p.numel() for p in by_lines.model.parameters()),
    )


def test_a_score_is_the_sum_over_tokens_and_the_end(by_lines):
    ids = by_lines.task.codec.encode_batch(["ab"])[0].tolist()
    with torch.inference_mode():
        logits = by_lines.model.output(by_lines.model({"tgt_in": torch.tensor([[1, *ids[:-1]]])}))
    expected = logits[0].log_softmax(-1)[torch.arange(3), torch.tensor(ids)]
    [scored] = by_lines.score(["ab"])
    assert scored.token_log_probs == pytest.approx(expected.tolist(), abs=1e-5)
    assert scored.log_prob == pytest.approx(expected.sum().item(), abs=1e-5)
    assert scored.tokens == ["a", "b", "⟨eos⟩"]


def test_texts_of_any_length_are_scored_in_order(by_blocks):
    texts = ["", "a" * 50, "b", "ab\nba"]
    together = by_blocks.score(texts)
    assert [len(scored.tokens) for scored in together] == [1, 51, 2, 6]
    for text, scored in zip(texts, together, strict=True):
        assert by_blocks.score([text])[0].log_prob == pytest.approx(scored.log_prob, abs=1e-4)


def test_evaluation_is_what_the_scores_say(by_lines):
    total = -sum(scored.log_prob for scored in by_lines.score(LINES))
    n = sum(len(line) + 1 for line in LINES)
    found = by_lines.evaluate([*LINES, "", "  "])
    assert (found.n_texts, found.n_tokens, found.n_unknown) == (len(LINES), n, 0)
    values = {name: score.value for name, score in found.scores.items()}
    assert values["loss"] == pytest.approx(total / n, rel=1e-5)
    assert values["perplexity"] == pytest.approx(math.exp(total / n), rel=1e-5)
    assert values["bits_per_character"] == pytest.approx(total / n / math.log(2), rel=1e-5)
    assert values["bits_per_byte"] == values["bits_per_character"]
    assert values["word_perplexity"] == pytest.approx(math.exp(total / len(LINES)), rel=1e-5)
    for score in found.scores.values():
        assert score.low < score.value < score.high


def test_bytes_are_not_characters_and_unknowns_are_counted(by_lines):
    found = by_lines.evaluate(["äb", "aß"], resamples=0)
    assert found.n_unknown == 2
    bits = found.scores["bits_per_character"], found.scores["bits_per_byte"]
    assert bits[0].value == pytest.approx(bits[1].value * 8 / 6)
    assert bits[0].low is None


def test_validation_in_training_and_evaluation_agree(by_blocks, folder):
    logged = RunDir.open(folder / "blocks").log.read()
    [last] = [record for record in logged if record.get("step") == 4 and "valid_loss" in record]
    found = by_blocks.evaluate([RUNNING])
    assert found.scores["loss"].value == pytest.approx(last["valid_loss"], rel=1e-5)
    assert (found.n_texts, found.n_tokens) == (1, len(RUNNING) + 1)
    assert found.scores["loss"].low < found.scores["loss"].value  # over the windows of one text


def test_documents_are_learned_from_in_blocks_and_scored_one_by_one(folder):
    model = api.train(config_of(folder, "documents"), folder / "documents")
    assert model.window == 8
    records = RunDir.open(folder / "documents").log.read()
    assert records[0]["examples"] == {"train": 2 + 1 + 3 + 1, "valid": 7}
    [last] = [record for record in records if record.get("step") == 4 and "valid_loss" in record]
    found = model.evaluate(DOCUMENTS)
    assert (found.n_texts, found.n_tokens) == (4, sum(len(text) + 1 for text in DOCUMENTS))
    assert found.scores["loss"].value == pytest.approx(last["valid_loss"], rel=1e-5)
    # Nothing of one document is known while another is scored.
    alone = [model.score([text])[0].log_prob for text in DOCUMENTS]
    assert -sum(alone) / found.n_tokens == pytest.approx(last["valid_loss"], rel=1e-5)


def test_words_and_bytes_are_the_same_measure_for_every_tokenizer(folder):
    texts = ["abab baba", "ab\nab a", "äb"]
    for kind in ("bytes", "characters", "bpe"):
        text = TextConfig(kind=kind)
        model = api.train(config_of(folder, text=text), folder / f"measured-{kind}")
        nats = -sum(scored.log_prob for scored in model.score(texts))
        found = {name: score.value for name, score in model.evaluate(texts).scores.items()}
        n_bytes, n_words = (9 + 1) + (7 + 1) + (3 + 1), 2 + 3 + 1
        assert found["bits_per_byte"] == pytest.approx(nats / math.log(2) / n_bytes, rel=1e-5)
        assert found["word_perplexity"] == pytest.approx(math.exp(nats / n_words), rel=1e-5)
        n_tokens = sum(len(scored.tokens) for scored in model.score(texts))
        assert found["perplexity"] == pytest.approx(math.exp(nats / n_tokens), rel=1e-5)


def test_words_are_counted_where_white_space_tells_them(by_lines):
    assert "word_perplexity" not in by_lines.evaluate(["a" * 60]).scores
    assert list(by_lines.evaluate(["a" * 60], ["word_perplexity"]).scores) == ["word_perplexity"]


def test_what_cannot_be_evaluated(by_lines):
    with pytest.raises(DataError, match="no text to evaluate: all of it is blank"):
        by_lines.evaluate(["", " \n"])
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'language'; expected one of"):
        by_lines.evaluate(["a"], ["bleu"])


def test_an_ensemble_is_the_mean_of_probabilities(by_lines, folder):
    api.train(config_of(folder, seed=2), folder / "other")
    both = api.load(folder / "lines", folder / "other")
    assert isinstance(both, api.LanguageModel)
    one, other = by_lines.score(["ab"])[0], api.load(folder / "other").score(["ab"])[0]
    for mean, p, q in zip(
        both.score(["ab"])[0].token_log_probs,
        one.token_log_probs,
        other.token_log_probs,
        strict=True,
    ):
        assert math.exp(mean) == pytest.approx((math.exp(p) + math.exp(q)) / 2, abs=1e-5)


def test_init_starts_from_a_run_of_the_same_task(by_lines, folder):
    begun = api.train(
        config_of(folder, "text", model=None, text=TextConfig(), init=str(folder / "lines")),
        folder / "begun",
    )
    assert begun.config.model == by_lines.config.model
    assert begun.task.codec.fingerprint() == by_lines.task.codec.fingerprint()
    pairs = DataConfig(train="pairs.tsv", root=str(folder))
    with pytest.raises(ConfigError, match=r"task = 'translate' needs a model with a source"):
        api.train(api.RunConfig(data=pairs, init=str(folder / "lines")), folder / "no")


def test_a_resumed_run_has_nothing_left_to_do(by_blocks, folder):
    before, _ = RunDir.open(folder / "blocks").load_weights()
    api.resume(folder / "blocks")
    after, _ = RunDir.open(folder / "blocks").load_weights()
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_its_report_shows_continuations(by_blocks, folder):
    page = write_report(folder / "blocks", by_blocks).read_text("utf-8")
    assert "headway generate" in page
    assert "headway translate" not in page
    assert "Perplexity" in page
    assert info(RunDir.open(folder / "blocks"))["best"]["metric"] == "loss"


# Counted


@dataclass(frozen=True)
class FrequencyConfig:
    """How often each token comes, whatever stood before it."""

    family: Literal["frequency"] = "frequency"
    add: Annotated[float, Gt(0)] = 1.0

    def resolve(self, n_examples, vocabularies):
        return self


class Frequency(torch.nn.Module):
    def __init__(self, config, vocabularies):
        super().__init__()
        self.register_buffer("log_p", torch.empty(0))

    def log_probs(self, tokens, targets):
        return self.log_p[targets]

    def start(self, batch, prefix=None):
        rows = next(iter(batch.values())).size(0)
        return DecoderState({}, {"nothing": RecurrentCache(torch.zeros(rows, 1))})

    def step(self, tokens, state):
        shape = (*tokens.shape[:2], len(self.log_p))
        return self.log_p.expand(shape).clone(), state.successor(state.cache)


def count(config, vocabularies, sequences):
    if config.add == 13:
        raise ValueError("add = 13 brings bad luck; take another number")
    counts = torch.full((vocabularies.target,), config.add, dtype=torch.float64)
    for _ in range(2):  # it can be gone through again
        n = sum(len(sequence) for sequence in sequences)
    for sequence in sequences:
        for token in sequence.tolist():
            counts[token] += 1
    assert counts.sum() == pytest.approx(n + config.add * vocabularies.target)
    model = Frequency(config, vocabularies)
    model.log_p = (counts / counts.sum()).log().float()
    return model


@pytest.fixture
def counting(monkeypatch):
    family = Family(
        "frequency",
        FrequencyConfig,
        Frequency,
        frozenset({"step", "score"}),
        learns="counting",
        source="none",
        count=count,
    )
    monkeypatch.setitem(FAMILIES, "frequency", family)


def counted_config(folder, form="lines", **changes):
    given = {"model": FrequencyConfig(), "train": TrainConfig(), **changes}
    return config_of(folder, form, **given)


@pytest.mark.parametrize("form", ["lines", "text", "documents"])
def test_a_counted_run_is_saved_loaded_scored_and_searched(folder, counting, form, tmp_path):
    model = api.train(counted_config(folder, form), tmp_path / "run")
    texts = {"lines": LINES, "text": [RUNNING], "documents": DOCUMENTS}[form]
    # Each text has an end mark; the line breaks in it are characters.
    n_tokens, size = sum(len(text) + 1 for text in texts), model.task.vocabularies.target
    a = ("".join(texts).count("a") + 1) / (n_tokens + size)
    [scored] = model.score(["a"])
    assert scored.token_log_probs[0] == pytest.approx(math.log(a), rel=1e-5)
    assert model.weights_info == {"rule": "counted", "step": "0"}
    assert model.n_parameters == size
    records = RunDir.open(tmp_path / "run").log.read()
    assert records[-1] == {"step": 0, "finished": True}
    [judged] = [record for record in records if "valid_loss" in record]
    evaluated = model.evaluate(texts).scores["loss"]
    assert judged["valid_loss"] == pytest.approx(evaluated.value, rel=1e-5)
    assert len(judged["samples"]) == 3
    facts = info(RunDir.open(tmp_path / "run"))
    assert facts["steps"]["finished"]
    assert (facts["steps"]["done"], facts["steps"]["planned"]) == (0, 0)
    assert (tmp_path / "run" / "report.html").exists()


def test_a_counted_run_needs_no_validation_data(folder, counting, tmp_path):
    config = counted_config(folder)
    config = replace(config, data=replace(config.data, valid=None))
    api.train(config, tmp_path / "run")
    assert RunDir.open(tmp_path / "run").log.read()[-1]["finished"]


def test_resuming_counts_again_only_what_was_not_finished(folder, counting, tmp_path, monkeypatch):
    api.train(counted_config(folder), tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    expected, _ = run.load_weights()
    calls = []

    def counted(*given):
        calls.append(1)
        return count(*given)

    monkeypatch.setitem(FAMILIES, "frequency", replace(FAMILIES["frequency"], count=counted))
    api.resume(tmp_path / "run")
    assert calls == []
    lines = (tmp_path / "run" / "log.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "run" / "log.jsonl").write_text("".join(lines[:-1]), "utf-8")
    (tmp_path / "run" / "model.safetensors").unlink()
    api.resume(tmp_path / "run")
    assert calls == [1]
    again, _ = run.load_weights()
    assert torch.equal(again["log_p"], expected["log_p"])
    assert sum("valid_loss" in record for record in run.log.read()) == 1


def test_what_counting_has_no_use_for_is_said(folder, counting, tmp_path):
    settings = TrainConfig(lr=0.1, minutes=3, metric="perplexity")
    config = counted_config(folder, train=settings, text=TextConfig(dropout=0.1))
    twice = replace(config.data, train=Corpus(file="lines.txt", weight=2.0))
    api.train(replace(config, data=twice), tmp_path / "run")
    notes = [r["notes"] for r in RunDir.open(tmp_path / "run").log.read() if "notes" in r]
    unused = "train.minutes, train.lr, data.train.weight, text.dropout"
    expected = f"{unused} not used: frequency learns by counting"
    assert expected in notes[0]["Settings"]


def test_counting_that_cannot_be_done_leaves_nothing_behind(folder, counting, tmp_path, by_lines):
    with pytest.raises(ConfigError, match="model: add = 13 brings bad luck"):
        api.train(counted_config(folder, model=FrequencyConfig(add=13.0)), tmp_path / "run")
    config = counted_config(folder, init=str(folder / "lines"))
    with pytest.raises(ConfigError, match="which counts from scratch; leave it out"):
        api.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
