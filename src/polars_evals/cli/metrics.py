"""What there is to score with."""

from __future__ import annotations

import inspect
import json
from typing import Any

from polars_evals.clean import KNOWN
from polars_evals.suite.metric import metric_names, metric_type


def describe(name: str) -> dict[str, Any]:
    """Describe a metric of a suite."""
    kind = metric_type(name)
    defaults = {
        option: None if parameter.default is parameter.empty else parameter.default
        for option, parameter in kind.options.items()
    }
    text = inspect.getdoc(kind.function) or ""
    return {
        "metric": name,
        "about": text.split("\n")[0],
        "compares_with_expected": kind.has_expected,
        "options": defaults,
        "required": [o for o, parameter in kind.options.items() if parameter.default is parameter.empty],
    }


def overview(*, as_json: bool) -> str:
    """List all metrics."""
    found = [describe(name) for name in metric_names()]
    if as_json:
        return json.dumps(found, indent=2, default=str)
    width = max(len(one["metric"]) for one in found)
    lines = []
    for one in found:
        options = ", ".join(
            f"{option}{'' if option in one['required'] else f'={value!r}'}"
            for option, value in one["options"].items()
        )
        lines.append(f"{one['metric']:{width}}  {one['about']}\n{'':{width}}  {options}")
    lines += ["", "Steps that clean the texts first, in a suite as `clean = [...]`:", f"  {KNOWN}"]
    return "\n".join(lines)


def about(name: str, *, as_json: bool) -> str:
    """Tell all about a metric."""
    found = describe(name)
    return (
        json.dumps(found, indent=2, default=str)
        if as_json
        else (inspect.getdoc(metric_type(name).function) or "")
    )
