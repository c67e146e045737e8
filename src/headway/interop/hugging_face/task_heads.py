"""Maps headway tasks to the fine-tuning heads of transformers and back: one row of `HEADS` each.

A head gives labels or values of texts, tags of tokens, or the two ends of an answer. It is one
linear layer on our side. `config.json` names its outputs (`id2label`), in their order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...data.codecs.labels import LabelCodec
from ...data.codecs.spans import SpanCodec
from ...data.codecs.tags import TagCodec
from ...data.codecs.text import TextCodec
from ...data.codecs.values import ValueCodec
from ...errors import RunError
from ...models.family import Head
from ...tasks.base import Task
from ...tasks.text_inputs import TextInputs

Form = Head | Literal["texts", "tokens", "spans"]
"""The form of a head: one of pre-training, or with outputs for each text, for each token, or for
the first and the last token of an answer."""
DEFAULT_LABELS = 2  # number of labels if config.json has none
MAX_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class TaskHead:
    """The head of a fine-tuned model.

    Attributes:
        task: ours.
        labels: names of the outputs, in order; those of an answer have none.
        mean, deviation: of the values; our models give standardised values, the library's plain
            ones.
    """

    task: str
    labels: tuple[str, ...] = ()
    mean: float = 0.0
    deviation: float = 1.0

    @property
    def form(self) -> Form:
        return HEADS[self.task].form

    @property
    def n_outputs(self) -> int:
        return 2 if self.form == "spans" else len(self.labels)

    def write(self) -> dict[str, Any]:
        """Entries of `config.json`."""
        if self.form == "spans":
            return {}
        entries: dict[str, Any] = {
            "id2label": {str(number): label for number, label in enumerate(self.labels)},
            "label2id": {label: number for number, label in enumerate(self.labels)},
        }
        problem = HEADS[self.task].problem_type
        return entries | ({"problem_type": problem} if problem is not None else {})


@dataclass(frozen=True)
class HeadType:
    """How the head of one task is written and read.

    Attributes:
        form: of several rows with one form, the first that fits `config.json` is read.
        problem_type: entry of `config.json`; None if the library writes none.
        n_labels: the least and the largest number of outputs.
        noun: the noun for the names of the outputs, which the codec must accept; None if they are
            not used.
        head_of: the head of a task with codecs.
        with_codecs: a task with the codecs of a head; the arguments are the task, the head, the
            codec of its texts, and whether inputs are pairs. Folders do not say how values were
            scaled or whether questions may lack an answer: values are taken as they are, and
            answers may be missing.
    """

    form: Form
    problem_type: str | None
    n_labels: tuple[float, float]
    noun: Literal["labels", "tags"] | None
    head_of: Callable[[Any], TaskHead]
    with_codecs: Callable[[Any, TaskHead, TextCodec, bool], Task]


HEADS: dict[str, HeadType] = {
    "classify": HeadType(
        "texts",
        "single_label_classification",
        (2, math.inf),
        "labels",
        lambda task: TaskHead("classify", task.labels.labels),
        lambda task, head, codec, pairs: task.with_codecs(
            TextInputs(codec, pairs), LabelCodec(head.labels)
        ),
    ),
    "regress": HeadType(
        "texts",
        "regression",
        (1, 1),
        None,
        lambda task: TaskHead("regress", ("value",), task.value.mean, task.value.deviation),
        lambda task, head, codec, pairs: task.with_codecs(
            TextInputs(codec, pairs), ValueCodec(0.0, 1.0)
        ),
    ),
    "tag": HeadType(
        "tokens",
        None,
        (1, math.inf),
        "tags",
        lambda task: TaskHead("tag", task.tags.tags),
        lambda task, head, codec, pairs: task.with_codecs(codec, TagCodec.named(head.labels)),
    ),
    "answer": HeadType(
        "spans",
        None,
        (0, math.inf),
        None,
        lambda task: TaskHead("answer"),
        lambda task, head, codec, pairs: task.with_codecs(codec, SpanCodec(may_lack=True)),
    ),
}
"""By task; the other tasks have no such head in the library."""


def read_task_head(config: Mapping[str, Any], form: Form, n_outputs: int, where: Path) -> TaskHead:
    """The head that `config.json` describes.

    Args:
        form: one of `HEADS`.
        n_outputs: rows of the output layer's weight.
        where: the file, for messages.

    Raises:
        RunError: the names of the outputs do not fit the model or our codecs.
    """
    if form == "spans":  # without names
        return TaskHead(_find_task(None, form, n_outputs, where))
    labels = _labels(config, where)
    if len(labels) != n_outputs:
        raise RunError(
            f"{where}: id2label names {len(labels)} labels and the model has {n_outputs} outputs; "
            "name each of them there"
        )
    task = _find_task(config.get("problem_type"), form, len(labels), where)
    if (noun := HEADS[task].noun) is not None:
        _check_names(labels, noun, where)
    return TaskHead(task, labels)


def _find_task(problem: str | None, form: Form, n_labels: int, where: Path) -> str:
    rows = {task: row for task, row in HEADS.items() if row.form == form}
    for task, row in rows.items():
        low, high = row.n_labels
        is_named = problem is None or row.problem_type in (None, problem)
        if is_named and low <= n_labels <= high:
            return task
    tasks = ", ".join(f"{row.problem_type} ({task})" for task, row in rows.items())
    raise RunError(
        f"{where}: problem_type = {problem!r} with {n_labels} label{'s' * (n_labels > 1)}; headway "
        f"has {tasks}; import another model"
    )


def _labels(config: Mapping[str, Any], where: Path) -> tuple[str, ...]:
    """The labels in the order of their numbers; `LABEL_0`, ... if the file names none."""
    id2label = config.get("id2label")
    if id2label is None:
        n_labels = config.get("num_labels")
        if not isinstance(n_labels, int) or n_labels < 1:
            n_labels = DEFAULT_LABELS
        id2label = {i: f"LABEL_{i}" for i in range(n_labels)}
    is_table = isinstance(id2label, Mapping) and all(str(key).isdecimal() for key in id2label)
    if not is_table or not all(isinstance(label, str) for label in id2label.values()):
        raise RunError(
            f"{where}: id2label = {_shortened(id2label)}; expected a table of numbers and names "
            'such as {"0": "no", "1": "yes"}; write it so'
        )
    by_number = {int(key): label for key, label in id2label.items()}
    numbers = sorted(by_number)
    if numbers != list(range(len(id2label))) or not numbers:
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
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def task_head_of(task: Task) -> TaskHead | None:
    """The fine-tuning head of a task with codecs; None if the library has none for it."""
    return HEADS[task.name].head_of(task) if task.name in HEADS else None


def with_head_codecs(task: Task, head: TaskHead, codec: TextCodec, pairs: bool) -> Task:
    """The task of an imported model, with its codecs.

    Args:
        codec: of the encoder's input.
        pairs: whether a label or a value belongs to two texts.
    """
    return HEADS[head.task].with_codecs(task, head, codec, pairs)
