"""The timed trial of a run with a budget in minutes: real updates on a job discarded afterwards."""

from collections.abc import Callable

from .distributed import Processes
from .loop import TrainingJob
from .plan import Measure


class TimedTrial(Measure):
    """Times updates and validations of a job made for this purpose.

    Args:
        make: makes the job.
        world: number of processes that will share the work.
    """

    def __init__(self, make: Callable[[], TrainingJob], world: int) -> None:
        self.make = make
        self.world = world
        self.job: TrainingJob | None = None

    def start(self) -> None:
        # Not distributed: the other processes wait for the plan meanwhile.
        self.job = self.make()
        self.job.updater.processes = Processes()
        self.stream = self.job.batches.after(0, 0)

    def update(self, number: int) -> None:
        assert self.job is not None
        # The micro-batches of one process: the others run theirs at the same time.
        mine = (self.job.config.accumulate or 1) // self.world
        batches = [(i, next(self.stream)[2]()) for i in range(mine)]
        self.job.updater(batches, number, 1e-4)

    def validate(self) -> None:
        assert self.job is not None
        if self.job.validator is not None:
            self.job.validator(self.job.updater.objective, limited=True)
