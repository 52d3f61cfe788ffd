"""Gates: what they let through, what they stop, and what they say."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from polars_evals.jobs import ConfigError, Job, run, scan_store
from polars_evals.jobs import rules as package
from polars_evals.jobs.gates import Findings, Gate, GateInput
from polars_evals.jobs.rules import FailOn, MinPassRate
from tests.jobs.support import deliver, make_job, traces

COMPARE = '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\nby = ["topic"]\n'


def worse(share: float, rows: int = 200) -> pl.DataFrame:
    """Make a second version whose even items are spoilt, so many of them."""
    spoilt = (pl.col("topic") == "even") & (pl.int_range(pl.len()) < share * rows)
    return traces(range(rows), "v2").with_columns(
        output=pl.when(spoilt).then(pl.lit("?")).otherwise("output")
    )


def two_versions(folder: Path, gates: str, share: float = 1.0) -> Path:
    job = make_job(folder, more=COMPARE + gates)
    deliver(traces(range(200)), folder / "traces/v1.parquet", 1)
    deliver(worse(share), folder / "traces/v2.parquet", 2)
    return job


def test_a_pass_rate_below_the_minimum(tmp_path: Path) -> None:
    job = two_versions(tmp_path, '[[gate]]\nmetric = "exact_match"\nmin_pass_rate = 0.6\n')
    outcome = run(job)
    [gate] = outcome.gates
    assert (gate.status, outcome.exit_code()) == ("failed", 1)
    passed = 200 - 100 - len([n for n in range(200) if n % 3 == 0 and n % 2])
    [line] = gate.lines
    assert line.startswith(f"v2 exact_match: pass rate {passed / 200:.1%} is below 60.0% ({passed} of 200")
    assert f"look at the {200 - passed} rows" in line


def test_a_pass_rate_by_slice_names_the_slice(tmp_path: Path) -> None:
    job = two_versions(tmp_path, '[[gate]]\nmetric = "exact_match"\nby = "topic"\nmin_pass_rate = 0.5\n')
    [gate] = run(job).gates
    [line] = gate.lines
    assert line.startswith("v2 exact_match, topic=even: pass rate 0.0% is below 50.0% (0 of 100")


def test_a_verdict_fails_the_gate_for_the_slice_that_moved(tmp_path: Path) -> None:
    job = two_versions(tmp_path, '[[gate]]\nmetric = "levenshtein"\nfail_on = "regressed"\n')
    [gate] = run(job).gates
    assert gate.status == "failed"
    assert [line.split(":")[0] for line in gate.lines] == [
        "v2 levenshtein",
        "v2 levenshtein, topic=even",
    ]
    assert "→" in gate.lines[1]
    assert gate.lines[1].endswith("pass rate 100% → 0% (−100 points), 100 items newly fail")


def test_gates_that_pass(tmp_path: Path) -> None:
    gates = '[[gate]]\nmin_pass_rate = 0.3\n[[gate]]\nfail_on = ["regressed", "improved"]\n'
    outcome = run(two_versions(tmp_path, gates, share=0.0))
    assert [gate.status for gate in outcome.gates] == ["passed", "passed"]
    # Equal scores of so few items do not rule out rare changes.
    assert outcome.verdict == "inconclusive"
    assert outcome.exit_code() == 0
    assert outcome.exit_code(fail_on_inconclusive=True) == 4


def test_items_that_must_not_flip(tmp_path: Path) -> None:
    gate = (
        '[[gate]]\nmetric = "exact_match"\nmust_not_flip = ["item-1", "item-2", "item-4", "item-6", "new"]\n'
    )
    outcome = run(two_versions(tmp_path, gate))
    [found] = outcome.gates
    assert "must_not_flip: 1 item not in the store: new" in outcome.notes
    # item-1 is odd and still passes, item-6 never passed.
    assert found.lines == (
        "v2 exact_match: 2 of 5 items that must not flip now fail (mean score 1.00 to 0.00); "
        "look at item-2, item-4",
    )


def test_without_a_candidate_gates_are_skipped(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=COMPARE + '[[gate]]\nfail_on = "regressed"\n')
    deliver(traces(range(20)), tmp_path / "traces/v1.parquet", 1)
    outcome = run(job)
    assert (outcome.gates[0].status, outcome.exit_code(), outcome.comparison) == ("skipped", 0, None)
    assert outcome.notes == ("there is nothing to compare v1 with yet",)


def test_a_minimum_without_a_comparison_is_about_all_rows(tmp_path: Path) -> None:
    job = make_job(tmp_path, more='[[gate]]\nmetric = "exact_match"\nmin_pass_rate = 0.9\n')
    deliver(traces(range(30)), tmp_path / "traces/v1.parquet", 1)
    [gate] = run(job).gates
    assert gate.lines[0].startswith("exact_match: pass rate 66.7% is below 90.0% (20 of 30")


def test_inconclusive_is_an_exit_code_on_request(tmp_path: Path) -> None:
    job = make_job(tmp_path, more=COMPARE)
    deliver(traces(range(10)), tmp_path / "traces/v1.parquet", 1)
    deliver(worse(0.2, 10), tmp_path / "traces/v2.parquet", 2)
    outcome = run(job)
    assert outcome.verdict == "inconclusive"
    assert (outcome.exit_code(), outcome.exit_code(fail_on_inconclusive=True)) == (0, 4)


def test_a_regression_that_holm_does_not_confirm_does_not_fail_the_gate(tmp_path: Path) -> None:
    """Benjamini and Hochberg let it into the report; a gate is held to more."""
    job = two_versions(tmp_path, '[[gate]]\nfail_on = "regressed"\n[[gate]]\nfail_on = "inconclusive"\n')
    outcome = run(job)
    assert outcome.comparison is not None
    loaded = Job.load(job)
    weak = outcome.comparison.components.with_columns(p_sequential=pl.lit(0.02))
    comparison = replace(outcome.comparison, components=weak)
    assert set(comparison.summary["verdict"]) == {"regressed"}
    seen = GateInput(("exact_match", "levenshtein"), pl.LazyFrame(), loaded.compare, comparison, loaded.gates)
    on_regressed, on_inconclusive = (gate.result(seen) for gate in loaded.gates if isinstance(gate, FailOn))
    assert (on_regressed.status, on_inconclusive.status) == ("passed", "failed")
    assert len(on_inconclusive.lines) == comparison.summary.height + comparison.slices.height


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[gate]]\nmetric = "levenstein"\nmin_pass_rate = 0.5',
            r'\[\[gate\]\] 1: unknown metric "levenstein"; did you mean',
        ),
        ('[[gate]]\nmetric = "levenshtein"', "a gate has one of"),
        ("[[gate]]\nmin_pass_rate = 90", "from 0 to 1"),
        ('[[gate]]\nfail_on = "regresed"', 'did you mean "regressed"'),
        ('[[gate]]\nfail_on = "regressed"\nmin_pass_rate = 0.5', "a gate has one of"),
        ('[[gate]]\nby = "language"\nmin_pass_rate = 0.5', "not in .compare. by"),
        ("[[gate]]\nmin_pas_rate = 0.5", 'unknown key "min_pas_rate"; did you mean "min_pass_rate"'),
    ],
)
def test_wrong_gates_are_told_when_the_job_is_read(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Job.load(make_job(tmp_path, more=COMPARE + text))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[input]", "[inputs]", 'unknown key "inputs"; did you mean "input"'),
        ('path = "traces/**/*.*"', "", r"\[input\]: `path` is missing"),
        ('path = "traces/**/*.*"', "path = 3", "must be a path or a list of paths, got 3"),
        ("[store]", '[store]\nformat = "parquet"', "a store is a Delta table: leave out `format`"),
        ('path = "scores"', 'path = "ftp://bucket/scores"', "unknown object store ftp://"),
        ('type = "exact_match"', 'type = "exact"', "unknown metric"),
        ("[store]", "[store", "job.toml"),
        ('baseline = "v1"', "", r"\[compare\]: `baseline` is missing"),
    ],
)
def test_wrong_job_files_are_told_with_their_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    job = make_job(tmp_path, more=COMPARE)
    job.write_text(job.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=message):
        Job.load(job)


def test_a_kind_of_gate_that_does_not_evaluate_cannot_be_made() -> None:
    try:

        class Mute(Gate, rule="mute"):
            pass

        with pytest.raises(TypeError, match=r"abstract method.* evaluate"):
            Mute()  # type: ignore[abstract]
        with pytest.raises(TypeError, match="two gates have the rule 'mute'"):

            class Again(Gate, rule="mute"):
                pass

    finally:
        Gate.kinds.pop("mute", None)


def test_a_gate_that_judged_nothing_fails() -> None:
    class Idle(MinPassRate, rule="idle"):
        def evaluate(self, seen: GateInput) -> Findings:
            return Findings(0)

    Gate.kinds.pop("idle")
    result = Idle(min_pass_rate=0.5).result(GateInput(("m",), pl.LazyFrame(), None, None))
    assert (result.status, result.lines) == ("failed", ("there is no row to judge",))


MEASURED = '{ name = "latency_ms" }, { name = "retries", lower_is_better = true, min_effect = 0.2 }'


def measured(folder: Path, gates: str, *, slower: float = 1.0, failed: int = 0) -> Path:
    """Make two versions that answer alike; v2 is slower and fails so many times."""
    suite = f'metric = [{{ type = "exact_match" }}]\nmeasure = [{MEASURED}]'
    job = make_job(folder, more=COMPARE + gates, suite=suite)
    took = np.random.default_rng(0).lognormal(6, 0.3, 200)
    for number, (model, factor, lost) in enumerate((("v1", 1.0, 0), ("v2", slower, failed)), 1):
        gone = pl.int_range(pl.len()) < lost
        rows = traces(range(200), model, latency_ms=took * factor, retries=[1] * 200).with_columns(
            output=pl.when(~gone).then("output"), error=pl.when(gone).then(pl.lit("timeout"))
        )
        deliver(rows, folder / f"traces/{model}.parquet", number)
    return job


@pytest.mark.parametrize(("slower", "status"), [(1.4, "failed"), (0.7, "passed")])
def test_a_slower_version_fails_and_a_faster_one_does_not(tmp_path: Path, slower: float, status: str) -> None:
    gates = '[[gate]]\nmetric = "latency_ms"\nfail_on = "regressed"\n[[gate]]\nfail_on = "regressed"\n'
    outcome = run(measured(tmp_path, gates, slower=slower))
    assert [gate.status for gate in outcome.gates] == [status] * 2
    assert outcome.comparison is not None
    assert list(outcome.comparison.spec.measures) == ["latency_ms", "retries"]
    if status == "failed":
        assert outcome.gates[0].lines[0].startswith("v2 latency_ms: 422.1 → 591 ms")


def test_a_margin_of_a_measure_is_in_its_unit_and_direction(tmp_path: Path) -> None:
    gates = "".join(
        f'[[gate]]\nmetric = "latency_ms"\nnot_worse_than = {margin}\nsequential = false\n'
        for margin in (20, 200)
    )
    outcome = run(measured(tmp_path, gates, slower=1.2))
    assert [gate.status for gate in outcome.gates] == ["failed", "passed"]
    assert "worse by more than 20" in outcome.gates[0].lines[0]
    faster = measured(tmp_path / "faster", gates, slower=0.5)
    assert [gate.status for gate in run(faster).gates] == ["passed", "passed"]


@pytest.mark.parametrize(("failed", "statuses"), [(0, ["passed"] * 4), (40, ["failed"] * 3 + ["passed"])])
def test_failed_calls_have_gates_of_their_own(tmp_path: Path, failed: int, statuses: list[str]) -> None:
    gates = """
[[gate]]
max_error_rate = 0.1
[[gate]]
metric = "error"
fail_on = "regressed"
[[gate]]
metric = "answered"
fail_on = "regressed"
[[gate]]
metric = "exact_match"
fail_on = "regressed"
"""
    outcome = run(measured(tmp_path, gates, failed=failed))
    assert [gate.status for gate in outcome.gates] == statuses
    assert all(gate.judged for gate in outcome.gates)
    if failed:
        assert outcome.gates[0].lines[0].startswith("v2 errors: 20.0% of 200 rows have one, more than 10.0%")


def test_measures_of_a_comparison_replace_those_of_the_suite(tmp_path: Path) -> None:
    job = measured(tmp_path, "")
    text = job.read_text()
    job.write_text(text.replace("[compare]", '[compare]\nmeasures = ["retries"]'))
    found = Job.load(job).compare
    assert found is not None
    assert found.measures["retries"].min_effect == 0.2
    job.write_text(text.replace("[compare]", "[compare]\nmeasures = { latency_ms = { min_efect = 3 } }"))
    with pytest.raises(ConfigError, match='did you mean "min_effect"'):
        Job.load(job)
    job.write_text(text.replace("lower_is_better = true", "lower_is_beter = true"))
    with pytest.raises(ConfigError, match=r'measure.*did you mean "lower_is_better"'):
        Job.load(job)


def test_every_gate_is_known_and_in_the_docs() -> None:
    """Kinds that other tests make are no part of the package."""
    kinds = {rule: kind for rule, kind in Gate.kinds.items() if kind.__module__.startswith(package.__name__)}
    assert len(kinds) == 12
    told = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")
    assert [rule for rule in kinds if rule not in told] == []


def share_of_100(folder: Path, gates: str, spoilt: int) -> Path:
    """Make a job whose candidate fails so many of 100 items that the baseline passes."""
    job = make_job(folder, more=COMPARE + gates, suite='metric = [{ type = "exact_match" }]')
    right = traces(range(100)).with_columns(output="expected")
    wrong = pl.when(pl.int_range(pl.len()) < spoilt).then(pl.lit("?")).otherwise("output")
    deliver(right, folder / "traces/v1.parquet", 1)
    later = right.with_columns(model=pl.lit("v2"), trace_id="v2" + pl.col("trace_id"), output=wrong)
    deliver(later, folder / "traces/v2.parquet", 2)
    return job


@pytest.mark.parametrize(
    ("rule", "spoilt", "status"),
    [
        ("max_drop = 0.02", 2, "passed"),
        ("max_drop = 0.02", 3, "failed"),
        ("max_relative_drop = 0.05", 5, "passed"),
        ("max_relative_drop = 0.05", 6, "failed"),
        ("max_newly_failing = 5", 5, "passed"),
        ("max_newly_failing = 5", 6, "failed"),
    ],
)
def test_bounds_without_a_test(tmp_path: Path, rule: str, spoilt: int, status: str) -> None:
    outcome = run(share_of_100(tmp_path, f"[[gate]]\n{rule}\n", spoilt))
    [gate] = outcome.gates
    assert (gate.status, gate.judged, outcome.exit_code()) == (status, 100, int(status == "failed"))
    if status == "failed":
        assert all(line.startswith("v2 exact_match: ") for line in gate.lines)
        assert f"FAILED {rule}: " in outcome.lines()[0]


@pytest.mark.parametrize("rule", ["max_drop = -1", "max_newly_failing = nan", 'max_drop = 0.1\nlevel = "x"'])
def test_wrong_bounds(tmp_path: Path, rule: str) -> None:
    with pytest.raises(ConfigError):
        Job.load(make_job(tmp_path, more=f"{COMPARE}[[gate]]\n{rule}\n"))


def test_an_advisory_gate_reports_and_never_fails(tmp_path: Path) -> None:
    gates = '[[gate]]\nmax_newly_failing = 5\nlevel = "advisory"\n[[gate]]\nmax_drop = 1.0\n'
    outcome = run(share_of_100(tmp_path, gates, 60))
    assert [gate.status for gate in outcome.gates] == ["advisory", "passed"]
    assert (outcome.exit_code(), outcome.status) == (0, "passed")
    assert outcome.lines()[0].startswith("advisory max_newly_failing = 5: v2 exact_match: 60")
    assert outcome.lines()[1].startswith(
        "passed max_drop = 1: 100 items judged; regressed: v2 exact_match 100% → 40% (−60 points)"
    )
    assert "<failure" not in outcome.to_junit()
    assert outcome.to_markdown().splitlines()[0] == "## polars-evals: passed"
    assert json.loads(outcome.to_json())["gates"][0]["status"] == "advisory"


def test_the_page_says_which_gate_failed(tmp_path: Path) -> None:
    more = '[[gate]]\nmax_newly_failing = 5\n[report]\nhtml = "report.html"\n'
    outcome = run(share_of_100(tmp_path, more, 60))
    assert outcome.exit_code() == 1
    page = (tmp_path / "report.html").read_text()
    assert "FAILED max_newly_failing = 5" in page
    assert outcome.gates[0].lines[0] in page
    assert outcome.to_markdown().splitlines()[0] == "## polars-evals: a gate failed"


def test_a_page_that_fails_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = '[[gate]]\nmax_newly_failing = 5\n[report]\nhtml = "report.html"\njunit = "j.xml"\n'
    monkeypatch.setattr("polars_evals.drift.Comparison.to_html", lambda *_, **__: 1 / 0)
    outcome = run(share_of_100(tmp_path, more, 60))
    assert outcome.exit_code() == 1
    assert list(outcome.unwritten) == [str(tmp_path / "report.html")]
    assert (tmp_path / "j.xml").exists()


@pytest.mark.parametrize("timed", [True, False])
def test_a_retired_candidate_does_not_keep_a_job_red(tmp_path: Path, timed: bool) -> None:
    gate = "[[gate]]\nmax_newly_failing = 5\n"
    job = share_of_100(tmp_path, gate, 60)
    newest = job.read_text().replace("[compare]", '[compare]\ncandidate = "newest"')
    assert run(job).exit_code() == 1
    good = pl.read_parquet(tmp_path / "traces/v1.parquet").with_columns(
        model=pl.lit("a3"), trace_id="a3" + pl.col("trace_id")
    )
    if timed:
        good = good.with_columns(ts=pl.lit(datetime(2026, 1, 1)))
    deliver(good, tmp_path / "traces/a3.parquet", 1)
    assert run(job).exit_code() == 1
    job.write_text(job.read_text().replace("[compare]", '[compare]\nignore = ["v2"]'))
    outcome = run(job)
    assert (outcome.exit_code(), list(outcome.verdicts)) == (0, ["a3"])
    job.write_text(newest)
    outcome = run(job)
    assert (outcome.exit_code(), list(outcome.verdicts)) == (0, ["a3"])


def test_a_csv_file_of_items_has_no_formulas(tmp_path: Path) -> None:
    job = share_of_100(tmp_path, '[report]\nitems = "items.csv"\n', 60)
    frame = pl.read_parquet(tmp_path / "traces/v2.parquet")
    formula = pl.when(pl.col("output") == "?").then(pl.lit("=1+1")).otherwise("output")
    deliver(frame.with_columns(output=formula), tmp_path / "traces/v2.parquet", 2)
    run(job)
    assert set(pl.read_csv(tmp_path / "items.csv")["candidate_output"]) == {"'=1+1"}


@pytest.mark.parametrize("where", ["[[aggregate]]", "[[suite.aggregate]]"])
def test_an_aggregate_is_judged_like_a_metric(tmp_path: Path, where: str) -> None:
    gates = "".join(
        f'[[gate]]\nmetric = "accuracy"\n{rule}\n' for rule in ("max_drop = 0.1", 'fail_on = "regressed"')
    )
    job = share_of_100(tmp_path, f'{where}\ntype = "accuracy"\n{gates}', 60)
    outcome = run(job)
    assert [gate.status for gate in outcome.gates] == ["failed", "failed"]
    assert outcome.gates[0].name == "accuracy: max_drop = 0.1"
    assert outcome.gates[0].lines[0].startswith("v2 accuracy: score 1 → 0.4, a drop of 0.6")
    job.write_text(job.read_text().replace('metric = "accuracy"\nmax', 'metric = "acuracy"\nmax'))
    with pytest.raises(ConfigError, match='unknown metric "acuracy"; did you mean "accuracy"'):
        Job.load(job)
    job.write_text(job.read_text().replace('"acuracy"\nmax_drop', '"accuracy"\nmin_pass_rate'))
    with pytest.raises(ConfigError, match='unknown metric "accuracy"'):
        Job.load(job)


def test_expected_values_come_from_a_dataset(tmp_path: Path) -> None:
    rows = traces(range(30))
    rows.select("item_id", answer="expected").write_csv(tmp_path / "qa.csv")
    deliver(rows.drop("expected"), tmp_path / "traces/a.parquet", 1)
    job = make_job(tmp_path)
    dataset = '[input]\npath = "traces/**/*.*"\n[input.dataset]\npath = "qa.csv"\nexpected = "answer"\n'
    job.write_text(job.read_text().replace('[input]\npath = "traces/**/*.*"\n', dataset))
    assert run(job).rows == 30
    assert scan_store(tmp_path / "scores").collect()["exact_match_score"].mean() == pytest.approx(2 / 3)
    job.write_text(job.read_text().replace('expected = "answer"', 'expected = "anwser"'))
    with pytest.raises(ConfigError, match=r'\[input.dataset\]: `expected` names .* did you mean "answer"'):
        Job.load(job)


def test_a_gate_may_be_about_an_aggregate(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    expected = rng.choice(list("abc"), 200)
    frames = [
        pl.DataFrame(
            {
                "trace_id": [f"{model}-{n}" for n in range(200)],
                "item_id": [str(n) for n in range(200)],
                "model": model,
                "output": np.where(rng.random(200) < right, expected, rng.choice(list("abc"), 200)),
                "expected": expected,
            }
        )
        for model, right in (("v1", 0.9), ("v2", 0.4))
    ]
    pl.concat(frames).write_parquet(tmp_path / "traces.parquet")
    job = tmp_path / "job.toml"
    job.write_text(
        '[input]\npath = "traces.parquet"\n[suite]\n[[suite.metric]]\ntype = "exact_match"\n'
        '[[suite.aggregate]]\ntype = "macro_f1"\nname = "label_f1"\n[store]\npath = "scores"\n'
        '[compare]\nversion = "model"\nbaseline = "v1"\nitem = "item_id"\n'
        '[[gate]]\nmetric = "label_f1"\nfail_on = "regressed"\n'
        '[[gate]]\nmetric = "label_f1"\nmax_drop = 0.9\n'
    )
    done = run(job)
    assert [gate.status for gate in done.gates] == ["failed", "passed"]
    assert "label_f1_counts" in scan_store(tmp_path / "scores").collect_schema()
    job.write_text(job.read_text().replace('metric = "label_f1"', 'metric = "label_f2"'))
    with pytest.raises(ConfigError, match=r'unknown metric "label_f2"; did you mean "label_f1"'):
        run(job)
