"""Damage of every file of a run and of the prepared data: no traceback, no hang, no silent change.

After each damage the run is used, described, evaluated and resumed, or trained again from the
damaged store. A command either does what it does with the whole files, or says what is wrong in one
line and fails, or notes what it did about it.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from five_kinds import EVALUATED, USES, write_kind
from warm_process import Result, WarmProcess, needs_fork

LIMIT, HANGS = 10.0, 120.0  # seconds of a command: of computing, and in all
STATES = [
    (kind, state) for kind in ("translate", "recurrent", "tag") for state in ("finished", "stopped")
]
JSON = ["{}", "[]", "3", "-1", "null", "true", '"x"', '{"a": []}', "[" * 100_000, '{"step": "x"}']
USELESS = {"report.html"}  # nothing reads it


def flip_bit(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(max(1, path.stat().st_size)))


def empty(path: Path, draw: random.Random) -> None:
    path.write_bytes(b"")


def delete(path: Path, draw: random.Random) -> None:
    path.unlink()


def randomise(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.randbytes(draw.choice([1, 100, path.stat().st_size])))


def zero_block(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = draw.randrange(max(1, len(content)))
    content[start : start + 512] = bytes(len(content[start : start + 512]))
    path.write_bytes(content)


def other_json(path: Path, draw: random.Random) -> None:
    path.write_text(draw.choice(JSON) + draw.choice(["", "\n"]))


def duplicate_line(path: Path, draw: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True) or [b"\n"]
    index = draw.randrange(len(lines))
    path.write_bytes(b"".join([*lines[: index + 1], *lines[index:]]))


def append(path: Path, draw: random.Random) -> None:
    with open(path, "ab") as file:
        file.write(draw.choice([b"\n", b"{", b"\x00", draw.randbytes(50)]))


def make_directory(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(path: Path, draw: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def make_loop(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


DAMAGES: list[Callable[[Path, random.Random], None]] = [
    *(flip_bit, truncate, empty, delete, randomise, zero_block, other_json, duplicate_line),
    *(append, make_directory, make_pipe, make_loop),
]


@dataclass(frozen=True)
class Outcome:
    """What a command did: its result, and the weights that were there afterwards."""

    result: Result
    weights: bytes | None


class Whole:
    """An undamaged run and what each command does with it."""

    def __init__(self, folder: Path, kind: str, state: str) -> None:
        self.folder, self.kind = folder, kind
        write_kind(kind, folder)
        trained = WarmProcess(["train", "run.toml", "--out", "run"], folder).result()
        assert trained.code == 0, trained.stderr
        if state == "stopped":
            shutil.rmtree(folder / "run" / "checkpoints" / "step-24")
        use, typed = USES[kind]
        self.commands = {"use": (use, typed), "info": (["info", "run", "--json"], "")}
        if kind in EVALUATED:
            self.commands["evaluate"] = (["evaluate", "run", "--json"], "")
        self.commands["resume"] = (["resume", "run"], "")  # last, because it writes
        self.outcomes = dict(self.run(self.commands))
        for outcome in self.outcomes.values():
            assert outcome.result.code == 0, outcome.result.stderr

    def run(self, names: Iterable[str]) -> Iterator[tuple[str, Outcome]]:
        """Commands on a copy of the run that is renewed before each call of `run`."""
        saved = self.folder / "saved"
        if not saved.exists():
            shutil.copytree(self.folder / "run", saved)
        for name in names:
            arguments, typed = self.commands[name]
            result = WarmProcess(arguments, self.folder, typed).result(HANGS)
            path = self.folder / "run" / "model.safetensors"
            yield name, Outcome(result, path.read_bytes() if path.is_file() else None)

    def renew(self) -> None:
        shutil.rmtree(self.folder / "run")
        shutil.copytree(self.folder / "saved", self.folder / "run")


def complaint(name: str, outcome: Outcome, whole: Outcome) -> str | None:
    """The rule that a command has broken, if any."""
    result = outcome.result
    if result.code < 0 or result.seconds > LIMIT:
        return f"no end within {LIMIT:g} s: code {result.code}, {result.seconds:.1f} s"
    if "Traceback" in result.stderr or "this is a bug" in result.stderr:
        return "a bug: " + result.stderr[-300:]
    errors = [line for line in result.stderr.splitlines() if line.startswith("headway: error: ")]
    if result.code:
        is_said = len(errors) == 1 and result.code in (1, 2)
        return None if is_said else f"code {result.code} with {len(errors)} messages"
    is_same = result.stdout == whole.result.stdout
    if name == "resume":  # its output has the time
        is_same = outcome.weights == whole.weights
    notes = set(result.stderr.splitlines()) - set(whole.result.stderr.splitlines())
    return None if is_same or notes else "a silent change"


def is_reported(name: str, path: str, outcome: Outcome) -> bool:
    """Whether `info` shows the change itself: it lists weights and checkpoints."""
    return name == "info" and path.startswith(("checkpoints", "model.safetensors"))


def damage_run(whole: Whole, case: int) -> list[str]:
    """Damages one file of a run and runs the commands; returns their failures."""
    draw = random.Random(case)
    paths = sorted(
        path
        for path in (whole.folder / "saved").rglob("*")
        if path.is_file() and path.name not in USELESS
    )
    path = paths[case % len(paths)].relative_to(whole.folder / "saved")
    damage = DAMAGES[case // len(paths) % len(DAMAGES)]
    whole.renew()
    damage(whole.folder / "run" / path, draw)
    failures = []
    # It loads a run as every use does, and takes longer.
    names = [name for name in whole.commands if name != "evaluate" or case % 5 == 0]
    for name, outcome in whole.run(names):
        problem = complaint(name, outcome, whole.outcomes[name])
        if problem and not (problem == "a silent change" and is_reported(name, str(path), outcome)):
            failures.append(f"{case}: {whole.kind} {damage.__name__} {path}: {name}: {problem}")
    return failures


def damage_store(folder: Path, weights: bytes, case: int) -> list[str]:
    """Damages one file of the prepared data and trains again; returns the failure."""
    draw = random.Random(case)
    cache, saved = folder / "cache", folder / "saved-cache"
    if not saved.exists():
        shutil.copytree(cache, saved)
    shutil.rmtree(cache)
    shutil.copytree(saved, cache)
    shutil.rmtree(folder / "again", ignore_errors=True)
    paths = sorted(path for path in cache.rglob("*") if path.is_file() or path.suffix == "")
    path = paths[case % len(paths)]
    damages = [d for d in DAMAGES if path.is_file() or d in (make_directory, make_pipe, make_loop)]
    damage = damages[case // len(paths) % len(damages)]
    if path.is_dir():
        shutil.rmtree(path)
        path.write_bytes(b"")
    damage(path, draw)
    result = WarmProcess(["train", "run.toml", "--out", "again"], folder).result(HANGS)
    model = folder / "again" / "model.safetensors"
    outcome = Outcome(result, model.read_bytes() if model.is_file() else None)
    problem = complaint("resume", outcome, Outcome(Result(0, "", "", 0.0), weights))
    if problem is None and result.code == 0 and outcome.weights != weights:
        problem = "other weights"
    what = f"{damage.__name__} {path.relative_to(folder)}"
    return [f"{case}: {what}: {problem}"] if problem else []


@needs_fork
@pytest.mark.parametrize(("kind", "state"), [("tag", "finished"), ("recurrent", "stopped")])
def test_a_sample_of_damages(tmp_path, kind, state):
    whole = Whole(tmp_path / kind, kind, state)
    failures = [line for case in range(0, 250, 25) for line in damage_run(whole, case)]
    weights = whole.outcomes["resume"].weights
    failures += [
        line for case in range(0, 50, 10) for line in damage_store(whole.folder, weights, case)
    ]
    assert not failures, "\n".join(failures)


@needs_fork
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("kind", "state"), STATES)
def test_damages_of_every_file_of_a_run(tmp_path, kind, state):
    """6 runs with 270 damages each."""
    whole = Whole(tmp_path / kind, kind, state)
    failures = [line for case in range(270) for line in damage_run(whole, case)]
    assert not failures, "\n".join(failures)


@needs_fork
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["translate", "tag"])
def test_damages_of_every_file_of_the_prepared_data(tmp_path, kind):
    """2 stores with 200 damages each."""
    whole = Whole(tmp_path / kind, kind, "finished")
    weights = whole.outcomes["resume"].weights
    failures = [line for case in range(200) for line in damage_store(whole.folder, weights, case)]
    assert not failures, "\n".join(failures)
