"""Arguments of wrong types are refused at every public door, by name, with what is expected."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import headway
from headway.arguments import check_fields, checked
from headway.errors import ConfigError, InputError


@checked
def work(
    texts: Iterable[str | InputError],
    out: str | Path = "out",
    too_long: Literal["refuse", "cut"] = "refuse",
    top: int = 5,
    groups: Sequence[str] | Sequence[Sequence[str]] = (),
    pairs: Iterable[tuple[str, str]] = (),
    share: float = 0.5,
    quiet: bool = False,
    inputs: Iterable[Any] = (),
    **settings: Any,
) -> Any:
    return texts


def message(*args, **kwargs) -> str:
    with pytest.raises(TypeError) as caught:
        work(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "texts is None; expected a list of texts"),
        ("a dog", "texts is 'a dog' (str); expected a list of texts; write ['a dog']"),
        (3, "texts is 3 (int); expected a list of texts"),
        (b"ab", "texts is b'ab' (bytes); expected a list of texts; decode it"),
        ({"a": 1}, "texts is {'a': 1} (dict); expected a list of texts"),
        ({"a"}, "texts is {'a'} (set); expected a list of texts"),
        (["a", None], "texts[1] is None; expected a text"),
        ((x for x in ["a", b"b"]), "texts[1] is b'b' (bytes); expected a text; decode it"),
    ],
)
def test_a_list_of_texts_is_nothing_else(value, expected):
    assert message(value) == f"work: {expected}"


@pytest.mark.parametrize(
    ("argument", "value", "expected"),
    [
        ("out", 3, "out is 3 (int); expected a path"),
        ("too_long", None, "too_long is None; expected 'refuse' or 'cut'"),
        ("top", "5", "top is '5' (str); expected a whole number"),
        ("top", True, "top is True (bool); expected a whole number"),
        ("share", "0.5", "share is '0.5' (str); expected a number"),
        ("quiet", 1, "quiet is 1 (int); expected True or False"),
        ("groups", [["a"], 3], "groups[1] is 3 (int); expected a text or a list of texts"),
        ("groups", [["a", 3]], "groups[0][1] is 3 (int); expected a text"),
        ("pairs", ["a"], "pairs[0] is 'a' (str); expected a pair of texts"),
        ("pairs", "a", "pairs is 'a' (str); expected a list of pairs of texts"),
        ("pairs", [("a", None)], "pairs[0] is ('a', None) (tuple); expected a pair of texts"),
        ("inputs", None, "inputs is None; expected a list"),
    ],
)
def test_each_argument_by_its_hint(argument, value, expected):
    assert message(["a"], **{argument: value}) == f"work: {expected}"


def test_a_name_that_does_not_exist_is_a_setting():
    with pytest.raises(
        ConfigError, match=r"^work: too_long is 'cutt' \(str\); expected 'refuse' or"
    ):
        work(["a"], too_long="cutt")


def test_what_fits_is_passed_on():
    texts = ["a", InputError("b")]
    assert work(texts, Path("x"), "cut", np.int64(3), [["a"], "b"], [["a", "b"]], 1) is texts
    assert work(x for x in "ab") == ["a", "b"]
    assert work(np.array(["a"])) == ["a"]
    assert work([], beam=3) == []


def test_a_wrong_keyword_is_answered_with_the_right_ones():
    @checked
    def narrow(texts: Iterable[str], top: int = 1) -> None: ...

    with pytest.raises(TypeError) as caught:
        narrow(["a"], tpo=3)
    assert str(caught.value) == (
        "narrow: got an unexpected keyword argument 'tpo'; its arguments are texts, top"
    )


def test_several_arguments_of_one_hint():
    @checked
    def join(first: str, *more: str) -> tuple[str, ...]:
        return first, *more

    assert join("a", "b", "c") == ("a", "b", "c")
    with pytest.raises(TypeError, match=r"^join: more\[1\] is 3 \(int\); expected a text$"):
        join("a", "b", 3)


def test_the_fields_of_a_dataclass():
    @dataclass(frozen=True)
    class Wish:
        terms: Sequence[str] = ()
        __post_init__ = check_fields

    assert Wish(x for x in "ab").terms == ["a", "b"]
    with pytest.raises(TypeError, match=r"^Wish: terms is 'a' .*; write \['a'\]$"):
        Wish("a")
    with pytest.raises(TypeError, match=r"^TranslationRequest: source is None; expected a text$"):
        headway.TranslationRequest(None)
    with pytest.raises(TypeError, match=r"^RunConfig: data is 'a\.tsv' .*expected a DataConfig$"):
        headway.RunConfig(data="a.tsv")


MODELS = ["Answerer", "Classifier", "LanguageModel", "Pretrained", "Regressor", "Tagger"]
MODELS += ["Translator"]
USES = ["attention", "evaluate", "fill", "generate", "inspect", "predict", "score", "stream"]
METHODS = [
    (cls, name) for cls in MODELS for name in [*USES, "translate"]
    if hasattr(getattr(headway, cls), name)
]  # fmt: skip
METHODS += [("Embedder", "embed"), ("Embedder", "embed_word")]


@pytest.mark.parametrize(("cls", "name"), METHODS)
def test_every_method_of_models_names_its_first_argument(cls, name):
    method = getattr(getattr(headway, cls), name)
    _, first, *others = inspect.signature(method).parameters.values()
    required = {
        p.name: ["x"] for p in others if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    }
    for value in (None, 3, b"x", {"a": 1}):
        with pytest.raises(TypeError, match=rf"^{name}: {first.name} is .*; expected a "):
            method(None, value, **required)


@pytest.mark.parametrize(
    "name", ["train", "resume", "load", "read_config", "import_run", "nearest"]
)
def test_every_function_names_its_first_argument(name):
    function = getattr(headway, name)
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    arguments = {p.name: None for p in required if p.kind is p.POSITIONAL_OR_KEYWORD}
    with pytest.raises(TypeError, match=rf"^{name}: {required[0].name} is None; expected a "):
        function(**arguments)


def test_a_path_in_place_of_settings_is_pointed_to_read_config():
    with pytest.raises(TypeError) as caught:
        headway.train("run.toml", "out")
    assert str(caught.value) == (
        "train: config is 'run.toml' (str); expected a RunConfig, which read_config returns"
    )
