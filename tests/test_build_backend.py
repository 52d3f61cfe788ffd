"""The build backend says in one line that there is no compiler."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
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


def test_a_compiler_that_is_named_and_not_there_is_one_line(
    backend: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "c++"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", "g++-99 -m64")
    with pytest.raises(
        SystemExit, match=r"needs a C\+\+17 compiler; CXX names g\+\+-99 -m64, which is not there$"
    ):
        backend.build_wheel("dist")
    spaced = tmp_path / "my compilers" / "c++"
    spaced.parent.mkdir()
    other.rename(spaced)
    monkeypatch.setenv("CXX", str(spaced))
    assert backend.build_wheel("dist") == "built"


@pytest.mark.parametrize("name", ["build_wheel", "build_editable"])
def test_pip_shows_the_line(name: str, tmp_path: Path) -> None:
    """As pip calls it: in a process of its own, whose path has nothing but coreutils."""
    for tool in ("ls", "cat", "uname", "env"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    package = tmp_path / "scikit_build_core" / "build"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("build_wheel = build_editable = lambda *_: print('CMake ran')\n")
    hidden = ("CXX", "CMAKE_", "PATH")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    environment |= {
        "PATH": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(BACKEND.parent), str(tmp_path)]),
    }
    ended = subprocess.run(
        [sys.executable, "-c", f"import backend; backend.{name}('dist')"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(
        "polars-evals: building from source needs a C++17 compiler; there is none: get one by "
    )


def test_the_developer_tools_of_macos(backend: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before they are installed, /usr/bin/c++ only asks for them."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "c++" else None)
    asked = SimpleNamespace(returncode=2)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: asked)
    with pytest.raises(SystemExit, match="xcode-select --install"):
        backend.build_wheel("dist")
    asked.returncode = 0
    assert backend.build_wheel("dist") == "built"


def test_visual_studio_is_not_on_the_path(
    backend: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setenv("PROGRAMFILES(X86)", str(tmp_path))
    with pytest.raises(SystemExit, match="Build Tools for Visual Studio"):
        backend.build_wheel("dist")
    installer = tmp_path / "Microsoft Visual Studio/Installer/vswhere.exe"
    installer.parent.mkdir(parents=True)
    installer.touch()
    assert backend.build_wheel("dist") == "built"


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
