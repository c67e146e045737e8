"""What a model of the library says: words, nothing, or what it was trained further for.

The last are labels or values of texts, tags of tokens, and the two ends of an answer. Their head is
one linear layer on our side. `config.json` names its outputs (`id2label`), in their order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...errors import RunError
from ...models.family import Head

Form = Head | Literal["texts", "tokens", "spans"]
"""What a class is for: a head of pre-training, or what is told of each text, each token, or by the
first and the last token of an answer."""
TOLD: dict[str, Form] = {
    "classify": "texts",
    "regress": "texts",
    "tag": "tokens",
    "answer": "spans",
}
"""What is told in the tasks of models that were trained further."""

KINDS: dict[str, str] = {"classify": "single_label_classification", "regress": "regression"}
"""By task, what the library calls the problem."""
N_USUAL = 2  # labels, where config.json names none
SHOWN = 60


@dataclass(frozen=True)
class Purpose:
    """What a model that was trained further says.

    Attributes:
        task: ours.
        labels: what the outputs are called, in their order; those of an answer have no names.
        mean, deviation: of values, which our models give scaled and the library's as they are.
    """

    task: str
    labels: tuple[str, ...] = ()
    mean: float = 0.0
    deviation: float = 1.0

    @property
    def form(self) -> Form:
        return TOLD[self.task]

    @property
    def n_outputs(self) -> int:
        return 2 if self.form == "spans" else len(self.labels)

    def write(self) -> dict[str, Any]:
        """Entries of `config.json`."""
        if self.form == "spans":
            return {}
        named = {
            "id2label": {str(number): label for number, label in enumerate(self.labels)},
            "label2id": {label: number for number, label in enumerate(self.labels)},
        }
        return named | ({"problem_type": KINDS[self.task]} if self.task in KINDS else {})


def read_purpose(config: Mapping[str, Any], form: Form, n_outputs: int, where: Path) -> Purpose:
    """What `config.json` says of a model of one of the forms in `TOLD`.

    Args:
        n_outputs: rows of the weight that makes the outputs.
        where: the file, for messages.

    Raises:
        RunError: it names the outputs in a way that ours cannot be named.
    """
    if form == "spans":
        return Purpose("answer")
    labels = _labels(config, where)
    if len(labels) != n_outputs:
        raise RunError(
            f"{where}: id2label names {len(labels)} labels and the model has {n_outputs} outputs; "
            "name each of them there"
        )
    if form == "tokens":
        _check_names(labels, "tags", where)
        return Purpose("tag", labels)
    task = _task_of_texts(config, len(labels), where)
    if task == "classify":
        _check_names(labels, "labels", where)
    return Purpose(task, labels)


def _task_of_texts(config: Mapping[str, Any], n_labels: int, where: Path) -> str:
    task = "regress" if n_labels == 1 else "classify"
    kind = config.get("problem_type")
    if kind not in (None, KINDS[task]):
        raise RunError(
            f"{where}: problem_type = {kind!r} with {n_labels} label{'s' * (n_labels > 1)}; "
            "headway gives a text one label of several (single_label_classification) or one value "
            "(regression); import another model"
        )
    return task


def _labels(config: Mapping[str, Any], where: Path) -> tuple[str, ...]:
    """In the order of their numbers; without names they are called as the library does."""
    named = config.get("id2label")
    if named is None:
        number = config.get("num_labels") or N_USUAL
        named = {i: f"LABEL_{i}" for i in range(number if isinstance(number, int) else N_USUAL)}
    is_table = isinstance(named, Mapping) and all(str(key).isdecimal() for key in named)
    if not is_table or not all(isinstance(label, str) for label in named.values()):
        raise RunError(
            f"{where}: id2label = {_shortened(named)}; expected a table of numbers and names such "
            'as {"0": "no", "1": "yes"}; write it so'
        )
    by_number = {int(key): label for key, label in named.items()}
    numbers = sorted(by_number)
    if numbers != list(range(len(named))) or not numbers:
        raise RunError(
            f"{where}: id2label has the numbers {_shortened(numbers)}; expected all from 0 on, one "
            "for each output of the model; name those that are missing"
        )
    return tuple(by_number[number] for number in numbers)


def _check_names(labels: Sequence[str], what: str, where: Path) -> None:
    for number, label in enumerate(labels):
        parts = label.split()
        is_plain = " ".join(parts) == label if what == "labels" else parts == [label]
        problem = None
        if not parts:
            problem = "is blank"
        elif not is_plain:
            problem = "has white space that would be lost"
        elif label in labels[:number]:
            problem = f"is also that of {labels.index(label)}"
        if problem is not None:
            raise RunError(
                f"{where}: the name {label!r} of output {number} in id2label {problem}; each of "
                f"the {what} needs a name of its own; change it there"
            )


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
