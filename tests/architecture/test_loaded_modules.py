"""Whoever uses a trained model loads neither the trainer nor a converter.

Each room is imported in a fresh interpreter, so that what it loads through others counts too.
"""

import subprocess
import sys

import pytest

# The trainer's settings are part of the run file, which every run has. They import the table that
# names the schedules, and nothing else of the trainer.
SETTINGS = {"headway.training", "headway.training.config", "headway.training.schedule"}

CODE = """
import sys
{statement}
print(*sorted(name for name in sys.modules if name.startswith("headway")), sep="\\n")
"""


def loaded(statement: str) -> set[str]:
    """Modules of headway that a statement loads."""
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(statement=statement)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def in_rooms(modules: set[str], *rooms: str) -> set[str]:
    return {name for name in modules if name.split(".")[1:2] and name.split(".")[1] in rooms}


ALL_OF = (
    "import importlib, pkgutil, headway.{room} as room; "
    "[importlib.import_module(m.name) for m in pkgutil.walk_packages(room.__path__, "
    "room.__name__ + '.')]"
)


@pytest.mark.parametrize("room", ["inference", "serve", "inspection"])
def test_using_a_model_loads_no_trainer_and_no_converter(room):
    modules = loaded(ALL_OF.format(room=room))
    assert in_rooms(modules, room)
    assert in_rooms(modules, "training", "interop") <= SETTINGS


def test_loading_a_model_loads_no_trainer_and_no_converter():
    modules = loaded("import headway; headway.load")
    assert "headway.inference.load" in modules
    assert in_rooms(modules, "training", "interop", "serve", "cli") <= SETTINGS


def test_the_trainer_uses_no_trained_models():
    modules = loaded(ALL_OF.format(room="training"))
    assert not in_rooms(modules, "inference", "interop", "serve", "view")


def test_the_check_sees_what_is_loaded():
    assert "headway.training.trainer" in loaded("import headway.training.trainer")
