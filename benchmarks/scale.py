"""
What more rows and more workers cost: `python -m benchmarks.scale [most rows]`, or `make bench-scale`.

Rows: Parquet to Parquet on one machine, streaming, from ten thousand to ten million rows; each size in a
process of its own, so that the peak of memory is its own. Workers: the same suite on Ray and on Spark with
one and two workers of one processor each. Writes scale.md and scale.svg.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

import polars_evals as pe
from benchmarks.processors import ray_worker, spark_worker, spent
from benchmarks.report import COLOURS
from benchmarks.texts import alike

FOLDER = Path(__file__).parent
SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
TILE = 10_000
CHARACTERS = 60
CLUSTER_FILES, CLUSTER_ROWS, CLUSTER_CHARACTERS = 32, 320_000, 1_000
SUITE = pe.Suite([pe.Metric("levenshtein"), pe.Metric("rouge"), pe.Metric("exact_match")])


def write_rows(path: Path, rows: int, characters: int) -> None:
    """Write so many rows, a tile of texts over and over, numbered."""
    tile = alike(min(TILE, rows), characters, 0.1).lazy()
    tiles = pl.concat([tile] * (rows // TILE or 1))
    tiles.with_row_index("item_id").sink_parquet(path, row_group_size=100_000)


def measure_rows(source: str) -> dict[str, float]:
    """Score a file into another, and say what it took."""
    start = time.perf_counter()
    SUITE.sink_parquet(pl.scan_parquet(source), f"{source}.scored")
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1e3}


def measure_nothing() -> dict[str, float]:
    """Say what a process takes that has only imported everything."""
    return {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def measure_polars(source: str, workers: str) -> dict[str, float]:
    """Score files in this process, which has as many threads as workers are asked for."""
    assert pl.thread_pool_size() == int(workers)

    def run() -> None:
        scored = SUITE.score(pl.scan_parquet(f"{source}/*.parquet"))
        scored.select(pl.col("levenshtein_score", "rouge1_score").sum()).collect(engine="streaming")

    return timed(run)


def measure_ray(source: str, workers: str) -> dict[str, float]:
    """Score files on Ray, once to start the workers and then for the time."""
    import ray

    from polars_evals.cluster import score_ray

    ray.init(num_cpus=int(workers), include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def run() -> None:
        files = ray.data.read_parquet(source)
        score_ray(files, SUITE).select_columns(["levenshtein_score", "rouge1_score"]).materialize()

    try:
        return timed(run) | spent(run, ray_worker)
    finally:
        ray.shutdown()


def measure_spark(source: str, workers: str) -> dict[str, float]:
    """Score files on Spark, once to start the workers and then for the time."""
    from pyspark.sql import SparkSession

    from polars_evals.cluster import score_spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.files.maxPartitionBytes", "8m")
        .config("spark.worker.dir", os.environ.get("SPARK_WORKER_DIR", "/tmp"))
        .getOrCreate()
    )

    def run() -> None:
        scored = score_spark(session.read.parquet(source), SUITE)
        scored.agg({"levenshtein_score": "sum", "rouge1_score": "sum"}).collect()

    try:
        return timed(run) | spent(run, spark_worker)
    finally:
        session.stop()


def timed(run: Any) -> dict[str, float]:
    """Run three times, the first to start the workers, and return the best of the others."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds[1:])}


def in_process(name: str, *arguments: object, **environment: str) -> dict[str, float]:
    """Call a function of this module in a new process."""
    code = f"import json, sys; from benchmarks.scale import {name} as f; print(json.dumps(f(*sys.argv[1:])))"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(name, *arguments[1:], found, file=sys.stderr, flush=True)
    return found


def measure_sizes(folder: Path, most: int) -> pl.DataFrame:
    """Measure all sizes up to `most`; every file is removed before the next is written."""
    found = []
    idle = in_process("measure_nothing")["megabytes"]
    for rows in (size for size in SIZES if size <= most):
        path = folder / f"{rows}.parquet"
        write_rows(path, rows, CHARACTERS)
        found.append({"rows": rows, **in_process("measure_rows", path), "idle": idle})
        path.unlink()
        Path(f"{path}.scored").unlink()
    return pl.DataFrame(found).with_columns(microseconds=pl.col("seconds") / pl.col("rows") * 1e6)


def measure_workers(folder: Path, rows: int) -> pl.DataFrame:
    """Measure both engines with one and two workers, and Polars alone with as many threads."""
    path = folder / "cluster"
    path.mkdir()
    for part in range(CLUSTER_FILES):
        write_rows(path / f"{part}.parquet", rows // CLUSTER_FILES, CLUSTER_CHARACTERS)
    found = []
    for engine in ("polars", "ray", "spark"):
        threads = [{"POLARS_MAX_THREADS": str(workers)} if engine == "polars" else {} for workers in (1, 2)]
        one, two = (
            in_process(f"measure_{engine}", path, workers, **environment)
            for workers, environment in enumerate(threads, start=1)
        )
        seconds = one["seconds"], two["seconds"]
        work = one.get("workers"), two.get("workers")
        found.append(
            {
                "engine": engine,
                "rows": rows,
                "one": seconds[0],
                "two": seconds[1],
                "efficiency": seconds[0] / seconds[1] / 2,
                "work_one": work[0],
                "work_two": work[1],
                "own": two.get("engine"),
            }
        )
    return pl.DataFrame(found)


def markdown(sizes: pl.DataFrame, workers: pl.DataFrame) -> str:
    """Make the tables."""
    lines = [
        "# Scale",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Polars {pl.__version__}, "
        f"polars-evals {pe.__version__}; load of the machine {os.getloadavg()[0]:.1f}.",
        "",
        "## Rows, on one machine",
        "",
        f"Parquet to Parquet, streaming: Levenshtein, ROUGE-1 and exact match of {CHARACTERS} characters. "
        f"A process that has only imported everything has {sizes['idle'][0]:,.0f} MB.",
        "",
        "| rows | seconds | microseconds a row | processor seconds | peak memory, MB |",
        "|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['rows']:,} | {row['seconds']:,.2f} | {row['microseconds']:,.2f} | {row['cpu']:,.1f} "
        f"| {row['megabytes']:,.0f} |"
        for row in sizes.iter_rows(named=True)
    ]
    lines += [
        "",
        "## Workers",
        "",
        f"The same suite over {workers['rows'][0]:,} rows of {CLUSTER_CHARACTERS} characters, one processor "
        "a worker, workers warm; Polars is one process with as many threads. Efficiency is the time of one "
        "worker over twice the time of two. The engines' own processes run on the same two cores; so the "
        "last columns count processor seconds: of all that score, with one and two workers, and of the "
        "engine itself with two.",
        "",
        "| engine | one worker, seconds | two workers, seconds | efficiency "
        "| one scores | two score | engine |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['engine']} | {row['one']:.1f} | {row['two']:.1f} | {row['efficiency']:.0%} | "
        + " | ".join("" if row[key] is None else f"{row[key]:.1f}" for key in ("work_one", "work_two", "own"))
        + " |"
        for row in workers.iter_rows(named=True)
    ]
    return "\n".join([*lines, ""])


def chart(sizes: pl.DataFrame) -> Any:
    """Draw cost and memory over the number of rows."""
    import altair as alt

    panels = []
    for column, title, colour in (
        ("microseconds", "microseconds a row", COLOURS[0]),
        ("megabytes", "peak memory, MB", COLOURS[1]),
    ):
        base = alt.Chart(sizes).encode(
            x=alt.X("rows:Q", scale=alt.Scale(type="log"), title="rows (logarithmic)"),
            y=alt.Y(f"{column}:Q", scale=alt.Scale(zero=True), title=title),
        )
        panels.append(base.mark_line(color=colour) + base.mark_point(filled=True, size=90, color=colour))
    return alt.hconcat(*panels)


def main() -> None:
    """Measure and write."""
    most = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else SIZES[-1]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPARK_WORKER_DIR"] = folder
        sizes = measure_sizes(Path(folder), most)
        chart(sizes).save(FOLDER / "scale.svg")
        workers = measure_workers(Path(folder), CLUSTER_ROWS)
    FOLDER.joinpath("scale.md").write_text(markdown(sizes, workers))
    print(f"wrote {FOLDER / 'scale.md'} and {FOLDER / 'scale.svg'}")


if __name__ == "__main__":
    main()
