"""Every public module has a test file of its name, in the folder that mirrors its own."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "headway", ROOT / "tests"


def missing(package: Path, tests: Path) -> set[str]:
    """Test files that should be there and are not.

    A command may instead be tested as a user runs it, in `tests/system/test_cli_<verb>.py`.
    """
    absent = set()
    for path in sorted(package.rglob("*.py")):
        if path.stem.startswith("_"):
            continue
        module, name = path.relative_to(package), path.stem.strip("_")
        expected = module.with_name(f"test_{name}.py")
        accepted = [tests / "unit" / expected]
        if module.parts[0] == "cli":
            verb = module.parts[1] if len(module.parts) > 2 else name
            accepted.append(tests / "system" / f"test_cli_{verb}.py")
        if not any(file.exists() for file in accepted):
            absent.add(expected.as_posix())
    return absent


def test_every_public_module_has_a_test_file():
    assert sorted(missing(PACKAGE, TESTS)) == []


def test_the_check_names_what_is_missing(tmp_path):
    for name in (
        "package/nn/masks.py",
        "package/nn/rng.py",
        "package/nn/_hidden.py",
        "package/api.py",
        "package/cli/import_.py",
        "package/cli/train.py",
        "tests/unit/nn/test_rng.py",
        "tests/system/test_cli_import.py",
        "tests/system/test_cli_rng.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = missing(tmp_path / "package", tmp_path / "tests")
    assert names == {
        "nn/test_masks.py",
        "test_api.py",
        "cli/test_train.py",
    }
