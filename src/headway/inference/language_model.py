"""Trained language models in use: continuations of prompts, log probabilities, perplexity.

`tasks/prompt_decoding.py` decodes; `tasks/lm_windows.py` cuts long texts into windows.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import config as configs
from ..arguments import checked
from ..data.config import Corpus
from ..data.formats.lines import pieces_of
from ..errors import ConfigError, DataError, InputError
from ..inspection.build import check_not_blank, inspect_text
from ..inspection.hypothesis import TextHypothesis
from ..inspection.inspection import Inspection
from ..inspection.report import CommandUse
from ..metrics.interval import RESAMPLES
from ..metrics.score import Score
from ..search import SETTINGS, Hypothesis, Prefix, SearchConfig
from ..tasks.language_model import Language, window_size
from ..tasks.lm_windows import Window, window_batches, windows_of
from ..tasks.losses import forced_log_probs
from ..tasks.prompt_decoding import PromptDecoder
from ..text.detokenize import split_prompt
from ..text.streaming import StreamingDetokenizer
from .base import TooLong, TrainedModel
from .evaluation import (
    EvaluationOptions,
    EvaluationReport,
    TimedEvaluation,
    read_rows,
    scores_to_dict,
    timed,
)
from .input_errors import InputErrors, OnError
from .requests import check_length
from .results import Result, ScoredText

CUT = 'shorten it, or continue its end alone (`too_long="cut"`)'
"""The remedy for a prompt that is too long."""


@dataclass(frozen=True)
class Generation(Result):
    """A prompt and its continuations, best first.

    Attributes:
        outputs: texts, scores and lengths of the continuations, without the prompt.
        n_unknown: tokens of the prompt that the tokenizer does not know.
    """

    prompt: str
    outputs: list[TextHypothesis]
    n_unknown: int

    @property
    def text(self) -> str:
        """The prompt with its best continuation."""
        return self.prompt + self.outputs[0].text


class TextGenerator:
    """Continues prompts, which may be empty.

    Args:
        config: search settings, by `generation_config`.
        too_long: refuse a prompt longer than the model's context, with an error that names it, or
            cut its beginning off.
    """

    def __init__(
        self, decoder: PromptDecoder, config: SearchConfig, too_long: TooLong = "refuse"
    ) -> None:
        self.decoder, self.config, self.too_long = decoder, config, too_long
        self.codec = decoder.codec

    def write(
        self,
        prompts: Sequence[Any],
        places: Sequence[str],
        numbers: Sequence[int],
        on_error: OnError = "stop",
    ) -> list[Generation]:
        """The continuations of each prompt, in the order given.

        Args:
            places: names of the prompts in messages.
            numbers: numbers of the prompts, which random draws depend on.
            on_error: as in `LanguageModel.generate`.
        """
        errors = InputErrors(prompts, on_error, places.__getitem__)
        encoded: dict[int, Prefix] = {}
        for row in errors.rows:
            with errors.of(row):
                encoded[row] = self.encode_prompt(prompts[row], places[row])
        limits = [self.config.max_length] * len(encoded)
        chosen = [numbers[row] for row in encoded]
        hypotheses = self.decoder.decode(list(encoded.values()), self.config, limits, chosen)
        return errors.with_results(
            self._generation(prompts[row], prompt, best)
            for (row, prompt), best in zip(encoded.items(), hypotheses, strict=True)
        )

    def stream(self, prompt: str, location: str) -> Generator[str, None, Generation]:
        """The pieces of a continuation as they are decoded; the generator returns all of it.

        Raises:
            ConfigError: the search has more than one hypothesis.
            DataError: the prompt is too long.
        """
        if not streams(self.config):
            raise ConfigError(
                "only one output that never changes can be read as it grows, and a beam changes "
                'its mind; set n_best = 1 and method = "sample" or beam = 1'
            )
        return self._stream(prompt, self.encode_prompt(prompt, location))

    def _stream(self, text: str, prompt: Prefix) -> Generator[str, None, Generation]:
        detokenizer = self._detokenizer(prompt)
        tokens = self.decoder.stream(prompt, self.config, self.config.max_length)
        while True:
            try:
                piece = detokenizer.add(next(tokens))
            except StopIteration as end:
                hypothesis: Hypothesis = end.value
                break
            if piece:
                yield piece
        if piece := detokenizer.end():
            yield piece
        return self._generation(text, prompt, [hypothesis])

    def encode_prompt(self, text: str, location: str, remedy: str = CUT) -> Prefix:
        """The tokens of a prompt.

        Args:
            location: name of the prompt in messages.
            remedy: advice for a prompt that is too long.

        Raises:
            DataError: the prompt is too long and is refused, or cannot be tokenised.
        """
        try:
            tokens, opening = split_prompt(self.codec.tokenizer, text)
        except DataError as error:
            raise DataError(f"{location}: {error}") from None
        longest = self.decoder.longest
        if longest is not None and len(tokens) > longest:
            if self.too_long == "refuse":
                raise DataError(
                    f"{location} has {len(tokens)} tokens and the model can look back at {longest} "
                    f"of them at most; {remedy}"
                )
            tokens = tokens[-longest:]
        return Prefix(tokens, opening)

    def _generation(self, text: str, prompt: Prefix, best: Sequence[Hypothesis]) -> Generation:
        n_unknown = sum(token == self.codec.unk for token in prompt.tokens)
        outputs = [self._output(prompt, hypothesis) for hypothesis in best]
        return Generation(text, outputs, n_unknown)

    def _output(self, prompt: Prefix, hypothesis: Hypothesis) -> TextHypothesis:
        detokenizer = self._detokenizer(prompt)
        return TextHypothesis(
            "".join(map(detokenizer.add, hypothesis.tokens)) + detokenizer.end(),
            hypothesis.log_prob,
            hypothesis.score,
            self.codec.tokenizer.tokens(hypothesis.tokens),
            hypothesis.token_log_probs,
            hypothesis.finished,
        )

    def _detokenizer(self, prompt: Prefix) -> StreamingDetokenizer:
        return StreamingDetokenizer(self.codec.tokenizer, not prompt.tokens, prompt.opening)


def generation_config(of_run: SearchConfig, **changes: Any) -> SearchConfig:
    """Search settings for prompts: sampling with a fixed seed, unless the changes say otherwise.

    With the run's own method, its settings are the defaults; with another method, only those that
    mean the same for both.

    Args:
        changes: search settings; None leaves a setting as it is. A `beam` selects beam search.

    Raises:
        ConfigError: a setting does not exist, does not fit or has no meaning here.
    """
    changed = {name: value for name, value in changes.items() if value is not None}
    uses = {name: setting.prompts for name, setting in SETTINGS.items()}
    for name, use in uses.items():
        if name in changed and use.refusal:
            raise ConfigError(f"search.{name} {use.refusal}")
    methods = [uses[name].asks_for for name in changed.keys() & uses.keys()]
    method = changed.setdefault("method", next(filter(None, methods), "sample"))
    if method == "exhaustive":
        raise ConfigError('method = "exhaustive" is for short outputs; take "sample" or "beam"')
    base = configs.to_dict(of_run)
    if method != of_run.method:
        base = {name: base[name] for name, use in uses.items() if use.is_shared}
        base |= {
            name: use.default
            for name, use in uses.items()
            if use.default is not None and method in SETTINGS[name].methods
        }
    return configs.parse({**base, **changed}, SearchConfig, "search")


def streams(config: SearchConfig) -> bool:
    """Whether the search has a single hypothesis, so that its output can be streamed."""
    is_greedy = config.method == "beam" and config.beam == 1 and config.stop == "finished"
    return config.n_best == 1 and (is_greedy or config.method == "sample")


WORD_CHARACTERS = 20
"""Largest mean number of characters per white-space word for which `word_perplexity` is usual."""


@dataclass(frozen=True)
class TextEvaluation:
    """Scores by metric, and the size of the test set.

    Attributes:
        n_texts: number of lines, or of running texts.
        n_tokens: number of tokens, end tokens included.
        n_unknown: number of unknown tokens; they are easy to predict, and make every score too
            good.
    """

    scores: dict[str, Score]
    n_texts: int
    n_tokens: int
    n_unknown: int


class LanguageModel(TrainedModel):
    """A language model with its vocabulary, made by `headway.load`."""

    commands: ClassVar[Mapping[str, CommandUse]] = {
        "generate": CommandUse("PROMPT", "Continue a text of your own."),
        "score": CommandUse("--data FILE", "Log probabilities of lines of your own."),
    }
    scored_inputs = "texts"
    task: Language

    @property
    def window(self) -> int:
        """Tokens that the model sees at once; longer texts are scored in several windows."""
        return window_size(self.config.data)

    @checked
    def generate(
        self,
        prompts: Iterable[str | InputError],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        first: int = 0,
        on_error: OnError = "stop",
        **search: Any,
    ) -> list[Generation]:
        """The continuations of each prompt, sampled unless `search` says otherwise.

        Args:
            prompts: beginnings of texts; a prompt may be empty.
            too_long: refuse a prompt longer than the model's context, or cut its beginning off.
            places: names of the prompts in messages; by default `prompt 1`, `prompt 2`, ...
            first: number of the first prompt, which random draws depend on.
            on_error: stop at the first prompt that cannot be used, or keep going: its result is
                then an `InputError`.
            search: search settings, such as `temperature=1.0` or `beam=5`.
        """
        prompts = list(prompts)
        numbers = range(first, first + len(prompts))
        places = places or [f"prompt {number + 1}" for number in numbers]
        writer = self.writer(self.writing_config(**search), too_long)
        return writer.write(prompts, places, numbers, on_error)

    @checked
    def stream(
        self, prompt: str, too_long: TooLong = "refuse", **search: Any
    ) -> Generator[str, None, Generation]:
        """The continuation of one prompt, piece by piece as it is decoded, in whole characters.

        The text is that of `generate` with this prompt alone; the generator returns its
        `Generation`.
        """
        return self.writer(self.writing_config(**search), too_long).stream(prompt, "the prompt")

    def writing_config(self, **changes: Any) -> SearchConfig:
        """Search settings for prompts: the run's, with changes."""
        return generation_config(self.config.search, **changes)

    @checked
    def score(self, texts: Iterable[str]) -> list[ScoredText]:
        """The log probability of every token of each text, its end included."""
        encoded = [self._encode(text) for text in texts]
        windows = list(windows_of([len(ids) for ids in encoded], self.window))
        values = self._log_probs(encoded, windows)
        parts: list[list[float]] = [[] for _ in encoded]
        for window, log_probs in zip(windows, values, strict=True):
            parts[window.text] += log_probs.tolist()
        tokens = [self.task.codec.tokenizer.tokens(ids.tolist()) for ids in encoded]
        return [
            ScoredText(sum(part), names, part) for part, names in zip(parts, tokens, strict=True)
        ]

    @checked
    def evaluate(
        self, texts: Iterable[str], metrics: Sequence[str] | None = None, resamples: int = 1000
    ) -> TextEvaluation:
        """The scores of texts; blank texts are left out.

        The end of a text counts as one character and one byte, like a line break. Intervals are
        computed over windows; a line that fits into the window is one.

        Args:
            texts: lines, or whole running texts, each one string.
            metrics: by default all metrics of the task; `word_perplexity` only where white space
                separates words.

        Raises:
            DataError: all texts are blank.
        """
        self.check_metrics(metrics or ())
        texts = [text for text in texts if text.strip()]
        if not texts:
            raise DataError("no text to evaluate: all of it is blank; give other data")
        encoded = [self._encode(text) for text in texts]
        windows = list(windows_of([len(ids) for ids in encoded], self.window))
        nll = np.array([-values.sum() for values in self._log_probs(encoded, windows)])
        tokens = np.array([window.n_tokens for window in windows])
        # Each window of a text has its share of the characters.
        shares = np.array([w.n_tokens / len(encoded[w.text]) for w in windows])
        text_indices = np.array([window.text for window in windows])

        def per_window(counts: list[int]) -> np.ndarray:
            return np.array(counts)[text_indices] * shares

        characters = [len(text) + 1 for text in texts]
        words = [len(text.split()) for text in texts]
        counts = {
            "loss": tokens,
            "perplexity": tokens,
            "bits_per_character": per_window(characters),
            "bits_per_byte": per_window([len(text.encode()) + 1 for text in texts]),
            "word_perplexity": per_window(words),
        }
        names = metrics or [
            name
            for name in self.task.metrics
            if name != "word_perplexity" or sum(characters) <= WORD_CHARACTERS * sum(words)
        ]
        table = self.task.metric_table
        scores = {name: table[name](nll, counts[name], resamples=resamples) for name in names}
        # Without end tokens: in GPT-2 they have the same id as the unknown token.
        unknown = sum(int((ids[:-1] == self.task.codec.unk).sum()) for ids in encoded)
        return TextEvaluation(scores, len(texts), int(tokens.sum()), unknown)

    def public_info(self) -> dict[str, Any]:
        return {"search": asdict(self.writing_config())}

    def evaluate_corpora(
        self, corpora: Sequence[Corpus], root: Path, options: EvaluationOptions
    ) -> EvaluationReport:
        """The scores of texts; a running text is one text."""
        texts = [row.values[0] for row in read_rows(corpora, self.task.columns, root)]
        result = self.evaluate(texts, options.metrics)
        n_texts = f"{result.n_texts} {'text' if result.n_texts == 1 else 'texts'}"
        warnings = []
        if result.n_unknown:
            warnings.append(
                f"{result.n_unknown} of {result.n_tokens} tokens are unknown to the tokenizer, "
                "which makes every figure too good; a kind of [text] that knows all is bpe or bytes"
            )
        return EvaluationReport(
            result.scores,
            {
                "n": result.n_texts,
                "tokens": result.n_tokens,
                "unknown": result.n_unknown,
                "window": self.window,
                "metrics": scores_to_dict(result.scores),
            },
            f"{n_texts}, {result.n_tokens} tokens, windows of {self.window}",
            warnings=warnings,
            digits=4,
        )

    def time_evaluation(
        self, corpora: Sequence[Corpus], root: Path, metric: str, tokenized: bool
    ) -> TimedEvaluation:
        """The score of the texts; the speed is that of forced scoring."""
        texts = [row.values[0] for row in read_rows(corpora, self.task.columns, root)]
        texts = [text for text in texts if text.strip()]
        result, seconds = timed(lambda: self.evaluate(texts, [metric], resamples=RESAMPLES))
        notes: tuple[str, ...] = ()
        if result.n_unknown:
            unknown = f"{result.n_unknown:,} of {result.n_tokens:,} tokens are unknown"
            notes = (f"{unknown} to its tokenizer, which makes the figure too good",)
        return TimedEvaluation(
            lambda _: result.scores[metric],
            sum(len(text) + 1 for text in texts),
            "characters",
            result.n_tokens / seconds,
            "scored tokens",
            notes=notes,
        )

    @checked
    def inspect(self, text: str) -> Inspection:
        """The inspection of a text that fits into the window.

        Raises:
            DataError: the text is blank, or too long.
            ConfigError: this is an ensemble.
        """
        model = self.single_model("looking inside")
        check_not_blank(not text.strip())
        self.length(text, "the text", "shorten it")
        ids = self._encode(text)
        return inspect_text(model, text, self.task.codec, ids, self.background())

    def length(self, text: str, location: str, remedy: str) -> int:
        n = len(self._encode(text))
        check_length(n, self.window, location, remedy)
        return n

    def writer(self, config: SearchConfig, too_long: TooLong = "refuse") -> TextGenerator:
        """The generator with these search settings."""
        return TextGenerator(self._prompt_decoder, config, too_long)

    @cached_property
    def _prompt_decoder(self) -> PromptDecoder:
        return self.task.prompt_decoder(self.model, self.config.data)

    def _encode(self, text: str) -> np.ndarray:
        ids = np.concatenate(list(self.task.codec.encode_running(pieces_of(text))))
        return ids if len(ids) else self.task.codec.encode_batch([text])[0]

    def _log_probs(
        self, texts: Sequence[np.ndarray], windows: Sequence[Window]
    ) -> list[np.ndarray]:
        """The log probabilities of the tokens that count in each window."""
        by_window: list[np.ndarray] = [np.empty(0)] * len(windows)
        bos = self.task.codec.bos
        for rows, batch in window_batches(texts, windows, bos):
            log_probs = forced_log_probs(self.model, self.to_device(batch), bos)
            values = log_probs.double().cpu().numpy()
            lengths = [windows[row].n_tokens for row in rows]
            for row, part in zip(rows, np.split(values, np.cumsum(lengths)[:-1]), strict=True):
                by_window[row] = part
        return by_window
