"""Statistics of a whole set of items, such as macro-F1 and corpus BLEU, with what each item adds to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polars_evals.drift.inference import Floats

    Whole = NDArray[np.int64]
    # From sums over items, one set a row, and the number of items to a value for each set; NaN for none.
    ValueOf = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Influence:
    """
    The value of an aggregate, NaN where it is not defined, and a number that each row adds to it.

    The weighted mean of these numbers is the value, and their spread is its spread: means, differences,
    clusters and tests of them are those of the aggregate.
    """

    value: float
    pseudo: Floats
    # Why there is no value.
    reason: str | None = None
    # Which rows can change the value: of recall, say, those in which the class is expected.
    counts: NDArray[np.bool_] | None = None


def influence(kind: str, counts: pl.Series, weights: Floats, *, positive: str | None = None) -> Influence:
    """
    Return an aggregate over rows, with the influence of each of them.

    A row has `counts` of `Aggregate.counts`, and counts for 1 / the rows of its item. The influence of a row
    is what the value would lose without it, times the number of the others (the jackknife). It needs no
    derivatives, and is wider than they are where few items decide.
    """
    if counts.is_empty():
        return Influence(np.nan, np.array([]), "there are no rows with an expected value")
    total = float(weights.sum())
    if kind in LABELLED:
        sums, without = _labelled(counts, weights, positive)
        value_of = LABELLED[kind]
    else:
        rows = counts.struct.field("counts").list.to_array(WIDTHS[kind]).to_numpy().astype(np.float64)
        sums = weights @ rows
        without, value_of = np.maximum(sums - rows, 0.0), CORPUS[kind]
    number = np.array([total])
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(value_of(sums[None, :], number)[0])
        others = value_of(without, number - 1)
    if not np.isfinite(value):
        return Influence(np.nan, np.full(len(counts), np.nan), REASONS[kind])
    # Where nothing is left without a row, the value says nothing about how much it would change.
    added = (total - 1) * np.nan_to_num(value - others)
    added -= weights @ added / total
    shown = max(value, 0.0) if kind in ERROR_RATES else value
    return Influence(shown, shown + added, counts=_counting(kind, counts, positive))


def _counting(kind: str, counts: pl.Series, positive: str | None) -> NDArray[np.bool_] | None:
    """Return which rows an aggregate of one class is about; None for all."""
    sides = {"f1": ("expected", "output"), "precision": ("output",), "recall": ("expected",)}.get(kind)
    if sides is None:
        return None
    found = np.zeros(len(counts), dtype=np.bool_)
    for side in sides:
        found |= (counts.struct.field(side) == positive).fill_null(value=False).to_numpy()
    return found


# Sums over classes that all of the statistics of a confusion matrix are functions of.
(
    TP, EXPECTED, OUTPUT, F1, CLASSES, RECALL, EXPECTED_CLASSES, EXPECTED_F1, BOTH, EXPECTED_2, OUTPUT_2,
    POSITIVE_TP, POSITIVE_EXPECTED, POSITIVE_OUTPUT,
) = range(14)  # fmt: skip


def _labelled(counts: pl.Series, weights: Floats, positive: str | None) -> tuple[Floats, Floats]:
    """Return the sums over all rows, and for each row those without it. Only two classes change then."""
    expected, output, names = _codes(counts)
    size = len(names)
    right = expected == output
    t, p, tp = (
        np.bincount(classes, weight, size).astype(np.float64)
        for classes, weight in ((expected, weights), (output, weights), (expected[right], weights[right]))
    )
    # No output is no class: it is wrong for the class that was expected, and a false alarm for none.
    is_class = np.array([name is not None for name in names])
    is_positive = np.array([name is not None and name == positive for name in names])

    def terms(classes: Whole, tp: Floats, t: Floats, p: Floats) -> Floats:
        return _class_sums(np.clip(tp, 0, None), np.clip(t, 0, None), np.clip(p, 0, None),
                           is_class[classes], is_positive[classes])  # fmt: skip

    every = np.arange(size)
    sums = terms(every, tp, t, p).sum(axis=0)
    cells, cell = np.unique(expected * size + output, return_inverse=True)
    e, o = cells // size, cells % size
    same = (e == o).astype(np.float64)
    before = terms(e, tp[e], t[e], p[e])
    after = terms(e, np.minimum(tp[e] - same, t[e] - 1), t[e] - 1, p[e] - same)
    changed = after - before
    before = terms(o, tp[o], t[o], p[o])
    after = terms(o, np.minimum(tp[o], p[o] - 1), t[o], p[o] - 1)
    changed += (after - before) * (1 - same)[:, None]
    without: Floats = (sums + changed)[cell]
    return sums, without


def _codes(counts: pl.Series) -> tuple[Whole, Whole, list[str | None]]:
    """Return expected and output of each row as numbers of classes, and the names of the classes."""
    sides = [counts.struct.field(side) for side in ("expected", "output")]
    names = pl.concat(sides).unique().sort(nulls_last=True)
    known: list[str | None] = names.to_list()
    places = pl.Enum(names.drop_nulls())
    codes = [
        side.cast(places).to_physical().cast(pl.Int64).fill_null(len(known) - 1).to_numpy() for side in sides
    ]
    return codes[0], codes[1], known


def _class_sums(
    tp: Floats, t: Floats, p: Floats, is_class: NDArray[np.bool_], is_positive: NDArray[np.bool_]
) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.where(is_class & (t + p > 0), 2 * tp / (t + p), 0.0)
        recall = np.where(t > 0, tp / t, 0.0)
    terms = [
        tp, t, p * is_class, f1, is_class & (t + p > 0), recall, t > 0, t * f1, t * p, t * t, p * p,
        tp * is_positive, t * is_positive, p * is_positive,
    ]  # fmt: skip
    return np.stack(terms, axis=1)


def _mcc(sums: Floats, n: Floats) -> Floats:
    s = sums.T
    spread = (n**2 - s[EXPECTED_2]) * (n**2 - s[OUTPUT_2])
    return np.where(spread > 1e-9, (s[TP] * n - s[BOTH]) / np.sqrt(np.maximum(spread, 1e-300)), np.nan)


def _kappa(sums: Floats, n: Floats) -> Floats:
    s = sums.T
    chance = s[BOTH] / n**2
    return np.where(1 - chance > 1e-12, (s[TP] / n - chance) / (1 - chance), np.nan)


def _ratio(above: int, below: int) -> ValueOf:
    return lambda sums, n: sums[:, above] / sums[:, below]


LABELLED: dict[str, ValueOf] = {
    "accuracy": lambda sums, n: sums[:, TP] / n,
    "balanced_accuracy": _ratio(RECALL, EXPECTED_CLASSES),
    "macro_f1": _ratio(F1, CLASSES),
    "micro_f1": lambda sums, n: 2 * sums[:, TP] / (sums[:, EXPECTED] + sums[:, OUTPUT]),
    "weighted_f1": _ratio(EXPECTED_F1, EXPECTED),
    "f1": lambda sums, n: 2 * sums[:, POSITIVE_TP] / (sums[:, POSITIVE_EXPECTED] + sums[:, POSITIVE_OUTPUT]),
    "precision": _ratio(POSITIVE_TP, POSITIVE_OUTPUT),
    "recall": _ratio(POSITIVE_TP, POSITIVE_EXPECTED),
    "mcc": _mcc,
    "cohen_kappa": _kappa,
}


BLEU_ORDERS, CHRF_ORDERS, CHRF_BETA = 4, 6, 2


def _bleu(sums: Floats, n: Floats) -> Floats:
    """Return sacrebleu's corpus BLEU / 100 of lengths, and of shared and all n-grams by order."""
    output, expected = sums[:, 0], sums[:, 1]
    shared, every = sums[:, 2 : 2 + BLEU_ORDERS], sums[:, 2 + BLEU_ORDERS :]
    # Orders without a match: the first counts as half a match, the next as a quarter, and so on.
    empty = shared <= 0
    smoothed = np.where(empty, 0.5 ** np.cumsum(empty, axis=1), shared)
    logs = np.log(smoothed / every).mean(axis=1)
    penalty = np.where(output < expected, 1 - expected / output, 0.0)
    value = np.where((shared > 0).any(axis=1) & (every > 0).all(axis=1), np.exp(logs + penalty), 0.0)
    return np.where(expected > 0, value, np.nan)


def _chrf(sums: Floats, n: Floats) -> Floats:
    """Return sacrebleu's corpus chrF2 / 100 of the n-grams of output, of expected, and of both, by order."""
    output, expected, shared = (sums[:, part * CHRF_ORDERS : (part + 1) * CHRF_ORDERS] for part in range(3))
    there = (output > 0) & (expected > 0)
    orders = there.sum(axis=1)
    precision = np.where(there, shared / output, 0.0).sum(axis=1) / orders
    recall = np.where(there, shared / expected, 0.0).sum(axis=1) / orders
    factor = CHRF_BETA**2
    both = factor * precision + recall
    value = np.where(both > 0, (1 + factor) * precision * recall / both, 0.0)
    return np.where(expected[:, 0] > 0, np.nan_to_num(value), np.nan)


def _error_rate(sums: Floats, n: Floats) -> Floats:
    return np.where(sums[:, 1] > 0, 1 - sums[:, 0] / sums[:, 1], np.nan)


CORPUS: dict[str, ValueOf] = {
    "corpus_bleu": _bleu,
    "corpus_chrf": _chrf,
    "corpus_wer": _error_rate,
    "corpus_cer": _error_rate,
}
ERROR_RATES = ("corpus_wer", "corpus_cer")
WIDTHS = {
    "corpus_bleu": 2 + 2 * BLEU_ORDERS,
    "corpus_chrf": 3 * CHRF_ORDERS,
    "corpus_wer": 2,
    "corpus_cer": 2,
}

REASONS = {
    **dict.fromkeys((*LABELLED, *CORPUS), "it is not defined for these rows"),
    "f1": "the positive class is never expected and never given",
    "precision": "the positive class is never given",
    "recall": "the positive class is never expected",
    "mcc": "the expected or the given labels are all the same",
    "cohen_kappa": "the expected and the given labels are all the same",
    **dict.fromkeys(CORPUS, "the expected texts are all empty"),
}
