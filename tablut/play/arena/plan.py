"""What a match is: who plays whom, how often, from which openings, by which rules.

A plan says everything that its games depend on, so that under budgets of nodes a match is
the same whenever and however it is played; its digest names it in every record.
"""

from __future__ import annotations

import hashlib
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tablut.play.arena.openings import Openings

if TYPE_CHECKING:
    from tablut.play.arena.contestants import Contestant
    from tablut.position import Position
    from tablut.variants import Variant

__all__ = ["MatchPlan", "Pairing"]


class Pairing(NamedTuple):
    """One game of a match.

    Attributes
    ----------
    number : int
        From 0; games 2k and 2k + 1 are a pair.
    pair : int
        Whose opening it has.
    first_is_white : bool
        Whether the first player of the match plays white: in even games.
    seeds : tuple of (int, int)
        Of the first and of the second player.
    """

    number: int
    pair: int
    first_is_white: bool
    seeds: tuple[int, int]


class MatchPlan(NamedTuple):
    """A match before it is played.

    Attributes
    ----------
    variant : Variant
        The rule set.
    first, second : Contestant
        Who play.
    games : int
        How many; the last of an odd number has no partner.
    seed : int
        Of openings and players.
    openings : Openings
        How openings are drawn.
    start : Position or None
        Where games begin; None for the start of the variant.
    most_plies : int or None
        See `tablut.play.arena.game.play_game`.
    grace : float
        Likewise, in seconds.
    paired : bool
        Whether two games share an opening, which is fairest between two players. Without it
        all games are independent, as measures of the game itself want them.
    """

    variant: Variant
    first: Contestant
    second: Contestant
    games: int
    seed: int = 1
    openings: Openings = Openings()
    start: Position | None = None
    most_plies: int | None = None
    grace: float = 0.1
    paired: bool = True

    def pairing(self, number: int) -> Pairing:
        """Return who has which colour and which seeds in a game.

        Parameters
        ----------
        number : int
            Of the game, from 0.

        Returns
        -------
        Pairing
            The same for the same plan, whatever was played before.
        """
        random = Random(f"game {self.seed} {number}")
        return Pairing(
            number,
            number // 2 if self.paired else number,
            number % 2 == 0,
            (random.getrandbits(32), random.getrandbits(32)),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all that its games depend on but their number, so that a match may be made longer."""
        parts = [
            self.variant.digest,
            *(f"{one.player} {one.limits} {one.options.text}" for one in (self.first, self.second)),
            str(self.seed),
            str(self.openings),
            str(self.start),
            str(self.most_plies),
            str(self.grace),
            str(self.paired),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
