"""The twins of the players' kernels in plain Python: victory paths, and the scores of moves.

The oracles of the compiled parts, cell by cell over the naive rules (`tablut.rules.naive`). They
share with them nothing but the figures of the sources, written down once more. Those of
minimax and Monte Carlo: `tablut.play.players.naive_trees`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tablut.rules.naive import NaiveGame, NaivePosition

if TYPE_CHECKING:
    from tablut.rules.naive import Cell, NaiveMove, NaiveResult
    from tablut.variants import Variant

__all__ = ["NaivePaths"]

_DIRECTIONS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))


class NaivePaths:
    """Victory paths, and the scores of moves, of one variant.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> paths = NaivePaths(load_variant("mcgill"))
    >>> paths.stands_on_path(paths.game.read("9/9/9/9/9/9/9/b8/3K5 b"))
    True
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.game = NaiveGame(variant)
        self.escapes = {cell for cell, letter in self.game.terrain.items() if letter in "*X"}

    def captured_next(self, position: NaivePosition) -> bool:
        """Return whether black, were it to move, could capture the king.

        Parameters
        ----------
        position : NaivePosition
            Whoever is to move.

        Returns
        -------
        bool
            Whether a move of black captures it.
        """
        black = position._replace(side="b")
        return any(_ends(self.game.apply(black, move), "king_captured") for move in self.game.legal_moves(black))

    def ways(self, position: NaivePosition) -> list[list[Cell]]:
        """Return the ways of the king to its nearest escapes, from beside it to the escape.

        Parameters
        ----------
        position : NaivePosition
            Whoever is to move.

        Returns
        -------
        list of list of (int, int)
            One way a direction, at most four.
        """
        king = position.king()
        targets = {target for start, target in self.game.legal_moves(position, "w") if start == king}
        found = []
        for direction in _DIRECTIONS:
            way, cell = [], king
            while cell in self.game.terrain:
                cell = (cell[0] + direction[0], cell[1] + direction[1])
                way.append(cell)
                if cell in self.escapes and cell in targets:
                    found.append(way)
                    break
        return found

    def stands_on_path(self, position: NaivePosition) -> bool:
        """Return whether black, to move, can no longer keep the king from an escape, as the paper sees it.

        Parameters
        ----------
        position : NaivePosition
            Whoever is to move.

        Returns
        -------
        bool
            Whether it stands on one.
        """
        ways = self.ways(position)
        if not ways or self.captured_next(position):
            return False
        if len(ways) > 1:
            return True
        (way,) = ways
        king, end = position.king(), way[-1]
        ahead = (_sign(end[0] - king[0]), _sign(end[1] - king[1]))
        if any(position.piece((end[0] + steps * ahead[0], end[1] + steps * ahead[1])) == "b" for steps in range(12)):
            return False
        across = 1 if way[0][1] == king[1] else 0  # soldiers come along files to a way along a rank
        soldiers: dict[Cell, int] = {}
        for cell in way:
            if self.game.terrain[cell] != "X":
                line = [other for other in self.game.terrain if other[1 - across] == cell[1 - across]]
                soldiers[cell] = sum(position.piece(other) == "b" for other in line)
        open_to_black = [cell for cell, count in soldiers.items() if count]
        if not open_to_black:
            return True
        rules = self.variant.rules
        return (
            open_to_black == way[-2:-1]
            and soldiers[way[-2]] == 1
            and self.game.terrain[way[-1]] == "X"
            and rules.corners.hostile
            and rules.king.armed
            and len(way) >= 3
        )

    def path_moves(self, position: NaivePosition) -> list[NaiveMove]:
        """Return the king's moves, were white to move, that win at once or lead to a victory path.

        Parameters
        ----------
        position : NaivePosition
            Whoever is to move.

        Returns
        -------
        list of NaiveMove
            Any number of them.
        """
        white = position._replace(side="w")
        found = []
        for move in self.game.legal_moves(white):
            if move[0] != white.king():
                continue
            result = self.game.apply(white, move)
            if self._won(result, "white") or (result.outcome is None and self.stands_on_path(result.position)):
                found.append(move)
        return found

    def score(self, position: NaivePosition, move: NaiveMove, first: int) -> int:
        """Return the score of a move by section III-B of the McGill paper.

        Parameters
        ----------
        position : NaivePosition
            Undecided.
        move : tuple of two cells
            Legal there.
        first : int
            What standing on a victory path is worth on top; twice that for winning.

        Returns
        -------
        int
            In the points of the paper.
        """
        result = self.game.apply(position, move)
        white = position.side == "w"
        after, total = result.position, 10 * len(result.captured)
        castle = self.game.castle
        near = abs(move[1][0] - castle[0]) + abs(move[1][1] - castle[1]) <= 1
        if white and move[0] == position.king() and near:
            total += 1
        if result.outcome is not None:
            if self._won(result, "white" if white else "black"):
                return total + (5 + 2 * first if white else 2000)
            return total - (1000 if white else 0)
        taken: set[Cell] = set()
        for reply in self.game.legal_moves(after):
            taken |= self.game.apply(after, reply).captured
        total -= 5 * len(taken)
        has_path = bool(self.path_moves(after))
        if not white:
            return total + (0 if has_path else 1000)
        total += 5 if has_path else 0
        if self.captured_next(after):
            return total - 1000
        return total + (first if self.stands_on_path(after) else 0)

    @staticmethod
    def _won(result: NaiveResult, side: str) -> bool:
        return result.outcome is not None and result.outcome.winner == side


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _ends(result: NaiveResult, termination: str) -> bool:
    return result.outcome is not None and result.outcome.termination == termination
