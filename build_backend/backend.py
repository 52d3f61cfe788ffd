"""The build backend: scikit-build-core, with one line instead of CMake's many where there is no compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403

COMPILERS = ("c++", "CC", "g++", "aCC", "cl", "clang-cl", "bcc", "xlC", "icpx", "icx", "clang++")
HOW_TO_GET_ONE = {
    "linux": "`apt install g++`, `dnf install gcc-c++` or `apk add g++`",
    "darwin": "`xcode-select --install`",
    "win32": "installing the Build Tools for Visual Studio, with their workload for C++",
}


def build_wheel(*arguments: Any, **options: Any) -> str:
    """Build a wheel, where there is a compiler."""
    require_compiler()
    return build.build_wheel(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    """Build an editable wheel, where there is a compiler."""
    require_compiler()
    return build.build_editable(*arguments, **options)


def require_compiler() -> None:
    """Stop, in one line, where CMake would not find a C++ compiler."""
    # A compiler may be named to CMake in other ways.
    is_named = any("CMAKE_" in name for name in os.environ)
    named = os.environ.get("CXX", "")
    # The first word where options follow; a path may have spaces.
    if is_named or (shutil.which(named) or shutil.which(named.split(" ")[0]) if named else has_compiler()):
        return
    how = HOW_TO_GET_ONE.get(sys.platform, "the installer of GCC or Clang")
    wrong = f"CXX names {named}, which is not there" if named else f"there is none: get one by {how}"
    sys.exit(f"polars-evals: building from source needs a C++17 compiler; {wrong}")


def has_compiler() -> bool:
    """Whether there is a compiler where CMake looks for it."""
    found = [path for path in map(shutil.which, COMPILERS) if path]
    if sys.platform == "win32":
        # Visual Studio is not on the path; its installer is always in one place.
        programs = os.environ.get("PROGRAMFILES(X86)", "C:/Program Files (x86)")
        return bool(found) or Path(programs, "Microsoft Visual Studio/Installer/vswhere.exe").is_file()
    if sys.platform == "darwin" and all(path.startswith("/usr/bin/") for path in found):
        # What stands there only asks for the developer tools, where these are not installed.
        tools = subprocess.run(["xcode-select", "-p"], capture_output=True, check=False)
        return bool(found) and tools.returncode == 0
    return bool(found)
