"""Tablut among other games: Table 1 of the paper regenerated, and today's figures.

The figures of other games are quoted; each carries its source. Only Tablut's own
row is computed here.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from functools import cache
from importlib import resources

from tablut.results import Result, scientific


class ComparedGame(Result):
    """One row of the comparison."""

    name: str
    published: tuple[str, ...]
    published_solution: str
    today: str
    error: str | None = None
    kind: str
    solution: str
    source: str
    remark: str

    @property
    def size(self) -> Decimal:
        """Today's figure as a number, to order the games by."""
        return Decimal(self.today)


@cache
def published_games() -> tuple[ComparedGame, ...]:
    """Return the other games of Table 1, in its order."""
    text = (resources.files("counting") / "data" / "comparison.toml").read_text(encoding="utf-8")
    return tuple(ComparedGame.model_validate(game) for game in tomllib.loads(text)["games"])


def compare(published: str, corrected: int) -> list[ComparedGame]:
    """Return all games in the order of today's figures, Tablut among them."""
    tablut = ComparedGame(
        name="Tablut",
        published=(published,),
        published_solution="no",
        today=str(corrected),
        kind="upper bound, corrected",
        solution="no",
        source="this project: `tablut bounds`",
        remark=f"{scientific(corrected)} where the paper prints {published}",
    )
    return sorted([tablut, *published_games()], key=lambda game: game.size)
