"""Functions, namespaces and the extension's stub name the same things."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import polars_evals as pe
from polars_evals import clean, cluster, jobs, metrics
from polars_evals.namespace import Evals
from tests.cases import CASES

DISTANCES = {"levenshtein_distance"}
# What `length_between` takes in place of an expected column.
BOUNDS = {"minimum", "maximum"}


def public(namespace: type) -> set[str]:
    return {name for name in vars(namespace) if not name.startswith("_")}


def test_every_metric_is_a_function_a_method_and_a_case() -> None:
    names = set(metrics.__all__)
    assert names <= set(dir(pe))
    assert public(Evals) == names | set(clean.__all__)
    assert {case.name for case in CASES} == names - DISTANCES


def test_everything_is_documented() -> None:
    for name in [*clean.__all__, *metrics.__all__]:
        function = getattr(pe, name)
        assert function.__name__ == name
        documented = inspect.getdoc(function) or ""
        assert ">>>" in documented, name
        for option in inspect.signature(function).parameters:
            assert re.search(rf"^(\w+, )*\*?{option}(, \w+)*$", documented, re.MULTILINE), (name, option)


def test_options_are_keywords_and_every_score_has_the_common_ones() -> None:
    for name in metrics.__all__:
        parameters = inspect.signature(getattr(pe, name)).parameters
        optional = [p for p in parameters.values() if p.default is not p.empty]
        assert all(p.kind is p.KEYWORD_ONLY for p in optional if p.name not in BOUNDS), name
        if name not in DISTANCES:
            assert {"threshold", "missing", "details"} <= set(parameters), name


def test_methods_show_the_function_in_help() -> None:
    method = pl.col("a").evals.levenshtein  # type: ignore[attr-defined]
    assert method.__doc__ == pe.levenshtein.__doc__
    assert "threshold" in inspect.signature(method).parameters


@pytest.mark.parametrize("package", [pe, jobs, cluster], ids=lambda package: package.__name__)
def test_a_package_lists_its_names_and_nothing_else(package: ModuleType) -> None:
    assert dir(package) == sorted(set(package.__all__))
    for name in dir(package):
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", [pe, jobs], ids=lambda package: package.__name__)
def test_type_checkers_know_the_names_and_no_others(package: ModuleType) -> None:
    stub = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert imports == stub.body
    # Without `as`, a name in a stub is not public.
    assert all(alias.name in (alias.asname, "*") for node in imports for alias in node.names)
    named = [alias.asname for node in imports for alias in node.names if alias.asname]
    assert len(set(named)) == len(named)
    assert set(named) <= set(package.__all__)


COMPLETIONS = """
import json, warnings, polars as pl, polars_evals as pe, polars_evals.jobs as jobs
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(history_length=0)
shell.user_ns |= {"pe": pe, "jobs": jobs, "column": pl.col("a"), "series": pl.Series(["a"])}
warnings.simplefilter("ignore")
found = {}
for text in ("pe.", "jobs.", "column.evals.", "series.evals."):
    for shell.Completer.use_jedi in (True, False):
        with provisionalcompleter():
            offered = [one.text for one in shell.Completer.completions(text, len(text))]
        found[f"{text} {shell.Completer.use_jedi}"] = [one.rpartition(".")[2] for one in offered]
print(json.dumps(found))
"""


def test_ipython_completes_the_names_and_nothing_else() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", COMPLETIONS], capture_output=True, text=True, check=True, timeout=120
    )
    found = json.loads(ended.stdout.splitlines()[-1])
    expected = {
        "pe.": set(dir(pe)) - {"__version__"},
        "jobs.": set(dir(jobs)),
        "column.evals.": public(Evals),
        "series.evals.": public(Evals),
    }
    for text, names in expected.items():
        # Without Jedi, which it uses unless told not to, IPython does not look behind a property.
        for use_jedi in (True,) if "evals" in text else (True, False):
            assert set(found[f"{text} {use_jedi}"]) == names, (text, use_jedi)
