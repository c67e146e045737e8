"""What a model did with a text: that it is true, complete, small enough, and refused in words."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from export_sources import SOURCES

import headway
from headway import api
from headway.api.background import facts, positions_of, training_rows
from headway.api.inspecting import inspect_pairs
from headway.api.inspection import Background, Inspected, Inspection
from headway.api.packing import LIMIT, tensor, unpacked
from headway.api.results import Output
from headway.data.codecs import TextConfig
from headway.data.corpora import DataConfig
from headway.errors import ConfigError, DataError, RunError
from headway.models import FAMILIES, Vocabularies
from headway.models.bag import BagConfig
from headway.models.decoder import DecoderConfig
from headway.models.encoder import EncoderConfig
from headway.models.markov import MarkovConfig
from headway.training.settings import TrainConfig

TEXT = SOURCES[4]


@pytest.fixture(scope="module")
def translator(folder):
    return headway.load(folder / "pre")


@pytest.fixture(scope="module")
def found(translator):
    return translator.inspect(TEXT)


def with_model(translator, family, **settings):
    """The same run with an untrained model in it."""
    torch.manual_seed(0)
    sizes = translator.task.vocabularies
    config = FAMILIES[family].config(**settings).resolve(10, sizes)
    model = FAMILIES[family].build(config, sizes).eval()
    args = (translator.run, replace(translator.config, model=config), translator.task, model)
    return api.Translator(*args, translator.rule, max_length=translator.max_length)


# Outputs and search


def test_outputs_are_those_of_the_search(translator, found):
    [expected] = translator.translate([TEXT], n_best=3)
    assert found.search["n_best"] == found.search["beam"] == 3, "as many as the beam is wide"
    assert [one.output.text for one in found.outputs] == [o.text for o in expected.outputs]
    for one, other in zip(found.outputs, expected.outputs, strict=True):
        assert one.output.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        assert one.output.tokens == [*other.tokens, *(["⟨eos⟩"] if other.finished else [])]
        n = len(one.output.tokens)
        assert len(one.output.token_log_probs) == len(one.top) == n
        assert {part.weights.shape[1] for part in one.parts} == {n}


def test_words_at_the_top_have_the_probabilities_of_the_forced_pass(found):
    for one in found.outputs:
        written = zip(one.output.tokens, one.output.token_log_probs, one.top, strict=True)
        for token, log_prob, top in written:
            assert len(top) == 5
            chances = [chance for _, chance in top]
            assert chances == sorted(chances, reverse=True)
            if token in dict(top):
                assert dict(top)[token] == pytest.approx(math.exp(log_prob), rel=1e-3)
    best = found.outputs[0]
    assert [top[0][0] for top in best.top] == best.output.tokens, "the best output is the likeliest"


def test_the_trace_has_the_words_of_every_candidate(translator, found):
    [traced] = translator.translate([TEXT], trace=True, n_best=3)
    tokenizer = translator.task.target.tokenizer
    for step, right in zip(found.trace["steps"], traced.trace.to_dict()["steps"], strict=True):
        assert step == {**right, "text": tokenizer.tokens(right["token"])}


def test_samples_have_no_trace(translator):
    drawn = translator.inspect(TEXT, method="sample", n_best=2, seed=3)
    expected = translator.translate([TEXT], method="sample", n_best=2, seed=3)[0].outputs
    assert drawn.trace is None
    assert [one.output.text for one in drawn.outputs] == [output.text for output in expected]


def test_requests_keep_their_terms_and_beginnings(translator, tmp_path):
    asked = api.Request(TEXT, require=["ten"], prefix="red ")
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


def test_only_what_is_asked_for_is_looked_at(translator, found):
    second = translator.inspect(TEXT, outputs=[1])
    assert [one.parts is not None for one in second.outputs] == [False, True, False]
    data = second.to_dict()
    assert [one["attention"] is None for one in data["outputs"]] == [True, False, True]
    assert data["outputs"][0]["top"] == []
    assert data["outputs"][1]["attention"] == found.to_dict()["outputs"][1]["attention"]
    assert [part["name"] for part in data["encoder"]] == ["encoder.0.attention"]
    nothing = translator.inspect(TEXT, outputs=[]).to_dict()
    assert (nothing["encoder"], nothing["memory"], nothing["inputs"]) == ([], {}, None)


def test_maps_by_hand(found):
    layers = [part for part in found.outputs[1].parts if part.kind == "cross"]
    mean = found.map(output=1)
    assert mean.kind == "cross"
    expected = (layers[0].weights + layers[1].weights).mean(0) / 2
    np.testing.assert_allclose(mean.weights, expected, atol=1e-6)
    one = found.map("cross", layer=-1, head=0, output=1)
    np.testing.assert_array_equal(one.weights, layers[1].weights[0])
    assert one.rows == found.outputs[1].output.tokens
    assert one.columns == [*TEXT.split(), "⟨eos⟩"]
    inner = found.map("decoder")
    assert inner.columns == ["⟨bos⟩", *inner.rows[:-1]]
    assert found.map("encoder").rows == found.map("encoder").columns == one.columns


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": 2}, "no layer 2; there are 2: 0 to 1, or mean"),
        ({"head": -3}, "no head -3; there are 2: 0 to 1, or mean"),
        ({"output": 3}, "no output 3; there are 3, counted from 0"),
    ],
)
def test_maps_that_are_not_there(found, choice, message):
    with pytest.raises(ConfigError) as error:
        found.map("cross", **choice)
    assert str(error.value) == message


def test_a_run_without_attention(translator):
    found = with_model(translator, "recurrent", d_model=8, attention="none").inspect(TEXT)
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


def test_a_kind_that_a_model_does_not_have(translator):
    found = with_model(translator, "convolutional", d_model=8).inspect(TEXT)
    with pytest.raises(RunError, match="no encoder attention to look at; it has cross"):
        found.map("encoder")


def test_weights_that_the_products_do_not_give_are_sent_themselves(translator):
    """A family of the user's may mask in its own way."""
    other = with_model(translator, "transformer", d_model=8, d_ff=8, n_heads=2)

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
    [(TEXT, {"beam": 2}), (api.Request(TEXT, prefix="red"), {}), (TEXT, {"glossary": "terms"})],
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


# As JSON


def test_json_comes_back_as_it_went(found):
    data = found.to_dict()
    assert json.loads(found.to_json()) == data
    assert (data["format"], data["precision"], data["left_out"]) == (1, "full", [])
    assert (data["kind"], data["begin"]) == ("translate", "⟨bos⟩")
    assert data["run"]["name"] == "pre"
    assert data["run"]["parameters"] == int(
        dict(data["run"]["facts"])["Parameters"].replace(",", "")
    )
    assert data["training"]["rows"][-1]["step"] == 80


def test_what_outputs_share_is_sent_once(found):
    data = found.to_dict()
    names = [part["name"] for part in data["outputs"][0]["attention"]]
    assert list(data["memory"]) == names
    assert names == [f"decoder.{i}.{what}" for i in (0, 1) for what in ("attention", "cross")]
    tensors = {"query", "key", "value", "out", "bias"}
    for output in data["outputs"]:
        for part in output["attention"]:
            own = {"query"} if part["kind"] == "cross" else {"query", "key", "value"}
            assert tensors & part.keys() == own
            assert set(data["memory"][part["name"]]) == tensors - own
    assert tensors <= data["encoder"][0].keys()


def test_numbers_that_json_does_not_have():
    odd = Output("a", -math.inf, math.nan, ["a"], [-math.inf], True)
    rows = [{"step": 1, "loss": math.nan, "samples": [["\ud800", "b", "c"]]}]
    data = Inspection("translate", "a", ["a"], [Inspected(odd)], Background({}, None, rows), "b")
    found = json.loads(data.to_json())
    assert found["outputs"][0]["log_prob"] is None
    assert found["outputs"][0]["token_log_probs"] == [None]
    assert found["training"]["rows"] == [{"step": 1, "loss": None, "samples": [["?", "b", "c"]]}]


def test_tensors():
    values = np.array([[1.5, -2.0, 65504.0]], np.float32)
    for half in (False, True):
        packed = tensor(values, half)
        assert packed["shape"] == [1, 3]
        np.testing.assert_array_equal(unpacked(packed), values)
    assert tensor(values, True)["dtype"] == "float16"
    assert tensor(values * 2, True)["dtype"] == "float32", "half precision ends at 65504"
    assert unpacked(tensor(np.zeros((2, 0, 3)), True)).shape == (2, 0, 3)


def test_what_does_not_fit_goes_in_order_and_is_said(found):
    """A smaller and smaller limit: nothing is over it, and ever more is left out."""
    whole = len(found.to_json().encode())
    seen = []
    for share in np.linspace(1.2, 0.05, 60):
        data = found.to_dict(int(whole * share))
        if (data["precision"], data["left_out"]) not in seen:
            seen.append((data["precision"], data["left_out"]))
        if len(data["left_out"]) < 8:
            assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) <= whole * share
    behind = "what each head adds behind its sum"
    others, steps = "attention of all outputs but the best", "values and embeddings"
    assert seen[:2] == [("full", []), ("half", [])]
    assert seen[-1] == (
        "half",
        [behind, others, steps]
        + [f"decoder.{i}.attention" for i in (0, 1)]
        + ["encoder.0.attention"]
        + [f"decoder.{i}.cross" for i in (0, 1)],
    )
    for precision, left_out in seen[1:]:
        assert precision == "half"
        assert left_out in ([], [behind], [others], seen[-1][1][: len(left_out)])


def test_512_tokens_on_both_sides_fit(translator):
    other = with_model(translator, "transformer", preset="tiny", max_positions=600)
    draw = np.random.default_rng(0)
    ids = draw.integers(4, translator.task.source.tokenizer.size, (3, 511))
    source, *targets = ([*row, 2] for row in ids.tolist())
    output = Output("x", -1.0, -1.0, [], [-1.0] * 512, True)
    written = [(output, target) for target in targets]
    tokenizers = translator.task.source.tokenizer, translator.task.target.tokenizer
    found = inspect_pairs(
        other.model,
        "x",
        (tokenizers[0], np.array(source)),
        tokenizers[1],
        written,
        None,
        other.background(),
    )
    data = found.to_dict()
    assert len(found.to_json().encode()) <= LIMIT
    assert data["precision"] == "half"
    assert data["left_out"] == ["attention of all outputs but the best"]
    assert data["outputs"][1]["attention"] is None
    assert len(data["outputs"][0]["attention"]) == 8
    assert len(data["encoder"]) == 4
    assert data["outputs"][0]["attention"][0]["query"]["shape"] == [4, 512, 32]


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


# What does not depend on the text


def built(family, **settings):
    sizes = Vocabularies(9, 9, shared=True)
    config = FAMILIES[family].config(d_model=8, **settings).resolve(10, sizes)
    return FAMILIES[family].build(config, sizes)


def test_positions():
    sines = positions_of(built("transformer", d_ff=8, n_heads=2, position_base=100.0))
    assert (sines["kind"], sines["base"], sines["target"]) == ("sinusoidal", 100.0, None)
    assert sines["table"].shape == (64, 8)
    np.testing.assert_allclose(sines["table"][0], [0, 1] * 4, atol=1e-7)
    products = sines["table"] @ sines["table"].T
    np.testing.assert_allclose(np.diag(products), 4.0, rtol=1e-5)
    model = built("transformer", d_ff=8, n_heads=2, positions="learned", max_positions=10)
    learned = positions_of(model)
    np.testing.assert_array_equal(learned["table"], model.positions.weight.detach())
    np.testing.assert_array_equal(learned["target"], model.target_positions.weight.detach())
    rotary = positions_of(built("transformer", d_ff=8, n_heads=2, positions="rotary"))
    assert (rotary["kind"], rotary["base"]) == ("rotary", 10000.0)
    assert rotary["table"].shape == (64, 4), "of the width of a head"
    relative = positions_of(built("transformer", d_ff=8, n_heads=2, positions="relative"))
    assert (relative["kind"], relative["table"]) == ("relative", None)
    nothing = positions_of(built("decoder", d_ff=8, n_heads=2, positions="none"))
    assert (nothing["kind"], nothing["table"]) == ("none", None)
    assert positions_of(built("recurrent")) is None


def test_long_logs_are_thinned():
    figures = [{"step": i, "loss": 1 / 3, "lr": 0.1, "note": "x"} for i in range(1, 1302)]
    checks = [{"step": i, "valid_loss": 0.5, "samples": [["a", "b", "c"]]} for i in (600, 1301)]
    begin = {"step": 0, "notes": {"a": ["b"]}, "examples": {"train": 3}}
    log = [begin, *figures[:600], checks[0], *figures[600:], checks[1], {"finished": True}]
    rows = training_rows(log)
    assert len(rows) <= 503
    assert rows[0] == {"step": 1, "loss": 0.333333, "lr": 0.1}
    assert [row for row in rows if "samples" in row] == checks
    assert rows[-2]["step"] == 1301, "the last figures stay"
    steps = [row["step"] for row in rows]
    assert steps == sorted(steps)
    assert training_rows([]) == []


def test_facts_of_a_run_without_weights(translator):
    shown = dict(facts(translator.config, [{"step": 7, "minutes": 2.0}], None, None))
    assert shown["Steps"] == "7"
    assert shown["Training time"] == "2 min 0 s"
    assert "Weights" not in shown
    assert "Parameters" not in shown


# Pages in hand


def test_a_page_in_a_notebook_and_in_a_file(translator, tmp_path):
    page = translator.view('dog <b> & "cat"', n_best=1)
    frame = page._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert frame.count('"') == 8, "nothing of the page ends an attribute"
    saved = page.save(tmp_path / "new" / "page.html")
    assert saved.read_text("utf-8") == page.html
    assert [path.name for path in saved.parent.iterdir()] == ["page.html"]


def test_a_page_that_cannot_be_written(translator, tmp_path):
    page = translator.view("dog", n_best=1)
    with pytest.raises(RunError) as error:
        page.save(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} cannot be written: Is a directory; name another path or make room"
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot be written: (Not a directory|File exists)"):
        page.save(tmp_path / "file" / "page.html")
