"""Descriptions of architectures: a small one by hand, and properties that all of them have."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import transformers
from hf_cases import model_config

from headway.interop.hugging_face import ARCHITECTURES
from headway.interop.hugging_face.architecture import Architecture
from headway.interop.hugging_face.bart import MARIAN
from headway.interop.hugging_face.config_map import ConfigReader, RenamedKey
from headway.interop.hugging_face.task_heads import TaskHead
from headway.interop.hugging_face.weight_map import norm
from headway.models import VocabularySizes

TOY = Architecture(
    "Toy",
    "toy",
    {"ToyForWords": "masked", "ToyModel": "none", "ToyForTags": "tokens"},
    default_vocab_size=7,
    family="encoder",
    task="pretrain",
    roles={},
    settings=(RenamedKey(("width",), "d_model", 4),),
    rows=lambda model, form: norm("toy.norm", "norm"),
    output_layers={"tokens": "classifier"},
    prefix="toy.",
    unprefixed=("head.", "classifier."),
    head_prefixes={"head.": "masked"},
    ignored=(r"toy\.ids",),
    old_suffixes={".gamma": ".weight"},
    pad_id=1,
    extra_config={"is_toy": True},
)
MODEL = SimpleNamespace(d_model=4)
MASKED = VocabularySizes(9, 9, shared=True, head="masked")


def test_names_of_a_file_become_those_of_the_weight_map():
    whole = ["toy.norm.gamma", "toy.ids", "head.bias"]
    assert TOY.canonical_names(whole) == {
        "toy.norm.weight": "toy.norm.gamma",
        "head.bias": "head.bias",
    }
    bare = TOY.canonical_names(["norm.weight", "ids", "classifier.bias"])
    assert bare == {"toy.norm.weight": "norm.weight", "classifier.bias": "classifier.bias"}
    assert TOY.canonical_names([]) == {}


def test_names_for_messages_are_those_that_the_file_has_or_would_have():
    whole = TOY.canonical_names(["toy.norm.gamma"])
    assert TOY.name_in_file("toy.norm.weight", whole) == "toy.norm.gamma"
    assert TOY.name_in_file("toy.norm.bias", whole) == "toy.norm.bias"
    bare = TOY.canonical_names(["norm.weight"])
    assert TOY.name_in_file("toy.norm.bias", bare) == "norm.bias"
    assert TOY.name_in_file("head.bias", bare) == "head.bias"


@pytest.mark.parametrize(
    ("classes", "names", "form"),
    [
        (["ToyForTags"], {"head.bias"}, "tokens"),
        (["ToyModel"], {"head.bias"}, "masked"),
        (["ToyForWords"], {"toy.norm.bias"}, "none"),
        (None, {"head.bias"}, "masked"),
    ],
)
def test_a_head_is_that_of_a_fine_tuned_class_or_of_the_weights(classes, names, form):
    assert TOY.form(ConfigReader({"architectures": classes}, frozenset(names))) == form


def test_an_export_names_the_first_class_of_its_form():
    entries = {"architectures": ["ToyForWords"], "model_type": "toy", "vocab_size": 9, "width": 4}
    assert TOY.write(MODEL, MASKED) == {**entries, "is_toy": True}
    head = TaskHead("tag", ("O", "B-a"))
    written = TOY.write(MODEL, VocabularySizes(9, 2, shared=False), head)
    assert (written["architectures"], written["id2label"]) == (
        ["ToyForTags"],
        {"0": "O", "1": "B-a"},
    )


def test_an_output_layer_follows_the_rows():
    rows = TOY.weight_map(MODEL, "tokens").rows
    assert [row.theirs[0] for row in rows] == [
        "toy.norm.weight",
        "toy.norm.bias",
        "classifier.weight",
        "classifier.bias",
    ]
    assert len(TOY.weight_map(MODEL, "none").rows) == 2


def test_split_positions_put_even_channels_before_odd_ones():
    weight_map = replace(TOY, splits_positions=True).weight_map(SimpleNamespace(d_model=5), "none")
    theirs = weight_map.to_hf({"norm.weight": torch.arange(5), "norm.bias": torch.zeros(5)})
    assert theirs["toy.norm.weight"].tolist() == [0, 2, 4, 1, 3]


def test_vocabulary_sizes():
    assert TOY.read_vocabularies(ConfigReader({})) == VocabularySizes(7, 7, True, "none")
    tagger = TOY.read_vocabularies(ConfigReader({"vocab_size": 9}), TaskHead("tag", ("O", "B-a")))
    assert tagger == VocabularySizes(9, 2, shared=False)
    entries = {"vocab_size": 9, "decoder_vocab_size": 8, "share_encoder_decoder_embeddings": False}
    assert MARIAN.read_vocabularies(ConfigReader(entries)) == VocabularySizes(9, 8, False, "words")


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", [9], True])
@pytest.mark.parametrize("name", ["vocab_size", "decoder_vocab_size"])
def test_a_vocabulary_size_that_is_no_number_of_tokens(name, value):
    reader = ConfigReader({name: value})
    MARIAN.read_vocabularies(reader)
    [message] = reader.obstacles.messages
    assert message.startswith(f"{name} = ")
    assert message.endswith(" (the number of tokens)")


def test_obstacles_of_vocabularies_padding_and_heads():
    assert TOY.obstacles(MODEL, MASKED, {"pad": 1}, None) == []
    apart = VocabularySizes(9, 8, shared=False, head="words")
    assert TOY.obstacles(MODEL, apart, {"pad": 0}, None) == [
        "text.shared = false (Toy has one vocabulary)",
        "pad = 0 (Toy pads with 1)",
        'head = "words" (Toy has no such head)',
    ]
    assert TOY.obstacles(MODEL, apart, {"pad": 1}, "answer") == [
        'task = "answer" (Toy has no such head)'
    ]


EXPRESSIBLE = {"gpt_neox": {"rotary_pct": 1.0, "use_parallel_residual": False}}
"""Entries in place of defaults of the library that have no counterpart here, by model type."""


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_every_architecture_writes_what_it_reads(architecture):
    names = architecture.head_prefixes
    config = model_config(architecture, names, **EXPRESSIBLE.get(architecture.model_type, {}))
    sizes = architecture.read_vocabularies(ConfigReader({}, frozenset(names)))
    ids = {"pad": architecture.pad_id or 0}
    assert architecture.obstacles(config, sizes, ids, None) == []
    written = architecture.write(config, sizes)
    assert model_config(architecture, names, **written) == config
    for form in architecture.classes.values():
        rows = architecture.weight_map(config, form).rows
        theirs = [name for row in rows for name in (*row.theirs, *row.aliases)]
        assert len(set(theirs)) == len(theirs)
        assert len({row.ours for row in rows}) == len(rows)


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_defaults_are_those_of_the_library(architecture):
    """A saved config.json may leave out entries that have their default value."""
    name = next(name for name in architecture.classes if name.endswith("Model"))
    defaults = getattr(transformers, name).config_class().to_dict()
    entries = {key: value for key, value in defaults.items() if value is not None}
    complete, empty = ConfigReader(entries), ConfigReader({})
    assert architecture.read(empty) == architecture.read(complete)
    assert architecture.read_vocabularies(empty) == architecture.read_vocabularies(complete)
    assert empty.obstacles.messages == complete.obstacles.messages
    changed = EXPRESSIBLE.get(architecture.model_type, {})
    assert [message.partition(" ")[0] for message in empty.obstacles.messages] == list(changed)
