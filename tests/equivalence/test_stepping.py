"""The teacher-forced pass, the cached step, the fused kernel and padding give the same numbers."""

import torch
from equivalence_cases import (
    BOS,
    EOS,
    VOCABULARY,
    differ,
    equivalence,
    has_gradients,
    make_batch,
    some_batch,
    teacher_forced,
    words,
)

from headway.nn.capture import capture

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
CUT = 20  # longer than a new cache, so that buffers grow


def rounding(expected):
    """The tolerance for logits, whose rounding grows with the largest of them."""
    return {"rtol": 1e-4, "atol": max(1e-5, 1e-6 * expected.abs().max().item())}


def long_batch():
    return make_batch([words(6, 1), words(2, 2)], [words(CUT, 3), words(CUT - 3, 4)])


@equivalence("cached", "step", "score")
def test_cached_step_is_the_teacher_forced_pass(case):
    model = case.taught()
    for batch in (some_batch(), long_batch()):
        expected = teacher_forced(model, batch)
        state = model.start(batch)
        for t in range(expected.size(1)):
            logits, state = model.step(batch["tgt_in"][:, None, t : t + 1], state)
            torch.testing.assert_close(logits[:, 0], expected[:, t], **rounding(expected))


@equivalence("cached", "step", "score")
def test_hypotheses_that_are_reordered_and_kept_go_on_from_their_own_past(case):
    """Three hypotheses per sentence, moved about; then one sentence leaves."""
    model, batch = case.taught(), some_batch()
    B = batch["src"].size(0)
    first = torch.tensor([words(3, 50 + b) for b in range(B)])  # (B, 3)
    _, state = model.step(torch.full((B, 1, 1), BOS), model.start(batch))
    _, state = model.step(first[..., None], state.reorder(torch.zeros(B, 3, dtype=torch.long)))
    parents = torch.tensor([[2, 0], [1, 1], [0, 2], [2, 2], [0, 1], [1, 0]])
    second = torch.tensor([words(2, 70 + b) for b in range(B)])  # (B, 2)
    rows = torch.tensor([5, 0, 3, 1])
    state = state.reorder(parents).keep(rows)
    logits, _ = model.step(second[rows][..., None], state)
    for i, row in enumerate(rows.tolist()):
        for n in range(2):
            past = [BOS, first[row, parents[row, n]].item(), second[row, n].item()]
            single = {name: batch[name][row : row + 1] for name in ("src", "src_valid")}
            single["tgt_in"] = torch.tensor([past])
            torch.testing.assert_close(logits[i, n], teacher_forced(model, single)[0, -1], **CLOSE)


@equivalence("cached", "step")
def test_a_fork_goes_its_own_way(case):
    model, batch = case.taught(), some_batch()
    B = batch["src"].size(0)
    begin, a, b = (torch.full((B, 1, 1), token) for token in (BOS, 5, 6))
    _, state = model.step(begin, model.start(batch))
    fork = state.fork()
    after_a, _ = model.step(a, state)
    after_b, _ = model.step(b, fork)
    fresh = [model.step(torch.cat([begin, x], dim=2), model.start(batch))[0] for x in (a, b)]
    torch.testing.assert_close(after_a, fresh[0], **CLOSE)
    torch.testing.assert_close(after_b, fresh[1], **CLOSE)
    assert differ(after_a, after_b)


@equivalence("prefix", "step")
def test_several_tokens_in_one_step_are_those_tokens_one_by_one(case):
    model, batch = case.taught(), long_batch()
    tokens = batch["tgt_in"][:, None]  # (B, 1, T)
    T, single = tokens.size(2), []
    state = model.start(batch)
    for t in range(T):
        logits, state = model.step(tokens[..., t : t + 1], state)
        single.append(logits)
    for cuts in ([T], [1, 2, T], [3, 17, 18, T]):
        state, start = model.start(batch), 0
        for stop in cuts:
            logits, state = model.step(tokens[..., start:stop], state)
            torch.testing.assert_close(logits, single[stop - 1], **CLOSE)
            start = stop


@equivalence("prefix", "step")
def test_a_prefix_at_the_start_is_its_tokens_stepped(case):
    model, batch = case.taught(), long_batch()
    tokens = batch["tgt_in"]
    state = model.start(batch, prefix=tokens[:, :5])
    after_prefix, _ = model.step(tokens[:, None, 5:6], state)
    stepped, _ = model.step(tokens[:, None, :6], model.start(batch))
    torch.testing.assert_close(after_prefix, stepped, **CLOSE)


@equivalence("prefix", "step")
def test_several_tokens_for_several_hypotheses(case):
    model, batch = case.taught(), some_batch()
    B = batch["src"].size(0)
    tokens = torch.tensor([[words(4, 10 * b + n) for n in range(3)] for b in range(B)])  # (B, 3, 4)
    begin = torch.full((B, 1, 1), BOS)
    states = [model.step(begin, model.start(batch))[1] for _ in range(2)]
    at_once, one_by_one = (s.reorder(torch.zeros(B, 3, dtype=torch.long)) for s in states)
    together, _ = model.step(tokens, at_once)
    for t in range(4):
        single, one_by_one = model.step(tokens[..., t : t + 1], one_by_one)
    torch.testing.assert_close(together, single, **CLOSE)


@equivalence("fused", "attend", "score")
def test_looking_changes_nothing(case):
    model, batch = case.taught(), some_batch()
    with torch.inference_mode():
        fused = model(batch)
        with capture(model) as maps:
            eager = model(batch)
    torch.testing.assert_close(eager, fused, **CLOSE)
    assert maps
    for weights in maps.values():
        assert weights.size(0) == batch["src"].size(0)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


@equivalence("fused", "attend", "score")
def test_looking_changes_no_gradient(case):
    gradients = []
    for looking in (False, True):
        model, batch = case.build(), some_batch()
        if looking:
            with capture(model):
                hidden = model(batch)
        else:
            hidden = model(batch)
        hidden[batch["tgt_valid"]].square().sum().backward()
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    for fused, eager in zip(*gradients, strict=True):
        torch.testing.assert_close(fused, eager, rtol=1e-3, atol=1e-3)


def more_padding(batch, source=4, target=3):
    """The same with more columns, filled with words that must not be looked at."""
    wider = {}
    for name, value in batch.items():
        extra = source if name.startswith("src") else target
        filling = torch.full((value.size(0), extra), 7).to(value.dtype)
        if value.dtype == torch.bool:
            filling = torch.zeros_like(filling)
        wider[name] = torch.cat([value, filling], dim=1)
    for side, valid in (("src", "src_valid"), ("tgt_in", "tgt_valid")):
        noise = torch.randint(4, VOCABULARY, wider[side].shape)
        wider[side] = torch.where(wider[valid], wider[side], noise)
    return wider


@equivalence("padded", "score")
def test_padding_changes_no_word_before_it(case):
    model, batch = case.taught(), some_batch()
    wider, valid = more_padding(batch), batch["tgt_valid"]
    expected, found = teacher_forced(model, batch), teacher_forced(model, wider)
    torch.testing.assert_close(found[:, : valid.size(1)][valid], expected[valid], **CLOSE)


@equivalence("padded", "score", only=has_gradients)
def test_padding_changes_no_gradient(case):
    gradients = []
    for change in (lambda batch: batch, more_padding):
        model, batch = case.build(), change(some_batch())
        valid = batch["tgt_valid"]
        model.output.cross_entropy(model(batch)[valid], batch["tgt_out"][valid], 0.1).backward()
        gradients.append({n: p.grad for n, p in model.named_parameters()})
    for name, expected in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], expected, rtol=1e-3, atol=1e-4)


@equivalence("padded", "step")
def test_padding_changes_no_step(case):
    model, batch = case.taught(), some_batch()
    tokens = batch["tgt_in"][:, None, :4]
    expected, _ = model.step(tokens, model.start(batch))
    found, _ = model.step(tokens, model.start(more_padding(batch)))
    torch.testing.assert_close(found, expected, **CLOSE)


@equivalence("padded", "step")
def test_a_source_of_padding_alone_gives_numbers(case):
    """No source is made so, but one must not poison the batch."""
    model, batch = case.taught(), some_batch()
    blank = {**batch, "src_valid": batch["src_valid"].clone()}
    blank["src_valid"][2] = False
    logits, _ = model.step(batch["tgt_in"][:, None, :3], model.start(blank))
    expected, _ = model.step(batch["tgt_in"][:, None, :3], model.start(batch))
    assert logits[..., EOS:].isfinite().all()  # of all that may be written
    others = [0, 1, 3, 4, 5]
    torch.testing.assert_close(logits[others], expected[others], **CLOSE)


@equivalence("batch", "score")
def test_a_batch_is_its_sentences_one_by_one(case):
    model, batch = case.taught(), some_batch()
    together = teacher_forced(model, batch)
    for i in range(batch["src"].size(0)):
        n_source, n_target = batch["src_valid"][i].sum(), batch["tgt_valid"][i].sum()
        single = {
            name: value[i : i + 1, : n_source if name.startswith("src") else n_target]
            for name, value in batch.items()
        }
        torch.testing.assert_close(
            teacher_forced(model, single)[0], together[i, :n_target], **CLOSE
        )


@equivalence("cached", "score")
def test_a_later_target_word_changes_nothing_before_it(case):
    model, batch = case.taught(), some_batch()
    changed = {**batch, "tgt_in": batch["tgt_in"].clone()}
    changed["tgt_in"][:, 3:] = 9
    expected, found = teacher_forced(model, batch), teacher_forced(model, changed)
    torch.testing.assert_close(found[:, :3], expected[:, :3], **CLOSE)
    assert differ(found[:, 3:], expected[:, 3:])
