"""The command as it is used: in processes, with files, exit codes and output that machines read."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import polars_evals as pe
from polars_evals.cli import console
from tests.jobs.support import COMPARED, DATA, command, deliver, invoke, make_job, start, traces


def test_from_traces_to_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "evals.toml").write_text('[[metric]]\ntype = "levenshtein"\nthreshold = 0.8\n')
    ended = command(
        "score", DATA, "--suite", "evals.toml", "--output", "scored.parquet", "--json", cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    expected = pe.Suite.load(tmp_path / "evals.toml").score(pl.read_parquet(DATA))
    assert told["rows"] == len(expected)
    assert told["metrics"]["levenshtein"]["mean"] == pytest.approx(
        expected["levenshtein_score"].mean(), abs=1e-12
    )
    assert pe.signatures(tmp_path / "scored.parquet") == told["signatures"]
    ended = command(
        "compare", "scored.parquet", *COMPARED, "--candidate", "assistant-2.0",
        "--html", "report.html", "--junit", "report.xml", "--markdown", "report.md", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    compared = json.loads(ended.stdout)
    assert compared["verdict"] == "regressed"
    regressed = {row["slice"] for row in compared["slices"]["rows"] if row["verdict"] == "regressed"}
    assert regressed == {"topic=medicine"}
    assert "assistant-2.0" in (tmp_path / "report.html").read_text()
    assert ET.parse(tmp_path / "report.xml").getroot().tag == "testsuites"
    assert "regressed" in (tmp_path / "report.md").read_text()


def test_a_job_from_end_to_end(tmp_path: Path) -> None:
    """The scheduled way: run, run again, and read the store in Python."""
    (tmp_path / "evals.toml").write_text('[[metric]]\ntype = "levenshtein"\n')
    (tmp_path / "job.toml").write_text(
        f"""
[input]
path = "{DATA}"
[suite]
path = "evals.toml"
[store]
path = "scores"
[compare]
version = "model"
baseline = "assistant-1.0"
candidate = "assistant-2.0"
item = "item_id"
by = ["topic"]
[[gate]]
metric = "levenshtein"
fail_on = "regressed"
[report]
html = "out/report.html"
junit = "out/report.xml"
summary = "out/summary.json"
markdown = "out/report.md"
"""
    )
    steps = tmp_path / "steps.md"
    environment = os.environ | {"GITHUB_STEP_SUMMARY": str(steps)}
    ended = command("run", tmp_path / "job.toml", env=environment)
    assert ended.returncode == 1, ended.stderr
    assert (
        "FAILED levenshtein: fail_on = regressed: assistant-2.0 levenshtein, topic=medicine" in ended.stdout
    )
    assert "2,160 rows added" in ended.stdout
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert (summary["verdict"], summary["exit_code"], summary["added"]) == ("regressed", 1, 2160)
    assert set(summary["reports"]) == {"html", "junit", "markdown"}
    assert ET.parse(tmp_path / "out/report.xml").getroot().get("failures") == "1"
    assert steps.read_text() == (tmp_path / "out/report.md").read_text()
    again = command("run", tmp_path / "job.toml", "--json")
    assert json.loads(again.stdout)["added"] == 0
    ended = command("compare", tmp_path / "scores", *COMPARED, "--candidate", "assistant-1.1")
    assert ended.returncode == 0, ended.stderr


def test_plain_python_does_the_same(tmp_path: Path) -> None:
    traces_frame = pe.scan_traces(DATA, keep=["topic"], rows="all")
    suite = pe.Suite([pe.Metric("levenshtein")])
    comparison = pe.compare(
        suite.score(traces_frame),
        version="model",
        baseline="assistant-1.0",
        candidate="assistant-2.0",
        item="item_id",
        by="topic",
    )
    assert comparison.slices.filter(verdict="regressed")["slice"].to_list() == ["topic=medicine"]


def test_platform_exports_are_scored_by_their_canonical_columns(tmp_path: Path) -> None:
    export = Path(__file__).parents[1] / "traces/fixtures/braintrust/events.jsonl"
    code, out, error = invoke(
        "score", export, "--metric", "exact_match", "-o", tmp_path / "scored.parquet", "--json"
    )
    assert code == 0, error
    assert json.loads(out)["rows"] > 0
    assert "item_id" in pl.read_parquet_schema(tmp_path / "scored.parquet")


def test_columns_of_ones_own(tmp_path: Path) -> None:
    pl.DataFrame({"q": ["a", "b"], "answer": ["x", "y"], "truth": ["x", "z"]}).write_parquet(
        tmp_path / "own.parquet"
    )
    code, _, error = invoke(
        "score", tmp_path / "own.parquet", "--metric", "exact_match", "-o", tmp_path / "scored.parquet",
        "--column", "output=answer", "--column", "expected=truth", "--column", "input=q",
    )  # fmt: skip
    assert code == 0, error
    assert pl.read_parquet(tmp_path / "scored.parquet")["exact_match_score"].to_list() == [1.0, 0.0]


def test_files_whose_columns_differ(tmp_path: Path) -> None:
    traces(range(3)).write_parquet(tmp_path / "a.parquet")
    traces(range(3, 5), cost=[1, 2]).write_parquet(tmp_path / "b.parquet")
    code, _, _ = invoke("score", tmp_path, "--metric", "exact_match", "-o", tmp_path / "out/scored.parquet")
    assert code == 0
    assert pl.read_parquet(tmp_path / "out/scored.parquet")["cost"].to_list() == [None] * 3 + [1, 2]
    traces(range(3, 5), cost=["x", "y"]).write_parquet(tmp_path / "c.parquet")
    code, _, error = invoke(
        "score", tmp_path / "*.parquet", "--metric", "exact_match", "-o", tmp_path / "out/again.parquet"
    )
    assert (code, error) == (0, "")
    # A column of two kinds becomes text.
    texts = [None] * 3 + ["1", "2", "x", "y"]
    assert pl.read_parquet(tmp_path / "out/again.parquet")["cost"].to_list() == texts


def test_scores_made_in_different_ways_are_refused(tmp_path: Path, scored: Path) -> None:
    (tmp_path / "evals.toml").write_text('[[metric]]\ntype = "levenshtein"\nthreshold = 0.2\n')
    invoke("score", DATA, "--suite", tmp_path / "evals.toml", "-o", tmp_path / "other.parquet")
    code, _, error = invoke("compare", scored, tmp_path / "other.parquet", *COMPARED)
    assert code == 3
    assert "not made in the same way" in error


def test_exit_zero_reports_without_judging(tmp_path: Path, scored: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = invoke("compare", scored, *COMPARED, "--html", page, "--json", "--exit-zero")
    verdicts = {"assistant-1.1": "inconclusive", "assistant-2.0": "regressed"}
    assert (code, json.loads(out)["verdicts"]) == (0, verdicts)
    assert page.read_text().startswith("<!DOCTYPE html>")
    code, _, error = invoke("compare", scored, *COMPARED, "--time", "ts")
    assert (code, "name the page with --html" in error) == (2, True)


def test_timeline(tmp_path: Path, scored: Path) -> None:
    code, out, _ = invoke("timeline", scored, "--by", "topic", "--metric", "levenshtein", "--json")
    line = json.loads(out)
    fell = [row["slice"] for row in line["summary"]["rows"] if row["verdict"] == "regressed"]
    assert (code, fell) == (1, ["topic=medicine"])
    same = pe.timeline(pl.read_parquet(scored), time="ts", by="topic", metrics=["levenshtein"])
    assert line == json.loads(same.to_json())
    code, out, _ = invoke("timeline", scored, "--html", tmp_path / "line.html", "--fail-on-inconclusive")
    assert code == 4
    assert (tmp_path / "line.html").exists()


def test_metrics_are_listed_with_their_options() -> None:
    code, out, _ = invoke("metrics", "--json")
    found = {one["metric"]: one for one in json.loads(out)}
    assert code == 0
    assert found["levenshtein"]["options"]["threshold"] == 0.7
    assert found["regex_match"]["required"] == ["pattern"]
    assert "characters" in invoke("metrics", "levenshtein")[1]
    assert invoke("metrics", "levenstein")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["score", "nowhere.parquet", "--metric", "exact_match", "-o", "x.parquet"],
            3,
            "no such file or folder",
        ),
        (["score", DATA, "--metric", "exact", "-o", "x.parquet"], 2, "unknown metric"),
        (["score", DATA, "--metric", "exact_match,rouge", "-o", "x.parquet"], 2, "repeating the option"),
        (["score", DATA, "-o", "x.parquet"], 2, "--suite"),
        (["score", DATA, "--suite", "nowhere.toml", "-o", "x.parquet"], 2, "suite cannot be read"),
        (["score", DATA, "--metric", "exact_match", "-o", "x.csv"], 2, "must end in .parquet"),
        (["score", DATA, "--metric", "exact_match", "-o", "x.parquet", "--format", "langfus"], 2, "langfuse"),
        (["score", DATA, "--metric", "exact_match", "-o", "x.parquet", "--rows", "al"], 2, "did you mean"),
        (
            ["score", DATA, "--metric", "exact_match", "-o", "x.parquet", "--column", "output"],
            2,
            "output=answer",
        ),
        (
            ["compare", DATA, *COMPARED],
            3,
            "no <name>_score column of numbers; score first: with `polars",
        ),
        (["compare", "nowhere.parquet", *COMPARED], 3, "no such file"),
        (["compare", DATA], 3, "score first"),
        (["run", "nowhere.toml"], 2, "no such job file"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_mistakes_are_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended, out, error = invoke(*arguments)
    assert (ended, out) == (code, "")
    assert message in error
    assert "Traceback" not in error
    assert os.listdir(tmp_path) == []


def test_debug_shows_the_trace(tmp_path: Path) -> None:
    ended = command("--debug", "run", tmp_path / "nowhere.toml")
    assert ended.returncode == 2
    assert "Traceback" in ended.stderr


def test_every_command_has_help_with_an_example() -> None:
    for name in ("score", "compare", "timeline", "run", "metrics", "demo"):
        code, out, _ = invoke(name, "--help")
        assert code == 0
        assert f"polars-evals {name}" in out.split("Example")[1]


def test_the_demo_finds_what_was_planted(tmp_path: Path) -> None:
    code, out, _ = invoke("demo", "--output", tmp_path / "demo", "--json")
    told = json.loads(out)
    assert (code, told["verdict"]) == (0, "regressed")
    assert {row["slice"] for row in told["slices"] if row["verdict"] == "regressed"} == {"topic=medicine"}
    assert {row["slice"] for row in told["slices"] if row["verdict"] == "improved"} == {"topic=arithmetic"}
    assert Path(told["html"]).read_text().startswith("<!DOCTYPE html>")
    lines = invoke("demo", "--output", tmp_path / "demo")[1].splitlines()
    assert lines[0].startswith("assistant-2.0 against assistant-1.0: medicine is worse: 43 of 120 items")
    assert lines[-2:] == [f"scores: {tmp_path}/demo/scored.parquet", f"report: {tmp_path}/demo/report.html"]
    assert len(lines) <= 20


def test_importing_the_package_imports_no_extra() -> None:
    extras = ["typer", "rich", "click", "deltalake"]
    code = f"import sys, polars_evals; print([name for name in {extras} if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_a_table_for_the_terminal_imports_nothing_that_compares() -> None:
    slow = ["polars_evals.drift", "scipy", "pyarrow", "altair"]
    code = "import sys, polars_evals.report.terminal, polars_evals.jobs.inputs; "
    code += f"print([name for name in {slow} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_a_missing_extra_is_told(tmp_path: Path) -> None:
    (tmp_path / "deltalake").mkdir()
    (tmp_path / "deltalake/__init__.py").write_text("raise ModuleNotFoundError('no', name='deltalake')")
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ended = command("run", job, env=environment)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "needs the package deltalake" in ended.stderr
    assert "pip install 'polars-evals[jobs]'" in ended.stderr


def test_progress_only_on_a_terminal(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    arguments = [sys.executable, "-m", "polars_evals.cli", "run", str(job)]
    ours, theirs = pty.openpty()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=theirs):
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 1_000):
                seen += piece
        except OSError:
            pass  # the other end is closed
    os.close(ours)
    assert b"scoring files" in seen
    assert command("run", job).stderr == ""


def test_options_of_score_do_not_change_the_population(tmp_path: Path) -> None:
    answers = pl.DataFrame(
        {"output": ["4", None, "x"], "expected": ["4", "5", "6"], "topic": ["a", "b", "b"]}
    )
    answers.write_parquet(tmp_path / "answers.parquet")
    answers.rename({"output": "answer", "expected": "gold"}).write_parquet(tmp_path / "renamed.parquet")

    def scored(*arguments: object) -> tuple[int, float]:
        code, told, error = invoke(
            "score", *arguments, "--metric", "exact_match", "-o", tmp_path / "out.parquet", "--json"
        )
        assert code == 0, error
        result = json.loads(told)
        return result["rows"], result["metrics"]["exact_match"]["mean"]

    plain = scored(tmp_path / "answers.parquet")
    assert plain == pytest.approx((3, 1 / 3))
    assert scored(tmp_path / "answers.parquet", "--keep", "topic") == plain
    assert scored(tmp_path / "answers.parquet", "--format", "generic") == plain
    renamed = (tmp_path / "renamed.parquet", "--column", "output=answer", "--column", "expected=gold")
    assert scored(*renamed) == plain
    assert scored(tmp_path / "answers.parquet", "--rows", "outputs") == (2, 0.5)
    assert scored(*renamed, "--rows", "outputs") == (2, 0.5)
    assert scored(*renamed, "--rows", "all") == plain


def test_score_reads_csv_and_refuses_other_kinds(tmp_path: Path) -> None:
    for name, expected in (("x.csv", 0), ("x.xlsx", 3)):
        (tmp_path / name).write_text("output,expected\na,b\n")
        code, _, error = invoke(
            "score", tmp_path / name, "--metric", "exact_match", "-o", tmp_path / "out.parquet"
        )
        assert code == expected
        assert expected == 0 or "x.xlsx: .xlsx cannot be read; use Parquet, JSON Lines, JSON, CSV" in error


def test_score_speaks_of_its_own_options(tmp_path: Path) -> None:
    pl.DataFrame({"answer": ["a"], "gold": ["b"]}).write_parquet(tmp_path / "g.parquet")

    def error_of(*options: str) -> str:
        output = tmp_path / "out.parquet"
        code, _, error = invoke(
            "score", tmp_path / "g.parquet", "--metric", "exact_match", "-o", output, *options
        )
        assert code in (2, 3)
        return error

    assert "has no column 'output'; name it with --column output=..." in error_of("--format", "generic")
    proposed = "read it with --column output=answer --column expected=gold if these are right"
    assert proposed in error_of("--column", "expected=gold")
    assert proposed in error_of()
    assert "--keep names 'cost'" in error_of("--keep", "cost", "--column", "output=answer")
    assert "--column output=... names 'anwser', which is not in" in error_of("--column", "output=anwser")
    assert "--column maps 'outptu'" in error_of("--column", "outptu=answer")


def test_one_is_not_many(tmp_path: Path) -> None:
    deliver(traces(range(1)), tmp_path / "traces/a.parquet", 1)
    code, told, _ = invoke(
        "score", tmp_path / "traces/a.parquet", "--metric", "exact_match", "-o", tmp_path / "out.parquet"
    )
    assert code == 0
    assert "Scored 1 row from 1 file with 1 metric." in told
    code, told, _ = invoke("run", make_job(tmp_path))
    assert code == 0
    assert "1 row added, 0 updated from 1 new file; 1 row in" in told


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ("version =", "versoin =", r'[compare]: unknown key "versoin"; did you mean "version"?'),
        ("baseline =", "basline =", r'[compare]: unknown key "basline"; did you mean "baseline"?'),
        ("version =", "zzz =", "[compare]: `version` is missing"),
        (
            "metric =",
            "file =",
            '[suite]: unknown key "file"; a suite has metric, measure, aggregate, output, expected, clean',
        ),
        ("metric =", "metrics =", '[suite]: unknown key "metrics"; did you mean "metric"?'),
    ],
)
def test_a_wrong_key_of_a_job_gets_the_right_one(tmp_path: Path, before: str, after: str, hint: str) -> None:
    job = make_job(tmp_path, more='[compare]\nversion = "model"\nbaseline = "v1"\n')
    assert before in job.read_text()
    job.write_text(job.read_text().replace(before, after))
    code, _, error = invoke("run", job)
    assert code == 2
    assert hint in error


def test_whoever_reads_may_leave() -> None:
    """With a code that no verdict has, and without a word."""
    arguments = [sys.executable, "-m", "polars_evals.cli", "metrics", "--json"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ended:
        assert ended.stdout is not None
        assert ended.stderr is not None
        ended.stdout.close()
        assert (ended.stderr.read(), ended.wait()) == (b"", 141)


def test_streams_may_be_closed(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    deliver(traces(range(3)), tmp_path / "traces/a.parquet", 1)
    run = f"{sys.executable} -m polars_evals.cli run"

    def shell(arguments: str) -> tuple[int, str, str]:
        ended = subprocess.run(
            f"{run} {arguments}", shell=True, capture_output=True, text=True, timeout=120, check=False
        )
        return ended.returncode, ended.stdout, ended.stderr

    assert shell(f"{job} >&-") == (0, "", "")
    assert shell(f"{job} 2>&-")[0] == 0
    assert shell(f"{tmp_path}/nowhere.toml 2>&-") == (2, "", "")


def test_the_other_engines_take_files_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[object]()

    def on_a_cluster(files: list[str], suite: pe.Suite, output: Path, *, engine: str) -> None:
        taken.append((files, engine))
        output.mkdir()
        suite.score(pl.read_parquet(files)).write_parquet(output / "0.parquet")

    monkeypatch.setattr("polars_evals.cluster.score_parquet", on_a_cluster)
    arguments = ["score", DATA, "--metric", "exact_match", "--engine", "ray"]
    code, _, error = invoke(*arguments, "-o", tmp_path / "out")
    assert code == 0, error
    assert taken == [([str(DATA)], "ray")]
    code, _, error = invoke(*arguments, "-o", tmp_path / "again", "--rows", "outputs")
    assert (code, "leave out the options of traces" in error) == (2, True)
    (tmp_path / "a.jsonl").write_text('{"output": "x"}')
    arguments[1] = tmp_path / "a.jsonl"
    code, _, error = invoke(*arguments, "-o", tmp_path / "again")
    assert (code, "reads Parquet files" in error) == (3, True)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_console_of_another_encoding(encoding: str, tmp_path: Path) -> None:
    """As those of Windows: what it cannot show stands there in other characters, and JSON loses nothing."""
    names = {"assistant-1.0": "v1 → ◇", "assistant-2.0": "v2 → 中🙂"}
    frame = pl.read_parquet(DATA).with_columns(pl.col("model").replace(names))
    pe.Suite([pe.Metric("exact_match")]).score(frame).write_parquet(tmp_path / "scored.parquet")
    before, after = names.values()
    asked = ("compare", "scored.parquet", "--version", "model", "--item", "item_id")
    shown, told = (
        command(
            *asked, "--baseline", before, "--candidate", after, *more, cwd=tmp_path, encoding=encoding,
            env=os.environ | {"PYTHONIOENCODING": encoding},
        )
        for more in ((), ("--json",))
    )  # fmt: skip
    for ended in (shown, told):
        assert (ended.returncode, ended.stderr) == (0, "")
    assert "v1 -> ?" in shown.stdout
    document = json.dumps(json.loads(told.stdout), ensure_ascii=False)
    assert before in document
    assert after in document


def test_a_table_without_its_characters() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\n")
    console.write("┌─────┐\n│ é → │\n└─────┘", stream)
    assert stream.buffer.getvalue().decode("cp1252") == "+-----+\n| é -> |\n+-----+\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "none.toml"], 2),
        (["status", "none.toml"], 2),
        (["maintain", "none.toml"], 2),
        (["score", "none.parquet", "--metric", "exact_match", "-o", "out.parquet"], 3),
        (["compare", "none.parquet", "--version", "model", "--baseline", "v1"], 3),
        (["timeline", "none.parquet"], 3),
        (["rank", "none.parquet", "--version", "model", "--item", "item_id"], 3),
        (["metrics", "exact_mach"], 2),
    ],
)
def test_an_error_is_json_where_json_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    ended, told, error = invoke(*arguments, "--json")
    assert ended == code
    found = json.loads(told)
    assert found["exit_code"] == code
    assert found["error"] in error
    assert invoke(*arguments)[1] == ""


def test_ctrl_c_while_the_command_is_imported_prints_no_traceback(tmp_path: Path) -> None:
    """The module that hangs stands for any that is slow to import."""
    (tmp_path / "polars").mkdir()
    (tmp_path / "polars/__init__.py").write_text(
        "import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(60)\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", "from polars_evals_command import main; main()", "metrics"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "begun").exists():
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=30)[1] == ""
    assert running.returncode == 130


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_stopped_score_leaves_no_temporary_files(tmp_path: Path, number: signal.Signals) -> None:
    long = "abcdefghij " * 2_000
    rows = pl.DataFrame({"output": [f"{n} {long}" for n in range(300)], "expected": [long] * 300})
    rows.write_parquet(tmp_path / "in.parquet")
    running = start(
        "score", tmp_path / "in.parquet", "--metric", "levenshtein", "-o", tmp_path / "out.parquet"
    )
    while len(list(tmp_path.iterdir())) < 2:
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert [file.name for file in tmp_path.iterdir()] == ["in.parquet"]


def test_a_name_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    deliver(traces(range(3)), tmp_path / "a.parquet", 1)
    for length in (248, 255):
        name = "x" * (length - len(".parquet")) + ".parquet"
        code, _, error = invoke(
            "score", tmp_path / "a.parquet", "--metric", "exact_match", "-o", tmp_path / name
        )
        assert code == 0, error
        assert pl.read_parquet(tmp_path / name).height == 3


def test_a_model_that_is_named_as_a_command_of_github_starts_no_line(tmp_path: Path) -> None:
    more = '[compare]\nversion = "model"\nbaseline = "v1"\n[[gate]]\nfail_on = "inconclusive"\n'
    job = make_job(tmp_path, more=more)
    deliver(traces(range(20)), tmp_path / "traces/a.parquet", 1)
    deliver(traces(range(20), "::add-mask::\n::error::x"), tmp_path / "traces/b.parquet", 1)
    for arguments in (["run", job], ["status", job], ["maintain", job, "--keep", "::warning::"]):
        _, told, error = invoke(*arguments)
        assert not re.search(r"(?m)^\s*(::|##\[)", told + error), told + error
    assert "::add-mask::" in invoke("status", job)[1]


def test_score_hints_at_choice_where_outputs_contain_the_expected_letter(tmp_path: Path) -> None:
    answers = pl.DataFrame({"output": ["ANSWER: A", "I say B."], "expected": ["A", "B"]})
    answers.write_parquet(tmp_path / "a.parquet")
    score = ("score", tmp_path / "a.parquet", "-o", tmp_path / "out.parquet", "--metric")
    assert (
        "no output equals its expected value, but 100% of the outputs contain it"
        in invoke(*score, "exact_match")[2]
    )
    answers.with_columns(output="expected").write_parquet(tmp_path / "a.parquet")
    assert invoke(*score, "exact_match")[2] == ""


def test_score_takes_expected_values_from_a_dataset(tmp_path: Path) -> None:
    pl.DataFrame({"item_id": ["q1", "q2"], "output": ["4", "5"]}).write_ndjson(tmp_path / "a.jsonl")
    pl.DataFrame({"item_id": ["q1", "q2"], "answer": ["4", "6"]}).write_csv(tmp_path / "qa.csv")
    code, told, error = invoke(
        *("score", tmp_path / "a.jsonl", "-o", tmp_path / "out.parquet", "--metric", "exact_match", "--json"),
        *("--dataset", tmp_path / "qa.csv", "--on", "item_id", "--expected", "answer"),
    )
    assert (code, error) == (0, "")
    assert json.loads(told)["metrics"]["exact_match"]["mean"] == 0.5


def test_compare_finds_versions_and_items(tmp_path: Path) -> None:
    for model in ("llama-7b", "llama-13b"):
        folder = tmp_path / "runs" / model
        folder.mkdir(parents=True)
        rows = [{"input": str(n), "output": "a" if n else model, "expected": "a"} for n in range(20)]
        (folder / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, error = invoke(
        "score", tmp_path / "runs/*/out.jsonl", "--metric", "exact_match", "-o", tmp_path / "out.parquet"
    )
    assert (code, error) == (0, "")
    code, told, _ = invoke("compare", tmp_path / "out.parquet", "--json")
    assert code == 0
    spec = json.loads(told)
    assert "llama-13b" in told
    assert "llama-7b" in told
    assert spec


def test_traces_takes_the_options_of_score_and_speaks_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "2 + 2?", "response": "4"}\n')
    code, told, _ = invoke("traces", tmp_path / "a.jsonl")
    assert code == 3
    assert "--column input=prompt --column output=response" in told
    assert "columns={" not in told
    options = ("--column", "input=prompt", "--column", "output=response")
    code, told, _ = invoke("traces", tmp_path / "a.jsonl", *options, "--rows", "all")
    assert code == 0
    assert told.startswith("1 row from 1 file, all with an output.\n")
