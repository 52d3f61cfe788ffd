"""A pytest plugin: the tests run on another build of the extension, the file that `EVALS_NATIVE` names."""

import importlib.util
import os
import sys

SPEC = importlib.util.spec_from_file_location("polars_evals._native", os.environ["EVALS_NATIVE"])
assert SPEC is not None
assert SPEC.loader is not None
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
sys.modules[SPEC.name] = MODULE
