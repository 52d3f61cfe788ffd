"""Damage files at random, and run a job over them: `python -m tests.jobs.damage 2000 1`, a number and a seed.

Whatever a file has become, it costs at most itself: the run ends, the files that are whole are all taken, and
every damaged one is either taken or set aside by name.
"""

import gzip
import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import polars as pl

from polars_evals.jobs import scan_store
from tests.jobs.support import command, make_job, traces

REAL = Path(__file__).parents[1] / "traces/real"
ENDINGS = (".parquet", ".jsonl", ".json", ".csv", ".yaml", ".eval")
LARGEST = 200_000
WHOLE = 20


def originals(folder: Path) -> list[Path]:
    """Make tables in every encoding that is common, and add what tools exported."""
    frame = traces(range(40), tokens=list(range(40)), cost=[0.25] * 40).with_columns(
        tags=pl.Series([["a", "b"], []] * 20), usage=pl.struct(pl.col("tokens").alias("in"))
    )
    folder.mkdir(parents=True)
    for compression in ("uncompressed", "snappy", "zstd", "gzip", "lz4"):
        frame.write_parquet(folder / f"polars-{compression}.parquet", compression=compression)
        frame.write_parquet(
            folder / f"arrow-{compression}.parquet",
            compression=compression,
            use_pyarrow=True,
            row_group_size=16,
        )
    frame.write_ndjson(folder / "lines.jsonl")
    (folder / "lines.jsonl.gz").write_bytes(gzip.compress((folder / "lines.jsonl").read_bytes()))
    exported = [
        file
        for file in sorted(REAL.rglob("*"))
        if file.suffix in ENDINGS and file.is_file() and file.stat().st_size <= LARGEST
    ]
    return [*sorted(folder.iterdir()), *exported]


def cut(content: bytearray, chance: random.Random) -> bytearray:
    return content[: chance.randrange(len(content))]


def flip(content: bytearray, chance: random.Random) -> bytearray:
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return content


def blank(content: bytearray, chance: random.Random) -> bytearray:
    begin = chance.randrange(len(content))
    length = min(len(content) - begin, chance.choice([1, 4, 16, 256]))
    content[begin : begin + length] = bytes([chance.choice([0, 0xFF])]) * length
    return content


def footer(content: bytearray, chance: random.Random) -> bytearray:
    """Damage the end, where Parquet says what is where."""
    for _ in range(chance.choice([1, 2, 4])):
        content[-1 - chance.randrange(min(len(content), 1500))] = chance.randrange(256)
    return content


def insert(content: bytearray, chance: random.Random) -> bytearray:
    place = chance.randrange(len(content))
    content[place:place] = chance.randbytes(chance.choice([1, 3, 100]))
    return content


DAMAGES: list[Callable[[bytearray, random.Random], bytearray]] = [cut, flip, blank, footer, insert]


def damaged(folder: Path, files: int, seed: int) -> None:
    """Write damaged copies."""
    chance = random.Random(seed)
    sources = originals(folder / "originals")
    folder = folder / "traces"
    for number in range(files):
        source = chance.choice(sources[:12]) if number % 3 else chance.choice(sources)
        content = chance.choice(DAMAGES)(bytearray(source.read_bytes()), chance)
        suffix = "".join(source.suffixes[-2:]) if source.suffix == ".gz" else source.suffix
        (folder / f"d{number % 10}").mkdir(exist_ok=True)
        (folder / f"d{number % 10}/{number:05}{suffix}").write_bytes(content)


def check(folder: Path) -> tuple[int, int]:
    """Run a job over the files of a folder; returns how many of them were taken and set aside."""
    job = make_job(folder)
    for number in range(WHOLE):
        rows = traces(range(number * 10, number * 10 + 10), "whole")
        rows.write_parquet(folder / f"traces/whole-{number}.parquet")
    given = {file.relative_to(folder).as_posix() for file in (folder / "traces").rglob("*.*")}
    ended = command("run", job, "--json", timeout=1200)
    assert ended.returncode == 3, (ended.returncode, ended.stderr[-2000:])
    found = json.loads(ended.stdout)
    taken, aside = set(found["files"]), set(found["failures"])
    assert not taken & aside
    missing = given - taken - aside
    stored = scan_store(folder / "scores")
    whole = stored.filter(pl.col("trace_id").str.starts_with("whole-"))
    assert whole.select(pl.col("trace_id").n_unique()).collect().item() == WHOLE * 10, "a whole file was lost"
    assert stored.select(pl.col("trace_id").is_duplicated().any()).collect().item() is False
    assert not missing, sorted(missing)[:10]
    again = json.loads(command("run", job, "--json", timeout=1200).stdout)
    assert (again["added"], again["updated"], set(again["failures"])) == (0, 0, aside)
    print(f"{len(taken):,} taken, {len(aside):,} set aside")
    return len(taken), len(aside)


def main(files: int, seed: int) -> None:
    folder = Path(mkdtemp(prefix="damage-"))
    (folder / "traces").mkdir()
    damaged(folder, files, seed)
    check(folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
