"""The likeliest well-formed tags: against all sequences there are."""

from itertools import pairwise, product

import numpy as np
import pytest

from headway.data.codecs.tags import TagCodec
from headway.tasks.viterbi import best_sequence

ALLOWED = TagCodec.fit(["B-X I-X O B-Y"]).may_follow()


@pytest.mark.parametrize("n_words", [1, 2, 4])
def test_it_is_the_best_of_all_that_are_well_formed(n_words):
    rng = np.random.default_rng(n_words)
    for _ in range(20):
        log_probs = np.log(rng.dirichlet(np.full(5, 0.3), n_words))
        ways = [
            (sum(log_probs[i, tag] for i, tag in enumerate(tags)), tags)
            for tags in product(range(5), repeat=n_words)
            if all(ALLOWED[before, tag] for before, tag in pairwise([5, *tags]))
        ]
        assert best_sequence(log_probs, ALLOWED).tolist() == list(max(ways)[1])


def test_where_everything_is_allowed_each_word_has_its_best():
    log_probs = np.log([[0.1, 0.9], [0.8, 0.2]])
    assert best_sequence(log_probs, np.ones((3, 2), bool)).tolist() == [1, 0]
    assert best_sequence(np.empty((0, 5)), ALLOWED).tolist() == []
