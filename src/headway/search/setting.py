"""What a search setting declares beside its type, its default and its docstring.

Other rooms read these declarations, in `SETTINGS` of `config`, and name no setting themselves:
flags of commands, fields of HTTP requests, validation during training, prompts, exports.
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
    """What a setting means where a language model continues prompts.

    Attributes:
        is_shared: the run's value holds with every method; others hold with the run's own only.
        asks_for: the method that giving the setting asks for.
        default: in place of the setting's own, where the method is not the run's.
        refusal: why the setting is refused; empty where it is not.
    """

    is_shared: bool = False
    asks_for: Method | None = None
    default: Any = None
    refusal: str = ""


@dataclass(frozen=True)
class HuggingFaceEntry:
    """The entry of Hugging Face's `generation_config.json` with the same meaning.

    Attributes:
        is_read: an import takes it over; an export always writes it.
    """

    name: str
    is_read: bool = True


@dataclass(frozen=True)
class NoEntry:
    """There is no such entry.

    Attributes:
        reason: follows the refused value in the message.
        is_refused: an export with another value than the default is refused, instead of leaving
            it to each call.
    """

    reason: str
    is_refused: bool = True


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One search setting.

    Attributes:
        validation: validation during training, which is greedy, takes over the run's value.
        prompts: its meaning for a language model's prompts.
        hugging_face: its place in `generation_config.json`.
        ctranslate2: that library has it too, with the same meaning.
        methods: those that obey it; under others only the default is allowed.
        commands: those with a flag for it. `--search KEY=VALUE` sets any.
        flag: of the command line, where it is not the name with hyphens.
        requests: HTTP requests with a field for it.
        request_bounds: further bounds of that field.
        cost: what a large value costs a server, which limits it: hypotheses to compute at once, or
            tokens to write.
        usual: its usual range, for numbers that must be finite.
        name: of the field; filled in by `settings_of`, as is `type`.
        type: with its bounds.
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
        TypeError: a field has none.
    """
    hints = get_type_hints(cls, include_extras=True)
    found: dict[str, Setting] = {}
    for one in fields(cls):
        declared = one.metadata.get(_KEY)
        if declared is None:
            raise TypeError(
                f"{cls.__name__}.{one.name} does not say who uses it; declare it with setting(...)"
            )
        flag = declared.flag or f"--{one.name.replace('_', '-')}"
        found[one.name] = replace(declared, name=one.name, type=hints[one.name], flag=flag)
    return found
