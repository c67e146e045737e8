"""The GRU: its attention can be seen, and empty sources do no harm."""

import torch

from headway.models.family import Vocabularies
from headway.models.gru import GRUConfig, GRUModel
from headway.nn.capture import capture

SIZES = Vocabularies(9, 9, True)


def make(**given):
    torch.manual_seed(0)
    return GRUModel(GRUConfig(d_model=8, **given).resolve(1, SIZES), SIZES)


def batch(valid):
    valid = torch.tensor(valid)
    tokens = torch.arange(4, 4 + valid.size(1)).expand(valid.shape)
    return {"src": tokens, "src_valid": valid, "tgt_in": torch.tensor([[1, 4, 5]] * len(valid))}


def test_its_attention_has_one_head_over_the_source():
    model = make().eval()
    with capture(model) as maps:
        model(batch([[True, True, True], [True, False, False]]))
    (weights,) = maps.values()
    assert weights.shape == (2, 1, 3, 3)
    assert (weights[1, 0, :, 0] == 1).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 3))


def test_stepping_records_the_same_attention():
    model, given = make().eval(), batch([[True, True, True], [True, True, False]])
    with capture(model) as whole:
        model(given)
    with capture(model) as stepped:
        state = model.start(given)
        for t in range(3):
            _, state = model.step(given["tgt_in"][:, None, t : t + 1], state)
    torch.testing.assert_close(stepped[""], whole[""])


def test_the_last_state_is_that_of_the_last_word_not_of_the_padding():
    model = make().eval()
    long = batch([[True, True, False, False]])
    short = {name: value[:, :2] for name, value in long.items()}
    last = [model.encode(b["src"], b["src_valid"])[1] for b in (long, short)]
    torch.testing.assert_close(*last)


def test_dropout_in_training_only():
    model, given = make(dropout=0.5), batch([[True, True, True]])
    assert not torch.equal(model.train()(given), model(given))
    assert torch.equal(model.eval()(given), model(given))
