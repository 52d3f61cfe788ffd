"""
Who spent the processor: the time that each process of a run took, as Linux counts it.

A machine that others use too cannot tell by the clock what a second worker is worth. Processor time can: what
one worker spends on all rows, against what the busier of two spends on its half.
"""

import os
from collections.abc import Callable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def processes() -> dict[int, tuple[int, float, str]]:
    """Return all processes: the parent's number, the seconds so far, and the command line."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:  # it has ended
            continue
        found[int(folder.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS, line)
    return found


def descendants(root: int, all_processes: dict[int, tuple[int, float, str]]) -> set[int]:
    """Return a process and all that it has started, directly or not."""
    family = {root}
    while True:
        more = {pid for pid, (parent, _, _) in all_processes.items() if parent in family} - family
        if not more:
            return family
        family |= more


def spent(
    run: Callable[[], object], worker_of: Callable[[int, dict[int, tuple[int, float, str]]], int | None]
) -> dict[str, float]:
    """
    Run something, and say what its processes spent.

    Parameters
    ----------
    run
        What to run; its workers must outlive it, or what they did is not seen.
    worker_of
        The worker that a process scores for, or None for the engine's own.

    Returns
    -------
    dict
        The processor seconds of all ``workers``, of the ``busiest`` one, and of the ``engine`` itself.
    """
    before = processes()
    run()
    after = processes()
    workers: dict[int, float] = {}
    engine = 0.0
    for pid in descendants(os.getpid(), after):
        seconds = after[pid][1] - (before[pid][1] if pid in before else 0.0)
        worker = worker_of(pid, after)
        if worker is None:
            engine += seconds
        else:
            workers[worker] = workers.get(worker, 0.0) + seconds
    return {"workers": sum(workers.values()), "busiest": max(workers.values(), default=0.0), "engine": engine}


def ray_worker(pid: int, all_processes: dict[int, tuple[int, float, str]]) -> int | None:
    """Tell Ray's workers, which are named after what they do."""
    line = all_processes[pid][2]
    return pid if line.startswith("ray::") and "Agent" not in line and "Actor" not in line else None


def spark_worker(pid: int, all_processes: dict[int, tuple[int, float, str]]) -> int | None:
    """Tell the Python workers of Spark, by the executor that has started them."""
    if "pyspark.daemon" not in all_processes[pid][2] and "pyspark/daemon" not in all_processes[pid][2]:
        return None
    while "Executor" not in all_processes[pid][2]:
        pid = all_processes[pid][0]
        if pid not in all_processes:
            return None
    return pid
