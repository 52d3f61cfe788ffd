"""
Try a built wheel in a new environment, away from the source tree: `python tests/check_wheel.py dist/*.whl`.

Looks at what is inside, installs it where there is no compiler, scores, compares, and times the import.
"""

import os
import platform
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

MOST_MEGABYTES = 10

SMOKE = """
import importlib.metadata, pathlib, subprocess, sys, time

import polars as pl
import polars_evals as pe

place = pathlib.Path(pe.__file__).resolve()
assert "site-packages" in place.parts, f"not the installed package: {place}"
assert importlib.metadata.version("polars-evals") == pe.__version__

frame = pl.DataFrame({
    "item": [1, 2, 3] * 2,
    "model": ["v1"] * 3 + ["v2"] * 3,
    "output": ["Hello World!", "Paris", "4", "Hello", "Rome", "5"],
    "expected": ["Hello World", "Paris", "4"] * 2,
})
suite = pe.Suite([pe.Metric("levenshtein"), pe.Metric("rouge"), pe.Metric("exact_match")])
scored = suite.score(frame.lazy()).collect()
assert scored["levenshtein_score"].to_list()[0] == 0.92
comparison = pe.compare(scored, version="model", baseline="v1", item="item")
assert comparison.summary.height == 3

def seconds(module):
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(command)) for _ in range(5))

ours, theirs = seconds("polars_evals"), seconds("polars")
print(f"import: polars {theirs:.3f} s, polars_evals {ours:.3f} s")
assert ours < theirs + 0.25, "import polars_evals must cost little more than import polars"
print(f"polars-evals {pe.__version__}: {comparison.headline}")
"""


def check_contents(wheel: Path) -> None:
    """Refuse a wheel that lacks something, or has what does not belong to users."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    package = [name for name in names if name.startswith("polars_evals/")]
    for wanted in ("py.typed", "_native.pyi", "__init__.py"):
        assert f"polars_evals/{wanted}" in package, f"{wanted} is missing"
    assert (
        sum(name.startswith("polars_evals/_native.") and name.endswith((".so", ".pyd")) for name in package)
        == 1
    )
    for module in Path(__file__).parents[1].glob("src/polars_evals/**/*"):
        inside = module.relative_to(Path(__file__).parents[1] / "src/polars_evals").as_posix()
        name = f"polars_evals/{inside}"
        if module.is_file() and "__pycache__" not in name:
            assert name in package, f"{name} is missing"
    # Beside the package: what must run before anything inside is imported.
    beside = {"polars_evals_command.py", "polars_evals_pytest.py"}
    strangers = {name.split("/")[0] for name in names} - {"polars_evals", *beside}
    assert beside <= {*names}, f"missing: {beside - {*names}}"
    assert all(name.endswith((".dist-info", ".libs")) for name in strangers), f"unexpected: {strangers}"
    assert any(name.endswith("/LICENSE") for name in names), "the license is missing"
    size = wheel.stat().st_size / 1e6
    assert size < MOST_MEGABYTES, f"{size:.1f} MB"
    print(f"{wheel.name}: {len(names)} files, {size:.2f} MB")


def check_installed(wheel: Path) -> None:
    """Install a wheel into a new environment, where no compiler can be found, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        python, command = (str(programs / name) for name in ("python", "polars-evals"))
        traces = str(Path(__file__).parents[1] / "data/traces.parquet")
        compared = ["--version", "model", "--baseline", "assistant-1.0", "--item", "item_id"]
        steps = (
            [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel.resolve())],
            [python, "-c", SMOKE],
            # Without any extra.
            [command, "metrics", "levenshtein"],
            [command, "score", traces, "--metric", "response", "--output", "scored.parquet"],
            [command, "compare", "scored.parquet", *compared, "--markdown", "report.md"],
        )
        # There is no pyarrow for Windows on ARM, which files are read with.
        is_without_arrow = (sys.platform, platform.machine()) == ("win32", "ARM64")
        for arguments in steps[:3] if is_without_arrow else steps:
            ended = subprocess.run(
                arguments,
                cwd=folder,
                env=os.environ | {"PATH": str(programs)},
                stdout=subprocess.PIPE,
                check=False,
            )
            is_verdict = arguments[1] == "compare" and ended.returncode == 1
            assert ended.returncode == 0 or is_verdict, f"{arguments[:3]}: {ended.returncode}"
            print(ended.stdout.decode(errors="replace")[:300])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        check_contents(Path(argument))
        check_installed(Path(argument))
