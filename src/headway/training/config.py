"""The training settings of the run file."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from ..config import OneOf
from .schedule import SCHEDULES


def _meanings() -> dict[str, str]:
    docs = {name: schedule.__doc__ or "" for name, schedule in SCHEDULES.items()}
    return {name: doc.partition("\n")[0] for name, doc in docs.items()}


ScheduleName = Annotated[str, OneOf(lambda: SCHEDULES, _meanings)]


@dataclass(frozen=True)
class TrainConfig:
    """Length of training, optimiser, learning rate, validation and checkpoints."""

    steps: Annotated[int, Ge(1)] | None = None
    """Number of updates. Without `steps`, `epochs` and `minutes` the number of epochs depends on
    the corpus size; with several of them, the smallest limit applies."""
    epochs: Annotated[float, Gt(0)] | None = None
    """Passes over the training data."""
    minutes: Annotated[float, Gt(0)] | None = None
    """A budget in minutes, validation included. A short timed trial turns it into a number of
    updates, which is recorded and shapes the schedule, so that resuming stays exact."""
    deadline: bool = False
    """Stop when `minutes` are over, even if the planned updates are not done."""
    batch_tokens: Annotated[int, Ge(1)] | None = None
    """Target tokens per update, padding included; source tokens have the same limit. BPE dropout
    makes examples a little longer than counted here."""
    accumulate: Annotated[int, Ge(1)] | None = None
    """Number of micro-batches of an update, over all threads and processes together. Default: one
    for each thread of the CPU (they run in parallel), one on a GPU."""
    optimizer: Literal["adamw", "adam", "adam_l2", "sgd"] = "adamw"
    """`adam` has no decay, `adam_l2` adds decay to the gradient, `adamw` decays the weights
    themselves."""
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
    """Momentum of `sgd`."""
    weight_decay: Annotated[float, Ge(0)] = 0.01
    """Decay of `adamw`, `adam_l2` and `sgd`, on matrices only, never on biases and norms."""
    clip: Annotated[float, Ge(0)] = 1.0
    """Largest norm of the gradient; 0 disables clipping."""
    label_smoothing: Annotated[float, Ge(0), Lt(1)] | None = None
    """Share of the target's probability spread over the vocabulary. Default: 0.1 for `translate`,
    else 0."""
    ema: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Decay of a moving average of the weights. The average is validated and kept in place of the
    weights; 0 disables it."""
    average: Annotated[int, Ge(1)] = 1
    """Number of last checkpoints whose weights are averaged at the end; 1 disables averaging."""
    choose: Literal["best", "last"] = "best"
    """Without averaging: keep the weights of the best validation, or the last."""
    metric: str = "auto"
    """The metric that ranks validations: `loss` or a metric of the task (see `headway evaluate
    --help`); `auto` is the default of the task; for texts `bleu`, or
    `chrf` or `exact` if the targets have no spaces or few words."""
    evaluate_every: Annotated[int, Ge(1)] | None = None
    """Updates between validations; each ends with a checkpoint."""
    evaluate_share: Annotated[float, Gt(0), Le(1)] | None = None
    """Share of the validation data that each validation uses. Default: 1, or less if validations
    would take more than a fifth of `minutes`."""
    evaluate_sample: Annotated[int, Ge(1)] = 500
    """Number of examples decoded at each validation (the loss uses all)."""
    patience: Annotated[int, Ge(1)] | None = None
    """Number of validations without an improvement after which training stops. Default: no
    limit."""
    keep: Annotated[int, Ge(1)] = 3
    """Checkpoints kept for resuming."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """`bf16` computes in bfloat16 if the hardware has it; weights stay in fp32."""
    compile: Literal["auto", "on", "off"] = "auto"
    """`torch.compile`: `auto` uses it on CUDA only, where it is faster; without a working compiler
    it is skipped with a note."""
    tensorboard: bool = False
    """Also write TensorBoard files into the run directory."""

    def plans_checkpoint(self, step: int) -> bool:
        """Whether a checkpoint is planned at a step; averages leave out those of interruptions."""
        return step % (self.evaluate_every or 1) == 0 or step == self.steps
