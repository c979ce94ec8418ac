# demo: what Memoray is for. check: the fast half. test: everything. bench: the engine beside the bare floor, and many clients beside one.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
export RAY_USAGE_STATS_ENABLED := 0
# Otherwise pyright asks the network, at every run, whether there is a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo check test bench clean lint types

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Memoray needs Python 3.11 or newer: make PYTHON=... ") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/installed

demo: $(VENV)/installed
	$(BIN)/memoray demo

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/installed-dev
	$(BIN)/mypy -p memoray
	$(BIN)/mypy tests examples benchmarks
	$(BIN)/pyright --pythonpath $(BIN)/python

check: lint types
	$(BIN)/pytest -q tests/unit tests/contract

test: lint types
	$(BIN)/pytest

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.ray_clients

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
