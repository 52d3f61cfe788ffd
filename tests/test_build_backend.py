"""The build backend says in one line that there is no compiler."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BACKEND = Path(__file__).parent.parent / "build_backend" / "backend.py"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Load the backend over a scikit-build-core that only says that it was called, without any compiler."""
    core, build = ModuleType("scikit_build_core"), ModuleType("scikit_build_core.build")
    build.build_wheel = lambda *_: "built"  # type: ignore[attr-defined]
    core.build = build  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scikit_build_core", core)
    monkeypatch.setitem(sys.modules, "scikit_build_core.build", build)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    spec = importlib.util.spec_from_file_location("backend", BACKEND)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_compiler_is_one_line(backend: Any) -> None:
    with pytest.raises(SystemExit) as stopped:
        backend.build_wheel("dist")
    message = str(stopped.value)
    assert "needs a C++17 compiler" in message
    assert "apt install g++" in message
    assert "\n" not in message


def test_a_compiler_on_the_path_or_named_is_enough(
    backend: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("clang++", "my-compiler"):
        compiler = tmp_path / name
        compiler.write_text("#!/bin/sh\n")
        compiler.chmod(0o755)
        if name == "my-compiler":
            monkeypatch.setenv("CXX", f"{compiler} -m64")
        assert backend.build_wheel("dist") == "built"
        compiler.unlink()


def test_cmake_may_know_better(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMAKE_ARGS", "-DCMAKE_CXX_COMPILER=/opt/bin/cxx")
    assert backend.build_wheel("dist") == "built"
