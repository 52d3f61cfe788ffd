"""The pytest plugin, run by pytest's own `pytester` in projects that a user would have."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

import polars_evals as pe

pytest_plugins = ["pytester"]

PROJECT = """
import polars as pl
import polars_evals as pe

suite = pe.Suite([pe.Metric("{metric}"{options})])

def answers(wrong):
    expected = [f"answer {{n}}" for n in range(60)]
    output = ["nothing like it" if n < wrong else text for n, text in enumerate(expected)]
    return pl.DataFrame({{
        "item_id": [f"q{{n}}" for n in range(60)], "topic": ["a", "b"] * 30, "output": output,
        "expected": expected,
    }})

def test_answers(evals_baseline):
    scored = suite.score(answers({wrong}){rows})
    comparison = evals_baseline.check(scored, item="item_id", by=["topic"]{check})
    print("verdict", comparison.verdict)
"""


@pytest.fixture(scope="module", autouse=True)
def _everything_imported() -> None:
    """Import what a check imports: pytester forgets modules after each run, and some load only once."""
    scored = pl.DataFrame(
        {"item_id": [1, 2, 3] * 2, "model": ["a"] * 3 + ["b"] * 3, "m_score": [1.0, 0.5, 0.0] * 2}
    )
    pe.compare(scored, version="model", baseline="a", item="item_id").to_html()


def write(
    pytester: pytest.Pytester,
    wrong: int = 0,
    *,
    metric: str = "exact_match",
    options: str = "",
    rows: str = "",
    check: str = "",
) -> None:
    source = PROJECT.format(wrong=wrong, metric=metric, options=options, rows=rows, check=check)
    pytester.makepyfile(test_app=source)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest("-p", "no:cacheprovider", *arguments)


def started(pytester: pytest.Pytester, wrong: int = 0) -> Path:
    """Make a project that has a baseline."""
    write(pytester, wrong)
    run(pytester, "--evals-update").assert_outcomes(passed=1)
    return pytester.path / "__evals__" / "test_app.test_answers.parquet"


def test_without_a_baseline_the_check_fails_and_names_the_command(pytester: pytest.Pytester) -> None:
    write(pytester)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no baseline*", "*pytest --evals-update 'test_app.py::test_answers'*"])
    assert not (pytester.path / "__evals__").exists()


def test_update_writes_what_a_comparison_needs(pytester: pytest.Pytester) -> None:
    path = started(pytester)
    frame = pl.read_parquet(path)
    assert {"item_id", "output", "expected", "topic", "exact_match_score", "exact_match_label"} <= set(
        frame.columns
    )
    assert frame.height == 60
    assert "polars_evals.signatures" in pl.read_parquet_metadata(path)
    run(pytester).assert_outcomes(passed=1)


def test_a_regression_fails_with_what_a_developer_wants_to_see(pytester: pytest.Pytester) -> None:
    started(pytester)
    write(pytester, wrong=30)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "30 items newly fail, the first 5" in text
    assert "expected answer 0" in text
    assert "got      nothing like it" in text
    assert "To accept the change: pytest --evals-update 'test_app.py::test_answers'" in text
    page = re.search(r"Page: (\S+)", text)
    assert page is not None
    assert Path(page[1]).read_text(encoding="utf-8").startswith("<!")
    shown = [line.removeprefix("E").strip() for line in text.splitlines() if line.startswith("E ")]
    assert max(map(len, shown)) <= 100 + len(page[0])
    run(pytester, "--evals-update").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)


def test_an_improvement_passes_and_says_so(pytester: pytest.Pytester) -> None:
    started(pytester, wrong=30)
    write(pytester, wrong=0)
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*test_app.py::test_answers: improved: exact_match 0.500 → 1.000*--evals-update*"]
    )


@pytest.mark.parametrize("options", [", threshold=0.5", ", case_sensitive=True"])
def test_a_changed_suite_is_no_regression(pytester: pytest.Pytester, options: str) -> None:
    started(pytester)
    write(pytester, options=options)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*another suite*"])


def test_another_metric_is_another_suite(pytester: pytest.Pytester) -> None:
    started(pytester)
    write(pytester, metric="levenshtein")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*another suite*exact_match*levenshtein*"])


def test_missing_items_fail_and_new_ones_are_counted(pytester: pytest.Pytester) -> None:
    started(pytester)
    write(pytester, rows=".head(50)")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*10 of 60 items of the baseline are missing: q50, q51*"])
    run(pytester, "--evals-update").assert_outcomes(passed=1)
    write(pytester)
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*10 new items are not judged*"])


def test_an_empty_frame_fails_and_never_becomes_a_baseline(pytester: pytest.Pytester) -> None:
    path = started(pytester)
    write(pytester, rows=".clear()")
    for arguments in ((), ("--evals-update",)):
        result = run(pytester, *arguments)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*no rows*"])
    assert pl.read_parquet(path).height == 60


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (", fail_on=None, max_newly_failing=2", "3 items newly fail, more than 2"),
        (", fail_on=None, max_drop=0.04", "more than max_drop = 0.04 allows"),
        (", fail_on=None, max_relative_drop=0.04", "more than max_relative_drop = 0.04 allows"),
        (", fail_on=None, not_worse_than=0.02", "a loss of more than 0.02 is not ruled out"),
        (", fail_on='regresed'", "fail_on must be one of regressed, inconclusive"),
    ],
)
def test_the_options_of_a_gate(pytester: pytest.Pytester, check: str, text: str) -> None:
    started(pytester)
    write(pytester, wrong=3, check=check)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    assert text in result.stdout.str()


def test_a_drop_of_exactly_the_limit_is_allowed(pytester: pytest.Pytester) -> None:
    started(pytester)
    write(pytester, wrong=3, check=", fail_on=None, max_drop=0.05, max_newly_failing=3")
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.parametrize("check", [", not_worse_than=0.001", ", fail_on=['regressed', 'inconclusive']"])
def test_answers_that_did_not_change_pass(pytester: pytest.Pytester, check: str) -> None:
    started(pytester, wrong=3)
    write(pytester, wrong=3, check=check)
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*no score changed: exact_match*"])


def test_an_update_says_what_it_removes(pytester: pytest.Pytester) -> None:
    started(pytester)
    write(pytester, rows=".head(50)")
    result = run(pytester, "--evals-update")
    result.stdout.fnmatch_lines(["*baseline of 50 items, 10 removed written to *"])


def test_parametrized_tests_and_several_checks_have_files_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_many="""
        import polars as pl, pytest

        @pytest.mark.parametrize("model", ["gpt/4", "GPT-4", "gpt-4"])
        def test_one(evals_baseline, model):
            scored = pl.DataFrame({"item_id": range(20), "a_score": [1.0, 0.5] * 10})
            evals_baseline.check(scored)
            evals_baseline.check(scored)

        class TestGroup:
            def test_one(self, evals_baseline):
                evals_baseline.check(pl.DataFrame({"item_id": range(20), "a_score": [1.0, 0.5] * 10}))
        """
    )
    run(pytester, "--evals-update").assert_outcomes(passed=4)
    names = [path.name for path in (pytester.path / "__evals__").iterdir()]
    assert len(names) == 7
    assert len({name.lower() for name in names}) == 7
    run(pytester).assert_outcomes(passed=4)


def test_with_xdist(pytester: pytest.Pytester) -> None:
    started(pytester)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_app.py::test_answers: *exact_match 1.000 → 1.000*"])


def test_report_and_junit(pytester: pytest.Pytester) -> None:
    started(pytester)
    run(pytester, "--evals-report", "pages", "--junit-xml", "junit.xml").assert_outcomes(passed=1)
    assert (pytester.path / "pages" / "test_app.test_answers.html").exists()
    properties = {
        one.get("name"): one.get("value") for one in ET.parse(pytester.path / "junit.xml").iter("property")
    }
    assert properties["evals_exact_match_candidate_mean"] == "1.0"
    assert properties["evals_verdict"] in ("no_change", "inconclusive")


def test_it_can_be_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(): pass")
    run(pytester, "-p", "no:polars_evals").assert_outcomes(passed=1)


def test_starting_pytest_does_not_import_polars() -> None:
    code = (
        "import sys, polars_evals_pytest; print([name for name in sys.modules if name.startswith('polars')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['polars_evals_pytest']"
