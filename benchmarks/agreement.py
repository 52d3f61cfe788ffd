"""
Whether made text costs what real text costs: `python -m benchmarks.agreement texts.parquet`.

Runs the benchmarks of words and of edits on made text and on the columns `output` and `expected` of a file.
Prints how many times our processor time each peer takes on either, how far apart that is, and how many times
as long it takes by the clock.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import polars as pl

from benchmarks import edit, words
from benchmarks.harness import OURS, Row
from benchmarks.texts import language


def ratios(rows: list[Row]) -> dict[tuple[str, str], tuple[float, float]]:
    """How many times our processor time, and our time by the clock, each peer takes."""
    cost = {
        (row.part, row.contender): ((row.processor or 0) / row.rows, row.seconds / row.rows) for row in rows
    }
    ours = {part: each for (part, peer), each in reversed(cost.items()) if peer.startswith(OURS)}
    return {
        (part, peer): (each[0] / ours[part][0], each[1] / ours[part][1])
        for (part, peer), each in cost.items()
    }


def race_all(kind: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Run everything on the texts of the file, or on as many that are made."""
    real = pl.read_parquet(sys.argv[1], columns=["output", "expected"])
    frame = language(len(real)) if kind == "made" else real
    return ratios([*words.scored(frame, "agreement"), *edit.scored(frame, "agreement")])


def main() -> None:
    """Print the table."""
    # Each in a process of its own: words that metrics remember of one text are of no use for the other.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        made, found = processes.map(race_all, ["made", "real"])
    print("| metric | peer | made text | real text | apart | made text, clock | real text, clock |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for (part, peer), (cost, time) in made.items():
        if not peer.startswith(OURS) or peer.endswith("one by one"):
            real_cost, real_time = found[part, peer]
            apart = cost / real_cost - 1
            print(
                f"| {part} | {peer} | {cost:,.1f} | {real_cost:,.1f} | {apart:+.0%} "
                f"| {time:,.1f} | {real_time:,.1f} |"
            )


if __name__ == "__main__":
    main()
