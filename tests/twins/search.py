"""The twin of search in plain Python: the evaluation from its description, and minimax without pruning.

The oracle of the compiled search. It takes the rules from `tablut.rules.naive`, counts
the terms cell by cell, and knows neither line tables nor bounds. Only the weights are
shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from symmetry import dihedral
from tablut.play.search.limits import EVALUATION_LIMIT, MATE, REPETITION
from tablut.play.search.weights import (
    FULL,
    OUTPUT_BITS,
    RINGS,
    SCALE,
    TERMS,
    corner_cells,
    corner_rows,
    scaled_weights,
    weights_family,
)
from tablut.rules.naive import NaiveGame, NaivePosition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tablut.play.search.weights import Patterns
    from tablut.rules.naive import Cell
    from tablut.variants import Variant

_DIRECTIONS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))
_MOST_PATHS: Final = 4


class NaiveSearch:
    """Evaluation and minimax of one variant."""

    def __init__(self, variant: Variant, weights: Mapping[str, float], patterns: Patterns | None = None) -> None:
        self.variant = variant
        self.patterns = patterns
        self.rows = corner_rows(patterns.family if patterns else weights_family(variant), variant.size)
        self.game = NaiveGame(variant)
        self.weights = scaled_weights(weights)
        self.escapes = {cell for cell, letter in self.game.terrain.items() if letter in "*X"}
        self.reachable = {divmod(cell, variant.size)[::-1] for cell in variant.regions.approaches}

    # -- evaluation --------------------------------------------------------------------

    def terms(self, position: NaivePosition) -> dict[str, int]:
        """Return the terms of a position."""
        game, pieces, king = self.game, position.pieces, position.king()
        camps = {cell for cell, letter in game.terrain.items() if letter in "ABCD"}
        black = [cell for cell, piece in pieces.items() if piece == "b"]
        white = [cell for cell, piece in pieces.items() if piece != "b"]
        beside = [self._step(king, direction) for direction in _DIRECTIONS]
        targets = self._king_targets(position, king)
        paths = sum(self._is_path(position, king, target) for target in targets)
        counts = {
            "attacker_moves": len(game.legal_moves(position, "b")),
            # As far as lines can tell, the king goes where a defender in its place could.
            "defender_moves": len(game.legal_moves(self._with_defender_for_king(position), "w")),
            "open_escapes": self._open_escapes(position),
            "attackers_in_camp": sum(cell in camps for cell in black),
            "attackers_near_escape": sum(self._near_escape(cell) for cell in black),
            "defenders_near_escape": sum(self._near_escape(cell) for cell in white),
            "attackers": len(black),
            "defenders": len(white) - 1,
            "king_rays": len({self._direction(king, target) for target in targets if target in self.escapes}),
            "king_paths": min(paths, _MOST_PATHS),
            "king_has_path": int(paths > 0),
            "king_moves": len(targets),
            "king_ring": self._ring(king),
            "attackers_beside_king": sum(position.piece(cell) == "b" for cell in beside),
            "defenders_beside_king": sum(position.piece(cell) == "w" for cell in beside),
            "king_capture_sides": sum(self._completes_capture(position, king, way) for way in _DIRECTIONS),
            "tempo": 1 if position.side == "w" else -1,
            "fort_wall": self._fort_wall(position, king),
        }
        counts |= self._ends_seen(position) | self._corners(black)
        for ring in range(RINGS):
            counts[f"attackers_ring_{ring}"] = sum(self._ring(cell) == ring for cell in black)
            counts[f"defenders_ring_{ring}"] = sum(self._ring(cell) == ring for cell in white)
        return counts

    def evaluation(self, position: NaivePosition) -> int:
        """Return the evaluation of a position, white's, in centi-logits."""
        counts = self.terms(position)
        total = 0
        for term in TERMS:
            # What two lines count weighs half on each of them.
            twice = 2 if "_in_camp" in term or "_near_escape" in term or "s_ring_" in term else 1
            total += self.weights[term] * counts[term] * twice
        if self.patterns is not None:
            total += self._learnt(position, self.patterns)
        return total // SCALE

    def _learnt(self, position: NaivePosition, patterns: Patterns) -> int:
        """Return what the patterns of a position's lines and corners add up to, scaled."""
        size, (file, rank) = self.game.size, position.king()
        digits = [{"": 0, "b": 1}.get(position.piece((cell % size, cell // size)), 2) for cell in range(size**2)]
        total, rows = 0, self.rows
        for line, table in enumerate(patterns.line_table[rank * size + file].tolist()):
            cells = [line * size + place if line < size else place * size + line - size for place in range(size)]
            total += int(patterns.line_scores[table, sum(digits[cell] * 3**place for place, cell in enumerate(cells))])
        for scores, cells in zip(patterns.corner_scores, corner_cells(size, rows), strict=True):
            total += int(scores[sum(digits[cell] * 3**place for place, cell in enumerate(cells))])
        return total + (self._net(position, patterns.net.tolist()) if len(patterns.net) else 0)

    def _net(self, position: NaivePosition, net: list[list[int]]) -> int:
        """Return what a net says, scaled: its units look at the board in each symmetry of the square."""
        size, total, say = self.game.size, 0, net[-1]
        for element in dihedral(size):
            sums = net[-3 if position.side == "w" else -2]
            for (file, rank), piece in position.pieces.items():
                image = element.table[rank * size + file]
                for kind in {"b": (0,), "w": (1,)}.get(piece, (1, 2)):
                    sums = [sum(pair) for pair in zip(sums, net[kind * size * size + image], strict=True)]
            total += sum(min(max(value, 0), FULL) * much for value, much in zip(sums, say, strict=True))
        return total >> OUTPUT_BITS

    def _fort_wall(self, position: NaivePosition, king: Cell) -> int:
        """Return the defenders near a king that may be in a fort soon."""
        if self.game.rules.fort == "none" or self._ring(king) > 1:
            return 0
        near = [cell for cell in position.pieces if max(abs(cell[0] - king[0]), abs(cell[1] - king[1])) <= 2]
        return sum(position.piece(cell) == "w" for cell in near)

    def _ends_seen(self, position: NaivePosition) -> dict[str, int]:
        """Return from how many ends of lines with white pieces an attacker, and a white piece, is seen first."""
        size, seen = self.game.size, {"ends_closed": 0, "ends_open": 0}
        lines = [[(file, rank) for file in range(size)] for rank in range(size)]
        for line in lines + [list(column) for column in zip(*lines, strict=True)]:
            pieces = [piece for cell in line if (piece := position.piece(cell))]
            if set(pieces) - {"b"}:
                for end in (pieces[0], pieces[-1]):
                    seen["ends_closed" if end == "b" else "ends_open"] += 1
        return seen

    def _corners(self, black: list[Cell]) -> dict[str, int]:
        """Return how many attackers stand on the diagonals that seal a corner, and how many corners are sealed."""
        last, guards, sealed = self.game.size - 1, 0, 0
        if self.rows > 3:
            for corner in {(file, rank) for file in (0, last) for rank in (0, last)} & self.escapes:
                far = {cell: abs(cell[0] - corner[0]) + abs(cell[1] - corner[1]) for cell in self.game.terrain}
                diagonals = [{cell for cell, steps in far.items() if steps == wanted} for wanted in (2, 3)]
                guards += len(diagonals[1] & set(black))
                sealed += any(diagonal <= set(black) for diagonal in diagonals)
        return {"corner_guards": guards, "corners_sealed": sealed}

    def _step(self, cell: Cell, direction: Cell) -> Cell:
        return cell[0] + direction[0], cell[1] + direction[1]

    def _direction(self, start: Cell, target: Cell) -> Cell:
        return _sign(target[0] - start[0]), _sign(target[1] - start[1])

    def _ring(self, cell: Cell) -> int:
        last = self.game.size - 1
        return min(*cell, last - cell[0], last - cell[1])

    def _near_escape(self, cell: Cell) -> bool:
        return any(abs(cell[0] - other[0]) + abs(cell[1] - other[1]) <= 2 for other in self.reachable)

    def _king_targets(self, position: NaivePosition, king: Cell) -> list[Cell]:
        """Return where a king of the position would be able to go from a cell, empty or its own."""
        pieces = {cell: piece for cell, piece in position.pieces.items() if piece != "K" or cell == king}
        moved = NaivePosition(pieces | {king: "K"}, "w")
        return [target for start, target in self.game.legal_moves(moved, "w") if start == king]

    def _is_path(self, position: NaivePosition, king: Cell, target: Cell) -> bool:
        """Return whether a king that went to a target could next turn aside and reach an escape."""
        stands = NaivePosition({**position.pieces}, "w")
        along = self._direction(king, target)
        following = self._king_targets(stands, target)
        return any(
            cell in self.escapes and self._direction(target, cell) not in (along, (-along[0], -along[1]))
            for cell in following
        )

    def _with_defender_for_king(self, position: NaivePosition) -> NaivePosition:
        return NaivePosition({cell: "w" if piece == "K" else piece for cell, piece in position.pieces.items()}, "w")

    def _open_escapes(self, position: NaivePosition) -> int:
        """Return on how many empty cells a king could stand and slide to an escape, the row and the column apart."""
        total = 0
        for cell, letter in self.game.terrain.items():
            stops = letter in ".+" or (letter == "T" and self.game.rules.castle.stop == "king")
            if not stops or position.piece(cell):
                continue
            # The king that is elsewhere on the board stands in the way like any piece.
            blocked = self._with_defender_for_king(position)
            targets = self._king_targets(blocked, cell)
            ways = {self._direction(cell, target) for target in targets if target in self.escapes}
            total += len({abs(way[0]) for way in ways})
        return total

    def _completes_capture(self, position: NaivePosition, king: Cell, way: Cell) -> bool:
        """Return whether an attacker that arrived beside the king, on an empty cell, would capture it."""
        beside = self._step(king, way)
        if beside not in self.game.terrain or position.piece(beside):
            return False
        # The attacker comes from a cell beyond the board, so that it leaves no place beside the king.
        outside = (-9, -9)
        before = NaivePosition({**position.pieces, outside: "b"}, "b")
        outcome = self.game.apply(before, (outside, beside)).outcome
        return outcome is not None and outcome.termination == "king_captured"

    # -- search ------------------------------------------------------------------------

    def value(self, position: NaivePosition, depth: int, history: Sequence[NaivePosition] = (), plies: int = 0) -> int:
        """Return the minimax value of an undecided position for the side to move."""
        return self._minimax(position, depth, [*history, position], 0, plies)

    def _minimax(self, position: NaivePosition, depth: int, path: list[NaivePosition], ply: int, plies: int) -> int:
        rules = self.variant.rules
        rule, mover = rules.repetition, "black" if position.side == "w" else "white"
        if ply > 0 and (rule.ends or rule.forbids(mover)) and position in path[:-1]:
            if rule.result == "draw":
                return 0
            return ply - REPETITION if rule.winner(mover) == mover else REPETITION - ply
        moves = self.game.legal_moves(position)
        if ply > 0 and rules.move_limit is not None and plies >= rules.move_limit:
            return 0 if moves else ply - MATE
        won = "white" if position.side == "w" else "black"
        if depth == 0:
            results = [self.game.apply(position, move).outcome for move in moves]
            if any(self._takes_the_king_home(outcome, won) for outcome in results):
                return MATE - ply - 1
            score = max(-EVALUATION_LIMIT, min(EVALUATION_LIMIT, self.evaluation(position)))
            return score if won == "white" else -score
        best = ply - MATE
        for number, move in enumerate(moves):
            result = self.game.apply(position, move)
            if result.outcome is not None:
                value = MATE - ply - 1 if result.outcome.winner == won else ply + 1 - MATE
            else:
                path.append(result.position)
                value = -self._minimax(result.position, depth - 1, path, ply + 1, plies + 1)
                path.pop()
            best = value if number == 0 else max(best, value)
        return best

    @staticmethod
    def _takes_the_king_home(outcome: object, side: str) -> bool:
        """Return whether a ply won by the king's escape or capture, which the horizon sees."""
        termination, winner = getattr(outcome, "termination", None), getattr(outcome, "winner", None)
        return winner == side and termination in ("king_escaped", "king_captured")


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
