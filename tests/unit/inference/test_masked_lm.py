"""Words for gaps: where the control token goes, which words are best, what is refused."""

import pytest
import torch

from headway import api
from headway.data.codecs.text import TextCodec, TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, DataError
from headway.inference.masked_lm import encode_with_masks
from headway.models.encoder import EncoderConfig
from headway.models.transformer import TransformerConfig
from headway.models.unilm import UnilmModelConfig
from headway.tasks.pretrain.config import CONFIGS
from headway.text import SpecialTokenTemplate, TokenizerConfig, train_tokenizer
from headway.training.config import TrainConfig

READER = EncoderConfig(d_model=16, d_ff=32, n_heads=2, layers=1, dropout=0.0, segments=2)
BOTH = UnilmModelConfig(d_model=16, d_ff=32, n_heads=2, layers=1, dropout=0.0)
WRITER = TransformerConfig(d_model=8, d_ff=8, n_heads=2, encoder_layers=1, decoder_layers=1)
LINES = ["the cat sees the dog", "the dog sees the cat", "a cat is a cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filling")
    (folder / "texts.txt").write_text("\n\n".join(LINES * 10), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def runs(folder):
    found = {}
    for objective, steps in {
        "masked": 150,
        "masked_next": 2,
        "next": 1,
        "bart": 1,
        "unilm": 150,
    }.items():
        corpus = Corpus(file="texts.txt", format="documents")
        config = api.RunConfig(
            data=DataConfig(train=corpus, root=str(folder), block=16),
            task="pretrain",
            pretrain=CONFIGS[objective](),
            text=TextConfig(kind="words"),
            model={"bart": WRITER, "unilm": BOTH}.get(objective, READER),
            train=TrainConfig(steps=steps, lr=1e-2, batch_tokens=256),
        )
        found[objective] = api.train(config, folder / objective)
    return found


@pytest.mark.parametrize("objective", ["masked", "unilm"])
def test_what_was_hidden_in_training_is_found(runs, objective):
    found = runs[objective].fill("the cat [MASK] the dog", top=3)
    assert found.text == "the cat [MASK] the dog"
    [fillers] = found.gaps
    assert fillers[0].text == "sees"
    assert len(fillers) == 3
    assert fillers[0].probability > 0.5
    probabilities = [filler.probability for filler in fillers]
    assert probabilities == sorted(probabilities, reverse=True)


def test_probabilities_are_those_of_the_head(runs):
    run = runs["masked"]
    ids = encode_with_masks(run.task.codec, "[MASK] cat is a [MASK]", "")
    mask = run.task.codec.tokenizer.specials["mask"]
    assert [place for place, index in enumerate(ids) if index == mask] == [0, 4]
    framed = torch.tensor([run.task.codec.single(ids).tolist()])
    batch = {"src": framed, "src_valid": torch.ones_like(framed).bool()}
    with torch.inference_mode():
        expected = run.model.token_logits(batch)[0, [1, 5]].softmax(-1)
    found = run.fill("[MASK] cat is a [MASK]", top=100)
    n_controls = len(run.task.codec.tokenizer.specials) - 1  # the unknown writes something
    for gap, row in zip(found.gaps, expected, strict=True):
        assert len(gap) == len(row) - n_controls
        for filler in gap:
            [index] = run.task.codec.tokenizer.encode(filler.text)[:1]
            if index != run.task.codec.unk:
                assert filler.probability == pytest.approx(row[index].item(), abs=1e-6)


def test_both_objectives_that_hide_words_fill_gaps(runs):
    assert len(runs["masked_next"].fill("a [MASK] is [MASK] [MASK]").gaps) == 3


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words", "characters", "bytes"])
def test_the_rest_of_the_text_is_as_it_would_be(kind):
    """A gap in the place of a word leaves the tokens of the others as they are."""
    config = TokenizerConfig(kind=kind)
    tokenizer = train_tokenizer(LINES, config, ("mask",), SpecialTokenTemplate(begin=True))
    codec, mask = TextCodec(tokenizer, reads=True), tokenizer.specials["mask"]
    whole, ids = tokenizer.encode(LINES[0]), encode_with_masks(codec, "the [MASK] sees the dog", "")
    place = ids.index(mask)
    behind = len(ids) - place - 1
    assert ids[:place] == whole[:place]
    assert ids[place + 1 :] == whole[len(whole) - behind :]
    taken = tokenizer.decode(whole[: len(whole) - behind])
    assert taken == "the cat"
    first = encode_with_masks(codec, "[MASK] cat sees", "")
    assert first[0] == mask
    assert tokenizer.decode(first[1:]).strip() == "cat sees"


def test_text_that_looks_like_the_control_token_is_text_elsewhere(runs):
    codec = runs["masked"].task.codec
    assert codec.tokenizer.specials["mask"] not in codec.tokenizer.encode("the [MASK] sees")


def test_what_is_refused(runs, folder):
    with pytest.raises(DataError) as caught:
        runs["masked"].fill("the cat sees [mask]")
    assert str(caught.value) == (
        "the text has no [MASK]; put it where a word is to be found, as in 'the dog [MASK] the cat'"
    )
    with pytest.raises(DataError, match=r"the text has 23 tokens .* at most 16; shorten it$"):
        runs["masked"].fill("a " * 20 + "[MASK]")
    for name in ("next", "bart"):
        with pytest.raises(ConfigError) as caught:
            runs[name].fill("a [MASK]")
        assert str(caught.value).startswith(
            f"the model of {folder / name} was not trained to find hidden words"
        )


def test_what_a_run_is_said_to_be_good_for(runs):
    uses = {name: tuple(run.commands_for(run.config)) for name, run in runs.items()}
    assert uses == {
        "masked": ("fill", "embed"),
        "masked_next": ("fill", "embed"),
        "next": ("embed",),
        "bart": (),
        "unilm": ("fill", "embed"),
    }
