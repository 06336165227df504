"""Plain Python implementation of the rules on a dictionary of cells, slow but easy to read.

Tests compare the compiled engine with this module, which therefore uses neither the engine's tables nor the derived
regions. It reads a variant's diagrams and rule fields, and implements each rule once, close to its wording.

Cells are ``(file, rank)`` pairs, and ``(0, 0)`` is a1. Pieces are ``b`` (attacker), ``w`` (defender) and ``K`` (king);
sides are ``b`` and ``w``. Positions have no history, so there is neither repetition nor a move limit.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import combinations, groupby
from typing import NamedTuple

from tablut.errors import InputError, whole_number
from tablut.position import Move, Position, parse_square, position_text, square_name
from tablut.rules.outcome import OUTCOMES, Outcome
from tablut.variants import Variant, VariantLike, as_variant
from tablut.work.files import excerpt

Cell = tuple[int, int]
NaiveMove = tuple[Cell, Cell]

DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
_CAMPS = ("A", "B", "C", "D")
# This cell stands for the castle on a board without a castle. It is neither on the board nor next to it.
_NOWHERE = (-9, -9)
_PIECES = {"b": "an attacker", "w": "a defender", "K": "the king"}


class NaivePosition(NamedTuple):
    """Placement of the pieces, and the side to move.

    ``pieces`` maps occupied cells to pieces, and ``side`` is ``w`` or ``b``.
    """

    pieces: Mapping[Cell, str]
    side: str

    def king(self) -> Cell:
        """Return the king's cell."""
        return next(cell for cell, piece in self.pieces.items() if piece == "K")

    def piece(self, cell: Cell) -> str:
        """Return the piece on a ``cell`` (file, rank), or ``''`` if the cell is empty or lies beyond the edge.

        Examples
        --------
        >>> position = NaivePosition({(0, 0): "b", (2, 2): "K"}, "w")
        >>> position.piece((0, 0)), position.piece((1, 0))
        ('b', '')
        """
        return self.pieces.get(cell, "")


class NaiveResult(NamedTuple):
    """Result of a ply.

    - ``position``: Position after the ply. Captured soldiers are removed, but a captured king is not.
    - ``captured``, ``outcome``: Cells of the captured soldiers, and the outcome, or None if the game continues.
    """

    position: NaivePosition
    captured: frozenset[Cell]
    outcome: Outcome | None


class _Pattern(NamedTuple):
    """Pattern of cells that black can use to capture white soldiers.

    The fields are the cells of the captured soldiers, the cells that black must occupy, and the cells where the last
    black piece may arrive.
    """

    row: list[Cell]
    men: list[Cell]
    closing: list[Cell]


def _add(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]


def _rows(line: list[Cell], cells: set[Cell]) -> list[list[Cell]]:
    """Return the maximal runs of adjacent cells on a line that belong to a set."""
    return [list(row) for belongs, row in groupby(line, cells.__contains__) if belongs]


class NaiveGame:
    """Rules of one ``variant``, implemented in plain Python.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> game = NaiveGame(load_variant("ashton"))
    >>> game.perft(game.start(), 2)
    4408
    """

    def __init__(self, variant: VariantLike) -> None:
        variant = as_variant(variant)
        self.variant = variant
        self.rules = variant.rules
        self.size = variant.size
        # The first row of a diagram is the top rank.
        self.terrain = {
            (file, variant.size - 1 - row): letter
            for row, text in enumerate(variant.terrain)
            for file, letter in enumerate(text)
        }
        self._around = {cell: [(_add(cell, step), _add(cell, step, 2)) for step in DIRECTIONS] for cell in self.terrain}
        self._near = {cell: [side for side in self._sides(cell) if side in self.terrain] for cell in self.terrain}
        self._rows = [[(file, rank) for file in range(self.size)] for rank in reversed(range(self.size))]
        self.castle = next((cell for cell, letter in self.terrain.items() if letter == "T"), _NOWHERE)

    # -- positions ---------------------------------------------------------------------

    def start(self) -> NaivePosition:
        """Return the start position."""
        return self.read(self.variant.start_position)

    def read(self, text: str) -> NaivePosition:
        """Return the position with the given one-line ``text``. It need not be one that can occur in a game.

        Raises
        ------
        InputError
            If the rows do not fill the board or contain an unknown letter.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> game.read("2b2/5/b1K1b/5/2b2 w").king()
        (2, 2)
        """
        placement, _, rest = text.strip().partition(" ")
        pieces = {}
        rows = placement.split("/")
        for row, content in enumerate(rows):
            file, digits = 0, ""
            for letter in content + "/":
                if letter in "0123456789":
                    digits += letter
                    continue
                file, digits = file + int(digits[:4] or "0"), ""
                if letter in "bwK":
                    pieces[file, self.size - 1 - row] = letter
                    file += 1
                elif letter != "/":
                    raise InputError(f"has the unknown letter {letter!r}", subject=f"position {excerpt(text)}")
            if file != self.size:
                raise InputError(
                    f"row {excerpt(content)} has {file} cells, not {self.size}", subject=f"position {excerpt(text)}"
                )
        if len(rows) != self.size or rest[:1] not in ("w", "b"):
            raise InputError(f"expected {self.size} rows, a space, and w or b", subject=f"position {excerpt(text)}")
        return NaivePosition(pieces, rest[0])

    def write(self, position: NaivePosition) -> str:
        """Return the one-line text of a ``position``: the rows from the top rank down, a space, and ``w`` or ``b``.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> game.write(game.start())
        '2b2/5/b1K1b/5/2b2 w'
        """
        piece = position.pieces.get
        rows = ["".join([piece(cell, ".") for cell in row]) for row in self._rows]
        return position_text(rows, position.side)

    def move_name(self, move: NaiveMove) -> str:
        """Return a ``move`` as text, for example ``e4-e7``."""
        (from_file, from_rank), (to_file, to_rank) = move
        return "-".join(
            square_name(rank * self.size + file, self.size)
            for file, rank in ((from_file, from_rank), (to_file, to_rank))
        )

    def parse_move(self, name: str) -> NaiveMove:
        """Return the move with a ``name`` such as ``e4-e7``. The move need not be legal.

        Raises
        ------
        InputError
            If one of the names is not a square of the board.
        """
        start, _, end = name.partition("-")
        ends = [divmod(parse_square(square, self.size), self.size) for square in (start, end)]
        return (ends[0][1], ends[0][0]), (ends[1][1], ends[1][0])

    # -- moves -------------------------------------------------------------------------

    def legal_moves(self, position: NaivePosition, side: str | None = None) -> list[NaiveMove]:
        """Return the legal moves in a ``position`` for a ``side`` (by default the side to move), sorted.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> [game.move_name(move) for move in game.legal_moves(game.start())]
        ['c3-b3', 'c3-c2', 'c3-c4', 'c3-d3']
        """
        return sorted(self.moves(position, side))

    def moves(self, position: NaivePosition, side: str | None = None) -> Iterator[NaiveMove]:
        """Return an iterator of the legal moves in a ``position`` for a ``side``, by default the side to move.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> sum(1 for _ in game.moves(game.start()))
        4
        """
        own = "b" if (side or position.side) == "b" else "wK"
        return (
            (cell, target)
            for cell, piece in position.pieces.items()
            if piece in own
            for direction in DIRECTIONS
            for target in self._slide(position, cell, direction)
        )

    def _is_stuck(self, position: NaivePosition, side: str) -> bool:
        return next(self.moves(position, side), None) is None

    def _slide(self, position: NaivePosition, cell: Cell, direction: Cell) -> Generator[Cell, None, tuple[Cell, str]]:
        """Yield the cells where a piece may end a slide. Return the cell that stops the slide and the reason."""
        pieces, piece = position.pieces, position.pieces[cell]
        # The camp within which a black soldier may still move, until its slide leaves the camp.
        camp = self.terrain[cell] if piece == "b" and self._in_camp(cell) else ""
        while True:
            cell = (cell[0] + direction[0], cell[1] + direction[1])
            if cell not in self.terrain:
                return cell, "the board ends before it"
            if cell in pieces:
                return cell, "{piece} stands on {cell}"
            letter = self.terrain[cell]
            if letter in "ABCD" and letter != camp:
                return cell, "{cell} is a camp cell, which no piece may enter"
            if letter != camp:
                camp = ""
            if letter == "T":
                if piece == "K" and self.rules.castle.stop == "king":
                    yield cell
                passable = self.rules.castle.passable
                if not (passable == "everyone" or (passable == "king" and piece == "K")):
                    return cell, "{who} may slide across the castle"
            elif letter != "X" or piece == "K":
                yield cell

    def why_not(self, position: NaivePosition, move: NaiveMove) -> str:
        """Return the reason, as a clause, why an illegal ``move`` cannot be made in a ``position``.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> game.why_not(game.start(), game.parse_move("c3-c1"))
        'an attacker stands on c1'
        """
        (file, rank), target = move
        steps = target[0] - file, target[1] - rank
        direction = (steps[0] > 0) - (steps[0] < 0), (steps[1] > 0) - (steps[1] < 0)
        if direction not in DIRECTIONS:
            return "a piece moves along a row or a column"
        slide, why = self._slide(position, move[0], direction), ""
        try:
            while True:
                next(slide)
        except StopIteration as end:
            (at_file, at_rank), why = end.value
        who = self.rules.castle.passable
        if abs(at_file - file) + abs(at_rank - rank) >= abs(steps[0]) + abs(steps[1]):
            # The piece can slide to this cell, but may not stop there.
            if self.terrain[target] == "X":
                return "only the king may enter a corner"
            if target == self.castle and not position.piece(target):
                who, why = self.rules.castle.stop, "{who} may end a move on the castle"
        return why.format(
            piece=_PIECES.get(position.piece((at_file, at_rank))),
            cell=square_name(at_rank * self.size + at_file, self.size) if (at_file, at_rank) in self.terrain else "",
            who="no piece" if who == "nobody" else "only the king",
        )

    def _in_camp(self, cell: Cell) -> bool:
        return self.terrain.get(cell) in _CAMPS

    # -- a ply -------------------------------------------------------------------------

    def apply(self, position: NaivePosition, move: NaiveMove) -> NaiveResult:
        """Return the result of a legal ``move`` in an undecided ``position``, which is not changed.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> result = game.apply(game.start(), game.parse_move("c3-b3"))
        >>> game.write(result.position), result.outcome
        ('2b2/5/bK2b/5/2b2 b', None)
        """
        start, target = move
        pieces = dict(position.pieces)
        moved = pieces[target] = pieces.pop(start)
        arrived = NaivePosition(pieces, "w" if position.side == "b" else "b")

        captured = set()
        king_captured = False
        for beside, behind in self._around[target]:
            victim = pieces.get(beside)
            if victim is None:
                continue
            if moved == "b" and victim == "K":
                king_captured = king_captured or self._king_falls(arrived, beside, behind)
            elif self._are_enemies(moved, victim) and self._soldier_falls(arrived, moved, beside, behind):
                captured.add(beside)
        captured |= self._walled_in(arrived, moved, target)
        for cell in captured:
            del pieces[cell]
        escaped = moved == "K" and self.terrain[target] in "*X"
        return NaiveResult(arrived, frozenset(captured), self._outcome(arrived, king_captured, escaped))

    @staticmethod
    def _are_enemies(moved: str, victim: str) -> bool:
        return (moved == "b" and victim == "w") or (moved in ("w", "K") and victim == "b")

    def _soldier_falls(self, position: NaivePosition, moved: str, victim: Cell, behind: Cell) -> bool:
        """Return whether the moved piece captures a soldier next to it. The cell ``behind`` is on the far side."""
        if moved == "K" and not self.rules.king.armed:
            return False
        if self._is_sheltered(victim):
            return False
        partner = position.piece(behind)
        if moved == "b":
            return partner == "b" or self._hostile_to_white(position, victim, behind)
        return partner == "w" or (partner == "K" and self.rules.king.armed) or self._hostile_to_black(position, behind)

    def _is_sheltered(self, cell: Cell) -> bool:
        return self.rules.camps.shelter and self._in_camp(cell)

    def _hostile_to_white(self, position: NaivePosition, victim: Cell, anvil: Cell) -> bool:
        """Return whether a cell's terrain is hostile to a white soldier."""
        if anvil == self.castle:
            match self.rules.castle.hostile_to_white:
                case "always":
                    return True
                case "never":
                    return False
                case "empty":
                    return not position.piece(anvil)
                case "empty_or_besieged":
                    others = [cell for cell in self._sides(anvil) if cell != victim]
                    return not position.piece(anvil) or all(position.piece(cell) == "b" for cell in others)
        return self._hostile_to_king(anvil)

    def _hostile_to_black(self, position: NaivePosition, anvil: Cell) -> bool:
        """Return whether a cell's terrain is hostile to a black soldier."""
        if anvil == self.castle:
            when = self.rules.castle.hostile_to_black
            return when == "always" or (when == "empty" and not position.piece(anvil))
        if self._in_camp(anvil):
            name = square_name(anvil[1] * self.size + anvil[0], self.size)
            return self.rules.camps.hostile and name not in self.rules.camps.inert
        return self._hostile_to_king(anvil)

    def _hostile_to_king(self, cell: Cell) -> bool:
        """Return whether a cell is a hostile camp cell or a hostile ``X`` corner. The castle is not considered."""
        if self._in_camp(cell):
            return self.rules.camps.hostile
        return self.terrain.get(cell) == "X" and self.rules.corners.hostile

    def _king_falls(self, position: NaivePosition, king: Cell, behind: Cell) -> bool:
        """Return whether the moved soldier captures the king next to it. The cell ``behind`` is on the far side."""
        sides = self._sides(king)
        rules = self.rules.king
        beside_castle = rules.beside_castle == "as_on_castle" and self.castle in sides
        strength = rules.on_castle if king == self.castle or beside_castle else rules.elsewhere

        def hostile(cell: Cell, terrain: bool) -> bool:
            if position.piece(cell) == "b":
                return True
            return terrain and (self._hostile_to_king(cell) or (beside_castle and cell == self.castle))

        if strength == "two":
            return hostile(behind, terrain=True)
        # If the king must be surrounded on all four sides, hostile terrain counts only beside the castle.
        return all(hostile(side, terrain=beside_castle) for side in sides)

    def _walled_in(self, position: NaivePosition, moved: str, target: Cell) -> set[Cell]:
        """Return the soldiers that a move captures by a shieldwall. An unarmed king takes no part in shieldwalls."""
        wall = self.rules.shieldwall
        if wall is None:
            return set()
        own, enemies = ("b", "wK") if moved == "b" else ("wK" if self.rules.king.armed else "w", "b")

        def is_ours(cell: Cell) -> bool:
            return position.piece(cell) in tuple(own)

        captured = set()
        for line, along, inward in self._edges():
            for row in _rows(line, {cell for cell in line if position.piece(cell) in tuple(enemies)}):
                fronts = [_add(cell, inward) for cell in row]
                ends = [_add(row[0], along, -1), _add(row[-1], along)]
                held = [end for end in ends if is_ours(end)]
                # If the rule set allows it, a corner may replace the piece at one of the two ends.
                corner = wall.corner and any(self.terrain.get(end) == "X" for end in ends if end not in held)
                if len(row) < 2 or not all(is_ours(front) for front in fronts) or len(held) + corner < 2:
                    continue
                if target in (held if wall.mover == "bracket" else held + fronts):
                    captured |= {cell for cell in row if position.piece(cell) != "K" and not self._is_sheltered(cell)}
        return captured

    def _edges(self) -> list[tuple[list[Cell], Cell, Cell]]:
        """Return the four edge lines, each with its direction and the direction towards the middle of the board."""
        far = range(self.size)
        return [
            ([(file, 0) for file in far], (1, 0), (0, 1)),
            ([(file, self.size - 1) for file in far], (1, 0), (0, -1)),
            ([(0, rank) for rank in far], (0, 1), (1, 0)),
            ([(self.size - 1, rank) for rank in far], (0, 1), (-1, 0)),
        ]

    @staticmethod
    def _sides(cell: Cell) -> list[Cell]:
        """Return the four neighbours of a cell, including those beyond the edge."""
        return [(cell[0] + direction[0], cell[1] + direction[1]) for direction in DIRECTIONS]

    def _outcome(self, position: NaivePosition, king_captured: bool, escaped: bool) -> Outcome | None:
        """Return the outcome of a ply. The possible endings are checked in the order given by the rules."""
        either = self.rules.no_moves == "either_after_ply"
        white_moved = position.side == "b"
        if king_captured:
            return Outcome("king_captured", "black")
        if not white_moved and self.rules.encirclement != "none" and self.is_encircled(position):
            return Outcome("encirclement", "black")
        if either and self._is_stuck(position, "w"):
            return Outcome("no_moves", "black")
        if escaped:
            return Outcome("king_escaped", "white")
        if "b" not in position.pieces.values():
            return Outcome("no_attackers", "white")
        if white_moved and self.rules.fort != "none" and self.is_fort(position):
            return Outcome("exit_fort", "white")
        if either and self._is_stuck(position, "b"):
            return Outcome("no_moves", "white")
        return None

    # -- endings that depend on distant pieces --------------------------------------------

    def is_encircled(self, position: NaivePosition) -> bool:
        """Return whether white is encircled in a ``position``. The variant need not have the rule ``encirclement``.

        White is encircled if no path through empty cells and white pieces leads from a white piece to the edge.

        Examples
        --------
        >>> game = NaiveGame("brandubh")
        >>> game.is_encircled(game.read("7/7/3b3/2bKb2/3b3/7/7 w")), game.is_encircled(game.start())
        (True, False)
        """
        piece = position.pieces.get
        whites = [cell for cell, letter in position.pieces.items() if letter != "b"]
        # The flood fill yields its cells one by one, because in most positions it soon reaches an edge and can stop
        # there.
        return not any(map(self._on_edge, self._spread(whites, lambda cell: piece(cell) != "b")))

    def is_fort(self, position: NaivePosition) -> bool:
        """Return whether the king stands in an exit fort in a ``position`` after white's ply.

        It must stand on the edge and be able to move, in a fort that black cannot break. The test is sound but not
        complete. Without the rule ``fort``, its form ``on_edge`` is tested.

        Examples
        --------
        >>> game = NaiveGame("brandubh")
        >>> game.is_fort(game.read("7/7/1b5/7/2www2/1w3w1/1w1K1w1 b"))
        True
        >>> game.is_fort(game.read("7/7/1b5/7/2ww3/1w3w1/1w1K1w1 b"))
        False
        """
        king = position.king()
        if not self._on_edge(king):
            return False
        white = {cell for cell, piece in position.pieces.items() if piece == "w"}
        black = {cell for cell, piece in position.pieces.items() if piece == "b"}
        patterns, alive = list(self._patterns(white)), white

        def is_open(cell: Cell) -> bool:
            return cell not in alive and self._lets_pass(cell)

        while True:
            reach = self._flood(black, is_open)
            lost = {
                cell
                for pattern in patterns
                if alive.intersection(pattern.row) and self._can_close(pattern, black, reach)
                for cell in pattern.row
            }
            if not lost:
                break
            alive = alive - lost
        region = self._flood({king}, lambda cell: not position.piece(cell) and self.terrain[cell] != "X")
        targets = [target for direction in DIRECTIONS for target in self._slide(position, king, direction)]
        can_move = any(target in region or self.terrain[target] == "X" for target in targets)
        return can_move and not region & reach

    def _patterns(self, white: set[Cell]) -> Iterator[_Pattern]:
        """Yield every pattern that black could use to capture white soldiers, between two pieces or by a shieldwall."""
        for cell in white:
            north, east, south, west = self._sides(cell)
            for near, far in ((north, south), (south, north), (east, west), (west, east)):
                yield _Pattern([cell], [near, far], [near, far])
                castle = far == self.castle and self.rules.castle.hostile_to_white != "never"
                if castle or self._hostile_to_king(far):
                    yield _Pattern([cell], [near], [near])
        if self.rules.shieldwall is None:
            return
        for line, along, inward in self._edges():
            for row in _rows(line, white):
                for first, last in combinations(range(len(row)), 2):
                    segment = row[first : last + 1]
                    fronts = [_add(cell, inward) for cell in segment]
                    ends = [_add(row[first], along, -1), _add(row[last], along)]
                    for held in (ends, ends[:1], ends[1:]):
                        corner = self.rules.shieldwall.corner and all(
                            self.terrain.get(end) == "X" for end in ends if end not in held
                        )
                        if len(held) == 2 or corner:
                            closing = held if self.rules.shieldwall.mover == "bracket" else held + fronts
                            yield _Pattern(segment, held + fronts, closing)

    def _can_close(self, pattern: _Pattern, black: set[Cell], reach: set[Cell]) -> bool:
        """Return whether black could occupy a pattern's cells. The last soldier must arrive on a closing cell."""
        stands = {cell for cell in reach if cell != self.castle}
        if not stands.issuperset(pattern.men):
            return False
        if self.rules.fort != "on_edge_counted":
            return True
        comes = False
        for cell in pattern.men:
            part = self._flood({cell}, reach.__contains__)
            men = len(part & black)
            if men < len(part.intersection(pattern.men)):
                return False
            # The soldier that completes the pattern must arrive on a cell that was empty.
            comes = comes or (cell in pattern.closing and men < len(part & stands))
        return comes

    def _lets_pass(self, cell: Cell) -> bool:
        """Return whether black may pass a cell: never a corner, and the castle only if every piece may pass it."""
        if cell == self.castle:
            return self.rules.castle.passable == "everyone"
        return self.terrain[cell] != "X"

    def _flood(self, sources: set[Cell], enters: Callable[[Cell], bool]) -> set[Cell]:
        """Return the cells reached by a flood fill from the sources through all cells that it may enter."""
        return set(self._spread(sources, enters))

    def _spread(self, sources: Iterable[Cell], enters: Callable[[Cell], bool]) -> Iterator[Cell]:
        """Yield the cells of a flood fill one by one, beginning with the sources."""
        pending = list(sources)
        found = set(pending)
        while pending:
            cell = pending.pop()
            yield cell
            for side in self._near[cell]:
                if side not in found and enters(side):
                    found.add(side)
                    pending.append(side)

    def _on_edge(self, cell: Cell) -> bool:
        return 0 in cell or self.size - 1 in cell

    # -- counting ----------------------------------------------------------------------

    def perft(self, position: NaivePosition, depth: int) -> int:
        """Return the number of move sequences of exactly ``depth`` plies from an undecided ``position``.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> [game.perft(game.start(), depth) for depth in range(4)]
        [1, 4, 76, 296]
        """
        if whole_number("depth", depth, most=100) == 0:
            return 1
        moves = self.legal_moves(position)
        if depth == 1:
            return len(moves)
        total = 0
        for move in moves:
            result = self.apply(position, move)
            if result.outcome is None:
                total += self.perft(result.position, depth - 1)
        return total


# -- the plain rules behind the engine interface of `tablut.board.Board`, for variants that cannot be compiled


class PlainUndo(NamedTuple):
    """Undo record of a ply: the position before the ply, and the cells of the captured soldiers."""

    before: NaivePosition
    captured: tuple[int, ...]


class PlainEngine:
    """Slow engine for `tablut.board.Board`, based on `NaiveGame`. A board is a list that contains a single position."""

    def __init__(self, variant: Variant) -> None:
        self._game, self._size = NaiveGame(variant), variant.size
        self._codes: dict[NaiveMove, int] = {}

    def board(self, cells: str, side: str) -> list[NaivePosition]:
        """Return a board with the given cell letters and side to move."""
        return [self._game.read(str(Position(cells, "w" if side == "w" else "b")))]

    def cells(self, board: list[NaivePosition]) -> tuple[str, str]:
        """Return the cell letters of a board and its side to move. This is the inverse of `board`."""
        squares = (divmod(square, self._size) for square in range(self._size**2))
        return "".join(board[0].piece((file, rank)) or "." for rank, file in squares), board[0].side

    def legal_moves(self, board: list[NaivePosition]) -> array[int]:
        """Return the codes of all legal moves for the side to move."""
        return array("i", map(self._code, self._game.legal_moves(board[0])))

    def count_moves(self, board: list[NaivePosition], side: int) -> int:
        """Return the number of legal moves for a side, whether or not it is that side's turn."""
        return len(self._game.legal_moves(board[0], "wb"[side]))

    def make(self, board: list[NaivePosition], code: int) -> tuple[PlainUndo, int]:
        """Make a legal move in place. Return its undo record and the outcome code."""
        before = board[0]
        board[0], captured, outcome = self._game.apply(
            before, self._game.parse_move(str(Move.from_code(code, self._size)))
        )
        return PlainUndo(before, tuple(sorted(map(self._square, captured)))), OUTCOMES.index(outcome)

    def unmake(self, board: list[NaivePosition], undo: PlainUndo) -> None:
        """Take back the last move in place."""
        board[0] = undo.before

    def captured(self, undo: PlainUndo) -> tuple[int, ...]:
        """Return the cells of the soldiers that a move captured."""
        return undo.captured

    def perft(self, board: list[NaivePosition], depth: int) -> int:
        """Return the number of sequences of exactly ``depth`` plies from an undecided position."""
        return self._game.perft(board[0], depth)

    def _code(self, move: NaiveMove) -> int:
        code = self._codes.get(move)
        if code is None:
            code = self._codes[move] = Move(self._square(move[0]), self._square(move[1]), self._size).code
        return code

    def _square(self, cell: Cell) -> int:
        return cell[1] * self._size + cell[0]
