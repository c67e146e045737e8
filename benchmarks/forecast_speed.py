"""Training speed of headway's patch encoder beside neuralforecast's PatchTST, on the same series.

Same shape, windows in an update, optimiser, dropout, threads, allocator and wait policy; rounds
take turns. neuralforecast has an environment and a process of its own
(`neuralforecast_trainer.py`). Then, in headway alone: the time of a backtest over that of a
validation on the same windows, and the memory of training with many and with few windows. Progress
goes to standard error; the last line, on standard output, is JSON.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
import torch
from alike import start_alike
from rounds import CLIP, LEARNING_RATE, OURS, SEED, WARMING, parse_rounds, ratio, rounds_parser, say

import headway
from headway.cli.process_setup import keep_freed_memory
from headway.config import to_toml
from headway.data.config import DataConfig, as_corpora
from headway.environment import current_environment
from headway.inference.backtest import Backtest
from headway.inference.series_files import read_series
from headway.models.encoder import EncoderConfig
from headway.nn.inputs import VectorInputConfig
from headway.run_config import RunConfig
from headway.runs import RunDir
from headway.tasks.config import ForecastConfig
from headway.tasks.forecast_loss import ForecastValidator
from headway.training.config import TrainConfig
from headway.training.context import TrainingContext
from headway.training.distributed import Processes
from headway.training.job_builder import build_job
from headway.training.progress import Silent
from headway.training.run_data import prepare_codecs, prepare_data

PEER = "neuralforecast"
RECIPE = "headway (recipe)"
PROGRAM = Path(__file__).with_name("neuralforecast_trainer.py")
STRIDES = (1, 16)


@dataclass(frozen=True)
class Setting:
    """The shape of model and windows, and the amount of work.

    Attributes:
        windows: in an update; a window is one column.
        split: steps of training, validation and test part.
        updates: in a round.
        trained: updates of a training whose memory is measured.
        trainings: with each stride.
    """

    horizon: int = 96
    lookback: int = 512
    patch: int = 16
    d_model: int = 64
    d_ff: int = 128
    layers: int = 3
    n_heads: int = 4
    dropout: float = 0.2
    windows: int = 128
    split: tuple[int, int, int] = (8640, 2880, 2880)
    updates: int = 20
    trained: int = 30
    trainings: int = 3


def run_config(
    setting: Setting, data: Path, inner_dropout: bool = True, stride: int = 1, steps: int = 1
) -> RunConfig:
    """A run of headway.

    Args:
        inner_dropout: whether there is dropout inside the feed-forward layers, as in PatchTST;
            headway has none by default.
        stride: steps between two training windows.
    """
    forecast = ForecastConfig(
        horizon=setting.horizon,
        lookback=setting.lookback,
        split=list(setting.split),
        stride=stride,
    )
    model = EncoderConfig(
        preset="series",
        d_model=setting.d_model,
        d_ff=setting.d_ff,
        layers=setting.layers,
        n_heads=setting.n_heads,
        dropout=setting.dropout,
        activation_dropout=setting.dropout if inner_dropout else 0.0,
        pooling="all",
        shortcut=True,
        input=VectorInputConfig(patch=setting.patch),
    )
    train = TrainConfig(
        steps=steps, batch_tokens=setting.windows * setting.lookback, lr=LEARNING_RATE, clip=CLIP
    )
    corpora = DataConfig(train=str(data.resolve()))
    return RunConfig(
        corpora, "forecast", SEED, device="cpu", model=model, forecast=forecast, train=train
    )


# Contestants


class Contestant(Protocol):
    """Something that trains."""

    parameters: int

    def train(self, updates: int) -> tuple[int, float]:
        """Some more updates: their windows, and the seconds, with the making of batches."""
        ...


class Headway:
    """The updates of `headway train`, with the batches that it makes."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        held_out, _ = config.with_held_out()
        run = RunDir.create(folder, current_environment(config.device), to_toml(held_out))
        context = TrainingContext(run, held_out, Processes(), Silent())
        task = prepare_codecs(context)
        training, validation = prepare_data(context, task, inexact=False)
        self.job = build_job(context, task, training, validation)
        self.windows: Any = training.store
        self.parameters = sum(p.numel() for p in self.job.model.parameters())
        self.stream, self.done = self.job.batches.after(0, 0), 0
        self.train(WARMING)

    @property
    def series(self) -> np.ndarray:
        """The scaled values of the training part (T, C)."""
        begin, end = self.windows.spans[0]
        values: np.ndarray = self.windows.store["target"][0][begin:end]
        return values

    def train(self, updates: int) -> tuple[int, float]:
        gc.collect()
        start, n_steps = time.perf_counter(), 0
        for _ in range(updates):
            parts = range(self.job.config.accumulate or 1)
            batches = [(i, next(self.stream)[2]()) for i in parts]
            self.done += 1
            n_steps += self.job.updater(batches, self.done, LEARNING_RATE).tokens
        return n_steps // self.windows.size.history, time.perf_counter() - start


class NeuralForecast:
    """PatchTST in its process, which waits until it is asked.

    Args:
        python: the interpreter of its environment.
        series: the file with its series.
        options: arguments of PatchTST that differ from those of other contestants.
    """

    def __init__(
        self,
        python: Path,
        series: Path,
        setting: Setting,
        work: Mapping[str, int],
        options: Mapping[str, Any],
    ) -> None:
        settings = {
            **work,
            "warming": WARMING,
            "clip": CLIP,
            "model": {**model_options(setting, work["updates"] * work["rounds"]), **options},
        }
        command = [str(python), str(PROGRAM), str(series), json.dumps(settings)]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **pipes)
        first = self._answer()
        self.parameters: int = first["parameters"]
        if first["torch"] != torch.__version__ or first["threads"] != work["threads"]:
            self.end()
            raise RuntimeError(
                f"not the same ground: {python} has torch {first['torch']} with "
                f"{first['threads']} threads, and headway has torch {torch.__version__} with "
                f"{work['threads']}; install the same torch in both environments"
            )

    def train(self, updates: int) -> tuple[int, float]:
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        found = self._answer()
        return found["windows"], found["seconds"]

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {PEER} ended with {self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        self.process.communicate()  # closes its input, at which it stops


def model_options(setting: Setting, updates: int) -> dict[str, Any]:
    """Arguments of PatchTST. `batch_size` counts series, of which windows are drawn."""
    return {
        "h": setting.horizon,
        "input_size": setting.lookback,
        "patch_len": setting.patch,
        "stride": setting.patch,
        "hidden_size": setting.d_model,
        "linear_hidden_size": setting.d_ff,
        "encoder_layers": setting.layers,
        "n_heads": setting.n_heads,
        "dropout": setting.dropout,
        "revin": True,
        "batch_size": 1,
        "windows_batch_size": setting.windows,
        "max_steps": WARMING + updates,
        "val_check_steps": WARMING + updates,
        "learning_rate": LEARNING_RATE,
        "random_seed": SEED,
    }


def variants(columns: int) -> dict[str, dict[str, Any]]:
    """The ways to train PatchTST that are tried; the fastest is the peer."""
    return {
        PEER: {},
        f"{PEER} (fused attention)": {"res_attention": False},
        f"{PEER} (all columns in an update)": {"batch_size": columns},
    }


# Training speed


def measure(
    contestants: Mapping[str, Contestant], setting: Setting, rounds: int
) -> dict[str, list[float]]:
    """Windows per second of each contestant in every round; each time another one begins."""
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    names, expected = list(contestants), setting.updates * setting.windows
    for i in range(rounds):
        first = i % len(names)
        for name in names[first:] + names[:first]:
            windows, seconds = contestants[name].train(setting.updates)
            if not expected - setting.windows < windows <= expected:  # one batch may be smaller
                raise RuntimeError(f"not the same work: {windows} windows instead of {expected}")
            speeds[name].append(windows / seconds)
        shown = ", ".join(f"{name} {each[-1]:,.0f}" for name, each in speeds.items())
        say(f"  round {i + 1}/{rounds}: {shown} windows/s")
    return speeds


def compare_training(
    setting: Setting, data: Path, python: Path, work: Mapping[str, int], folder: Path
) -> dict[str, Any]:
    """Training of headway and neuralforecast."""
    say("training:")
    contestants: dict[str, Any] = {
        name: Headway(run_config(setting, data, inner_dropout=is_equal), folder / str(is_equal))
        for name, is_equal in ((OURS, True), (RECIPE, False))
    }
    series = folder / "series.npy"
    np.save(series, contestants[OURS].series)
    peers: list[NeuralForecast] = []
    try:
        for name, options in variants(contestants[OURS].series.shape[1]).items():
            peers.append(NeuralForecast(python, series, setting, work, options))
            contestants[name] = peers[-1]
        speeds = measure(contestants, setting, work["rounds"])
    finally:
        for peer in peers:
            peer.end()
    return {
        "windows_per_second": {name: round(median(each), 1) for name, each in speeds.items()},
        "parameters": {name: each.parameters for name, each in contestants.items()},
        **ratios(speeds),
    }


def ratios(speeds: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Ours to the fastest variant of the peer, and to each."""
    theirs = {name: each for name, each in speeds.items() if name.startswith(PEER)}
    fastest = max(theirs, key=lambda name: median(theirs[name]))
    for name in (OURS, RECIPE):
        each = ratio(speeds[name], speeds[fastest])["of_rounds"]
        say(f"  {name} / {fastest}: {median(each):.2f} (rounds {min(each):.2f} to {max(each):.2f})")
    return {
        "fastest": fastest,
        "ratios": {
            **{f"{name}/{PEER}": ratio(speeds[name], speeds[fastest]) for name in (OURS, RECIPE)},
            **{f"{OURS}/{name}": ratio(speeds[OURS], theirs[name]) for name in list(theirs)[1:]},
        },
    }


# Backtests and memory


def compare_backtest(setting: Setting, data: Path, rounds: int, folder: Path) -> dict[str, Any]:
    """Seconds of a validation and of backtests over every test window, and their ratios."""
    say("backtest:")
    run = folder / "run"
    headway.train(run_config(setting, data), run)
    forecaster: Any = headway.load(run)
    task, config = forecaster.task, forecaster.config
    corpora = as_corpora(config.data.test, "data.test")
    rows = read_series(corpora[0], task.codecs, Path(config.data.root)).rows
    windows, _ = task.windows(forecaster.in_memory(rows), [len(rows)], corpora)
    validator = ForecastValidator(task, windows, "mse")
    objective = task.objective(forecaster.model, 0.0).eval()
    own, calibration = {"model": forecaster.model}, forecaster.calibration
    works: dict[str, Callable[[], object]] = {
        "validation": lambda: validator(objective),
        "backtest": lambda: Backtest(task, own, windows, calibration).run(),
        "backtest with floors": lambda: Backtest(
            task, own | forecaster.floors(), windows, calibration
        ).run(),
    }
    seconds = turns(works, rounds)
    return {
        "windows": len(windows),
        "seconds": {name: round(median(each), 3) for name, each in seconds.items()},
        "over_validation": {
            name: ratio(each, seconds["validation"])
            for name, each in seconds.items()
            if name != "validation"
        },
    }


def turns(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each work in every round, after one that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for i in range(rounds + 1):
        for name, work in works.items():
            gc.collect()
            start = time.perf_counter()
            work()
            if i:
                seconds[name].append(time.perf_counter() - start)
        if i:
            shown = ", ".join(f"{name} {each[-1]:.2f}" for name, each in seconds.items())
            say(f"  round {i}/{rounds}: {shown} seconds")
    return seconds


def measure_memory(setting: Setting, data: Path, threads: int, folder: Path) -> dict[str, Any]:
    """Peak memory of whole trainings in new processes, with many and with few windows."""
    say("memory:")
    windows: dict[int, int] = {}
    starts: dict[int, list[float]] = {stride: [] for stride in STRIDES}
    peaks: dict[int, list[float]] = {stride: [] for stride in STRIDES}
    for i in range(setting.trainings):
        for stride in STRIDES:
            config = run_config(setting, data, stride=stride, steps=setting.trained)
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                work = pool.submit(peak_memory, config, folder / f"stride{stride}-{i}", threads)
                windows[stride], start, peak = work.result()
            starts[stride].append(start)
            peaks[stride].append(peak)
            shown = f"{windows[stride]:,} windows, {peak:.0f} MB, at first {start:.0f}"
            say(f"  stride {stride}: {shown}")
    return {
        f"stride {stride}": {
            "windows": windows[stride],
            "mb": round(median(peaks[stride])),
            "at_first_mb": round(median(starts[stride])),
            "each_mb": [round(peak) for peak in peaks[stride]],
        }
        for stride in STRIDES
    }


def peak_memory(config: RunConfig, out: Path, threads: int) -> tuple[int, float, float]:
    """Training windows, and the largest resident memory in MB before and after a training."""
    keep_freed_memory()
    torch.set_num_threads(threads)
    before = _peak_of_process()
    headway.train(config, out)
    examples = next(record["examples"] for record in RunDir.open(out).log.read())
    return examples["train"], before, _peak_of_process()


def _peak_of_process() -> float:
    """In MB; Linux only."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# The program


def report(
    training: Mapping[str, Any], backtest: Mapping[str, Any], memory: Mapping[str, Any]
) -> dict[str, Any]:
    """The results of the last line."""
    return {
        "name": "forecast_speed",
        "ratios": {name: median(each["of_rounds"]) for name, each in training["ratios"].items()},
        "backtest_over_validation": {
            name: median(found["of_rounds"]) for name, found in backtest["over_validation"].items()
        },
        "memory_mb": {name: found["mb"] for name, found in memory.items()},
        "measure": "windows per second in training, float32, batches included, median ratio "
        "of a round, to the fastest variant of the peer; seconds of a backtest over those of a "
        "validation on all test windows; peak resident memory of a training",
        "compared": {
            OURS: "updates of `headway train`, with dropout inside feed-forward layers too",
            RECIPE: "the same without it, as by default",
            PEER: "PatchTST 3.3, residual attention, windows of one column in an update",
            f"{PEER} (fused attention)": "res_attention = False",
            f"{PEER} (all columns in an update)": "batch_size = number of columns",
        },
        "same": "series, look-back, horizon, patches, widths, layers, heads, windows in an update, "
        "absolute error, fused AdamW, clipping, dropout's rate, threads, allocator, wait policy",
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
        "results": {"training": training, "backtest": backtest, "memory": memory},
    }


def main(arguments: Sequence[str] | None = None, setting: Setting | None = None) -> int:
    parser = rounds_parser(__doc__)
    parser.add_argument("data", type=Path, help="a wide table, such as ETTh1.csv.gz")
    parser.add_argument("--peer", type=Path, required=True, metavar="PYTHON", help=f"with {PEER}")
    given = parse_rounds(parser, arguments)
    setting = setting or Setting()
    if given.updates is not None:
        setting = replace(setting, updates=given.updates)
    torch.set_num_threads(given.threads)
    work = {"updates": setting.updates, "rounds": given.rounds, "threads": given.threads}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training = compare_training(setting, given.data, given.peer, work, folder)
        backtest = compare_backtest(setting, given.data, given.rounds, folder)
        memory = measure_memory(setting, given.data, given.threads, folder)
    print(json.dumps({**report(training, backtest, memory), "setting": vars(setting), **work}))
    return 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())
