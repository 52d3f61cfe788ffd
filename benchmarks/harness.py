"""What every benchmark shares: timing peers side by side, and writing down what came out.

A machine's speed changes from minute to minute, so times are only compared within one run, and rounds go
through all contenders in turn before the next begins. Processor time, of all threads, says what the work
costs; it changes less where others use the machine too.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.texts import of_file

OURS = "polars-evals"
SLOW_ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """One contender's best time for one case, and its best processor time where that was measured."""

    part: str
    case: str
    contender: str
    rows: int
    seconds: float
    processor: float | None = None
    run: str = "an earlier run"

    @property
    def per_row(self) -> str:
        """The time for a row, in a unit that suits it."""
        nanoseconds = self.seconds / self.rows * 1e9
        for unit, size in (("ms", 1e6), ("µs", 1e3)):
            if nanoseconds >= size:
                return f"{nanoseconds / size:,.3g} {unit}"
        return f"{nanoseconds:,.3g} ns"


def processor_time() -> float:
    """Return the processor time of this process and of those that it ran."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def race(
    part: str,
    case: str,
    rows: int,
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 9,
    slow_share: Mapping[str, int] | None = None,
) -> list[Row]:
    """Time the contenders in turn and keep the best round of each.

    A contender named in `slow_share` does only that many rows, where all would take minutes, in fewer rounds.
    """
    slow = slow_share or {}
    best = dict.fromkeys(contenders, (float("inf"), float("inf")))
    for number in range(rounds):
        for name, run in contenders.items():
            if name in slow and number >= SLOW_ROUNDS:
                continue
            start = time.perf_counter(), processor_time()
            run()
            took = time.perf_counter() - start[0], processor_time() - start[1]
            best[name] = min(best[name][0], took[0]), min(best[name][1], took[1])
    found = [Row(part, case, name, slow.get(name, rows), *times) for name, times in best.items()]
    for row in found:
        print(f"{part:12} {case:44} {row.contender:34} {row.per_row:>12}", file=sys.stderr, flush=True)
    return found


def run_part(name: str, file: str | None) -> list[Row]:
    """Run one part on made text, or what it has for the texts of a file."""
    module = import_module(f"benchmarks.{name}")
    if file is None:
        return list(module.rows())
    return list(module.scored(of_file(file), Path(file).name)) if hasattr(module, "scored") else []


def in_process(module: str, threads: int) -> list[Row]:
    """Run `module` in a process with so many threads; it prints its rows as JSON."""
    environment = os.environ | {"POLARS_MAX_THREADS": str(threads)}
    done = subprocess.run([sys.executable, "-m", module], env=environment, stdout=subprocess.PIPE, check=True)
    return [Row(**row) for row in json.loads(done.stdout)]


def print_rows(rows: list[Row]) -> None:
    """Print rows for `in_process`."""
    print(json.dumps([asdict(row) for row in rows]))
