"""Weights from positions with results: Texel's tuning in the form of a logistic regression.

The weights are those that make the results most likely if a position's odds are the
exponential of its evaluation, under a ridge that draws them towards a prior. The cost is
strictly convex, so there is one best set of weights; scipy finds it from the gradient and
the curvature.

References
----------
P. Österlund, Texel's tuning method, 2014,
https://www.chessprogramming.org/Texel%27s_Tuning_Method
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tablut.engine import engine_for
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables
from tablut.play.search.weights import TERMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tablut.variants import Variant

_RIDGE: Final = 3e-4
"""Weight of the squared distance from the prior, in logits, against one position."""
_FLAT: Final = 1e-7
"""Change of the cost by a standard deviation of a term at which nothing is left to find."""


def term_values(variant: Variant, boards: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the terms of boards: the evaluation with one weight at a time."""
    tables = engine_for(variant).tables
    scores = np.zeros(len(boards), dtype=np.int64)
    columns = []
    for term in TERMS:
        unit = dict.fromkeys(TERMS, 0.0) | {term: 1.0}
        evaluate_boards(tables, evaluation_tables(variant, unit), boards, scores)
        columns.append(scores.astype(np.float64))
    return np.stack(columns, axis=1)


def fit(values: NDArray[np.float64], results: NDArray[np.float64], prior: Mapping[str, float]) -> dict[str, float]:
    """Return the most likely weights, in centi-logits, drawn towards a prior."""
    spread = values.std(axis=0)
    used = spread > 0
    scaled = values[:, used] / spread[used]
    centre = np.array([prior[term] for term in TERMS])[used] / 100 * spread[used]

    def _cost(beta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits, pull = scaled @ beta, beta - centre
        likelihood = (np.logaddexp(0, logits) - results * logits).mean()
        gradient = scaled.T @ (expit(logits) - results) / len(results)
        return float(likelihood + _RIDGE / 2 * (pull @ pull)), gradient + _RIDGE * pull

    def _curvature(beta: NDArray[np.float64]) -> NDArray[np.float64]:
        odds = expit(scaled @ beta)
        return (scaled * (odds * (1 - odds))[:, None]).T @ scaled / len(results) + _RIDGE * np.eye(len(beta))

    found = minimize(_cost, centre, jac=True, hess=_curvature, method="trust-exact", options={"gtol": 1e-10})
    # Near the optimum rounding may be all that is left to gain: the gradient says whether that is so.
    if not found.success and np.abs(found.jac).max() > _FLAT:
        raise RuntimeError(f"the regression found no optimum: {found.message}")
    fitted = np.array([prior[term] for term in TERMS])
    fitted[used] = found.x / spread[used] * 100
    return {term: round(float(weight), 2) for term, weight in zip(TERMS, fitted, strict=True)}
