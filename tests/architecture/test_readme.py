"""The README's first screen, its commands, and the page that is generated."""

import importlib.util
import re
import tomllib

import pytest
from docs_pages import PAGES, ROOT, commands, links
from test_docs import text_of

from headway.cli.program import VERBS

README = ROOT / "README.md"
FIRST_SCREEN = 30  # lines
LARGEST_PICTURE = 2_000_000  # bytes


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {found[1] for c in commands(text_of(page)) if (found := re.match(r"make ([a-z]+)", c))}
    assert named <= targets
    assert page != README or {"demo", "test"} <= named


def test_the_first_screen_has_the_commands():
    screen = "\n".join(text_of(README).splitlines()[:FIRST_SCREEN])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for words in ("make demo", "make test", "pip install .", "![", "headway serve"):
        assert words in screen
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in screen


def test_extras_that_are_named_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for page in PAGES:
        for extras in re.findall(r"pip install '[^'\[]*\[([\w,]+)\]'", text_of(page)):
            assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_pictures_are_there_and_small():
    pictures = [link for link in links(text_of(README)) if link.endswith((".png", ".gif"))]
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < LARGEST_PICTURE


def test_every_verb_is_in_some_page():
    named = {
        c.split()[1] for page in PAGES for c in commands(text_of(page)) if c.startswith("headway ")
    }
    assert set(VERBS) <= named


def test_the_reference_of_the_run_file_is_up_to_date():
    path = ROOT / "docs" / "generate.py"
    specification = importlib.util.spec_from_file_location("generate", path)
    generate = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(generate)
    assert generate.PAGE.read_text(encoding="utf-8") == generate.page(), "run `make docs`"
