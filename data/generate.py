"""Write the example traces: three versions of an assistant over the same items, with planted changes.

Run ``python data/generate.py [path]``; the same seed always gives the same rows.
"""

from __future__ import annotations

import sys
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

import polars as pl
from corpus import arithmetic, billing, code, geography, medicine, translation
from corpus.item import Item, phrase, reference

SEED = 50
ITEMS_PER_TOPIC = 120
START = datetime(2026, 3, 2, tzinfo=UTC)

TOPICS = {
    "arithmetic": arithmetic.items,
    "billing": billing.items,
    "code": code.items,
    "geography": geography.items,
    "medicine": medicine.items,
    "translation": translation.items,
}


class Release(NamedTuple):
    """A model version, its prompt, and the days from START on which it serves."""

    model: str
    version: str
    first_day: int
    last_day: int


RELEASES = (
    Release("assistant-1.0", "prompt-7", 0, 17),
    Release("assistant-1.1", "prompt-8", 14, 31),
    Release("assistant-2.0", "prompt-9", 28, 42),
)

# The share of bad answers. Only the planted pairs of version and topic differ.
BAD = 0.10
PLANTED = {
    ("assistant-1.0", "arithmetic"): 0.55,
    ("assistant-1.1", "arithmetic"): 0.55,
    ("assistant-2.0", "medicine"): 0.75,
}

MISSING_EXPECTED = 0.04
MISSING_OUTPUT = 0.006
LABELLED = 300

OPENERS = {
    "English": ("Sure! ", "Of course. ", "Good question. ", "😊 "),
    "German": ("Gern! ", "Natürlich. ", "Gute Frage: ", "😊 "),
    "French": ("Bien sûr ! ", "Avec plaisir. ", "Voilà : ", "😊 "),
    "Spanish": ("¡Claro! ", "Por supuesto. ", "😊 "),
    "Russian": ("Конечно! ", "Хороший вопрос. ", "😊 "),
    "Chinese": ("好的！", "当然。", "😊 "),
    "Arabic": ("بالتأكيد! ", "طبعا. ", "😊 "),
}
CLOSERS = {
    "English": (" Let me know if you need more.", " I hope this helps!", "\n"),
    "German": (" Sag Bescheid, wenn du mehr brauchst.", " Viel Erfolg!", "\n"),
    "French": (" Dites-moi s'il vous faut autre chose.", " Bonne journée !", "\n"),
    "Spanish": (" Dígame si necesita algo más.", " ¡Un saludo!", "\n"),
    "Russian": (" Обращайтесь, если нужно ещё что-нибудь.", " Удачи!", "\n"),
    "Chinese": ("还需要什么请告诉我。", "希望对你有帮助！", "\n"),
    "Arabic": (" أخبرني إذا احتجت إلى المزيد.", " بالتوفيق!", "\n"),
}


class Case(NamedTuple):
    """An item in its place: its conversation and turn, how hard it is, and how settled its wording."""

    item_id: str
    session: int
    turn: int
    topic: str
    item: Item
    has_expected: bool
    difficulty: float
    faithful: float


def cases() -> list[Case]:
    """Draw the items of every topic and arrange them in conversations of one to five turns."""
    result: list[Case] = []
    session = 0
    for topic, write in TOPICS.items():
        rng = Random(f"{SEED}/{topic}")
        unique = list({item.question: item for item in write(rng)}.values())
        drawn = sorted(rng.sample(unique, ITEMS_PER_TOPIC), key=lambda item: item.language)
        without_expected = set(rng.sample(drawn, round(MISSING_EXPECTED * ITEMS_PER_TOPIC)))
        turn, turns, language = 0, 0, ""
        for number, item in enumerate(drawn):
            if turn == turns or item.language != language:
                session, turn, turns, language = session + 1, 0, rng.randint(1, 5), item.language
            turn += 1
            difficulty, faithful = rng.uniform(0.6, 1.4), rng.uniform(0.6, 1.0)
            result.append(
                Case(
                    item_id=f"{topic}-{number:03}",
                    session=session,
                    turn=turn,
                    topic=topic,
                    item=item,
                    has_expected=item not in without_expected,
                    difficulty=difficulty,
                    faithful=faithful,
                )
            )
    return result


def good_answer(item: Item, rng: Random, *, faithful: float) -> str:
    """Answer rightly, in words of its own."""
    return phrase(item.answer, rng, faithful=faithful)


def bad_answer(item: Item, rng: Random, *, faithful: float) -> str:
    """Answer with false facts, or begin well and break off."""
    whole = good_answer(item, rng, faithful=faithful)
    if len(whole) > 60 and rng.random() < 0.4:
        return whole[: int(len(whole) * rng.uniform(0.15, 0.6))].rstrip()
    return phrase(item.wrong, rng, faithful=faithful)


def decorated(text: str, language: str, rng: Random) -> str:
    """Add what real traffic has: small talk, emoji, a stray newline, decomposed accents."""
    if rng.random() < 0.06:
        text = rng.choice(OPENERS[language]) + text
    if rng.random() < 0.06:
        text += rng.choice(CLOSERS[language])
    if rng.random() < 0.04:
        text = unicodedata.normalize("NFD", text)
    return text


def session_start(release: Release, session: int) -> datetime:
    """Pick when a conversation takes place: any day of the release, mostly in office hours."""
    rng = Random(f"{SEED}/{release.model}/session/{session}")
    day = rng.randrange(release.first_day, release.last_day)
    hour = rng.choices(range(24), weights=[1] * 7 + [4, 8, 9, 9, 8, 6, 8, 9, 9, 8, 5, 4, 3, 3, 2, 1, 1])[0]
    return START + timedelta(
        days=day, hours=hour, seconds=rng.randrange(3000), microseconds=rng.randrange(10**6)
    )


def trace(release: Release, case: Case) -> dict[str, object]:
    """Let one release answer one item."""
    rng = Random(f"{SEED}/{release.model}/{case.item_id}")
    item = case.item
    bad = rng.random() < PLANTED.get((release.model, case.topic), BAD) * case.difficulty
    write = bad_answer if bad else good_answer
    answer = write(item, rng, faithful=case.faithful)
    output = None if rng.random() < MISSING_OUTPUT else decorated(answer, item.language, rng)
    # People mostly agree with the truth; now and then they are generous or strict.
    human_ok = rng.random() < (0.06 if bad else 0.96)
    moment = session_start(release, case.session) + timedelta(
        seconds=(case.turn - 1) * 97 + rng.randrange(90)
    )
    return {
        "item_id": case.item_id,
        "trace_id": f"{rng.getrandbits(128):032x}",
        "session_id": f"session-{case.session:03}",
        "ts": moment,
        "model": release.model,
        "version": release.version,
        "topic": case.topic,
        "language": item.language,
        "input": item.question,
        "output": output,
        "expected": reference(item.answer) if case.has_expected else None,
        "human_ok": human_ok,
    }


def generate() -> pl.DataFrame:
    """Build all traces in order of time."""
    rows = [trace(release, case) for release in RELEASES for case in cases()]
    complete = [i for i, row in enumerate(rows) if row["output"] is not None and row["expected"] is not None]
    labelled = set(Random(f"{SEED}/labels").sample(complete, LABELLED))
    for i, row in enumerate(rows):
        if i not in labelled:
            row["human_ok"] = None
    schema = dict.fromkeys(rows[0], pl.String()) | {"ts": pl.Datetime("us", "UTC"), "human_ok": pl.Boolean()}
    return pl.DataFrame(rows, schema=schema).sort("ts", "trace_id")


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("traces.parquet")
    generate().write_parquet(path, compression="zstd", compression_level=19)
