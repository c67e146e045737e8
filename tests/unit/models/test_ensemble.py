"""Ensembles: the mean of probabilities by hand, and everything a search asks of a model."""

import math

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.ensemble import Ensemble
from headway.search import SearchConfig, beam, greedy, score_targets
from headway.teaching.table_model import TableModel

BOS, EOS, V = 1, 2, 11
LOG = math.log
ONE = {
    "": {"a": LOG(0.6), "b": LOG(0.4)},
    "a": {"END": LOG(0.5), "b": LOG(0.5)},
    "b": {"END": LOG(1.0)},
    "a b": {"END": LOG(1.0)},
}
OTHER = {
    "": {"a": LOG(0.2), "b": LOG(0.8)},
    "a": {"END": LOG(0.9), "b": LOG(0.1)},
    "b": {"END": LOG(1.0)},
    "a b": {"END": LOG(1.0)},
}


def built(family, seed, vocabulary=V, **settings):
    sizes = VocabularySizes(vocabulary, vocabulary, shared=True)
    torch.manual_seed(seed)
    config = FAMILIES[family].config(d_model=8, dropout=0.0, **settings).resolve(10, sizes)
    model = FAMILIES[family].build(config, sizes)
    with torch.no_grad():
        model.output.bias = torch.nn.Parameter(3 * torch.randn(vocabulary))  # no flat choices
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def transformer():
    return built("transformer", 0, d_ff=8, n_heads=2, encoder_layers=1, decoder_layers=2)


@pytest.fixture(scope="module")
def recurrent():
    return built("recurrent", 1)


@pytest.fixture(scope="module")
def batch():
    src = torch.randint(4, V, (4, 6), generator=torch.Generator().manual_seed(0))
    valid = torch.arange(6) < torch.tensor([6, 3, 1, 5])[:, None]
    return {"src": src.masked_fill(~valid, 0), "src_valid": valid}


CONFIG = SearchConfig(beam=4, n_best=3, max_length=9)


def best(model, batch, config=CONFIG):
    return beam(model, batch, bos=BOS, eos=EOS, config=config)


def test_the_mean_of_two_tables_by_hand():
    one, other = TableModel(ONE), TableModel(OTHER)
    both = Ensemble([one, other])
    batch = {"x": torch.zeros(1)}
    logits, state = both.step(torch.tensor([[[one.bos]]]), both.start(batch))
    assert logits.exp().flatten().tolist() == pytest.approx([0.0, 0.0, 0.4, 0.6])
    logits, _ = both.step(torch.tensor([[one.encode("a")]]), state)
    assert logits.exp().flatten().tolist() == pytest.approx([0.0, 0.7, 0.0, 0.3])
    limits = torch.tensor([5])
    [[first, second]] = beam(
        both,
        batch,
        bos=one.bos,
        eos=one.eos,
        config=SearchConfig(beam=2, n_best=2, alpha=0.0),
        limits=limits,
    )
    assert (one.decode(first.tokens), one.decode(second.tokens)) == ("b", "a")
    assert [math.exp(h.log_prob) for h in (first, second)] == pytest.approx([0.6, 0.28])


def test_what_all_members_call_impossible_stays_impossible():
    both = Ensemble([TableModel(ONE), TableModel(ONE)])
    after_end = torch.tensor([[[0, 2, 1]]])
    logits, _ = both.step(after_end, both.start({"x": torch.zeros(1)}))
    assert (logits == -torch.inf).all()


def test_an_ensemble_of_one_is_the_model(transformer, batch):
    for alone, found in zip(
        best(transformer, batch), best(Ensemble([transformer]), batch), strict=True
    ):
        assert [h.tokens for h in alone] == [h.tokens for h in found]
        for a, b in zip(alone, found, strict=True):
            assert b.token_log_probs == pytest.approx(a.token_log_probs, abs=1e-5)


def test_the_order_of_the_members_does_not_matter(transformer, recurrent, batch):
    one, other = (
        best(Ensemble([transformer, recurrent]), batch),
        best(Ensemble([recurrent, transformer]), batch),
    )
    assert [[h.tokens for h in row] for row in one] == [[h.tokens for h in row] for row in other]


def test_search_scores_are_the_mean_of_forced_probabilities(transformer, recurrent, batch):
    """Cached, reordered and thinned out by the search; recomputed by each member on its own."""
    both = Ensemble([transformer, recurrent])
    for i, row in enumerate(best(both, batch)):
        alone = {name: value[i : i + 1] for name, value in batch.items()}
        for hypothesis in row:
            tokens = hypothesis.tokens + [EOS] * hypothesis.finished
            target = {"tgt_in": torch.tensor([[BOS, *tokens[:-1]]])}
            probs = [m.output(m(alone | target)).softmax(-1) for m in (transformer, recurrent)]
            mean = (sum(probs) / 2)[0].log()
            by_hand = mean[torch.arange(len(tokens)), tokens]
            assert hypothesis.token_log_probs == pytest.approx(by_hand.tolist(), abs=1e-4)


def test_greedy_is_a_beam_of_one_and_forced_agrees(transformer, recurrent, batch):
    both = Ensemble([transformer, recurrent])
    one = greedy(both, batch, bos=BOS, eos=EOS, config=CONFIG)
    narrow = best(both, batch, SearchConfig(beam=1, max_length=9))
    for i, (hypothesis, [other]) in enumerate(zip(one, narrow, strict=True)):
        assert hypothesis.tokens == other.tokens
        alone = {name: value[i : i + 1] for name, value in batch.items()}
        targets = torch.tensor([hypothesis.tokens + [EOS] * hypothesis.finished])
        scores = score_targets(both, alone, targets, torch.ones_like(targets).bool(), bos=BOS)
        assert scores.sum().item() == pytest.approx(hypothesis.log_prob, abs=1e-4)


def test_reorder_keep_and_fork_reach_every_member(transformer, recurrent, batch):
    both = Ensemble([transformer, recurrent])
    _, state = both.step(torch.full((4, 1, 1), BOS), both.start(batch))
    state = state.reorder(torch.zeros(4, 2, dtype=torch.long))
    fork = state.fork()
    tokens = torch.tensor([4, 5]).repeat(4, 1)[..., None]  # (4, 2, 1)
    whole, after = both.step(tokens, state)
    kept, _ = both.step(tokens[[3, 0]], fork.keep(torch.tensor([3, 0])))
    torch.testing.assert_close(kept, whole[[3, 0]])
    swapped = after.reorder(torch.tensor([[1, 0]] * 4))
    logits, _ = both.step(torch.full((4, 2, 1), 6), swapped)
    straight = both.start(batch, torch.tensor([[BOS, 5]] * 4))
    expected, _ = both.step(torch.full((4, 1, 1), 6), straight)
    torch.testing.assert_close(logits[:, 0], expected[:, 0], atol=1e-5, rtol=1e-5)


def test_weights_of_all_members_are_found(transformer, recurrent):
    both = Ensemble([transformer, recurrent])
    names = dict(both.named_modules())
    assert names["0.decoder.1.cross"] is transformer.decoder[1].cross
    assert sum(p.numel() for p in both.parameters()) == sum(
        p.numel() for m in (transformer, recurrent) for p in m.parameters()
    )


def test_refusals(transformer, batch):
    with pytest.raises(ValueError, match="ensemble of no models"):
        Ensemble([])
    both = Ensemble([transformer, built("recurrent", 2, vocabulary=V + 1)])
    with pytest.raises(
        ValueError, match="members have vocabularies of 11, 12 tokens; load runs that share one"
    ):
        both.step(torch.full((4, 1, 1), BOS), both.start(batch))
