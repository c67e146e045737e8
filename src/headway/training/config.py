"""What the run file may say about training."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt

from ..config import OneOf
from .schedule import SCHEDULES


def _meanings() -> dict[str, str]:
    docs = {name: schedule.__doc__ or "" for name, schedule in SCHEDULES.items()}
    return {name: doc.partition("\n")[0] for name, doc in docs.items()}


ScheduleName = Annotated[str, OneOf(lambda: SCHEDULES, _meanings)]


@dataclass(frozen=True)
class TrainConfig:
    """How long, how fast and by what rule the model learns."""

    steps: Annotated[int, Ge(1)] | None = None
    """Number of updates. With none of `steps`, `epochs` and `minutes` a number of epochs is chosen
    from the corpus size; with several, the smallest wins."""
    epochs: Annotated[float, Gt(0)] | None = None
    """Passes over the training data."""
    minutes: Annotated[float, Gt(0)] | None = None
    """A budget in minutes, validation included: a short measured start turns it into a number of
    updates, which is recorded and shapes the schedule, so that resuming stays exact."""
    batch_tokens: Annotated[int, Ge(1)] | None = None
    """Target tokens per update, padding included; source tokens are held to the same. BPE dropout
    makes examples a little longer than counted here."""
    accumulate: Annotated[int, Ge(1)] | None = None
    """Micro-batches that an update is divided into, over all threads and processes together. Left
    out, one for each thread of the CPU (they work side by side) or one on a GPU."""
    optimizer: Literal["adamw", "adam", "adam_l2", "sgd"] = "adamw"
    """`adam` has no decay, `adam_l2` adds decay to the gradient, `adamw` decays weights apart."""
    lr: Annotated[float, Gt(0)] | None = None
    """Peak learning rate."""
    schedule: ScheduleName = "cosine"
    """The learning rate after the warm-up."""
    warmup: Annotated[int, Ge(0)] | None = None
    """Updates of linear warm-up."""
    betas: tuple[Annotated[float, Ge(0), Lt(1)], Annotated[float, Ge(0), Lt(1)]] = (0.9, 0.98)
    """Adam's decay rates of the two moments."""
    eps: Annotated[float, Gt(0)] = 1e-9
    """Adam's epsilon."""
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.9
    """Of `sgd`."""
    weight_decay: Annotated[float, Ge(0)] = 0.01
    """For `adamw`, `adam_l2` and `sgd`; matrices only, never biases and norms."""
    clip: Annotated[float, Ge(0)] = 1.0
    """Largest norm of the gradient; 0 turns clipping off."""
    label_smoothing: Annotated[float, Ge(0), Lt(1)] | None = None
    """Share of the target's probability spread over the vocabulary. Left out: 0.1 for `translate`,
    0 otherwise."""
    ema: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Decay of a moving average of the weights, which is then what is validated and kept; 0 is
    off."""
    average: Annotated[int, Ge(1)] = 1
    """At the end, average the weights of the last so many checkpoints; 1 is off."""
    choose: Literal["best", "last"] = "best"
    """Without averaging: keep the weights of the best validation, or the last."""
    metric: str = "auto"
    """What a validation is judged by: `loss` or a metric of the task (see `headway evaluate
    --help`); `auto` is the task's own choice."""
    evaluate_every: Annotated[int, Ge(1)] | None = None
    """Updates between validations; each ends with a checkpoint."""
    evaluate_sample: Annotated[int, Ge(1)] = 500
    """Validation examples that are decoded each time (the loss is taken on all)."""
    patience: Annotated[int, Ge(1)] | None = None
    """Stop after so many validations without a better one; left out, never."""
    keep: Annotated[int, Ge(1)] = 3
    """Checkpoints kept for resuming."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """`bf16` computes in bfloat16 where the hardware has it; weights stay in fp32."""
    compile: Literal["auto", "on", "off"] = "auto"
    """`torch.compile`: `auto` uses it on CUDA only, where it wins; without a working compiler it is
    left out with a note."""
    tensorboard: bool = False
    """Also write TensorBoard files into the run directory."""

    def plans_checkpoint(self, step: int) -> bool:
        """Whether a checkpoint is planned at a step: an interruption's must not enter averages."""
        return step % (self.evaluate_every or 1) == 0 or step == self.steps
