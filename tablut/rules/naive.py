"""The rules in plain Python: a dictionary of cells, written for the reader and slow.

This is the oracle of the compiled engine, so it takes nothing from the engine's
tables or from the derived regions: it reads the terrain and start diagrams and the
rule fields of a variant, and says each rule once, in the words of the rules.

Cells are ``(file, rank)`` pairs from ``(0, 0)`` = a1; pieces are ``b`` (attacker),
``w`` (defender) and ``K`` (king); sides are ``b`` and ``w``.

Non-guarantees: no history, hence neither repetition nor move limit; a position in
which the game is over is not recognised as such, only the ply that ends it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import combinations, groupby
from typing import NamedTuple

from tablut.errors import InputError
from tablut.notation import parse_square, position_text, square_name
from tablut.position import Move, Position
from tablut.rules.outcome import OUTCOMES, Outcome
from tablut.store.files import excerpt
from tablut.variants import Variant, VariantLike, as_variant

Cell = tuple[int, int]
NaiveMove = tuple[Cell, Cell]

DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
_CAMPS = ("A", "B", "C", "D")
# The castle of a board without one: neither a cell nor beside one.
_NOWHERE = (-9, -9)
_PIECES = {"b": "an attacker", "w": "a defender", "K": "the king"}


class NaivePosition(NamedTuple):
    """A placement and the side to move.

    Attributes
    ----------
    pieces : mapping of (int, int) to str
        The occupied cells only.
    side : {'w', 'b'}
        The side to move.
    """

    pieces: Mapping[Cell, str]
    side: str

    def king(self) -> Cell:
        """Return the king's cell."""
        return next(cell for cell, piece in self.pieces.items() if piece == "K")

    def piece(self, cell: Cell) -> str:
        """Return the piece on a cell, ``''`` on an empty one or beyond the edge.

        Parameters
        ----------
        cell : tuple of int
            File and rank.

        Returns
        -------
        str
            ``b``, ``w``, ``K`` or ``''``.

        Examples
        --------
        >>> position = NaivePosition({(0, 0): "b", (2, 2): "K"}, "w")
        >>> position.piece((0, 0)), position.piece((1, 0))
        ('b', '')
        """
        return self.pieces.get(cell, "")


class NaiveResult(NamedTuple):
    """What a ply leads to.

    Attributes
    ----------
    position : NaivePosition
        After the ply; captured soldiers are gone, a captured king is not.
    captured : frozenset of (int, int)
        The cells of the soldiers that the ply captured.
    outcome : Outcome or None
        How the game ended, or None.
    """

    position: NaivePosition
    captured: frozenset[Cell]
    outcome: Outcome | None


class _Pattern(NamedTuple):
    """White soldiers that fall together, the cells that black men must hold, and those to which the last may come."""

    row: list[Cell]
    men: list[Cell]
    closing: list[Cell]


def _add(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + times * step[0], cell[1] + times * step[1]


def _rows(line: list[Cell], cells: set[Cell]) -> list[list[Cell]]:
    """Return the longest unbroken rows of some cells on a line."""
    return [list(row) for belongs, row in groupby(line, cells.__contains__) if belongs]


class NaiveGame:
    """The rules of one variant.

    Parameters
    ----------
    variant : Variant
        The rule set.

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
        """Return the position of a one-line text; the inverse of `write`.

        Parameters
        ----------
        text : str
            Rows from the top rank down, a space, ``w`` or ``b``.

        Returns
        -------
        NaivePosition
            Possible or not.

        Raises
        ------
        InputError
            If the rows do not fill the board or hold an unknown letter.

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
                    raise InputError(f"position {excerpt(text)}: unknown letter {letter!r}")
            if file != self.size:
                raise InputError(f"position {excerpt(text)}: row {excerpt(content)} has {file} cells, not {self.size}")
        if len(rows) != self.size or rest[:1] not in ("w", "b"):
            raise InputError(f"position {excerpt(text)}: expected {self.size} rows, a space, and w or b")
        return NaivePosition(pieces, rest[0])

    def write(self, position: NaivePosition) -> str:
        """Return the one-line text of a position.

        Parameters
        ----------
        position : NaivePosition
            Any position.

        Returns
        -------
        str
            Rows from the top rank down, a space, ``w`` or ``b``.

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
        """Return a move as text, ``e4-e7``.

        Parameters
        ----------
        move : tuple of two cells
            Start and target.

        Returns
        -------
        str
            The names of both squares.
        """
        (from_file, from_rank), (to_file, to_rank) = move
        return "-".join(
            square_name(rank * self.size + file, self.size)
            for file, rank in ((from_file, from_rank), (to_file, to_rank))
        )

    def parse_move(self, name: str) -> NaiveMove:
        """Return the move of a text ``e4-e7``; it need not be legal.

        Parameters
        ----------
        name : str
            Two names of squares with a dash between them.

        Returns
        -------
        tuple of two cells
            Start and target.

        Raises
        ------
        InputError
            If one of them is no square of the board.
        """
        start, _, end = name.partition("-")
        ends = [divmod(parse_square(square, self.size), self.size) for square in (start, end)]
        return (ends[0][1], ends[0][0]), (ends[1][1], ends[1][0])

    # -- moves -------------------------------------------------------------------------

    def legal_moves(self, position: NaivePosition, side: str | None = None) -> list[NaiveMove]:
        """Return the legal moves of a side, by default the side to move, in a fixed order.

        Parameters
        ----------
        position : NaivePosition
            Any position; one that is decided is treated like any other.
        side : {'w', 'b'}, optional
            The side that moves.

        Returns
        -------
        list of tuple
            Pairs of start and target, sorted.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> [game.move_name(move) for move in game.legal_moves(game.start())]
        ['c3-b3', 'c3-c2', 'c3-c4', 'c3-d3']
        """
        return sorted(self.moves(position, side))

    def moves(self, position: NaivePosition, side: str | None = None) -> Iterator[NaiveMove]:
        """Return the legal moves of a side, by default the side to move, piece by piece.

        Parameters
        ----------
        position : NaivePosition
            Any position; one that is decided is treated like any other.
        side : {'w', 'b'}, optional
            The side that moves.

        Returns
        -------
        iterator of tuple of two cells
            Start and target.

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
        """Yield the cells on which a piece may end a slide; return the cell that ends it, and why."""
        pieces, piece = position.pieces, position.pieces[cell]
        # The camp within which a black soldier may still move; it is lost by leaving it.
        camp = self.terrain[cell] if piece == "b" and self._in_camp(cell) else ""
        while True:
            cell = (cell[0] + direction[0], cell[1] + direction[1])
            if cell not in self.terrain:
                return cell, "the board ends before it"
            if cell in pieces:
                return cell, "{piece} stands on {cell}"
            letter = self.terrain[cell]
            if letter in "ABCD" and letter != camp:
                return cell, "{cell} is a cell of a camp, which nobody enters"
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
        """Return what keeps a piece from sliding to a cell, in words.

        Parameters
        ----------
        position : NaivePosition
            With a piece on the cell from which the move starts.
        move : tuple of two cells
            A move that is not legal.

        Returns
        -------
        str
            A clause.

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
            return "a piece slides along a row or a column"
        slide, why = self._slide(position, move[0], direction), ""
        try:
            while True:
                next(slide)
        except StopIteration as end:
            (at_file, at_rank), why = end.value
        who = self.rules.castle.passable
        if abs(at_file - file) + abs(at_rank - rank) >= abs(steps[0]) + abs(steps[1]):
            # It gets as far as there, and may not stay.
            if self.terrain[target] == "X":
                return "only the king may enter a corner"
            if target == self.castle and not position.piece(target):
                who, why = self.rules.castle.stop, "{who} may end a move on the castle"
        return why.format(
            piece=_PIECES.get(position.piece((at_file, at_rank))),
            cell=square_name(at_rank * self.size + at_file, self.size) if (at_file, at_rank) in self.terrain else "",
            who="nobody" if who == "nobody" else "only the king",
        )

    def _in_camp(self, cell: Cell) -> bool:
        return self.terrain.get(cell) in _CAMPS

    # -- a ply -------------------------------------------------------------------------

    def apply(self, position: NaivePosition, move: NaiveMove) -> NaiveResult:
        """Return what a legal move leads to.

        Parameters
        ----------
        position : NaivePosition
            Undecided.
        move : tuple of two cells
            A legal move; this is not checked.

        Returns
        -------
        NaiveResult
            The position after the ply, the soldiers captured, the outcome.

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
        """Return whether a soldier next to the moved enemy piece is captured against what is behind it."""
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
        """Return whether terrain is an anvil against a white soldier."""
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
        """Return whether terrain is an anvil against a black soldier."""
        if anvil == self.castle:
            when = self.rules.castle.hostile_to_black
            return when == "always" or (when == "empty" and not position.piece(anvil))
        if self._in_camp(anvil):
            name = square_name(anvil[1] * self.size + anvil[0], self.size)
            return self.rules.camps.hostile and name not in self.rules.camps.inert
        return self._hostile_to_king(anvil)

    def _hostile_to_king(self, cell: Cell) -> bool:
        """Return whether a camp cell or an ``X`` corner is hostile; the castle is judged elsewhere."""
        if self._in_camp(cell):
            return self.rules.camps.hostile
        return self.terrain.get(cell) == "X" and self.rules.corners.hostile

    def _king_falls(self, position: NaivePosition, king: Cell, behind: Cell) -> bool:
        """Return whether a king next to the moved black soldier is captured; ``behind`` is opposite to it."""
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
        # Terrain counts among the four sides only beside the castle.
        return all(hostile(side, terrain=beside_castle) for side in sides)

    def _walled_in(self, position: NaivePosition, moved: str, target: Cell) -> set[Cell]:
        """Return the soldiers that a moved piece captures by a shieldwall; an unarmed king takes no part in one."""
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
                # The text lets a corner stand in for one of the two ends.
                corner = wall.corner and any(self.terrain.get(end) == "X" for end in ends if end not in held)
                if len(row) < 2 or not all(is_ours(front) for front in fronts) or len(held) + corner < 2:
                    continue
                if target in (held if wall.mover == "bracket" else held + fronts):
                    captured |= {cell for cell in row if position.piece(cell) != "K" and not self._is_sheltered(cell)}
        return captured

    def _edges(self) -> list[tuple[list[Cell], Cell, Cell]]:
        """Return the four edge lines, each with its direction and the one towards the middle."""
        far = range(self.size)
        return [
            ([(file, 0) for file in far], (1, 0), (0, 1)),
            ([(file, self.size - 1) for file in far], (1, 0), (0, -1)),
            ([(0, rank) for rank in far], (0, 1), (1, 0)),
            ([(self.size - 1, rank) for rank in far], (0, 1), (-1, 0)),
        ]

    @staticmethod
    def _sides(cell: Cell) -> list[Cell]:
        """Return the four cells around a cell, those beyond the edge included."""
        return [(cell[0] + direction[0], cell[1] + direction[1]) for direction in DIRECTIONS]

    def _outcome(self, position: NaivePosition, king_captured: bool, escaped: bool) -> Outcome | None:
        """Return how a ply ended the game, in the order in which the rules ask."""
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

    # -- what is decided by what stands far away ------------------------------------------

    def is_encircled(self, position: NaivePosition) -> bool:
        """Return whether no white piece can come to an edge cell over empty and white cells; terrain does not count.

        Parameters
        ----------
        position : NaivePosition
            Any position.

        Returns
        -------
        bool
            As ``encirclement`` of the rules decides after black's ply, whether the rules have it or not.

        Examples
        --------
        >>> game = NaiveGame("brandubh")
        >>> game.is_encircled(game.read("7/7/3b3/2bKb2/3b3/7/7 w")), game.is_encircled(game.start())
        (True, False)
        """
        piece = position.pieces.get
        whites = [cell for cell, letter in position.pieces.items() if letter != "b"]
        # Cell by cell: most often an edge is near.
        return not any(map(self._on_edge, self._spread(whites, lambda cell: piece(cell) != "b")))

    def is_fort(self, position: NaivePosition) -> bool:
        """Return whether the king stands on the edge in a fort that black cannot break while he moves within.

        Parameters
        ----------
        position : NaivePosition
            After white's ply.

        Returns
        -------
        bool
            As ``fort`` of the rules decides; ``on_edge`` where it is ``none``. A fort that is found is one; some that
            nobody could break are not found.

        Examples
        --------
        >>> game = NaiveGame("brandubh")
        >>> game.is_fort(game.read("7/7/1b5/7/2www2/1w3w1/1w1K1w1 b"))
        True
        >>> game.is_fort(game.read("7/7/1b5/7/2ww3/1w3w1/1w1K1w1 b"))
        False
        """
        king = position.king()
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
        return self._on_edge(king) and can_move and not region & reach

    def _patterns(self, white: set[Cell]) -> Iterator[_Pattern]:
        """Yield every way in which black men could capture white soldiers: who is captured, which men it takes."""
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
        """Return whether black men could come to stand as a pattern asks, the last of them on a closing cell."""
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
            # The man that closes the pattern comes to a cell that was empty.
            comes = comes or (cell in pattern.closing and men < len(part & stands))
        return comes

    def _lets_pass(self, cell: Cell) -> bool:
        """Return whether terrain lets black pass: a corner does not, and a castle only where everyone may pass it."""
        if cell == self.castle:
            return self.rules.castle.passable == "everyone"
        return self.terrain[cell] != "X"

    def _flood(self, sources: set[Cell], enters: Callable[[Cell], bool]) -> set[Cell]:
        """Return what is connected to some cells, those included, over cells that may be entered."""
        return set(self._spread(sources, enters))

    def _spread(self, sources: Iterable[Cell], enters: Callable[[Cell], bool]) -> Iterator[Cell]:
        """Yield the cells of a flood."""
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
        """Return the number of move sequences of exactly ``depth`` plies; decided positions have no children.

        Parameters
        ----------
        position : NaivePosition
            Undecided.
        depth : int
            Number of plies, at least 0.

        Returns
        -------
        int
            By visiting every position before the last ply.

        Examples
        --------
        >>> game = NaiveGame("ashton-5-4v0")
        >>> [game.perft(game.start(), depth) for depth in range(4)]
        [1, 4, 76, 296]
        """
        if depth == 0:
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


# -- the plain rules as a board asks them: for boards and rules that the compiled ones do not hold, slowly


class PlainUndo(NamedTuple):
    """What taking a ply back needs: the position before it, and the squares on which it captured."""

    before: NaivePosition
    captured: tuple[int, ...]


class PlainEngine:
    """What `tablut.board.Board` asks of an engine, answered by `NaiveGame`; a position is a list of one, changed."""

    def __init__(self, variant: Variant) -> None:
        self._game, self._size = NaiveGame(variant), variant.size
        self._codes: dict[NaiveMove, int] = {}

    def board(self, cells: str, side: str) -> list[NaivePosition]:
        """Return the position of a placement."""
        return [self._game.read(str(Position(cells, "w" if side == "w" else "b")))]

    def cells(self, board: list[NaivePosition]) -> tuple[str, str]:
        """Return the letters and the side to move; the inverse of `board`."""
        squares = (divmod(square, self._size) for square in range(self._size**2))
        return "".join(board[0].piece((file, rank)) or "." for rank, file in squares), board[0].side

    def legal_moves(self, board: list[NaivePosition]) -> array[int]:
        """Return the codes of the legal moves of the side to move."""
        return array("i", map(self._code, self._game.legal_moves(board[0])))

    def count_moves(self, board: list[NaivePosition], side: int) -> int:
        """Return the number of legal moves of a side, whoever is to move."""
        return len(self._game.legal_moves(board[0], "wb"[side]))

    def make(self, board: list[NaivePosition], code: int) -> tuple[PlainUndo, int]:
        """Make a legal move in place; return how it is taken back, and the number of its outcome."""
        before = board[0]
        board[0], captured, outcome = self._game.apply(
            before, self._game.parse_move(str(Move.from_code(code, self._size)))
        )
        return PlainUndo(before, tuple(sorted(map(self._square, captured)))), OUTCOMES.index(outcome)

    def unmake(self, board: list[NaivePosition], undo: PlainUndo) -> None:
        """Take the last move back, in place."""
        board[0] = undo.before

    def captured(self, undo: PlainUndo) -> tuple[int, ...]:
        """Return the squares of the soldiers that a move captured."""
        return undo.captured

    def perft(self, board: list[NaivePosition], depth: int) -> int:
        """Return the number of sequences of exactly so many plies from an undecided position."""
        return self._game.perft(board[0], depth)

    def _code(self, move: NaiveMove) -> int:
        code = self._codes.get(move)
        if code is None:
            code = self._codes[move] = Move(self._square(move[0]), self._square(move[1]), self._size).code
        return code

    def _square(self, cell: Cell) -> int:
        return cell[1] * self._size + cell[0]
