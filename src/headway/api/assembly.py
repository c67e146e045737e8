"""Training from end to end: codecs, stores, model, plan, loop.

Each part of a run is found again if it is there already and made if it is not, so that starting and
resuming are one way, and a kill at any moment loses at most the work since the last checkpoint. A
model that learns by counting takes a shorter way, which has no place in the middle. What is learned
is known through `tasks/task.py` alone.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from .. import config as configs
from ..data.batches import Batches
from ..data.corpora import Corpus, as_corpora, default_cache
from ..data.leaks import LeakCheck
from ..data.prepare import Prepared, prepare
from ..data.read import read
from ..data.store import Store
from ..errors import ConfigError, DataError, RunError
from ..models import FAMILIES
from ..models.tuning import tune
from ..runs import RunDir
from ..runs.module import set_weights, weights_of
from ..search import SearchConfig
from ..tasks import Task
from ..tasks.stream import BatchStream
from ..tasks.validation import Validator
from ..training.display import Display, Silent
from ..training.fit import Job, fit
from ..training.journal import Journal, summary_writer
from ..training.optimiser import make_optimizer
from ..training.plan import fill_length, fill_sizes
from ..training.processes import Processes, processes
from ..training.seeds import seed_start
from ..training.settings import TrainConfig
from ..training.state import MovingAverage, Progress, unpack
from ..training.trial import Trial
from ..training.update import Updater
from .average import AVERAGED_FROM
from .config import RunConfig, rooted, stored_config
from .device import autocast, compile_model, pick_device
from .facts import check_facts, facts_now
from .importing import IMPORTED_FROM
from .start import check_pooler, kept_weights, new_parts, with_new_parts

PLAN, DATA = "plan.json", "data.json"
PLANNED = ("steps", "epochs", "warmup", "evaluate_every")
BOUNDS = ("max_length", "max_ratio", "max_extra", "min_length", "min_ratio", "no_repeat")


def make_run(config: RunConfig, out: str | Path, display: Display | None = None) -> None:
    """Trains a model into the run directory `out`, which must not exist or be empty.

    Raises:
        HeadwayError: in words; what was reached until then is in `out`, which is removed if it was
            nothing.
    """
    config = _inherited(rooted(config, Path.cwd()))
    _check_extras(config)
    with processes() as group:
        run = _together(group, lambda: _create(Path(out), config), lambda: RunDir.open(out))
        try:
            _run(run, config, group, display, inexact=False)
        except (ConfigError, DataError):
            # A mistake in the run file or the data, found before there was anything to keep: the
            # same command must work once it is mended.
            if group.is_first and not (run.path / PLAN).exists():
                with run.lock():
                    run.discard()
            raise


def resume_run(
    out: str | Path,
    display: Display | None = None,
    inexact: bool = False,
    data_root: str | Path | None = None,
) -> None:
    """Goes on with a run that was stopped, exactly where it stood.

    Args:
        inexact: go on although torch, threads or data differ from those the run began with.
        data_root: where the data are now, if they were moved.
    """
    run = RunDir.open(out)
    config = stored_config(run)
    if data_root is not None:
        root = str(Path(data_root).expanduser().resolve())
        config = replace(config, data=replace(config.data, root=root))
    if AVERAGED_FROM in run.facts:
        raise RunError(
            f"{run.path} is an average of checkpoints and has nothing to go on from; resume "
            f"{run.facts[AVERAGED_FROM]}, or train a new run with init = {str(run.path)!r}"
        )
    if IMPORTED_FROM in run.facts:
        raise RunError(
            f"{run.path} was imported and has nothing to go on from; train a new run with init = "
            f"{str(run.path)!r}"
        )
    _check_extras(config)
    with processes() as group:
        if not inexact:
            check_facts(run, facts_now(config.device))
        _run(run, config, group, display, inexact)


def build(config: RunConfig, task: Task) -> Any:
    """The module that resolved settings describe, with fresh weights."""
    try:
        return FAMILIES[config.model.family].build(config.model, task.vocabularies)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from None


def _inherited(config: RunConfig) -> RunConfig:
    """With `init`, the vocabulary and a model that is left open are those of that run.

    Raises:
        ConfigError: the vocabulary is given again, or the model cannot be trained for the task.
    """
    if config.init is None:
        return config
    origin = Path(config.init).expanduser().resolve()
    begun = stored_config(RunDir.open(origin))
    left_out = RunConfig(config.data, task=config.task, pretrain=config.pretrain)
    settings = [name for name in config.kind.settings if name in begun.kind.settings]
    for name in settings:
        if getattr(config, name) not in (getattr(left_out, name), getattr(begun, name)):
            raise ConfigError(
                f"init = {config.init!r} brings its vocabulary, so [{name}] cannot be given; "
                "leave it out"
            )
    model = begun.model if config.model == left_out.model else config.model
    brought = {name: getattr(begun, name) for name in settings}
    try:
        return replace(config, init=str(origin), model=model, **brought)
    except ValueError as error:
        raise ConfigError(f"init = {config.init!r}: {error}") from None


def _check_extras(config: RunConfig) -> None:
    """Fails now rather than when the data are prepared."""
    FAMILIES[config.model.family].require()
    if config.train.tensorboard:
        summary_writer()


def _create(out: Path, config: RunConfig) -> RunDir:
    return RunDir.create(out, facts_now(config.device), configs.to_toml(config))


def _together(
    group: Processes, first: Callable[[], RunDir], others: Callable[[], RunDir]
) -> RunDir:
    """What the first process makes and the others then open; all fail if the first fails."""
    problem, run = None, None
    if group.is_first:
        try:
            run = first()
        except RunError as error:
            problem = str(error)
    problem = group.share(problem)
    if problem is not None:
        raise RunError(problem)
    return run or others()


def _run(
    run: RunDir, config: RunConfig, group: Processes, display: Display | None, inexact: bool
) -> None:
    shown = display if display is not None and group.is_first else Silent()
    with run.lock() if group.is_first else nullcontext():
        if inexact and group.is_first:
            run.record_facts(facts_now(config.device))
        assembly = _Assembly(run, config, group, shown)
        task = assembly.codecs()
        training, validation = assembly.stores(task, inexact)
        if FAMILIES[config.model.family].learns == "counting":
            assembly.count(task, training, validation)
        else:
            job = assembly.job(task, training, validation)
            assembly.restore(job)
            assembly.log_start(job.progress.step)
            fit(job)
            assembly.log_end(job.progress.step)
    group.wait()


def _is_same(task: Task, kind: type[Task], origin: RunDir) -> bool:
    """Whether codecs encode as those of another run of the same kind."""
    others, mine = kind.load(origin.codecs).codecs, task.codecs
    return mine.keys() == others.keys() and all(
        mine[name].fingerprint() == others[name].fingerprint() for name in mine
    )


class _Assembly:
    """Puts a run together from its run file, step by step."""

    def __init__(self, run: RunDir, config: RunConfig, group: Processes, display: Display) -> None:
        self.run, self.config, self.group, self.display = run, config, group, display
        self.device = pick_device(config.device)
        self.root = Path(config.data.root or ".")
        self.start: dict[str, Any] = {"examples": {}, "notes": {"Data": [], "Settings": []}}

    def codecs(self) -> Task:
        """Codecs: those of the run, of `init`, or new ones."""
        kind = self.config.kind
        if self.group.is_first and not self.run.codecs.exists():
            if self.config.init is not None:
                task = self._adopt(RunDir.open(self.config.init))
            else:
                self.display.note("learning the vocabulary")
                settings = {name: getattr(self.config, name) for name in kind.settings}
                task = kind.learn(self._rows, **settings)
            with self.run.writing_codecs() as folder:
                task.save(folder)
        self.group.wait()
        return kind.load(self.run.codecs)

    def _adopt(self, origin: RunDir) -> Task:
        """The task with the vocabulary of another run, whose weights are kept to start from.

        A head is kept only where it would answer as it did; a new one is drawn otherwise.
        """
        kind, begun = self.config.kind, stored_config(origin)
        task = kind.adopt(origin.codecs, self._rows)
        tensors, _ = origin.load_weights()
        head = task.vocabularies.head
        kept = kept_weights(tensors, head)
        if kept and not (begun.asked == self.config.asked and _is_same(task, kind, origin)):
            tensors = kept
            if self._has_pooler:
                check_pooler(kept, self.config.tune.mode)
            new = new_parts(kept, head, pooler=self._has_pooler)
            if new is not None:
                self._note("Settings", new)
        self.run.save_init(tensors, str(origin.path))
        return task

    @property
    def _has_pooler(self) -> bool:
        return bool(getattr(self.config.model, "pooler", False))

    def stores(self, task: Task, inexact: bool) -> tuple[Prepared, Prepared | None]:
        """Training and validation data, prepared once."""
        held_out = {key: self._corpora(key) for key in ("valid", "test") if self._corpora(key)}
        is_new = held_out and not (self.run.path / DATA).exists()
        check = LeakCheck(held_out, task.codecs, self.root) if is_new else None
        training = self._prepare(task, "train", self.config.data.max_length, check)
        validation = self._prepare(task, "valid", None, None) if "valid" in held_out else None
        keys = {"train": training.key} | ({"valid": validation.key} if validation else {})
        self._check_data(keys, inexact)
        return training, validation

    def job(self, task: Task, training: Prepared, validation: Prepared | None) -> Job:
        """The run, ready to go from its beginning, with nothing left open in its settings."""
        n_examples = len(training.store)
        config = self._resolved(task, n_examples)
        model = self._model(config, task)
        n_parameters = sum(p.numel() for p in model.parameters())
        n_trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
        settings = self._sized(config.train, n_parameters)
        if settings.label_smoothing is None:
            settings = replace(settings, label_smoothing=task.label_smoothing)
        stream = self._stream(task, training, settings)
        validator = self._validator(task, validation, settings)

        def job(settings: TrainConfig) -> Job:
            return self._job(replace(config, train=settings), task, stream, validator)

        settings = self._planned(settings, n_examples, stream, job)
        config = replace(config, train=settings)
        if self.group.is_first:
            self.run.write_text("run.toml", configs.to_toml(config))
        self._announce(config, n_examples, n_parameters, n_trained, task)
        return job(settings)

    def count(self, task: Task, training: Prepared, validation: Prepared | None) -> None:
        """The whole of a run that learns by counting; one that was not finished counts again."""
        if not self.group.is_first or (self.run.has_weights() and self._is_finished()):
            return
        started, family = time.perf_counter(), FAMILIES[self.config.model.family]
        assert family.count is not None
        if self.config.init is not None:
            raise ConfigError(
                f"init = {self.config.init!r} has no meaning for model.family = {family.name!r}, "
                "which learns by counting from nothing; leave it out"
            )
        config = self._resolved(task, len(training.store))
        self.run.write_text("run.toml", configs.to_toml(config))
        self.run.log.cut(-1)
        try:
            sequences = task.sequences(training.store)
            model = family.count(config.model, task.vocabularies, sequences)
        except ValueError as error:
            raise ConfigError(f"model: {error}") from None
        tensors = weights_of(model)
        self._note_unused(config.train)
        n_counted = sum(tensor.numel() for tensor in tensors.values())
        self._note("Settings", self._model_line(config, len(training.store), n_counted, task))
        self.run.save_weights(tensors, "counted", 0)
        self.log_start(0)
        self._judge(task, model.eval(), validation, config, started)
        self.log_end(0)

    def _judge(
        self, task: Task, model: Any, validation: Prepared | None, config: RunConfig, started: float
    ) -> None:
        """Validates a counted model and writes down what came out."""
        journal = Journal(self.run, config.train.tensorboard, 0)
        record: dict[str, Any] = {"minutes": (time.perf_counter() - started) / 60.0}
        validator = self._validator(task, validation, config.train)
        if validator is not None:
            found = validator(task.objective(model, 0.0))
            self.display.validation(0, found.figures, is_best=True)
            self.display.samples(found.samples)
            record |= {**found.figures, "samples": found.samples}
        journal.append(0, record)
        journal.close()
        self.display.close()

    def _note_unused(self, settings: TrainConfig) -> None:
        """Says which settings a model that counts passes over."""
        usual, used = TrainConfig(), ("metric", "evaluate_sample", "tensorboard")
        given = [
            f"train.{field.name}"
            for field in fields(settings)
            if field.name not in used
            and getattr(settings, field.name) != getattr(usual, field.name)
        ]
        if any(corpus.weight != 1.0 for corpus in self._corpora("train")):
            given.append("data.train.weight")
        if self.config.text.dropout:
            given.append("text.dropout")
        if given:
            family = self.config.model.family
            self._note("Settings", f"{', '.join(given)} not used: {family} learns by counting")

    def _is_finished(self) -> bool:
        records = self.run.log.read()
        return bool(records) and records[-1].get("finished") is True

    def _resolved(self, task: Task, n_examples: int) -> RunConfig:
        """The run file with nothing left open in its model."""
        try:
            model = self.config.model.resolve(n_examples, task.vocabularies)
        except ValueError as error:
            raise ConfigError(f"model: {error}") from None
        return replace(self.config, model=model)

    def restore(self, job: Job) -> None:
        """Puts the latest checkpoint back and forgets what was logged after it."""
        saved = self.run.latest_checkpoint(self.display.note)
        if saved is not None:
            unpack(saved.tensors, job.model, job.updater.optimizer, job.average)
            job.progress = Progress.from_json(saved.state["progress"])
            self.display.note(f"going on after step {saved.step} of {job.total}")
        if self.group.is_first:
            self.run.log.cut(job.progress.step if saved else -1)

    def log_start(self, step: int) -> None:
        """One record for this sitting: amounts of data, size of the model, what was noted."""
        if self.group.is_first:
            self.run.log.append({"step": step, **self.start})

    def log_end(self, step: int) -> None:
        """Says in the log that nothing is left to do."""
        if self.group.is_first:
            self.run.log.append({"step": step, "finished": True})

    def _note(self, heading: str, text: str) -> None:
        """Something to show now and to find in the log later."""
        self.display.note(text)
        self.start["notes"][heading].append(text)

    def _rows(self) -> Iterator[Sequence[str]]:
        corpora = self._corpora("train")
        columns = self.config.kind.columns_of(corpora, self.root)
        for corpus in corpora:
            for row in read(corpus, columns, self.root):
                yield row.values

    def _corpora(self, key: str) -> tuple[Corpus, ...]:
        return as_corpora(getattr(self.config.data, key), f"data.{key}")

    def _prepare(
        self, task: Task, key: str, max_length: int | None, check: LeakCheck | None
    ) -> Prepared:
        prepared = prepare(
            self._corpora(key),
            task.codecs,
            default_cache() / "stores",
            root=self.root,
            max_length=max_length,
            block=task.block(self.config.data),
            sentences=task.in_sentences,
            leak_check=check,
            rules=task,
        )
        task.check(prepared.store)
        self.start["examples"][key] = len(prepared.store)
        for line in prepared.report():
            self._note("Data", f"{key}: {line}")
        return prepared

    def _check_data(self, keys: dict[str, str], inexact: bool) -> None:
        """Refuses data that changed since the run began; at the beginning writes down which."""
        if (self.run.path / DATA).exists():
            before = json.loads(self.run.read_text(DATA))
            changed = [name for name, key in keys.items() if key != before.get(name)]
            if changed and not inexact:
                raise RunError(
                    f"data.{' and data.'.join(changed)} changed since {self.run.path} began; "
                    "restore the files, or add --inexact to go on with the new ones"
                )
        if self.group.is_first:
            self.run.write_text(DATA, json.dumps(keys, indent=2) + "\n")

    def _sized(self, settings: TrainConfig, n_parameters: int) -> TrainConfig:
        world = self.group.world
        on_cpu = self.device.type == "cpu"
        is_fine = self.config.init is not None and self.config.tune.mode == "full"
        workers = torch.get_num_threads() if on_cpu else 1
        sized = fill_sizes(settings, n_parameters, workers, is_fine)
        if settings.accumulate is None and world > 1:
            sized = replace(sized, accumulate=world)
        if (sized.accumulate or 1) % world:
            raise ConfigError(
                f"train.accumulate={sized.accumulate} micro-batches cannot be shared by {world} "
                f"processes; try train.accumulate={world}"
            )
        return sized

    def _stream(self, task: Task, training: Prepared, settings: TrainConfig) -> BatchStream:
        assert settings.batch_tokens is not None
        assert settings.accumulate is not None
        budget = max(1, settings.batch_tokens // settings.accumulate)
        weights = [corpus.weight for corpus in self._corpora("train")]
        seed = self.config.seed

        def epoch(number: int) -> tuple[Store, Batches]:
            store, sizes = training.at(seed, number)
            sized = task.sized(store)
            batches = Batches(sized, task.lengths, budget, seed, sizes=sizes, weights=weights)
            return store, batches

        return BatchStream(task, epoch, seed, self.device)

    def _validator(
        self, task: Task, validation: Prepared | None, settings: TrainConfig
    ) -> Validator | None:
        if validation is None:
            return None
        # Greedy whatever the method: quick, and nothing in it is drawn.
        greedy = SearchConfig(beam=1, **{n: getattr(self.config.search, n) for n in BOUNDS})
        return task.validator(
            validation.store,
            self.config.data,
            task.metric(settings.metric),
            settings.evaluate_sample,
            greedy,
        )

    def _planned(
        self,
        settings: TrainConfig,
        n_examples: int,
        stream: BatchStream,
        job: Callable[[TrainConfig], Job],
    ) -> TrainConfig:
        """The number of updates and what follows from it, decided once and written down."""
        if self.group.is_first and not (self.run.path / PLAN).exists():
            if settings.minutes:
                self.display.note(f"measuring what {settings.minutes:g} minutes allow")
            trial = replace(settings, steps=1, warmup=1)
            measure = Trial(lambda: job(trial), self.group.world)
            is_begun = self.config.init is not None
            planned = fill_length(settings, n_examples, stream.n_batches, measure, is_begun)
            chosen = {name: getattr(planned, name) for name in PLANNED}
            self.run.write_text(PLAN, json.dumps(chosen, indent=2) + "\n")
        self.group.wait()
        return replace(settings, **json.loads(self.run.read_text(PLAN)))

    def _job(
        self, config: RunConfig, task: Task, stream: BatchStream, validator: Validator | None
    ) -> Job:
        settings = config.train
        seed_start(config.seed)
        model = self._model(config, task).to(self.device)
        objective = task.objective(model, settings.label_smoothing or 0.0).train()
        optimizer = make_optimizer(model, settings, settings.lr or 1e-3)
        is_compiled = compile_model(model, settings.compile, self.device, self.display.note)
        # Side by side is for the cores of a CPU, and the compiler is not made for threads.
        is_plain = self.device.type == "cpu" and not is_compiled
        workers = min(settings.accumulate or 1, torch.get_num_threads()) if is_plain else 1
        return Job(
            run=self.run,
            config=settings,
            batches=stream,
            model=model,
            updater=Updater(
                objective,
                optimizer,
                config.seed,
                settings.clip,
                self.group,
                autocast(self.device, settings.precision, self.display.note),
                workers,
            ),
            average=MovingAverage(model, settings.ema) if settings.ema else None,
            validator=validator,
            processes=self.group,
            display=self.display,
            progress=Progress(),
        )

    def _model(self, config: RunConfig, task: Task) -> Any:
        """With the weights it starts from, and what is not trained of them held fixed."""
        model = build(config, task)
        tensors = self.run.load_init()
        if tensors is None:
            return model
        whole = with_new_parts(model, tensors, pooler=self._has_pooler)
        try:
            set_weights(model, whole, f"init = {config.init!r}")
            tune(model, FAMILIES[config.model.family], config.tune)
        except (RunError, ValueError) as error:
            raise ConfigError(str(error)) from None
        return model

    def _announce(
        self, config: RunConfig, n_examples: int, n_parameters: int, n_trained: int, task: Task
    ) -> None:
        """Says what was chosen."""
        t = config.train
        self._note("Settings", self._model_line(config, n_examples, n_parameters, task))
        if n_trained < n_parameters:
            share = 100 * n_trained / n_parameters
            how = f'tune.mode = "{config.tune.mode}"'
            self._note("Settings", f"{how}: {n_trained:,} of these ({share:.2f}%) are trained")
        self._note(
            "Settings",
            f"{t.steps} updates of {t.batch_tokens} tokens in {t.accumulate} parts, {t.optimizer} "
            f"with lr {t.lr:g}, {t.schedule} after {t.warmup} updates of warm-up, validation every "
            f"{t.evaluate_every}, on {self.device}",
        )

    @staticmethod
    def _model_line(config: RunConfig, n_examples: int, n_parameters: int, task: Task) -> str:
        vocabularies = task.vocabularies
        size = str(vocabularies.source)
        if not vocabularies.shared:
            size += f" and {vocabularies.target}"
        sizes = f"{n_parameters:,} parameters, vocabulary {size}, {n_examples:,} examples"
        return f"{config.model_name}, {sizes}"
