"""Metrics are expressions of a plugin: plans name them, share them, and go to other processes."""

import ctypes
import json
import pickle
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_evals as pe
from polars_evals import _native
from tests.cases import CASES, Case

# What Python itself computes: a model, a schema, values of any depth.
IN_PYTHON = {"json_fields", "json_schema", "semantic", "tool_calls", "tool_calls_valid"}
NATIVE = [case for case in CASES if case.name not in IN_PYTHON]
# Polars finds the pattern, and this scores what it finds.
CALLED = {"regex_match": "given"}

STEPS = [
    pe.strip_reasoning("output"),
    pe.unfence("output"),
    pe.extract_json("output"),
    pe.extract_choice("output"),
    pe.extract_number("output"),
    pe.extract_after("output", "is", "Answer:"),
    pe.extract_boxed("output"),
    pe.extract_regex("output", r"(\w+)"),
    pe.extract_field("output", "$.a"),
]

RUN = """
import sys, polars as pl
for plan in sys.argv[1:]:
    frame = pl.LazyFrame.deserialize(plan).collect()
    frame.write_parquet(plan + ".parquet")
assert "polars_evals" not in sys.modules
"""


@pytest.mark.parametrize("case", NATIVE, ids=lambda case: f"{case.name}-{len(case.options)}")
def test_plans_name_the_function(case: Case) -> None:
    plan = case.frame.lazy().select(case(details=True)).explain()
    assert "python_udf" not in plan
    assert f":{CALLED.get(case.name, case.name)}(" in plan


def test_plans_run_where_the_package_is_not_imported(tmp_path: Path) -> None:
    queries = [case.frame.lazy().select(case(details=True)) for case in NATIVE]
    texts = pl.LazyFrame({"output": ["The answer is (B). 42", "```\nx\n```", None]})
    queries += [texts.select(step) for step in STEPS]
    queries.append(texts.select(pe.regex_match("output", r"\d+", details=True)))
    queries.append(
        pe.Suite([pe.Metric("rouge"), pe.Metric("bleu")]).score(texts.with_columns(expected="output"))
    )
    plans = [tmp_path / f"{number}.plan" for number in range(len(queries))]
    for query, plan in zip(queries, plans, strict=True):
        query.serialize(plan)
    subprocess.run([sys.executable, "-c", RUN, *map(str, plans)], check=True)
    for query, plan in zip(queries, plans, strict=True):
        assert_frame_equal(pl.read_parquet(f"{plan}.parquet"), query.collect(), categorical_as_str=True)


MAKE = """
import sys, polars as pl, polars_evals as pe
frame = pl.LazyFrame({"output": ["The cat", "a"], "expected": ["the hat", None]})
scored = pe.levenshtein("output", "expected", details=True), pe.rouge("output", "expected").alias("rouge")
frame.select(scored).serialize(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a running library cannot be moved")
def test_plans_run_after_the_environment_was_moved(tmp_path: Path) -> None:
    before, after, plan = tmp_path / "before", tmp_path / "after", tmp_path / "moved.plan"
    venv.create(before, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = before / "lib" / version / "site-packages"
    (packages / "everything_else.pth").write_text(
        "\n".join(p for p in sys.path if p.endswith("site-packages"))
    )
    installed = packages / "polars_evals"
    shutil.copytree(Path(pe.__file__).parent, installed, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_native.__file__, installed)
    subprocess.run([before / "bin" / "python", "-c", MAKE, plan], check=True)
    before.rename(after)
    subprocess.run([after / "bin" / "python", "-c", RUN, plan], check=True)
    scored = pl.read_parquet(f"{plan}.parquet")
    assert scored["levenshtein"].struct.field("distance").to_list() == [1, None]
    assert scored["rouge"].struct.field("score").to_list() == [0.5, 0.0]


def test_score_and_label_are_one_call() -> None:
    frame = pl.LazyFrame({"output": ["a", "b"], "expected": ["a", "c"]})
    scored = pe.levenshtein("output", "expected")
    query = frame.select(scored.struct.field("score"), scored.struct.field("label"))
    assert query.explain().count(":levenshtein(") == 1


def test_wrong_types_are_refused_by_the_schema() -> None:
    frame = pl.LazyFrame({"output": [1], "expected": ["a"]})
    message = (
        r"levenshtein: `output` must be text \(String, Categorical, Enum\) or a list of texts, got Int64"
    )
    with pytest.raises(pl.exceptions.ComputeError, match=message):
        frame.select(pe.levenshtein("output", "expected")).collect_schema()


def test_a_missing_label_is_no_failure() -> None:
    frame = pl.DataFrame({"output": ["a", None, "a", None], "expected": ["a", "a", None, None]})
    for metric in (pe.levenshtein, pe.rouge, pe.exact_match, pe.json_fields):
        scored = frame.select(metric("output", "expected", missing="unlabelled").alias("m")).unnest("m")
        assert scored["score"].to_list()[1:] == [0.0, None, None]


def test_a_step_of_polars_between_native_ones() -> None:
    frame = pl.DataFrame({"output": ["<think>x</think> so 7 then", "none"]})
    metric = pe.Metric(
        "exact_match",
        expected=pl.lit("7"),
        clean=["reasoning", {"regex": r"so (.*)"}, "number"],
        details=True,
    )
    scored = pe.Suite([metric]).score(frame)
    assert scored["exact_match_score"].to_list() == [1.0, 0.0]
    assert scored["exact_match_cleaning"].to_list() == [None, "no reasoning, no match of so (.*), no number"]


class ArrowSchema(ctypes.Structure):
    """As the Arrow C data interface has it."""


class ArrowArray(ctypes.Structure):
    """As the Arrow C data interface has it."""


class SeriesExport(ctypes.Structure):
    """As Polars hands columns to plugins."""


FREE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
FREE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
FREE_SERIES = ctypes.CFUNCTYPE(None, ctypes.POINTER(SeriesExport))
POINTER = ctypes.c_void_p
ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", POINTER),
    ("dictionary", POINTER),
    ("release", FREE_SCHEMA),
    ("private_data", POINTER),
]
ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(POINTER)),
    ("children", POINTER),
    ("dictionary", POINTER),
    ("release", FREE_ARRAY),
    ("private_data", POINTER),
]
SeriesExport._fields_ = [
    ("field", ctypes.POINTER(ArrowSchema)),
    ("arrays", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("len", ctypes.c_size_t),
    ("release", FREE_SERIES),
    ("private_data", POINTER),
]


class Column:
    """A column of one number or short text, which counts how often it is released."""

    def __init__(self, kind: bytes) -> None:
        self.released: list[str] = []
        self.free_array = FREE_ARRAY(self._release_array)
        self.free_series = FREE_SERIES(lambda _: self.released.append("series"))
        self.value = (ctypes.c_ubyte * 16)(1, 0, 0, 0, ord("a"))
        self.buffers = (POINTER * 3)(None, ctypes.addressof(self.value), None)
        self.array = ArrowArray(1, 0, 0, 3, 0, self.buffers, None, None, self.free_array, None)
        self.schema = ArrowSchema(kind, b"output", None, 2, 0, None, None, FREE_SCHEMA(), None)
        self.arrays = (ctypes.POINTER(ArrowArray) * 1)(ctypes.pointer(self.array))
        self.export = SeriesExport(ctypes.pointer(self.schema), self.arrays, 1, self.free_series, None)

    def _release_array(self, _: object) -> None:
        self.released.append("array")
        self.array.release = FREE_ARRAY()


def call_plugin(name: str, kinds: list[bytes], kwargs: bytes) -> tuple[str | None, list[list[str]]]:
    """Call a function of the library as Polars does: its error, and what was released of each column."""
    library = ctypes.CDLL(_native.__file__)
    columns = [Column(kind) for kind in kinds]
    inputs = (SeriesExport * len(columns))(*(column.export for column in columns))
    out = SeriesExport()
    function = library[f"_polars_plugin_{name}"]
    function.restype = None
    function(
        inputs, ctypes.c_size_t(len(columns)), kwargs, ctypes.c_size_t(len(kwargs)), ctypes.byref(out), None
    )
    error = None
    if out.private_data:
        out.arrays[0].contents.release(out.arrays[0])
        out.release(ctypes.byref(out))
    else:
        library._polars_plugin_get_last_error_message.restype = ctypes.c_char_p
        error = library._polars_plugin_get_last_error_message().decode()
    return error, [column.released for column in columns]


OPTIONS = {"metric": "levenshtein", "case_sensitive": False, "max_chars": None, "decimals": None}
COMMON = {"threshold": 0.5, "missing": "fail", "details": True}


@pytest.mark.parametrize(
    ("kinds", "options", "message"),
    [
        ([b"vu", b"vu"], OPTIONS | COMMON, None),
        ([b"l", b"vu"], OPTIONS | COMMON, "levenshtein: `output` must be text"),
        ([b"vu", b"g"], OPTIONS | COMMON, "levenshtein: `expected` must be text"),
        ([b"vu", b"vu"], OPTIONS, "the option 'threshold' is missing"),
        ([b"vu", b"vu"], None, "the options of the function cannot be read"),
    ],
)
def test_every_path_releases_the_columns(
    kinds: list[bytes], options: dict[str, object] | None, message: str | None
) -> None:
    kwargs = b"" if options is None else pickle.dumps({"options": json.dumps(options)}, protocol=5)
    error, released = call_plugin("levenshtein", kinds, kwargs)
    assert (error is None) == (message is None)
    assert message is None or (error is not None and error.startswith(message))
    assert released == [["array", "series"], ["array", "series"]]
