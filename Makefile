# `make demo` and `make test` work on a machine with Python (3.10 or newer) and make; everything else is installed here.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
export HF_HUB_OFFLINE := 1
export HF_DATASETS_OFFLINE := 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint unit browser bench test-slow site panel screenshots clean

help:
	@echo "make demo       run three reference policies on three languages and build the site"
	@echo "make test       everything that must be green: ruff, mypy, import rules, generated files, texts, pytest"
	@echo "make lint       the first half of it"
	@echo "make unit       the second half of it"
	@echo "make bench      ratios of speed"
	@echo "make screenshots  take the pictures of the README again (Chromium is needed)"
	@echo "make panel      at a release: add the present panel to those whose decisions the leaderboard takes"
	@echo "make site       build the site from leaderboard/submissions into build/site"

$(BIN)/refusalatlas: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.12 …")'
	@echo 'installing into $(VENV), some minutes'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt $(BIN)/refusalatlas
	$(BIN)/python -m pip install --quiet -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,hf]'
	@touch $@

demo: $(BIN)/refusalatlas
	$(BIN)/refusalatlas demo --output $(DEMO)

test: lint unit

# Types and import rules are checked on what users get: the installed wheel.
lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/wheel && $(BIN)/python -m pip install --quiet --no-deps --target build/wheel .
	cd build/wheel && $(abspath $(BIN))/mypy --config-file $(abspath pyproject.toml) -p refusalatlas
	cd build/wheel && PYTHONPATH=. $(abspath $(BIN))/lint-imports --config $(abspath pyproject.toml)
	$(BIN)/refusalatlas tasks generate --check
	$(BIN)/refusalatlas lint

unit: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m "not slow and not speed"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.dev
	$(BIN)/python -m pytest -m speed -s

# The pictures of the README, from the submissions that are there; look at them before committing them.
screenshots: $(VENV)/.dev site
	$(BIN)/python tests/browser/screenshots.py build/site docs/img

panel: $(BIN)/refusalatlas
	REFUSALATLAS_PLUGINS=0 $(BIN)/python -m refusalatlas.leaderboard.released

site: $(BIN)/refusalatlas
	$(BIN)/refusalatlas site --output build/site

clean:
	rm -rf $(VENV) build dist $(DEMO)
