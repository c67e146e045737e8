"""A class name means one thing in the whole package."""

import ast
from collections import defaultdict
from pathlib import Path

import headway

SOURCE = Path(headway.__file__).parent


def classes(source: Path):
    """Names and positions of all classes, private and nested ones included."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, f"{path.relative_to(source).as_posix()}:{node.lineno}"


def repeated(source: Path) -> list[str]:
    positions = defaultdict(list)
    for name, position in classes(source):
        positions[name].append(position)
    return [
        f"class {name}: {', '.join(found)}" for name, found in positions.items() if len(found) > 1
    ]


def test_no_class_name_is_used_twice():
    assert repeated(SOURCE) == []


def test_a_name_that_is_used_twice_is_reported_with_its_positions(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("class Same: ...\nclass Other: ...\n")
    (tmp_path / "two.py").write_text("def make():\n    class Same: ...\n")
    assert repeated(tmp_path) == ["class Same: a/one.py:1, two.py:2"]
