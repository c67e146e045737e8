"""What language models write: settings, prompts, streams, several models."""

from dataclasses import replace

import pytest

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, DataError
from headway.inference.language_model import Generation, generation_config, streams
from headway.models.counting.markov import MarkovConfig
from headway.models.decoder import DecoderConfig
from headway.models.recurrent_decoder import RecurrentDecoderConfig
from headway.models.unilm import UnilmModelConfig
from headway.search import SearchConfig
from headway.training.config import TrainConfig

LINES = ["the man sees the dog", "a dog sees a café", "the dog is 日本", "a man is 🎉"] * 3
SMALL = DecoderConfig(d_model=16, d_ff=16, n_heads=2, layers=1, dropout=0.0)
STEPS = TrainConfig(steps=30, lr=1e-2, batch_tokens=64)
MODELS = {
    "rotary": SMALL,
    "learned": replace(SMALL, positions="learned", max_positions=12),
    "unilm": UnilmModelConfig(d_model=16, d_ff=16, n_heads=2, layers=1, dropout=0.0),
    "recurrent": RecurrentDecoderConfig(d_model=16),
    "chain": MarkovConfig(order=2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generation")
    (folder / "book.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        yield folder


def config_of(folder, model, kind, **changes):
    corpus = Corpus(file="book.txt", format="text")
    data = DataConfig(train=corpus, root=str(folder), block=12, max_length=12)
    steps = TrainConfig() if isinstance(model, MarkovConfig) else STEPS
    given = {"search": SearchConfig(max_length=12), **changes}
    return api.RunConfig(
        data=data, task="language", model=model, train=steps, text=TextConfig(kind=kind), **given
    )


@pytest.fixture(scope="module")
def models(folder):
    return {
        name: api.train(config_of(folder, model, "bytes"), folder / name)
        for name, model in MODELS.items()
    }


@pytest.fixture(scope="module")
def words(folder):
    return api.train(config_of(folder, MODELS["chain"], "words"), folder / "words")


# Settings


def test_what_is_drawn_unless_something_else_is_asked_for():
    run = SearchConfig(beam=3, stop="safe", max_length=40, no_repeat=3)
    usual = generation_config(run)
    drawn = SearchConfig(method="sample", temperature=0.8, max_length=40, no_repeat=3)
    assert usual == drawn
    assert usual.seed == 1
    assert generation_config(run, temperature=1.5, seed=None) == replace(drawn, temperature=1.5)


def test_a_beam_asks_for_beam_search_with_the_settings_of_the_run():
    run = SearchConfig(beam=3, stop="safe", max_length=40)
    assert generation_config(run, beam=7) == replace(run, beam=7)
    assert generation_config(run, method="beam") == run


def test_a_run_that_says_how_to_draw_is_obeyed():
    run = SearchConfig(method="sample", top_k=5, seed=9)
    assert generation_config(run) == run
    assert generation_config(run, beam=2) == SearchConfig(beam=2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"min_ratio": 0.5},
            "search.min_ratio depends on a source, which a prompt is not; use",
        ),
        ({"max_extra": 3}, "search.max_extra depends on a source"),
        ({"method": "exhaustive"}, 'method = "exhaustive" is for short outputs'),
        ({"beam": 2, "top_k": 3}, 'top_k=3 has no meaning with method="beam"'),
        ({"tempreature": 1.0}, "unknown key tempreature"),
    ],
)
def test_settings_that_do_not_fit(changes, words):
    with pytest.raises(ConfigError) as caught:
        generation_config(SearchConfig(), **changes)
    assert words in str(caught.value)


def test_what_can_be_read_as_it_grows():
    assert streams(SearchConfig(method="sample"))
    assert streams(SearchConfig(beam=1))
    assert not streams(SearchConfig(beam=1, stop="safe"))
    assert not streams(SearchConfig(beam=2))
    assert not streams(SearchConfig(method="sample", n_best=2))


# Outputs


@pytest.mark.parametrize("name", MODELS)
def test_every_family_goes_on_beyond_what_it_was_trained_on(models, name):
    model = models[name]
    [found] = model.generate(["the dog"], max_length=40, min_length=40)
    [output] = found.outputs
    assert len(output.token_log_probs) == 40
    assert output.log_prob == pytest.approx(sum(output.token_log_probs), abs=1e-4)
    assert found.text == "the dog" + output.text
    assert model.generate(["the dog"], max_length=40, min_length=40) == [found]  # the same seed


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_says_what_is_generated(models, name):
    for options in ({}, {"beam": 1}, {"temperature": 3.0, "max_length": 60}):
        text, found = read(models[name].stream("a ", **options))
        [expected] = models[name].generate(["a "], **options)
        assert "".join(text) == expected.outputs[0].text
        assert all(text)
        assert isinstance(found, Generation)
        assert (found.prompt, found.outputs[0].tokens) == ("a ", expected.outputs[0].tokens)


def read(pieces):
    """What a stream says, and what it gives back in the end."""
    text = []
    while True:
        try:
            text.append(next(pieces))
        except StopIteration as end:
            return text, end.value


def test_hot_streams_hold_back_parts_of_characters(models):
    """Bytes at random are seldom characters: what is shown is never a half of one."""
    pieces = list(models["chain"].stream("", temperature=50.0, max_length=200, min_length=200))
    assert "".join(pieces).encode()  # nothing that cannot be written
    [found] = models["chain"].generate([""], temperature=50.0, max_length=200, min_length=200)
    assert "".join(pieces) == found.outputs[0].text


def test_several_outputs_and_several_prompts(models):
    model = models["rotary"]
    prompts = ["the dog", "", "a"]
    drawn = model.generate(prompts, n_best=4, temperature=2.0)
    assert [found.prompt for found in drawn] == prompts
    for number, found in enumerate(drawn):
        assert len({output.text for output in found.outputs}) > 1
        scores = [output.score for output in found.outputs]
        assert scores == sorted(scores, reverse=True)
        [alone] = model.generate([found.prompt], n_best=4, temperature=2.0, first=number)
        assert [o.tokens for o in alone.outputs] == [o.tokens for o in found.outputs]
    [best] = model.generate(["the dog"], beam=4, n_best=2)
    assert best.outputs[0].score >= best.outputs[1].score


def test_an_ensemble_writes_too(models, folder):
    both = api.load(folder / "rotary", folder / "chain")
    [found] = both.generate(["the"], max_length=30)
    assert found.outputs[0].text == "".join(both.stream("the", max_length=30))


# Prompts


def test_a_prompt_that_is_too_long_is_refused_or_cut(models):
    for name in ("rotary", "learned", "unilm"):
        with pytest.raises(DataError) as caught:
            models[name].generate(["a", "b" * 12])
        assert str(caught.value) == (
            "prompt 2 has 12 tokens and the model can look back at 11 of them at most; "
            'shorten it, or continue its end alone (`too_long="cut"`)'
        )
        [found] = models[name].generate(["cd" + "b" * 11], "cut", beam=1)
        [short] = models[name].generate(["b" * 11], beam=1)
        assert found.prompt == "cd" + "b" * 11
        assert found.outputs[0].text == short.outputs[0].text
    for name in ("recurrent", "chain"):
        assert models[name].generate(["b" * 100])[0].outputs


def test_a_stream_refuses_before_it_begins(models):
    with pytest.raises(DataError, match="the prompt has 12 tokens"):
        models["rotary"].stream("b" * 12)
    with pytest.raises(ConfigError, match="only one output that never changes"):
        models["rotary"].stream("b", beam=3)


def test_what_the_tokenizer_does_not_know_is_counted(words):
    [found] = words.generate(["the zebra sees"])
    assert found.n_unknown == 1
    assert found.text.startswith("the zebra sees ")


def test_a_prompt_that_is_no_text(models):
    with pytest.raises(DataError, match=r"prompt 1: text has a lone surrogate"):
        models["chain"].generate(["\ud800"])
