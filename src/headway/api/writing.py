"""What a language model writes after prompts: how it is asked for, and what comes back."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .. import config as configs
from ..errors import ConfigError, DataError
from ..search import Hypothesis, Prefix, SearchConfig
from ..tasks.continuing import Continuing
from ..text.growing import GrowingText
from ..text.spelling import take_up
from .results import Output

TooLong = Literal["refuse", "cut"]

CUT = "shorten it, or go on with its end alone (--cut)"
TEMPERATURE = 0.8
"""Of what is drawn where neither the run nor the caller says how: each odd token that is drawn
misleads all that follow, so that likely ones are somewhat preferred."""
SHARED = ("alpha", "max_length", "min_length", "no_repeat")
"""Settings that mean the same with every method."""
NOT_HERE = {
    "max_ratio": "follows a source, and a prompt is none; take max_length",
    "max_extra": "follows a source, and a prompt is none; take max_length",
    "min_ratio": "follows a source, and a prompt is none; take min_length",
    "max_nodes": "is of exhaustive search, which is for short outputs; leave it out",
}
"""Settings that have no meaning, and why."""


@dataclass(frozen=True)
class Generation:
    """A prompt and what follows it, best first.

    Attributes:
        outputs: what was written after the prompt; scores and lengths are of that alone.
        n_unknown: tokens of the prompt that stand for something the tokenizer does not know.
    """

    prompt: str
    outputs: list[Output]
    n_unknown: int

    @property
    def text(self) -> str:
        """The prompt, and the best of what follows it."""
        return self.prompt + self.outputs[0].text


class Writer:
    """Goes on with prompts, which may be empty.

    Args:
        config: how, by `writing_config`.
        too_long: what to do with a prompt that is longer than the model can look back: refuse it,
            naming its place, or go on with its end alone.
    """

    def __init__(
        self, continuing: Continuing, config: SearchConfig, too_long: TooLong = "refuse"
    ) -> None:
        self.continuing, self.config, self.too_long = continuing, config, too_long
        self.codec = continuing.codec

    def write(
        self, prompts: Sequence[str], places: Sequence[str], numbers: Sequence[int]
    ) -> list[Generation]:
        """What follows each prompt, in the order given.

        Args:
            places: what messages call the prompts.
            numbers: of the prompts, which draws depend on.
        """
        begun = [self.begun(text, place) for text, place in zip(prompts, places, strict=True)]
        limits = [self.config.max_length] * len(begun)
        found = self.continuing.find(begun, self.config, limits, numbers)
        return [
            self._generation(text, prompt, outputs)
            for text, prompt, outputs in zip(prompts, begun, found, strict=True)
        ]

    def stream(self, prompt: str, place: str) -> Generator[str, None, Generation]:
        """What follows the prompt while it is written; all that there is to know comes last.

        Raises:
            ConfigError: more than one output is searched for.
            DataError: the prompt is too long.
        """
        if not streams(self.config):
            raise ConfigError(
                "only one output that never changes can be read as it grows, and a beam changes "
                'its mind; set n_best = 1 and method = "sample" or beam = 1'
            )
        return self._stream(prompt, self.begun(prompt, place))

    def _stream(self, text: str, prompt: Prefix) -> Generator[str, None, Generation]:
        growing = self._growing(prompt)
        tokens = self.continuing.stream(prompt, self.config, self.config.max_length)
        while True:
            try:
                grown = growing.add(next(tokens))
            except StopIteration as end:
                found: Hypothesis = end.value
                break
            if grown:
                yield grown
        if rest := growing.end():
            yield rest
        return self._generation(text, prompt, [found])

    def begun(self, text: str, place: str, remedy: str = CUT) -> Prefix:
        """A prompt as tokens.

        Args:
            remedy: what can be done about one that is too long.

        Raises:
            DataError: it is, and is refused.
        """
        try:
            tokens, opening = take_up(self.codec.tokenizer, text)
        except DataError as error:
            raise DataError(f"{place}: {error}") from None
        longest = self.continuing.longest
        if longest is not None and len(tokens) > longest:
            if self.too_long == "refuse":
                raise DataError(
                    f"{place} has {len(tokens)} tokens and the model can look back at {longest} of "
                    f"them at most; {remedy}"
                )
            tokens = tokens[-longest:]
        return Prefix(tokens, opening)

    def _generation(self, text: str, prompt: Prefix, found: Sequence[Hypothesis]) -> Generation:
        n_unknown = sum(token == self.codec.unk for token in prompt.tokens)
        return Generation(text, [self._output(prompt, one) for one in found], n_unknown)

    def _output(self, prompt: Prefix, found: Hypothesis) -> Output:
        growing = self._growing(prompt)
        return Output(
            "".join(map(growing.add, found.tokens)) + growing.end(),
            found.log_prob,
            found.score,
            self.codec.tokenizer.tokens(found.tokens),
            found.token_log_probs,
            found.finished,
        )

    def _growing(self, prompt: Prefix) -> GrowingText:
        return GrowingText(self.codec.tokenizer, not prompt.tokens, prompt.opening)


def writing_config(of_run: SearchConfig, **changes: Any) -> SearchConfig:
    """How prompts are gone on with: by chance, with a fixed seed, unless something else is asked.

    Of the run's settings those hold that mean the same with the method that is used.

    Args:
        changes: settings of the search; None is as if it were not there. A beam asks for beam
            search.

    Raises:
        ConfigError: a setting does not exist, does not fit or has no meaning here.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    for name in given.keys() & NOT_HERE.keys():
        raise ConfigError(f"search.{name} {NOT_HERE[name]}")
    method = given.setdefault("method", "beam" if given.keys() & {"beam", "stop"} else "sample")
    if method == "exhaustive":
        raise ConfigError('method = "exhaustive" is for short outputs; take "sample" or "beam"')
    base = configs.to_dict(of_run)
    if method != of_run.method:
        base = {name: base[name] for name in SHARED}
        base |= {"temperature": TEMPERATURE} if method == "sample" else {}
    return configs.parse({**base, **given}, SearchConfig, "search")


def streams(config: SearchConfig) -> bool:
    """Whether there is one output, which only grows."""
    is_greedy = config.method == "beam" and config.beam == 1 and config.stop == "finished"
    return config.n_best == 1 and (is_greedy or config.method == "sample")
