"""Write lowercase_table.hpp and sigma_*_table.hpp here: lowercase as in Polars' `str.to_lowercase`.

The tables are read off Polars itself, so that native metrics and plain Polars expressions fold case alike.
What is beside a sigma has a table for each kind of Polars; this writes the one of the installed Polars.
A test holds that each supported Polars gives these very files; where one has a newer Unicode, run it again.
"""

from itertools import groupby
from pathlib import Path

import polars as pl

from polars_evals._polars import SIGMA_TABLE

UNICODE = Path(__file__).parent
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
CAPITAL_SIGMA, FINAL_SIGMA = "\u03a3", "\u03c2"
# Letters with case in any Polars, for some do not see those of ASCII beside a sigma.
ALPHA, BETA = "\u03b1", "\u03b2"


def lower(texts: list[str]) -> list[str]:
    return pl.Series(texts, dtype=pl.String).str.to_lowercase().to_list()


def ranges(code_points: list[int]) -> list[tuple[int, int]]:
    runs = groupby(enumerate(code_points), key=lambda pair: pair[1] - pair[0])
    return [(run[0][1], run[-1][1]) for run in (list(group) for _, group in runs)]


def lowercase_runs() -> list[tuple[int, int, int, int]]:
    """Runs (first, last, step, offset) of code points whose lowercase is one code point further on."""
    mapped = [
        (c, ord(low) - c)
        for c, low in zip(CODE_POINTS, lower([chr(c) for c in CODE_POINTS]), strict=True)
        if len(low) == 1 and ord(low) != c
    ]
    runs: list[tuple[int, int, int, int]] = []
    for c, offset in mapped:
        if runs and runs[-1][3] == offset:
            first, last, step, _ = runs[-1]
            gap = c - last
            if gap in (1, 2) and (first == last or gap == step):
                runs[-1] = (first, c, gap, offset)
                continue
        runs.append((c, c, 1, offset))
    return runs


def sigma_classes() -> tuple[list[int], list[int]]:
    """Code points that sigma's final form looks through, and those that count as letters with case."""
    at_end = lower([f"{ALPHA}{CAPITAL_SIGMA}{chr(c)}" for c in CODE_POINTS])
    before_letter = lower([f"{ALPHA}{CAPITAL_SIGMA}{chr(c)}{BETA}" for c in CODE_POINTS])
    ignorable = [
        c
        for c, end, before in zip(CODE_POINTS, at_end, before_letter, strict=True)
        if end[1] == FINAL_SIGMA and before[1] != FINAL_SIGMA
    ]
    cased = [c for c, end in zip(CODE_POINTS, at_end, strict=True) if end[1] != FINAL_SIGMA]
    return ignorable, cased


def rows_of(name: str, kind: str, rows: list[tuple[int, ...]]) -> str:
    cells = [f"{{{', '.join(map(str, row))}}}" for row in rows]
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) > 108:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    body = "\n".join([*lines, line])
    return f"inline constexpr {kind} {name}[] = {{\n{body}\n}};\n"


def in_namespace(includes: str, *parts: str) -> str:
    return "\n".join(
        [
            "// Written by make_lowercase.py; do not edit.",
            f"#pragma once\n\n{includes}\n\nnamespace pe::unicode {{\n",
            *parts,
            "}  // namespace pe::unicode\n",
        ]
    )


def tables() -> dict[Path, str]:
    longer = [chr(c) for c in CODE_POINTS if len(chr(c).lower()) > 1]
    assert longer == ["\u0130"], "unicode.hpp knows only one letter that grows"
    ignorable, cased = sigma_classes()
    name = f"sigma_{SIGMA_TABLE.replace('.', '_')}"
    return {
        UNICODE / "lowercase_table.hpp": in_namespace(
            "#include <cstdint>",
            "struct LowercaseRun {\n    std::uint32_t first, last, step;\n    std::int32_t offset;\n};\n",
            rows_of("lowercase_runs", "LowercaseRun", list(lowercase_runs())),
        ),
        UNICODE / f"{name}_table.hpp": in_namespace(
            '#include "sigma.hpp"',
            rows_of(f"{name}_ignorable", "Range", list(ranges(ignorable))),
            rows_of(f"{name}_cased", "Range", list(ranges(cased))),
            f"inline constexpr SigmaTable {name}{{{name}_ignorable, {name}_cased}};\n",
        ),
    }


if __name__ == "__main__":
    for file, text in tables().items():
        file.write_text(text, "utf-8")
