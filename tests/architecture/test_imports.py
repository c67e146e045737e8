"""Imports point one way: the table of `docs/house.md`, held against every file of the package.

Imports inside functions count as well, and so do those for type checkers: the table is about who
knows whom, not about when a module is loaded.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "headway"

# Who may import whom; `errors`, `arguments`, `file_limits`, `lazy_table` and one's own room are
# free to all. A dotted name opens one file of a room only.
GROUND = {"config", "text", "nn", "metrics", "view", "runs", "parallel", "device"}
PARTS = GROUND | {"data", "models", "search", "tasks"}
MAY_IMPORT = {
    "errors": set(),
    "arguments": set(),
    "file_limits": set(),
    "lazy_table": set(),
    "device": set(),
    "parallel": set(),
    "config": set(),
    "text": set(),
    "nn": set(),
    "metrics": set(),
    "view": set(),
    "runs": set(),
    "environment": {"device", "runs"},
    "data": {"text", "config"},
    "models": {"nn", "config"},
    "search": {"nn.decoding"},
    "tasks": {
        *("config", "data", "models", "search", "metrics", "parallel", "text"),
        *("nn.decoding", "nn.rng"),
    },
    "run_config": {"config", "data", "models", "search", "tasks", "runs", "training.config"},
    "training": (PARTS - {"view"}) | {"run_config", "environment"},
    "inspection": PARTS | {"run_config"},
    "inference": PARTS | {"run_config", "inspection"},
    "interop": (PARTS - {"view"}) | {"run_config", "environment", "inference"},
    "serve": PARTS | {"run_config", "inspection", "inference"},
    "teaching": PARTS - {"runs", "tasks"},
    "api": {"data", "run_config", "training", "inference", "inspection", "interop"},
    "compare": PARTS | {"run_config", "training", "inference", "inspection", "api"},
    "studies": PARTS | {"run_config", "training", "inference", "inspection", "api", "compare"},
    "demo": PARTS | {"run_config", "training", "inference", "inspection", "api"},
    "__init__": {"api"},
    "__main__": {"cli"},
}
MAY_IMPORT["cli"] = set(MAY_IMPORT) - {"__init__", "__main__"}
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
        for line, module, is_absolute in _imports(path, package):
            first, _, rest = module.partition(".")
            if first in FOREIGN.get(room, ()):
                found.append(f"{where}:{line}: {room} may not import {first}")
            elif first == package.name and not _allowed(room, rest):
                found.append(f"{where}:{line}: {room} may not import {rest or first}")
            elif first == package.name and is_absolute:
                found.append(f"{where}:{line}: {module} is imported by its full name")
    return found


def _allowed(room: str, target: str) -> bool:
    # `import headway` gives what api composes.
    target = target or "api"
    free = {"errors", "arguments", "file_limits", "lazy_table", room, *MAY_IMPORT[room]}
    return any(target == name or target.startswith(f"{name}.") for name in free)


def _imports(path: Path, package: Path) -> Iterator[tuple[int, str, bool]]:
    """Line and full name of each imported module, and whether the import is absolute."""
    home = (package.name, *path.relative_to(package).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, True) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = home[: len(home) - node.level + 1] if node.level else ()
            module = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, _target(module, alias.name, package), not node.level


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
        rooms = [
            "nn__decoding",
            "nn__masks",
            "text__words",
            "training__loop",
            "cli__main",
            "errors",
        ]
        for name, source in {**dict.fromkeys(rooms, ""), **files}.items():
            target = package / f"{name.replace('__', '/')}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source)
        return package

    return build


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("search__beam", "from ..nn.masks import causal", "search may not import nn.masks"),
        ("search__beam", "from ..nn import masks", "search may not import nn.masks"),
        ("search__beam", "from ..nn import decoding, masks", "search may not import nn.masks"),
        ("search__beam", "from ..nn import State", "search may not import nn"),
        ("search__beam", "from headway.nn import masks", "search may not import nn.masks"),
        ("text__words", "def f():\n    import torch.nn", "text may not import torch"),
        ("serve__engine", "from ..training import loop", "serve may not import training.loop"),
        ("run_config", "from .training import loop", "run_config may not import training.loop"),
        ("studies__demo", "from .. import cli", "studies may not import cli"),
        ("studies__demo", "import headway.cli", "studies may not import cli"),
        ("config__files", "from .. import text", "config may not import text"),
        ("data__read", "import headway", "data may not import headway"),
        ("data__read", "import os\n\nfrom ..nn import masks", "data may not import nn.masks"),
        (
            "data__read",
            "import headway.text.words",
            "headway.text.words is imported by its full name",
        ),
        ("data__read", "from headway import errors", "headway.errors is imported by its full name"),
        ("helpers", "", "helpers is in no row of the table"),
    ],
)
def test_the_checker_sees(house, file, source, complaint):
    (found,) = violations(house(**{file: source}))
    line = source.count("\n") + 1
    assert found == f"headway/{file.replace('__', '/')}.py:{line}: {complaint}"


def test_the_checker_lets_pass(house):
    package = house(
        search__beam="import torch\nfrom .. import errors\nfrom ..nn.decoding import State",
        search__greedy="from . import beam\nfrom ..nn import decoding\nfrom .beam import x",
        models__gru="from ..nn import masks\nfrom ..config import Choice",
        run_config="from .training.config import TrainConfig\nfrom . import errors",
    )
    assert violations(package) == []
