"""The wheel in a new environment that has the core dependencies and no extra.

The environment is made of links to the packages of this one: those that the wheel's metadata asks
for, and what they ask for. Nothing is downloaded.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from headway.errors import DISTRIBUTION, install_hint

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"]) - {"test", "docs", "dev"}
WORDS = ("one", "two", "three", "red", "green", "blue")
# Commands one after the other in one process, since torch takes seconds to import.
SEVERAL = """
import json, sys
from headway.cli import main
for arguments in json.loads(sys.argv[1]):
    print(end=f"\\x1e{main(arguments)}\\n", file=sys.stderr, flush=True)
"""
TINY = ["model.d_model=16", "model.d_ff=16", "model.n_heads=2", "train.steps=2"]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The wheel and the sdist, built as `make wheel` does."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel], [sdist] = out.glob("*.whl"), out.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def required(requirements: list[str], extras: set[str]) -> Iterator[Requirement]:
    """Those that hold on this machine, for the extras."""
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield requirement


def link_packages(target: Path, requirements: list[Requirement]) -> None:
    """Links the packages, and all that they need, into a folder of packages."""
    waiting, seen = list(requirements), set()
    while waiting:
        requirement = waiting.pop()
        if (key := (requirement.name.lower(), frozenset(requirement.extras))) in seen:
            continue
        seen.add(key)
        found = metadata.distribution(requirement.name)
        home = Path(str(found.locate_file("")))
        for name in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            if not (target / name).exists():
                (target / name).symlink_to(home / name)
        waiting += required(found.requires or [], set(requirement.extras))


class Installed:
    """An environment with the wheel, and a folder to work in."""

    def __init__(self, folder: Path, wheel: Path, extras: set[str]) -> None:
        venv.create(folder / "venv")
        self.bin = folder / "venv" / "bin"
        self.place = folder / "place"
        self.place.mkdir()
        [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
        with zipfile.ZipFile(wheel) as archive:
            [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            fields = archive.read(name).decode()
        needed = re.findall(r"^Requires-Dist: (.+)$", fields, re.MULTILINE)
        link_packages(packages, list(required(needed, extras)))
        command = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install"]
        options = ["-q", "--no-deps", "--no-index", "--disable-pip-version-check"]
        subprocess.run([*command, *options, str(wheel)], check=True)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment, which sees nothing of the checkout."""
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        return subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=self.place,
            env={**kept, "HEADWAY_CACHE": str(self.place / "cache")},
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    def headway(self, *arguments: str) -> str:
        """What the command prints; it must succeed."""
        done = self.run("headway", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def several(self, *commands: Sequence[str]) -> list[tuple[int, str]]:
        """Exit code and standard error of each command."""
        done = self.run("python", "-c", SEVERAL, json.dumps(commands))
        assert done.returncode == 0, done.stderr
        *said, end = re.split(r"\x1e(\d+)\n", done.stderr)
        assert end == ""
        return [(int(code), text) for text, code in zip(said[::2], said[1::2], strict=True)]


@pytest.fixture(scope="module")
def core(built, tmp_path_factory) -> Installed:
    """No extras; a run of a few updates in `run`."""
    made = Installed(tmp_path_factory.mktemp("core"), built["wheel"], set())
    pairs = [(f"{a} {b}", f"{b} {a}") for a in WORDS for b in WORDS]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (made.place / "pairs.tsv").write_text(text, encoding="utf-8")
    (made.place / "run.toml").write_text('[data]\ntrain = "pairs.tsv"\nvalid = "pairs.tsv"\n')
    labels = "".join(f"{source}\t{'red' in source}\n" for source, _ in pairs)
    (made.place / "labels.tsv").write_text(f"text\tlabel\n{labels}", encoding="utf-8")
    (made.place / "bag.toml").write_text(
        'task = "classify"\n[model]\nfamily = "bag"\n'
        '[data]\ntrain = { file = "labels.tsv", text = "text", label = "label" }\n'
    )
    (made.place / "sales.parquet").write_bytes(b"PAR1")
    (made.place / "sales.toml").write_text('task = "forecast"\n[data]\ntrain = "sales.parquet"\n')
    made.headway("train", "run.toml", "--out", "run", *TINY)
    return made


def test_the_wheel_holds_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {
        "headway",
        f"{DISTRIBUTION.replace('-', '_')}-{PROJECT['version']}.dist-info",
    }
    for path in (ROOT / "src" / "headway").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT / "src").as_posix() in names


def test_the_sdist_can_be_worked_with(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for file in ("pyproject.toml", "Makefile", "constraints.txt", "Dockerfile", "LICENSE"):
        assert file in names
    assert {"docs/make_site.py", "tests/conftest.py", "recipes/dates.toml"} <= names
    assert not {name for name in names if name.startswith((".venv", "runs/", "site/", "build/"))}


def test_first_steps_without_extras(core):
    lines = core.headway("--version").splitlines()
    assert lines[0] == f"headway {PROJECT['version']}"
    assert re.match(r"torch \d.+ build$", lines[2])
    shown = [line.split()[0] for line in lines[lines.index("extras:") + 1 :]]
    assert set(shown) == EXTRAS
    assert all("(not installed)" in line for line in lines[lines.index("extras:") + 1 :])
    assert "headway demo" in core.headway("--help")
    (core.place / "news.txt").write_text("one red\ntwo blue\n", encoding="utf-8")
    assert len(core.headway("translate", "run", "news.txt").splitlines()) == 2
    view = ["view", "run", "one red", "--out", "page.html"]
    assert [code for code, _ in core.several(view)] == [0]
    assert (core.place / "page.html").stat().st_size > 10_000


MISSING = {
    "demo": ("demo",),
    "demo, pronounce": ("demo", "pronounce"),
    "serve": ("serve", "run", "--port", "0"),
    "ctranslate2": ("export", "run", "--to", "ctranslate2", "--out", "exported"),
    "ctranslate2, engine": ("translate", "run", "pairs.tsv", "--engine", "ctranslate2"),
    "tensorboard": ("train", "run.toml", "--out", "logged", "train.tensorboard=true"),
    "plot": ("view", "run", "one red", "--png", "picture.png"),
    "sklearn": ("train", "bag.toml", "--out", "bag"),
    "series": ("train", "sales.toml", "--out", "sales"),
}


def test_each_missing_extra_is_named(core):
    for case, (code, said) in zip(MISSING, core.several(*MISSING.values()), strict=True):
        assert code == 1, said
        last = said.splitlines()[-1]
        assert last.startswith("headway: error: ")
        assert last.endswith(install_hint(case.partition(",")[0]))
        assert "Traceback" not in said


def test_an_unchecked_export_names_the_extra(core):
    [(code, said)] = core.several(["export", "run", "--to", "hf", "--out", "exported-hf"])
    assert code == 0, said
    assert install_hint("hf") in said


def test_every_extra_is_missed_by_somebody():
    assert {case.partition(",")[0] for case in MISSING} | {"hf"} == EXTRAS


def test_the_demo_with_its_extra(built, tmp_path):
    """The demo from its first line to its last, with one update."""
    made = Installed(tmp_path, built["wheel"], {"demo"})
    lines = made.headway("demo", "--steps", "1", "--out", "runs/demo").splitlines()
    assert (made.place / "runs" / "demo" / "report.html").is_file()
    assert lines[-2].lstrip().startswith("headway serve runs/demo  #")
    assert re.match(r" *headway view runs/demo '.+' --out page\.html  #", lines[-1])
