"""`scan_traces` of JSON Lines beside `pl.scan_ndjson` of the same file, which only parses them."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import polars as pl

import polars_evals as pe
from benchmarks.harness import OURS, Row, race
from benchmarks.texts import Writer

RECORDS = 200_000
QUESTION, ANSWER = 500, 900
FLAT = 8_050


def spans() -> Iterator[dict[str, object]]:
    """Write observations as Langfuse exports them: a chat request, its answer and what it took."""
    writer = Writer(7)
    texts = [(writer.text(QUESTION), writer.text(ANSWER)) for _ in range(2_000)]
    for number in range(RECORDS):
        asked, said = texts[number % len(texts)]
        yield {
            "id": str(UUID(int=number)),
            "trace_id": str(UUID(int=2**64 + number)),
            "project_id": "p",
            "parent_observation_id": None,
            "type": "GENERATION",
            "start_time": f"2026-01-01 10:{number // 60 % 60:02}:{number % 60:02}.123",
            "end_time": f"2026-01-01 10:{number // 60 % 60:02}:{number % 60:02}.987",
            "provided_model_name": f"model-{number % 2}",
            "input": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": f"{number // 2} {asked}"},
            ],
            "output": {"role": "assistant", "content": said},
            "metadata": {"tier": "free", "region": "eu"},
            "usage_details": {"input": 100 + number % 50, "output": 200},
            "total_cost": 0.0021,
            "session_id": f"s{number // 8}",
            "version": "v1",
        }


def answers() -> Iterator[dict[str, object]]:
    """Write a flat table of long answers."""
    writer = Writer(8)
    for number in range(FLAT):
        yield {
            "item_id": str(number // 10),
            "model": f"model-{number % 10}",
            "input": writer.text(QUESTION),
            "output": writer.text(1_300),
            "expected": writer.text(2_000),
        }


def scored(frame: pl.DataFrame, case: str) -> list[Row]:
    """Time a flat table of the texts of a file."""
    return flat_rows(frame.iter_rows(named=True), len(frame), case)


def flat_rows(records: Iterator[dict[str, object]], count: int, name: str) -> list[Row]:
    """Time a flat table of long texts."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.jsonl"
        with file.open("w") as stream:
            stream.writelines(json.dumps(answer) + "\n" for answer in records)
        case = f"JSON Lines, {count:,} flat records of {name}, {file.stat().st_size >> 20} MB"
        return race(
            "traces",
            case,
            count,
            {
                OURS: lambda: pe.scan_traces(file).collect(),
                "pl.scan_ndjson": lambda: pl.scan_ndjson(file).collect(),
            },
            rounds=5,
        )


def rows() -> list[Row]:
    """Time both over the same file: all columns, and one; and a flat table."""
    return [*nested_rows(), *flat_rows(answers(), FLAT, "long texts")]


def nested_rows() -> list[Row]:
    """Time nested records: all columns, and one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "observations.jsonl"
        with file.open("w") as stream:
            stream.writelines(json.dumps(span) + "\n" for span in spans())
        case = f"JSON Lines, {RECORDS:,} records, {file.stat().st_size >> 20} MB"
        return [
            *race(
                "traces",
                f"{case}: all columns",
                RECORDS,
                {
                    OURS: lambda: pe.scan_traces(file).collect(),
                    "pl.scan_ndjson": lambda: pl.scan_ndjson(file).collect(),
                },
                rounds=3,
            ),
            *race(
                "traces",
                f"{case}: every model call's output",
                RECORDS,
                {
                    OURS: lambda: pe.scan_traces(file, rows="spans").select("output").collect(),
                    "pl.scan_ndjson": lambda: pl.scan_ndjson(file).select("output").collect(),
                },
                rounds=3,
            ),
        ]
