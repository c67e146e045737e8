"""Kneser-Ney smoothing against the formulas of Chen & Goodman, in fractions and dictionaries."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from counting_texts import as_batch, random_sequences

from headway.models import VocabularySizes
from headway.models.counting.markov import MarkovConfig, count
from headway.text import BOS

SIZE = 12


class Reference:
    """`p(w | c) = max(c(cw) - D, 0) / sum_w c(cw) + gamma(c) p(w | c without its first word)`."""

    def __init__(self, sequences, order, size):
        self.order, self.n_words = order, size - 2
        padded = [[BOS] * order + [int(t) for t in s] for s in sequences]
        raw = Counter(
            tuple(s[i - n : i + 1])
            for s in padded
            for n in range(order + 1)
            for i in range(order, len(s))
        )
        self.counts = {}
        for gram, seen in raw.items():
            if len(gram) == order + 1 or gram[0] == BOS:
                self.counts[gram] = seen
            else:
                in_front = {g[0] for g in raw if len(g) == len(gram) + 1 and g[1:] == gram}
                self.counts[gram] = len(in_front)
        self.discounts = {n: self.discounts_of(n) for n in range(1, order + 2)}

    def discounts_of(self, length):
        n = Counter(count for gram, count in self.counts.items() if len(gram) == length)
        if not all(n[i] for i in (1, 2, 3, 4)):
            return [0, Fraction(1, 2), Fraction(1), Fraction(3, 2)]
        y = Fraction(n[1], n[1] + 2 * n[2])
        found = [0, *(i - (i + 1) * y * Fraction(n[i + 1], n[i]) for i in (1, 2, 3))]
        return found if min(found[1:]) > 0 else [0, Fraction(1, 2), Fraction(1), Fraction(3, 2)]

    def probability(self, word, context):
        lower = self.probability(word, context[1:]) if context else Fraction(1, self.n_words)
        followers = {
            g[-1]: c
            for g, c in self.counts.items()
            if len(g) == len(context) + 1 and g[:-1] == context
        }
        if not followers:
            return lower
        total = sum(followers.values())
        discounts = self.discounts[len(context) + 1]
        own = followers.get(word, 0)
        gamma = Fraction(sum(discounts[min(c, 3)] for c in followers.values()), total)
        return Fraction(own - discounts[min(own, 3)], total) + gamma * lower


@pytest.mark.parametrize("order", range(4))
def test_agrees_with_the_formulas(order):
    sequences = random_sequences(order, 60, SIZE)
    reference = Reference(sequences, order, SIZE)
    fallback = [0, Fraction(1, 2), 1, Fraction(3, 2)]
    # Otherwise the discounts would not have been compared.
    assert reference.discounts[order + 1] != fallback or order == 0
    sizes = VocabularySizes(SIZE, SIZE, True)
    model = count(MarkovConfig(order=order, smoothing="kneser-ney"), sizes, sequences)
    unseen = random_sequences(99, 4, SIZE)
    inputs, targets = as_batch([*sequences[:6], *unseen])
    found = model.log_probs(inputs, targets).exp()
    for row, sequence in enumerate([*sequences[:6], *unseen]):
        tokens = [BOS] * order + [int(t) for t in sequence]
        for i in range(len(sequence)):
            expected = reference.probability(tokens[i + order], tuple(tokens[i : i + order]))
            assert found[row, i].item() == pytest.approx(float(expected), rel=2e-6)


def test_every_word_of_the_vocabulary_gets_something():
    sizes = VocabularySizes(SIZE, SIZE, True)
    model = count(MarkovConfig(order=2), sizes, [np.array([4, 5, 2]), np.array([4, 5, 6, 2])])
    probs = model.probs(torch.tensor([[4, 5], [9, 9], [BOS, 9]]))
    assert (probs[:, :2] == 0).all()
    assert (probs[:, 2:] > 0).all()
    # 3 (unknown) and 9 were never seen: smoothing makes no difference between them.
    torch.testing.assert_close(probs[:, 3], probs[:, 9])
    assert probs[0, 2] > probs[0, 9]
