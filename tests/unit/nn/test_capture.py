"""Looking: names, choice of layers, joined queries, details, and nothing left behind."""

import threading

import pytest
import torch

from headway.nn.attend import attend
from headway.nn.attention import SelfAttention
from headway.nn.capture import capture, capture_details, recorder
from headway.nn.positions import LearnedPositions, NoPositions, Sinusoidal, sinusoidal
from headway.nn.scores import Additive, Cosine, Dot, General, ScaledDot


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = SelfAttention(8, 2, 4)
        self.second = SelfAttention(8, 2, 4)

    def forward(self, x):
        return self.second(self.first(x))


def test_weights_by_module_name():
    model, x = Two().eval(), torch.randn(3, 5, 8)
    with capture(model) as maps:
        model(x)
    assert set(maps) == {"first", "second"}
    assert maps["first"].shape == (3, 2, 5, 5)
    torch.testing.assert_close(maps["first"].sum(-1), torch.ones(3, 2, 5))


def test_only_the_layers_asked_for():
    model = Two().eval()
    with capture(model, layers=lambda name: name == "second") as maps:
        model(torch.randn(1, 4, 8))
    assert set(maps) == {"second"}


def test_looking_does_not_change_the_output_nor_cost_gradients():
    model, x = Two().eval(), torch.randn(2, 5, 8)
    with capture(model) as maps:
        seen = model(x)
    torch.testing.assert_close(seen, model(x))
    assert not maps["first"].requires_grad


def test_queries_of_one_module_are_joined_in_order():
    owner = torch.nn.Module()
    query, key = torch.randn(2, 1, 3, 4), torch.randn(2, 1, 5, 4)
    with capture(owner) as whole:
        attend(query, key, key, owner=owner)
    with capture(owner) as pieces:
        for i in range(3):
            attend(query[:, :, i : i + 1], key, key, owner=owner)
    torch.testing.assert_close(pieces[""], whole[""])


def test_strangers_and_the_nameless_are_not_recorded():
    mine, other = torch.nn.Module(), torch.nn.Module()
    query = torch.randn(1, 1, 2, 4)
    with capture(mine) as maps:
        attend(query, query, query, owner=other)
        attend(query, query, query)
    assert maps == {}


def test_nobody_looks_afterwards_even_after_an_error():
    def look():
        with capture(torch.nn.Module()):
            assert recorder() is not None
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        look()
    assert recorder() is None


# In detail


def details_of(score, query, key, **options):
    owner = torch.nn.Module()
    with capture_details(owner) as details:
        attend(query, score.prepare(key), key, owner=owner, score=score, **options)
    return details.attended[""]


def test_details_by_hand():
    query, key = torch.tensor([[[[3.0, 4.0]]]]), torch.tensor([[[[0.0, 2.0], [5.0, 0.0]]]])
    seen = details_of(ScaledDot(), query, key)
    assert seen.scale == pytest.approx(2**-0.5)
    torch.testing.assert_close(seen.query, query)
    torch.testing.assert_close(seen.key, key)
    torch.testing.assert_close(seen.value, key)
    cosine = details_of(Cosine(), query, key)
    assert cosine.scale == 1.0
    torch.testing.assert_close(cosine.query, torch.tensor([[[[0.6, 0.8]]]]))
    torch.testing.assert_close(cosine.key, torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]]))


@pytest.mark.parametrize("score", [Dot(), ScaledDot(), Cosine(), General(4, 2)])
def test_weights_follow_from_the_details(score):
    query, key = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    seen = details_of(score, query, key)
    found = (seen.scale * seen.query @ seen.key.mT).softmax(-1)
    torch.testing.assert_close(found, seen.weights)


def test_what_is_no_product_has_no_scale():
    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    assert details_of(Additive(4, 2), query, key).scale is None
    assert details_of(ScaledDot(), query, key, bias=torch.randn(3, 5)).scale is None


def test_details_of_one_query_after_another_are_joined():
    owner = torch.nn.Module()
    query, key = torch.randn(2, 1, 3, 4), torch.randn(2, 1, 5, 4)
    with capture_details(owner) as details:
        for i in range(3):
            attend(query[:, :, i : i + 1], key, key, owner=owner)
    torch.testing.assert_close(details.attended[""].query, query)
    assert details.attended[""].weights.shape == (2, 1, 3, 5)
    assert details.attended[""].key.shape == (2, 1, 5, 4)


class Placed(torch.nn.Module):
    def __init__(self, positions):
        super().__init__()
        self.positions = positions

    def forward(self, x):
        return self.positions(x, 2)


def test_embeddings_and_the_codes_added_to_them():
    x = torch.randn(1, 3, 8)
    learned = LearnedPositions(8, 9)
    expected = {
        Sinusoidal(8): sinusoidal(torch.arange(2, 5), 8),
        learned: learned.weight[2:5],
        NoPositions(): None,
    }
    for positions, codes in expected.items():
        with capture_details(Placed(positions)) as details:
            Placed(positions)(x)
        assert details.embedded.keys() == {"positions"}
        found, added = details.embedded["positions"]
        torch.testing.assert_close(found, x)
        if codes is None:
            assert added is None
        else:
            torch.testing.assert_close(added, codes)
        assert not positions._forward_hooks


def test_what_another_thread_does_meanwhile_is_not_seen():
    model, mine, other = Placed(Sinusoidal(8)), torch.zeros(1, 3, 8), torch.ones(1, 5, 8)
    with capture_details(model) as details:
        model(mine)
        thread = threading.Thread(target=model, args=(other,))
        thread.start()
        thread.join()
    torch.testing.assert_close(details.embedded["positions"][0], mine)
