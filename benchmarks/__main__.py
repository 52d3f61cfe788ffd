"""Run the benchmarks and write results.md and chart.svg: `python -m benchmarks [part ...]`."""

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.harness import Row
from benchmarks.report import write

PARTS = ["edit", "words", "drift", "jobs", "traces"]


def main() -> None:
    """Run the parts named on the command line, or all of them."""
    names = sys.argv[1:] or PARTS
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    rows: list[Row] = [row for name in names for row in import_module(f"benchmarks.{name}").rows()]
    write(rows, Path(__file__).parent)


if __name__ == "__main__":
    main()
