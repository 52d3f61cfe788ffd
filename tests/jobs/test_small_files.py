"""Small files are read and scored together, which must not show: not in the table, nor in what is told."""

import gzip
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_evals.jobs import ingest, run, scan_store
from polars_evals.jobs.store import Writer
from tests.jobs.support import SUITE, traces

REAL = Path(__file__).parents[1] / "traces/real"
KEY = 'key = ["source_file", "source_row"]'


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def own(n: int, **more: object) -> dict[str, object]:
    return {"trace_id": f"t{n}", "output": f"answer {n}", "expected": f"answer {n % 3}", **more}


def tables() -> Iterator[tuple[str, bytes]]:
    """JSON Lines of one's own, in all the ways in which they differ and are broken."""
    for n in range(4):
        yield f"same{n}.jsonl", lines(own(n), own(n + 10), own(n + 20))
    yield "blank lines.jsonl", b"\n" + lines(own(1)) + b"\n \r\n" + lines(own(2)) + b"\n\n"
    yield "no end.jsonl", lines(own(3), own(4))[:-1]
    yield "windows.jsonl", lines(own(5), own(6)).replace(b"\n", b"\r\n")
    yield "mark.jsonl", b"\xef\xbb\xbf" + lines(own(7))
    yield "whole.jsonl", lines(own(8, score=1), own(9, score=2))
    yield "fractions.jsonl", lines(own(8, score=1.5), own(9, score=2))
    yield "nothing known.jsonl", lines(own(1, score=None, expected=None))
    yield "nested.jsonl", lines(own(1, meta={"a": 1, "b": {"c": [1, 2]}}), own(2, meta={}))
    yield "nested otherwise.jsonl", lines(own(1, meta={"a": 1.5, "d": "x"}))
    yield "other order.jsonl", lines(dict(reversed(own(1).items())))
    yield "texts for numbers.jsonl", lines(own(1, score="high"))
    yield "no answers.jsonl", lines({"trace_id": "x", "expected": "y"})
    yield "taken name.jsonl", lines(own(1, source_row=3))
    yield "taken inside.jsonl", lines(own(1, __path="x", __row=3))
    yield "packed.jsonl.gz", gzip.compress(lines(own(1), own(2)))
    yield "cut.jsonl.gz", gzip.compress(lines(own(1), own(2)))[:-9]
    yield "broken.jsonl", lines(own(1)) + b'{"trace_id": "b", "out\n' + lines(own(2))
    yield "number.jsonl", lines(own(1)) + b"3\n"
    yield "latin.jsonl", lines(own(1)) + b'{"output": "\xe9"}\n'
    yield "empty.jsonl", b""
    yield "blank.jsonl", b"\n \n"
    yield "odd [1]*?.jsonl", lines(own(1))
    yield "répertoire.jsonl", lines(own(1))


def exports() -> Iterator[tuple[str, bytes]]:
    """Exports of platforms, cut into small files, and broken ones."""
    cut = {
        "langfuse": ("langfuse/5.0.4/observations.jsonl", 3),
        "otlp": ("otel/1.45.2/genai_otlp.jsonl", 2),
        "mlflow": ("mlflow/3.17.2/assistant.jsonl", 4),
        "lm_eval": ("lm_eval/0.4.13/out/acme__acme-small-1", 3),
    }
    for name, (place, size) in cut.items():
        file = REAL / place
        content = (next(file.glob("*open*")) if file.is_dir() else file).read_bytes().splitlines(True)
        for n, start in enumerate(range(0, min(len(content), 8 * size), size)):
            yield f"{name}-{n}.jsonl", b"".join(content[start : start + size])
        yield f"{name}-broken.jsonl", content[0] + b'{"cut": "o\n' + content[1]
        yield f"{name}-packed.jsonl.gz", gzip.compress(b"\n" + b"".join(content[:3]))
        # The same traces again: each file has its own rows of them.
        yield f"{name}-again.jsonl", b"".join(reversed(content[:size]))
    page = json.loads((REAL / "langfuse/5.0.4/observations_page.json").read_text())
    for n in range(3):
        yield f"page-{n}.json", json.dumps({**page, "data": page["data"][n * 4 : n * 4 + 4]}).encode()
    yield "page-cut.json", json.dumps(page).encode()[:-300]
    unanswered = [{**one, "output": None, "level": "DEFAULT"} for one in page["data"][:2]]
    yield "unanswered.json", json.dumps({**page, "data": unanswered}).encode()
    yield "unanswered.jsonl", lines(*unanswered)
    [promptfoo] = (REAL / "promptfoo").glob("*/results.json")
    yield "promptfoo.json", promptfoo.read_bytes()
    for n, log in enumerate(sorted((REAL / "inspect").rglob("*.eval"))[:2]):
        yield f"log-{n}.eval", log.read_bytes()
        yield f"log-{n}-cut.eval", log.read_bytes()[:-200]


def fill(folder: Path) -> None:
    folder.mkdir()
    for name, content in (*tables(), *exports()):
        (folder / name).write_bytes(content)
    for n in range(3):
        traces(range(n, n + 2)).write_parquet(folder / f"own-{n}.parquet")
        spans = {"span_id": ["a", "b"], "root_span_id": ["a", "a"], "input": ["?", "?"]}
        pl.DataFrame({**spans, "output": [f"{n}", None]}).write_parquet(folder / f"braintrust-{n}.parquet")
        traces(range(n)).clear().write_parquet(folder / f"no rows-{n}.parquet")
        (folder / f"day={n}").mkdir()
        (folder / f"day={n}/own.jsonl").write_bytes(lines(own(n)))
        (folder / f"table-{n}.csv").write_text("input,output,expected\na,b,b\nc,d,e\n")
    (folder / "damaged.parquet").write_bytes((folder / "own-0.parquet").read_bytes()[:-20])
    for n, file in enumerate(sorted(folder.rglob("*.*"))):
        os.utime(file, (n + 1, n + 1))


def job_of(folder: Path, options: str) -> Path:
    job = folder / "job.toml"
    job.write_text(
        f'[input]\npath = "traces"\n{options}\n[suite]\n{SUITE}\n[store]\npath = "scores"\n{KEY}\n'
    )
    return job


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "traces"
    fill(folder)
    return folder


@pytest.mark.parametrize(
    "options",
    [
        "",
        'rows = "spans"',
        'rows = "all"',
        'rows = "outputs"',
        'format = "langfuse"',
        'format = "generic"',
    ],
)
def test_it_is_as_if_each_were_read_by_itself(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    found = []
    for most in (1, 1024):
        monkeypatch.setattr(ingest, "SMALL_BATCH", (most, 16 << 20))
        folder = tmp_path / str(most)
        shutil.copytree(files, folder / "traces")
        outcome = run(job_of(folder, options))
        rows = scan_store(folder / "scores").collect().sort("source_file", "source_row")
        told = {name: why.replace(str(folder), "") for name, why in outcome.failures.items()}
        found.append((rows.select(sorted(rows.columns)), told, outcome.files))
    (alone, why_alone, files_alone), (together, why_together, files_together) = found
    assert why_together == why_alone
    assert files_together == files_alone
    assert_frame_equal(together, alone)
    assert len(together) > 10


def test_they_are_looked_at_once_and_scored_in_one_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What costs is a query: there is one for many files, not some for each."""
    calls = Counter[str]()

    def counted(owner: object, name: str) -> None:
        function = getattr(owner, name)

        def count(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, count)

    counted(Writer, "write")
    counted(pl.LazyFrame, "collect_schema")
    content = (REAL / "langfuse/5.0.4/observations.jsonl").read_bytes()
    counts = []
    for many in (2, 100):
        folder = tmp_path / str(many)
        (folder / "traces").mkdir(parents=True)
        for n in range(many):
            (folder / f"traces/own-{n}.jsonl").write_bytes(lines(own(n)))
            (folder / f"traces/langfuse-{n}.jsonl").write_bytes(content)
        calls.clear()
        assert len(run(job_of(folder, "")).files) == 2 * many
        counts.append(dict(calls))
    few, many_more = counts
    assert few["write"] == many_more["write"] == 1
    assert few["collect_schema"] == many_more["collect_schema"]


def test_batches_hold_few_files_and_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(30):
        name = f"{n:02}.jsonl.gz" if n % 3 == 0 else f"{n:02}.jsonl"
        (tmp_path / name).write_bytes(b"x" * 100)
    (tmp_path / "large.jsonl").write_bytes(b"x" * 20_000)
    sources = [ingest.Source.of(str(file), tmp_path) for file in sorted(tmp_path.iterdir())]
    monkeypatch.setattr(ingest, "SMALL_BYTES", 10_000)
    monkeypatch.setattr(ingest, "SMALL_BATCH", (8, 5_000))
    found = list(ingest._batches(sources))
    assert sum(map(len, found)) == 31
    assert [one.name for one in found[-1]] == ["large.jsonl"]
    # A packed file counts sixteen times.
    assert max(sum(16 if one.name.endswith("gz") else 1 for one in batch) for batch in found[:-1]) <= 50
    assert max(map(len, found)) <= 8
