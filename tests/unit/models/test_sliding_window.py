"""Windows that slide: what a model sees, hypothesis by hypothesis, and who needs them."""

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.ensemble import Ensemble
from headway.models.sliding_window import Sliding, needs_window
from headway.search import SearchConfig, beam, sample

BOS, EOS, V = 1, 2, 11
ONE = {"tgt_in": torch.full((1, 1), BOS)}


def built(family="decoder", seed=0, **settings):
    sizes = VocabularySizes(V, V, shared=True)
    torch.manual_seed(seed)
    if family == "decoder":
        settings = {"d_ff": 8, "n_heads": 2, "layers": 2, "output_bias": True, **settings}
    config = FAMILIES[family].config(d_model=8, dropout=0.0, **settings).resolve(10, sizes)
    model = FAMILIES[family].build(config, sizes)
    with torch.no_grad():
        model.output.bias = torch.nn.Parameter(2 * torch.randn(V))
    return model.eval().requires_grad_(False)


class Spy:
    """Remembers what each window has shown the model, as lists of tokens of each hypothesis."""

    def __init__(self, model):
        self.model, self.seen = model, []

    def start(self, batch, prefix=None):
        self.seen.append([])
        return self.model.start(batch, prefix)

    def step(self, tokens, state):
        self.seen[-1].append(tokens[0].tolist())
        return self.model.step(tokens, state)


def test_a_window_begins_with_the_newer_half_of_the_one_before():
    spy = Spy(built())
    model = Sliding(spy, 5)
    state = model.start(ONE)
    for tokens in ([BOS, 3, 4], [5], [6], [7], [8], [9], [10]):
        _, state = model.step(torch.tensor([[tokens]]), state)
    assert spy.seen == [
        [[[BOS, 3, 4]], [[5]], [[6]]],  # five tokens: the window is full
        [[[BOS, 5, 6, 7]], [[8]]],
        [[[BOS, 7, 8, 9]], [[10]]],
    ]


@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal", "none"])
def test_it_computes_what_a_fresh_model_computes_of_the_window(positions):
    inner = built(positions=positions, max_positions=6)  # what is beyond would raise
    model = Sliding(inner, 6)
    tokens = [BOS, *torch.randint(3, V, (20,), generator=torch.Generator().manual_seed(0)).tolist()]
    state = model.start(ONE)
    for n, token in enumerate(tokens, 1):
        logits, state = model.step(torch.tensor([[[token]]]), state)
        # Three tokens of the window before, then up to three more.
        begin = 0 if n <= 6 else 1 + (n - 7) // 3 * 3 + 3
        window = tokens[:n] if n <= 6 else [BOS, *tokens[begin:n]]
        assert len(window) <= 6
        expected = inner.output(inner({"tgt_in": torch.tensor([window])}))[:, -1]
        torch.testing.assert_close(logits[0], expected, rtol=1e-4, atol=1e-5)


def test_hypotheses_are_reordered_forked_and_thinned_out_with_their_windows():
    inner = built()
    model = Sliding(inner, 4)
    state = model.start({"tgt_in": torch.full((2, 1), BOS)})
    _, state = model.step(torch.full((2, 1, 1), BOS), state)
    state = state.reorder(torch.zeros(2, 2, dtype=torch.long))
    for newest in ([[3, 4], [5, 6]], [[7, 8], [9, 10]]):
        _, state = model.step(torch.tensor(newest)[..., None], state)
    kept = state.fork()
    state = state.reorder(torch.tensor([[1, 1], [1, 0]])).keep(torch.tensor([1]))
    for newest in ([3, 4], [5, 6]):
        logits, state = model.step(torch.tensor([newest])[..., None], state)
    for hypothesis, window in enumerate([[BOS, 3, 5], [BOS, 4, 6]]):
        expected = inner.output(inner({"tgt_in": torch.tensor([window])}))[0, -1]
        torch.testing.assert_close(logits[0, hypothesis], expected, rtol=1e-4, atol=1e-5)
    logits, _ = model.step(torch.full((2, 2, 1), 3), kept)  # where it was before
    expected = inner.output(inner({"tgt_in": torch.tensor([[BOS, 3, 7, 3]])}))[0, -1]
    torch.testing.assert_close(logits[0, 0], expected, rtol=1e-4, atol=1e-5)


def test_searches_go_on_beyond_the_positions_there_are():
    model = Sliding(built(positions="learned", max_positions=6), 6)
    limits = torch.tensor([30, 17])
    batch = {"tgt_in": torch.full((2, 1), BOS)}
    ends = {"bos": BOS, "eos": EOS, "limits": limits}
    settings = SearchConfig(beam=3, n_best=2, min_length=30)
    for found in (
        beam(model, batch, **ends, config=settings),
        sample(model, batch, **ends, config=SearchConfig(method="sample", n_best=2, min_length=30)),
    ):
        assert [[len(one.token_log_probs) for one in two] for two in found] == [[30, 30], [17, 17]]


def test_only_models_that_look_back_at_every_token_need_it():
    assert needs_window(built())
    recurrent = built("recurrent_decoder")
    assert not needs_window(recurrent)
    assert needs_window(Ensemble([recurrent, built()]))
