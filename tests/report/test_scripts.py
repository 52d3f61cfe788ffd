"""The page's JavaScript modules, in node's test runner."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polars_evals.report.page import SCRIPTS, asset, script

TESTS = Path(__file__).parent / "scripts" / "page.test.js"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_modules_pass_their_own_tests() -> None:
    command = ["node", "--experimental-detect-module", "--no-warnings", "--test", str(TESTS)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"^# pass 1\d$", ended.stdout, re.MULTILINE), ended.stdout


def test_one_script_holds_every_module_and_no_name_twice() -> None:
    code = script()
    assert not re.search(r"(?m)^(import|export) ", code)
    names = [
        name for one in SCRIPTS for name in re.findall(r"(?m)^(?:export )?const (\w+)", asset(f"{one}.js"))
    ]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    there = {
        path.name for path in (Path(__file__).parents[2] / "src/polars_evals/report/assets").glob("*.js")
    }
    assert there == {f"{name}.js" for name in SCRIPTS}
