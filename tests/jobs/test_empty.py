"""Nothing to judge is no success: gates, commands and inputs without anything fail, with the reason."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from polars_evals.cli import console
from polars_evals.jobs import run
from polars_evals.storage.paths import list_files
from polars_evals.traces.content import ENDINGS
from tests.jobs.support import command, deliver, invoke, make_job, traces

COMPARE = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n'


def shouted(rows: int = 50) -> pl.DataFrame:
    """Make a second version that is wrong everywhere, and whose items are written in capitals."""
    return traces(range(rows), "v2").with_columns(
        pl.col("item_id").str.to_uppercase(), output=pl.lit("wrong")
    )


@pytest.mark.parametrize("gate", ['fail_on = "regressed"', 'must_not_flip = ["item-1"]'])
def test_items_that_differ_only_in_case(tmp_path: Path, gate: str) -> None:
    job = make_job(tmp_path, more=COMPARE + f"[[gate]]\n{gate}")
    deliver(traces(range(50)), tmp_path / "traces/v1.parquet", 1)
    deliver(shouted(), tmp_path / "traces/v2.parquet", 2)
    outcome = run(job)
    [found] = outcome.gates
    assert (found.status, found.judged, outcome.exit_code()) == ("failed", 0, 1)
    if "fail_on" in gate:
        assert "no item has a score in both versions" in found.lines[0]
        assert "'item_id' differ only in case" in found.lines[0]
    else:
        assert "v2 has none of the items item-1" in found.lines[0]


def test_a_candidate_without_scores(tmp_path: Path) -> None:
    """Whose outputs are missing, in a suite that leaves them out."""
    suite = 'metric = [{ type = "exact_match", missing = "null" }]'
    job = make_job(tmp_path, more=COMPARE + "[[gate]]\nmin_pass_rate = 0.9", suite=suite)
    deliver(traces(range(50)), tmp_path / "traces/v1.parquet", 1)
    mute = traces(range(50), "v2").with_columns(output=pl.lit(None, pl.String))
    deliver(mute, tmp_path / "traces/v2.parquet", 2)
    outcome = run(job)
    assert (outcome.gates[0].status, outcome.exit_code()) == ("failed", 1)
    assert "no row has a label to judge" in outcome.gates[0].lines[0]


def test_the_row_of_a_gate_says_how_much_it_judged(tmp_path: Path) -> None:
    gates = '[[gate]]\nfail_on = "regressed"\n[[gate]]\nmetric = "levenshtein"\nmin_pass_rate = 0.1'
    job = make_job(tmp_path, more=COMPARE + gates)
    for model in ("v1", "v2"):
        deliver(traces(range(50), model), tmp_path / f"traces/{model}.parquet", 1)
    told = run(job).lines()
    assert told[0] == "passed fail_on = regressed: 100 items judged"
    assert told[1] == "passed levenshtein: min_pass_rate = 0.1: 50 rows judged"


@pytest.mark.parametrize("options", [[], ["--item", "item_id"]])
def test_compare_without_anything_shared(tmp_path: Path, options: list[str]) -> None:
    scores = [pl.lit(1.0).alias("exact_match_score"), pl.lit("pass").alias("exact_match_label")]
    mute = [] if options else [pl.lit(None, pl.Float64).alias("exact_match_score")]
    both = pl.concat(
        [traces(range(50)).with_columns(scores), shouted().with_columns(scores).with_columns(mute)]
    )
    both.write_parquet(tmp_path / "scored.parquet")
    code, _, told = invoke(
        "compare", tmp_path / "scored.parquet", "--version", "model", "--baseline", "v1", *options
    )
    assert (code, "nothing is compared" in told) == (3, True)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permission")
def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/open/a.parquet", 1)
    deliver(traces(range(3, 6)), tmp_path / "traces/shut/b.parquet", 1)
    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        # The tests may run as root, whom permissions do not stop.
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    outcome = run(job)
    assert (outcome.rows, outcome.exit_code()) == (3, 3)
    assert outcome.failures == {str(tmp_path / "traces/shut"): "the folder cannot be read: Permission denied"}


def test_links_that_go_round_end(tmp_path: Path) -> None:
    deliver(traces(range(3)), tmp_path / "a/b/x.parquet", 1)
    (tmp_path / "a/up").symlink_to(tmp_path / "a")
    (tmp_path / "a/b/round").symlink_to(tmp_path / "a")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "a/b")
    found = list_files(f"{tmp_path}/**/*.parquet", ENDINGS)
    assert found.unreadable == {}
    assert [os.path.relpath(file, tmp_path) for file in found.files] == [
        "a/b/x.parquet",
        "elsewhere/x.parquet",
    ]


def test_patterns_find_what_the_shell_finds(tmp_path: Path) -> None:
    from glob import glob

    for name in ("a.jsonl", "b/c.jsonl", "b/d/e.parquet", ".hidden/f.jsonl", "b/.g.jsonl", "b/[h].jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for pattern in (
        "*",
        "**/*",
        "*/*.jsonl",
        "**/*.parquet",
        "b/?.jsonl",
        "[ab]*/**/*",
        "**",
        "b/[[]h*",
        "[!b]*",
    ):
        files = sorted(f for f in glob(f"{tmp_path}/{pattern}", recursive=True) if os.path.isfile(f))
        assert list_files(f"{tmp_path}/{pattern}", ENDINGS).files == files, pattern


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("boom"), 70),
        (RecursionError("deep"), 70),
        (pl.exceptions.PanicException("native"), 70),
        (AssertionError(), 70),
        (TypeError("unsupported operand"), 70),
        (ModuleNotFoundError("No module named 'x'"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_that_are_no_verdict_never_exit_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("polars_evals.jobs.runner.run", fail)
    found, _, told = invoke("--log", tmp_path / "trace.log", "run", make_job(tmp_path))
    assert found == code
    assert "Traceback" not in told
    if code != 130:
        assert len(told.splitlines()) == 1
        assert "Traceback" in (tmp_path / "trace.log").read_text()
    monkeypatch.setattr(console, "log", None)


def test_a_job_file_nested_beyond_all_bounds(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    job.write_text(f"x = {'[' * 50_000}{']' * 50_000}\n" + job.read_text())
    ended = command("run", job)
    assert (ended.returncode, "nested too deeply" in ended.stderr) == (2, True)


def test_links_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    """Such as those to a file system that is not mounted; so is what has the name of a file and is none."""
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    (tmp_path / "traces/lost.parquet").symlink_to("/nowhere/at/all.parquet")
    (tmp_path / "traces/2026-01").symlink_to("/nowhere/at/all")
    (tmp_path / "traces/.hidden.parquet").symlink_to("/nowhere")
    (tmp_path / "traces/README.md").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "traces/pipe.parquet")
    outcome = run(job)
    assert (outcome.rows, outcome.exit_code()) == (3, 3)
    assert {Path(name).name: reason for name, reason in outcome.failures.items()} == {
        "lost.parquet": "it is a broken link to '/nowhere/at/all.parquet'",
        "2026-01": "it is a broken link to '/nowhere/at/all'",
        "pipe.parquet": "it is not a regular file",
    }


def test_inputs_without_rows_pass_no_gate(tmp_path: Path) -> None:
    job = make_job(tmp_path, more="[[gate]]\nmin_pass_rate = 0.9\n")
    deliver(traces(range(3)).clear(), tmp_path / "traces/a.parquet", 1)
    for _ in range(2):
        code, out, _ = invoke("run", job)
        assert code == 1, out
        assert "no row" in out


def test_a_candidate_that_is_not_there_though_others_are(tmp_path: Path) -> None:
    """A name that is written wrong is not waited for in vain."""
    gates = '[[gate]]\nfail_on = "regressed"\n[[gate]]\nmin_pass_rate = 0.1\n'
    job = make_job(tmp_path, more=COMPARE + 'candidate = "v22"\n' + gates)
    deliver(traces(range(50)), tmp_path / "traces/v1.parquet", 1)
    assert [gate.status for gate in run(job).gates] == ["skipped", "skipped"]
    deliver(traces(range(50), "v2"), tmp_path / "traces/v2.parquet", 2)
    outcome = run(job)
    assert [(gate.status, gate.judged) for gate in outcome.gates] == [("failed", 0)] * 2
    assert outcome.gates[0].lines == ("v22 has no rows; is `candidate` in [compare] right?",)
    job.write_text(job.read_text().replace('"v22"', '["v2", "v3"]'))
    outcome = run(job)
    assert [(gate.status, gate.judged) for gate in outcome.gates] == [("failed", 100)] * 2
    assert outcome.gates[1].lines == ("v3 has no rows; is `candidate` in [compare] right?",)


def test_an_item_that_must_not_flip_and_is_missing(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=COMPARE + '[[gate]]\nmust_not_flip = ["item-1", "item-2"]')
    deliver(traces(range(5)), tmp_path / "traces/v1.parquet", 1)
    deliver(traces(range(2), "v2"), tmp_path / "traces/v2.parquet", 1)
    [gate] = run(job).gates
    assert (gate.status, gate.lines) == ("failed", ("v2 has no rows of item-2, which must not flip",))


@pytest.mark.parametrize("by", ["", 'by = "topic"\n'])
def test_metrics_and_slices_without_labels(tmp_path: Path, by: str) -> None:
    suite = 'metric = [{ type = "exact_match" }, { type = "contains", missing = "null", expected = "other" }]'
    more = (COMPARE + 'by = ["topic"]\n' if by else "") + f"[[gate]]\nmin_pass_rate = 0.0\n{by}"
    job = make_job(tmp_path, more=more, suite=suite)
    for model in ("v1", "v2"):
        other = pl.when(pl.col("topic") == "even").then("output") if by else pl.lit(None, pl.String)
        deliver(traces(range(50), model).with_columns(other=other), tmp_path / f"traces/{model}.parquet", 1)
    [gate] = run(job).gates
    about = "v2 contains, topic=odd" if by else "contains"
    assert (gate.status, gate.lines) == ("failed", (f"{about}: no row has a label to judge",))


@pytest.mark.parametrize("rule", ["max_mean = 10", "max_quantile = { q = 0.95, value = 10 }"])
def test_measures_that_are_infinite_or_missing(tmp_path: Path, rule: str) -> None:
    job = make_job(tmp_path, more=f'[[gate]]\nmeasure = "ms"\n{rule}')
    deliver(traces(range(4), ms=[1.0, 2.0, None, float("nan")]), tmp_path / "traces/a.parquet", 1)
    assert run(job).gates[0].texts()[0].endswith(": 2 rows judged")
    deliver(traces(range(4), "v2", ms=[1.0, 2.0, float("inf"), 1.0]), tmp_path / "traces/b.parquet", 1)
    assert run(job).gates[0].status == "failed"


def test_a_timeline_that_has_only_its_reference_is_waited_for(tmp_path: Path) -> None:
    timeline = (
        '[timeline]\ntime = "ts"\nreference = 3\n[[gate]]\nmetric = "exact_match"\ntimeline = "regressed"\n'
    )
    job = make_job(tmp_path, more=timeline)
    states = []
    for day in (1, 2, 3, 4):
        rows = traces(range(40), f"day-{day}").with_columns(ts=pl.datetime(2026, 1, day))
        deliver(rows, tmp_path / f"traces/{day}.parquet", 1)
        [gate] = run(job).gates
        states.append((gate.status, gate.judged))
    assert states == [("skipped", 0)] * 3 + [("passed", 1)]
    assert gate.texts()[0].endswith(": 1 series judged")
    assert replace(gate, judged=21).texts()[0].endswith(": 21 series judged")


@pytest.mark.parametrize(
    "gate",
    [
        "not_worse_than = 1.0",
        "not_worse_than = inf",
        'measure = "exact_match_score"\nmax_mean = inf',
        'measure = "exact_match_score"\nmax_quantile = { q = 0.5, value = nan }',
    ],
)
def test_bounds_that_nothing_can_exceed_are_refused(tmp_path: Path, gate: str) -> None:
    job = make_job(tmp_path, more=f"{COMPARE}[[gate]]\n{gate}")
    deliver(traces(range(5)), tmp_path / "traces/v1.parquet", 1)
    code, _, told = invoke("run", job)
    assert (code, "must be" in told) == (2, True)
