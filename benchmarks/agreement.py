"""
Whether made text costs what real text costs: `python -m benchmarks.agreement texts.parquet`.

Runs the word benchmarks on made text and on the columns `output` and `expected` of a file, and prints how
many times our processor time each peer takes on either, and how far apart that is.
"""

import sys

import polars as pl

from benchmarks.harness import OURS, Row
from benchmarks.texts import language
from benchmarks.words import scored


def ratios(rows: list[Row]) -> dict[tuple[str, str], float]:
    """How many times our processor time each peer takes."""
    cost = {(row.part, row.contender): (row.processor or 0) / row.rows for row in rows}
    ours = {part: each for (part, peer), each in reversed(cost.items()) if peer.startswith(OURS)}
    return {(part, peer): each / ours[part] for (part, peer), each in cost.items()}


def main() -> None:
    """Print the table."""
    real = pl.read_parquet(sys.argv[1], columns=["output", "expected"])
    found = [ratios(list(scored(frame, "agreement"))) for frame in (language(len(real)), real)]
    print("| metric | peer | made text | real text | apart |")
    print("|---|---|--:|--:|--:|")
    for (part, peer), made in found[0].items():
        if not peer.startswith(OURS) or peer.endswith("one by one"):
            apart = made / found[1][part, peer] - 1
            print(f"| {part} | {peer} | {made:,.1f} | {found[1][part, peer]:,.1f} | {apart:+.0%} |")


if __name__ == "__main__":
    main()
