"""Makes the runs of `tests/compatibility/format-N` with the headway that is installed.

    OMP_NUM_THREADS=1 python tests/compatibility/make_runs.py --work /compat

They are for later releases: whatever this one writes, those must read, use, resume and export. Only
public interfaces are used, so that a release with a new format makes its folder with the same
program. A folder that a release came with is never made anew; runs that it lacks are added.

Of each run `expected.json` keeps what it was asked and what it answered. Outputs of a search, and
whatever else is a choice, are kept only where the choice is clear, so that no other machine has
another.
"""

import argparse
import json
import math
import os
import shutil
import signal
import tempfile
import threading
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
from compatibility_asking import EXPECTED, WRITTEN, ask, command, figures
from compatibility_data import write_data
from compatibility_imports import make_foreign
from compatibility_runs import (
    AVERAGED,
    COMMANDS,
    EMBED,
    EVALUATED,
    FILL,
    IMPORTED,
    OF_PAIRS,
    QUESTIONS,
    TEXTS,
    TRAINED,
)

import headway
from headway.errors import HeadwayError

HERE = Path(__file__).parent
SURE = 0.55
"""A choice is clear if it is at least so likely: no other is as likely then, by far."""
DIGITS = 7
READERS = ("encoder", "recurrent_encoder", "unilm")
LOSSES = ("loss", "perplexity", "bits", "mse", "pearson")
"""Metrics, or parts of their names, that no choice is behind."""
USELESS = ("report.html", "lock", "tensorboard")
NOT_FOR_USE = ("checkpoints", "init.safetensors")


def main() -> None:
    options = argparse.ArgumentParser(description="Makes the runs that later releases must read.")
    options.add_argument("names", nargs="*", help="only these runs; else all")
    options.add_argument("--out", type=Path, help="by default format-N beside this file")
    options.add_argument(
        "--work",
        type=Path,
        help="where the runs are made; some files keep its name, so take one that tells nothing",
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = (given.work or Path(scratch)).resolve()
        os.environ["HEADWAY_CACHE"] = str(work / "cache")
        Maker(work, given.out).make(given.names)


class Maker:
    """Makes runs in one folder and puts what is to be kept of them into another."""

    def __init__(self, work: Path, out: Path | None) -> None:
        self.work, self.out = work, out
        self.data, self.runs = work / "data", work / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)
        write_data(self.data)

    def make(self, names: list[str]) -> None:
        for name in names or [*TRAINED, *AVERAGED, *IMPORTED]:
            started = time.perf_counter()
            shutil.rmtree(self.runs / name, ignore_errors=True)
            record = self._made(name)
            kept = self._keep(name, is_interrupted=record.pop("is_interrupted"))
            expected = {**record, **self._expected(kept, record)}
            (kept / EXPECTED).write_text(_json(expected), "utf-8")
            size = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
            print(f"{name}: {size:,} bytes, {time.perf_counter() - started:.1f} s", flush=True)
        assert self.out is not None
        shutil.copytree(self.data, self.out / "data", dirs_exist_ok=True)

    def _made(self, name: str) -> dict[str, Any]:
        """Makes a run, and tells what it is."""
        run = self.runs / name
        if name in AVERAGED:
            command("average", self._origin(AVERAGED[name]), "--last", "3", "--out", run)
            return {"data": TRAINED[AVERAGED[name]]["data"], "is_interrupted": False}
        if name in IMPORTED:
            kind, data = IMPORTED[name]
            with tempfile.TemporaryDirectory(dir=self.work) as folder:
                make_foreign(kind, Path(folder), (self.data / "pairs.tsv").read_text().split("\n"))
                command("import", folder, "--out", run)
            return {"data": data, "is_interrupted": False}
        spec = TRAINED[name]
        is_interrupted = spec.get("is_interrupted", False)
        config = headway.read_config(self._run_file(name, spec["file"]))
        if not is_interrupted:
            headway.train(config, run)
        else:
            _train_until_interrupted(config, run)
        return {"data": spec["data"], "is_interrupted": is_interrupted}

    def _run_file(self, name: str, tables: Mapping[str, Any]) -> Path:
        tables = dict(tables)
        tables["data"] = {"root": str(self.data), **tables["data"]}
        if "init" in tables:
            tables["init"] = str(self._origin(tables["init"]))
        path = self.work / f"{name}.toml"
        path.write_text(tomli_w.dumps({"device": "cpu", "seed": 7, **tables}), "utf-8")
        return path

    def _origin(self, name: str) -> Path:
        """A run that another one begins with, whole."""
        if not (self.runs / name).exists():
            self._made(name)
        return self.runs / name

    def _keep(self, name: str, is_interrupted: bool) -> Path:
        """A copy without what nobody needs and without the names of folders of this machine."""
        run = self.runs / name
        if self.out is None:
            number = json.loads((run / "headway.json").read_text("utf-8"))["format"]
            self.out = HERE / f"format-{number}"
        kept = self.out / name
        shutil.rmtree(kept, ignore_errors=True)
        useless = USELESS + (() if is_interrupted else NOT_FOR_USE)
        shutil.copytree(run, kept, ignore=shutil.ignore_patterns(*useless))
        for file in ("run.toml", "headway.json", "log.jsonl"):
            if (kept / file).exists():
                text = (kept / file).read_text("utf-8")
                for folder in (f"{self.runs}/", f"{self.work}/"):
                    text = text.replace(folder, "")
                (kept / file).write_text(text, "utf-8")
        return kept

    def _expected(self, run: Path, record: Mapping[str, Any]) -> dict[str, Any]:
        """What the run is, what it is asked and what it answers."""
        given = tomllib.loads((run / "run.toml").read_text("utf-8"))
        task, family, data = given["task"], given["model"]["family"], record["data"]
        objective = given.get("pretrain", {}).get("objective")
        model = headway.load(run)
        is_pairs = data in ("couples", "alike")
        commands = OF_PAIRS if is_pairs else COMMANDS[task]
        questions = dict(QUESTIONS["pretrain" if task == "pretrain" else data or "labels"])
        if objective not in (None, "masked", "masked_next", "unilm"):
            questions.pop("fill")
        elif objective is not None:
            commands = [*commands, FILL]
        if family in READERS:
            questions["embed"] = {"texts": _texts(questions)}
            commands = [*commands, EMBED]
        if family == "recurrent" and given["model"]["attention"] == "none":
            questions.pop("attention", None)
        found = {
            "task": task,
            "family": family,
            "objective": objective,
            "commands": commands,
            "asked": [_asked(model, what, given) for what, given in questions.items()],
        }
        is_interrupted = (run / "checkpoints").exists()
        if data is not None:
            found["evaluated"] = self._evaluated(run, EVALUATED[data])
        if is_interrupted:
            found["resumed"] = self._resumed(run, questions)
        else:
            found["exported"] = self._exported(run)
        return found

    def _evaluated(self, run: Path, arguments: list[str]) -> dict[str, Any]:
        here = Path.cwd()
        os.chdir(self.data)
        try:
            found = figures(run.resolve(), arguments)
        finally:
            os.chdir(here)
        kept = {n: v for n, v in found.items() if any(loss in n for loss in LOSSES)}
        return {"arguments": arguments, "metrics": list(found), "figures": kept}

    def _resumed(self, run: Path, questions: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What it answers when it has gone on to its end."""
        copy = self.work / "resumed"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        model = headway.resume(copy, inexact=True, data_root=self.data)
        return [
            _asked(model, what, given)
            for what, given in questions.items()
            if what in ("score", "embed", "predict")
        ]

    def _exported(self, run: Path) -> list[str]:
        """The formats in which it can be expressed."""
        able = []
        for to in ("hf", "ctranslate2"):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    command("export", run, "--to", to, "--out", Path(folder) / "out")
                except AssertionError as error:
                    if "cannot be expressed" not in str(error):
                        raise
                else:
                    able.append(to)
        return able


def _train_until_interrupted(config: Any, run: Path) -> None:
    """Trains, and says stop as Ctrl-C does once there are checkpoints to go on from."""
    wanted = config.train.keep

    def watch() -> None:
        while len(list(run.glob("checkpoints/step-*"))) < wanted:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        headway.train(config, run)
    except HeadwayError as error:
        if "headway resume" not in str(error):
            raise
    else:
        raise AssertionError(f"{run} was finished before it was interrupted; ask for more steps")
    watcher.join()


def _asked(model: Any, what: str, given: dict[str, Any]) -> dict[str, Any]:
    """A question with its answer, without what is not clear."""
    given = dict(given)
    if what == "translate":
        sure = [_is_sure(found.outputs[0]) for found in model.translate(given["texts"], beam=1)]
        given["texts"] = _those(given["texts"], sure)
    if what == "generate":
        found = model.generate(given["prompts"], beam=1, max_length=WRITTEN)
        given["prompts"] = _those(given["prompts"], [_is_sure(one.outputs[0]) for one in found])
    if what == "predict" and not isinstance(model, headway.Regressor):
        sure = [_least(found) >= SURE for found in model.predict(_tuples(given["inputs"]))]
        given["inputs"] = _those(given["inputs"], sure)
    found = ask(model, what, given)
    if what == "fill":
        found = [dict(list(gap.items())[:3]) for gap in found]
    if not found:
        print(f"  nothing is clear of {what}")
    return {"what": what, "given": given, "found": found}


def _texts(questions: Mapping[str, Any]) -> list[str]:
    """Texts of words that the run knows."""
    inputs = questions.get("predict", {"inputs": TEXTS})["inputs"]
    return [one if isinstance(one, str) else one[1] for one in inputs[:2]]


def _tuples(inputs: list[Any]) -> list[Any]:
    return [tuple(one) if isinstance(one, list) else one for one in inputs]


def _those(items: list[Any], wanted: list[bool]) -> list[Any]:
    return [item for item, is_wanted in zip(items, wanted, strict=True) if is_wanted]


def _is_sure(output: Any) -> bool:
    return all(log_prob >= math.log(SURE) for log_prob in output.token_log_probs)


def _least(found: Any) -> float:
    """The probability of the least likely of its choices."""
    if isinstance(found, headway.Tagged):
        return min(found.probabilities)
    if isinstance(found, headway.Answered):
        return found.probability if found.text else found.none
    first, second, *_ = found.probabilities.values()
    return 1.0 if first - second > 0.02 else 0.0


def _json(record: Any) -> str:
    return json.dumps(_rounded(record), indent=1, ensure_ascii=False) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value


if __name__ == "__main__":
    main()
