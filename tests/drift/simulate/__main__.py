"""Run all laws over many data sets, and write docs/simulated.md after each of them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from .laws import LAWS, simulate

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "simulated.md"
# The shares of finished laws, and the seconds that they took, by the code that they are of.
FINISHED = ROOT / "build" / "simulated.json"
# The code that shares depend on; a change of it begins anew.
CODE = ("src/polars_evals/drift", "src/polars_evals/suite", "src/polars_evals/jobs", "tests/drift/simulate")
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


def code() -> str:
    """Return a digest of the code, and of the packages that draw and count."""
    digest = hashlib.sha256("".join(version(one) for one in ("numpy", "polars", "scipy")).encode())
    for file in sorted(file for folder in CODE for file in (ROOT / folder).rglob("*.py")):
        if file != Path(__file__):
            digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def main(most: int) -> None:
    """
    Run all laws over at most so many data sets, say what holds, and write the page.

    Laws that an earlier run of the same code finished are taken from it. Those that took longest begin
    first, so that no core waits at the end.
    """
    start, now = time.time(), code()
    known = json.loads(FINISHED.read_text(encoding="utf-8")) if FINISHED.exists() else {}
    took: dict[str, float] = known.get("seconds", {})
    done: dict[str, float] = known.get("shares", {}) if known.get("code") == now else {}
    sets = {number: min(law.sets, most) for number, law in enumerate(LAWS)}
    keys = {number: f"{number} {law.group}: {law.name} ({sets[number]})" for number, law in enumerate(LAWS)}
    shares = {number: done[key] for number, key in keys.items() if key in done}
    # Without times, the last are the expensive ones.
    order = sorted(set(keys) - set(shares), key=lambda number: (-took.get(LAWS[number].name, 1e9), -number))
    os.environ.update(ONE_CORE)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        running = {pool.submit(simulate, number, sets[number]): number for number in order}
        for finished in as_completed(running):
            number = running[finished]
            law = LAWS[number]
            shares[number], seconds = finished.result()
            took[law.name], done[keys[number]] = round(seconds, 1), shares[number]
            FINISHED.parent.mkdir(exist_ok=True)
            partial = FINISHED.with_suffix(".partial")
            partial.write_text(json.dumps({"code": now, "seconds": took, "shares": done}), encoding="utf-8")
            partial.replace(FINISHED)
            times = f"{time.time() - start:6.0f} s {seconds:6.1f} s"
            mark = "  " if law.holds(shares[number], sets[number]) else "!!"
            print(
                f"{times} {mark} {100 * shares[number]:5.1f}%  {law.limit:14} {law.group}: {law.name}",
                flush=True,
            )
            PAGE.write_text(page(shares, sets), encoding="utf-8")
    PAGE.write_text(page(shares, sets), encoding="utf-8")
    missed = sum(not LAWS[number].holds(share, sets[number]) for number, share in shares.items())
    print(f"{missed} of {len(LAWS)} missed; wrote {PAGE}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
