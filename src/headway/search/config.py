"""The settings of a search, each with the declarations that other rooms read (`setting.py`).

The docstring below a setting is its manual. The first sentence is also the help text of its flag
and the description of its field in requests.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from .setting import HuggingFaceEntry, Method, NoEntry, PromptUse, Setting, setting, settings_of

LARGEST_ALPHA = 10.0
"""Largest value in requests: beyond it, length normalisation overflows floating-point numbers."""
SAMPLING_TEMPERATURE = 0.8
"""For prompts, if neither the run nor the caller sets a temperature. Each unlikely token misleads
all that follow it, so likely tokens are somewhat preferred."""

_REQUESTS = ("translate", "generate", "inspect")
_NO_SOURCE = "depends on a source, which a prompt is not; use {}"


@dataclass(frozen=True)
class SearchConfig:
    """Settings of the search for outputs."""

    method: Method = setting(  # noqa: RUF009 (it makes a dataclass field)
        default="beam",
        validation=False,
        prompts=PromptUse(),
        hugging_face=HuggingFaceEntry("do_sample", is_read=False),
        ctranslate2=False,
    )
    """`beam` keeps the `beam` best hypotheses at each step; `sample` draws outputs from the model's
    distribution; `exhaustive` searches until an output is proven to be the best, which needs short
    outputs or a small vocabulary."""

    beam: Annotated[int, Ge(1)] = setting(
        default=5,
        validation=False,
        prompts=PromptUse(asks_for="beam"),
        hugging_face=HuggingFaceEntry("num_beams"),
        ctranslate2=True,
        commands=("translate", "generate", "evaluate", "view"),
        requests=_REQUESTS,
        cost="hypotheses",
    )
    """Hypotheses kept alive at each step; 1 is greedy search."""

    alpha: float = setting(
        default=1.0,
        validation=False,
        prompts=PromptUse(is_shared=True),
        hugging_face=HuggingFaceEntry("length_penalty"),
        ctranslate2=True,
        commands=("translate", "generate", "evaluate", "view", "search-report"),
        requests=_REQUESTS,
        request_bounds=(Ge(-LARGEST_ALPHA), Le(LARGEST_ALPHA)),
        usual="0 to 1",
    )
    """Length normalisation: rank by `log p / length**alpha`. The length counts the end token. 0
    ranks by probability alone, which favours short outputs."""

    n_best: Annotated[int, Ge(1)] = setting(
        default=1,
        validation=False,
        prompts=PromptUse(),
        hugging_face=HuggingFaceEntry("num_return_sequences", is_read=False),
        ctranslate2=True,
        commands=("translate", "generate", "view"),
        flag="--nbest",
        requests=_REQUESTS,
        cost="hypotheses",
    )
    """Outputs returned for each input, best first. At most `beam`; with `method = "sample"` the
    number of outputs drawn, which may be equal; with `method = "exhaustive"` only 1."""

    max_length: Annotated[int, Ge(1)] = setting(
        default=256,
        validation=True,
        prompts=PromptUse(is_shared=True),
        hugging_face=HuggingFaceEntry("max_length"),
        ctranslate2=True,
        commands=("translate", "generate", "evaluate", "view", "search-report"),
        requests=_REQUESTS,
        cost="tokens",
    )
    """The longest output in tokens, end token counted. It applies to every input."""

    max_ratio: Annotated[float, Ge(0)] = setting(
        default=2.0,
        validation=True,
        prompts=PromptUse(refusal=_NO_SOURCE.format("max_length")),
        hugging_face=NoEntry("no limit depends on the input", is_refused=False),
        ctranslate2=True,
        usual="1 to 3",
    )
    """With `max_extra`, a limit that depends on the input: an output has at most
    `max_ratio * source tokens + max_extra` tokens, end token counted."""

    max_extra: Annotated[int, Ge(0)] = setting(
        default=10,
        validation=True,
        prompts=PromptUse(refusal=_NO_SOURCE.format("max_length")),
        hugging_face=NoEntry("no limit depends on the input", is_refused=False),
        ctranslate2=True,
    )
    """Tokens allowed on top of `max_ratio` times the source length."""

    min_length: Annotated[int, Ge(0)] = setting(
        default=0,
        validation=True,
        prompts=PromptUse(is_shared=True),
        hugging_face=HuggingFaceEntry("min_length"),
        ctranslate2=False,
        methods=("beam", "sample"),
        commands=("translate", "generate"),
        requests=("generate",),
        cost="tokens",
    )
    """The shortest output in tokens, end token counted. If the length limit is lower, the limit
    applies. 2 forbids the empty output."""

    min_ratio: Annotated[float, Ge(0)] = setting(
        default=0.0,
        validation=True,
        prompts=PromptUse(refusal=_NO_SOURCE.format("min_length")),
        hugging_face=NoEntry("no limit depends on the input"),
        ctranslate2=False,
        methods=("beam", "sample"),
        usual="0 to 1",
    )
    """A minimum that depends on the input: an output has at least `min_ratio * source tokens`
    tokens, end token counted. The larger of this and `min_length` applies."""

    no_repeat: Annotated[int, Ge(0)] = setting(
        default=0,
        validation=True,
        prompts=PromptUse(is_shared=True),
        hugging_face=HuggingFaceEntry("no_repeat_ngram_size"),
        ctranslate2=False,
        methods=("beam", "sample"),
        commands=("translate", "generate"),
        requests=("generate",),
    )
    """No n-gram of this many tokens occurs twice; 3 stops loops, 0 disables the check. 3 seldom
    harms; 1 forbids every token a second time. A required prefix may repeat."""

    stop: Literal["finished", "safe"] = setting(
        default="finished",
        validation=False,
        prompts=PromptUse(asks_for="beam"),
        hugging_face=HuggingFaceEntry("early_stopping", is_read=False),
        ctranslate2=False,
        methods=("beam",),
        commands=("translate",),
    )
    """When a beam search ends: `finished`, once `beam` hypotheses have ended; `safe`, once no live
    hypothesis can win. Both end at the length limit. With `safe`, no live hypothesis can score
    above the `n_best` finished ones, so that a longer search would not change the result. For
    `method = "beam"`."""

    temperature: Annotated[float, Gt(0)] = setting(
        default=1.0,
        validation=False,
        prompts=PromptUse(default=SAMPLING_TEMPERATURE),
        hugging_face=HuggingFaceEntry("temperature", is_read=False),
        ctranslate2=False,
        methods=("sample",),
        commands=("translate", "generate"),
        requests=("generate",),
    )
    """Below 1 likely tokens become likelier, above 1 less likely. Logits are divided by it before a
    token is drawn. For `method = "sample"`."""

    top_k: Annotated[int, Ge(0)] = setting(
        default=0,
        validation=False,
        prompts=PromptUse(),
        hugging_face=HuggingFaceEntry("top_k", is_read=False),
        ctranslate2=False,
        methods=("sample",),
        commands=("translate", "generate"),
        requests=("generate",),
    )
    """Draw among this many of the likeliest tokens; 0 means all. For `method = "sample"`."""

    top_p: Annotated[float, Gt(0), Le(1)] = setting(
        default=1.0,
        validation=False,
        prompts=PromptUse(),
        hugging_face=HuggingFaceEntry("top_p", is_read=False),
        ctranslate2=False,
        methods=("sample",),
        commands=("translate", "generate"),
        requests=("generate",),
    )
    """Draw among the fewest likeliest tokens whose probabilities sum to this; 1 means all.
    Probabilities are taken after `temperature` and `top_k`. For `method = "sample"`."""

    seed: Annotated[int, Ge(0)] = setting(
        default=1,
        validation=False,
        prompts=PromptUse(),
        hugging_face=NoEntry("torch.manual_seed is called instead", is_refused=False),
        ctranslate2=False,
        methods=("sample",),
        commands=("translate", "generate"),
        requests=("generate",),
    )
    """The same seed draws the same outputs. How inputs are batched has no influence. For
    `method = "sample"`."""

    max_nodes: Annotated[int, Ge(1)] = setting(
        default=100_000,
        validation=False,
        prompts=PromptUse(
            refusal="belongs to exhaustive search, which is for short outputs; leave it out"
        ),
        hugging_face=NoEntry("only beam and sample"),
        ctranslate2=False,
        methods=("exhaustive",),
        commands=("search-report",),
    )
    """Hypotheses that an exhaustive search expands for one input. When they are used up, the best
    output so far is returned as not proven. For `method = "exhaustive"`."""

    def __post_init__(self) -> None:
        for name, declared in SETTINGS.items():
            if declared.usual and not math.isfinite(value := getattr(self, name)):
                raise ValueError(
                    f"{name}={value} is not a finite number; {declared.usual} is usual"
                )
        if not 0 < self.temperature < math.inf:
            raise ValueError(
                f"temperature={self.temperature} is not a finite number above 0; for the likeliest "
                f'token at each step use method = "beam" with beam = 1'
            )
        self._check_n_best()
        self._check_method()

    def _check_n_best(self) -> None:
        if self.method == "beam" and not 1 <= self.n_best <= self.beam:
            raise ValueError(
                f"n_best={self.n_best} does not fit beam={self.beam}; "
                f"n_best lies between 1 and beam: lower n_best or raise beam"
            )
        if self.method == "exhaustive" and self.n_best != 1:
            raise ValueError(
                f'n_best={self.n_best} does not fit method="exhaustive", which finds one output; '
                f'set n_best = 1 or method = "beam"'
            )

    def _check_method(self) -> None:
        """Refuses a changed setting that the method does not use."""
        for name, declared in SETTINGS.items():
            value, usual = getattr(self, name), declared.default
            if self.method not in declared.methods and value != usual:
                raise ValueError(
                    f'{name}={value} has no meaning with method="{self.method}"; '
                    f'set method = "{declared.methods[0]}" or {name} = {json.dumps(usual)}'
                )


SETTINGS: Mapping[str, Setting] = MappingProxyType(settings_of(SearchConfig))
"""The declaration of each setting, by name."""
