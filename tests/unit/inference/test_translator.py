"""A trained run in use: requests, beginnings, alignments, ensembles, and every refusal."""

from dataclasses import replace

import numpy as np
import pytest

import headway
from headway import TranslationRequest, api
from headway.data.codecs.text import TextCodec, TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, DataError
from headway.inference.evaluation import EvaluationOptions
from headway.interop.export import export
from headway.models.recurrent import RecurrentConfig
from headway.models.transformer import TransformerConfig
from headway.search import SearchConfig
from headway.training.config import TrainConfig

SMALL = TransformerConfig(d_model=16, d_ff=16, n_heads=2, encoder_layers=1, decoder_layers=2)
SOURCES = [
    f"{a} {b} {c}"
    for a in ("one", "two", "ten")
    for b in ("big", "red")
    for c in ("dog", "dot", "cat")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    rows = [(source, " ".join(reversed(source.split()))) for source in SOURCES]
    (folder / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        base = api.RunConfig(
            data=DataConfig(train="pairs.tsv", root=str(folder), max_length=12),
            text=TextConfig(kind="bpe", size=275),
            model=SMALL,
            train=TrainConfig(steps=40, lr=1e-2, batch_tokens=128),
            search=SearchConfig(beam=3, max_length=16),
        )
        runs = {
            "first": base,
            "recurrent": replace(base, model=RecurrentConfig(d_model=16)),
            "words": replace(base, text=TextConfig(kind="words")),
            "begins": replace(base, text=TextConfig(kind="words", begin=True)),
        }
        for name, config in runs.items():
            api.train(config, folder / name)
        yield folder


@pytest.fixture(scope="module")
def model(folder):
    return headway.load(folder / "first")


@pytest.fixture(scope="module")
def both(folder):
    return headway.load(folder / "first", folder / "recurrent")


# Beginnings


@pytest.mark.parametrize(
    "settings", [{}, {"beam": 1}, {"method": "sample", "n_best": 4}, {"n_best": 3}]
)
@pytest.mark.parametrize("prefix", ["d", "dog", "dog r", "dot big o", "cat ", "Ümläut 7"])
def test_an_output_begins_as_asked(model, prefix, settings):
    [with_prefix, without] = model.translate(
        [TranslationRequest(SOURCES[0], prefix=prefix), SOURCES[1]], **settings
    )
    for output in with_prefix.outputs:
        assert output.text.startswith(prefix)
    [alone] = model.translate([SOURCES[1]], first=1, **settings)
    assert [output.text for output in without.outputs] == [output.text for output in alone.outputs]


def test_a_word_that_is_not_ended_may_go_on_and_an_ended_one_may_not(folder):
    words = headway.load(folder / "words")
    opened, closed = words.translate(
        [TranslationRequest("one", prefix=text) for text in ("do", "dog ")]
    )
    assert opened.text.split()[0] in ("dog", "dot"), "there is no word 'do'"
    assert closed.text.split()[0] == "dog"
    assert len(closed.text.split()) > 1, "something follows the space"


def test_scores_with_a_prefix_are_forced_scores(folder):
    words = headway.load(folder / "words")  # a text is cut into tokens in one way
    source = "two red cat"
    [translation] = words.translate([TranslationRequest(source, prefix="dot b")], n_best=3)
    finished = [output for output in translation.outputs if output.finished]
    assert finished
    for output in finished:
        [scored] = words.score([source], [output.text])
        assert scored.log_prob == pytest.approx(output.log_prob, abs=1e-4)


def test_a_prefix_that_cannot_be_written_names_its_place(folder):
    words = headway.load(folder / "words")
    with pytest.raises(DataError, match=r"^news:4: the prefix 'dog x' cannot be encoded: no word"):
        words.translate([TranslationRequest("one big dog", prefix="dog x")], places=["news:4"])
    assert words.translate([TranslationRequest("one big dog", prefix="dog r")])[0].text.startswith(
        "dog red"
    )


def test_a_beginning_may_be_longer_than_an_output_would_be(model):
    prefix = " ".join(["dog dot cat"] * 12)  # longer than search.max_length
    assert model.translate([TranslationRequest("one", prefix=prefix)])[0].text.startswith(prefix)
    assert model.translate([TranslationRequest("one", prefix=prefix)], trace=True)[
        0
    ].text.startswith(prefix)


def test_a_blank_line_with_a_beginning_is_no_blank_line(model):
    [blank, begun] = model.translate(["  ", TranslationRequest("", prefix="dog")])
    assert (blank.text, blank.outputs[0].tokens) == ("", [])
    assert begun.text.startswith("dog")


# Terms


def test_required_terms_are_met_or_reported(model):
    requests = [
        TranslationRequest("one big dog", require=["cat"]),
        TranslationRequest("one big dog", require=[["cow", "cat"]], forbid=["dog"]),
        "one big dog",
    ]
    met, either, free = model.translate(requests, beam=4)
    assert "cat" in met.text.split()
    assert met.outputs[0].unmet == []
    words = either.text.split()
    assert {"cat", "cow"} & set(words)
    assert "dog" not in words
    assert free.text == model.translate(["one big dog"], beam=4)[0].text


def test_what_cannot_be_said_is_reported(folder):
    words = headway.load(folder / "words")
    [translation] = words.translate([TranslationRequest("one big dog", require=["zebra", "dog"])])
    assert translation.outputs[0].unmet == ["zebra"]


def test_a_glossary_asks_where_its_term_occurs(model, folder):
    file = folder / "terms.tsv"
    file.write_text("dog\tcat\n", encoding="utf-8")
    for glossary in (file, str(file), headway.Glossary.read(file)):
        [with_term, without] = model.translate(["one big dog", "one big dot"], glossary=glossary)
        assert "cat" in with_term.text.split()
        assert without.text == model.translate(["one big dot"])[0].text


def test_terms_and_other_methods_do_not_go_together(model):
    request = TranslationRequest("one big dog", require=["cat"])
    with pytest.raises(ConfigError, match='"sample" cannot search with required or forbidden'):
        model.translate([request], method="sample")
    with pytest.raises(ConfigError, match='method = "sample" has no trace; set method = "beam"'):
        model.translate(["one big dog"], trace=True, method="sample")
    with pytest.raises(ConfigError, match='"exhaustive" cannot search with a prefix'):
        model.translate([TranslationRequest("one", prefix="d")], method="exhaustive")


@pytest.mark.parametrize("name", ["first", "words"])
def test_a_beginning_may_not_say_what_is_forbidden(folder, name):
    model = headway.load(folder / name)
    with pytest.raises(DataError) as error:
        model.translate(
            [TranslationRequest("one", forbid=["big"], prefix="dog  big red")], places=["n:3"]
        )
    assert str(error.value) == (
        "n:3: the prefix 'dog  big red' says 'big', which is forbidden, and no output can do both; "
        "remove one of them"
    )
    glossary = headway.Glossary({"one": headway.data.glossary.Entry(forbid=("dog big",))})
    with pytest.raises(DataError, match=r"^line 1: the prefix 'dog big ' says 'dog big', which"):
        model.translate([TranslationRequest("one", prefix="dog big ")], glossary=glossary)
    with pytest.raises(DataError, match="says 'dog'"):
        model.translate([TranslationRequest("one", forbid=["cat", "dog"], prefix="dog ")])


def test_a_beginning_whose_last_word_is_open_says_nothing_yet(model):
    for forbidden in ("do", "dot", "dog"):
        [found] = model.translate(
            [TranslationRequest("one", forbid=[forbidden], prefix="do")], beam=4
        )
        assert found.text.startswith("do")
        assert forbidden not in found.text.split()


# Long lines


def test_long_lines_are_refused_or_split(model):
    long = " ".join(SOURCES[:4])
    with pytest.raises(
        DataError, match=r"^line 2 has \d+ tokens and the model was trained with at"
    ):
        model.translate(["one", long])
    [whole] = model.translate([long], "split", align=True, n_best=2)
    tokens = [str(token) for token in whole.source_tokens]
    assert "".join(tokens).replace("▁", " ").split() == long.split()
    for output in whole.outputs:
        assert len(output.alignment) == len(output.tokens)
        assert max(output.alignment) > 12, "places count from the beginning of the line"
    with pytest.raises(DataError, match="nobody knows in which part its required terms belong"):
        model.translate([TranslationRequest(long, require=["cat"])], "split")
    [begun] = model.translate([TranslationRequest(long, prefix="dot")], "split")
    assert begun.text.startswith("dot")


def test_a_long_word_cannot_be_split(model):
    with pytest.raises(DataError, match="put spaces into it: lines are split at spaces only"):
        model.translate(["x" * 40], "split")


def test_texts_are_tokenised_once(model, monkeypatch):
    counted = []
    plain = TextCodec.encode_batch

    def counting(codec, texts):
        counted.extend(texts)
        return plain(codec, texts)

    monkeypatch.setattr(TextCodec, "encode_batch", counting)
    model.translate(["one big dog", "", "two red cat"])
    assert counted == ["one big dog", "two red cat"]


# Alignments


def test_alignments_are_read_off_the_attention_of_each_output(model):
    translations = model.translate([*SOURCES[:5], ""], align=True, n_best=2)
    for translation in translations[:-1]:
        for output in translation.outputs:
            assert len(output.alignment) == len(output.tokens)
            assert all(0 <= place < len(translation.source_tokens) for place in output.alignment)
        attention = model.attention(translation.source, translation.text)
        if attention.target[:-1] == translation.outputs[0].tokens:
            weights = attention.cross()[:-1, :-1]
            assert translation.outputs[0].alignment == np.argmax(weights, axis=1).tolist()
    assert translations[-1].outputs[0].alignment == []
    assert translations[-1].source_tokens == []


def test_one_layer_aligns(model):
    [translation] = model.translate(["one big dog"], align=1)
    attention = model.attention("one big dog", translation.text)
    assert attention.crossing == [["decoder.0.cross", "decoder.1.cross"]]
    assert translation.outputs[0].alignment == attention.alignment(1)
    with pytest.raises(ConfigError, match="no attention layer 2; the model has 2: 0 to 1, or mean"):
        model.translate(["one big dog"], align=2)


def test_a_begin_mark_is_read_and_never_shown_as_a_word(folder, tmp_path):
    model = headway.load(folder / "begins")
    source, target = model.task.source, model.task.target
    (ids,) = source.encode_batch(["two red"])
    assert model.task.is_shared
    assert source.tokenizer.tokens(ids.tolist()) == ["⟨bos⟩", "two", "red", "⟨eos⟩"]
    assert target.encode_batch(["two red"])[0].tolist() == ids[1:].tolist()
    (translation,) = model.translate(["two red dog"], beam=2, align=True)
    assert translation.source_tokens == ["two", "red", "dog"]
    attention = model.attention("two red dog", translation.outputs[0].text)
    assert attention.source == ["⟨bos⟩", "two", "red", "dog", "⟨eos⟩"]
    weights = attention.cross()[: len(attention.target) - 1, 1:4]
    assert translation.outputs[0].alignment == np.argmax(weights, axis=1).tolist()
    for to in ("hf", "ctranslate2"):
        assert export(model, to, tmp_path / to).check is not None  # which compares tokens too


def test_nothing_is_aligned_unless_asked(model):
    [translation] = model.translate(["one big dog"])
    assert translation.outputs[0].alignment is translation.source_tokens is None


# Traces


def test_a_trace_of_a_search_with_terms(model):
    requests = [TranslationRequest(source, require=["cat"]) for source in SOURCES]
    plain, traced = (model.translate(requests, trace=asked, beam=4) for asked in (False, True))
    assert [one.text for one in plain] == [one.text for one in traced]
    finished = [one for one in traced if one.outputs[0].finished]
    assert finished
    for one in finished:
        best = one.outputs[0]
        found = [
            one.trace.path(step, index)[:-1]
            for step, index in one.trace.finished()
            if abs(one.trace.steps[step][index].log_prob - best.log_prob) < 1e-4
        ]
        tokenizer = model.task.target.tokenizer
        assert best.tokens in [tokenizer.tokens(tokens) for tokens in found]


def test_a_trace_leads_to_the_output(folder):
    words = headway.load(folder / "words")
    plain, traced = (words.translate([*SOURCES, ""], trace=asked) for asked in (False, True))
    n_finished = 0
    for one, other in zip(plain[:-1], traced[:-1], strict=True):
        assert one.trace is None
        assert one.text == other.text
        if other.outputs[0].finished:
            step, index = other.trace.finished()[0]
            tokens = words.task.target.tokenizer.tokens(other.trace.path(step, index)[:-1])
            assert tokens == other.outputs[0].tokens
            n_finished += 1
    assert n_finished > 3
    assert traced[-1].trace is None
    with pytest.raises(ConfigError) as error:
        words.translate(["one"], "split", trace=True)
    assert str(error.value) == (
        "a trace shows one search, and split lines have several; leave out trace or too_long"
    )


# Sampling


def test_draws_depend_on_seed_and_number_alone(model):
    sampled = {"method": "sample", "n_best": 3, "seed": 7}
    together = model.translate(SOURCES[:6], **sampled)
    for number, source in enumerate(SOURCES[:6]):
        [alone] = model.translate([source], first=number, **sampled)
        assert [o.text for o in alone.outputs] == [o.text for o in together[number].outputs]
    again = model.translate(SOURCES[:6], **{**sampled, "seed": 8})
    assert [t.outputs for t in again] != [t.outputs for t in together]


# Proofs


def test_an_exhaustive_search_says_whether_its_output_is_proven(folder):
    words = headway.load(folder / "words")
    exhaustive = {"method": "exhaustive", "max_length": 4}
    [proven, blank] = words.translate(["one big dog", ""], **exhaustive)
    assert (proven.outputs[0].proven, blank.outputs[0].proven) == (True, None)
    [given_up] = words.translate(["one big dog"], max_nodes=1, **exhaustive)
    assert given_up.outputs[0].proven is False
    assert words.translate(["one big dog"])[0].outputs[0].proven is None
    sources = ["one big dog", "two red cat"]
    for budget, unproven in ((1, 2), (100_000, 0)):
        found = words.evaluate(sources, sources, max_nodes=budget, resamples=0, **exhaustive)
        assert found.unproven == unproven


# Ensembles


def test_an_ensemble_is_the_mean_of_its_runs(folder, model, both):
    other = headway.load(folder / "recurrent")
    translations = both.translate(SOURCES[:6], n_best=3)
    pairs = [(t.source, o) for t in translations for o in t.outputs if o.finished]
    scored = [
        m.score([s for s, _ in pairs], [o.text for _, o in pairs]) for m in (model, other, both)
    ]
    compared = 0
    for (_, output), one, two, mixed in zip(pairs, *scored, strict=True):
        mean = np.log((np.exp(one.token_log_probs) + np.exp(two.token_log_probs)) / 2)
        np.testing.assert_allclose(mixed.token_log_probs, mean, atol=1e-4)
        if mixed.tokens[:-1] == output.tokens:
            np.testing.assert_allclose(output.token_log_probs, mean, atol=1e-4)
            compared += 1
    assert compared > 3


def test_everything_works_with_an_ensemble(both, model):
    assert both.n_parameters > model.n_parameters
    [found] = both.translate([TranslationRequest("one big dog", ["cat"], prefix="d")], align=True)
    assert found.text.startswith("d")
    assert "cat" in found.text.split()
    assert len(found.outputs[0].alignment) == len(found.outputs[0].tokens)
    assert both.translate(["one big dog"], trace=True)[0].trace is not None
    assert len(both.translate(["one big dog"], method="sample", n_best=2)[0].outputs) == 2
    attention = both.attention("one big dog")
    assert attention.crossing == [
        ["0.decoder.0.cross", "0.decoder.1.cross"],
        ["1.decoder.attention"],
    ]
    assert [one.run.path.name for one in both.ensemble_members] == ["recurrent"]


def test_an_ensemble_of_a_run_with_itself_is_the_run(folder, model):
    twice = headway.load(folder / "first", folder / "first")
    for one, other in zip(model.translate(SOURCES), twice.translate(SOURCES), strict=True):
        assert one.text == other.text
        assert one.outputs[0].score == pytest.approx(other.outputs[0].score, abs=1e-4)


# Engines


def test_engines_that_are_not_there_or_do_not_do(model, both):
    with pytest.raises(ConfigError, match="no engine 'fast'; expected headway or ctranslate2"):
        model.translate(["one"], engine="fast")
    with pytest.raises(ConfigError, match="no required or forbidden terms, no prefix and no trace"):
        model.translate([TranslationRequest("one", prefix="d")], engine="ctranslate2")
    with pytest.raises(
        ConfigError, match=r"the engine ctranslate2 takes one run, not an ensemble \("
    ):
        both.translate(["one"], engine="ctranslate2")


def test_compute_types_belong_to_ctranslate2(model, folder, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(folder / "untouched"))
    with pytest.raises(ConfigError) as error:
        model.translate(["one"], compute_type="int8")
    assert str(error.value) == (
        "compute_type = 'int8' is a setting of the engine ctranslate2; set engine, or leave it out"
    )
    with pytest.raises(ConfigError) as error:
        model.translate(["one"], engine="ctranslate2", compute_type="int4")
    assert str(error.value) == "compute_type = 'int4': expected one of default, float32, int8"
    assert not (folder / "untouched").exists(), "nothing was exported"


def test_ctranslate2_finds_the_same(model):
    ours = model.translate(SOURCES, align=True)
    theirs = model.translate(SOURCES, engine="ctranslate2", align=True)
    for one, other in zip(ours, theirs, strict=True):
        assert other.outputs[0].score == pytest.approx(one.outputs[0].score, abs=1e-3)
        if one.text == other.text:
            assert one.outputs[0].alignment == other.outputs[0].alignment


def test_a_text_alone_is_no_list(model):
    with pytest.raises(TypeError, match=r"; write \['one big dog'\]$"):
        model.translate("one big dog")


# Test sets


def test_blank_rows_are_no_right_answers(model, folder):
    lines = (folder / "pairs.tsv").read_text("utf-8").splitlines()[:4]
    (folder / "whole.tsv").write_text("\n".join(lines), "utf-8")
    (folder / "blank.tsv").write_text("\n".join([lines[0], "", *lines[1:], "one\t", ""]), "utf-8")
    reports, timings = [], []
    for name in ("whole.tsv", "blank.tsv"):
        corpora = [Corpus(file=name)]
        options = EvaluationOptions(["exact"], search={"beam": 1})
        reports.append(model.evaluate_corpora(corpora, folder, options))
        timings.append(model.time_evaluation(corpora, folder, "exact", tokenized=False))
    whole, blank = reports
    assert blank.record == whole.record
    assert blank.record["n"] == 4
    assert blank.outputs == [whole.outputs[0], "", *whole.outputs[1:], ""]
    warning = "left out 2 of 6 rows without source or target (blank.tsv:2, blank.tsv:6)"
    assert warning in blank.warnings
    assert (timings[1].n, timings[1].notes, timings[0].notes) == (4, (warning,), ())
    assert timings[1].score(None) == timings[0].score(None)


def test_blank_rows_are_left_out_of_groups(model, folder):
    (folder / "groups.tsv").write_text("one dog\tdog\n\none dog\t\none dog\tdog one\n", "utf-8")
    options = EvaluationOptions(["exact"], group=True, search={"beam": 1})
    report = model.evaluate_corpora([Corpus(file="groups.tsv")], folder, options)
    assert (report.record["n"], len(report.outputs)) == (1, 1)
