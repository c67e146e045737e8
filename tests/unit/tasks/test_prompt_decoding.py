"""Decoding after prompts: together or alone, at once or token by token, in and beyond a window."""

import math

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.models import FAMILIES
from headway.models.decoder import DecoderConfig
from headway.nn.decoding import DecoderState, RecurrentCache
from headway.search import Prefix, SearchConfig, score_targets
from headway.tasks.language_model import Language
from headway.tasks.lm_windows import window_batches, windows_of
from headway.tasks.losses import forced_log_probs
from headway.tasks.prompt_decoding import PromptDecoder

TEXT = "abba ab\nbaab aba\n"
SAMPLING = SearchConfig(method="sample", n_best=3)


class Flat(torch.nn.Module):
    """A model to which every token is equally likely."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("row", torch.zeros(size))

    def start(self, batch, prefix=None):
        rows = next(iter(batch.values())).size(0)
        return DecoderState({}, {"nothing": RecurrentCache(torch.zeros(rows, 1))})

    def step(self, tokens, state):
        logits = self.row.expand(*tokens.shape[:2], -1).clone()
        return logits, state.successor(state.cache)


@pytest.fixture(scope="module")
def task():
    return Language().fit_codecs(lambda: iter([(TEXT,)]), TextConfig(kind="characters"))


@pytest.fixture(scope="module")
def decoder(task):
    small = {"d_model": 8, "d_ff": 8, "n_heads": 2, "layers": 2, "dropout": 0.0}
    config = DecoderConfig(**small).resolve(1, task.vocabularies)
    torch.manual_seed(0)
    return FAMILIES["decoder"].build(config, task.vocabularies).eval().requires_grad_(False)


def prompt(task, text):
    return Prefix(task.codec.tokenizer.encode(text))


@pytest.mark.parametrize("config", [SAMPLING, SearchConfig(beam=3, n_best=2, min_length=4)])
def test_prompts_of_any_length_are_continued_in_order(task, decoder, config):
    decoding = PromptDecoder(decoder, task.codec, 64)
    prompts = [prompt(task, text) for text in ("ab", "", "ba", "abba a")]
    limits = [6, 9, 4, 12]
    together = decoding.decode(prompts, config, limits)
    for number, (prefix, limit, outputs) in enumerate(zip(prompts, limits, together, strict=True)):
        [alone] = decoding.decode([prefix], config, [limit], ids=[number])
        assert [output.tokens for output in outputs] == [output.tokens for output in alone]
        assert all(len(output.token_log_probs) <= limit for output in outputs)


def test_log_probabilities_are_those_of_the_whole_text_after_its_prompt(task, decoder):
    decoding = PromptDecoder(decoder, task.codec, 64)
    prefix = prompt(task, "abba a")
    [outputs] = decoding.decode([prefix], SAMPLING, [12])
    batch = {"tgt_in": torch.full((1, 1), task.codec.bos)}
    for output in outputs:
        ends = [task.codec.eos] * output.finished
        whole = torch.tensor([[*prefix.tokens, *output.tokens, *ends]])
        valid = torch.ones_like(whole, dtype=torch.bool)
        expected = score_targets(decoder, batch, whole, valid, bos=task.codec.bos)[0, 6:]
        assert output.token_log_probs == pytest.approx(expected.tolist(), abs=1e-5)
        assert output.log_prob == pytest.approx(expected.sum().item(), abs=1e-4)


def test_a_stream_yields_the_tokens_of_decode(task, decoder):
    decoding = PromptDecoder(decoder, task.codec, 8)
    prefix = prompt(task, "abba")
    for config in (SearchConfig(method="sample"), SearchConfig(beam=1)):
        [[expected]] = decoding.decode([prefix], config, [20])
        assert list(decoding.stream(prefix, config, 20)) == expected.tokens


def test_beyond_the_window_a_text_is_written_as_it_is_scored(task, decoder):
    """Windows of 6 that move by 3: 6 tokens of the first, and then 3 times 3 more."""
    decoding = PromptDecoder(decoder, task.codec, 6)
    prefix = prompt(task, "ab")
    config = SearchConfig(method="sample", min_length=13)
    [[output]] = decoding.decode([prefix], config, [13])
    ids = np.array([*prefix.tokens, *output.tokens, *[task.codec.eos] * output.finished])
    assert len(ids) == 15
    windows = list(windows_of([len(ids)], 6))
    scored = {}
    for rows, batch in window_batches([ids], windows, task.codec.bos):
        values = forced_log_probs(decoder, batch, task.codec.bos).split(
            [windows[row].n_tokens for row in rows]
        )
        scored |= {
            windows[row].scored: part.tolist() for row, part in zip(rows, values, strict=True)
        }
    expected = [value for start in sorted(scored) for value in scored[start]]
    assert output.token_log_probs == pytest.approx(expected[2:], abs=1e-5)


def test_how_long_a_prompt_may_be(task, decoder):
    assert PromptDecoder(decoder, task.codec, 6).longest == 5  # and BOS
    recurrent = FAMILIES["recurrent_decoder"]
    model = recurrent.build(recurrent.config(d_model=8), task.vocabularies).eval()
    decoding = PromptDecoder(model, task.codec, 6)
    assert decoding.longest is None
    [[output]] = decoding.decode([prompt(task, "ab" * 10)], SearchConfig(method="sample"), [20])
    assert output.tokens


def test_a_space_that_was_typed_is_written_by_the_word_that_follows():
    lines = ["the man sees the dog", "a dog sees a man"] * 4
    for kind in ("bpe", "unigram", "wordpiece", "words"):
        task = Language().fit_codecs(
            lambda: iter([(line,) for line in lines]), TextConfig(kind=kind)
        )
        decoding = PromptDecoder(Flat(task.vocabularies.target), task.codec, 64)
        prefix = Prefix(task.codec.tokenizer.encode("the"), b" ")
        [outputs] = decoding.decode([prefix], SearchConfig(method="sample", n_best=20), [3])
        for output in outputs:
            assert task.codec.tokenizer.spellings()[output.tokens[0]].startswith(b" ")
            assert output.token_log_probs[0] == pytest.approx(-math.log(task.vocabularies.target))
            assert task.codec.decode([*prefix.tokens, *output.tokens]).startswith("the ")


def test_nothing_to_go_on_with(task, decoder):
    assert PromptDecoder(decoder, task.codec, 6).decode([], SAMPLING, []) == []
