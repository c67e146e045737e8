"""Small models of transformers, imported once for the tests of what is checked after an export."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def imports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    """Folders of transformers by name, each with the model that headway imports from it."""
    import transformers
    from foreign_folders import make_folder

    import headway

    transformers.utils.logging.disable_progress_bar()
    path, made = tmp_path_factory.mktemp("imports"), {}
    for name in ("marian", "gpt2", "bert", "bert-labels", "bert-answer"):
        folder = make_folder(name, path / name)
        headway.import_run(folder, path / f"{name}-run")
        made[name] = folder, headway.load(path / f"{name}-run")
    return made


@pytest.fixture
def with_test_set(tmp_path: Path) -> Any:
    """A function that gives a copy of a model a test set of these lines."""

    def give(trained: Any, lines: list[str], **data: Any) -> Any:
        (tmp_path / "test.tsv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        other = type(trained).__new__(type(trained))
        other.__dict__.update(trained.__dict__)
        changed = replace(trained.config.data, test="test.tsv", root=str(tmp_path), **data)
        other.config = replace(trained.config, data=changed)
        other.max_length = changed.max_length
        return other

    return give
