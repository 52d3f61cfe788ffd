# Everything runs in .venv, which `setup` makes from pyproject.toml. PYTHON picks the interpreter.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := CMakeLists.txt $(shell find src/native -name '*.[ch]pp')

.PHONY: setup demo test lint faults bench sanitize clean

setup: .venv/installed

.venv/installed: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# The main job on the data in data/: score, compare two model versions, write the report.
demo: setup
	$(BIN)/polars-evals demo --output build/demo

test: lint
	$(MAKE) -C tests/native test
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The job under kill -9, at many more points than `test` has time for.
faults: setup
	EVALS_KILLS=200 $(BIN)/python -m pytest tests/jobs/test_faults.py

# Peers side by side; writes benchmarks/results.md and benchmarks/chart.svg.
bench: setup
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

# The native core under the address, undefined-behaviour and thread sanitizers, on random input.
sanitize:
	$(MAKE) -C tests/native sanitize ROWS=50000

clean:
	rm -rf .venv build
