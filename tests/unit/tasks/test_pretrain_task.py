"""The task `pretrain`: what each objective puts in and asks for, loss by parts, validation."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from headway.data.blocks import SENTENCE
from headway.data.codecs import TextConfig
from headway.data.corpora import Corpus, DataConfig
from headway.data.corruption import share_of
from headway.data.prepare import prepare
from headway.errors import ConfigError, DataError
from headway.models import FAMILIES
from headway.models.encoder import EncoderConfig
from headway.models.transformer import TransformerConfig
from headway.models.unilm import UnilmConfig
from headway.search import SearchConfig
from headway.tasks import CONFIGS, OBJECTIVES, kind_of
from headway.tasks.masked import FOLLOWS, NO_PAIR, OTHER

# No word comes twice, so that each tells its document and its place.
DOCUMENTS = [
    "\n".join(
        " ".join(f"D{d}S{s}W{w}" for w in range(3 + (d + s) % 4)) + " ." for s in range(8 + d)
    )
    for d in range(5)
]
ASKING = [name for name in OBJECTIVES if name != "none"]
BLOCK = 20
ASKING = [name for name in OBJECTIVES if name != "none"]
READER = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.0, segments=2)
WRITER = TransformerConfig(
    d_model=8, d_ff=8, n_heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0
)
BOTH = UnilmConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.0)
GREEDY = SearchConfig(beam=1)


def make_task(objective, **settings):
    kind = kind_of("pretrain", CONFIGS[objective](**settings))
    text = TextConfig(kind="words", begin=kind.begins)
    return kind.learn(lambda: iter([(document,) for document in DOCUMENTS]), text)


def make_store(task, folder, documents=DOCUMENTS, form="documents", epoch=None):
    (folder / "a.txt").write_text("\n\n".join(documents), "utf-8")
    corpora = (Corpus(file="a.txt", format=form),)
    prepared = prepare(
        corpora,
        task.codecs,
        folder / "stores",
        root=folder,
        block=task.block(DataConfig(train="a.txt", block=BLOCK)),
        sentences=True,
    )
    return prepared.store if epoch is None else prepared.at(1, epoch)[0]


def make_model(task):
    torch.manual_seed(0)
    config = {"encoder": READER, "transformer": WRITER, "unilm": BOTH}[task.family]
    resolved = config.resolve(100, task.vocabularies)
    return FAMILIES[config.family].build(resolved, task.vocabularies)


def rows_of(batch, name="src"):
    valid = batch["tgt_valid" if name == "tgt_out" else "src_valid"]
    return [ids[there].tolist() for ids, there in zip(batch[name], valid, strict=True)]


def words(task, ids):
    return task.codec.tokenizer.tokens(ids)


def everything(task, store, draw=None):
    return task.batch(store, np.arange(len(store)), draw)


@pytest.mark.parametrize("objective", ASKING)
def test_batches_are_a_function_of_seed_epoch_and_passage(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    batch = everything(task, store, (1, 2))
    order = np.array([3, 0, len(store) - 1])
    some = task.batch(store, order, (1, 2))
    for place, index in enumerate(order.tolist()):
        alone = task.batch(store, np.array([index]), (1, 2))
        for name, [values] in alone.items():
            there = (slice(len(values)),) if values.dim() else ()
            assert torch.equal(values, some[name][place][there])
            assert torch.equal(values, batch[name][index][there])
    for other in ((1, 3), (2, 2)):
        changed = everything(task, store, other)
        assert any(
            changed[name].shape != values.shape or not torch.equal(changed[name], values)
            for name, values in batch.items()
        )
    fixed, again = everything(task, store), everything(task, store)
    assert all(torch.equal(values, again[name]) for name, values in fixed.items())


@pytest.mark.parametrize("objective", ASKING)
def test_nothing_is_longer_than_a_block(objective, tmp_path):
    task = make_task(objective, **({"rate": 0.9} if objective == "t5" else {}))
    store = make_store(task, tmp_path)
    assert store.lengths("text").max() == BLOCK - task.n_marks
    for epoch in range(5):
        batch = everything(task, store, (1, epoch))
        assert batch["src"].size(1) <= BLOCK
        assert "tgt_in" not in batch or batch["tgt_in"].size(1) <= BLOCK


def test_hidden_words_are_asked_for_and_marks_are_not(tmp_path):
    task = make_task("masked")
    store = make_store(task, tmp_path)
    batch = everything(task, store, (1, 0))
    codec, mask = task.codec, task.alphabet.mask
    [(name, (targets, rows))] = task.asked(batch).items()
    assert name == "masked"
    for row, (seen, whole) in enumerate(zip(rows_of(batch), rows_of(batch, "words"), strict=True)):
        assert whole == [codec.bos, *store["text"][row].tolist(), codec.eos]
        asked = targets[rows == row].tolist()
        assert len(asked) == share_of(len(whole) - 2, 0.15)
        places = batch["is_masked"][row].nonzero()[:, 0].tolist()
        assert asked == [whole[place] for place in places]
        assert [i for i, (a, b) in enumerate(zip(seen, whole, strict=True)) if a != b] == [
            place for place in places if seen[place] != whole[place]
        ]
    assert (batch["src"] == mask).sum() > 0.6 * len(targets)


def test_half_of_the_pairs_follow_and_the_others_come_from_another_document(tmp_path):
    task = make_task("next")
    counts = Counter()
    for epoch in range(30):
        store = make_store(task, tmp_path, epoch=epoch)
        batch = everything(task, store, (1, epoch))
        for row, label in enumerate(batch["next"].tolist()):
            ids = rows_of(batch)[row]
            segment = batch["segment"][row][: len(ids)].tolist()
            assert segment == sorted(segment)
            names = words(task, ids)
            border = names.index("⟨eos⟩")
            first, second = names[1:border], names[border + 1 : -1]
            assert (names[0], names[-1]) == ("⟨bos⟩", "⟨eos⟩")
            assert segment.count(0) == border + 1
            counts[label] += 1
            if label == NO_PAIR:
                assert (len(first), second) == (1, [])
                continue
            own = {name.split("S")[0] for name in first if name != "."}
            theirs = {name.split("S")[0] for name in second if name != "."}
            if label == FOLLOWS:
                assert words(task, store["text"][row].tolist()) == first + second
                assert own == theirs or not own or not theirs
            else:
                is_last = row + 1 in store.documents
                room = BLOCK - 3 if is_last else store.lengths("text")[row]
                assert len(first) + len(second) <= room
                assert not own & theirs
                assert len(theirs) <= 1
            # A sentence begins with the second one, or no sentence begins in the passage at all.
            if label == FOLLOWS and store[SENTENCE][row][1:].any():
                assert store[SENTENCE][row][len(first)]
    n = counts[FOLLOWS] + counts[OTHER]
    assert abs(counts[FOLLOWS] - n / 2) < 4 * math.sqrt(n) / 2
    assert counts[NO_PAIR] < n / 20


def test_other_documents_are_drawn_evenly(tmp_path):
    task = make_task("next")
    store = make_store(task, tmp_path)
    own_document = np.searchsorted(store.documents, np.arange(len(store)), side="right") - 1
    drawn = Counter()
    for epoch in range(150):
        batch = everything(task, store, (1, epoch))
        for row, label in enumerate(batch["next"].tolist()):
            names = words(task, rows_of(batch)[row])
            second = names[names.index("⟨eos⟩") + 1 : -1]
            if label == OTHER:
                drawn.update({(own_document[row], n.split("S")[0]) for n in second if n != "."})
    blocks = np.diff(store.documents)
    assert not any(drawn[own, f"D{own}"] for own in range(5))
    for own in range(5):
        total = sum(count for (row, _), count in drawn.items() if row == own)
        for other in set(range(5)) - {own}:
            expected = blocks[other] / (blocks.sum() - blocks[own])
            assert drawn[own, f"D{other}"] / total == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("form", ["lines", "documents"])
def test_lengths_and_ends_do_not_tell_pairs_apart(tmp_path, form):
    task = make_task("next")
    documents = DOCUMENTS if form == "documents" else ["\n".join(DOCUMENTS)]
    lengths, ends = {FOLLOWS: [], OTHER: []}, {FOLLOWS: [], OTHER: []}
    for epoch in range(100 if form == "documents" else 20):
        store = make_store(task, tmp_path, documents, form, epoch)
        batch = everything(task, store, (1, epoch))
        for ids, label in zip(rows_of(batch), batch["next"].tolist(), strict=True):
            if label != NO_PAIR:
                lengths[label].append(len(ids))
                ends[label].append(words(task, ids)[-2] == ".")
    # The second halves are drawn anew, so that lengths of the whole vary a little more.
    assert np.mean(lengths[OTHER]) == pytest.approx(np.mean(lengths[FOLLOWS]), rel=0.05)
    assert np.mean(ends[OTHER]) == pytest.approx(np.mean(ends[FOLLOWS]), abs=0.06)


def test_one_document_has_no_next_sentences_to_tell_apart(tmp_path):
    task = make_task("masked_next")
    store = make_store(task, tmp_path, DOCUMENTS[:1])
    with pytest.raises(DataError, match="all of the text is one document, and next sentences need"):
        task.check(store)
    make_task("masked").check(store)


def test_a_text_is_restored_from_its_noise(tmp_path):
    task = make_task("bart", infill=0.0)
    store = make_store(task, tmp_path)
    batch = everything(task, store, (1, 0))
    moved = 0
    sources, targets = rows_of(batch), rows_of(batch, "tgt_out")
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert target == [*store["text"][row].tolist(), task.codec.eos]
        assert sorted(source) == sorted(target)  # the same sentences
        moved += source != target
    assert moved > len(store) / 2
    assert (batch["tgt_in"][:, 0] == task.target.bos).all()

    task = make_task("bart", permute=False, delete=0.1, mask=0.1, infill=0.3)
    damaged = everything(task, store, (1, 0))
    for source, target in zip(rows_of(damaged), rows_of(damaged, "tgt_out"), strict=True):
        n = len(target) - 1
        after = n - share_of(n, 0.1)
        hidden = share_of(after, 0.1)
        gone = share_of(after, 0.3)
        kept = [token for token in source if token != task.alphabet.mask]
        assert after - hidden - gone <= len(kept) - 1 <= after - gone
        places = iter(target)
        assert all(token in places for token in kept)  # in order


def test_spans_are_restored_from_their_sentinels(tmp_path):
    task = make_task("t5", sentinels=4)
    assert task.alphabet.sentinels == (4, 5, 6, 7)
    store = make_store(task, tmp_path)
    batch = everything(task, store, (1, 0))
    sources, targets = rows_of(batch), rows_of(batch, "tgt_out")
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert source[-1] == target[-1] == task.codec.eos
        spans, last = {}, None
        for token in target[:-1]:
            if token in task.alphabet.sentinels:
                last = spans.setdefault(token, [])
            else:
                last.append(token)
        whole = [t for token in source[:-1] for t in spans.get(token, [token])]
        assert whole == store["text"][row].tolist()


@pytest.mark.parametrize("pattern", ["bidirectional", "left_to_right", "sequence"])
def test_one_network_reads_and_writes(pattern, tmp_path):
    shares = dict.fromkeys(["bidirectional", "left_to_right", "sequence"], 0.0)
    task = make_task("unilm", **{**shares, pattern: 1.0})
    store = make_store(task, tmp_path)
    batch = everything(task, store, (1, 0))
    for row, source in enumerate(rows_of(batch)):
        tokens, target = store["text"][row].tolist(), rows_of(batch, "tgt_out")[row]
        whole = rows_of(batch, "words")[row]
        if pattern == "bidirectional":
            assert (whole, target) == ([*tokens, task.codec.eos], [])
            n_asked = share_of(len(tokens), 0.15)
        else:
            assert source == whole
            assert [*source[:-1], *target[:-1]] == tokens
            assert target[-1] == task.codec.eos
            n_asked = 0
        if pattern == "left_to_right":
            assert source == []
        elif pattern == "sequence" and len(tokens) > 1:
            assert source[-1] == task.codec.eos
            assert len(source) > 1
            begins = store[SENTENCE][row]
            assert begins[len(source) - 1] or not begins[1:].any()
        assert batch["is_masked"][row].sum() == n_asked


def test_patterns_are_mixed_and_each_row_is_told_as_alone(tmp_path):
    task = make_task("unilm")
    store = make_store(task, tmp_path)
    model = make_model(task).eval()
    together = {part: [] for part in task.parts}
    alone = {part: [] for part in task.parts}
    kinds = Counter()
    with torch.inference_mode():
        for epoch in range(5):
            batch = everything(task, store, (1, epoch))
            told, asked = task.told(model, batch), task.asked(batch)
            for row in range(len(store)):
                single = task.batch(store, np.array([row]), (1, epoch))
                found = task.told(model, single)
                for part in task.parts:
                    there = asked[part][1] == row
                    together[part].append(told[part][1][there])
                    alone[part].append(found[part][1])
                kinds[bool(batch["src_valid"][row].any()), bool(batch["tgt_valid"][row].any())] += 1
    for part in task.parts:
        assert torch.allclose(torch.cat(together[part]), torch.cat(alone[part]), atol=1e-5)
    n = sum(kinds.values())
    for kind in ((True, False), (False, True), (True, True)):
        assert abs(kinds[kind] / n - 1 / 3) < 0.15


@pytest.mark.parametrize("objective", ASKING)
def test_counts_are_known_before_and_parts_add_up_over_batches(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    objective = task.objective(make_model(task), 0.0).eval()
    assert list(objective.weights) == list(task.parts)
    halves = [task.batch(store, half, (1, 0)) for half in np.array_split(np.arange(len(store)), 2)]
    whole = everything(task, store, (1, 0))
    counts = [objective.counts(batch) for batch in (*halves, whole)]
    with torch.inference_mode():
        sums = [objective(batch) for batch in (*halves, whole)]
    for part in task.parts:
        assert counts[0][part] + counts[1][part] == counts[2][part] > 0
        assert (sums[0][part] + sums[1][part]).item() == pytest.approx(
            sums[2][part].item(), rel=1e-4
        )
    valid = [name for name in whole if name.endswith("_valid")]
    assert objective.tokens(whole) == sum(int(whole[name].sum()) for name in valid)


@pytest.mark.parametrize("objective", ASKING)
def test_every_weight_learns(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    loss = task.objective(make_model(task), 0.1).train()
    sum(loss(everything(task, store, (1, 0)), seed=1).values()).backward()
    assert [name for name, p in loss.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("objective", ASKING)
def test_validation_is_the_loss_and_the_right_answers(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    loss = task.objective(make_model(task), 0.0)
    judge = task.validator(store, DataConfig(train="a.txt"), "loss", 10, GREEDY)
    first, second = judge(loss), judge(loss)
    assert first == second
    batch = everything(task, store)
    loss.eval()
    means = {part: total.item() / loss.counts(batch)[part] for part, total in loss(batch).items()}
    assert first.figures["valid_loss"] == pytest.approx(sum(means.values()), rel=1e-4)
    told, asked = task.told(loss.model, batch), task.asked(batch)
    for part in task.parts:
        output, states = told[part]
        right = (output(states).argmax(-1) == asked[part][0]).double().mean().item()
        assert first.figures[f"{part}_accuracy"] == pytest.approx(100 * right)
        if len(means) > 1:
            assert first.figures[f"valid_{part}_loss"] == pytest.approx(means[part], rel=1e-4)
    assert set(task.validated) - {"loss"} <= first.figures.keys()
    assert len(first.samples) == 3
    assert all(isinstance(text, str) for sample in first.samples for text in sample)


def test_figures_have_intervals_and_floors(tmp_path):
    task = make_task("masked_next")
    store = make_store(task, tmp_path)
    found = task.judge(make_model(task), store, resamples=100)
    assert tuple(found.scores) == task.metrics
    assert "wilson95" in found.scores["next_accuracy"].signature
    assert "bootstrap95" in found.scores["masked_accuracy"].signature
    asked = task.asked(everything(task, store))
    for part in task.parts:
        score = found.scores[f"{part}_accuracy"]
        assert score.low <= score.value <= score.high
        [(_, most)] = Counter(asked[part][0].tolist()).most_common(1)
        expected = 100 * most / len(asked[part][0])
        assert found.floors[f"{part}_accuracy"] == pytest.approx(expected)


def test_samples_show_what_was_hidden(tmp_path):
    task = make_task("masked")
    store = make_store(task, tmp_path)
    judge = task.validator(store, DataConfig(train="a.txt"), "loss", 10, GREEDY)
    [(source, output, right), *_] = judge(task.objective(make_model(task), 0.0)).samples
    assert source.startswith("⟨bos⟩ ")
    assert source.endswith(" ⟨eos⟩")
    assert len(output.split(" | ")) == len(right.split(" | ")) == 3


def test_passages_without_sense_have_no_answer(tmp_path):
    """One token, and nothing but what the tokenizer does not know."""
    documents = ["D0S0W0", "unknown words only", "D1S0W0 D1S0W1"]
    for objective in ASKING:
        task = make_task(objective)
        store = make_store(task, tmp_path, documents)
        batch = everything(task, store, (1, 0))
        loss = task.objective(make_model(task), 0.0).eval()
        assert all(math.isfinite(value.item()) for value in loss(batch).values())
    task = make_task("masked")
    batch = everything(task, store, (1, 0))
    assert batch["is_masked"].sum(1).tolist() == [1, 0, 1]


def test_codecs_are_saved_and_loaded(tmp_path):
    task = make_task("t5", sentinels=2)
    task.save(tmp_path)
    loaded = kind_of("pretrain", CONFIGS["t5"](sentinels=2)).load(tmp_path)
    assert loaded.alphabet.sentinels == (4, 5)
    assert loaded.codecs["text"].fingerprint() == task.codecs["text"].fingerprint()
    with pytest.raises(ConfigError, match="'masked' needs the control token 'mask', which this"):
        kind_of("pretrain", CONFIGS["masked"]()).load(tmp_path)


def test_a_block_has_room_for_text():
    for objective, marks in (("masked", 2), ("masked_next", 3), ("next", 3), ("t5", 2)):
        task = make_task(objective)
        assert task.block(DataConfig(train="a.txt", block=10)) == 10 - marks
    with pytest.raises(ConfigError, match=r"data\.block = 2 has no room for a text: 2 of the tok"):
        make_task("masked").block(DataConfig(train="a.txt", block=2))
    for objective in ("next", "masked_next"):
        with pytest.raises(ConfigError, match=r"data\.block = 4 has no room for two texts: 3 of"):
            make_task(objective).block(DataConfig(train="a.txt", block=4))


def test_lines_and_running_text_are_documents_too(tmp_path):
    task = make_task("masked_next")
    lines = "\n".join(DOCUMENTS).split("\n")
    store = make_store(task, tmp_path, ["\n".join(lines)], form="lines")
    assert len(store.documents) == len(lines) + 1
    everything(task, store, (1, 0))
    store = make_store(task, tmp_path, form="text")
    assert store.documents.tolist() == [0, len(store)]
    for a, b in pairwise(range(len(store))):
        assert len(store["text"][a]) == BLOCK - 3 >= len(store["text"][b])


@pytest.mark.parametrize(
    ("objective", "settings", "message"),
    [
        ("masked", {"masked": 0.8, "random": 0.3}, "are together more than 1"),
        ("bart", {"permute": False, "infill": 0.0}, "with nothing damaged has nothing to restore"),
        (
            "unilm",
            {"bidirectional": 0.0, "left_to_right": 0.0, "sequence": 0.0},
            "are all 0; raise one of them",
        ),
    ],
)
def test_settings_that_make_no_sense(objective, settings, message):
    with pytest.raises(ValueError, match=message):
        CONFIGS[objective](**settings)
