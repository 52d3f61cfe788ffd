"""Sentences and single words between seven languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpus.item import Item, blocks

if TYPE_CHECKING:
    from random import Random

# The lines of a block in translations.txt after the English one; a slash separates equally good translations.
TARGETS = ("German", "French", "Spanish", "Russian", "Chinese", "Arabic")

WORDS = """
water|Wasser|eau|agua|вода|水|ماء
bridge|Brücke|pont|puente|мост|桥|جسر
winter|Winter|hiver|invierno|зима|冬天|شتاء
bread|Brot|pain|pan|хлеб|面包|خبز
friend|Freund|ami|amigo|друг|朋友|صديق
language|Sprache|langue|idioma|язык|语言|لغة
butterfly|Schmetterling|papillon|mariposa|бабочка|蝴蝶|فراشة
spoon|Löffel|cuillère|cuchara|ложка|勺子|ملعقة
""".strip()


def items(rng: Random) -> list[Item]:
    """Write every item of this topic."""
    result: list[Item] = []
    rows = blocks("translations.txt")
    for english, *targets in rows:
        unrelated = rng.choice([row for row in rows if row[0] != english])
        for column, (language, cell) in enumerate(zip(TARGETS, targets, strict=True)):
            best = tuple(cell.split(" / "))
            # A mistaken model repeats the English text or translates another sentence.
            wrong = (english, *unrelated[column + 1].split(" / "))
            result.append(Item(language, f"Translate into {language}: “{english}”", (best,), (wrong,)))
    words = [line.split("|") for line in WORDS.splitlines()]
    for english, *targets in words:
        unrelated = rng.choice([row for row in words if row[0] != english])
        for column, (language, word) in enumerate(zip(TARGETS, targets, strict=True)):
            best = (word, f"“{word}”", f"{english} = {word}")
            question = f"What is “{english}” in {language}? One word."
            result.append(Item(language, question, (best,), ((unrelated[column + 1], english),)))
    return result
