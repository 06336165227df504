"""The twins of the players' kernels in plain Python: both evaluations, minimax without pruning, Monte Carlo.

See `tablut.play.players.naive`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tablut.engine.zobrist import split_mix
from tablut.play.players.naive import NaivePaths
from tablut.rules.naive import NaiveGame, NaivePosition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tablut.rules.naive import Cell, NaiveMove
    from tablut.variants import Variant

__all__ = ["NaiveMinimax", "NaiveMonteCarlo"]

_DIRECTIONS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))


class NaiveMinimax:
    """The evaluations of both minimax players, and minimax without pruning.

    Parameters
    ----------
    variant : Variant
        The rule set.
    kind : {'payoff', 'minimax3'}
        Whose evaluation.
    weights : sequence of int
        As the players order them; the last one is the end's.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> minimax = NaiveMinimax(load_variant("mcgill"), "payoff", (60, 30, 50, 50000))
    >>> minimax.worth(minimax.game.start(), "w", None)  # 9 pieces against 16, eight tiles to go
    102
    """

    def __init__(self, variant: Variant, kind: str, weights: Sequence[int]) -> None:
        self.variant, self.kind, self.weights = variant, kind, weights
        self.game = NaiveGame(variant)

    def worth(self, position: NaivePosition, side: str, winner: str | None) -> int:
        """Return what a position is worth to a side, ``w`` or ``b``; the winner is ``white``, ``black`` or None.

        Parameters
        ----------
        position : NaivePosition
            Decided or not.
        side : {'w', 'b'}
            Who chooses at the root.
        winner : {'white', 'black'} or None
            Who has won.

        Returns
        -------
        int
            The worth.
        """
        pieces, king = position.pieces, position.king()
        black = sum(piece == "b" for piece in pieces.values())
        white = len(pieces) - black
        own, other = (white, black) if side == "w" else (black, white)
        sign = 1 if side == "w" else -1
        end = 0 if winner is None else self.weights[3] * (1 if winner[0] == side else -1)
        if self.kind == "payoff":
            escapes = [cell for cell, letter in self.game.terrain.items() if letter in "*X"]
            tiles = min(abs(king[0] - cell[0]) + abs(king[1] - cell[1]) for cell in escapes)
            return self.weights[0] * own - self.weights[1] * other + sign * (self.weights[2] - tiles) + end
        if winner is not None:
            return end
        sides = [(king[0] + dx, king[1] + dy) for dx, dy in _DIRECTIONS]
        beside = sum(position.piece(cell) == "b" for cell in sides)
        near = self.game.castle in (king, *sides)
        return sign * (self.weights[2] * (white - black) + self.weights[1] * near - self.weights[0] * beside)

    def value(self, position: NaivePosition, depth: int, side: str, history: Sequence[NaivePosition] = ()) -> int:
        """Return the minimax value of a position, undecided by the ply to it, for the side that chooses at the root.

        Parameters
        ----------
        position : NaivePosition
            With its side to move.
        depth : int
            Plies.
        side : {'w', 'b'}
            Who chooses at the root.
        history : sequence of NaivePosition
            Those before it; the root has one of them only if it is below.

        Returns
        -------
        int
            The value.
        """
        moves = self.game.legal_moves(position)
        other = "black" if position.side == "w" else "white"
        if not moves:
            return self.worth(position, side, other)
        rule = self.variant.rules.repetition
        if rule != "none" and position in history:
            return 0 if rule == "draw" else self.worth(position, side, "white" if position.side == "w" else "black")
        if depth == 0:
            return self.worth(position, side, None)
        values = []
        for move in moves:
            result = self.game.apply(position, move)
            if result.outcome is not None:
                values.append(self.worth(result.position, side, result.outcome.winner))
            else:
                values.append(self.value(result.position, depth - 1, side, (*history, position)))
        return max(values) if position.side == side else min(values)


class NaiveMonteCarlo:
    """The Monte Carlo players' tree, in a dictionary; with the same seed it makes the same playouts.

    Parameters
    ----------
    variant : Variant
        The rule set.
    settings : mapping of str to object
        As the players read them.
    seed : int
        Of the playouts.
    """

    def __init__(self, variant: Variant, settings: Mapping[str, object], seed: int) -> None:
        self.settings = settings
        self.paths = NaivePaths(variant)
        self.game = self.paths.game
        self._stream = split_mix(seed)
        self.seen: dict[tuple[frozenset[tuple[Cell, str]], str], list[int]] = {}

    def _below(self, count: int) -> int:
        return (next(self._stream) >> 32) * count >> 32

    @staticmethod
    def _state(position: NaivePosition) -> tuple[frozenset[tuple[Cell, str]], str]:
        return frozenset(position.pieces.items()), position.side

    def _moves(self, position: NaivePosition) -> list[NaiveMove]:
        """Return the moves in the engine's order: by the cell left, along its rank, then along its file."""

        def place(move: NaiveMove) -> tuple[int, int, bool, int]:
            (file, rank), (to_file, to_rank) = move
            return rank, file, rank != to_rank, to_file + to_rank

        return sorted(self.game.legal_moves(position), key=place)

    def run(self, root: NaivePosition, playouts: int) -> dict[NaiveMove, tuple[int, int, int]]:
        """Return visits, wins and losses of each move after some playouts.

        Parameters
        ----------
        root : NaivePosition
            With a legal move.
        playouts : int
            How many.

        Returns
        -------
        dict of NaiveMove to (int, int, int)
            As `root_statistics` has them.
        """
        for _ in range(playouts):
            self._playout(root)
        found = {}
        for move in self._moves(root):
            visits, wins, losses = self.seen.get(self._state(self.game.apply(root, move).position), (0, 0, 0))
            found[move] = (visits, wins, losses)
        return found

    def _choose(self, position: NaivePosition, moves: Sequence[NaiveMove]) -> NaiveMove:
        nexts = [self.seen.get(self._state(self.game.apply(position, move).position)) for move in moves]
        chosen, unseen = moves[0], 0
        for move, known in zip(moves, nexts, strict=True):
            if known is None:
                unseen += 1
                if self._below(unseen) == 0:
                    chosen = move
        if unseen:
            return chosen
        total = sum(known[0] for known in nexts if known)
        seen = total if self.settings["uct"] == "next" else self.seen[self._state(position)][0]
        merits = []
        for known in nexts:
            visits, wins, losses = known or [1, 0, 0]
            gained = wins - losses * (self.settings["objective"] == "net")
            merits.append(gained / visits + float(str(self.settings["c"])) * math.sqrt(math.log(max(seen, 1)) / visits))
        return moves[merits.index(max(merits))]

    def _defined(self, position: NaivePosition) -> str | None:
        if self.settings["expanded"] == "none":
            return None
        blind = self.settings["turn"] == "blind"
        if (blind or position.side == "b") and self.paths.captured_next(position):
            return "b"
        return "w" if (blind or position.side == "w") and self.paths.path_moves(position) else None

    def _playout(self, root: NaivePosition) -> None:
        position, known, winner = root, True, None
        way = [self._state(root)]
        self.seen.setdefault(way[0], [0, 0, 0])
        left = int(str(self.settings["depth"]))
        while left > 0 and winner is None:
            moves = self._moves(position)
            if not moves:
                winner = "b" if position.side == "w" else "w"
                break
            move = self._choose(position, moves) if known else moves[self._below(len(moves))]
            result = self.game.apply(position, move)
            position, left = result.position, left - 1
            if known:
                state = self._state(position)
                known = state in self.seen
                self.seen.setdefault(state, [0, 0, 0])
                way.append(state)
                if not known and self.settings["from"] == "leaf":
                    left = int(str(self.settings["depth"]))
            winner = result.outcome.winner[0] if result.outcome and result.outcome.winner else self._defined(position)
        for _, side in way:
            counts = self.seen[_, side]
            counts[0] += 1
            # The side that moved into a state is the one that is not to move there.
            if winner is not None:
                counts[1 if winner != side else 2] += 1
