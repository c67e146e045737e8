"""The loss of forecasts, and their validation over every window."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..models import SequenceModel
from .base import Batch, Objective, Validation, Validator

if TYPE_CHECKING:
    from .forecast import Forecast


class ForecastLoss(Objective):
    """Model and error of scaled values: squared, absolute, or of quantiles."""

    def __init__(self, model: Any, task: "Forecast") -> None:
        super().__init__(model)
        self.task = task
        self.quantiles = task.config.quantiles
        self.is_squared = task.config.loss == "mse"

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int(batch["values_valid"].sum())}

    def tokens(self, batch: Batch) -> int:
        return batch["src_valid"].numel()

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        taught = self.training or not isinstance(self.model, SequenceModel)
        outputs = (self.task.taught if taught else self.task.outputs)(self.model, batch).float()
        return {"loss": self.error(outputs, batch)}

    def error(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The sum of the errors of outputs (B, H, C, Q)."""
        errors = batch["values"][..., None] - outputs
        if self.quantiles is not None:
            levels = torch.tensor(self.quantiles, device=outputs.device)
            each = torch.maximum(levels * errors, (levels - 1) * errors).mean(-1) * 2
        else:
            errors = errors[..., 0]
            each = errors * errors if self.is_squared else errors.abs()
        return (each * batch["values_valid"]).sum()


class ForecastValidator(Validator):
    """Loss, MSE and MAE over every window, in one pass."""

    def __init__(self, task: "Forecast", windows: Any, metric: str) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task, self.windows = task, windows

    def batches(self) -> Iterator[Batch]:
        return self.task.sequences(self.windows)

    def examine(self, objective: Objective, limited: bool) -> Validation:
        assert isinstance(objective, ForecastLoss)
        n, loss, squared, absolute = 0, 0.0, 0.0, 0.0
        for result in self.task.backtest(objective.model, self.windows):
            outputs = torch.from_numpy(result.outputs)
            batch = {
                "values": torch.from_numpy(result.values),
                "values_valid": torch.from_numpy(result.valid),
            }
            errors = (result.values - result.point) * result.valid
            loss += objective.error(outputs, batch).item()
            squared += float(np.square(errors, dtype=np.float64).sum())
            absolute += float(np.abs(errors).sum(dtype=np.float64))
            n += int(result.valid.sum())
        n = max(n, 1)
        return Validation({"valid_loss": loss / n, "mse": squared / n, "mae": absolute / n}, [])
