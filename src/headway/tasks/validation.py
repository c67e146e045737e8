"""Validation: the loss on all of the validation set and a decoded metric on part of it."""

from dataclasses import dataclass

import torch

from ..data.batches import Batches
from ..data.store import Store
from ..search import SearchConfig
from .loss import Objective
from .translate import Translate

SAMPLES = 3
# Stands in references for what the tokenizer does not know. Unicode keeps this code point from ever
# being a character, so no output has it: an unknown counts as wrong, whatever the output says.
NEVER_RIGHT = "\ufdd0"


@dataclass(frozen=True)
class Validation:
    """Figures by name (`valid_loss`, `bleu`, ...) and a few samples (source, output, reference)."""

    figures: dict[str, float]
    samples: list[tuple[str, str, str]]


class Validator:
    """Validates a task's model on a prepared set.

    References are what the tokenizer makes of the text: in lower case if it lowers, and never
    matched where it knows no token. `evaluate` compares with the text itself.

    Args:
        metric: what runs are judged by: `loss` or a metric of the task.
        sample: how many examples are decoded.
    """

    def __init__(
        self, task: Translate, store: Store, metric: str, sample: int, search: SearchConfig
    ) -> None:
        self.task = task
        self.store = store
        self.metric = metric
        self.search = search
        # Spread over the set, whose order may mean something.
        step = max(1, len(store) // sample)
        self.chosen = list(range(0, len(store), step))[:sample]
        targets = [store["target"][i].tolist() for i in self.chosen]
        self.references = [task.target.decode(ids) for ids in targets]
        self._judged_by = [task.target.decode(ids, unknown=NEVER_RIGHT) for ids in targets]
        self.sources = [task.source.decode(store["source"][i].tolist()) for i in self.chosen]

    @torch.inference_mode()
    def __call__(self, objective: Objective, limited: bool = False) -> Validation:
        """Validates the weights the model has now.

        Args:
            limited: outputs end at their reference's length, which makes the time of an untrained
                model that of a trained one.
        """
        was_training = objective.training
        objective.eval()
        try:
            figures = {"valid_loss": self._loss(objective)}
            outputs = self._outputs(objective, limited)
            for name in ("bleu", "exact"):
                figures[name] = self.task.judge(name, outputs, self._judged_by).value
            if self.metric not in (*figures, "loss"):
                judged = self.task.judge(self.metric, outputs, self._judged_by)
                figures[self.metric] = judged.value
        finally:
            objective.train(was_training)
        rows = list(zip(self.sources, outputs, self.references, strict=True))
        return Validation(figures, rows[:SAMPLES])

    def goodness(self, validation: Validation) -> float:
        """The figure to judge by, turned so that more is better."""
        if self.metric == "loss":
            return -validation.figures["valid_loss"]
        value = validation.figures[self.metric]
        return -value if self.metric in self.task.lower_is_better else value

    def _loss(self, objective: Objective) -> float:
        total, count = 0.0, 0
        device = next(objective.model.parameters()).device
        for indices in Batches(self.store, ("target", "source"), 4096, seed=0).epoch(0):
            batch = {k: v.to(device) for k, v in self.task.batch(self.store, indices).items()}
            total += sum(value.item() for value in objective(batch).values())
            count += sum(objective.counts(batch).values())
        return total / max(count, 1)

    def _outputs(self, objective: Objective, limited: bool) -> list[str]:
        sources = [self.store["source"][i] for i in self.chosen]
        limits = [len(self.store["target"][i]) for i in self.chosen] if limited else None
        found = self.task.predict(objective.model, sources, self.search, limits)
        return [self.task.text(hypotheses[0]) for hypotheses in found]
