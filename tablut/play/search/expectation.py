"""Expected points: what a score of the search is worth in games between equals.

The *expected points* of a position are the share of the points that its side to move scores if the engine plays both
sides from there, with as many nodes a move as the search that gave the score. They were measured in games of the engine
with itself (`reports.studies.balance`). Each measured rule set has a small table, which is interpolated. It is valid
only for the rules and the evaluation with the digests that it contains.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from tablut.play.search.limits import EVALUATION_LIMIT
from tablut.play.search.weights import evaluation_digest

if TYPE_CHECKING:
    from tablut.variants import Variant

TABLES: Final = files("tablut.play.search").joinpath("data", "expectation.json")
"""File of the built-in tables."""
UNITS: Final = 1000
"""Number of units in a point. Tables contain whole units."""


class Expectation(BaseModel):
    """White's expected points under one rule set, by nodes, men and score. Values between the entries are interpolated.

    - ``variant``, ``rules``: Name and `Variant.digest` of the rule set.
    - ``evaluation``: Digest of the evaluation; see `tablut.play.search.weights.evaluation_digest`.
    - ``nodes``, ``games``: Numbers of nodes a move, and of the games that were played with each of them.
    - ``tempo``: Centi-logits added to the score of the side to move.
    - ``men``: Numbers of men on the board, without the king.
    - ``scores``: Scores in centi-logits for white.
    - ``points``: White's points in 1/`UNITS`, by nodes, men and score. A higher score never has fewer points.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    variant: str
    rules: str
    evaluation: str
    games: tuple[int, ...]
    tempo: int
    nodes: tuple[int, ...]
    men: tuple[int, ...]
    scores: tuple[int, ...]
    points: tuple[tuple[tuple[int, ...], ...], ...]

    @model_validator(mode="after")
    def _check_form(self) -> Expectation:
        axes = (self.nodes, self.men, self.scores)
        if any(len(axis) < 2 or any(low >= high for low, high in pairwise(axis)) for axis in axes):
            raise ValueError("each axis needs two or more rising numbers")
        rows = [row for table in self.points for row in table]
        shape = len(self.points), {len(table) for table in self.points}, {len(row) for row in rows}
        if shape != (len(self.nodes), {len(self.men)}, {len(self.scores)}) or len(self.games) != len(self.nodes):
            raise ValueError("the table does not fit its axes")
        if any([*row] != sorted(row) or row[0] < 0 or row[-1] > UNITS for row in rows):
            raise ValueError(f"a row of the table does not rise from 0 or more to {UNITS} or less")
        return self

    def expected(self, score: int, men: int, nodes: int, *, black: bool) -> float:
        """Return the expected points of the side to move, from 0 to 1, given its score and whether it is black.

        Numbers outside the table are replaced by the nearest ones in it; a score beyond the largest evaluation is
        decided.
        """
        if abs(score) > EVALUATION_LIMIT:
            return float(score > 0)
        whites = -score - self.tempo if black else score + self.tempo
        by_score = [[np.interp(whites, self.scores, row) for row in table] for table in self.points]
        by_men = [np.interp(men, self.men, row) for row in by_score]
        found = float(np.interp(np.log2(max(nodes, 1)), np.log2(self.nodes), by_men)) / UNITS
        return 1 - found if black else found


@cache
def shipped_tables() -> dict[str, Expectation]:
    """Return the built-in tables, keyed by the digests of their rule sets."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))["tables"]
    return {table.rules: table for table in map(Expectation.model_validate, tables)}


@cache
def expectation_for(variant: Variant) -> Expectation | None:
    """Return the built-in table for a rule set and the current evaluation, or None if it was not measured."""
    table = shipped_tables().get(variant.digest)
    return table if table is not None and table.evaluation == evaluation_digest(variant) else None
