"""Run all laws over many data sets, and write docs/simulated.md."""

from __future__ import annotations

import sys
import time
from itertools import groupby
from pathlib import Path

import numpy as np

from . import (
    agreeing,
    beyond_means,
    calibrating,
    comparing,
    deciding,
    gates,
    measuring,
    over_time,
    planning,
    ranking,
)

PAGE = Path(__file__).parents[3] / "docs" / "simulated.md"
LAWS = [
    *comparing.LAWS,
    *deciding.LAWS,
    *measuring.LAWS,
    *over_time.LAWS,
    *ranking.LAWS,
    *planning.LAWS,
    *calibrating.LAWS,
    *agreeing.LAWS,
    *beyond_means.LAWS,
    *gates.LAWS,
]
ABOUT = """# How often verdicts are wrong

Made by `make simulate`, which draws {sets:,} data sets for each line, with alpha = 0.05, and counts.
The limit is what [the verdicts](verdicts.md#the-rules) promise; a share may miss it by three standard errors
of the simulation. "Before" is what the rules before these gave, where an audit found them wrong.
"""


def main(sets: int) -> None:
    """Run all laws, say what holds, and write the page."""
    start, missed, lines = time.time(), 0, [ABOUT.format(sets=sets)]
    numbered = enumerate(LAWS)
    for group, laws in groupby(numbered, key=lambda pair: pair[1].group):
        lines += [f"## {group}\n", "| simulated | limit | before | share |", "|---|---|---|---|"]
        for number, law in laws:
            share = law.share(np.random.default_rng(number), sets)
            holds = law.holds(share, sets)
            missed += not holds
            now = f"{100 * share:.1f}%{'' if holds else ' (missed)'}"
            lines.append(f"| {law.name} | {law.limit} | {law.before} | {now} |")
            mark = "  " if holds else "!!"
            seconds = f"{time.time() - start:6.0f} s"
            print(f"{seconds} {mark} {100 * share:5.1f}%  {law.limit:14} {group}: {law.name}", flush=True)
        lines.append("")
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    print(f"{missed} of {len(LAWS)} missed; wrote {PAGE}")
    sys.exit(missed > 0)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
