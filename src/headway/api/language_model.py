"""A trained language model in use: what it writes, and how likely texts are. No printing."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.lines import pieces_of
from ..errors import DataError
from ..metrics import perplexity as measures
from ..metrics.score import Score
from ..search import SearchConfig
from ..tasks import Language
from ..tasks.continuing import Continuing
from ..tasks.language import window_size
from ..tasks.sequence_loss import forced_log_probs
from ..tasks.windows import Window, window_batches, windows_of
from .inspecting import check_not_blank, inspect_text
from .inspection import Inspection
from .pieces import check_length
from .results import Scored
from .trained import Trained
from .writing import Generation, TooLong, Writer, writing_config

WORD_CHARACTERS = 20
"""Words are clear where white space comes at least this often on average."""


@dataclass(frozen=True)
class TextEvaluation:
    """Scores by metric, and what they were taken on.

    Attributes:
        n_texts: lines, or running texts.
        n_tokens: end marks included.
        n_unknown: tokens that stand for something the tokenizer does not know; they are easy to
            predict, and make every figure too good.
    """

    scores: dict[str, Score]
    n_texts: int
    n_tokens: int
    n_unknown: int


class LanguageModel(Trained):
    """A language model with its vocabulary, made by `headway.load`."""

    commands = {"generate": "PROMPT", "score": "--data FILE"}  # noqa: RUF012 (declared a ClassVar by the base)
    task: Language

    @property
    def window(self) -> int:
        """Tokens that the model sees at once; longer texts are scored in several windows."""
        return window_size(self.config.data)

    def generate(
        self,
        prompts: Sequence[str],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        first: int = 0,
        **search: Any,
    ) -> list[Generation]:
        """What follows each prompt, drawn at random unless `search` says otherwise.

        Args:
            prompts: beginnings of texts; an empty one leaves all to the model.
            too_long: what to do with a prompt that is longer than the model can look back: refuse
                it, or go on with its end alone.
            places: names of the prompts in messages, by default `prompt 1`, `prompt 2`, ...
            first: number of the first prompt, which draws depend on.
            search: settings in place of the usual ones, as `temperature=1.0` or `beam=5`.
        """
        numbers = range(first, first + len(prompts))
        places = places or [f"prompt {number + 1}" for number in numbers]
        return self.writer(self.writing_config(**search), too_long).write(prompts, places, numbers)

    def stream(
        self, prompt: str, too_long: TooLong = "refuse", **search: Any
    ) -> Generator[str, None, Generation]:
        """What follows one prompt, piece by piece as it is written, in whole characters.

        It is what `generate` gives for it as the only one, which is also what the generator returns
        in the end.
        """
        return self.writer(self.writing_config(**search), too_long).stream(prompt, "the prompt")

    def writing_config(self, **changes: Any) -> SearchConfig:
        """How prompts are gone on with, by the run's settings and changes to them."""
        return writing_config(self.config.search, **changes)

    def score(self, texts: Sequence[str]) -> list[Scored]:
        """The log probability of every token of each text, its end included."""
        encoded = [self._encode(text) for text in texts]
        windows = list(windows_of([len(ids) for ids in encoded], self.window))
        values = self._log_probs(encoded, windows)
        parts: list[list[float]] = [[] for _ in encoded]
        for window, log_probs in zip(windows, values, strict=True):
            parts[window.text] += log_probs.tolist()
        tokens = [self.task.codec.tokenizer.tokens(ids.tolist()) for ids in encoded]
        return [Scored(sum(part), names, part) for part, names in zip(parts, tokens, strict=True)]

    def evaluate(
        self, texts: Sequence[str], metrics: Sequence[str] | None = None, resamples: int = 1000
    ) -> TextEvaluation:
        """How well texts are predicted; blank ones are left out.

        The end of a text counts as one character and one byte, the line break it stands for.
        Intervals are taken over windows, so over lines where lines fit into one.

        Args:
            texts: lines, or whole running texts, each one string.
            metrics: by default all of the task; the one per word only where white space tells
                words apart.

        Raises:
            DataError: there is nothing but blank texts.
        """
        for name in metrics or ():
            if name not in self.task.metrics:
                raise self.task.unknown_metric(name)
        texts = [text for text in texts if text.strip()]
        if not texts:
            raise DataError("no text to evaluate: all of it is blank; give other data")
        encoded = [self._encode(text) for text in texts]
        windows = list(windows_of([len(ids) for ids in encoded], self.window))
        nll = np.array([-values.sum() for values in self._log_probs(encoded, windows)])
        tokens = np.array([window.n_tokens for window in windows])
        # Of a text in several windows each has its share of the characters.
        shares = np.array([w.n_tokens / len(encoded[w.text]) for w in windows])
        place = np.array([window.text for window in windows])

        def spread(counts: list[int]) -> np.ndarray:
            return np.array(counts)[place] * shares

        characters = [len(text) + 1 for text in texts]
        words = [len(text.split()) for text in texts]
        counts = {
            "loss": (measures.cross_entropy, tokens),
            "perplexity": (measures.perplexity, tokens),
            "bits_per_character": (measures.bits_per_character, spread(characters)),
            "bits_per_byte": (
                measures.bits_per_byte,
                spread([len(text.encode()) + 1 for text in texts]),
            ),
            "word_perplexity": (measures.word_perplexity, spread(words)),
        }
        names = metrics or [
            name
            for name in self.task.metrics
            if name != "word_perplexity" or sum(characters) <= WORD_CHARACTERS * sum(words)
        ]
        scores = {name: counts[name][0](nll, counts[name][1], resamples) for name in names}
        # Without the end marks: GPT-2 has one token for everything.
        unknown = sum(int((ids[:-1] == self.task.codec.unk).sum()) for ids in encoded)
        return TextEvaluation(scores, len(texts), int(tokens.sum()), unknown)

    def inspect(self, text: str) -> Inspection:
        """What the model does with a text that fits into its window.

        Raises:
            DataError: the text is blank, or too long.
            ConfigError: this is an ensemble.
        """
        model = self.only_model("looking inside")
        check_not_blank(not text.strip())
        self.length(text, "the text", "shorten it")
        ids = self._encode(text)
        return inspect_text(model, text, self.task.codec, ids, self.background())

    def length(self, given: str, place: str, remedy: str) -> int:
        n = len(self._encode(given))
        check_length(n, self.window, place, remedy)
        return n

    def writer(self, config: SearchConfig, too_long: TooLong = "refuse") -> Writer:
        """What goes on with prompts in this way."""
        return Writer(self._continuing, config, too_long)

    @cached_property
    def _continuing(self) -> Continuing:
        return self.task.continuing(self.model, self.config.data)

    def _encode(self, text: str) -> np.ndarray:
        ids = np.concatenate(list(self.task.codec.encode_running(pieces_of(text))))
        return ids if len(ids) else self.task.codec.encode_batch([text])[0]

    def _log_probs(
        self, texts: Sequence[np.ndarray], windows: Sequence[Window]
    ) -> list[np.ndarray]:
        """Of the tokens that count in each window."""
        found: list[np.ndarray] = [np.empty(0)] * len(windows)
        bos = self.task.codec.bos
        for rows, batch in window_batches(texts, windows, bos):
            log_probs = forced_log_probs(self.model, self.to_device(batch), bos)
            values = log_probs.double().cpu().numpy()
            lengths = [windows[row].n_tokens for row in rows]
            for row, part in zip(rows, np.split(values, np.cumsum(lengths)[:-1]), strict=True):
                found[row] = part
        return found
