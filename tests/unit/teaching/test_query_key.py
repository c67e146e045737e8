"""The skip model as query, keys and values: the same numbers."""

import re

import pytest
import torch
from counting_texts import LOGS, Text, random_sequences

from headway.models import VocabularySizes
from headway.models.counting.markov import MarkovConfig, count
from headway.teaching.query_key import query_key_form
from headway.text import BOS

SIZE = 10


@pytest.mark.parametrize("smoothing", ["none", "add-k", "kneser-ney"])
@pytest.mark.parametrize("selective", [True, False])
def test_matrices_give_the_same_numbers(selective, smoothing):
    config = MarkovConfig(
        order=2, skips=True, selective=selective, smoothing=smoothing, min_gain=0.02
    )
    model = count(config, VocabularySizes(SIZE, SIZE, True), random_sequences(3, 60, SIZE))
    if selective:
        assert 0 < model.pair_votes().sum() < len(model.pair_votes())
    form = query_key_form(model)
    torch.manual_seed(0)
    contexts = torch.randint(3, SIZE, (30, 6))
    contexts[:10, :3] = BOS
    contexts[:3, :5] = BOS  # nothing that could vote
    query = torch.eye(SIZE)[contexts[:, -1]]
    history = torch.zeros(30, SIZE).scatter_(1, contexts[:, :-1], 1.0)
    torch.testing.assert_close(form.attend(query, history), model.probs(contexts))


def test_the_query_pulls_out_the_mask():
    text = Text(LOGS)
    form = query_key_form(text.count(order=2, skips=True, selective=True))
    query = torch.eye(len(text.words))[text.ids("ran")]
    mask = (query @ form.keys)[0]
    assert mask.nonzero().flatten().tolist() == sorted(text.ids("battery program"))


def test_a_vocabulary_that_is_too_large():
    model = count(
        MarkovConfig(order=2, skips=True),
        VocabularySizes(1000, 1000, True),
        random_sequences(0, 3, 8),
    )
    message = (
        "a vocabulary of 1000 makes a matrix of 1,000,000,000 numbers, expected at most "
        "100,000,000; step the model itself, which computes the same"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        query_key_form(model)
