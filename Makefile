# Everything runs in .venv, which `setup` makes from pyproject.toml. PYTHON picks the interpreter.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := CMakeLists.txt $(shell find src/native -name '*.[ch]pp')

.PHONY: setup demo test lint browser notebooks docs faults simulate bench sanitize clean

setup: .venv/developed

# What the demo runs with, and what the tests need on top of that.
.venv/installed: EXTRAS := jobs,report
.venv/developed: EXTRAS := dev
.venv/installed .venv/developed: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch .venv/installed $@

# The main job on the data in data/: score, compare two model versions, write the report.
demo: .venv/installed
	$(BIN)/polars-evals demo --output build/demo

test: lint
	$(MAKE) -C tests/native test
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A browser for the tests of the report page, where there is none: Debian's, which takes root to install.
browser:
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)

# Runs every notebook and stores what it shows.
notebooks: setup
	$(BIN)/python notebooks/run.py

# The site, in site/. Building it needs no network.
docs: setup
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The job under kill -9, at many more points than `test` has time for.
faults: setup
	EVALS_KILLS=200 $(BIN)/python -m pytest tests/jobs/test_faults.py

# False alarms, coverage and power of the statistics, over thousands of simulated comparisons.
simulate: setup
	$(BIN)/python -m pytest tests/drift/simulations.py

# Peers side by side; writes benchmarks/results.md and benchmarks/chart.svg.
bench: setup
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

# The native core under the address, undefined-behaviour and thread sanitizers, on random input.
sanitize:
	$(MAKE) -C tests/native sanitize ROWS=50000

clean:
	rm -rf .venv build site
