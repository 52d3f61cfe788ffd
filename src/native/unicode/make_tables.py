"""Write tables.hpp: what all code points are, and their lowercase, as Polars has it.

The tables are read off Polars itself, so that native metrics and plain Polars expressions treat texts alike.
What is beside a sigma has two bits for each kind of Polars; this writes those of the installed one and keeps
the others. A test holds that each supported Polars gives this very file; where one has a newer Unicode, run
it again.
"""

import re
from itertools import groupby, pairwise
from pathlib import Path

import polars as pl

from polars_evals._polars import SIGMA_TABLE

TABLE = Path(__file__).parent / "tables.hpp"
CODE_POINTS = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
KINDS = {
    "word": r"\w",
    "decimal": r"\d",
    "number": r"\p{N}",
    "punctuation": r"\p{P}",
    "symbol": r"\p{S}",
    "alphanumeric": r"[\p{L}\p{N}]",
    # Python's str.isspace, which also takes the four separators from U+001C on.
    "space": r"[\s\x1c-\x1f]",
    # Letters of scripts that set no spaces between words.
    "unspaced": (
        r"[\w&&[\p{Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}\p{Thai}\p{Lao}\p{Khmer}"
        r"\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Javanese}\p{Balinese}]]"
    ),
}
# The first bit of what is beside a sigma, by the first Polars that has it so.
SIGMA_BITS = {"1.40": 8, "1.35": 10}
CAPITAL_SIGMA, FINAL_SIGMA = "\u03a3", "\u03c2"
# Letters with case in any Polars, for some do not see those of ASCII beside a sigma.
ALPHA, BETA = "\u03b1", "\u03b2"


def lower(texts: list[str]) -> list[str]:
    return pl.Series(texts, dtype=pl.String).str.to_lowercase().to_list()


def kinds_of_all() -> list[int]:
    """A bit for each kind; two for what a sigma's final form looks through and what is a letter with case."""
    kinds = [bits >> 8 << 8 for bits in stored()] if TABLE.exists() else [0] * 0x110000
    characters = pl.Series([chr(code) for code in CODE_POINTS])
    for bit, pattern in enumerate(KINDS.values()):
        for code, found in zip(CODE_POINTS, characters.str.contains(pattern), strict=True):
            kinds[code] |= found << bit
    at_end = lower([f"{ALPHA}{CAPITAL_SIGMA}{chr(code)}" for code in CODE_POINTS])
    before_letter = lower([f"{ALPHA}{CAPITAL_SIGMA}{chr(code)}{BETA}" for code in CODE_POINTS])
    shift = SIGMA_BITS[SIGMA_TABLE]
    for code, end, before in zip(CODE_POINTS, at_end, before_letter, strict=True):
        is_cased = end[1] != FINAL_SIGMA
        is_ignorable = not is_cased and before[1] != FINAL_SIGMA
        kinds[code] = kinds[code] & ~(3 << shift) | is_ignorable << shift | is_cased << (shift + 1)
    return kinds


def stored() -> list[int]:
    """What the table has."""
    text = TABLE.read_text("utf-8")
    classes = [int(bits) for bits in re.findall(r"\d+", text.split("classes[] = {")[1].split("}")[0])]
    runs = "".join(re.findall(r'^ +"(.*)"', text, re.MULTILINE))
    kinds: list[int] = []
    for letter, size in re.findall(r"([A-Za-z])(\d*)", runs):
        kinds += [classes[ord(letter) - (ord("A") if letter < "a" else ord("a") - 26)]] * int(size or 1)
    return kinds


def lowercase_runs() -> list[tuple[int, int, int, int]]:
    """Runs (first, last, step, offset) of code points whose lowercase is one code point further on."""
    longer = [chr(code) for code in CODE_POINTS if len(chr(code).lower()) > 1]
    assert longer == ["\u0130"], "decode.hpp knows only one letter that grows"
    mapped = [
        (code, ord(low) - code)
        for code, low in zip(CODE_POINTS, lower([chr(code) for code in CODE_POINTS]), strict=True)
        if len(low) == 1 and ord(low) != code
    ]
    runs: list[tuple[int, int, int, int]] = []
    for code, offset in mapped:
        if runs and runs[-1][3] == offset:
            first, last, step, _ = runs[-1]
            gap = code - last
            if gap in (1, 2) and (first == last or gap == step):
                runs[-1] = (first, code, gap, offset)
                continue
        runs.append((code, code, 1, offset))
    return runs


def wrapped(cells: list[str], size: int = 112) -> list[str]:
    lines = [""]
    for cell in cells:
        if len(lines[-1]) + len(cell) > size:
            lines.append("")
        lines[-1] += cell
    return lines


def tables() -> dict[Path, str]:
    kinds = kinds_of_all()
    classes = sorted(set(kinds))
    letters = {
        bits: chr(ord("A") + place if place < 26 else ord("a") + place - 26)
        for place, bits in enumerate(classes)
    }
    sizes = [(bits, len(list(run))) for bits, run in groupby(kinds)]
    runs = [letters[bits] + (str(size) if size > 1 else "") for bits, size in sizes]
    numbers = [0]
    for before, (first, last, step, offset) in pairwise([(0, 0, 0, 0), *lowercase_runs()]):
        numbers += [first - before[0], (last - first) // step + 1, step, offset]
    lowered = wrapped([f"{number}, " for number in numbers[1:]])
    text = f"""// Written by make_tables.py; do not edit.
#pragma once

#include <cstdint>

namespace pe::unicode {{

{chr(10).join(f"inline constexpr std::uint8_t kind_{name} = {1 << bit};" for bit, name in enumerate(KINDS))}

// The kinds that characters can have and, above them, two bits for each kind of Polars: what a sigma's final
// form looks through, and letters with case.
inline constexpr std::uint16_t character_classes[] = {{
    {(chr(10) + "    ").join(line.strip() for line in wrapped([f"{bits}, " for bits in classes]))}
}};
// From U+0000 on, the class of each run of characters, A to Z and a to z, and how long the run is, if longer
// than one.
inline constexpr char character_runs[] =
    {(chr(10) + "    ").join(f'"{line}"' for line in wrapped(runs))};

// Runs of capitals, four numbers each: how far the first one is from that of the run before, how many they
// are, the step from one to the next, and from each to its lowercase.
inline constexpr std::int32_t lowercase_runs[] = {{
    {(chr(10) + "    ").join(line.strip() for line in lowered)}
}};

}}  // namespace pe::unicode
"""
    return {TABLE: text}


if __name__ == "__main__":
    for file, text in tables().items():
        file.write_text(text, "utf-8")
