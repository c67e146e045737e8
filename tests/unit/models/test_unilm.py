"""One network for reading and writing: three patterns, one stream, heads."""

import pytest
import torch

from headway.errors import DataError
from headway.models import FAMILIES, EncoderModel, VocabularySizes
from headway.models.encoder import EncoderConfig
from headway.models.heads import MaskedLMModel
from headway.models.unilm import UnilmModel, UnilmModelConfig
from headway.nn.capture import capture

WORDS = VocabularySizes(11, 11, shared=True, head="words")
SMALL = {"d_model": 8, "d_ff": 12, "n_heads": 2, "layers": 2, "dropout": 0.0}
KINDS = [
    {},
    {"positions": "learned", "max_positions": 12, "pooling": "first"},
    {"positions": "relative", "position_buckets": 4, "position_distance": 5},
    {"positions": "none", "segments": 0},
]
kinds = pytest.mark.parametrize("given", KINDS, ids=["sines", "learned", "relative", "none"])


def build(vocabularies=WORDS, **given):
    config = UnilmModelConfig(**SMALL, **given).resolve(1, vocabularies)
    torch.manual_seed(0)
    return FAMILIES["unilm"].build(config, vocabularies).eval()


def batch_of(source, target):
    src, tgt = torch.tensor(source), torch.tensor(target)
    return {"src": src, "src_valid": src != 0, "tgt_in": tgt}


def maps_of(model, batch):
    with torch.inference_mode(), capture(model) as maps:
        model(batch)
    return [weights > 0 for weights in maps.values()]


def test_the_three_patterns_cell_by_cell():
    """A source of 2 in a batch with one of 3, a target of 3: who looks where, in every layer."""
    model = build()
    pair = [
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],  # padding sees the source, and nobody sees it
        [1, 1, 0, 1, 0, 0],
        [1, 1, 0, 1, 1, 0],
        [1, 1, 0, 1, 1, 1],
    ]
    whole, left = [[1, 1, 0]] * 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    source, target = [[4, 2, 0], [4, 5, 2]], [[1, 6, 7], [1, 8, 0]]
    batch = batch_of(source, target)
    read = {name: batch[name] for name in ("src", "src_valid")}
    for seen, expected in (
        (maps_of(model, batch), pair),
        (maps_of(model.backbone, read), whole),
        (maps_of(model, {"tgt_in": batch["tgt_in"]}), left),
    ):
        assert len(seen) == 2
        for weights in seen:
            for head in weights[0]:
                assert head.int().tolist() == expected


@kinds
@torch.inference_mode()
def test_a_target_stands_behind_its_own_source(given):
    """Padding between the two is no distance: a pair alone gives what it gives in a batch."""
    model = build(**given)
    together = model(batch_of([[4, 2, 0, 0], [5, 6, 7, 2]], [[1, 8, 9], [1, 9, 8]]))
    for row, (source, target) in enumerate((([4, 2], [1, 8, 9]), ([5, 6, 7, 2], [1, 9, 8]))):
        alone = model(batch_of([source], [target]))
        torch.testing.assert_close(together[row : row + 1], alone)


@kinds
@torch.inference_mode()
def test_without_a_source_it_is_a_language_model(given):
    model, tokens = build(**given), torch.tensor([[1, 8, 9, 4], [1, 5, 5, 2]])
    expected = model.output(model({"tgt_in": tokens}))
    state = model.start({"tgt_in": tokens})
    for t in range(4):
        logits, state = model.step(tokens[:, None, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, t])
    source = {"src": torch.zeros(2, 0, dtype=torch.long), "src_valid": torch.zeros(2, 0).bool()}
    torch.testing.assert_close(model({**source, "tgt_in": tokens}), model({"tgt_in": tokens}))


@kinds
@torch.inference_mode()
def test_the_source_is_read_once_and_by_nobody_else(given):
    """What a step attends to of the source is in the slots of one row for each sentence."""
    model = build(**given)
    batch = batch_of([[4, 5, 2, 0], [5, 6, 7, 2]], [[1, 8], [1, 9]])
    calls = []
    model.backbone.layers[0].attention.qkv.register_forward_hook(
        lambda _, given, __: calls.append(tuple(given[0].shape[:2]))
    )
    state = model.start(batch)
    state = model.step(torch.full((2, 1, 1), 1), state)[1]
    state = state.reorder(torch.zeros(2, 3, dtype=torch.long))
    _, state = model.step(torch.tensor([[[8], [9], [4]]] * 2), state)
    assert calls == [(2, 4), (2, 1), (2, 3)]
    past = state.cache["past"]
    assert past.buffers[0][0].size(0) == 2
    assert past.visible.sum(-1).tolist() == [[5] * 3, [6] * 3]  # source, begin mark, word
    assert state.memory == {}


@torch.inference_mode()
def test_what_was_read_is_the_encoder_with_the_same_weights():
    model = build(pooling="first", pooler=True)
    sizes = VocabularySizes(11, 3, shared=False)
    settings = {**SMALL, "segments": 2, "pooling": "first", "pooler": True}
    other = FAMILIES["encoder"].build(EncoderConfig(**settings).resolve(1, sizes), sizes).eval()
    other.backbone.load_state_dict(model.backbone.state_dict())
    src = torch.tensor([[4, 5, 2, 0], [5, 6, 7, 2]])
    batch = {"src": src, "src_valid": src != 0}
    for one, two in zip(model.backbone(batch), other(batch), strict=True):
        assert torch.equal(one, two)


def test_the_head_says_what_it_is():
    writer = build()
    assert isinstance(writer, UnilmModel)
    assert writer.output.weight is writer.backbone.embedding
    reader = build(VocabularySizes(11, 3, shared=False))
    assert isinstance(reader, EncoderModel)
    assert reader.output.weight.shape == (3, 8)
    assert isinstance(build(VocabularySizes(11, 11, shared=True, head="masked")), MaskedLMModel)
    assert list(writer.backbone.state_dict()) == list(reader.backbone.state_dict())
    names = {name.partition(".")[0] for name, _ in writer.named_parameters()}
    assert names == {"backbone"}


def test_two_vocabularies_are_refused_with_a_remedy():
    with pytest.raises(ValueError) as caught:
        UnilmModelConfig().resolve(1, VocabularySizes(9, 8, shared=False, head="words"))
    assert str(caught.value) == (
        'family = "unilm" needs one vocabulary for source and target; set text.shared = true, '
        'or family = "transformer"'
    )


def test_source_and_target_are_told_apart_unless_there_are_no_segments():
    assert UnilmModelConfig().segments == UnilmModelConfig(preset="bert-mini").segments == 2
    with torch.inference_mode():
        for segments, is_told in ((2, True), (1, False), (0, False)):
            model = build(positions="none", segments=segments)
            tokens = torch.tensor([[5]])
            written = model({"tgt_in": tokens})[:, 0]
            read = model.backbone({"src": tokens, "src_valid": tokens > 0})[0][:, 0]
            assert torch.allclose(written, read, atol=1e-5) is not is_told


def test_learned_positions_hold_source_and_target():
    model = build(positions="learned", max_positions=5)
    model(batch_of([[4, 2]], [[1, 5, 6]]))
    with pytest.raises(DataError, match="position 6 is beyond the 5 learned positions"):
        model(batch_of([[4, 5, 2]], [[1, 5, 6]]))
    state = model.start(batch_of([[4, 5, 2]], [[1]]), prefix=torch.tensor([[1, 5]]))
    with pytest.raises(DataError, match="position 6 is beyond"):
        model.step(torch.tensor([[[6]]]), state)
