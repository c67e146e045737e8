"""`task = "forecast"`: the next steps of series.

A model reads a window of the past and predicts its continuation: all of it at once, or patch by
patch with a decoder. Losses are in scaled values; `inference.forecaster` gives units and dates.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ..config.messages import counted
from ..data.codecs.codec import Codec
from ..data.codecs.series import SeriesCodec, SeriesFit, clock_of
from ..data.codecs.text import TextConfig
from ..data.config import Corpus, DataConfig, learned_from
from ..data.formats.read import read
from ..data.held_out import DividedData
from ..data.prepare import Prepared
from ..data.scales import Scales, TypicalVariances
from ..data.series import Series
from ..data.store import Store
from ..data.time_parts import divide_in_time, outside_line, steps_of, trained_steps
from ..data.window_leaks import n_leaking
from ..data.windows import LENGTH, Windows, spans_of
from ..errors import DataError, batch_in_memory
from ..metrics.forecasting import FORECAST_METRICS
from ..models import Family, SequenceModel, Vectors, VocabularySizes
from ..models.ensemble import members_of
from ..parallel import LARGE_INPUTS
from ..search import SearchConfig
from .base import Batch, Rows, Task, device_of, size_of
from .config import ForecastConfig
from .forecast_calibration import Calibration, ForecastBatch, missing_levels
from .forecast_ensemble import ensemble_problem
from .forecast_floors import floor_tensors
from .forecast_inputs import (
    CLOCK,
    COVARIATES,
    FACTS,
    WindowFacts,
    WindowInputs,
    default_history,
    describe,
    window_batches,
)
from .forecast_loss import ForecastLoss, ForecastValidator

EVALUATED = 1024
"""Windows in a batch of an evaluation."""
WINDOWS = 128
"""Windows in an update, by default."""
USUAL_SEASON = 1
SHOWN = 5
"""Names in a message or a line of the log."""
MANY_LEAKS = 1e-3
"""The share of leaking training windows from which on it is no chance, and a warning."""


class Forecast(Task):
    """The next steps of a series."""

    name = "forecast"
    trained_class = "headway.inference.forecaster:Forecaster"
    config_class = ForecastConfig
    columns: tuple[str, ...] = ("target", *COVARIATES)
    optional = frozenset(COVARIATES)
    needs = frozenset({"vectors"})
    family = "encoder"
    lengths: tuple[str, ...] = (LENGTH,)
    metric_table = FORECAST_METRICS
    fitting = "reading the series"
    usual_lr = 1e-3
    is_calibrated = True
    compares_examples = True
    model_defaults: Mapping[str, Mapping[str, Any]] = {
        "encoder": {"preset": "series", "pooling": "all"},
        "transformer": {"preset": "series"},
        "recurrent_encoder": {"d_model": 128, "bidirectional": False},
    }

    config: ForecastConfig
    inputs: WindowInputs
    _floor_tensors: dict[str, Tensor] | None = None

    def fits(self, family: Family) -> bool:
        """Whether a family reads vectors, and predicts from their states, steps, or both."""
        able = family.abilities
        return "forecast" in able or ("vectors" in able and bool({"read", "values"} & able))

    def family_problem(self, family: Family) -> str | None:
        if self.config.quantiles is None or family.learns == "gradient":
            return None
        return (
            f"forecast.quantiles are not for model.family = {family.name!r}, which predicts one "
            "number for each value; leave them out: prediction intervals are calibrated anyway"
        )

    def ensemble_problem(self, other: Self, runs: tuple[str, str]) -> str | None:
        return ensemble_problem(self, other, runs)

    @property
    def validated(self) -> tuple[str, ...]:
        return ("mse", "mae")

    # Data

    def hold_out(
        self, data: DataConfig, columns: Sequence[str], root: Path, seed: int
    ) -> DividedData | None:
        lengths = (
            len(row.values[0])
            for corpus in learned_from(data)
            for row in read(corpus, columns, root)
        )
        return divide_in_time(data, self.config.split, self.config.horizon, lengths)

    def training_values(self, values: Sequence[Any], corpus: Corpus) -> Sequence[Any]:
        """The values of a row in the corpus's part, to which codecs are fitted."""
        target: Series = values[0]
        clock = clock_of(self._clock.encode_batch([target])[0])
        begin, end = steps_of(corpus.part, len(target), clock)
        names = dict(zip(self.columns, values, strict=True))
        return [
            value if name == "static" else replace(value, values=value.values[begin:end])
            for name, value in names.items()
        ]

    @property
    def _clock(self) -> Codec:
        from ..data.codecs.series import ClockCodec

        return ClockCodec()

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Fits the scales of all columns, the season and the look-back to the training data."""
        lengths, first, has_gaps, has_values = [], None, False, False
        fits = {name: SeriesFit() for name in self.columns}
        for row in rows():
            first = row[0] if first is None else first
            _check_steps(row[0], first)
            lengths.append(len(row[0]))
            has_gaps = has_gaps or bool(row[0].is_missing.any())
            has_values = has_values or not row[0].is_blank
            for fit, series in zip(fits.values(), row, strict=True):
                fit.add(series)
        if first is None:
            raise DataError("the training data have no series; name a file with some")
        if sum(lengths) and not has_values:
            raise DataError(
                f"{', '.join(first.columns[:SHOWN])}: no values in the training data to learn a "
                "forecast from; fill them in, or name other columns with data.train.target"
            )
        if self.config.calendar and first.times.dtype.kind != "M":
            raise DataError(
                "forecast.calendar reads dates, and the steps of the training data have numbers; "
                "leave it out, or name the column of times with data.train.time"
            )
        season = self.config.season or first.frequency.season or USUAL_SEASON
        history = default_history(self.config, round(median(lengths)), season)
        scaling = self.config.scaling or ("series" if len(lengths) > 1 else "column")
        codecs = {name: fit.codec(scaling != "none") for name, fit in fits.items()}
        variances = TypicalVariances(history, scaling == "series")
        for row in rows():
            variances.add(row[0].values)
        typical = variances.result(codecs["target"].deviation)
        facts = WindowFacts(history, season, str(first.frequency), has_gaps, scaling, typical)
        return self.with_codecs(codecs, facts)

    def with_codecs(self, codecs: Mapping[str, SeriesCodec], facts: WindowFacts) -> Self:
        """The task with these codecs."""
        task = self.without_codecs()
        task.inputs = WindowInputs(codecs, facts, self.config)
        task.columns = tuple(codecs)
        return task

    def save_codecs(self, folder: Path) -> None:
        """Writes `target.json`, the files of the covariates, and `windows.json`."""
        for name, codec in self.inputs.codecs.items():
            codec.save(folder / f"{name}.json")
        self.inputs.facts.save(folder / FACTS)

    def load_codecs(self, folder: Path) -> Self:
        names = [name for name in type(self).columns if (folder / f"{name}.json").exists()]
        codecs = {
            name: SeriesCodec.load(folder / f"{name}.json") for name in ("target", *names[1:])
        }
        return self.with_codecs(codecs, WindowFacts.load(folder / FACTS))

    @property
    def codecs(self) -> Mapping[str, Codec]:
        return self.inputs.codecs

    @property
    def derived(self) -> Mapping[str, tuple[str, Codec]]:  # type: ignore[override]
        return self.inputs.derived

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """Nothing: series may have any length."""
        return {}

    def describe(self) -> dict[str, Any]:
        facts = describe(self.inputs.facts, self.config)
        return {"kind": "series", "columns": list(self.inputs.target.names), **facts}

    @property
    def n_quantiles(self) -> int:
        """Numbers predicted for each value."""
        return len(self.config.quantiles or (0.5,))

    @property
    def vocabularies(self) -> VocabularySizes:
        inputs, config = self.inputs, self.config
        each = inputs.n_channels * self.n_quantiles
        return VocabularySizes(
            source=0,
            target=config.horizon * each,
            shared=False,
            vectors=Vectors(
                inputs.n_features,
                (inputs.n_steps,),
                future=inputs.n_steps - inputs.size.history,
                season=inputs.facts.season,
                targets=inputs.n_channels,
                horizon=config.horizon,
                columns=inputs.n_columns,
            ),
            target_features=config.step * inputs.n_channels,
            target_outputs=config.step * each,
        )

    def examples(
        self,
        prepared: Prepared,
        corpora: Sequence[Corpus],
        key: str,
        training: Sequence[Corpus] = (),
    ) -> Prepared:
        """The windows of prepared series."""
        stride = self.config.stride if key == "train" else 1
        store, sizes = prepared.store, prepared.sizes
        windows, sizes = self.windows(store, sizes, corpora, stride, key, training)
        return replace(prepared, store=windows, sizes=sizes)  # type: ignore[arg-type]

    def windows(
        self,
        store: Any,
        sizes: Sequence[int],
        corpora: Sequence[Corpus],
        stride: int = 1,
        key: str = "test",
        training: Sequence[Corpus] = (),
    ) -> tuple[Windows, tuple[int, ...]]:
        """The windows of stored series, and their number in each corpus.

        Args:
            key: the set: `train`, `valid` or `test`.
            training: the training corpora. If one is an earlier part of the same file, each series
                that is scaled by itself is scaled by it, and otherwise by all steps before a
                window.

        Raises:
            DataError: no series is long enough for a window.
        """
        lengths = store.lengths("target")
        clocks = [clock_of(store[CLOCK][i]) for i in range(len(store))]
        corpus_of = np.repeat(np.arange(len(sizes)), sizes)
        parts = [
            steps_of(corpora[number].part, int(lengths[i]), clocks[i])
            for i, number in enumerate(corpus_of.tolist())
        ]
        spans = spans_of(parts, [clock.history for clock in clocks], lengths)
        ranges = np.array(parts)
        if key != "train":
            each = [corpora[number] for number in corpus_of.tolist()]
            ranges = trained_steps(each, training, clocks, lengths, spans)
        windows = self.windows_at(store, spans, stride, ranges)
        if not len(windows):
            raise DataError(
                outside_line(key, corpora, lengths, clocks)
                or self._too_short(lengths, spans, key, corpora)
            )
        counts = np.bincount(corpus_of, windows.n_of_series, minlength=len(sizes))
        return windows, tuple(int(count) for count in counts)

    def _too_short(
        self, lengths: np.ndarray, spans: np.ndarray, key: str, corpora: Sequence[Corpus]
    ) -> str:
        """The message that no series has a window."""
        longest = counted(int(lengths.max(initial=0)), "step")
        window = f"no window of forecast.horizon = {self.config.horizon} steps and one step before"
        files = ", ".join(corpus.file for corpus in corpora if corpus.file is not None)
        if files and all(corpus.part is None for corpus in corpora):
            return (
                f"{files}: {window} them: the longest series has {longest}; give longer series, or "
                "train with a shorter horizon"
            )
        steps = int((spans[:, 1] - spans[:, 0]).max(initial=0))
        return (
            f"data.{key}: {window} them: the longest series has {longest}, and at most "
            f"{max(steps, 0)} {'is' if steps == 1 else 'are'} in this part; lower the horizon, "
            "give longer series, or change forecast.split"
        )

    def windows_at(
        self, store: Any, spans: np.ndarray, stride: int = 1, ranges: np.ndarray | None = None
    ) -> Windows:
        """The windows of stored series with target steps in spans (n, 2).

        Args:
            ranges: the steps by which a series is scaled (see `Scales.of`). Default: all before a
                window.
        """
        by_series = self.inputs.facts.scaling == "series"
        ranges = np.zeros_like(spans) if ranges is None else ranges
        return Windows(
            store,
            "target",
            spans,
            replace(self.inputs.size, stride=stride),
            apart=self.config.channels == "apart",
            least_history=self.inputs.size.history,
            scales=Scales.of(store["target"], ranges) if by_series else None,
        )

    def remarks(self, store: Store) -> list[str]:
        windows: Any = store
        facts = self.inputs.facts
        return [
            f"windows of {facts.history} and {self.config.horizon} steps of {facts.frequency}, "
            f"season {facts.season}",
            *(f"warning: {line}" for line in self._warnings(windows)),
        ]

    def _warnings(self, windows: Windows) -> Iterator[str]:
        """What may be wrong with the training data: constants, and series that are too short."""
        constant = np.array([column.is_constant for column in self.inputs.target.columns])  # type: ignore[union-attr]
        if constant.any() and self.inputs.facts.scaling != "none":
            names = np.array(self.inputs.target.names)[constant]
            yield f"constant in the training data: {', '.join(names)}"
        if self.inputs.facts.history > (most := _most_history(windows)):
            yield (
                f"forecast.lookback = {self.inputs.facts.history} is longer than the training "
                f"data: windows have at most {counted(most, 'step')} before the forecast; lower it"
            )
        if windows.scales is not None:
            others = (windows.scales.is_constant & ~constant).any(axis=1) & windows.is_used
            if n := int(others.sum()):
                first = np.flatnonzero(others)[:SHOWN].tolist()
                names = [clock_of(windows.store[CLOCK][i]).name for i in first]
                more = ", ..." if n > SHOWN else ""
                are = "is" if n == 1 else "are"
                yield f"{n} series {are} constant in the training data: {', '.join(names)}{more}"
        if n_short := int((~windows.is_used).sum()):
            verb = "is" if n_short == 1 else "are"
            yield f"{n_short:,} series {verb} too short for a window and {verb} not used"

    def leak_check(self, held_out: Mapping[str, Sequence[Corpus]], root: Path) -> None:
        """None: training and test are often parts of one row."""

    def leaks(self, training: Store, held_out: Mapping[str, Store]) -> str | None:
        if not held_out:
            return None
        windows: dict[str, Any] = {"train": training, **held_out}
        counts = {name: n_leaking(windows["train"], windows[name]) for name in held_out}
        total = int(windows["train"].n_of_series.sum())
        if self.config.channels == "mixed":
            total *= self.inputs.target.width
        found = ", ".join(f"{n:,} have the targets of {name}" for name, n in counts.items())
        is_leaking = max(counts.values(), default=0) > MANY_LEAKS * total
        return f"{'warning: ' * is_leaking}leak check: of {total:,} training windows {found}"

    def batch_tokens(self, store: Store) -> int:
        """The default of `train.batch_tokens`: steps read in an update."""
        return WINDOWS * self.inputs.size.history

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: see `WindowInputs.batch`; for decoders also tgt_in (B, T, step * C)."""
        return self._batch_and_location(store, indices)[0]

    def _batch_and_location(
        self, store: Store, indices: np.ndarray
    ) -> tuple[dict[str, Tensor], np.ndarray]:
        """A batch, and the location of its windows: no model reads it."""
        windows: Any = store
        batch = self.inputs.batch(windows, windows.places(indices))
        location = batch.pop("location").numpy()
        return {**batch, "tgt_in": self.inputs.decoder_inputs(batch, self.config.step)}, location

    # Model

    def initialise(self, model: Any, training: Store) -> bool:
        """Starts the shortcut of a model, if it has one, with the ridge regression."""
        shortcut = getattr(model, "shortcut", None)
        if shortcut is None or not (ridge := self._ridge(training)):
            return False
        shortcut.start(ridge["ridge.weight"])
        return True

    def _ridge(self, training: Store) -> dict[str, Tensor]:
        """The weights of the ridge regression of the training windows, fitted once."""
        if self._floor_tensors is None:
            self._floor_tensors = floor_tensors(self, training)
        return self._floor_tensors

    def objective(self, model: Any, label_smoothing: float) -> ForecastLoss:
        return ForecastLoss(model, self)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> ForecastValidator:
        return ForecastValidator(self, store, metric)

    def taught(self, model: Any, batch: Batch) -> Tensor:
        """Scaled outputs (B, H, C, Q) of one model, its decoder reading the true values.

        They are differences to the location of the window, as the values of a batch are.
        """
        if not isinstance(model, SequenceModel):
            return self._scaled(model.logits(batch), batch)
        return self._scaled(model.output(model(batch)), batch)

    def outputs(self, model: Any, batch: Batch) -> Tensor:
        """Scaled outputs (B, H, C, Q): the mean over the members of an ensemble.

        A decoder reads its own forecasts. Quantiles are sorted.
        """
        each = [self._output(member, batch) for member in members_of(model)]
        return torch.stack(each).mean(0).sort(-1).values

    def _output(self, model: Any, batch: Batch) -> Tensor:
        if not isinstance(model, SequenceModel):
            return self._scaled(model.logits(batch), batch)
        return self._scaled(self._stepped(model, batch), batch)

    def _stepped(self, model: SequenceModel, batch: Batch) -> Tensor:
        """The outputs of a decoder that reads its own forecasts (B, T, step * C * Q)."""
        state = model.start(batch)
        n, n_steps, _ = batch["tgt_in"].shape
        values = batch["tgt_in"][:, :1, None]  # (B, 1, 1, step * C)
        written = []
        for _ in range(n_steps):
            output, state = model.step(values, state)  # (B, 1, step * C * Q)
            written.append(output)
            each = output.view(n, -1, self.n_quantiles)  # (B, step * C, Q)
            values = each[..., self.point][:, None, None]
        return torch.cat(written, dim=1)

    @property
    def point(self) -> int:
        """Which of the predicted quantiles is the forecast."""
        return (self.config.quantiles or [0.5]).index(0.5)

    def _scaled(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Outputs of a model for normalised windows, as scaled as values (B, H, C, Q)."""
        _, horizon, channels = batch["values"].shape
        n = 1 if outputs[0].numel() == horizon * channels else self.n_quantiles
        outputs = outputs.reshape(len(outputs), -1, channels, n)[:, :horizon]
        return outputs * batch["scale"][:, None, :, None]

    def backtest(self, model: Any, windows: Windows) -> Iterator[ForecastBatch]:
        """Forecasts of all windows, in their order."""
        return (batch for [batch] in self.backtests([model], windows))

    @torch.inference_mode()
    def backtests(self, models: Sequence[Any], windows: Windows) -> Iterator[list[ForecastBatch]]:
        """Forecasts of all windows by each of several models, in the order of the windows."""
        device = device_of(models[0])
        for indices in window_batches(windows, max(1, EVALUATED // self.inputs.n_channels)):
            on_cpu, location = self._batch_and_location(windows, indices)  # type: ignore[arg-type]
            batch = {name: tensor.to(device) for name, tensor in on_cpu.items()}
            with batch_in_memory("a forecast", *size_of(batch), LARGE_INPUTS):
                outputs = [self.outputs(model, batch).float().cpu().numpy() for model in models]
            known = ("values", "values_valid", "scale")
            facts = [on_cpu[name].numpy() for name in known]
            facts[-1] = self.inputs.error_scale(facts[-1], on_cpu["n_known"].numpy())
            facts.append(location)
            places = windows.places(indices)
            yield [
                ForecastBatch(places, each, each[..., self.point_of(each)], *facts)
                for each in outputs
            ]

    def units(self, windows: Windows, batch: ForecastBatch) -> tuple[np.ndarray, np.ndarray]:
        """What `value * scale + offset` must be for values of a batch to be in units (B, 1, C)."""
        target = self.inputs.target
        scale, offset = windows.units(batch.places, target.mean, target.deviation)
        return scale[:, None], (offset + scale * batch.location)[:, None]

    def point_of(self, outputs: np.ndarray) -> int:
        """The index of the forecast among the quantiles of outputs; floors have one alone."""
        return 0 if outputs.shape[-1] == 1 else self.point

    def calibrate(self, model: Any, training: Store, validation: Store | None) -> dict[str, Tensor]:
        """The margins of prediction intervals, and the ridge regression beside the model."""
        tensors = dict(self._ridge(training))
        if validation is not None:
            windows: Any = validation
            tensors |= Calibration.fit(self, model, windows).tensors()
        return tensors

    def warnings_of_calibration(self, calibration: Mapping[str, Tensor]) -> list[str]:
        return missing_levels(self.config, Calibration.from_tensors(calibration, self))

    def sequences(self, store: Store) -> Iterator[dict[str, Tensor]]:
        """Batches of all windows."""
        windows: Any = store
        for indices in window_batches(windows, EVALUATED):
            when = windows.share_before(windows.places(indices))
            yield {**self.batch(store, indices), "when": torch.from_numpy(when)}


def _most_history(windows: Windows) -> int:
    """The most steps that a series has before the forecast of a window."""
    ends = windows.spans[windows.is_used, 1]
    return int(ends.max(initial=0)) - windows.size.horizon


def _check_steps(series: Series, first: Series) -> None:
    """Refuses series whose steps are not those of the first."""
    if series.times.dtype.kind != first.times.dtype.kind:
        raise DataError("some series have dates, and others numbered steps; give dates to all")
    steps = first.frequency.dated_like(series.frequency)
    expected = steps.times(series.start, 0, len(series))
    if (expected != series.times).any():
        raise DataError(
            f"the steps of some series are {first.frequency} long, and those of {series.name!r} "
            f"{series.frequency}; train a model for each, or set frequency"
        )
