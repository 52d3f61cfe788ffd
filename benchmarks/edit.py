"""Edit metrics and exact match, from a Polars frame to a Polars column, with the default options."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import duckdb
import polars as pl
import polars_distance as pld
import polars_ds as pds
from rapidfuzz import process
from rapidfuzz.distance import OSA, DamerauLevenshtein, Hamming, Indel, JaroWinkler, Levenshtein

import polars_evals as pe
from benchmarks.harness import OURS, Row, in_process, print_rows, race
from benchmarks.texts import MIXED, alike, language, unlike

PART = "levenshtein"
SLOW_ROWS = {20: 100_000, 100: 10_000, 1_700: 20, 2_000: 20, 10_000: 1}


def folded(frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    lowered = frame.select(pl.all().str.to_lowercase())
    return lowered["output"].to_list(), lowered["expected"].to_list()


def strsim(score: Callable[[Any], object]) -> dict[str, Callable[[], object]]:
    """Take polars-strsim along where it is installed: it says that it needs a Polars before 2."""
    if find_spec("polars_strsim") is None:
        return {}
    return {"polars-strsim": lambda: score(import_module("polars_strsim"))}


def contenders(frame: pl.DataFrame, size: int) -> dict[str, Callable[[], object]]:
    output, expected = (pl.col(name).str.to_lowercase() for name in ("output", "expected"))
    few = frame.head(SLOW_ROWS[size])

    def cpdist(workers: int) -> pl.Series:
        scores = process.cpdist(*folded(frame), scorer=Levenshtein.normalized_similarity, workers=workers)
        return pl.Series(scores)

    def loop() -> pl.Series:
        pairs = zip(*folded(frame), strict=True)
        return pl.Series([Levenshtein.normalized_similarity(left, right) for left, right in pairs])

    def duck() -> object:
        longer = "greatest(length(output), length(expected))"
        query = f"select 1 - levenshtein(lower(output), lower(expected)) / {longer} from few"
        return duckdb.from_arrow(few.to_arrow()).query("few", query).pl()

    return {
        OURS: lambda: frame.select(pe.levenshtein("output", "expected")),
        "RapidFuzz cpdist, all workers": lambda: cpdist(-1),
        "RapidFuzz cpdist, one worker": lambda: cpdist(1),
        "RapidFuzz loop": loop,
        "polars-ds, parallel": lambda: frame.select(
            pds.str_leven(output, expected, parallel=True, return_sim=True)
        ),
        "polars-ds": lambda: frame.select(pds.str_leven(output, expected, return_sim=True)),
        "polars-distance": lambda: frame.select(
            pld.DistancePairWiseString(output).levenshtein(expected, normalized=True)
        ),
        **strsim(lambda package: few.select(package.levenshtein(output, expected))),
        "DuckDB": duck,
    }


def levenshtein() -> Iterator[Row]:
    cases: list[tuple[str, int, pl.DataFrame]] = [
        ("20 characters", 20, unlike(400_000, 20)),
        ("20 characters, mixed scripts", 20, unlike(400_000, 20, MIXED)),
        ("100 characters", 100, unlike(100_000, 100)),
        ("100 characters, mixed scripts", 100, unlike(100_000, 100, MIXED)),
        ("1,700 characters", 1_700, unlike(2_000, 1_700)),
        ("1,700 characters, mixed scripts", 1_700, unlike(2_000, 1_700, MIXED)),
        ("language, 1,400 characters", 1_700, language(2_000)),
        ("2,000 characters, 2% edits", 2_000, alike(4_000, 2_000, 0.02)),
        ("2,000 characters, 2% edits, mixed scripts", 2_000, alike(4_000, 2_000, 0.02, MIXED)),
        ("2,000 characters, 10% edits", 2_000, alike(4_000, 2_000, 0.1)),
        ("10,000 characters", 10_000, unlike(100, 10_000)),
        ("10,000 characters, 2% edits", 10_000, alike(400, 10_000, 0.02)),
    ]
    for case, size, frame in cases:
        rounds = 3 if size > 1_000 else 5
        yield from race(
            PART,
            case,
            len(frame),
            contenders(frame, size),
            rounds=rounds,
            slow_share=dict.fromkeys(("DuckDB", "polars-strsim"), SLOW_ROWS[size]),
        )


def siblings() -> Iterator[Row]:
    """Compare the other edit metrics with RapidFuzz, which has all of them."""
    yield from against_rapidfuzz(
        {
            "20 characters": unlike(400_000, 20),
            "100 characters": unlike(100_000, 100),
            "language, 1,400 characters": language(2_000),
        }
    )


def against_rapidfuzz(cases: dict[str, pl.DataFrame]) -> Iterator[Row]:
    scorers = {
        "indel": Indel,
        "osa": OSA,
        "jaro_winkler": JaroWinkler,
        "damerau_levenshtein": DamerauLevenshtein,
        "hamming": Hamming,
    }
    for metric, scorer in scorers.items():
        for case, frame in cases.items():
            # The only one whose time grows with the product of the lengths.
            is_long = len(frame["output"].str.join()[0]) > 500 * len(frame)
            some = frame.head(100) if scorer is DamerauLevenshtein and is_long else frame
            expr = getattr(pe, metric)("output", "expected")

            def cpdist(some: pl.DataFrame = some, scorer: Any = scorer) -> pl.Series:
                return pl.Series(
                    process.cpdist(*folded(some), scorer=scorer.normalized_similarity, workers=-1)
                )

            contenders: dict[str, Callable[[], object]] = {
                OURS: partial(some.select, expr),
                "RapidFuzz cpdist, all workers": cpdist,
            }
            yield from race(metric, case, len(some), contenders, rounds=5)


def pieces(frame: pl.DataFrame, size: int) -> pl.DataFrame:
    """Cut the texts into pieces of so many characters, from the same places of both."""
    is_long = pl.min_horizontal(pl.all().str.len_chars())
    cut = pl.concat(
        frame.filter(is_long >= at + size).select(pl.all().str.slice(at, size))
        for at in range(0, 1_400, size)
    )
    # Copies, one after the other in memory, as a file gives them.
    return pl.DataFrame({column.name: column.to_list() for column in cut})


def few_peers(part: str, texts: pl.DataFrame, case: str) -> list[Row]:
    """Compare Levenshtein with the fastest others."""
    peers = contenders(texts, 100)
    chosen = [OURS, "RapidFuzz cpdist, all workers", "polars-ds, parallel"]
    return race(part, case, len(texts), {name: peers[name] for name in chosen}, rounds=5)


def in_pieces(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    """Compare Levenshtein on short pieces of long texts."""
    for size in (20, 100):
        yield from few_peers(f"{PART}, {size} characters", pieces(frame, size), case)


def scored(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    """Run what is also run on texts of a file: `python -m benchmarks.agreement`."""
    frame = frame.select("output", "expected")
    some = frame.gather_every(max(1, len(frame) // 2_000))
    yield from in_pieces(frame, case)
    yield from few_peers(PART, some, case)
    yield from against_rapidfuzz({case: some})


def exact_match() -> Iterator[Row]:
    for size, rows in ((20, 400_000), (1_700, 10_000)):
        frame = unlike(rows, size).with_columns(
            expected=pl.when(pl.int_range(pl.len()) % 2 == 0)
            .then(pl.col("output").str.to_uppercase())
            .otherwise("expected")
        )
        output, expected = (
            pl.col(name).str.strip_chars().str.to_lowercase() for name in ("output", "expected")
        )
        plain = (output == expected).cast(pl.Float64)
        labels = pl.Enum(["fail", "pass"])
        label = pl.when(plain == 1.0).then(pl.lit("pass", labels)).otherwise(pl.lit("fail", labels))
        both = pl.struct(score=plain, label=label)
        yield from race(
            "exact match",
            f"{size:,} characters",
            rows,
            {
                OURS: lambda frame=frame: frame.select(pe.exact_match("output", "expected")),  # type: ignore[misc]
                "plain Polars expression": lambda frame=frame, both=both: frame.select(both),  # type: ignore[misc]
            },
            rounds=9,
        )


def ten_rows() -> Iterator[Row]:
    """Compare each metric and step over ten rows with `str.to_lowercase` of them: what a call costs."""
    repeats = 100
    frame = pl.DataFrame(
        {
            "output": [f"The capital of France is Paris, number {i}." for i in range(10)],
            "expected": [f"Paris is the capital of France {i % 3}." for i in range(10)],
            "ranked": [["1", "2", "3"]] * 10,
            "relevant": [["3", "9"]] * 10,
            "left": [[0.1 * i, 0.2, 0.3] for i in range(10)],
            "right": [[0.1, 0.25, 0.3]] * 10,
        }
    )
    edits = ("levenshtein", "osa", "indel", "damerau_levenshtein", "hamming", "jaro_winkler", "cer")
    words = ("rouge", "jaccard", "recall", "token_f1", "bleu", "chrf", "gleu", "wer", "response")
    texts = ("exact_match", "contains", "starts_with", "ends_with", "similarity", "json_match")
    more = ("numeric_match", "choice")
    steps = (
        "strip_reasoning",
        "unfence",
        "extract_json",
        "extract_number",
        "extract_boxed",
        "extract_choice",
    )
    ranks = ("recall_at_k", "precision_at_k", "ndcg")
    calls: dict[str, pl.Expr] = {
        **{name: getattr(pe, name)("output", "expected") for name in (*edits, *words, *texts, *more)},
        "length_between": pe.length_between("output", 1, 50),
        "cosine": pe.cosine("left", "right"),
        **{name: getattr(pe, name)("output") for name in steps},
        "extract_after": pe.extract_after("output", "is"),
        **{name: getattr(pe, name)("ranked", "relevant", k=3) for name in ranks},
        "reciprocal_rank": pe.reciprocal_rank("ranked", "relevant"),
        "regex_match": pe.regex_match("output", r"P\w+s"),
        "extract_regex": pe.extract_regex("output", r"is (\w+)"),
    }
    plain = pl.col("output").str.to_lowercase()

    def repeat(expr: pl.Expr) -> Callable[[], object]:
        return lambda: [frame.select(expr) for _ in range(repeats)]

    for name, expr in calls.items():
        contenders = {OURS: repeat(expr), "str.to_lowercase": repeat(plain)}
        yield from race("ten rows", name, 10 * repeats, contenders, rounds=20)


def separately() -> Iterator[Row]:
    """Compare score and label taken one by one, in a lazy query, with the struct."""
    frame = language(2_000).lazy()
    scored = pe.levenshtein("output", "expected")
    parts = [scored.struct.field(name) for name in ("score", "label")]
    yield from race(
        "score and label",
        "language, 1,400 characters",
        2_000,
        {
            f"{OURS}, separately": lambda: frame.select(parts).collect(),
            f"{OURS}, the struct": lambda: frame.select(scored).collect(),
        },
    )


def chunks() -> Iterator[Row]:
    """Compare fifteen chunks of a column with one."""
    frame = unlike(75_000, 20)
    many = pl.concat(
        [pl.DataFrame(part.to_dict(as_series=False)) for part in frame.iter_slices(5_000)], rechunk=False
    )
    scored = pe.levenshtein("output", "expected")
    yield from race(
        "chunks",
        "75,000 rows of 20 characters",
        75_000,
        {
            f"{OURS}, 15 chunks": lambda: many.select(scored),
            f"{OURS}, one chunk": lambda: frame.select(scored),
        },
        rounds=15,
    )


def threads() -> Iterator[Row]:
    for count in (1, 2):
        yield from in_process("benchmarks.edit", count)


def rows() -> Iterator[Row]:
    """Run everything of this part."""
    yield from levenshtein()
    yield from in_pieces(language(8_000), "language, 1,400 characters")
    yield from siblings()
    yield from exact_match()
    yield from ten_rows()
    yield from separately()
    yield from chunks()
    yield from threads()


if __name__ == "__main__":
    texts = unlike(4_000, 1_700)
    number = pl.thread_pool_size()
    name = f"{OURS}, {number} thread{'s' * (number > 1)}"
    run = {name: lambda: texts.select(pe.levenshtein("output", "expected"))}
    print_rows(race("threads", "1,700 characters", len(texts), run))
