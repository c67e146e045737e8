"""A trained run in use: translate, score, evaluate, look inside. Typed results, no printing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from .. import config as configs
from ..data.collate import pair_batch
from ..errors import DataError
from ..metrics.flags import Flags, flags
from ..metrics.score import Score
from ..models import SequenceModel
from ..nn.capture import capture
from ..runs import RunDir
from ..runs.module import set_weights
from ..search import Hypothesis, SearchConfig
from ..tasks import TASKS, Translate
from ..tasks.translate import decode_batches
from ..training.display import Display
from .assembly import build, make_run, resume_run
from .config import RunConfig, stored_config
from .device import pick_device

TooLong = Literal["refuse", "split"]


@dataclass(frozen=True)
class Output:
    """One output of a search.

    Attributes:
        log_prob: of the whole output, its end included.
        score: what outputs are ranked by, `log_prob / length ** alpha`.
        tokens: as a person reads them.
        token_log_probs: of each token, and of the end if it came.
        finished: False if the length limit cut it off.
    """

    text: str
    log_prob: float
    score: float
    tokens: list[str]
    token_log_probs: list[float]
    finished: bool

    @property
    def confidence(self) -> float:
        """The model's probability of the whole output."""
        return float(np.exp(self.log_prob))


@dataclass(frozen=True)
class Translation:
    """An input and its outputs, best first."""

    source: str
    outputs: list[Output]

    @property
    def text(self) -> str:
        """The best output."""
        return self.outputs[0].text


@dataclass(frozen=True)
class Scored:
    """What the model thinks of a given pair: forced log probabilities, the end included."""

    log_prob: float
    tokens: list[str]
    token_log_probs: list[float]


@dataclass(frozen=True)
class Evaluation:
    """Scores by metric, counts of strange outputs, and the outputs themselves."""

    scores: dict[str, Score]
    flags: Flags
    outputs: list[str]


@dataclass(frozen=True)
class Attention:
    """Weights by module name, each (heads, rows, columns), with the tokens on the axes."""

    source: list[str]
    target: list[str]
    maps: dict[str, np.ndarray]

    def cross(self) -> np.ndarray:
        """Mean over layers and heads of what the output attends to in the input (T, S)."""
        shape = (len(self.target), len(self.source))
        fitting = [
            m.mean(0) for name, m in self.maps.items() if _is_cross(name) and m.shape[1:] == shape
        ]
        return np.mean(fitting, axis=0)


def _is_cross(name: str) -> bool:
    """Encoder and decoder self-attention are the others."""
    return not name.endswith(".attention")


class Translator:
    """A model with its vocabulary, made by `headway.load`.

    Attributes:
        config: the run file as resolved.
        rule: how the weights were chosen.
    """

    def __init__(
        self,
        run: RunDir,
        config: RunConfig,
        task: Translate,
        model: SequenceModel,
        rule: Mapping[str, str],
    ) -> None:
        self.run, self.config, self.task, self.model = run, config, task, model
        self.rule = dict(rule)

    def translate(
        self,
        texts: Sequence[str],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        **search: Any,
    ) -> list[Translation]:
        """The best outputs of each text, in order.

        Blank lines give blank outputs.

        Args:
            too_long: what to do with a text longer than `data.max_length`: refuse it, naming its
                line, or split it at spaces and join the outputs.
            places: what messages call each text, such as `news.en:7`; by default `line 7`.
            search: settings of the search (`beam=5`, `alpha=1.0`, `n_best=1`, ...) in place of the
                run's own.

        Raises:
            DataError: a text is too long.
            ConfigError: a search setting does not exist or does not fit.
        """
        if isinstance(texts, str):
            raise TypeError("translate takes a list of texts; write translate([text])")
        config = self.search_config(**search)
        named = zip(texts, places or _lines(texts), strict=True)
        pieces = [self._pieces(text, place, too_long) for text, place in named]
        encoded = self.task.source.encode_batch([piece for row in pieces for piece in row])
        found = iter(self.task.predict(self.model, encoded, config))
        return [
            Translation(text, self._joined([[self._output(h) for h in next(found)] for _ in row]))
            for text, row in zip(texts, pieces, strict=True)
        ]

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        places: Sequence[str] | None = None,
    ) -> list[Scored]:
        """Forced log probabilities of given outputs; `places` as in `translate`."""
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources but {len(targets)} targets; give pairs")
        src = self.task.source.encode_batch(list(sources))
        tgt = self.task.target.encode_batch(list(targets))
        for place, source, target in zip(places or _lines(sources), src, tgt, strict=True):
            self._check_length(max(len(source), len(target)), place, "shorten it or leave it out")
        results: list[Scored | None] = [None] * len(src)
        for rows in decode_batches([max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)], 1):
            values = self._forced([src[i] for i in rows], [tgt[i] for i in rows])
            for i, log_probs in zip(rows, values, strict=True):
                tokens = self.task.target.tokenizer.tokens([int(t) for t in tgt[i]])
                results[i] = Scored(float(log_probs.sum()), tokens, log_probs.tolist())
        return [result for result in results if result is not None]

    def evaluate(
        self,
        sources: Sequence[str],
        references: Sequence[str] | Sequence[Sequence[str]],
        tokenized: bool = False,
        metrics: Sequence[str] | None = None,
        resamples: int = 1000,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        **search: Any,
    ) -> Evaluation:
        """Translates and scores against references (one, or several alternatives, per source).

        Args:
            tokenized: the references are already tokenised: BLEU takes them as they are.
            metrics: by default the task's usual ones.
            places: as in `translate`.
        """
        if len(sources) != len(references):
            raise DataError(
                f"{len(sources)} sources but {len(references)} references; one per line is expected"
            )
        names = metrics or self.task.usual_metrics
        for name in names:  # before the search, which takes long
            if name not in self.task.metrics:
                raise self.task.unknown_metric(name)
        outputs = [t.text for t in self.translate(sources, too_long, places, **search)]
        scores = {
            name: self.task.judge(name, outputs, references, tokenized, resamples) for name in names
        }
        return Evaluation(scores, flags(sources, outputs, references), outputs)

    def attention(self, source: str, target: str | None = None) -> Attention:
        """Attention weights of one pair: a forced pass over `target`, or over the best output."""
        if target is None:
            target = self.translate([source])[0].text
        src = self.task.source.encode_batch([source])
        tgt = self.task.target.encode_batch([target])
        with capture(self.model) as maps, torch.inference_mode():
            self.model(self._to_device(pair_batch(src, tgt)))
        return Attention(
            self.task.source.tokenizer.tokens([int(i) for i in src[0]]),
            self.task.target.tokenizer.tokens([int(i) for i in tgt[0]]),
            {name: weights[0].float().cpu().numpy() for name, weights in maps.items()},
        )

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def search_config(self, **changes: Any) -> SearchConfig:
        """The run's search settings with changes; None leaves a setting as it is.

        Raises:
            ConfigError: a setting does not exist or does not fit.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        tables = {**configs.to_dict(self.config.search), **given}
        return configs.parse(tables, SearchConfig, "search")

    def _pieces(self, text: str, place: str, too_long: TooLong) -> list[str]:
        """The parts of a text that are translated on their own: none, one, or several."""
        if not text.strip():
            return []
        length = len(self.task.source.tokenizer.encode(text)) + 1
        words = text.split(" ")
        if too_long == "refuse":
            self._check_length(length, place, "shorten it, or split long lines (--split)")
        elif len(words) == 1:
            self._check_length(length, place, "put spaces into it: lines are split at spaces only")
        if length <= self.config.data.max_length:
            return [text]
        middle = len(words) // 2
        halves = (" ".join(words[:middle]), " ".join(words[middle:]))
        return [piece for half in halves for piece in self._pieces(half, place, too_long)]

    def _check_length(self, length: int, place: str, remedy: str) -> None:
        limit = self.config.data.max_length
        if length > limit:
            raise DataError(
                f"{place} has {length} tokens and the model was trained with at most {limit}; "
                f"{remedy}"
            )

    def _output(self, hypothesis: Hypothesis) -> Output:
        return Output(
            self.task.text(hypothesis),
            hypothesis.log_prob,
            hypothesis.score,
            self.task.target.tokenizer.tokens(hypothesis.tokens),
            hypothesis.token_log_probs,
            hypothesis.finished,
        )

    def _joined(self, pieces: list[list[Output]]) -> list[Output]:
        """The outputs of a text from those of its pieces: n-th bests go together."""
        if not pieces:
            return [Output("", 0.0, 0.0, [], [], True)]
        if len(pieces) == 1:
            return pieces[0]
        return [
            Output(
                " ".join(o.text for o in row),
                sum(o.log_prob for o in row),
                sum(o.score for o in row) / len(row),
                [token for o in row for token in o.tokens],
                [value for o in row for value in o.token_log_probs],
                all(o.finished for o in row),
            )
            for row in zip(*pieces, strict=False)
        ]

    @torch.inference_mode()
    def _forced(self, src: list[np.ndarray], tgt: list[np.ndarray]) -> list[np.ndarray]:
        batch = self._to_device(pair_batch(src, tgt))
        hidden, valid = self.model(batch), batch["tgt_valid"]
        log_probs = self.model.output.log_probs(hidden[valid], batch["tgt_out"][valid])
        lengths = [len(t) for t in tgt]
        return np.split(log_probs.float().cpu().numpy(), np.cumsum(lengths)[:-1])

    def _to_device(self, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        device = next(self.model.parameters()).device
        return {name: value.to(device) for name, value in batch.items()}


def _lines(texts: Sequence[str]) -> list[str]:
    return [f"line {number}" for number in range(1, len(texts) + 1)]


def train(config: RunConfig, out: str | Path, display: Display | None = None) -> Translator:
    """Trains into the run directory `out`, which must not exist or be empty, and loads the result.

    Args:
        config: from `read_config`, or made in Python; relative data files then start from
            `data.root`, or else from the working directory.
        display: where progress is shown; nowhere if left out.

    Raises:
        HeadwayError: in words; what was reached until then is in `out`.
    """
    make_run(config, out, display)
    return load(out)


def resume(
    out: str | Path,
    display: Display | None = None,
    inexact: bool = False,
    data_root: str | Path | None = None,
) -> Translator:
    """Goes on with a run that was stopped, exactly where it stood, and loads the result.

    Args:
        inexact: go on although torch, threads or data differ from those the run began with.
        data_root: where the data are now, if they were moved.
    """
    resume_run(out, display, inexact, data_root)
    return load(out)


def load(path: str | Path, device: str | None = None) -> Translator:
    """The model of a run directory, ready to use.

    Args:
        device: in place of the one the run file names.

    Raises:
        RunError: the directory is no run, is damaged, or has no weights yet.
    """
    run = RunDir.open(path)
    config = stored_config(run)
    tensors, metadata = run.load_weights()
    task = TASKS[config.task].load(run.codecs)
    model = build(config, task)
    set_weights(model, tensors, f"{run.path}/model.safetensors")
    return Translator(
        run, config, task, model.to(pick_device(device or config.device)).eval(), metadata
    )


__all__ = ["Attention", "Evaluation", "Output", "Scored", "Translation", "Translator", "load"]
