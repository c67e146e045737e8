"""Settings under the names and in the places of other toolkits are pointed to headway's."""

import pytest

from headway.config.schema import known_keys
from headway.config.synonyms import OTHER_NAMES, is_other_name
from headway.errors import ConfigError
from headway.models import FAMILIES
from headway.run_config import RunConfig, read_config
from headway.tasks import TASKS


@pytest.fixture
def advice(tmp_path):
    """The message about one setting of the command line."""
    file = tmp_path / "run.toml"
    file.write_text('[data]\ntrain = { source = "a.src", target = "a.tgt" }\n')

    def read(setting: str) -> str:
        with pytest.raises(ConfigError) as caught:
            read_config(file, [setting])
        return str(caught.value).removeprefix("command line: unknown key ")

    return read


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("lr", "train.lr"),
        ("beam", "search.beam"),
        ("data.epochs", "train.epochs"),
        ("data.source", "data.train.source, data.valid.source or data.test.source"),
        ("train.seed", "seed or search.seed"),
        ("train.dropout", "text.dropout or model.dropout"),
        ("optimizer.lr", "train.optimizer"),
    ],
)
def test_a_key_of_another_section_is_named(key, place, advice):
    assert advice(f"{key}=1") == f"{key.partition('.lr')[0]}; it is {place}"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("train.batch_size", "train.batch_tokens"),
        ("data.batch_size", "train.batch_tokens"),
        ("train.learning_rate", "train.lr"),
        ("train.max_update", "train.steps"),
        ("train.gradient_accumulation_steps", "train.accumulate"),
        ("train.max_grad_norm", "train.clip"),
        ("train.early_stopping", "train.patience"),
        ("train.fp16", "train.precision"),
        ("train.eval_steps", "train.evaluate_every"),
        ("model.hidden_size", "model.d_model"),
        ("model.embedding_dim", "model.d_model"),
        ("model.ff_size", "model.d_ff"),
        ("model.num_layers", "model.encoder_layers"),
        ("model.num_attention_heads", "model.n_heads"),
        ("model.n_positions", "model.max_positions"),
        ("model.type", "model.family"),
        ("arch", "model.family"),
        ("tokenizer", "text.kind"),
        ("vocab_size", "text.size"),
        ("text.type", "text.kind"),
        ("search.num_beams", "search.beam"),
        ("search.length_penalty", "search.alpha"),
        ("search.max_new_tokens", "search.max_length"),
        ("decode", "search"),
        ("data.dev", "data.valid"),
        ("data.path", "data.root"),
        ("gpu", "device"),
    ],
)
def test_a_name_of_another_toolkit_is_translated(key, meant, advice):
    assert advice(f"{key}=1") == f"{key}; did you mean {meant}?"


@pytest.mark.parametrize(
    ("setting", "end"),
    [
        ("task=ner", 'did you mean "tag"?'),
        ("text.kind=sentencepiece", 'did you mean "unigram"?'),
        ("model.family=lstm", 'did you mean "recurrent"?'),
        ("model=transformer", 'expected a table; write model.family = "transformer"'),
        ("model.attention=dot", 'it belongs to "recurrent"; did you mean model.score?'),
        ("model.layers=2", "did you mean model.encoder_layers?"),
        ('data.train={path="a.tsv"}', "did you mean data.train.file?"),
        ("train.class_weights=3", "train.class_weights"),  # nothing is alike
    ],
)
def test_values_and_tables(setting, end, advice):
    assert advice(setting).endswith(end)


def test_every_entry_points_to_a_name_that_exists_and_not_to_itself():
    known = {key.rpartition(".")[2] for key in known_keys(RunConfig)}
    known |= {*TASKS, *FAMILIES, "inverse_sqrt", "unigram"}
    assert set(OTHER_NAMES) <= known
    assert not any(is_other_name(name, name) for name in OTHER_NAMES)


@pytest.mark.parametrize(
    ("task", "train", "remedy"),
    [
        (
            "classify",
            '{ source = "a", target = "b" }',
            "source is not a column of task = 'classify', which has text, text2, label; write text "
            'and label instead, or set task = "translate"',
        ),
        (
            "translate",
            '{ text = "a", label = "b" }',
            "label is not a column of task = 'translate', which has source, target; write source "
            'and target instead, or set task = "classify"',
        ),
        (
            "translate",
            '{ source = "a", target = "b", text = "c" }',
            "text is not a column of task = 'translate', which has source, target; leave it out",
        ),
    ],
)
def test_columns_of_another_task(task, train, remedy, tmp_path):
    (tmp_path / "run.toml").write_text(f'task = "{task}"\n[data]\ntrain = {train}\n')
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "run.toml")
    assert str(caught.value) == f"data.train: {remedy}"
