"""Word overlap, from a Polars frame to a Polars column, with the default options."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

import polars_evals as pe
from benchmarks.harness import OURS, Row, race
from benchmarks.texts import MIXED, language, unlike

CHARACTERS, ROWS = 1_700, 8_000
SLOW_ROWS = {"rouge-score": 200, "sacrebleu": 200, "Python sets": 1_000, "Rust": 200}


def spread(frame: pl.DataFrame, rows: int) -> pl.DataFrame:
    """Take some rows at random: texts differ too much for the first ones to stand for all."""
    return frame.sample(rows, seed=rows)


def python(frame: pl.DataFrame, peer: str, score: Callable[[str, str], float]) -> Callable[[], object]:
    """Run a scorer of Python strings over the rows that a slow peer gets."""
    few = spread(frame, SLOW_ROWS[peer])
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
        expr = pe.rouge("output", "expected", variant=variant, stemmer=stemmer)  # type: ignore[arg-type]
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
        in_rust = rust_peers(frame, metric)
        yield from race(
            metric,
            case,
            len(frame),
            {
                OURS: partial(frame.select, expr),
                "sacrebleu": python(frame, "sacrebleu", score),
                **in_rust,
            },
            slow_share=SLOW_ROWS | dict.fromkeys(in_rust, SLOW_ROWS["Rust"]),
        )


def rust_peers(frame: pl.DataFrame, metric: str) -> dict[str, Callable[[], object]]:
    """Take packages in Rust along that score single pairs, where they are installed."""
    few = spread(frame, SLOW_ROWS["Rust"])
    outputs, expected = ([[text] for text in few[name]] for name in ("output", "expected"))

    def fastchrf(package: Any) -> object:
        return package.pairwise_chrf(outputs, expected)

    def bleuscore(package: Any) -> object:
        return [
            package.compute(references=[right], predictions=left, max_order=4, smooth=True)
            for left, right in zip(outputs, expected, strict=True)
        ]

    name, score = {"chrf": ("fastchrf", fastchrf), "bleu": ("bleuscore", bleuscore)}[metric]
    return {} if find_spec(name) is None else {name: lambda: score(import_module(name))}


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


def suite(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    """Compare seven metrics in one suite with the same metrics one after the other."""
    variants = [pe.Metric("rouge", variant=variant) for variant in ("rouge1", "rouge2", "rougeL")]
    metrics = variants + [pe.Metric(name) for name in ("token_f1", "jaccard", "recall", "bleu")]
    together, alone = pe.Suite(metrics), [pe.Suite([metric]) for metric in metrics]
    yield from race(
        "seven word metrics",
        case,
        len(frame),
        {
            f"{OURS}, one suite": lambda: together.score(frame),
            f"{OURS}, one by one": lambda: [one.score(frame) for one in alone],
        },
    )


def scored(frame: pl.DataFrame, case: str) -> Iterator[Row]:
    """Run what is also run on texts of a file: `python -m benchmarks.agreement`."""
    frame = frame.select("output", "expected")
    yield from rouge(frame, case)
    yield from word_sets(frame, case)
    yield from translation(frame, case)
    yield from suite(frame, case)


def rows() -> Iterator[Row]:
    """Run everything of this part."""
    frame, case = language(ROWS), "language, 1,400 characters"
    yield from scored(frame, case)
    mixed = unlike(ROWS // 2, CHARACTERS, MIXED)
    yield from word_sets(mixed, f"{CHARACTERS:,} characters, mixed scripts")
    yield from files(frame, case)
