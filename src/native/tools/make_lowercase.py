"""Write ../lowercase_table.hpp: Unicode lowercasing exactly as Polars' `str.to_lowercase` does it.

The table is read off Polars itself, so that native metrics and plain Polars expressions fold case alike.
A test holds that each supported Polars gives this very file; where one has a newer Unicode, run it again.
"""

from itertools import groupby
from pathlib import Path

import polars as pl

TABLE = Path(__file__).parent.parent / "lowercase_table.hpp"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
CAPITAL_SIGMA, FINAL_SIGMA = "\u03a3", "\u03c2"


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
    at_end = lower([f"a{CAPITAL_SIGMA}{chr(c)}" for c in CODE_POINTS])
    before_letter = lower([f"a{CAPITAL_SIGMA}{chr(c)}b" for c in CODE_POINTS])
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


def table() -> str:
    longer = [chr(c) for c in CODE_POINTS if len(chr(c).lower()) > 1]
    assert longer == ["\u0130"], "lowercase.hpp knows only one letter that grows"
    ignorable, cased = sigma_classes()
    return "\n".join(
        [
            "// Written by tools/make_lowercase.py; do not edit.",
            "#pragma once\n\n#include <cstdint>\n\nnamespace pe::unicode {\n",
            "struct LowercaseRun {\n    std::uint32_t first, last, step;\n    std::int32_t offset;\n};\n",
            "struct Range {\n    std::uint32_t first, last;\n};\n",
            rows_of("lowercase_runs", "LowercaseRun", list(lowercase_runs())),
            rows_of("case_ignorable", "Range", list(ranges(ignorable))),
            rows_of("cased", "Range", list(ranges(cased))),
            "}  // namespace pe::unicode\n",
        ]
    )


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
