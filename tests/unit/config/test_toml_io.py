import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from config_samples import Columns, Data, Gru, Run, Train, Transformer
from hypothesis import given
from hypothesis import strategies as st

from headway.config import Choice, load, parse, to_dict, to_toml
from headway.errors import ConfigError

MINIMAL = b'[data]\ntrain = "pairs.tsv"\n'


@pytest.fixture
def run_file(tmp_path, monkeypatch):
    """Writes run.toml into the current folder, so that messages name it without a path."""
    monkeypatch.chdir(tmp_path)

    def write(content: bytes = MINIMAL) -> str:
        (tmp_path / "run.toml").write_bytes(content)
        return "run.toml"

    return write


def refusal(path, overrides=()) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, Run, overrides)
    return str(caught.value)


def test_loads_a_file(run_file, tmp_path):
    run = load(run_file(), Run)
    assert run.data.train == "pairs.tsv"
    assert run == load(tmp_path / "run.toml", Run)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(run_file):
    run = load(run_file(b"\xef\xbb\xbf" + MINIMAL.replace(b"\n", b"\r\n")), Run)
    assert run.data.train == "pairs.tsv"


def test_missing_file(run_file):
    run_file()
    assert refusal("other.toml") == "other.toml: no such file; check the name"
    Path("runs.toml").touch()
    assert refusal("urns.toml") == "urns.toml: no such file; did you mean runs.toml?"


def test_a_folder_is_no_file(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


def test_bad_toml_names_the_line(run_file):
    assert refusal(run_file(b"[data]\ntrain pairs\n")) == (
        "run.toml:2: not valid TOML: expected '=' after a key in a key/value pair (column 7)"
    )


def test_bad_toml_at_the_end(run_file):
    assert refusal(run_file(b"[data]\ntrain = [1, 2\n")).startswith("run.toml:2: not valid TOML: ")


def test_bad_utf8_names_the_line(run_file):
    assert refusal(run_file(b'[data]\ntrain = "M\xe4rz.tsv"\n')) == (
        "run.toml:2: byte 0xe4 is not UTF-8; save the file as UTF-8"
    )


def test_overrides_win_and_the_last_one_most(run_file):
    run = load(
        run_file(MINIMAL + b"[train]\nlr = 1.0\n"),
        Run,
        ["train.lr=3e-4", "train.steps=5", "train.steps = 7", "train.shuffle=false"],
    )
    assert (run.train.lr, run.train.steps, run.train.shuffle) == (3e-4, 7, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("predict", "predict"),
        ('"predict"', "predict"),
        ("a=b", "a=b"),
        ("", ""),
        ("2021-03-03", "2021-03-03"),
        ("2021", "2021"),
        ("1\ntask = 2", "1\ntask = 2"),
        ("März", "März"),
    ],
)
def test_texts_need_no_quotes(run_file, text, value):
    assert load(run_file(), Run, [f"task={text}"]).task == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{source="a"}', Columns("a")),
        ('["a", {source="b"}]', ["a", Columns("b")]),
        ("a.tsv", "a.tsv"),
        ("2021", "2021"),
    ],
)
def test_a_table_or_a_list_is_no_text_where_texts_are_allowed_too(run_file, text, value):
    assert load(run_file(), Run, [f"data.train={text}"]).data.train == value


def test_lists_tables_and_quoted_keys(run_file):
    overrides = ["data.weights=[1, 2]", "model={n_heads=2}", 'train.groups."a.b"=3']
    run = load(run_file(), Run, overrides)
    assert run.data.weights == (1.0, 2.0)
    assert run.model == Transformer(n_heads=2)
    assert run.train.groups == {"a.b": 3.0}


def test_problems_of_overrides_belong_to_the_command_line(run_file):
    path = run_file(MINIMAL + b"[train]\nsteps = 0\n")
    overrides = ["train.lr=fast", "train.stpes=3", "trian.lr=1", "model.family=rnn"]
    assert refusal(path, overrides).splitlines() == [
        "command line: unknown key trian; did you mean train?",
        "command line: unknown key train.stpes; did you mean train.steps?",
        'command line: train.lr = "fast": expected a number greater than 0',
        "run.toml: train.steps = 0: expected a whole number of at least 1",
        'command line: model.family = "rnn": expected one of "transformer", "gru"',
    ]


def test_a_misspelled_section_in_both_places_is_the_files(run_file):
    message = refusal(run_file(MINIMAL + b"[trian]\nsteps = 1\n"), ["trian.lr=1"])
    assert message == "run.toml: unknown key trian; did you mean train?"


def test_a_missing_key_stays_the_files(run_file):
    assert refusal(run_file(b""), ["data.root=x"]).startswith("run.toml: missing key data.train:")


def test_settings_that_do_not_fit_together_name_both_places(run_file):
    assert refusal(run_file(MINIMAL + b"[model]\nd_model = 10\n"), ["model.n_heads=8"]) == (
        "run.toml and command line: model: d_model=10 is not divisible by n_heads=8; try n_heads=1"
    )
    assert refusal(run_file(), ["model={d_model=10}"]) == (
        "command line: model: d_model=10 is not divisible by n_heads=4; try n_heads=1"
    )


def test_overrides_that_make_no_sense_are_told_together(run_file):
    overrides = ["train.lr", "data.train.source=x", "=3", "a b=3", "train.lr=1"]
    assert refusal(run_file(), overrides).splitlines() == [
        "command line: 'train.lr' has no '='; write it as key=value, for example train.lr=3",
        "command line: 'data.train.source=x' needs data.train to be a table, "
        'but it is "pairs.tsv" in run.toml',
        "command line: '=3': '' is not a key; expected words joined by dots",
        "command line: 'a b=3': 'a b' is not a key; expected words joined by dots",
    ]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)

POSITIVE = st.floats(min_value=1e-300, allow_nan=False, allow_infinity=True)

COLUMNS = st.builds(Columns, source=TEXT, target=st.none() | TEXT)

DATA = st.builds(
    Data,
    train=TEXT | COLUMNS | st.lists(TEXT | COLUMNS, max_size=3),
    root=st.none() | TEXT,
    weights=st.lists(POSITIVE, max_size=3).map(tuple),
    span=st.tuples(st.integers(), st.integers()),
)

TRAIN = st.builds(
    Train,
    lr=POSITIVE,
    steps=st.integers(1),
    dropout_rate=st.floats(0, 1, exclude_max=True),
    clip=st.none() | POSITIVE,
    patience=st.none() | st.integers(1),
    batch=st.just("auto") | st.integers(1),
    shuffle=st.booleans(),
    groups=st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=3),
    names=st.lists(TEXT, min_size=1, max_size=3),
)

MODEL = st.builds(Gru, cells=st.integers()) | st.builds(
    Transformer, norm=st.sampled_from(["layer", "rms"]), n_heads=st.sampled_from([1, 2, 8])
)


@given(st.builds(Run, data=DATA, task=TEXT, train=TRAIN, model=MODEL))
def test_what_is_written_reads_back_the_same(run):
    text = to_toml(run)
    assert parse(tomllib.loads(text), Run, "run.toml") == run
    assert parse(to_dict(run), Run, "run.toml") == run


def test_none_is_left_out_where_it_is_the_default_and_named_where_not():
    table = to_dict(Run(data=Data(train="a"), train=Train(clip=None)))
    assert "patience" not in table["train"]
    assert "root" not in table["data"]
    assert table["train"]["clip"] == "none"


def test_plain_types_only():
    table = to_dict(Data(train=[Columns("a"), "b"], weights=(1.0,)))
    assert table == {"train": [{"source": "a"}, "b"], "weights": [1.0], "span": [0, 1]}
    assert type(table["weights"]) is list


def test_a_choice_is_named_even_by_a_class_that_does_not_hold_its_name():
    data = Data(train="a")
    assert to_dict(Run(data=data, model=Gru()))["model"]["family"] == "gru"
    assert to_dict(Run(data=data, model=Transformer()))["model"]["family"] == "transformer"


def test_choices_in_a_list_are_named_too():
    @dataclass(frozen=True)
    class Several:
        parts: list[Annotated[Any, Choice("kind", lambda: {"gru": Gru, "columns": Columns})]]

    several = Several(parts=[Columns("a"), Gru()])
    assert [part["kind"] for part in to_dict(several)["parts"]] == ["columns", "gru"]
    assert parse(tomllib.loads(to_toml(several)), Several, "x") == several
