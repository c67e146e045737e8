"""Validation of translation: beside the loss, outputs of a part of the set against references."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..data.batches import Batches
from ..data.store import Store
from ..search import SearchConfig
from .loss import Batch, Objective
from .validation import SAMPLES, TOKENS, Validation, Validator

if TYPE_CHECKING:
    from .translate import Translate

# Stands in references for what the tokenizer does not know. Unicode keeps this code point from ever
# being a character, so no output has it: an unknown counts as wrong, whatever the output says.
NEVER_RIGHT = "\ufdd0"


class DecodedValidator(Validator):
    """Loss, exact match, BLEU and the metric that runs are judged by.

    References are what the tokenizer makes of the text: in lower case if it lowers, and never
    matched where it knows no token. `evaluate` compares with the text itself.

    Args:
        metric: what runs are judged by: `loss` or a metric of the task.
        sample: how many examples are decoded.
    """

    def __init__(
        self, task: "Translate", store: Store, metric: str, sample: int, search: SearchConfig
    ) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store
        self.search = search
        # Spread over the set, whose order may mean something.
        step = max(1, len(store) // sample)
        self.chosen = list(range(0, len(store), step))[:sample]
        targets = [store["target"][i].tolist() for i in self.chosen]
        self.references = [task.target.decode(ids) for ids in targets]
        self._judged_by = [task.target.decode(ids, unknown=NEVER_RIGHT) for ids in targets]
        self.sources = [task.source.decode(store["source"][i].tolist()) for i in self.chosen]

    def batches(self) -> Iterator[Batch]:
        for indices in Batches(self.store, self.task.lengths, TOKENS, seed=0).epoch(0):
            yield self.task.batch(self.store, indices)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        outputs = self._outputs(objective, limited)
        names = dict.fromkeys(("bleu", "exact", self.metric))
        figures = {
            name: self.task.judge(name, outputs, self._judged_by).value
            for name in names
            if name != "loss"
        }
        rows = list(zip(self.sources, outputs, self.references, strict=True))
        return Validation(figures, rows[:SAMPLES])

    def _outputs(self, objective: Objective, limited: bool) -> list[str]:
        sources = [self.store["source"][i] for i in self.chosen]
        limits = [len(self.store["target"][i]) for i in self.chosen] if limited else None
        found = self.task.predict(objective.model, sources, self.search, limits)
        return [self.task.text(hypotheses[0]) for hypotheses in found]
