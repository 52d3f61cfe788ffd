"""Run all laws over many data sets, and write docs/simulated.md after each of them."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from .laws import LAWS, simulate

PAGE = Path(__file__).parents[3] / "docs" / "simulated.md"
ABOUT = """# How often verdicts are wrong

Made by `make simulate`. Each line draws data sets with a known truth, with alpha = 0.05, and counts how
often the result is as described. The limit is what [the verdicts](verdicts.md#the-rules) promise. A share
may miss it by three standard errors of the simulation. "Before" is the share under earlier rules that an
audit found wrong.
"""
# What each process may use: laws are independent, so each has one core.
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")


def page(shares: dict[int, float], sets: dict[int, int]) -> str:
    """Return the page: the laws that have a share, by group."""
    lines = [ABOUT]
    if len(shares) < len(LAWS):
        lines.append(f"This run ended after {len(shares)} of {len(LAWS)} lines.\n")
    for group, numbers in groupby(sorted(shares), key=lambda number: LAWS[number].group):
        lines += [
            f"## {group}\n",
            "| simulated | limit | before | now | data sets |",
            "|---|---|---|---|---|",
        ]
        for number in numbers:
            law, share = LAWS[number], shares[number]
            now = f"{100 * share:.1f}%{'' if law.holds(share, sets[number]) else ' (missed)'}"
            lines.append(f"| {law.name} | {law.limit} | {law.before} | {now} | {sets[number]:,} |")
        lines.append("")
    return "\n".join(lines)


def main(most: int) -> None:
    """Run all laws over at most so many data sets, say what holds, and write the page."""
    start, missed = time.time(), 0
    shares: dict[int, float] = {}
    sets = {number: min(law.sets, most) for number, law in enumerate(LAWS)}
    os.environ.update(ONE_CORE)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        running = {pool.submit(simulate, number, sets[number]): number for number in sets}
        for done in as_completed(running):
            number = running[done]
            law = LAWS[number]
            shares[number], took = done.result()
            holds = law.holds(shares[number], sets[number])
            missed += not holds
            times = f"{time.time() - start:6.0f} s {took:6.1f} s"
            now = f"{'  ' if holds else '!!'} {100 * shares[number]:5.1f}%  {law.limit:14}"
            print(f"{times} {now} {law.group}: {law.name}", flush=True)
            PAGE.write_text(page(shares, sets), encoding="utf-8")
    print(f"{missed} of {len(LAWS)} missed; wrote {PAGE}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
