"""What a model did with a text: that it is true, complete, small enough, and refused in words."""

import math

import numpy as np
import pytest
import torch
from export_sources import SOURCES

import headway
from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError, DataError, RunError
from headway.inspection.serialize import unpacked
from headway.models.counting.bag_of_words import BagConfig
from headway.models.counting.markov import MarkovConfig
from headway.models.decoder import DecoderConfig
from headway.models.encoder import EncoderConfig
from headway.training.config import TrainConfig

TEXT = SOURCES[4]


# Outputs and search


def test_outputs_are_those_of_the_search(translator, inspected):
    [expected] = translator.translate([TEXT], n_best=3)
    assert inspected.search["n_best"] == inspected.search["beam"] == 3, (
        "as many as the beam is wide"
    )
    assert [one.output.text for one in inspected.outputs] == [o.text for o in expected.outputs]
    for one, other in zip(inspected.outputs, expected.outputs, strict=True):
        assert one.output.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        assert one.output.tokens == [*other.tokens, *(["⟨eos⟩"] if other.finished else [])]
        n = len(one.output.tokens)
        assert len(one.output.token_log_probs) == len(one.top) == n
        assert {part.weights.shape[1] for part in one.parts} == {n}


def test_words_at_the_top_have_the_probabilities_of_the_forced_pass(inspected):
    for one in inspected.outputs:
        written = zip(one.output.tokens, one.output.token_log_probs, one.top, strict=True)
        for token, log_prob, top in written:
            assert len(top) == 5
            chances = [chance for _, chance in top]
            assert chances == sorted(chances, reverse=True)
            if token in dict(top):
                assert dict(top)[token] == pytest.approx(math.exp(log_prob), rel=1e-3)
    best = inspected.outputs[0]
    assert [top[0][0] for top in best.top] == best.output.tokens, "the best output is the likeliest"


def test_the_trace_has_the_words_of_every_candidate(translator, inspected):
    [traced] = translator.translate([TEXT], trace=True, n_best=3)
    tokenizer = translator.task.target.tokenizer
    for step, right in zip(inspected.trace["steps"], traced.trace.to_dict()["steps"], strict=True):
        assert step == {**right, "text": tokenizer.tokens(right["token"])}


def test_samples_have_no_trace(translator):
    drawn = translator.inspect(TEXT, method="sample", n_best=2, seed=3)
    expected = translator.translate([TEXT], method="sample", n_best=2, seed=3)[0].outputs
    assert drawn.trace is None
    assert [one.output.text for one in drawn.outputs] == [output.text for output in expected]


def test_requests_keep_their_terms_and_beginnings(translator, tmp_path):
    asked = api.TranslationRequest(TEXT, require=["ten"], prefix="red ")
    best = translator.inspect(asked).outputs[0].output
    assert best.text.startswith("red ")
    assert "ten" in best.text or best.unmet == ["ten"]
    (tmp_path / "terms.tsv").write_text("red\tten\n")
    [termed] = translator.translate([TEXT], glossary=tmp_path / "terms.tsv")
    looked = translator.inspect(TEXT, glossary=tmp_path / "terms.tsv")
    assert looked.outputs[0].output.text == termed.text


def test_an_output_that_was_cut_off_has_no_end(translator):
    cut = translator.inspect(TEXT, max_length=2, n_best=1).outputs[0]
    assert not cut.output.finished
    assert "⟨eos⟩" not in cut.output.tokens
    assert len(cut.output.tokens) == len(cut.top) == cut.parts[0].weights.shape[1] == 2


# Attention


@pytest.mark.parametrize("name", ["pre", "post", "recurrent", "rotary", "values"])
def test_attention_belongs_to_its_hypothesis(folder, name):
    translator = headway.load(folder / name)
    found = translator.inspect(TEXT)
    assert len({tuple(one.output.tokens) for one in found.outputs}) > 1
    for one in found.outputs:
        if not one.output.finished:
            continue
        maps = translator.attention(TEXT, one.output.text).maps
        assert one.output.tokens == translator.attention(TEXT, one.output.text).target
        for part in [*found.encoder, *one.parts]:
            np.testing.assert_allclose(part.weights, maps[part.name], atol=1e-5)
        assert len(found.encoder) + len(one.parts) == len(maps)


def test_only_what_is_asked_for_is_looked_at(translator, inspected):
    second = translator.inspect(TEXT, outputs=[1])
    assert [one.parts is not None for one in second.outputs] == [False, True, False]
    data = second.to_dict()
    assert [one["attention"] is None for one in data["outputs"]] == [True, False, True]
    assert data["outputs"][0]["top"] == []
    assert data["outputs"][1]["attention"] == inspected.to_dict()["outputs"][1]["attention"]
    assert [part["name"] for part in data["encoder"]] == ["encoder.0.attention"]
    nothing = translator.inspect(TEXT, outputs=[]).to_dict()
    assert (nothing["encoder"], nothing["memory"], nothing["inputs"]) == ([], {}, None)


def test_maps_by_hand(inspected):
    layers = [part for part in inspected.outputs[1].parts if part.kind == "cross"]
    mean = inspected.map(output=1)
    assert mean.kind == "cross"
    expected = (layers[0].weights + layers[1].weights).mean(0) / 2
    np.testing.assert_allclose(mean.weights, expected, atol=1e-6)
    one = inspected.map("cross", layer=-1, head=0, output=1)
    np.testing.assert_array_equal(one.weights, layers[1].weights[0])
    assert one.rows == inspected.outputs[1].output.tokens
    assert one.columns == [*TEXT.split(), "⟨eos⟩"]
    inner = inspected.map("decoder")
    assert inner.columns == ["⟨bos⟩", *inner.rows[:-1]]
    assert inspected.map("encoder").rows == inspected.map("encoder").columns == one.columns


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": 2}, "no layer 2; there are 2: 0 to 1, or mean"),
        ({"head": -3}, "no head -3; there are 2: 0 to 1, or mean"),
        ({"output": 3}, "no output 3; there are 3, counted from 0"),
    ],
)
def test_maps_that_are_not_there(inspected, choice, message):
    with pytest.raises(ConfigError) as error:
        inspected.map("cross", **choice)
    assert str(error.value) == message


def test_a_run_without_attention(with_model):
    found = with_model("recurrent", d_model=8, attention="none").inspect(TEXT)
    data = found.to_dict()
    assert len(data["outputs"]) == 3
    assert data["outputs"][0]["top"]
    assert data["trace"]["steps"]
    assert data["encoder"] == data["outputs"][0]["attention"] == []
    assert (data["positions"], data["inputs"], data["memory"]) == (None, None, {})
    with pytest.raises(RunError) as error:
        found.map()
    assert str(error.value) == (
        "this model has no attention to look at; use a family that attends, such as transformer"
    )


def test_a_kind_that_a_model_does_not_have(with_model):
    found = with_model("convolutional", d_model=8).inspect(TEXT)
    with pytest.raises(RunError, match="no encoder attention to look at; it has cross"):
        found.map("encoder")


def test_weights_that_the_products_do_not_give_are_sent_themselves(with_model):
    """A family of the user's may mask in its own way."""
    other = with_model("transformer", d_model=8, d_ff=8, n_heads=2)

    class Window(torch.nn.Module):
        def __init__(self, attention):
            super().__init__()
            self.attention, self.out = attention, attention.out

        def forward(self, x, mask=None, bias=None):
            near = torch.eye(x.size(1), dtype=torch.bool)
            return self.attention(x, near)

    layer = other.model.encoder[0]
    layer.attention = Window(layer.attention)
    data = other.inspect(TEXT, n_best=1).to_dict()
    assert [part["form"] for part in data["encoder"]] == ["weights", "dot", "dot", "dot"]
    np.testing.assert_array_equal(unpacked(data["encoder"][0]["weights"])[0], np.eye(4))


# A target that is given


def test_a_target_is_forced(translator):
    target = "cat dog"
    found = translator.inspect(TEXT, target)
    [expected] = translator.score([TEXT], [target])
    [one] = found.outputs
    assert one.output.text == target
    assert one.output.tokens == expected.tokens
    assert one.output.log_prob == pytest.approx(expected.log_prob, abs=1e-4)
    assert one.output.score == pytest.approx(expected.log_prob / 3, abs=1e-4)
    assert one.output.token_log_probs == pytest.approx(expected.token_log_probs, abs=1e-4)
    assert (found.search, found.trace) == (None, None)


def test_an_empty_target_is_its_end(translator):
    [one] = translator.inspect(TEXT, "").outputs
    assert one.output.tokens == ["⟨eos⟩"]
    assert {part.weights.shape[1] for part in one.parts} == {1}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT, {"beam": 2}),
        (api.TranslationRequest(TEXT, prefix="red"), {}),
        (TEXT, {"glossary": "terms"}),
    ],
)
def test_a_target_is_not_searched_for(translator, text, options):
    with pytest.raises(ConfigError, match="a target that is given is not searched for"):
        translator.inspect(text, "cat", **options)


# What is refused, and edges


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_blank_texts(translator, text):
    with pytest.raises(DataError) as error:
        translator.inspect(text)
    assert str(error.value) == (
        "the text is blank, and there is nothing to look at; give some words"
    )


def test_texts_that_are_too_long(translator):
    with pytest.raises(DataError) as error:
        translator.inspect("dog " * 30)
    assert str(error.value) == (
        "the text has 31 tokens and the model was trained with at most 12; shorten it"
    )
    with pytest.raises(DataError, match="the target has 31 tokens"):
        translator.inspect(TEXT, "dog " * 30)


def test_ensembles(folder):
    both = headway.load(folder / "pre", folder / "post")
    with pytest.raises(ConfigError, match="looking inside takes one run, not an ensemble"):
        both.inspect(TEXT)


def test_settings_that_do_not_exist(translator):
    with pytest.raises(ConfigError, match="beams"):
        translator.inspect(TEXT, beams=3)


def test_one_word(translator):
    data = translator.inspect("dog").to_dict()
    assert data["source"] == {"text": "dog", "tokens": ["dog", "⟨eos⟩"]}
    assert data["encoder"][0]["query"]["shape"] == [2, 2, 8]


# Language models and classifiers


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A folder with a few runs of other tasks."""
    folder = tmp_path_factory.mktemp("inspected")
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in SOURCES))
    rows = [(line, "dog" if "dog" in line else "none") for line in SOURCES]
    (folder / "labels.tsv").write_text("".join(f"{t}\t{label}\n" for t, label in rows))
    sizes = {"d_model": 16, "d_ff": 16, "n_heads": 2, "layers": 2}
    runs = {
        "decoder": ("language", "lines.txt", DecoderConfig(**sizes)),
        "markov": ("language", "lines.txt", MarkovConfig(order=2)),
        "encoder": ("classify", "labels.tsv", EncoderConfig(**sizes)),
        "first": ("classify", "labels.tsv", EncoderConfig(**sizes, pooling="first")),
        "bag": ("classify", "labels.tsv", BagConfig()),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        for name, (task, file, model) in runs.items():
            config = api.RunConfig(
                task=task,
                data=DataConfig(train=file, root=str(folder), max_length=12),
                text=TextConfig(kind="words"),
                model=model,
                train=TrainConfig(steps=2, batch_tokens=64),
            )
            api.train(config, folder / name)
        yield folder


@pytest.mark.parametrize("name", ["decoder", "markov"])
def test_language_models(others, name):
    model = headway.load(others / name)
    found = model.inspect(TEXT)
    [expected] = model.score([TEXT])
    data = found.to_dict()
    assert (data["kind"], data["source"], data["encoder"]) == ("language", None, [])
    assert (data["search"], data["trace"]) == (None, None)
    [output] = data["outputs"]
    assert output["text"] == TEXT
    assert output["tokens"] == expected.tokens
    assert output["token_log_probs"] == pytest.approx(expected.token_log_probs, abs=1e-4)
    assert output["score"] == pytest.approx(expected.log_prob / 4, abs=1e-4)
    assert len(output["top"]) == 4
    kinds = [(part["kind"], part["causal"], part["layer"]) for part in output["attention"]]
    assert kinds == ([("decoder", True, 0), ("decoder", True, 1)] if name == "decoder" else [])
    with pytest.raises(DataError, match="the text has 21 tokens and the model was trained"):
        model.inspect("dog " * 20)
    with pytest.raises(DataError, match="the text is blank"):
        model.inspect(" ")


@pytest.mark.parametrize("name", ["encoder", "first", "bag"])
def test_classifiers(others, name):
    model = headway.load(others / name)
    found = model.inspect(TEXT)
    [expected] = model.predict([TEXT])
    data = found.to_dict()
    assert data["kind"] == "classify"
    chances = {output["text"]: output["score"] for output in data["outputs"]}
    assert list(chances) == list(expected.probabilities)
    assert chances == pytest.approx(expected.probabilities, abs=1e-5)
    assert data["source"]["tokens"] == [*TEXT.split(), "⟨eos⟩"]
    n_layers = 0 if name == "bag" else 2
    assert [part["kind"] for part in data["encoder"]] == ["encoder"] * n_layers
    for part in data["encoder"]:
        assert part["query"]["shape"][1] == len(data["source"]["tokens"])
    if n_layers:
        assert found.map().weights.shape == (4, 4)
    with pytest.raises(DataError, match="the text has 21 tokens"):
        model.inspect("dog " * 20)


def test_ensembles_of_others(others):
    for name in ("decoder", "encoder"):
        with pytest.raises(ConfigError, match="takes one run, not an ensemble"):
            headway.load(others / name, others / name).inspect(TEXT)
