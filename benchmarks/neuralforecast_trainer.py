"""neuralforecast's PatchTST in training, asked through its pipes; for `forecast_speed.py`.

    PYTHON benchmarks/neuralforecast_trainer.py SERIES.npy SETTINGS

PYTHON belongs to an environment with neuralforecast. SERIES.npy has a column for each series
(T, C), SETTINGS are JSON. The program trains a little and answers with its versions; for each line
that it reads, it trains `updates` more and answers with the seconds and the number of windows. All
updates belong to one `fit`. It does not import headway, which its environment does not have.
"""

import gc
import importlib.util
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as lightning
import torch
from neuralforecast.losses.pytorch import MAE
from neuralforecast.models import PatchTST
from neuralforecast.tsdataset import TimeSeriesDataset
from torch import Tensor, nn

PROCESS_SETUP = Path(__file__).parents[1] / "src" / "headway" / "cli" / "process_setup.py"


class Turns(lightning.Callback):
    """Stops training after the updates of a turn, until the next line of the input.

    Args:
        answers: the descriptor for answers; neuralforecast copies its arguments, and files have no
            copies.
    """

    def __init__(self, warming: int, updates: int, answers: int) -> None:
        self.left, self.updates, self.answers = warming, updates, answers
        self.first: dict[str, Any] | None = None
        self.windows, self.start = 0, time.perf_counter()

    def count(self, model: nn.Module, inputs: tuple[dict[str, Tensor]]) -> None:
        """A hook that counts the windows of each forward pass."""
        self.windows += len(inputs[0]["insample_y"])

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.first = {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "parameters": sum(p.numel() for p in pl_module.parameters() if p.requires_grad),
        }

    def on_train_batch_end(self, trainer: Any, *_: object) -> None:
        self.left -= 1
        if self.left:
            return
        measured = {"seconds": time.perf_counter() - self.start, "windows": self.windows}
        os.write(self.answers, json.dumps(self.first or measured).encode() + b"\n")
        self.first = None
        if not sys.stdin.readline():
            trainer.should_stop = True
        gc.collect()
        self.left, self.windows, self.start = self.updates, 0, time.perf_counter()


def make_model(settings: dict[str, Any], turns: Turns) -> PatchTST:
    """The model with headway's optimiser and without what is not training."""
    model = PatchTST(
        **settings["model"],
        loss=MAE(),
        optimizer=torch.optim.AdamW,
        optimizer_kwargs={"fused": True},
        gradient_clip_val=settings["clip"],
        accelerator="cpu",
        callbacks=[turns],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model.register_forward_pre_hook(turns.count)
    return model


def dataset(values: np.ndarray) -> TimeSeriesDataset:
    """A series for each column (T, C)."""
    n, columns = values.shape
    known = np.ones(n * columns, np.float32)
    temporal = np.stack([values.T.ravel(), known], axis=1)  # (C * T, 2)
    starts = np.arange(columns + 1, dtype=np.int32) * n
    return TimeSeriesDataset(temporal, ["y", "available_mask"], starts, y_idx=0)


def keep_freed_memory() -> None:
    """The setting of malloc that the command `headway` makes, read from its file."""
    spec = importlib.util.spec_from_file_location("process_setup", PROCESS_SETUP)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.keep_freed_memory()


def main() -> int:
    answers = os.dup(1)
    os.dup2(2, 1)  # what the libraries print is no answer
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    keep_freed_memory()
    settings = json.loads(sys.argv[2])
    torch.set_num_threads(settings["threads"])
    turns = Turns(settings["warming"], settings["updates"], answers)
    make_model(settings, turns).fit(dataset(np.load(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
