"""An independent certificate checker, with naive versions of lemmas, predecessors, backward trees and numbers.

The checker uses `tablut.rules.NaiveGame` and the variant's data, but not the search, the compiled lemmas or the
compiled sampler. It numbers positions itself, from the variant's regions and the definition in the docs. Numbers are
drawn with numpy's generator. The intervals are computed with a different scipy function.

The checker and the estimate have this code in common: `tablut.indexing.EndingIndex`, `ENDED_AS`,
`counting.reachable.certificates`, and `counting.exclusions.sets.Arrivals`, which decides whether a piece of a set could
have arrived last. The checker uses the last one only for locked sets, and checks pockets and rooms move by move.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from itertools import accumulate, combinations
from math import comb
from pathlib import Path
from typing import NamedTuple

from counting.exclusions.sets import Arrivals, on_board, side_of
from counting.reachable.certificates import Header, PositionCertificate, SampledSpace, decode_moves, read_file
from tablut.errors import InputError
from tablut.indexing import Ending, EndingIndex
from tablut.position import parse_square
from tablut.rules import NaiveGame, NaivePosition
from tablut.rules.naive import Cell, NaiveMove
from tablut.rules.outcome import Outcome
from tablut.variants import Variant
from tablut.variants.model import derived
from tablut.work.files import excerpt
from tablut.work.progress import plural

LEMMAS = ("material", "camp", "immobile", "locked", "last_move")
"""The lemmas that prove placements unreachable, in the order in which they are tried."""

PositionKey = tuple[tuple[tuple[tuple[int, int], str], ...], str]
"""The pieces of a position, sorted by cell, and the side to move."""


def position_key(position: NaivePosition) -> PositionKey:
    """Return a key for a position. Two positions have equal keys if and only if they are equal."""
    return tuple(sorted(position.pieces.items())), position.side


class PlainReach(Arrivals):
    """Naive versions of the lemmas, predecessors and backward trees of one variant."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self.plies = NaiveGame(variant)
        self.walls = self._walls() if variant.rules.shieldwall is not None else []
        self.camps = [(on_board(camp.cells, variant.size), camp.garrison) for camp in variant.regions.camps]
        self.most = {piece: sum(other == piece for other in self.start.pieces.values()) for piece in "bwK"}

    def counted(self, position: NaivePosition) -> bool:
        """Return whether a placement is one of the undecided placements that the bound counts."""
        pieces = list(position.pieces.values())
        return (
            pieces.count("K") == 1
            and 1 <= pieces.count("b") <= self.most["b"]
            and pieces.count("w") <= self.most["w"]
            and all(cell in self.cells[piece] for cell, piece in position.pieces.items())
        )

    # -- lemmas ------------------------------------------------------------------------

    def lemma(self, position: NaivePosition) -> str | None:
        """Return the first lemma that excludes a counted position, or None."""
        if position_key(position) == position_key(self.start):
            return None
        if self.no_last_capture(position):
            return "material"
        if self.overfull_camp(position):
            return "camp"
        if self.immobile(position):
            return "immobile"
        if self.locked(position):
            return "locked"
        return "last_move" if self.no_last_move(position) else None

    def no_last_capture(self, position: NaivePosition) -> bool:
        """Return whether soldiers are missing although no piece of either side could have made the last capture."""
        rules, pieces = self.variant.rules, list(position.pieces.values())
        attackers, defenders = pieces.count("b"), pieces.count("w")
        if (attackers, defenders) == (self.most["b"], self.most["w"]):
            return False
        terrain = self.game.terrain.values()
        corner = rules.corners.hostile and "X" in terrain
        camp_cells = {cell for camp, _ in self.camps for cell in camp}
        to_white = corner or (rules.camps.hostile and bool(camp_cells)) or rules.castle.hostile_to_white != "never"
        inert = {self.game.parse_move(f"{name}-{name}")[0] for name in rules.camps.inert}
        to_black = (
            corner or (rules.camps.hostile and bool(camp_cells - inert)) or rules.castle.hostile_to_black != "never"
        )
        # A capture needs a moving piece and an anvil. All pieces that made the last capture are still on the board.
        armed = defenders + rules.king.armed
        by_white = armed >= 2 or (armed == 1 and to_black)
        by_black = attackers >= 2 or to_white
        return not ((attackers < self.most["b"] and by_white) or (defenders < self.most["w"] and by_black))

    def overfull_camp(self, position: NaivePosition) -> bool:
        """Return whether a camp contains more attackers than at the start, although no piece can enter a camp."""
        return any(sum(position.piece(cell) == "b" for cell in cells) > garrison for cells, garrison in self.camps)

    def immobile(self, position: NaivePosition) -> bool:
        """Return whether the ply that led to a position ended the game because a side had no move."""
        return self.variant.rules.no_moves == "either_after_ply" and not (
            self.plies.legal_moves(position, "w") and self.plies.legal_moves(position, "b")
        )

    def no_last_move(self, position: NaivePosition) -> bool:
        """Return whether no ply can have led to a position, or only plies from positions where the game was over.

        The game was over if white is encircled after its own ply, or if the king had a fort before every possible ply
        by black.
        """
        rules, before = self.variant.rules, self.predecessors(position)
        if rules.encirclement != "none" and position.side == "b" and not begins_encircled(self.variant):
            return self.plies.is_encircled(position) or next(before, None) is None
        if position.side == "w" and keeps_forts(self.variant) and self.plies.is_fort(position):
            return all(self.plies.is_fort(earlier) for earlier, _ in before)
        return next(before, None) is None

    # -- predecessors ------------------------------------------------------------------

    def predecessors(
        self, position: NaivePosition, outcome: Outcome | None = None
    ) -> Iterator[tuple[NaivePosition, NaiveMove]]:
        """Yield the counted positions from which a legal move leads to a position with the given outcome."""
        mover, rules = "b" if position.side == "w" else "w", self.variant.rules
        victim = "w" if mover == "b" else "b"
        if outcome is None and (
            (mover == "w" and rules.fort != "none" and self.plies.is_fort(position))
            or (mover == "b" and rules.encirclement != "none" and self.plies.is_encircled(position))
        ):
            return
        missing = self.most[victim] - sum(piece == victim for piece in position.pieces.values())
        for cell, piece in sorted(position.pieces.items()):
            if side_of(piece) != mover:
                continue
            x, y = cell
            beside = [near for near in ((x, y + 1), (x + 1, y), (x, y - 1), (x - 1, y)) if near in self.cells[victim]]
            empty = [near for near in beside if near not in position.pieces]
            losses = {frozenset(some) for count in range(len(empty) + 1) for some in combinations(empty, count)}
            for row in self._lost_rows(position, cell, victim) if missing > 1 else ():
                losses |= {loss | row for loss in losses}
            for origin in self.line_of(cell):
                if origin in position.pieces or origin not in self.cells[piece]:
                    continue
                for restored in losses:
                    if origin in restored or len(restored) > missing:
                        continue
                    before = dict(position.pieces)
                    del before[cell]
                    before[origin] = piece
                    before.update(dict.fromkeys(restored, victim))
                    earlier = NaivePosition(before, mover)
                    if self._leads(earlier, (origin, cell), position, outcome):
                        yield earlier, (origin, cell)

    def _lost_rows(self, position: NaivePosition, target: Cell, victim: str) -> Iterator[frozenset[Cell]]:
        """Yield the empty cells of each row on the edge that a piece may have captured when it arrived."""
        pieces = position.pieces
        for ends, row, fronts in self.walls:
            empty = frozenset(row) - pieces.keys()
            if (
                target in (*ends, *fronts)
                and empty <= self.cells[victim]
                and all(cell in empty or side_of(pieces[cell]) == victim for cell in row)
                and all(cell in pieces and side_of(pieces[cell]) != victim for cell in fronts)
                and all(cell in pieces or self.plies.terrain[cell] == "X" for cell in ends)
            ):
                yield empty

    def _walls(self) -> list[tuple[list[Cell], list[Cell], list[Cell]]]:
        """Return each row on the edge that a shieldwall could capture: the end cells, the row, and the front cells."""
        far, last = range(self.variant.size), self.variant.size - 1
        found = []
        for first, end in combinations(far, 2):
            for depth, front in ((0, 1), (last, last - 1)):
                row = range(first + 1, end)
                if len(row) > 1:
                    found.append(([(first, depth), (end, depth)], [(x, depth) for x in row], [(x, front) for x in row]))
        columns = [[[(y, x) for x, y in cells] for cells in wall] for wall in found]
        return found + [(ends, row, fronts) for ends, row, fronts in columns]

    def _leads(self, earlier: NaivePosition, move: NaiveMove, position: NaivePosition, outcome: Outcome | None) -> bool:
        """Return whether a move is legal in an earlier position and leads to a position with the given outcome."""
        if "b" not in earlier.pieces.values() or move not in self.game.legal_moves(earlier):
            return False
        result = self.game.apply(earlier, move)
        return result.outcome == outcome and result.position.pieces == position.pieces

    def backward_tree(
        self, position: NaivePosition, most: int, closed: AbstractSet[PositionKey] = frozenset()
    ) -> set[PositionKey] | None:
        """Return a position's backward tree, without positions that a lemma excludes or that are in ``closed``.

        Return None if the tree contains the start or has more than ``most`` positions.
        """
        start, key = position_key(self.start), position_key(position)
        if key == start:
            return None
        tree = {key} - closed
        pending = [position] if tree else []
        while pending:
            for earlier, _ in self.predecessors(pending.pop()):
                key = position_key(earlier)
                if key in tree or key in closed or self.lemma(earlier) is not None:
                    continue
                if key == start or len(tree) >= most:
                    return None
                tree.add(key)
                pending.append(earlier)
        return tree


@derived
def begins_encircled(variant: Variant) -> bool:
    """Return whether white moves first and is encircled at the start."""
    game = NaiveGame(variant)
    return variant.rules.first == "white" and game.is_encircled(game.start())


@derived
def keeps_forts(variant: Variant) -> bool:
    """Return whether a game with forts does not begin with one, and every piece may pass the castle.

    No ply by black then leads to a fort from a position without one.
    """
    game, rules = NaiveGame(variant), variant.rules
    if rules.fort == "none" or (rules.first == "black" and game.is_fort(game.start())):
        return False
    return variant.regions.castle is None or rules.castle.passable == "everyone"


reach_for = derived(PlainReach)
"""Return the `PlainReach` of a variant. Equal variants share one object."""


# -- position numbers ------------------------------------------------------------------


def _by_index(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells in the order of their indices, by rank and then by file."""
    return sorted(cells, key=lambda cell: (cell[1], cell[0]))


def _ways(reach: PlainReach, king: Cell, attackers: int, defenders: int) -> int:
    """Return the number of placements with the given material and the king on a given cell."""
    free, every = len(reach.cells["w"] - {king}), len(reach.cells["b"] - {king})
    return comb(free, defenders) * comb(every - defenders, attackers)


@lru_cache(maxsize=16)
def _groups(reach: PlainReach) -> tuple[list[int], list[tuple[Cell, int, int]]]:
    """Return the first rank of each group of placements, followed by the end, and each group's king and material."""
    groups = [
        (king, attackers, defenders)
        for attackers in range(1, reach.most["b"] + 1)
        for defenders in range(reach.most["w"] + 1)
        for king in _by_index(reach.cells["K"])
    ]
    return [*accumulate((_ways(reach, *group) for group in groups), initial=0)], groups


def plain_size(reach: PlainReach) -> int:
    """Return the number of counted positions, with either side to move."""
    return 2 * _groups(reach)[0][-1]


def plain_position(reach: PlainReach, number: int) -> NaivePosition:
    """Return the position with a given number."""
    if not 0 <= number < plain_size(reach):
        why = f"must be from 0 to {plain_size(reach) - 1} in {reach.variant.name}"
        raise InputError(why, subject=f"position number {number}")
    rank, side = divmod(number, 2)
    firsts, groups = _groups(reach)
    at = bisect_right(firsts, rank) - 1
    king, attackers, defenders = groups[at]
    left = len(reach.cells["b"] - {king}) - defenders
    white, black = divmod(rank - firsts[at], comb(left, attackers))
    pieces = {king: "K"}
    for piece, count, place in (("w", defenders, white), ("b", attackers, black)):
        cells = [cell for cell in _by_index(reach.cells[piece]) if cell not in pieces]
        pieces.update(dict.fromkeys(_combination(cells, count, place), piece))
    return NaivePosition(pieces, "wb"[side])


def _combination(cells: list[Cell], count: int, rank: int) -> list[Cell]:
    """Return the combination with a given rank. The cells are determined in reverse order."""
    chosen = []
    for number in range(count, 0, -1):
        place = max(place for place in range(number - 1, len(cells)) if comb(place, number) <= rank)
        rank -= comb(place, number)
        chosen.append(cells[place])
    return chosen


def plain_number(size: int, seed: int, index: int) -> int:
    """Return a sample's position number: the first number below ``size`` in its stream from numpy's Philox."""
    from numpy.random import Philox

    words = Philox(key=seed, counter=index << 64)
    bits = (size - 1).bit_length()
    number = size
    while number >= size:
        number = sum(int(words.random_raw()) << 64 * place for place in range(max(2, (bits + 63) // 64))) % (1 << bits)
    return number


# -- certificates ------------------------------------------------------------------------


MOST_TREE = 300_000
"""Maximum size of a backward tree that is checked."""

ENDED_AS: dict[Ending, Outcome] = {
    "all_captured": Outcome("no_attackers", "white"),
    "escaped": Outcome("king_escaped", "white"),
    "escaped_last": Outcome("king_escaped", "white"),
    "king_captured": Outcome("king_captured", "black"),
}
"""For each kind of ending, the outcome of the ply that leads to the final placement."""

_CLOSE = 1e-9
_AT_HOME = "the pieces of the lock are on their starting squares"
_CAME_LAST = "a piece of the lock could have arrived last"


class CheckedSamples(NamedTuple):
    """The result of a check: the number of certificates, and a message for each failure."""

    checked: int
    failures: list[str]


class Checker:
    """A checker for one variant's certificates. Each check returns a description of a fault, or None."""

    def __init__(self, variant: Variant, space: SampledSpace = "undecided") -> None:
        self.variant, self.space = variant, space
        self.reach = PlainReach(variant)
        self.closed: set[PositionKey] = set()

    @cached_property
    def endings(self) -> EndingIndex:
        """The index of the final placements."""
        return EndingIndex(self.variant)

    @cached_property
    def size(self) -> int:
        """The size of the sampled space."""
        return plain_size(self.reach) if self.space == "undecided" else self.endings.size

    def position(self, number: int) -> NaivePosition:
        """Return the position with a given number, using the naive index."""
        return plain_position(self.reach, number)

    def ending(self, number: int) -> tuple[NaivePosition, Outcome]:
        """Return the final placement with a given number, and the outcome of its last ply."""
        final, size = self.endings.unrank(number), self.variant.size
        cells = final.position.cells
        pieces = {(cell % size, cell // size): piece for cell, piece in enumerate(cells) if piece != "."}
        return NaivePosition(pieces, final.position.side), ENDED_AS[final.ending]

    def certificate(self, certificate: PositionCertificate) -> str | None:
        """Check that a certificate proves its claim about the position whose number it contains."""
        claims = certificate.claims()
        if len(claims) != 1:
            return "does not make exactly one claim"
        outcome = None
        if self.space == "undecided":
            position = self.position(int(certificate.n))
        else:
            position, outcome = self.ending(int(certificate.n))
        if certificate.game is not None:
            try:
                moves = decode_moves(certificate.game, self.variant.size)
            except ValueError as error:
                return f"the game cannot be read: {error}"
            return self.game(position, moves, outcome)
        if outcome is not None:
            if certificate.tree is None and certificate.unknown is None:
                return "lemmas do not apply to final placements"
            return self.ending_tree(position, outcome, certificate.tree) if certificate.tree is not None else None
        if certificate.locked is not None:
            return self.lock(position, certificate.locked)
        if certificate.pocket is not None:
            return self.pocket(position, certificate.pocket)
        if certificate.lemma is not None:
            return self.lemma(position, certificate.lemma)
        return self.tree(position, certificate.tree) if certificate.tree is not None else None

    def game(self, position: NaivePosition, moves: list[tuple[int, int]], outcome: Outcome | None = None) -> str | None:
        """Check that moves form a legal game without repetitions from the start to a given position and outcome."""
        game, size = self.reach.plies, self.variant.size
        here = self.reach.start
        seen = {position_key(here)}
        for ply, (start, target) in enumerate(moves, 1):
            if max(start, target) >= size * size:
                return f"ply {ply}: a cell is outside the board"
            move = (start % size, start // size), (target % size, target // size)
            if move not in game.moves(here):
                return f"ply {ply}: {game.move_name(move)} is not a legal move"
            result = game.apply(here, move)
            due = outcome if ply == len(moves) else None
            if result.outcome != due:
                return f"ply {ply}: {'decides the game' if due is None else 'does not end the game as claimed'}"
            here = result.position
            if position_key(here) in seen:
                return f"ply {ply}: repeats a position"
            seen.add(position_key(here))
        if outcome is not None and not moves:
            return "the game has no plies"
        return None if position_key(here) == position_key(position) else "the game does not end in the position"

    def lock(self, position: NaivePosition, squares: str) -> str | None:
        """Check that the pieces on the given cells are locked. A position with locked pieces is unreachable."""
        pieces = self._pieces_on(position, squares)
        if isinstance(pieces, str):
            return pieces
        return _CAME_LAST if any(self.reach.could_arrive(pieces, cell) for cell in pieces) else None

    def pocket(self, position: NaivePosition, squares: str) -> str | None:
        """Check that the pieces on the given cells form a pocket, or a king in a room."""
        pieces = self._pieces_on(position, squares)
        if isinstance(pieces, str):
            return pieces
        rooms = [pieces]
        for room in rooms:
            if room.items() <= self.reach.start.pieces.items():
                return _AT_HOME
            for cell, piece in room.items():
                for before in self._before(room, cell, 2):
                    if piece != "K":
                        return _CAME_LAST
                    if before not in rooms:
                        rooms.append(before)
        return None

    def _pieces_on(self, position: NaivePosition, squares: str) -> dict[Cell, str] | str:
        """Return the pieces on the given cells, or a message that says why they prove nothing."""
        cells: set[Cell] = set()
        for name in squares.split():
            try:
                cell = parse_square(name, self.variant.size)
            except InputError:
                return f"{excerpt(name)} is not a square"
            cells.add((cell % self.variant.size, cell // self.variant.size))
        if not cells <= position.pieces.keys():
            return "a cell of the lock is empty"
        pieces = {cell: position.pieces[cell] for cell in cells}
        return _AT_HOME if pieces.items() <= self.reach.start.pieces.items() else pieces

    def _before(self, pieces: dict[Cell, str], cell: Cell, depth: int) -> Iterator[dict[Cell, str]]:
        """Yield the sets that a set can have been before a piece arrived last without capturing another piece in it.

        If the depth is 2, sets that were already locked are omitted.
        """
        game, piece = self.reach.game, pieces[cell]
        others = {other: kind for other, kind in pieces.items() if other != cell}
        for origin in self.reach.cells[piece] - pieces.keys():
            before = NaivePosition({**others, origin: piece}, "b" if piece == "b" else "w")
            if (origin, cell) not in game.legal_moves(before):
                continue
            # If the king is not in the set, it may have stood anywhere.
            kings = (
                [{}] if "K" in pieces.values() else [{place: "K"} for place in (self.reach.cells["K"] | {game.castle})]
            )
            ends = [
                game.apply(before._replace(pieces={**before.pieces, **king}), (origin, cell))
                for king in kings
                if not king.keys() & {cell, *before.pieces}
            ]
            if ends and all(end.captured or end.outcome == Outcome("king_captured", "black") for end in ends):
                continue
            if depth == 1 or not self._out_of_reach(before.pieces, depth - 1):
                yield dict(before.pieces)

    def _came_last(self, pieces: dict[Cell, str], cell: Cell, depth: int) -> bool:
        """Return whether a piece could have arrived last, by a move that captured no other piece of the set."""
        return next(self._before(pieces, cell, depth), None) is not None

    def _out_of_reach(self, pieces: Mapping[Cell, str], depth: int) -> bool:
        """Return whether a set of pieces is unreachable.

        Pieces that could have arrived last are removed one by one. The set is unreachable unless the starting position
        contains all of the remaining pieces.
        """
        left = dict(pieces)
        while (free := next((cell for cell in left if self._came_last(left, cell, depth)), None)) is not None:
            del left[free]
        return any(self.reach.start.pieces.get(cell) != piece for cell, piece in left.items())

    def lemma(self, position: NaivePosition, name: str) -> str | None:
        """Check that a lemma excludes a position."""
        reach = self.reach
        if position_key(position) == position_key(reach.start):
            return "the position is the start"
        holds: dict[str, Callable[[NaivePosition], bool]] = {
            "material": reach.no_last_capture,
            "camp": reach.overfull_camp,
            "immobile": reach.immobile,
            "last_move": reach.no_last_move,
        }
        return None if holds[name](position) else f"the lemma {name!r} does not hold"

    def tree(self, position: NaivePosition, size: int) -> str | None:
        """Check that a position's backward tree has at most ``size`` positions and does not contain the start."""
        if size > MOST_TREE:
            return f"the tree has {size:,} positions, but only trees of at most {MOST_TREE:,} are checked"
        tree = self.reach.backward_tree(position, size, self.closed)
        if tree is None:
            return f"the backward tree contains the start or has more than {size:,} positions"
        self.closed |= tree
        return None

    def ending_tree(self, position: NaivePosition, outcome: Outcome, size: int) -> str | None:
        """Check that lemmas, pockets or backward trees exclude all positions before a final placement."""
        reach = self.reach
        for earlier, _ in reach.predecessors(position, outcome):
            if position_key(earlier) == position_key(reach.start):
                return "a ply from the start ends the game in this way"
            if reach.lemma(earlier) is not None or (size == 1 and self._out_of_reach(earlier.pieces, 2)):
                continue
            if (problem := self.tree(earlier, max(1, size - 1))) is not None:
                return problem
        return None


def check_file(
    path: Path, variant_named: Callable[[str], Variant], advance: Callable[[int], None] = lambda _count: None
) -> tuple[Header, CheckedSamples]:
    """Check every certificate in a file, and return its header and the failures.

    ``variant_named`` returns the variant with a given name. ``advance`` is called with the number of certificates
    checked since the last call. ``path`` is the file.

    Returns
    -------
    header : Header
        The first line of the file.
    checked : CheckedSamples
        The number of certificates and the failures.

    Raises
    ------
    InputError
        If the file has a different format, is incomplete, or belongs to another game.
    """
    header, certificates = read_file(path)
    variant, subject = variant_named(header.variant), f"certificate file {excerpt(str(path))}"
    if variant.digest != header.digest:
        raise InputError(f"was made with rules other than {variant.name!r}", subject=subject)
    checker = Checker(variant, header.space)
    failures: list[str] = []
    counts = {"reachable": 0, "unreachable": 0, "unknown": 0}
    number = -1
    for number, (line, certificate) in enumerate(certificates):
        index = header.first + number
        if number >= header.count:
            announced = plural(header.count, "certificate")
            raise InputError(f"line {line}: follows the {announced} that the header announces", subject=subject)
        if certificate.i != index:
            problem: str | None = f"has sample number {certificate.i} instead of {index}"
        elif int(certificate.n) >= checker.size:
            problem = f"number {certificate.n} is out of range: the space has {checker.size} elements"
        elif int(certificate.n) != plain_number(checker.size, header.seed, index):
            problem = f"number {certificate.n} is not the one drawn with seed {header.seed}"
        else:
            problem = checker.certificate(certificate)
        if problem is not None:
            failures.append(f"line {line} (sample {index}): {problem}")
        elif certificate.unknown:
            counts["unknown"] += 1
        else:
            counts["reachable" if certificate.game is not None else "unreachable"] += 1
        advance(1)
    if number + 1 != header.count:
        there = f"{number + 1:,} of the {header.count:,} certificates"
        raise InputError(f"is cut short: it has {there} that its header announces", subject=subject)
    if not failures:
        failures += _check_header(header, counts)
    return header, CheckedSamples(header.count, failures)


def _check_header(header: Header, counts: dict[str, int]) -> list[str]:
    """Return messages about wrong sums and intervals in a header."""
    from scipy.stats import binomtest

    failures = [
        f"line 1: gives {getattr(header, name):,} {name}, but the lines contain {count:,}"
        for name, count in counts.items()
        if getattr(header, name) != count
    ]
    if failures or not header.count:
        return failures
    most = counts["reachable"] + counts["unknown"]
    for level in (95, 99):
        low = binomtest(counts["reachable"], header.count).proportion_ci(level / 100, "exact").low
        high = binomtest(most, header.count).proportion_ci(level / 100, "exact").high
        stated = getattr(header, f"interval{level}")
        if abs(stated[0] - low) > _CLOSE or abs(stated[1] - high) > _CLOSE:
            failures.append(f"line 1: interval{level} is {stated}, but the counts give [{low}, {high}]")
    return failures
