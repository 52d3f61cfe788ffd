"""
What a few items cannot rule out when scores have bounds: rare changes that none of them shows.

A t interval knows the spread that was seen. Thirty equal answers have none, and yet one item in twenty may
have changed: that happens in a fifth of all samples. The functions here count what may have stayed unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_evals.drift.inference import Floats

# Below so many units a detection must also outweigh what may be unseen.
FEW = 100


def score_interval(
    difference: Floats, se: Floats, quantile: Floats, n: Floats, reach: Floats
) -> tuple[Floats, Floats]:
    """
    Return the interval of a mean change that allows for changes of size `reach` that no unit shows.

    Notes
    -----
    Wilson's interval is the set of means m with (x − m)² ≤ z² V(m) / n, where V(m) is the variance at m.
    For a bounded mean the variance at m is at most what was seen plus |x − m| · reach, the variance that a
    rare change of that size adds when it moves the mean from x to m. Solved for m, this is x ± (a + √(z²
    se² + a²)), with a = z² reach / 2n. Without any spread it is ± z² reach / n: 3.84 / n at 95%, where 3.69
    / n is exact.
    """
    with np.errstate(over="ignore"):
        allowance = quantile**2 * reach / (2 * n)
    half = allowance + np.hypot(quantile * se, allowance)
    return difference - half, difference + half


def outweighs_unseen(
    difference: Floats, se: Floats, n: Floats, fall: Floats, rise: Floats, *, alpha: float
) -> Floats:
    """
    Return 1 where a change is more than rare opposite ones, unseen among n units, would undo; else 0.

    Parameters
    ----------
    difference, se, n
        The change, its standard error and the number of units.
    fall, rise
        How far a score can fall or rise on average: a rare fall would undo a rise.
    alpha
        The level of the comparison; twice of it, one-sided, is the level of this check.

    Notes
    -----
    Only for fewer than 100 units: beyond, what is so rare that it stays unseen seldom undoes a change.
    """
    from scipy.stats import norm

    reach = np.where(difference > 0, fall, rise)
    low, high = score_interval(difference, se, norm.isf(min(2 * alpha, 0.5)), n, reach)
    return np.where((n >= FEW) | np.isnan(reach) | (low > 0) | (high < 0), 1.0, 0.0)


def constant_p(difference: Floats, n: Floats, fall: Floats, rise: Floats) -> Floats:
    """
    Return the two-sided p-value of n units that all changed by the same amount.

    Notes
    -----
    If rare changes of size v in the other direction made up for it, their share would be c / (c + v), and
    the chance to see none of them is (1 + c / v)⁻ⁿ. Where v has no bound, or is smaller, it is c itself, and
    this is the sign test.
    """
    change = np.abs(difference)
    reach = np.where(difference > 0, fall, rise)
    # Never less than the sign test: without room the other way a sample of two still proves nothing.
    reach = np.fmax(reach, change)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.minimum(1.0, 2 * (1 + change / reach) ** -n)
    return np.where(change == 0, 1.0, p)


def tango(failing: Floats, passing: Floats, n: Floats, alpha: float) -> tuple[Floats, Floats]:
    """
    Return Tango's score interval of a difference of paired proportions, (passing − failing) / n.

    Notes
    -----
    The bounds are the differences at which the score test, with the flips estimated under that difference,
    just rejects (Tango 1998). It keeps its level also where no item flipped.
    """
    from scipy.stats import norm

    z = norm.isf(alpha / 2)
    estimate = (passing - failing) / n

    def z_at(delta: Floats) -> Floats:
        b = -failing - passing + (2 * n - passing + failing) * delta
        c = -failing * delta * (1 - delta)
        with np.errstate(invalid="ignore", divide="ignore"):
            # The share of items that newly fail, most likely if the difference is delta.
            q = (np.sqrt(np.maximum(b**2 - 8 * n * c, 0.0)) - b) / (4 * n)
            spread = np.sqrt(np.maximum(n * (2 * q + delta * (1 - delta)), 0.0))
            return np.asarray(np.where(spread > 0, (passing - failing - n * delta) / spread, 0.0))

    bounds = []
    for end, sign in ((-1.0, 1.0), (1.0, -1.0)):
        inside, outside = np.array(estimate, dtype=np.float64), np.full_like(estimate, end, dtype=np.float64)
        for _ in range(60):
            middle = (inside + outside) / 2
            rejected = sign * z_at(middle) > z
            inside, outside = np.where(rejected, inside, middle), np.where(rejected, middle, outside)
        bounds.append(np.where(sign * estimate == -1.0, end, (inside + outside) / 2))
    return bounds[0], bounds[1]
