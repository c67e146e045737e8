"""The sequences on which a run and its export are compared: of the test set, or made up."""

from dataclasses import replace

import pytest
import torch

from headway.interop.verify import examples, make_probe_batch

CLASSES = {
    "marian": "AutoModelForSeq2SeqLM",
    "gpt2": "AutoModelForCausalLM",
    "bert": "AutoModelForPreTraining",
    "bert-labels": "AutoModelForSequenceClassification",
    "bert-answer": "AutoModelForQuestionAnswering",
}


def test_examples_are_the_first_twenty_of_the_test_set(imports, with_test_set):
    _, marian = imports["marian"]
    lines = [f"{'cat ' * (n % 3)}sat\tthe mat" for n in range(25)]
    encoded, texts, origin = examples(with_test_set(marian, lines))
    assert (texts, origin) == ([line.partition("\t")[0] for line in lines[:20]], "the test set")
    source, target = marian.task.codecs.values()
    assert encoded[1][0].tolist() == source.encode_batch(["cat sat"])[0].tolist()
    assert encoded[1][1].tolist() == target.encode_batch(["the mat"])[0].tolist()


def test_examples_that_are_too_long_are_left_out(imports, with_test_set):
    _, marian = imports["marian"]
    longest = len(marian.task.source.encode_batch(["sat"])[0]) + 2  # with two special tokens
    trained = with_test_set(marian, ["cat cat\tsat", "sat\tsat"], max_length=longest)
    assert examples(trained)[1:] == (["sat"], "the test set")
    trained = with_test_set(marian, ["cat cat\tsat", "sat\tcat cat"], max_length=longest)
    assert examples(trained)[1:] == ([], "made-up sequences")


@pytest.mark.parametrize("name", ["marian", "gpt2"])
def test_sequences_are_made_up_without_a_test_set(imports, name):
    _, trained = imports[name]
    (first, texts, origin), (again, *_) = examples(trained), examples(trained)
    assert (len(first), texts, origin) == (20, [], "made-up sequences")
    codecs = list(trained.task.codecs.values())
    for row, same in zip(first, again, strict=True):
        for ids, copy, codec in zip(row, same, codecs, strict=True):
            assert ids.tolist() == copy.tolist()
            *ordinary, last = ids.tolist()
            assert last == codec.eos
            assert len(ordinary) <= 20
            assert not {*ordinary} & {*codec.tokenizer.specials.values()}
    assert len({len(row[0]) for row in first}) > 5


def test_sequences_are_made_up_where_the_data_is_gone_or_damaged(imports, with_test_set):
    trained = with_test_set(imports["marian"][1], ["only one column"])
    assert examples(trained)[2] == "made-up sequences"
    trained = with_test_set(imports["marian"][1], ["a\tb"])
    assert examples(trained)[2] == "the test set"
    trained.config = replace(trained.config, data=replace(trained.config.data, root="/nowhere"))
    assert examples(trained)[2] == "made-up sequences"


@pytest.mark.parametrize("name", CLASSES)
def test_both_models_get_the_same_sequences(imports, name):
    probe = make_probe_batch(imports[name][1])
    assert probe.auto_class == CLASSES[name]
    tokens, valid = ("tgt_in", "tgt_valid") if name == "gpt2" else ("src", "src_valid")
    assert torch.equal(probe.inputs["input_ids"], probe.batch[tokens])
    assert torch.equal(probe.inputs["attention_mask"], probe.batch[valid].long())
    if name == "marian":
        assert torch.equal(probe.inputs["decoder_input_ids"], probe.batch["tgt_in"])
    assert (len(probe.valid), probe.origin) == (20, "made-up sequences")
    assert probe.tokenized == []  # sequences of tokens, which no text belongs to


def test_the_second_half_of_a_text_is_the_second_segment(imports, with_test_set):
    bert = with_test_set(imports["bert"][1], ["the cat"])
    probe, codec = make_probe_batch(bert), bert.task.codec
    [(texts, ids)] = probe.tokenized
    assert texts == ("the cat",)
    assert ids == [codec.bos, *codec.tokenizer.encode("the cat"), codec.eos]
    first = len(ids) // 2
    expected = [0] * first + [1] * (len(ids) - first)
    assert probe.inputs["token_type_ids"].tolist() == [expected]


def test_a_language_model_gets_prompts(imports, with_test_set):
    gpt2 = with_test_set(imports["gpt2"][1], ["the cat"])
    ids = gpt2.task.codec.tokenizer.encode("the cat")
    assert make_probe_batch(gpt2).tokenized == [(("the cat",), [gpt2.task.codec.bos, *ids])]


def test_a_text_that_is_truncated_is_no_test_of_the_tokenizer(imports, with_test_set):
    _, classifier = imports["bert-labels"]
    codec = classifier.task.codec
    longest = len(codec.tokenizer.encode("the cat")) + 2
    lines = ["the cat\tsame", "the cat sat on the mat\tworse"]
    trained = with_test_set(classifier, lines, max_length=longest, block=longest)
    probe = make_probe_batch(trained)
    assert probe.inputs["input_ids"].shape == (2, longest)
    assert [texts for texts, _ in probe.tokenized] == [("the cat",)]
