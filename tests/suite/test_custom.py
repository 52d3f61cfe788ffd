"""Metrics of one's own: functions, names, installed packages, and columns that are there."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import polars_evals as pe
from polars_evals.cli.app import app
from polars_evals.suite import custom

DF = pl.DataFrame({"output": ["Thank you", "No", None], "expected": ["a", "No", "b"], "judge": [5, 1, 3]})


def polite(output: pl.Expr) -> pl.Expr:
    """Say whether an answer is polite."""
    return output.str.contains("(?i)thank")


def same_length(output: pl.Expr, expected: pl.Expr, *, slack: int = 0) -> pl.Expr:
    return 1.0 / (1 + (output.str.len_chars().cast(pl.Int64) - expected.str.len_chars() - slack).abs())


def changed(output: pl.Expr, expected: pl.Expr, *, change: Any = lambda text: text + "!") -> Any:
    return change(output) == expected


def labelled(output: pl.Expr, **options: Any) -> pl.Expr:
    return pl.struct(score=pl.lit(options.get("score", 0.9)).repeat_by(1).list.first(), label=pl.lit("fail"))


def scored(*metrics: pe.Metric, frame: pl.DataFrame = DF) -> pl.DataFrame:
    return pe.Suite(metrics).score(frame).drop(frame.columns)


def test_functions() -> None:
    result = scored(pe.Metric(polite, threshold=0.7), pe.Metric(same_length, name="length", slack=-1))
    assert result["polite_score"].to_list() == [1.0, 0.0, 0.0]
    assert result["polite_label"].to_list() == ["pass", "fail", "fail"]
    assert result.columns == ["polite_score", "polite_label", "length_score", "length_label"]
    nulls = scored(pe.Metric(polite, missing="null"))
    assert nulls["polite_label"].to_list() == ["pass", "fail", None]
    lazy = pe.Suite([pe.Metric(polite)]).score(DF.lazy())
    assert lazy.collect_schema()["polite_score"] == pl.Float64
    assert lazy.collect(engine="streaming").equals(pe.Suite([pe.Metric(polite)]).score(DF))


def test_labels_of_ones_own_stay() -> None:
    result = scored(pe.Metric(labelled, score=0.95))
    assert result["labelled_label"].to_list() == ["fail"] * 3
    assert result["labelled_score"].to_list() == [0.95] * 3


def test_names_and_signatures() -> None:
    first = pe.metric(name="kindness", threshold=0.25, version="1")(lambda output: output.str.len_chars() > 3)
    suite = pe.Suite([pe.Metric("kindness")])
    assert suite.score(DF)["kindness_label"].to_list() == ["pass", "fail", "fail"]
    signature = suite.signature["kindness"]
    assert "threshold:0.25" in signature
    pe.metric(name="kindness", threshold=0.25, version="2")(first)
    assert pe.Suite([pe.Metric("kindness")]).signature["kindness"] != signature
    with pytest.raises(ValueError, match='unknown metric "kindnes"; did you mean "kindness"'):
        pe.Metric("kindnes")
    del custom.REGISTERED["kindness"]
    for function in (polite, changed):
        assert pickle.loads(pickle.dumps(pe.Metric(function))) == pe.Metric(function)


def broken(output: pl.Expr) -> pl.Expr:
    raise KeyError("tone")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (broken, r"metric \"x\": KeyError: 'tone'"),
        (lambda output: 3, "must return an expression, got 3"),
        (lambda: pl.lit(1), "must take the output as its first argument"),
    ],
)
def test_errors_name_the_metric(function: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pe.Metric(function, name="x")


def fails(text: str) -> float:
    raise KeyError(f"no score for {text}")


# What can go wrong in an expression of a user's function, once there are data.
FAILING: dict[str, Any] = {
    "no number": (lambda output: output, "must be a number, a Boolean"),
    "too large": (lambda output: output.str.len_chars(), "scores must be from 0 to 1, got 9"),
    "an element": (
        lambda output: output.map_elements(fails, return_dtype=pl.Float64),
        "KeyError: 'no score for Thank you'",
    ),
    "a batch": (
        lambda output: output.map_batches(lambda column: column.no_such_thing, return_dtype=pl.Float64),
        "no_such_thing",
    ),
    "a batch of elements": (
        lambda output: output.map_batches(fails, return_dtype=pl.Float64, is_elementwise=True),
        "no score for",
    ),
    "a file": (
        lambda output: output.map_batches(lambda _: Path("absent").read_bytes(), return_dtype=pl.Float64),
        "No such file or directory",
    ),
    "an operation": (
        lambda output: output.str.to_integer() > 1,
        "ComputeError: strict integer parsing failed",
    ),
    "a type": (lambda output: output.dt.year() > 1, "InvalidOperationError"),
}

WAYS = {
    "eager": lambda suite: suite.score(DF),
    "lazy": lambda suite: suite.score(DF.lazy()).collect(),
    "streaming": lambda suite: suite.score(DF.lazy()).collect(engine="streaming"),
    "one column": lambda suite: suite.score(DF.lazy()).select("mine_score").collect(),
    "groups": lambda suite: (
        suite.score(DF.lazy()).group_by("judge").agg(pl.col("mine_score").sum()).collect()
    ),
}


@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.parametrize("way", WAYS)
def test_errors_while_it_runs_name_the_metric(failing: str, way: str) -> None:
    function, message = FAILING[failing]
    suite = pe.Suite([pe.Metric("exact_match"), pe.Metric(polite), pe.Metric(function, name="mine")])
    with pytest.raises(pl.exceptions.InvalidOperationError, match=f'^metric "mine": .*{message}'):
        WAYS[way](suite)


def test_the_command_names_the_metric(tmp_path: Path) -> None:
    pe.metric(name="scowls")(lambda output: output.map_elements(fails, return_dtype=pl.Float64))
    DF.write_parquet(tmp_path / "in.parquet")
    arguments = [
        "score",
        str(tmp_path / "in.parquet"),
        "--metric",
        "scowls",
        "-o",
        str(tmp_path / "out.parquet"),
    ]
    ended = CliRunner().invoke(app, arguments)
    del custom.REGISTERED["scowls"]
    assert ended.exit_code == 3
    assert "metric \"scowls\": KeyError: 'no score for Thank you'" in ended.stderr


def test_results_that_depend_on_other_rows() -> None:
    """They are as Polars gives them over all rows, in a streaming query too."""
    frame = pl.DataFrame({"output": ["a", "ab", "abcd"] * 100_000})
    suite = pe.Suite(
        [pe.Metric(lambda output: output.str.len_chars() / output.str.len_chars().max(), name="share")]
    )
    expected = [0.25, 0.5, 1.0] * 100_000
    for scored in (suite.score(frame), suite.score(frame.lazy()).collect(engine="streaming")):
        assert scored["share_score"].to_list() == expected


@pytest.mark.parametrize(
    ("made", "across"),
    [
        (pl.col("a").str.len_chars() > 1, False),
        (pl.col("a").map_elements(len, return_dtype=pl.Int64), False),
        (pl.col("a").map_batches(lambda s: s.is_null(), return_dtype=pl.Boolean, is_elementwise=True), False),
        (pl.col("a").str.split(" ").list.eval(pl.element().str.len_chars()).list.mean(), False),
        (pl.when(pl.col("SLICE") == "x").then(1).otherwise(0), False),
        (pe.levenshtein("a", "SLICE"), False),
        (pl.lit(1), False),
        (pl.col("a").map_batches(lambda s: s.is_null(), return_dtype=pl.Boolean), True),
        (pl.col("a").str.len_chars() / pl.col("a").str.len_chars().max(), True),
        (pl.col("a").is_duplicated(), True),
        (pl.col("a").shift(1) == "x", True),
        (pl.col("a").str.len_chars().rank(), True),
        (pl.col("a").str.len_chars().mean().over("SLICE"), True),
        (pl.col("a").fill_null(strategy="forward").str.len_chars(), True),
        (pl.col("a").cum_count(), True),
        (pl.col("a").is_in(pl.col("SLICE").unique().implode()), True),
    ],
)
def test_what_looks_across_rows(made: pl.Expr, across: bool) -> None:
    assert custom.looks_across(made, pl.Schema({"a": pl.String, "SLICE": pl.String})) is across


def test_columns_that_are_there() -> None:
    result = scored(pe.Metric("column", name="stars", column="judge", low=1, high=5, threshold=0.5))
    assert result["stars_score"].to_list() == [1.0, 0.0, 0.5]
    assert result["stars_label"].to_list() == ["pass", "fail", "pass"]
    suite = pe.Suite.from_dict(
        {"metric": [{"type": "column", "name": "a", "column": "ok", "threshold": 1.0}]}
    )
    flags = pl.DataFrame({"ok": [True, False, None]})
    assert suite.score(flags)["a_score"].to_list() == [1.0, 0.0, 0.0]
    assert pe.Suite.from_dict(suite.to_dict()) == suite
    with pytest.raises(Exception, match="scores must be from 0 to 1, got 5"):
        scored(pe.Metric("column", name="stars", column="judge"))
    with pytest.raises(ValueError, match='would overwrite the column "judge_score"'):
        pe.Metric("column", name="judge", column="judge_score")
    with pytest.raises(ValueError, match='"column" is missing'):
        pe.Metric("column", name="judge")


# What builds the small package: no more than pip needs, so that the test needs no network.
BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    files = {
        "kind_words/__init__.py": open("kind_words/__init__.py").read(),
        "kind_words-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: kind-words\\nVersion: 1.0\\n",
        "kind_words-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "kind_words-1.0.dist-info/entry_points.txt":
            "[polars_evals.metrics]\\nwarmth = kind_words:warmth\\nlost = kind_words:lost\\n",
    }
    record = "kind_words-1.0.dist-info/RECORD"
    with zipfile.ZipFile(folder + "/kind_words-1.0-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(record, "".join(f"{path},,\\n" for path in [*files, record]))
    return "kind_words-1.0-py3-none-any.whl"
"""


def test_metrics_of_an_installed_package(tmp_path: Path) -> None:
    """A small package, installed for this test alone."""
    project, target = tmp_path / "project", tmp_path / "site"
    (project / "kind_words").mkdir(parents=True)
    (project / "kind_words/__init__.py").write_text(
        "import polars as pl\n\ndef warmth(output, *, word='dear'):\n    return output.str.contains(word)\n"
    )
    (project / "backend.py").write_text(BACKEND)
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-build-isolation",
        "--no-deps",
    ]
    subprocess.run(
        [*install, "--target", str(target), str(project)],
        check=True,
        capture_output=True,
    )
    suite = tmp_path / "evals.toml"
    suite.write_text('[[metric]]\ntype = "warmth"\nword = "my"\n')
    code = (
        "import polars as pl, polars_evals as pe\n"
        f"suite = pe.Suite.load({str(suite)!r})\n"
        "scored = suite.score(pl.DataFrame({'output': ['my', 'x']}))\n"
        "print(scored['warmth_score'].to_list(), suite.signature)\n"
        "try:\n    pe.Metric('lost')\nexcept ValueError as error:\n    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[1.0, 0.0]" in ran.stdout
    assert "function:kind_words.warmth" in ran.stdout
    assert 'the metric "lost" of kind_words:lost cannot be loaded' in ran.stdout


def same_words(output: str, expected: str, *, fold: bool = False) -> float | None:
    """The share of words in common, row by row."""
    if output == "No":
        return None
    left, right = (set((text.lower() if fold else text).split()) for text in (output, expected))
    return len(left & right) / len(left | right)


def test_functions_of_one_row() -> None:
    df = pl.DataFrame({"output": ["a B", "No", None, "x"], "expected": ["a b", "b", "c", None]})
    for missing, wanted in {
        "fail": [1.0, 0.0, 0.0, 0.0],
        "null": [1.0, None, None, None],
        "unlabelled": [1.0, None, 0.0, None],
    }.items():
        suite = pe.Suite([pe.Metric(same_words, rows=True, fold=True, missing=missing)])
        assert suite.score(df)["same_words_score"].to_list() == wanted
        assert suite.score(df.lazy()).collect(engine="streaming").equals(suite.score(df))
    assert pickle.loads(pickle.dumps(suite)) == suite
    assert "rows:yes" in suite.signature["same_words"]
    literal = pe.Suite([pe.Metric(same_words, rows=True, expected=pl.lit("a B"))])
    assert literal.score(df)["same_words_score"].to_list() == [1.0, 0.0, 0.0, 0.0]
    assert literal.score(df[:0])["same_words_score"].to_list() == []
    pe.metric(name="in_common", rows=True)(same_words)
    assert pe.Suite(["in_common"]).score(df)["in_common_score"].to_list()[0] == 1 / 3
    del custom.REGISTERED["in_common"]
    with pytest.raises(ValueError, match="levenshtein: `rows` is for a function of your own"):
        pe.Metric("levenshtein", rows=True)
    with pytest.raises(Exception, match=r"metric \"mine\": row 1, 'No': KeyError"):
        pe.Suite([pe.Metric(lambda output: {"a B": 1}[output], rows=True, name="mine")]).score(df)


def test_names_of_ours_are_taken() -> None:
    for name in ("rouge", "column"):
        with pytest.raises(ValueError, match=f'"{name}" is a metric of polars-evals.*my_{name}'):
            pe.metric(name=name)(polite)
        assert name not in custom.REGISTERED


def test_errors_of_encoders_name_the_metric() -> None:
    suite = pe.Suite([pe.Metric("semantic", name="meaning", encoder=lambda texts: [1 / 0 for _ in texts])])
    with pytest.raises(Exception, match=r"metric \"meaning\": .*`encoder` failed: ZeroDivisionError"):
        suite.score(pl.DataFrame({"output": ["a"], "expected": ["b"]}))


def test_missing_is_unlabelled() -> None:
    df = pl.DataFrame({"output": ["a", None, "a", None], "expected": ["a", "b", None, None]})
    for function in (polite, same_length):
        wanted = [0.0, 0.0] if function is polite else [0.0, None]
        scores = scored(pe.Metric(function, name="m", missing="unlabelled"), frame=df)["m_score"].to_list()
        assert scores[1] == 0.0
        assert scores[3] == wanted[1]
