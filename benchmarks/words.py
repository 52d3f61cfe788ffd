"""Word overlap, from a Polars frame to a Polars column, with the default options."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

import polars_evals as pe
from benchmarks.harness import OURS, Row, race
from benchmarks.texts import MIXED, unlike

CHARACTERS, ROWS = 1_700, 4_000
SLOW_ROWS = {"rouge-score": 20, "sacrebleu": 50, "Python sets": 1_000}


def python(frame: pl.DataFrame, peer: str, score: Callable[[str, str], float]) -> Callable[[], object]:
    """Run a scorer of Python strings over the rows that a slow peer gets."""
    few = frame.head(SLOW_ROWS[peer])
    return lambda: pl.Series([score(output, expected) for output, expected in few.iter_rows()])


def rouge(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    for variant, stemmer in (("rouge1", True), ("rouge1", False), ("rougeL", True), ("rougeLsum", True)):
        scorer = RougeScorer([variant], use_stemmer=stemmer)
        peer = python(
            frame,
            "rouge-score",
            lambda output, expected, scorer=scorer, variant=variant: (  # type: ignore[misc]
                scorer.score(expected, output)[variant].fmeasure
            ),
        )
        expr = pe.rouge("output", "expected", variant=variant, stemmer=stemmer)
        yield from race(
            f"{variant}{'' if stemmer else ', no stemming'}",
            case,
            len(frame),
            {OURS: lambda expr=expr: frame.select(expr), "rouge-score": peer},  # type: ignore[misc]
            slow_share=SLOW_ROWS,
        )


def jaccard_of(output: str, expected: str) -> float:
    left, right = set(output.lower().split()), set(expected.lower().split())
    return len(left & right) / len(left | right)


def recall_of(output: str, expected: str) -> float:
    left, right = set(output.lower().split()), set(expected.lower().split())
    return len(left & right) / len(right)


def word_sets(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    output, expected = (
        pl.col(name).str.to_lowercase().str.extract_all(r"\S+") for name in ("output", "expected")
    )
    by_space = [pl.col(name).str.to_lowercase().str.split(" ") for name in ("output", "expected")]
    shared, either = output.list.set_intersection(expected), output.list.set_union(expected)
    shared_by_space = by_space[0].list.set_intersection(by_space[1])
    contenders: dict[str, dict[str, Callable[[], object]]] = {
        "jaccard": {
            OURS: lambda: frame.select(pe.jaccard("output", "expected")),
            "Polars list sets, any white space": lambda: frame.select(shared.list.len() / either.list.len()),
            "Polars list sets, split at spaces": lambda: frame.select(
                shared_by_space.list.len() / by_space[0].list.set_union(by_space[1]).list.len()
            ),
            "Python sets": python(frame, "Python sets", jaccard_of),
        },
        "recall": {
            OURS: lambda: frame.select(pe.recall("output", "expected")),
            "Polars list sets, split at spaces": lambda: frame.select(
                shared_by_space.list.len() / by_space[1].list.unique().list.len()
            ),
            "Python sets": python(frame, "Python sets", recall_of),
        },
    }
    for metric, peers in contenders.items():
        yield from race(metric, case, len(frame), peers, slow_share=SLOW_ROWS)


def translation(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    bleu, chrf = BLEU(effective_order=True), CHRF()

    def first_bleu(output: str, expected: str) -> float:
        # sacrebleu remembers how it split a text; a pipeline sees each text once.
        Tokenizer13a.__call__.cache_clear()
        TokenizerRegexp.__call__.cache_clear()
        return float(bleu.sentence_score(output, [expected]).score)

    scores: dict[str, tuple[pl.Expr, Callable[[str, str], float]]] = {
        "bleu": (pe.bleu("output", "expected"), first_bleu),
        "chrf": (
            pe.chrf("output", "expected"),
            lambda output, expected: chrf.sentence_score(output, [expected]).score,
        ),
    }
    for metric, (expr, score) in scores.items():
        yield from race(
            metric,
            case,
            len(frame),
            {
                OURS: lambda expr=expr: frame.select(expr),  # type: ignore[misc]
                "sacrebleu": python(frame, "sacrebleu", score),
            },
            slow_share=SLOW_ROWS,
        )


def files(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    """Compare a run from file to file with only reading and writing the same columns."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        frame.write_parquet(source)
        scan = pl.scan_parquet(source)
        yield from race(
            "rouge1 from Parquet to Parquet",
            case,
            len(frame),
            {
                OURS: lambda: scan.with_columns(pe.rouge("output", "expected")).sink_parquet(target),
                "only reading and writing": lambda: scan.sink_parquet(target),
            },
        )


def rows() -> Iterator[Row]:
    """Run everything of this part."""
    frame, case = unlike(ROWS, CHARACTERS), f"{CHARACTERS:,} characters"
    yield from rouge(frame, case)
    yield from word_sets(frame, case)
    yield from translation(frame, case)
    mixed = unlike(ROWS, CHARACTERS, MIXED)
    yield from word_sets(mixed, f"{case}, mixed scripts")
    yield from files(frame, case)
