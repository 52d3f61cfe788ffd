"""A result as a self-contained HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from polars_evals.drift import render
from polars_evals.drift.text import line

if TYPE_CHECKING:
    from polars_evals.drift.result import Result

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
p:first-child { font-size: 1.25rem; }
table { border-collapse: collapse; display: block; margin: 1.5rem 0; overflow-x: auto; }
caption { font-weight: 600; padding: .25rem 0; text-align: left; }
th, td { border-bottom: 1px solid #8884; padding: .25rem .6rem; }
th { text-align: left; }
"""


def page(result: Result) -> str:
    """Return a page that opens offline, runs nothing and asks the network for nothing."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(line(result.headline))}</title><style>{_STYLE}</style></head>"
        f"<body><main>{render.html(result)}</main></body></html>\n"
    )
