"""`RunDir`: the interface of a run directory.

It creates, opens and locks the directory and names its files; the other modules of this package
read and write each of them. A directory is a run once it has a `run.toml`. Before that, the next
start reuses the files of a killed one.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from ..errors import RunError, own_version
from ..file_limits import parse_json
from . import checkpoint, weights
from .atomic import NEW, make_directory, replacing_directory, sweep, write_bytes
from .checkpoint import Checkpoint
from .disk_errors import explained
from .lock import locked
from .log import RunLog
from .manifest import FILES, MANIFEST, Manifest, version_of
from .older_formats import METRICS
from .reading import read_regular, unreadable
from .tensors import n_bytes

FORMAT = 2
HEADER, RUN_FILE, LOCK, LOG, WEIGHTS, INIT, CALIBRATION = (
    "headway.json",
    "run.toml",
    "lock",
    "log.jsonl",
    "model.safetensors",
    "init.safetensors",
    "calibration.safetensors",
)
# Facts in the header about the origin of a run that was not trained from a run file.
IMPORTED_FROM = "imported_from"
"""The folder of another library's model; such a run cannot be resumed."""
AVERAGED_FROM = "averaged_from"
"""The run whose checkpoints were averaged; it cannot be resumed either."""
NORMALISED = "normalised"
"""Whether a sentence encoder scales its vectors to length 1."""

BEFORE_RUN_FILE = {LOCK} | {
    prefix + name for name in (HEADER, MANIFEST, RUN_FILE) for prefix in ("", NEW)
} - {RUN_FILE}


class RunDir:
    """A run directory. Made by `create` or `open`; a writer holds `lock()`.

    Attributes:
        version: the headway that wrote the header.
        facts: facts about the machine and the libraries that the run recorded.
        format: number of the file format; a run keeps the format it started with.
        renamed_metrics: current names of metrics that the format names otherwise.
    """

    def __init__(
        self, path: Path, version: str, facts: dict[str, Any], format: int = FORMAT
    ) -> None:
        self.path = path
        self.version = version
        self.facts = facts
        self.format = format
        self.renamed_metrics = METRICS.get(format, {})
        self.log = RunLog(path / LOG, self.renamed_metrics)
        self.manifest = Manifest(path)

    @classmethod
    def create(
        cls, path: str | Path, facts: Mapping[str, Any], run_file: str | None = None
    ) -> "RunDir":
        """Makes the directory and its header. The run exists once it has its run file.

        Args:
            run_file: the text of `run.toml`; without it, `write_text` writes it later.

        Raises:
            RunError: the directory is not empty, or cannot be written.
        """
        run = cls(Path(path), own_version(), dict(facts))
        _require_vacant(run.path)
        with explained(run.path, "", None):
            make_directory(run.path)
        with run.lock():
            _require_vacant(run.path)  # again: another process may have been faster
            run.manifest.path.unlink(missing_ok=True)  # of a killed start
            run.record_facts(facts)
            if run_file is not None:
                run.write_text(RUN_FILE, run_file)
        return run

    @classmethod
    def open(cls, path: str | Path) -> "RunDir":
        """An existing run, written by this or an older headway; its files are checked.

        Files that only resuming needs are checked when they are read, as are weights.

        Raises:
            RunError: there is no run, or one without run file, or one that is damaged.
        """
        path = Path(path)
        try:
            _require_started(path)
            content = read_regular(path / HEADER)
        except OSError as error:
            raise unreadable(Path(error.filename or path), error) from error
        run = cls(path, *_parse_header(path / HEADER, content))
        run.manifest.check(HEADER, RUN_FILE)
        return run

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Locks the directory for one writer, and cleans up after a killed one.

        Raises:
            RunError: another process holds the lock.
        """
        with ExitStack() as stack:
            with explained(self.path, LOCK, None):
                stack.enter_context(locked(self.path / LOCK))
                sweep(self.path)
                sweep(self.checkpoint_folder)
                self.manifest.settle()
            yield

    def record_facts(self, facts: Mapping[str, Any]) -> None:
        """Writes the header anew, with this headway's version and these facts."""
        self.version, self.facts = own_version(), dict(facts)
        header = {"format": self.format, "headway": self.version, "facts": self.facts}
        self.write_text(HEADER, json.dumps(header, indent=2) + "\n")

    def discard(self) -> None:
        """Removes the directory with its files."""
        shutil.rmtree(self.path)

    def write_text(self, name: str, text: str) -> None:
        content = text.encode("utf-8")
        with explained(self.path, name, len(content)):
            if name not in FILES:
                write_bytes(self.path / name, content)
                return
            with self.manifest.replacing({name: version_of(content)}):
                write_bytes(self.path / name, content)

    def read_text(self, name: str) -> str:
        """The text of a file.

        Raises:
            RunError: it is missing or damaged.
        """
        path = self.path / name
        try:
            content = self.manifest.read(name) if name in FILES else read_regular(path)
            return content.decode("utf-8")
        except FileNotFoundError as error:
            raise RunError(
                f"{self.path} has no {name}; "
                "restore it from a copy, or train again with another `out`"
            ) from error
        except OSError as error:
            raise unreadable(path, error) from error
        except UnicodeDecodeError as error:
            raise RunError(
                f"{path} is damaged (byte {error.start} is not UTF-8); restore it from a copy"
            ) from error

    def read_json(self, name: str) -> dict[str, Any]:
        """The JSON object in a file.

        Raises:
            RunError: it is missing or damaged.
        """
        text = self.read_text(name)
        try:
            value = parse_json(text)
        except ValueError as error:
            raise _damaged(self.path / name, str(error)) from None
        if not isinstance(value, dict):
            raise _damaged(self.path / name, f"a JSON {type(value).__name__}, not an object")
        return value

    def expects(self, name: str) -> bool:
        """Whether a file exists, or should exist: reading a missing one then is an error."""
        return (self.path / name).exists() or self.manifest.lists(name)

    @property
    def codecs(self) -> Path:
        """The folder with the saved codecs. It exists only when it is complete."""
        return self.path / "codecs"

    @contextmanager
    def writing_codecs(self) -> Iterator[Path]:
        """An empty folder to save codecs into, which becomes `codecs` on a clean exit."""
        with (
            explained(self.path, self.codecs.name, None),
            ExitStack() as after,
            replacing_directory(self.codecs) as path,
        ):
            yield path
            after.enter_context(self.manifest.replacing(self.manifest.replacing_folder(path)))

    @property
    def checkpoint_folder(self) -> Path:
        return self.path / "checkpoints"

    def checkpoints(self) -> list[int]:
        """The steps that have a checkpoint, ascending, damaged or not."""
        return checkpoint.steps_in(self.checkpoint_folder)

    def save_checkpoint(
        self,
        step: int,
        tensors: Mapping[str, torch.Tensor],
        state: Mapping[str, Any],
        keep: int,
        counts: Callable[[int], bool] = lambda step: True,
    ) -> None:
        """Adds the checkpoint of `step`, completely or not at all, and keeps the newest `keep`.

        Args:
            state: JSON data; numbers come back exactly, tuples as lists.
            counts: whether a step counts towards `keep`; the others are removed at the next save.
        """
        text = checkpoint.encode_state(state)
        self.log.seal()
        name = f"{self.checkpoint_folder.name}/step-{step}"
        with explained(self.path, name, n_bytes(tensors) + len(text)):
            checkpoint.save_checkpoint(self.checkpoint_folder, step, tensors, text, keep, counts)

    def latest_checkpoint(self, warn: Callable[[str], None]) -> Checkpoint | None:
        """The newest undamaged checkpoint, or None if there is none; `warn` reports damage.

        Raises:
            RunError: there are checkpoints and all are damaged.
        """
        return checkpoint.load_latest(self.checkpoint_folder, warn)

    def load_checkpoint(self, step: int) -> Checkpoint:
        """The checkpoint of one step.

        Raises:
            RunError: it is absent or damaged.
        """
        return checkpoint.load_step(self.checkpoint_folder, step)

    def save_weights(self, tensors: Mapping[str, torch.Tensor], rule: str, step: int) -> None:
        """Replaces the weights to use.

        Args:
            rule: the rule that chose them (best, averaged, moving average).
        """
        metadata = {"rule": rule, "step": str(step)}
        with explained(self.path, WEIGHTS, n_bytes(tensors)):
            weights.save_weights(self.path / WEIGHTS, tensors, metadata)

    def save_init(self, tensors: Mapping[str, torch.Tensor], origin: str) -> None:
        """Saves the initial weights, so that the run needs no other run afterwards."""
        with explained(self.path, INIT, n_bytes(tensors)):
            weights.save_weights(self.path / INIT, tensors, {"origin": origin})

    def save_calibration(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Saves what the task has computed from the weights to use."""
        with explained(self.path, CALIBRATION, n_bytes(tensors)):
            weights.save_weights(self.path / CALIBRATION, tensors, {})

    def load_calibration(self) -> dict[str, torch.Tensor]:
        """The tensors of `save_calibration`; none if the run has none."""
        if not (self.path / CALIBRATION).exists():
            return {}
        remedy = f"restore it from a copy, or write it with `headway resume {self.path}`"
        return weights.load_weights(self.path / CALIBRATION, remedy)[0]

    def load_init(self) -> dict[str, torch.Tensor] | None:
        """The initial weights, if they are those of another run."""
        if not (self.path / INIT).exists():
            return None
        remedy = "restore it from a copy, or train again with another `out`"
        return weights.load_weights(self.path / INIT, remedy)[0]

    def has_weights(self) -> bool:
        """Whether the weights to use exist and are undamaged."""
        try:
            self.load_weights()
        except RunError:
            return False
        return True

    def load_weights(self) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
        """The weights to use and their metadata: "rule" and "step".

        Raises:
            RunError: there are none, or they are damaged.
        """
        return weights.load_weights(self.path / WEIGHTS, self._weights_remedy())

    def _weights_remedy(self) -> str:
        """What to do without the weights to use; only trained runs can write them again."""
        if IMPORTED_FROM in self.facts:
            return f"restore it from a copy, or import {self.facts[IMPORTED_FROM]} again"
        if AVERAGED_FROM in self.facts:
            return f"restore it from a copy, or average {self.facts[AVERAGED_FROM]} again"
        return f"restore it from a copy, or write it with `headway resume {self.path}`"


def _damaged(path: Path, reason: str) -> RunError:
    return RunError(f"{path} is damaged ({reason}); restore it from a copy")


def _require_vacant(path: Path) -> None:
    """Refuses a directory with files other than the first ones of a killed start."""
    try:
        names = {entry.name for entry in path.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise RunError(f"{path} is not a directory; choose another `out`") from error
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror}); choose another `out`") from error
    if {HEADER, RUN_FILE} <= names:
        remedy = f"continue it with `headway resume {path}`, or " if _was_trained(path) else ""
        raise RunError(f"{path} already holds a run; {remedy}choose another `out`")
    foreign = sorted(names - BEFORE_RUN_FILE)
    if foreign:
        listed = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        raise RunError(f"{path} is not empty (it holds {listed}); choose another `out`")


def _was_trained(path: Path) -> bool:
    """Whether a run can be resumed: an imported or averaged one cannot."""
    try:
        facts = RunDir.open(path).facts
    except RunError:
        return True
    return IMPORTED_FROM not in facts and AVERAGED_FROM not in facts


def _require_started(path: Path) -> None:
    if not path.exists():
        raise RunError(f"{path} does not exist; give the directory that was `out` in training")
    if not path.is_dir():
        raise RunError(f"{path} is a file; give the directory that was `out` in training")
    names = {entry.name for entry in path.iterdir()}
    if names & BEFORE_RUN_FILE and names <= BEFORE_RUN_FILE:
        raise RunError(
            f"{path} holds a run that was stopped before it started; train into it again"
        )
    if HEADER not in names:
        remedy = "give the directory that was `out` in training"
        if "config.json" in names:
            remedy = "make a run of a Hugging Face model with `headway import`"
        raise RunError(f"{path} is not a run directory (it has no {HEADER}); {remedy}")


def _parse_header(path: Path, content: bytes) -> tuple[str, dict[str, Any], int]:
    """The version, facts and format of a header in a format that this headway reads."""
    try:
        header = parse_json(content)
        number, writer = header["format"], header["headway"]
        is_valid = isinstance(number, int) and number >= 1 and isinstance(writer, str)
    except (ValueError, KeyError, TypeError):
        is_valid = False
    if is_valid and number > FORMAT:
        raise RunError(
            f"{path.parent} has format {number}, written by headway {writer}; this headway "
            f"({own_version()}) reads formats up to {FORMAT}; install headway {writer} or newer"
        )
    if not is_valid or not isinstance(header.get("facts"), dict):
        raise RunError(
            f"{path} is damaged; restore it from a copy, or train again with another `out`"
        )
    return writer, header["facts"], number
