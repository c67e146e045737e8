"""Every setting declares who uses it, and every user of settings follows the declarations."""

from dataclasses import dataclass, fields
from typing import Annotated, get_args, get_type_hints

import pytest
import typer
from annotated_types import Ge

from headway.cli.program import VERBS, _app
from headway.config import summaries
from headway.errors import ConfigError
from headway.inference.language_model import generation_config
from headway.interop.ctranslate2.engine import require_supported
from headway.interop.hugging_face.generation_config import (
    READ,
    WRITTEN,
    generation_of,
    search_obstacles,
    search_of,
)
from headway.search import METHODS, SETTINGS, HuggingFaceEntry, NoEntry, PromptUse, SearchConfig
from headway.search.logits_rules import RULES
from headway.search.setting import setting, settings_of
from headway.serve import schema


def _another(field):
    """A value of a setting that is not its default: twice the number, or the next name."""
    default = field.default
    if isinstance(default, str):
        names = get_args(get_type_hints(SearchConfig)[field.name])
        return next(name for name in names if name != default)
    return type(default)(default / 2 if default == 1.0 else 2 * default or 3)


CHANGED = {
    field.name: _another(field)
    for field in fields(SearchConfig)
    if field.name not in ("max_nodes",)
} | {"n_best": 2, "min_length": 3, "max_nodes": 50}
"""Of each setting a value that is not its default."""
REQUESTS = {
    "translate": schema.TranslateRequest,
    "generate": schema.GenerateRequest,
    "inspect": schema.InspectRequest,
}
each = pytest.mark.parametrize("name", list(SETTINGS))


def changed(name):
    """A search with one setting changed, with a method that uses it."""
    method = SETTINGS[name].methods[0]
    return SearchConfig(**{"method": method, name: CHANGED[name]})


def test_every_field_is_declared_and_tried():
    assert list(SETTINGS) == [field.name for field in fields(SearchConfig)]
    assert set(SETTINGS) == set(CHANGED)
    for name, declared in SETTINGS.items():
        assert declared.default == getattr(SearchConfig, name) != CHANGED[name]


def test_a_field_that_declares_nothing_is_refused():
    @dataclass(frozen=True)
    class Forgetful(SearchConfig):
        min_words: int = 0

    with pytest.raises(TypeError) as caught:
        settings_of(Forgetful)
    assert str(caught.value) == (
        "Forgetful.min_words has no declaration; declare it with setting(...)"
    )


def test_a_declaration_says_everything():
    with pytest.raises(TypeError, match="missing 3 required keyword-only arguments: 'prompts', "):
        setting(default=0, validation=True)


def test_names_types_and_flags_are_filled_in():
    @dataclass(frozen=True)
    class Small:
        min_words: Annotated[int, Ge(0)] = setting(
            default=0,
            validation=True,
            prompts=PromptUse(),
            hugging_face=NoEntry("words are not counted"),
            ctranslate2=False,
        )

    declared = settings_of(Small)["min_words"]
    assert (declared.name, declared.flag) == ("min_words", "--min-words")
    assert get_args(declared.type) == (int, Ge(0))
    assert (Small().min_words, declared.methods) == (0, METHODS)


# Who uses settings


@each
def test_a_command_line_has_the_flags_that_are_declared(name):
    declared, program = SETTINGS[name], typer.main.get_command(_app())
    assert set(declared.commands) <= set(VERBS)
    for verb in VERBS:
        context = program.make_context("headway", [verb], resilient_parsing=True)
        flags = {flag.name: flag for flag in program.get_command(context, verb).params}
        if verb in declared.commands:
            assert flags[name].opts == [declared.flag]
            assert flags[name].help == summaries(SearchConfig)[name]
        elif name in flags:
            assert name == "seed"  # of a study, which searches nothing
            assert verb == "study"


@each
def test_requests_have_the_fields_that_are_declared(name):
    declared = SETTINGS[name]
    assert set(declared.requests) <= set(REQUESTS)
    for request, model in REQUESTS.items():
        field = model.model_fields.get(name)
        assert (field is not None) == (request in declared.requests)
        if field is not None:
            assert field.default is None
            assert field.description == summaries(SearchConfig)[name]


@each
def test_prompts_take_refuse_or_ask_for_a_method(name):
    use = SETTINGS[name].prompts
    if use.refusal:
        with pytest.raises(ConfigError) as caught:
            generation_config(SearchConfig(), **{name: CHANGED[name]})
        assert str(caught.value) == f"search.{name} {use.refusal}"
        return
    config = generation_config(SearchConfig(), **{name: CHANGED[name]})
    assert getattr(config, name) == CHANGED[name]
    if name != "method":
        assert config.method == (use.asks_for or "sample")


@each
def test_prompts_keep_shared_settings(name):
    of_run, use = changed(name), SETTINGS[name].prompts
    other = "sample" if of_run.method == "beam" else "beam"
    value = getattr(generation_config(of_run, method=other), name)
    if name == "method":
        assert value == other
    elif use.is_shared:
        assert value == CHANGED[name]
    else:
        usual = SETTINGS[name].default
        is_other = use.default is not None and other in SETTINGS[name].methods
        assert value == (use.default if is_other else usual)


@each
def test_exports_write_or_refuse_or_leave_it_to_the_call(name):
    entry, search = SETTINGS[name].hugging_face, changed(name)
    refused = [text for text in search_obstacles(search) if text.startswith(f"search.{name} = ")]
    if isinstance(entry, NoEntry):
        assert bool(refused) == entry.is_refused
        assert all(text.endswith(f"({entry.reason})") for text in refused)
        return
    assert not refused
    written = generation_of(search)[entry.name]
    assert written == (WRITTEN[name](search) if name in WRITTEN else CHANGED[name])
    if entry.is_read:
        assert getattr(search_of({entry.name: written}, longest=1000), name) == CHANGED[name]


def test_exports_convert_settings_that_have_an_entry():
    entries = {n for n, use in SETTINGS.items() if isinstance(use.hugging_face, HuggingFaceEntry)}
    assert {*WRITTEN, *READ} <= entries


@each
def test_ctranslate2_takes_or_refuses(name):
    search = changed(name)
    if SETTINGS[name].ctranslate2:
        require_supported(search)
    else:
        with pytest.raises(ConfigError, match=rf"search\.{name} = "):
            require_supported(search)


def test_rules_are_switched_on_by_existing_settings():
    for rule in RULES:
        assert set(rule.settings) <= set(SETTINGS)


# Help


@each
def test_a_first_sentence_is_short_enough_for_help(name):
    text = summaries(SearchConfig)[name]
    assert text.endswith(".")
    assert "`" not in text
    assert len(text) <= 130 or not SETTINGS[name].commands
