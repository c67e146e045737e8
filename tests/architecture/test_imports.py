"""Imports point one way: the table of `docs/house.md`, held against every file of the package.

Imports inside functions count as well, and so do those for type checkers: the table is about who
knows whom, not about when a module is loaded.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "headway"

# Everything below `api`.
PARTS = {"config", "text", "nn", "metrics", "view", "data", "models", "search", "runs", "tasks"}
PARTS |= {"training"}

# Who may import whom; `errors` and one's own room are free to everyone. A dotted name opens one
# file of a room only. The last four rooms stand on `api` and may look at every part below it.
MAY_IMPORT = {
    "errors": set(),
    "config": set(),
    "text": set(),
    "nn": set(),
    "metrics": set(),
    "view": set(),
    "data": {"text"},
    "models": {"nn", "config"},
    "search": {"nn.step"},
    "runs": {"config", "text", "models"},
    "tasks": {"data", "models", "search", "metrics"},
    "training": {"tasks", "runs"},
    "api": PARTS,
    "studies": PARTS | {"api"},
    "serve": (PARTS | {"api"}) - {"training"},
    "cli": PARTS | {"api", "studies", "serve"},
    "__init__": {"api"},
    "__main__": {"cli"},
}
FOREIGN = {"text": {"torch"}}


def violations(package: Path) -> list[str]:
    """Every import that the table does not allow, as `file:line: what`."""
    found = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).with_suffix("").parts
        room = inside[0]
        where = path.relative_to(package.parent)
        if room not in MAY_IMPORT:
            found.append(f"{where}:1: {room} is in no row of the table")
            continue
        for line, module in _imports(path, package):
            first, _, rest = module.partition(".")
            if first in FOREIGN.get(room, ()):
                found.append(f"{where}:{line}: {room} may not import {first}")
            elif first == package.name and not _allowed(room, rest):
                found.append(f"{where}:{line}: {room} may not import {rest or first}")
    return found


def _allowed(room: str, target: str) -> bool:
    # `import headway` gives what api composes.
    target = target or "api"
    free = {"errors", room, *MAY_IMPORT[room]}
    return any(target == name or target.startswith(f"{name}.") for name in free)


def _imports(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that a file imports, relative ones resolved."""
    home = (package.name, *path.relative_to(package).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = home[: len(home) - node.level + 1] if node.level else ()
            module = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, _target(module, alias.name, package)


def _target(module: str, name: str, package: Path) -> str:
    """What `from module import name` reaches: a submodule if there is one, else the module."""
    inside = package.joinpath(*module.split(".")[1:]) / name
    is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
    return f"{module}.{name}" if module.split(".")[0] == package.name and is_module else module


def test_the_package_keeps_to_the_table():
    found = violations(PACKAGE)
    assert not found, "\n" + "\n".join(found)


@pytest.fixture
def house(tmp_path):
    """A package named headway with the given files."""

    def build(**files: str) -> Path:
        package = tmp_path / "headway"
        rooms = ["nn__step", "nn__masks", "text__words", "training__fit", "cli__main", "errors"]
        for name, source in {**dict.fromkeys(rooms, ""), **files}.items():
            target = package / f"{name.replace('__', '/')}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source)
        return package

    return build


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("search__beam", "from headway.nn.masks import causal", "search may not import nn.masks"),
        ("search__beam", "from headway.nn import masks", "search may not import nn.masks"),
        ("search__beam", "from ..nn import step, masks", "search may not import nn.masks"),
        ("search__beam", "from ..nn import State", "search may not import nn"),
        ("text__words", "def f():\n    import torch.nn", "text may not import torch"),
        ("serve__engine", "from ..training import fit", "serve may not import training.fit"),
        ("studies__demo", "from headway import cli", "studies may not import cli"),
        ("studies__demo", "import headway.cli", "studies may not import cli"),
        ("config__files", "from .. import text", "config may not import text"),
        ("data__read", "import headway", "data may not import headway"),
        ("data__read", "import os\n\nfrom headway.nn import step", "data may not import nn.step"),
        ("helpers", "", "helpers is in no row of the table"),
    ],
)
def test_the_checker_sees(house, file, source, complaint):
    (found,) = violations(house(**{file: source}))
    line = source.count("\n") + 1
    assert found == f"headway/{file.replace('__', '/')}.py:{line}: {complaint}"


def test_the_checker_lets_pass(house):
    package = house(
        search__beam="import torch\nfrom headway import errors\nfrom ..nn.step import State",
        search__greedy="from . import beam\nfrom ..nn import step\nfrom .beam import x",
        models__gru="from ..nn import masks\nfrom ..config import Choice",
        serve__engine="import headway\nfrom headway import load\nfrom .. import errors",
    )
    assert violations(package) == []
