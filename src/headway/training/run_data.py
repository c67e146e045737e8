"""The data of a training run: codecs and prepared stores.

Each is read if the run or the cache has it, else made.
"""

import json
from collections.abc import Iterator, Sequence

from ..data.config import default_cache
from ..data.formats.read import read
from ..data.leakage import LeakCheck
from ..data.prepare import Prepared, prepare
from ..errors import RunError
from ..run_config import load_run_config
from ..runs import RunDir
from ..tasks.base import Task
from .context import TrainingContext
from .warm_start import check_pooler, has_pooler, kept_weights, new_parts

DATA = "data.json"


def prepare_codecs(context: TrainingContext) -> Task:
    """The task with its codecs: those of the run, those of `init`, or new ones."""
    task = _task_of_columns(context)
    if context.group.is_first and not context.run.codecs.exists():
        if context.config.init is not None:
            fitted = _adopt(context, task, RunDir.open(context.config.init))
        else:
            next(_rows(context), None)  # a wrong format or column is reported before the note
            context.display.note(task.fitting)
            fitted = task.fit_codecs(lambda: _rows(context), context.config.text)
            fitted = _with_all_classes(context, fitted)
        with context.run.writing_codecs() as folder:
            fitted.save_codecs(folder)
    context.group.wait()
    return task.load_codecs(context.run.codecs)


def prepare_data(
    context: TrainingContext, task: Task, inexact: bool
) -> tuple[Prepared, Prepared | None]:
    """Training and validation data, prepared once."""
    held_out = {key: context.corpora(key) for key in ("valid", "test") if context.corpora(key)}
    is_new = held_out and not (context.run.path / DATA).exists()
    check = task.leak_check(held_out, context.root) if is_new else None
    training = _prepare(context, task, "train", context.config.data.max_length, check)
    for line in task.remarks(training.store):
        context.note("Data", line)
    # The other part of the training data has no longer examples than this one.
    longest = context.config.data.max_length if _is_split(context) else None
    validation = _prepare(context, task, "valid", longest, None) if "valid" in held_out else None
    for name, prepared in (("train", training), ("valid", validation)):
        if prepared is not None:
            context.examples[name] = len(prepared.store)
    if is_new:
        _note_leaks(context, task, training, validation)
    keys = {"train": training.key} | ({"valid": validation.key} if validation else {})
    _check_data(context, keys, inexact)
    return training, validation


def _note_leaks(
    context: TrainingContext, task: Task, training: Prepared, validation: Prepared | None
) -> None:
    """Notes what the task finds by comparing examples, if it does not compare rows."""
    held_out = {} if validation is None else {"valid": validation.store}
    if context.corpora("test") and task.compares_examples:
        held_out["test"] = _prepare(context, task, "test", None, None).store
    if line := task.leaks(training.store, held_out):
        context.note("Data", line)


def _adopt(context: TrainingContext, task: Task, origin: RunDir) -> Task:
    """The task with the vocabulary of another run, whose weights are saved as initial weights.

    The head is kept only if task and codecs are the same; otherwise a new one is drawn.
    """
    parent, objective = load_run_config(origin), context.config.objective_name
    task = _with_all_classes(context, task.adopt_codecs(origin.codecs, lambda: _rows(context)))
    tensors, _ = origin.load_weights()
    head = task.vocabularies.head
    kept = kept_weights(tensors, head)
    if kept and not (parent.objective_name == objective and _is_same(task, origin)):
        tensors = kept
        if has_pooler(context.config.model):
            check_pooler(kept, context.config.tune.mode)
        new = new_parts(kept, head, pooler=has_pooler(context.config.model))
        if new is not None:
            context.note("Settings", new)
    context.run.save_init(tensors, str(origin.path))
    return task


def _is_same(task: Task, origin: RunDir) -> bool:
    """Whether the codecs encode like those of another run of the same task."""
    others, mine = task.load_codecs(origin.codecs).codecs, task.codecs
    return mine.keys() == others.keys() and all(
        mine[name].fingerprint() == others[name].fingerprint() for name in mine
    )


def _with_all_classes(context: TrainingContext, task: Task) -> Task:
    """The task with the classes of both parts, if the training data are split: one of them may be
    without a rare class."""
    if not _is_split(context):
        return task
    return task.with_classes_of(lambda: _rows(context, ("train", "valid")))


def _is_split(context: TrainingContext) -> bool:
    """Whether the validation data are a part of the training data."""
    return any(corpus.split for corpus in context.corpora("valid"))


def _task_of_columns(context: TrainingContext) -> Task:
    """The task without codecs, with the columns that the training data have."""
    task = context.config.make_task()
    task.columns = task.columns_of(context.corpora("train"), context.root)
    return task


def _rows(context: TrainingContext, keys: Sequence[str] = ("train",)) -> Iterator[Sequence[str]]:
    task = _task_of_columns(context)
    for key in keys:
        for corpus in context.corpora(key):
            for row in read(corpus, task.columns, context.root):
                yield task.training_values(row.values, corpus)


def _prepare(
    context: TrainingContext,
    task: Task,
    key: str,
    max_length: int | None,
    check: LeakCheck | None,
) -> Prepared:
    prepared = prepare(
        context.corpora(key),
        task.codecs,
        default_cache() / "stores",
        root=context.root,
        max_length=max_length,
        block=task.block(context.config.data),
        sentences=task.in_sentences,
        leak_check=check,
        rules=task,
    )
    prepared = task.examples(prepared, context.corpora(key), key, context.corpora("train"))
    task.check(prepared.store)
    for line in prepared.report():
        context.note("Data", f"{key}: {line}")
    for note in prepared.new_notes(context.noted):
        context.note("Data", f"{'warning: ' * note.is_warning}{key}: {note}")
    context.noted.update(prepared.noted)
    return prepared


def _check_data(context: TrainingContext, keys: dict[str, str], inexact: bool) -> None:
    """Refuses data that changed since the run started; a new run records its data."""
    run = context.run
    if not inexact and (run.expects(DATA) or run.checkpoints()):
        try:
            before = run.read_json(DATA)
        except RunError as error:
            raise RunError(
                f"{error}; without it nobody knows whether the data changed: `inexact=True` "
                "continues with the present ones"
            ) from None
        changed = [name for name, key in keys.items() if key != before.get(name)]
        if changed:
            raise RunError(
                f"data.{' and data.'.join(changed)} changed since {run.path} started; "
                "restore the files, or add `inexact=True` to continue with the new ones"
            )
    if context.group.is_first:
        run.write_text(DATA, json.dumps(keys, indent=2) + "\n")
