"""One search for every family: greedy, beam, exhaustive and forced scores agree."""

import itertools

import pytest
import torch
from equivalence_cases import (
    BOS,
    EOS,
    equivalence,
    has_source,
    make_batch,
    same_hypotheses,
    some_batch,
    sources_of,
    teacher_forced,
    words,
)

from headway.models.ensemble import Ensemble
from headway.search import (
    Constraints,
    Hypothesis,
    SearchConfig,
    beam,
    constrained,
    exhaustive,
    greedy,
    sample,
    score_targets,
)
from headway.tasks.losses import forced_log_probs

MARKS = {"bos": BOS, "eos": EOS}
SEEDS = (0, 7)  # sources that the models have learnt, and some that they have not


def variety(case, hypotheses):
    """A search whose outputs are all alike would prove little; without a source they must be."""
    if not case.has_source:
        return
    lengths = {len(one.tokens) for one in hypotheses}
    assert len(lengths) >= 3, lengths
    assert any(one.finished for one in hypotheses)


@equivalence("greedy", "step")
def test_beam_one_is_greedy(case):
    model, config, seen, compared = case.taught(), SearchConfig(beam=1, max_length=12), [], 0
    for seed in SEEDS:
        batch = some_batch(seed)
        greedily = greedy(model, batch, **MARKS, config=config)
        beams = beam(model, batch, **MARKS, config=config)
        for best, found in zip(greedily, beams, strict=True):
            compared += same_hypotheses([best], found)
        seen += greedily
    assert compared > len(seen) // 2
    variety(case, seen)


@equivalence("batch", "step")
def test_a_batch_is_searched_as_its_sentences_are(case):
    model, config, compared, n = case.taught(), SearchConfig(beam=3, n_best=3, max_length=12), 0, 0
    for seed in SEEDS:
        batch = some_batch(seed)
        together = beam(model, batch, **MARKS, config=config)
        for i, found in enumerate(together):
            single = sources_of(batch, slice(i, i + 1))
            compared += same_hypotheses(found, beam(model, single, **MARKS, config=config)[0])
            n += 1
    assert compared > n // 2


@equivalence("padded", "step")
def test_padding_changes_no_search(case):
    model, config, batch = case.taught(), SearchConfig(beam=3, max_length=12), some_batch()
    wider = {
        "src": torch.nn.functional.pad(batch["src"], (0, 5), value=6),
        "src_valid": torch.nn.functional.pad(batch["src_valid"], (0, 5)),
    }
    expected = beam(model, batch, **MARKS, config=config)
    compared = [
        same_hypotheses(found, usual)
        for found, usual in zip(beam(model, wider, **MARKS, config=config), expected, strict=True)
    ]
    assert sum(compared) > len(compared) // 2


def as_targets(hypotheses):
    """Tokens of each, END at the end of finished ones -> (M, T), valid (M, T)."""
    rows = [[*one.tokens, *([EOS] if one.finished else [])] for one in hypotheses]
    width = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    return tokens, torch.arange(width)[None] < torch.tensor([len(row) for row in rows])[:, None]


@equivalence("forced", "step", "score")
@pytest.mark.parametrize("k", [1, 4])
def test_search_score_is_forced_score_is_teacher_forced(case, k):
    model, batch = case.taught(), some_batch(7)
    config = SearchConfig(beam=k, n_best=k, max_length=12, alpha=0.6)
    results = beam(model, batch, **MARKS, config=config)
    if k == 1:
        results = [[one] for one in greedy(model, batch, **MARKS, config=config)]
    variety(case, [one for found in results for one in found])
    for row, found in enumerate(results):
        targets, valid = as_targets(found)
        sources = {n: batch[n][row : row + 1].expand(len(found), -1) for n in ("src", "src_valid")}
        walked = score_targets(model, sources, targets, valid, bos=BOS)
        begin = torch.full_like(targets[:, :1], BOS)
        teacher = {**sources, "tgt_in": torch.cat([begin, targets[:, :-1]], dim=1)}
        teacher |= {"tgt_out": targets, "tgt_valid": valid}
        passed = forced_log_probs(model, teacher, BOS)
        torch.testing.assert_close(walked[valid], passed, rtol=1e-4, atol=1e-4)
        for one, scores, mask in zip(found, walked, valid, strict=True):
            assert one.token_log_probs == pytest.approx(scores[mask].tolist(), abs=1e-4)
            assert one.log_prob == pytest.approx(scores.sum().item(), abs=1e-4)
            assert one.score == pytest.approx(one.log_prob / int(mask.sum()) ** 0.6, abs=1e-4)


LIMIT = 4
TOY = 5  # pad, begin, end and two words; a model may write any of them


def every_output(model, source, alpha):
    """All finished outputs of at most LIMIT tokens, END counted, by teacher-forced passes."""
    found = []
    others = [token for token in range(TOY) if token != EOS]
    for n in range(LIMIT):
        rows = [[*tokens, EOS] for tokens in itertools.product(others, repeat=n)]
        ended = torch.tensor(rows)  # (M, n+1)
        batch = {k: v.expand(len(ended), -1) for k, v in source.items()}
        batch["tgt_in"] = torch.nn.functional.pad(ended[:, :-1], (1, 0), value=BOS)
        log_probs = teacher_forced(model, batch).log_softmax(-1).gather(2, ended[..., None])
        for tokens, steps in zip(ended.tolist(), log_probs.squeeze(2).tolist(), strict=True):
            score = sum(steps) / len(steps) ** alpha
            found.append(Hypothesis(tokens[:-1], sum(steps), score, steps, True))
    assert len(found) == sum(len(others) ** n for n in range(LIMIT))
    return sorted(found, key=lambda one: -one.score)


@equivalence("wide", "step", "score")
@pytest.mark.parametrize(("alpha", "stop"), [(0.0, "safe"), (1.0, "finished")])
def test_a_beam_as_wide_as_the_space_is_exhaustive(case, alpha, stop):
    model = case.taught(TOY)
    widest = TOY**LIMIT  # no candidate of any step is ever left out
    config = SearchConfig(beam=widest, n_best=8, alpha=alpha, max_length=LIMIT, stop=stop)
    batch = make_batch([[4, 3], [3], [4, 4, 3, 3, 4]])
    results = beam(model, batch, **MARKS, config=config)
    compared = []
    for i, found in enumerate(results):
        everything = every_output(model, sources_of(batch, slice(i, i + 1)), alpha)
        assert found[0].score == pytest.approx(everything[0].score, abs=1e-4)
        compared.append(same_hypotheses(found, everything[: len(found)]))
    assert any(compared)


@equivalence("best", "step", "score")
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_branch_and_bound_finds_the_best_of_all_outputs(case, alpha):
    model, batch = case.taught(TOY), make_batch([[4, 3], [3], [], [4, 4, 3, 3, 4]])
    config = SearchConfig(method="exhaustive", alpha=alpha, max_length=LIMIT)
    for i, found in enumerate(exhaustive(model, batch, **MARKS, config=config)):
        everything = every_output(model, sources_of(batch, slice(i, i + 1)), alpha)
        assert found.proven
        same_hypotheses([found.best], everything[:1])


@equivalence("terms", "step")
def test_constrained_by_nothing_is_the_beam(case):
    model, batch, compared = case.taught(), some_batch(7), []
    config = SearchConfig(beam=3, n_best=3, max_length=12)
    nothing = [Constraints((), ())] * len(batch["src"])
    bound = constrained(model, batch, nothing, text=str, **MARKS, config=config)
    free = beam(model, batch, **MARKS, config=config)
    for found, expected in zip(bound, free, strict=True):
        compared.append(same_hypotheses(found, expected))
    assert sum(compared) > len(compared) // 2


@equivalence("drawn", "step")
def test_a_batch_draws_what_its_sentences_draw(case):
    model, batch = case.taught(), some_batch(7)
    config = SearchConfig(method="sample", n_best=3, max_length=12, temperature=1.5, seed=5)
    together = sample(model, batch, **MARKS, config=config)
    for i, found in enumerate(together):
        single = sources_of(batch, slice(i, i + 1))
        [alone] = sample(model, single, **MARKS, config=config, ids=[i])
        assert [one.tokens for one in alone] == [one.tokens for one in found]
    assert len({tuple(one.tokens) for found in together for one in found}) > len(together)


@equivalence("ensemble", "step")
def test_an_ensemble_of_one_is_the_model(case):
    model, batch, config = case.taught(), some_batch(7), SearchConfig(beam=3, max_length=12)
    one, alone = (
        beam(which, batch, **MARKS, config=config) for which in (Ensemble([model]), model)
    )
    compared = [same_hypotheses(found, usual) for found, usual in zip(one, alone, strict=True)]
    assert sum(compared) > len(compared) // 2


LONGEST = 39  # with END as long as the learned positions of the case that has them


@equivalence("edges", "step", only=has_source)
def test_an_empty_source_a_word_and_the_longest_source_are_searched(case):
    model = case.taught()
    batch = make_batch([[], [5], words(LONGEST, 3)])
    config = SearchConfig(beam=3, max_length=LONGEST)
    for found in (
        beam(model, batch, **MARKS, config=config),
        [[one] for one in greedy(model, batch, **MARKS, config=config)],
        sample(model, batch, **MARKS, config=SearchConfig(method="sample", max_length=LONGEST)),
    ):
        assert len(found) == 3
        for [best] in found:
            assert len(best.token_log_probs) == len(best.tokens) + best.finished
            assert sum(best.token_log_probs) == pytest.approx(best.log_prob, abs=1e-4)
