"""Imported models in use: they write, fill gaps and make vectors as transformers does."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from foreign_folders import TEXTS, make_folder

import headway
from headway.inference.masked_lm import encode_with_masks

PAGE = Path(__file__).parents[3] / "docs" / "embed.md"
MASKED = {"bert": "BertForMaskedLM", "roberta": "RobertaForMaskedLM"}


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    transformers.utils.logging.disable_progress_bar()
    place = tmp_path_factory.mktemp("foreign")
    made = {}
    for name in ("gpt2", *MASKED, "sentences"):
        folder = make_folder(name, place / name, extra_rows=3)
        headway.import_run(folder, place / f"{name}-run")
        made[name] = folder, headway.load(place / f"{name}-run")
    return made


@torch.inference_mode()
def test_the_likeliest_tokens_are_the_same(imported):
    folder, ours = imported["gpt2"]
    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    codec = ours.task.codec
    for text in ("", "the cat", TEXTS[2]):
        ids = torch.tensor([[codec.bos, *codec.tokenizer.encode(text)]])
        written = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=30
        )
        [found] = ours.generate([text], beam=1, max_length=30)
        [output] = found.outputs
        expected = written[0, ids.size(1) :].tolist()
        ended = [codec.eos] if output.finished else []
        tokens = codec.tokenizer.tokens([token for token in expected if token != codec.eos])
        assert output.tokens == tokens
        assert expected[len(tokens) :] == ended


def test_a_model_with_learned_positions_writes_on(imported):
    _, ours = imported["gpt2"]
    assert ours.window == 64
    [found] = ours.generate(["the cat"], min_length=150, max_length=150)
    assert len(found.outputs[0].token_log_probs) == 150
    assert "".join(ours.stream("the cat", min_length=150, max_length=150)) == found.outputs[0].text


@torch.inference_mode()
@pytest.mark.parametrize("name", MASKED)
def test_words_for_gaps_have_the_same_probabilities(imported, name):
    folder, ours = imported[name]
    theirs = getattr(transformers, MASKED[name]).from_pretrained(folder).eval()
    text = "the cat [MASK] on the [MASK]"
    framed = ours.task.codec.single(encode_with_masks(ours.task.codec, text, ""))
    ids = torch.tensor([framed.tolist()])
    is_gap = ids == ours.task.codec.tokenizer.specials["mask"]
    assert is_gap.sum() == 2
    logits = theirs(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    expected = logits[is_gap].softmax(-1).numpy()
    spelled = np.array([bool(piece) for piece in ours.task.codec.tokenizer.spellings()])
    for gap, row in zip(ours.fill(text, top=10).gaps, expected, strict=True):
        best = np.sort(row[: len(spelled)][spelled])[::-1][:10]
        np.testing.assert_allclose([filler.probability for filler in gap], best, atol=1e-5)


@torch.inference_mode()
def test_vectors_are_the_same(imported):
    folder, ours = imported["sentences"]
    expected = sentence_vectors(folder, TEXTS)
    np.testing.assert_allclose(headway.Embedder(ours).embed(TEXTS), expected, atol=1e-5)


def sentence_vectors(folder, texts):
    """As sentence-transformers makes them: mean over all tokens, length 1."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    states, valid = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
    return torch.nn.functional.normalize((states * valid).sum(1) / valid.sum(1)).numpy()


@torch.inference_mode()
def test_the_two_senses_of_bank(minilm, tmp_path):
    """The example of the page, with the real MiniLM: six sentences by a river, six about money."""
    headway.import_run(minilm, tmp_path / "run")
    embedder = headway.Embedder(headway.load(tmp_path / "run"))
    [block] = re.findall(r"^```text bank\.txt\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    lines = block.splitlines()
    np.testing.assert_allclose(embedder.embed(lines), sentence_vectors(minilm, lines), atol=1e-4)
    vectors = embedder.embed_word(lines, "bank")
    cosines = headway.cosines(vectors, vectors)
    sense = np.repeat([0, 1], 6)
    is_same, is_other = sense[:, None] == sense, ~np.eye(12, dtype=bool)
    within, across = cosines[is_same & is_other].mean(), cosines[~is_same].mean()
    assert (round(float(within), 3), round(float(across), 3)) == (0.851, 0.758)
    best = np.where(is_other, cosines, -1).argmax(axis=1)
    assert (sense[best] == sense).all()
