"""The twins of the players' kernels in plain Python: victory paths, and the scores of moves.

The oracles of the compiled parts, cell by cell over the naive rules (`tablut.rules.naive`). They
share with them nothing but the figures of the sources, written down once more. Those of
minimax and Monte Carlo: `tests.twins.players`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tablut.engine.jit import split_mix
from tablut.rules.naive import NaiveGame, NaivePosition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tablut.rules.naive import Cell, NaiveMove, NaiveResult
    from tablut.variants import Variant

_DIRECTIONS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))


class NaivePaths:
    """Victory paths, and the scores of moves, of one variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.game = NaiveGame(variant)
        self.escapes = {cell for cell, letter in self.game.terrain.items() if letter in "*X"}

    def captured_next(self, position: NaivePosition) -> bool:
        """Return whether black, were it to move, could capture the king."""
        black = position._replace(side="b")
        return any(_ends(self.game.apply(black, move), "king_captured") for move in self.game.legal_moves(black))

    def ways(self, position: NaivePosition) -> list[list[Cell]]:
        """Return the ways of the king to its nearest escapes, from beside it to the escape."""
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
        """Return whether black, to move, can no longer keep the king from an escape, as the paper sees it."""
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
        """Return the king's moves, were white to move, that win at once or lead to a victory path."""
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
        """Return the score of a move by section III-B of the McGill paper."""
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


# ------------------------------------------------------------------------------------------
# The twins of the players' kernels in plain Python: both evaluations, minimax without pruning, Monte Carlo


# See `tests.twins.players`.


class NaiveMinimax:
    """The evaluations of both minimax players, and minimax without pruning."""

    def __init__(self, variant: Variant, kind: str, weights: Sequence[int]) -> None:
        self.variant, self.kind, self.weights = variant, kind, weights
        self.game = NaiveGame(variant)

    def worth(self, position: NaivePosition, side: str, winner: str | None) -> int:
        """Return what a position is worth to a side, ``w`` or ``b``; the winner is ``white``, ``black`` or None."""
        pieces, king = position.pieces, position.king()
        black = sum(piece == "b" for piece in pieces.values())
        white = len(pieces) - black
        own, other = (white, black) if side == "w" else (black, white)
        sign = 1 if side == "w" else -1
        end = 0 if winner is None else self.weights[3] * (1 if winner[0] == side else -1)
        if self.kind == "payoff":
            escapes = [cell for cell, letter in self.game.terrain.items() if letter in "*X"]
            away = [abs(king[0] - cell[0]) + abs(king[1] - cell[1]) for cell in escapes]
            tiles = min(away, default=2 * self.variant.size)
            return self.weights[0] * own - self.weights[1] * other + sign * (self.weights[2] - tiles) + end
        if winner is not None:
            return end
        sides = [(king[0] + dx, king[1] + dy) for dx, dy in _DIRECTIONS]
        beside = sum(position.piece(cell) == "b" for cell in sides)
        near = self.game.castle in (king, *sides)
        return sign * (self.weights[2] * (white - black) + self.weights[1] * near - self.weights[0] * beside)

    def value(self, position: NaivePosition, depth: int, side: str, history: Sequence[NaivePosition] = ()) -> int:
        """Return the minimax value of a position, undecided by the ply to it, for the side that chooses at the root."""
        moves = self.game.legal_moves(position)
        other = "black" if position.side == "w" else "white"
        if not moves:
            return self.worth(position, side, other)
        rule = self.variant.rules.repetition
        if (rule.ends or rule.forbids(other)) and position in history:
            if rule.result == "draw":
                return 0
            mine = "white" if position.side == "w" else "black"
            return self.worth(position, side, mine if rule.forbids(other) else rule.winner(other))
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
    """The Monte Carlo players' tree, in a dictionary; with the same seed it makes the same playouts."""

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
        """Return visits, wins and losses of each move after some playouts."""
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
