"""The build backend: scikit-build-core, with one line instead of CMake's many where there is no compiler."""

import os
import shutil
import sys
from typing import Any

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403

COMPILERS = ("c++", "CC", "g++", "aCC", "cl", "bcc", "xlC", "icpx", "icx", "clang++")
HOW_TO_GET_ONE = {
    "linux": "`apt install g++`, `dnf install gcc-c++` or `apk add g++`",
    "darwin": "`xcode-select --install`",
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
    # CMake finds Visual Studio, which is not on the path; and a compiler may be named to it in other ways.
    is_named = any("CMAKE_" in name for name in os.environ)
    if sys.platform == "win32" or is_named or shutil.which(os.environ.get("CXX", "").split(" ")[0]):
        return
    if not any(map(shutil.which, COMPILERS)):
        how = HOW_TO_GET_ONE.get(sys.platform, "the installer of GCC or Clang")
        sys.exit(
            f"polars-evals: building from source needs a C++17 compiler; there is none: get one by {how}"
        )
