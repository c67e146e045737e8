"""Declarations of a search setting beside its type, default and docstring.

Other rooms read them from `SETTINGS` of `config` and name no setting themselves: they decide flags
of commands, fields of HTTP requests, validation during training, prompts and exports.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, ParamSpec, get_args, get_type_hints

Method = Literal["beam", "sample", "exhaustive"]
METHODS: tuple[Method, ...] = get_args(Method)
_KEY = "search setting"

P = ParamSpec("P")


@dataclass(frozen=True)
class PromptUse:
    """Use of a setting when a language model continues prompts.

    Attributes:
        is_shared: the run's value applies with every method; otherwise only with the run's method.
        asks_for: the method that is chosen if the caller sets the setting.
        default: replaces the setting's default if the method is not the run's.
        refusal: why the setting is refused; empty if it is accepted.
    """

    is_shared: bool = False
    asks_for: Method | None = None
    default: Any = None
    refusal: str = ""


@dataclass(frozen=True)
class HuggingFaceEntry:
    """The entry of Hugging Face's `generation_config.json` with the same meaning.

    Attributes:
        is_read: an import reads it; an export always writes it.
    """

    name: str
    is_read: bool = True


@dataclass(frozen=True)
class NoEntry:
    """The setting has no entry in `generation_config.json`.

    Attributes:
        reason: follows the refused value in the message.
        is_refused: an export refuses a value other than the default; otherwise the setting is left
            to each call.
    """

    reason: str
    is_refused: bool = True


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A search setting.

    Attributes:
        validation: validation during training, which is greedy, uses the run's value.
        prompts: its use when a language model continues prompts.
        hugging_face: its entry in `generation_config.json`.
        ctranslate2: CTranslate2 has it too, with the same meaning.
        methods: the methods that use it; with others only the default is allowed.
        commands: the commands with a flag for it. `--search KEY=VALUE` sets any setting.
        flag: its command-line flag; by default the name with hyphens.
        requests: the HTTP requests with a field for it.
        request_bounds: additional bounds of that field.
        cost: the resource of a server that a large value uses, and that limits it: hypotheses
            computed at once, or tokens decoded.
        usual: its usual range, for numbers that must be finite.
        name: name of the field, set by `settings_of`.
        type: its type with bounds, set by `settings_of`.
    """

    default: Any
    validation: bool
    prompts: PromptUse
    hugging_face: HuggingFaceEntry | NoEntry
    ctranslate2: bool
    methods: tuple[Method, ...] = METHODS
    commands: tuple[str, ...] = ()
    flag: str = ""
    requests: tuple[str, ...] = ()
    request_bounds: tuple[Any, ...] = ()
    cost: Literal["hypotheses", "tokens"] | None = None
    usual: str = ""
    name: str = ""
    type: Any = None


def _as_field(declare: Callable[P, Setting]) -> Callable[P, Any]:
    def make(*args: P.args, **kwargs: P.kwargs) -> Any:
        declared = declare(*args, **kwargs)
        return field(default=declared.default, metadata={_KEY: declared})

    return make


setting = _as_field(Setting)
"""A dataclass field with the declaration of a setting; takes the arguments of `Setting`."""


def settings_of(cls: type) -> dict[str, Setting]:
    """The declarations of all fields of a settings class, by name.

    Raises:
        TypeError: a field has no declaration.
    """
    hints = get_type_hints(cls, include_extras=True)
    settings: dict[str, Setting] = {}
    for entry in fields(cls):
        declared = entry.metadata.get(_KEY)
        if declared is None:
            raise TypeError(
                f"{cls.__name__}.{entry.name} has no declaration; declare it with setting(...)"
            )
        name = entry.name
        flag = declared.flag or f"--{name.replace('_', '-')}"
        settings[name] = replace(declared, name=name, type=hints[name], flag=flag)
    return settings
