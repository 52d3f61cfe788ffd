"""Two files, folders or frames to a comparison in one call, and in one command."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import polars_evals as pe
from tests.jobs import support

SHARED = Path(__file__).parents[2] / "shared" / "data"
ITEMS = 60


class Ran(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str


def invoke(*arguments: str, code: int) -> Ran:
    """Run the command, which must end with an exit code."""
    ended, stdout, stderr = support.invoke(*arguments)
    assert ended == code, stdout + stderr
    return Ran(stdout, stderr)


def answers(wrong: int = 0, **columns: Any) -> pl.DataFrame:
    expected = [f"the name of city {n}" for n in range(ITEMS)]
    output = ["nobody knows" if n < wrong else text for n, text in enumerate(expected)]
    inputs = [f"Which city has the number {n}?" for n in range(ITEMS)]
    topics = ["north", "south"] * (ITEMS // 2)
    frame = pl.DataFrame({"input": inputs, "output": output, "expected": expected, "topic": topics})
    return frame.with_columns(**columns)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two exports of a table, of which the second is worse."""
    monkeypatch.chdir(tmp_path)
    answers().write_ndjson("v1.jsonl")
    answers(wrong=30).write_ndjson("v2.jsonl")
    return tmp_path


def test_frames() -> None:
    comparison = pe.diff(answers(), answers(wrong=30))
    assert (comparison.spec.baseline, comparison.spec.candidates) == ("baseline", ("candidate",))
    assert comparison.verdict == "regressed"
    assert comparison.summary["n"].to_list() == [ITEMS] * comparison.summary.height
    assert any("levenshtein" in note for note in comparison.notes)


def test_versions_are_named_by_their_model() -> None:
    comparison = pe.diff(answers(model=pl.lit("a-1")), answers(model=pl.lit("a-2")))
    assert (comparison.spec.baseline, *comparison.spec.candidates) == ("a-1", "a-2")


def test_versions_are_named_by_the_folder_that_differs(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name / "run").mkdir(parents=True)
        answers().write_ndjson(tmp_path / name / "run" / "out.jsonl")
    comparison = pe.diff(tmp_path / "old" / "run" / "out.jsonl", tmp_path / "new" / "run" / "out.jsonl")
    assert (comparison.spec.baseline, *comparison.spec.candidates) == ("old", "new")


def test_ids_that_name_other_questions_do_not_pair() -> None:
    before = answers(item_id=pl.int_range(ITEMS).cast(pl.String))
    after = answers().reverse().with_columns(item_id=pl.int_range(ITEMS).cast(pl.String))
    comparison = pe.diff(before, after)
    assert comparison.spec.item == "input"
    assert comparison.summary["difference"].to_list() == [0.0] * comparison.summary.height


def test_expected_values_of_one_side_serve_both() -> None:
    comparison = pe.diff(answers(), answers(wrong=30).drop("expected"), metrics="exact_match")
    assert comparison.summary["candidate_mean"].item() == 0.5


def test_without_expected_values_the_baseline_is_expected() -> None:
    comparison = pe.diff(answers().drop("expected"), answers(wrong=30).drop("expected"))
    assert comparison.verdict == "inconclusive"
    assert "the answers of the baseline" in comparison.notes[0]


def test_a_baseline_of_two_runs_is_judged_against_itself() -> None:
    twice = pl.concat([answers(), answers()]).drop("expected")
    comparison = pe.diff(twice, answers(wrong=30).drop("expected"))
    assert comparison.verdict == "regressed"


def test_one_set_with_a_column_of_versions() -> None:
    both = pl.concat([answers(model=pl.lit("a")), answers(wrong=30, model=pl.lit("b"))])
    comparison = pe.diff(both, version="model", baseline_version="a", by="topic")
    assert comparison.verdict == "regressed"
    assert comparison.slices.height > 0
    with pytest.raises(Exception, match="model has a, b"):
        pe.diff(both, version="model")


def test_the_command_prints_sentence_table_reasons_and_steps(files: Path) -> None:
    result = invoke(
        "diff", "v1.jsonl", "v2.jsonl", "--html", "report.html", "--save", "scored.parquet", code=1
    )
    lines = result.stdout.splitlines()
    assert lines[0].startswith("v2 against v1: overall worse: 30 of 60 items newly fail")
    assert lines[-1] == "report: report.html"
    assert "expected has a median length" in result.stdout
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!")
    assert "levenshtein_score" in pl.read_parquet_schema("scored.parquet")
    assert pe.signatures("scored.parquet")


def test_the_steps_that_it_prints_do_the_same(files: Path) -> None:
    result = invoke("diff", "v1.jsonl", "v2.jsonl", "--save", "kept.parquet", code=1)
    lines = result.stdout.splitlines()
    steps = [line.strip() for line in lines if line.startswith("  polars-evals ")]
    assert len(steps) == 3
    *others, last = [step.split()[1:] for step in steps]
    for step in others:
        invoke(*step, code=0)
    again = json.loads(invoke(*last, "--json", code=1).stdout)
    first = json.loads(invoke("diff", "v1.jsonl", "v2.jsonl", "--json", code=1).stdout)
    assert [row["difference"] for row in again["summary"]["rows"]] == [
        row["difference"] for row in first["summary"]["rows"]
    ]


def test_json_says_how_it_came_about(files: Path) -> None:
    found = json.loads(invoke("diff", "v1.jsonl", "v2.jsonl", "--json", "--exit-zero", code=0).stdout)
    assert found["verdict"] == "regressed"
    assert found["diff"]["metrics"] == ["levenshtein", "token_f1"]
    assert found["diff"]["item"] in ("item_id", "input")


def test_junit_and_markdown_agree_with_the_exit_code(files: Path) -> None:
    invoke("diff", "v1.jsonl", "v2.jsonl", "--junit", "a.xml", "--markdown", "a.md", code=1)
    assert "<failure" in Path("a.xml").read_text(encoding="utf-8")
    assert "overall worse" in Path("a.md").read_text(encoding="utf-8").lower()


def test_slices_of_a_plain_table(files: Path) -> None:
    result = invoke(
        "diff", "v1.jsonl", "v2.jsonl", "--by", "topic", "--metric", "exact_match", "--all", code=1
    )
    assert "topic" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["v1.jsonl", "v1.jsonl"], 2, "the same"),
        (["v1.jsonl", "v2.jsonl", "v1.jsonl"], 2, "got 3"),
        (["v1.jsonl"], 2, "versions"),
        (["v1.jsonl", "absent.jsonl"], 3, "absent.jsonl"),
        (["v1.jsonl", "empty.jsonl"], 3, "empty.jsonl"),
        (["v1.jsonl", "blank.jsonl"], 3, "blank.jsonl"),
        (["v1.jsonl", "other.jsonl"], 3, "share no item"),
        (["v1.jsonl", "scores.parquet"], 3, "holds scores"),
        (["v1.jsonl", "v2.jsonl", "--metric", "levenshtien"], 2, "levenshtein"),
    ],
)
def test_bad_input_is_a_sentence(files: Path, arguments: list[str], code: int, text: str) -> None:
    Path("empty.jsonl").write_text("")
    answers(output=pl.lit(None, dtype=pl.String)).write_ndjson("blank.jsonl")
    answers(input=pl.concat_str(pl.lit("Other: "), "input")).write_ndjson("other.jsonl")
    pl.DataFrame({"item_id": ["a"], "a_score": [1.0]}).write_parquet("scores.parquet")
    result = invoke("diff", *arguments, code=code)
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_sides_without_a_common_item_show_their_ids(files: Path) -> None:
    answers(item_id=pl.lit("x-") + pl.int_range(ITEMS).cast(pl.String), input=pl.lit(None)).write_parquet(
        "x.parquet"
    )
    answers(item_id=pl.lit("y-") + pl.int_range(ITEMS).cast(pl.String), input=pl.lit(None)).write_parquet(
        "y.parquet"
    )
    result = invoke("diff", "x.parquet", "y.parquet", code=3)
    assert "60 items, such as 'x-0'" in result.stderr
    assert "60 items, such as 'y-0'" in result.stderr


def test_init_writes_files_that_run_and_never_overwrites(files: Path) -> None:
    result = invoke("init", "v1.jsonl", "v2.jsonl", "--output", "evals", code=0)
    assert "levenshtein" in result.stdout
    suite = Path("evals/evals.toml").read_text(encoding="utf-8")
    assert "# - expected has a median length" in suite
    assert [metric.type for metric in pe.Suite.load("evals/evals.toml").metrics] == [
        "levenshtein",
        "token_f1",
    ]
    invoke("run", "evals/job.toml", code=1)
    again = invoke("init", "v1.jsonl", "v2.jsonl", "--output", "evals", code=2)
    assert "already exists" in again.stderr
    assert Path("evals/evals.toml").read_text(encoding="utf-8") == suite


def test_init_needs_a_column_that_identifies_a_row(files: Path) -> None:
    pl.read_ndjson("v1.jsonl").rename({"input": "city"}).write_parquet("v1.parquet")
    refused = invoke("init", "v1.parquet", "--output", "evals", code=2)
    assert "v1.parquet: no column identifies a row" in refused.stderr
    assert not Path("evals").exists()
    invoke("init", "v1.parquet", "--column", "item_id=city", "--output", "evals", code=0)
    invoke("run", "evals/job.toml", code=0)


def test_init_proposes_columns_that_describe_the_item(files: Path) -> None:
    for version in ("v1", "v2"):
        frame = pl.read_ndjson(f"{version}.jsonl").with_row_index()
        frame = frame.with_columns(topic=pl.lit("t") + (pl.col("index") % 3).cast(pl.String))
        frame.with_columns(ok=pl.col("index") % 2 == int(version == "v1")).drop("index").write_ndjson(
            f"{version}.jsonl"
        )
    invoke("init", "v1.jsonl", "v2.jsonl", "--keep", "topic", "--keep", "ok", "--output", "evals", code=0)
    assert 'by = ["topic"]' in Path("evals/job.toml").read_text(encoding="utf-8")


def test_init_with_one_version_runs_too(files: Path) -> None:
    invoke("init", "v1.jsonl", "--output", "evals", code=0)
    invoke("run", "evals/job.toml", code=0)


@pytest.mark.skipif(not SHARED.exists(), reason="the real texts are not here")
def test_the_published_change_of_gpt_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.read_parquet(SHARED / "llmdrift_prime.parquet")
    for name in ("gpt-4-0314", "gpt-4-0613"):
        frame.filter(pl.col("model") == name).drop("model").write_ndjson(f"{name}.jsonl")
    result = invoke("diff", "gpt-4-0314.jsonl", "gpt-4-0613.jsonl", code=1)
    assert result.stdout.startswith("gpt-4-0613 against gpt-4-0314: overall worse")
    assert "84% → 51%" in result.stdout
    assert "macro_f1" in result.stdout
