"""The scores: by hand, by formula, gradients, masks, and what each of them is blind to."""

import math

import pytest
import torch
from torch import tensor

from headway.nn import masks, scores
from headway.nn.attend import attend
from headway.nn.capture import capture
from headway.nn.scores import (
    SCORES,
    Additive,
    Concat,
    Cosine,
    General,
    Location,
    LowRankBilinear,
    LowRankSettings,
    make_score,
    score_name,
)

PLACES = 9
names = pytest.mark.parametrize("name", list(SCORES))


def make(name, width=3, n_heads=1, seed=0, dtype=torch.float32):
    torch.manual_seed(seed)
    return make_score(name, width, n_heads, PLACES).to(dtype)


def draw(*shape, seed=1, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def scored(score, query, keys):
    return score.score(query, score.prepare(keys))


def row(*vectors):
    """Vectors as one sentence of one head (1, 1, n, E)."""
    return tensor(vectors, dtype=torch.float32)[None, None]


def fill(score, **values):
    """Parameters of a score of one head."""
    with torch.no_grad():
        for name, value in values.items():
            parameter = getattr(score, name)
            parameter.copy_(tensor(value, dtype=parameter.dtype)[None])
    return score


def test_a_score_by_name_or_by_its_settings():
    assert score_name("dot") == "dot"
    assert score_name(LowRankSettings(rank=2)) == "low_rank"
    assert make_score("low_rank", 3).key_weight.shape == (1, 16, 3)
    assert make_score(LowRankSettings(rank=2), 3, 4).key_weight.shape == (4, 2, 3)
    with pytest.raises(ValueError) as caught:
        make_score("aditive", 3)
    assert str(caught.value) == f"no score 'aditive'; expected one of {', '.join(SCORES)}"


Q, H1, H2 = (3.0, 4.0), (1.0, 2.0), (4.0, 3.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("basic", [11.0, 24.0]),
        ("dot", [11.0, 24.0]),
        ("scaled_dot", [11 / 2**0.5, 24 / 2**0.5]),
        ("cosine", [11 / (5 * 5**0.5), 24 / 25]),
    ],
)
def test_products_by_hand(name, expected):
    score = make(name, 2)
    assert list(score.parameters()) == []
    torch.testing.assert_close(scored(score, row(Q), row(H1, H2)), row(expected))


def test_general_by_hand():
    """W swaps: q^T W h = 3 * h_2 + 4 * h_1 and, doubled, twice that."""
    score = fill(General(2), weight=[[0.0, 1.0], [1.0, 0.0]])
    torch.testing.assert_close(scored(score, row(Q), row(H1, H2)), row([10.0, 25.0]))
    fill(score, weight=[[0.0, 1.0], [0.0, 0.0]])  # not symmetric: q_1 meets h_2
    torch.testing.assert_close(scored(score, row(Q), row(H1, H2)), row([6.0, 9.0]))


def test_low_rank_by_hand():
    """U takes q_1 + q_2 = 7, V takes h_1 and doubled h_2: 7 h_1 + 14 h_2, of rank one."""
    score = fill(LowRankBilinear(2, rank=1), query_weight=[[1.0, 1.0]], key_weight=[[1.0, 2.0]])
    assert score.prepare(row(H1, H2)).tolist() == [[[[5.0], [10.0]]]]
    torch.testing.assert_close(scored(score, row(Q), row(H1, H2)), row([35.0, 70.0]))


@pytest.mark.parametrize("n_heads", [1, 2])
def test_low_rank_is_general_with_a_matrix_of_that_rank(n_heads):
    low, general = LowRankBilinear(5, n_heads, rank=2), General(5, n_heads)
    with torch.no_grad():
        general.weight.copy_(low.query_weight.mT @ low.key_weight)
    assert torch.linalg.matrix_rank(general.weight).tolist() == [2] * n_heads
    query, keys = draw(2, n_heads, 4, 5), draw(2, n_heads, 3, 5, seed=2)
    torch.testing.assert_close(scored(low, query, keys), scored(general, query, keys))


@pytest.mark.parametrize("d_value", [2, 3])
def test_low_rank_is_fused_where_values_are_as_wide_as_its_rank(d_value):
    score, query, keys = LowRankBilinear(5, 2, rank=2), draw(2, 2, 4, 5), draw(2, 2, 3, 5, seed=2)
    values = draw(2, 2, 3, d_value, seed=3)
    expected = scored(score, query, keys).softmax(-1) @ values
    torch.testing.assert_close(attend(query, score.prepare(keys), values, score=score), expected)


def test_additive_and_concat_by_hand():
    """One unit sees q_1 - h_1, the other nothing; the first counts double."""
    expected = row([2 * math.tanh(3 - 1), 2 * math.tanh(3 - 4)])
    additive = fill(
        Additive(2),
        query_weight=[[1.0, 0.0], [0.0, 0.0]],
        key_weight=[[-1.0, 0.0], [0.0, 0.0]],
        v=[2.0, 7.0],
    )
    torch.testing.assert_close(scored(additive, row(Q), row(H1, H2)), expected)
    concat = fill(Concat(2), weight=[[1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.0]], v=[2.0, 7.0])
    torch.testing.assert_close(scored(concat, row(Q), row(H1, H2)), expected)


def test_location_by_hand():
    score = fill(Location(2, 1, 3), weight=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert scored(score, row(Q), row(H1, H2)).tolist() == [[[[3.0, 4.0]]]]


FORMULAS = {
    "basic": lambda s, i, q, h: h @ q,
    "dot": lambda s, i, q, h: h @ q,
    "scaled_dot": lambda s, i, q, h: h @ q / math.sqrt(len(q)),
    "cosine": lambda s, i, q, h: torch.cosine_similarity(h, q, dim=0),
    "general": lambda s, i, q, h: q @ s.weight[i] @ h,
    "low_rank": lambda s, i, q, h: (s.query_weight[i] @ q) @ (s.key_weight[i] @ h),
    "concat": lambda s, i, q, h: s.v[i] @ torch.tanh(s.weight[i] @ torch.cat([q, h])),
    "additive": lambda s, i, q, h: s.v[i] @ torch.tanh(s.query_weight[i] @ q + s.key_weight[i] @ h),
}


def test_every_score_but_location_has_its_formula_here():
    assert set(FORMULAS) == set(SCORES) - {"location"}


@pytest.mark.parametrize("name", list(FORMULAS))
@pytest.mark.parametrize("n_heads", [1, 2])
def test_the_formula_pair_by_pair_and_head_by_head(name, n_heads):
    score = make(name, n_heads=n_heads)
    query, keys = draw(2, n_heads, 4, 3), draw(2, n_heads, 5, 3, seed=2)
    found = scored(score, query, keys)
    assert found.shape == (2, n_heads, 4, 5)
    for b, i, q, k in torch.cartesian_prod(*map(torch.arange, found.shape)).tolist():
        expected = FORMULAS[name](score, i, query[b, i, q], keys[b, i, k])
        torch.testing.assert_close(found[b, i, q, k], expected)


@names
@pytest.mark.parametrize("n_heads", [1, 2])
def test_gradients(name, n_heads):
    """Of query, keys and every parameter, in double precision against differences."""
    score = make(name, n_heads=n_heads, dtype=torch.double)
    query = draw(2, n_heads, 2, 3, dtype=torch.double).requires_grad_()
    keys = draw(2, n_heads, 4, 3, seed=2, dtype=torch.double).requires_grad_()
    given = [query, *score.parameters()]
    if name != "location":
        given.append(keys)
    assert torch.autograd.gradcheck(lambda *_: scored(score, query, keys), given)


@names
@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize(("Q", "K"), [(1, 1), (1, 5), (4, 1), (3, 5)])
def test_shapes(name, n_heads, Q, K):
    score = make(name, n_heads=n_heads)
    keys = draw(2, n_heads, K, 3)
    prepared = score.prepare(keys)
    assert prepared.shape == (2, n_heads, K, score.prepared_width(3))
    assert score.score(draw(2, n_heads, Q, 3, seed=2), prepared).shape == (2, n_heads, Q, K)


@names
def test_keys_are_prepared_one_by_one(name):
    """So that a cache can take new keys and sentences can leave."""
    score, keys = make(name, n_heads=2), draw(3, 2, 5, 3)
    prepared = score.prepare(keys)
    pieces = [score.prepare(keys[:, :, i : i + 1]) for i in range(5)]
    torch.testing.assert_close(torch.cat(pieces, dim=2), prepared)
    torch.testing.assert_close(score.prepare(keys[1:]), prepared[1:])


def test_additive_is_concat_with_its_matrix_in_two_halves():
    for n_heads in (1, 3):
        additive, concat = (
            make("additive", n_heads=n_heads),
            make("concat", n_heads=n_heads, seed=5),
        )
        query, keys = draw(2, n_heads, 4, 3), draw(2, n_heads, 5, 3, seed=2)
        assert (scored(additive, query, keys) - scored(concat, query, keys)).abs().max() > 1e-2
        with torch.no_grad():
            concat.weight.copy_(torch.cat([additive.query_weight, additive.key_weight], dim=-1))
            concat.v.copy_(additive.v)
        one, other = scored(additive, query, keys), scored(concat, query, keys)
        torch.testing.assert_close(one, other)
        (one.square().sum() + other.square().sum()).backward()
        halves = torch.cat([additive.query_weight.grad, additive.key_weight.grad], dim=-1)
        torch.testing.assert_close(concat.weight.grad, halves)


def test_location_does_not_see_what_stands_in_the_source():
    score, query = make("location"), draw(2, 1, 4, 3)
    here, there = (scored(score, query, draw(2, 1, 6, 3, seed=seed)) for seed in (2, 3))
    assert torch.equal(here, there)
    weights = [score_weights(score, query, draw(2, 1, 6, 3, seed=seed)) for seed in (2, 3)]
    assert torch.equal(*weights)
    assert (here[:, :, 0] - here[:, :, 1]).abs().max() > 1e-2  # but the query


def test_location_never_looks_beyond_the_places_it_knows():
    score, query, keys = make("location"), draw(2, 1, 4, 3), draw(2, 1, PLACES + 2, 3, seed=2)
    weights = score_weights(score, query, keys)
    assert (weights[..., PLACES:] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 4))
    exact = score_weights(score, query, keys[:, :, :PLACES])
    torch.testing.assert_close(weights[..., :PLACES], exact)


def test_cosine_ignores_scale_and_bears_zeros():
    score, query, keys = Cosine(), draw(2, 1, 4, 3), draw(2, 1, 5, 3, seed=2)
    usual = scored(score, query, keys)
    assert usual.abs().max() <= 1 + 1e-6
    torch.testing.assert_close(scored(score, 100 * query, keys * draw(2, 1, 5, 1).exp()), usual)
    keys[0, 0, 2] = 0
    keys.requires_grad_()
    found = scored(score, query, keys)
    assert (found[0, 0, :, 2] == 0).all()
    found.sum().backward()
    assert keys.grad.isfinite().all()


def test_other_scores_do_not_ignore_scale():
    for name in ("dot", "general", "additive", "concat"):
        score, query, keys = make(name), draw(2, 1, 4, 3), draw(2, 1, 5, 3, seed=2)
        assert (scored(score, query, 2 * keys) - scored(score, query, keys)).abs().max() > 1e-2


@pytest.mark.parametrize("name", ["additive", "concat"])
@pytest.mark.parametrize("n_heads", [1, 2])
def test_many_pairs_go_in_groups(name, n_heads, monkeypatch):
    """The same numbers and gradients, whether groups are of one query, two, or all."""
    results = []
    for chunk in (scores.CHUNK, 1, 2 * 2 * n_heads * 5 * 3):
        monkeypatch.setattr(scores, "CHUNK", chunk)
        score = make(name, n_heads=n_heads)
        query = draw(2, n_heads, 5, 3).requires_grad_()
        keys = draw(2, n_heads, 5, 3, seed=2).requires_grad_()
        found = scored(score, query, keys)
        found.square().sum().backward()
        with torch.no_grad():
            torch.testing.assert_close(scored(score, query, keys), found)
        results.append([found, query.grad, keys.grad, *(p.grad for p in score.parameters())])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            torch.testing.assert_close(one, two)


# In attend


def score_weights(score, query, keys, mask=None):
    """What attention makes of the scores, seen by capture."""
    owner = torch.nn.Module()
    with capture(owner) as maps:
        attend(query, score.prepare(keys), keys, mask, owner=owner, score=score)
    return maps[""]


@names
@pytest.mark.parametrize("looking", [False, True])
def test_masks_and_rows_that_may_attend_to_nothing(name, looking):
    score, query = make(name), draw(2, 1, 4, 3).requires_grad_()
    keys = draw(2, 1, 5, 3, seed=2).requires_grad_()
    mask = masks.padding(tensor([[True, True, True, False, False], [False] * 5]))
    owner = torch.nn.Module()
    if looking:
        with capture(owner) as maps:
            output = attend(query, score.prepare(keys), keys, mask, owner=owner, score=score)
        torch.testing.assert_close(maps[""].sum(-1), tensor([[[1.0] * 4], [[0.0] * 4]]))
        assert (maps[""][..., 3:] == 0).all()
    else:
        output = attend(query, score.prepare(keys), keys, mask, owner=owner, score=score)
    shorter = attend(query[:1], score.prepare(keys[:1, :, :3]), keys[:1, :, :3], score=score)
    torch.testing.assert_close(output[:1], shorter)
    assert (output[1] == 0).all()
    output.sum().backward()
    assert query.grad.isfinite().all()
    assert keys.grad.isfinite().all()
    assert (keys.grad[0, :, 3:] == 0).all()


@names
def test_attention_is_the_softmax_of_the_scores_times_the_values(name):
    score, query, keys = make(name), draw(2, 1, 4, 3), draw(2, 1, 5, 3, seed=2)
    value = draw(2, 1, 5, 3, seed=3)
    expected = scored(score, query, keys).softmax(-1) @ value
    torch.testing.assert_close(attend(query, score.prepare(keys), value, score=score), expected)
    bias = draw(1, 1, 4, 5, seed=4)
    expected = (scored(score, query, keys) + bias).softmax(-1) @ value
    found = attend(query, score.prepare(keys), value, bias=bias, score=score)
    torch.testing.assert_close(found, expected)


def test_each_score_gives_weights_of_its_own():
    """All but basic and dot, which are one product."""
    query, keys = draw(2, 1, 4, 3), draw(2, 1, 5, 3, seed=2)
    weights = {name: score_weights(make(name), query, keys) for name in SCORES}
    assert torch.equal(weights.pop("basic"), weights["dot"])
    found = list(weights.values())
    for i, one in enumerate(found):
        assert all((one - other).abs().max() > 1e-3 for other in found[i + 1 :])


@names
def test_bfloat16(name):
    score, query, keys = make(name), draw(2, 1, 4, 3), draw(2, 1, 5, 3, seed=2)
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(query, score.prepare(keys), keys, score=score)
    usual = attend(query, score.prepare(keys), keys, score=score)
    torch.testing.assert_close(found.float(), usual, rtol=0.05, atol=0.05)
