"""Every module imports with the core dependencies only: extras are imported where they are used."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

# The import names of the packages in the extras of pyproject.toml.
EXTRAS = {
    "astropy-iers-data": "astropy_iers_data",
    "babel": "babel",
    "build": "build",
    "ctranslate2": "ctranslate2",
    "fastapi": "fastapi",
    "hatchling": "hatchling",
    "httpx2": "httpx2",
    "hypothesis": "hypothesis",
    "jsonschema-rs": "jsonschema_rs",
    "matplotlib": "matplotlib",
    "mkdocstrings-python": "mkdocstrings_handlers",
    "mypy": "mypy",
    "narwhals": "narwhals",
    "playwright": "playwright",
    "prometheus-client": "prometheus_client",
    "pronouncing": "pronouncing",
    "pyarrow": "pyarrow",
    "pytest": "pytest",
    "pytest-timeout": "pytest_timeout",
    "pytest-xdist": "xdist",
    "ruff": "ruff",
    "schemathesis": "schemathesis",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "seqeval": "seqeval",
    "tensorboard": "tensorboard",
    "transformers": "transformers",
    "utilsforecast": "utilsforecast",
    "uvicorn": "uvicorn",
    "zensical": "zensical",
}

BLOCK = f"""
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS.values())}:
            raise ModuleNotFoundError(f"blocked: {{name}}", name=name)

sys.meta_path.insert(0, Blocked())
import headway
"""

IMPORT_ALL = """
failures = []
for module in pkgutil.walk_packages(headway.__path__, "headway.", onerror=failures.append):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            failures.append(f"{module.name}: {error}")
print(*failures, sep="\\n", end="")
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_imports_without_the_extras():
    assert run(BLOCK + IMPORT_ALL) == ""


def test_the_block_blocks():
    assert run(BLOCK + "try: import hypothesis\nexcept ImportError as e: print(e)").startswith(
        "blocked: hypothesis"
    )


def test_every_extra_is_blocked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = {
        re.split(r"[<>=!\[;~ ]", requirement)[0].lower()
        for extra in project["optional-dependencies"].values()
        for requirement in extra
    }
    assert packages == set(EXTRAS)


def test_text_and_config_leave_torch_alone():
    """The command line answers `--help` at once because torch is imported where it is needed."""
    code = "import sys, headway.text, headway.config; print('torch' in sys.modules)"
    assert run(code) == "False\n"
