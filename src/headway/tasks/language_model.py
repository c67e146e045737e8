"""`task = "language"`: next-token prediction.

The rows of the text column are lines, or blocks of a running text or of documents. Training starts
each row at its first token, without the text before it. `lm_windows.py` scores whole texts.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from torch import Tensor

from ..data.codecs.text import TextCodec, TextConfig, fit_codec
from ..data.collate import collate_texts, text_batch
from ..data.config import DataConfig, is_cut, learned_from
from ..data.store import Store
from ..metrics.perplexity import LANGUAGE_METRICS
from ..models import SequenceModel, VocabularySizes
from ..nn.decoding import StepModel
from ..search import Prefix, SearchConfig
from .base import SAMPLES, Batch, Objective, Rows, Task, Validation, Validator
from .lm_windows import StoredTexts, window_batches, windows_of
from .losses import CountedLoss, SequenceLoss
from .prompt_decoding import PromptDecoder

PROMPT, CONTINUED = 32, 48  # tokens of a sample, at most
SAMPLING = SearchConfig(method="sample")


class Language(Task):
    """The next token of a text."""

    name = "language"
    trained_class = "headway.inference.language_model:LanguageModel"
    columns = ("text",)
    needs = frozenset({"step", "score"})
    has_source = False
    family = "decoder"
    lengths = ("text",)
    metric_table = LANGUAGE_METRICS
    validated = ("loss", "perplexity")

    def comparison_metric(self, references: Iterable[str]) -> str:
        return "bits_per_character"  # perplexity depends on the vocabulary too

    def with_codecs(self, codec: TextCodec) -> Self:
        """The task with this codec."""
        task = self.without_codecs()
        task.codec = codec
        return task

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizer on texts, or on pieces of a running text."""
        return self.with_codecs(fit_codec((row[0] for row in rows()), text))

    def save_codecs(self, folder: Path) -> None:
        """Writes `tokenizer.json`."""
        self.codec.save(folder / "tokenizer.json")

    def load_codecs(self, folder: Path) -> Self:
        return self.with_codecs(TextCodec.load(folder / "tokenizer.json"))

    @property
    def codecs(self) -> dict[str, TextCodec]:
        return {"text": self.codec}

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="words")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        if draw is None or not self.codec.is_random:
            return collate_texts(store, indices, self.codec.bos)
        drawn = [self.codec.redraw(store["text"][i], (*draw, int(i))) for i in indices]
        return text_batch(drawn, self.codec.bos)

    def objective(self, model: Any, label_smoothing: float) -> Objective:
        if isinstance(model, SequenceModel):
            return SequenceLoss(model, label_smoothing)
        return CountedLoss(model)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "LanguageValidator":
        return LanguageValidator(self, store, metric, data)

    def sequences(self, store: Store) -> StoredTexts:
        """Whole texts; all blocks of a running text are one."""
        return StoredTexts(store["text"], self.codec.eos)

    def prompt_decoder(self, model: StepModel, data: DataConfig) -> PromptDecoder:
        """The model as a decoder of prompts."""
        return PromptDecoder(model, self.codec, window_size(data))


class LanguageValidator(Validator):
    """Loss and perplexity over all tokens of all texts, each once, and a few sampled continuations.

    Texts longer than those of the training data are scored in several windows.
    """

    def __init__(self, task: Language, store: Store, metric: str, data: DataConfig) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task, self.data = task, data
        self.texts = StoredTexts(store["text"], task.codec.eos)
        self.windows = list(windows_of(self.texts.lengths(), window_size(data)))

    def batches(self) -> Iterator[Batch]:
        for _, batch in window_batches(self.texts, self.windows, self.task.codec.bos):
            yield batch

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        figures = {"perplexity": math.exp(loss) if loss < 709 else math.inf}
        return Validation(figures, self._samples(objective.model))

    def _samples(self, model: StepModel) -> list[tuple[str, str, str]]:
        """Prompts from windows across the set, with a sampled and the true continuation of each."""
        step = max(1, len(self.windows) // SAMPLES)
        chosen = self.windows[::step][:SAMPLES]
        samples = [self.texts[w.text][w.start : w.stop].tolist() for w in chosen]
        prompts = [Prefix(tokens[: min(PROMPT, len(tokens) // 2)]) for tokens in samples]
        outputs = self.task.prompt_decoder(model, self.data).decode(
            prompts, SAMPLING, [CONTINUED] * len(prompts)
        )
        return [
            (
                self.task.codec.decode(prompt.tokens),
                self._after(prompt.tokens, best.tokens),
                self._after(prompt.tokens, tokens[len(prompt.tokens) :][:CONTINUED]),
            )
            for tokens, prompt, [best] in zip(samples, prompts, outputs, strict=True)
        ]

    def _after(self, prompt: Sequence[int], tokens: Sequence[int]) -> str:
        """The text of tokens after a prompt."""
        decode = self.task.codec.decode
        return decode([*prompt, *tokens])[len(decode(prompt)) :]


def window_size(data: DataConfig) -> int:
    """The longest training input in tokens: a block of running text or documents, or a line."""
    sizes = {True: data.block, False: data.max_length}
    return max((sizes[is_cut(corpus)] for corpus in learned_from(data)), default=data.max_length)
