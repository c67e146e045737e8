"""The last step of a run: what its task computes from the kept weights, such as intervals."""

from ..data.prepare import Prepared
from ..models import FAMILIES, build_model
from ..models.state_dict import set_weights
from ..run_config import load_run_config
from ..tasks.base import Task
from .context import TrainingContext


def calibrate_run(
    context: TrainingContext, task: Task, training: Prepared, validation: Prepared | None
) -> None:
    """Computes and saves the calibration of a task that has one."""
    if not context.group.is_first or not task.is_calibrated:
        return
    config = load_run_config(context.run)
    model = build_model(config.model, task.vocabularies)
    tensors, _ = context.run.load_weights()
    resized = FAMILIES[config.model.family].learns == "counting"
    set_weights(model, tensors, f"{context.run.path}/model.safetensors", resized)
    model = model.to(context.device).eval()
    held_out = None if validation is None else validation.store
    calibration = task.calibrate(model, training.store, held_out)
    context.run.save_calibration(calibration)
    for text in task.warnings_of_calibration(calibration):
        context.display.note(f"warning: {text}")
