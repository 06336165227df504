"""The fitting of weights to positions with known results: Texel's tuning method as a logistic regression.

The model takes a position's evaluation as the log-odds of a win for white. The weights maximise the likelihood of the
results, with a ridge penalty that pulls them towards a prior. The cost is strictly convex, so the optimum is unique.
scipy finds it with the gradient and the Hessian.

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
"""Ridge penalty: weight of the squared distance from the prior in logits, relative to the mean cost per position."""
_FLAT: Final = 1e-7
"""Largest gradient, per standard deviation of a term, of a fit that counts as converged."""


def term_values(variant: Variant, boards: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the value of every term on each board, computed by evaluating with the weight 1 for this term alone."""
    tables = engine_for(variant).tables
    scores = np.zeros(len(boards), dtype=np.int64)
    columns = []
    for term in TERMS:
        unit = dict.fromkeys(TERMS, 0.0) | {term: 1.0}
        evaluate_boards(tables, evaluation_tables(variant, unit), boards, scores)
        columns.append(scores.astype(np.float64))
    return np.stack(columns, axis=1)


def fit(values: NDArray[np.float64], results: NDArray[np.float64], prior: Mapping[str, float]) -> dict[str, float]:
    """Return the weights in centi-logits that best explain the results, penalising distance from the prior."""
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
    # Near the optimum, scipy may report a failure because of rounding errors. Accept the result if the gradient is
    # small.
    if not found.success and np.abs(found.jac).max() > _FLAT:
        raise RuntimeError(f"the regression found no optimum: {found.message}")
    fitted = np.array([prior[term] for term in TERMS])
    fitted[used] = found.x / spread[used] * 100
    return {term: round(float(weight), 2) for term, weight in zip(TERMS, fitted, strict=True)}
