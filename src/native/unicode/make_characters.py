"""Write character_table.hpp: the kinds of all code points, as in Polars' regular expressions.

A test holds that each supported Polars gives this very file; where one has a newer Unicode, run it again.
"""

from pathlib import Path

import polars as pl

TABLE = Path(__file__).parent / "character_table.hpp"
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


def tables() -> dict[Path, str]:
    codes = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    characters = pl.Series([chr(code) for code in codes])
    kinds = [0] * 0x110000
    for bit, pattern in enumerate(KINDS.values()):
        for code, found in zip(codes, characters.str.contains(pattern), strict=True):
            kinds[code] |= found << bit

    runs = [
        code << 8 | kinds[code] for code in range(0x110000) if code == 0 or kinds[code] != kinds[code - 1]
    ]
    lines = [", ".join(f"0x{run:x}" for run in runs[at : at + 12]) for at in range(0, len(runs), 12)]
    constants = [f"inline constexpr std::uint8_t kind_{name} = {1 << bit};" for bit, name in enumerate(KINDS)]
    text = f"""// Written by make_characters.py; do not edit.
#pragma once

#include <cstdint>

namespace pe::unicode {{

{chr(10).join(constants)}

// The first code point of each run of equal kinds, shifted left by 8, and the kinds.
inline constexpr std::uint32_t character_runs[] = {{
    {("," + chr(10) + "    ").join(lines)},
}};

}}  // namespace pe::unicode
"""
    return {TABLE: text}


if __name__ == "__main__":
    for file, text in tables().items():
        file.write_text(text, "utf-8")
