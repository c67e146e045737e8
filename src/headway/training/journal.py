"""The record of a run: `log.jsonl` always, TensorBoard files on request."""

from collections.abc import Mapping
from typing import Any

from ..errors import MissingExtra
from ..runs import RunDir


class Journal:
    """Writes records by step.

    Args:
        tensorboard: also write TensorBoard files into the run directory.
        step: the current step; TensorBoard discards its records beyond it.
    """

    def __init__(self, run: RunDir, tensorboard: bool, step: int) -> None:
        self.run = run
        self.board: Any = None
        if tensorboard:
            make = summary_writer()
            self.board = make(str(run.path / "tensorboard"), purge_step=step + 1)

    def append(self, step: int, record: Mapping[str, Any]) -> None:
        self.run.log.append({"step": step, **record})
        if self.board is not None:
            for name, value in record.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, step)

    def close(self) -> None:
        if self.board is not None:
            self.board.close()


def summary_writer() -> Any:
    """The class `SummaryWriter` of TensorBoard.

    Raises:
        MissingExtra: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra("train.tensorboard = true", "tensorboard", "tensorboard") from None
    return SummaryWriter
