"""
Run the benchmarks and write results.md and chart.svg: `python -m benchmarks [part ...] [texts.parquet]`.

A file with the columns `model`, `input`, `output` and `expected` takes the place of made text in the parts
that can have it. EVALS_NOTE says something of this run in its tables, such as that the machine was shared.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.harness import run_part
from benchmarks.report import write

PARTS = ["edit", "words", "drift", "whole", "jobs", "traces"]


def main() -> None:
    """Run the parts named on the command line, or all of them, and write after each."""
    file = next((name for name in sys.argv[1:] if name.endswith(".parquet")), None)
    names = [name for name in sys.argv[1:] if name != file] or PARTS
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    # Each in a process of its own: words that metrics remember of one text are of no use for the other.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        for name in names:
            write(processes.submit(run_part, name, file).result(), Path(__file__).parent)


if __name__ == "__main__":
    main()
