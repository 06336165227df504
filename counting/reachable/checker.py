"""Checks certificates with the plain rules alone.

The checker uses neither the search nor the compiled lemmas nor the compiled drawer: it draws ranks again with numpy's
generator; games are replayed by `tablut.rules.NaiveGame`, lemmas and backward trees are derived
again by `counting.reachable.plain`, the interval is computed by another function of scipy. Pockets are found
there; so they are checked here by other means, single moves of the plain rules. Ranks
of final placements alone have one implementation, `tablut.indexing.EndingIndex` in plain Python.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from counting.reachable.certificates import Header, PositionCertificate, Space, decode_moves, read_file
from counting.reachable.plain import PlainReach, PositionKey, plain_number, plain_position, plain_size, position_key
from tablut.errors import InputError
from tablut.indexing import EndingIndex
from tablut.notation import parse_square
from tablut.rules import NaivePosition
from tablut.rules.outcome import Outcome
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tablut.indexing import Ending
    from tablut.rules.naive import Cell
    from tablut.variants import Variant

MOST_TREE = 300_000
"""Positions of the largest backward tree that is derived again."""

ENDED_AS: dict[Ending, Outcome] = {
    "all_captured": Outcome("no_attackers", "white"),
    "escaped": Outcome("king_escaped", "white"),
    "escaped_last": Outcome("king_escaped", "white"),
    "king_captured": Outcome("king_captured", "black"),
}
"""The outcome of the ply that makes a final placement."""

_CLOSE = 1e-9


class CheckedSamples(NamedTuple):
    """What a check found."""

    checked: int
    unknown: int
    failures: list[str]


class Checker:
    """The checks of one variant's certificates."""

    def __init__(self, variant: Variant, space: Space = "undecided") -> None:
        self.variant, self.space = variant, space
        self.reach = PlainReach(variant)
        self.closed: set[PositionKey] = set()

    @cached_property
    def endings(self) -> EndingIndex:
        """The ranks of the final placements."""
        return EndingIndex(self.variant)

    @cached_property
    def size(self) -> int:
        """How many numbers there are."""
        return plain_size(self.reach) if self.space == "undecided" else self.endings.size

    def position(self, number: int) -> NaivePosition:
        """Return the position of a number, by the plain index."""
        return plain_position(self.reach, number)

    def ending(self, number: int) -> tuple[NaivePosition, Outcome]:
        """Return the final placement of a number, and how the last ply ended the game."""
        final, size = self.endings.unrank(number), self.variant.size
        cells = final.position.cells
        pieces = {(cell % size, cell // size): piece for cell, piece in enumerate(cells) if piece != "."}
        return NaivePosition(pieces, final.position.side), ENDED_AS[final.ending]

    def certificate(self, certificate: PositionCertificate) -> str | None:
        """Return what is wrong with a certificate, as a proof about the position of its number."""
        claims = certificate.claims()
        if len(claims) != 1:
            return "claims not exactly one thing"
        outcome = None
        if self.space == "undecided":
            position = self.position(int(certificate.n))
        else:
            position, outcome = self.ending(int(certificate.n))
        if certificate.game is not None:
            try:
                moves = decode_moves(certificate.game)
            except ValueError as error:
                return f"the game cannot be read: {error}"
            return self.game(position, moves, outcome)
        if outcome is not None:
            if certificate.tree is None and certificate.unknown is None:
                return "no lemma is about final placements"
            return self.ending_tree(position, outcome, certificate.tree) if certificate.tree is not None else None
        if certificate.locked is not None:
            return self.lock(position, certificate.locked)
        if certificate.pocket is not None:
            return self.pocket(position, certificate.pocket)
        if certificate.lemma is not None:
            return self.lemma(position, certificate.lemma)
        return self.tree(position, certificate.tree) if certificate.tree is not None else None

    def game(self, position: NaivePosition, moves: list[tuple[int, int]], outcome: Outcome | None = None) -> str | None:
        """Return what is wrong with a game from the start to a position."""
        game, size = self.reach.game, self.variant.size
        here = self.reach.start
        seen = {position_key(here)}
        for ply, (start, target) in enumerate(moves, 1):
            if max(start, target) >= size * size:
                return f"ply {ply}: a cell beyond the board"
            move = (start % size, start // size), (target % size, target // size)
            if move not in game.legal_moves(here):
                return f"ply {ply}: {game.move_name(move)} is no legal move"
            result = game.apply(here, move)
            due = outcome if ply == len(moves) else None
            if result.outcome != due:
                return f"ply {ply}: {'decides the game' if due is None else 'does not end the game so'}"
            here = result.position
            if position_key(here) in seen:
                return f"ply {ply}: repeats a position"
            seen.add(position_key(here))
        if outcome is not None and not moves:
            return "the game has no last ply"
        return None if position_key(here) == position_key(position) else "the game does not end in the position"

    def lock(self, position: NaivePosition, squares: str) -> str | None:
        """Return why a set of pieces does not prove a position out of reach."""
        return self._never_put_together(position, squares, self.reach.could_arrive)

    def pocket(self, position: NaivePosition, squares: str) -> str | None:
        """Return why a set of pieces, together with those that it can have come from, does not prove it."""
        return self._never_put_together(position, squares, lambda pieces, cell: self._came_last(pieces, cell, 2))

    def _never_put_together(
        self, position: NaivePosition, squares: str, came_last: Callable[[dict[Cell, str], Cell], bool]
    ) -> str | None:
        cells: set[Cell] = set()
        for name in squares.split():
            try:
                cell = parse_square(name, self.variant.size)
            except InputError:
                return f"{excerpt(name)} is no square"
            cells.add((cell % self.variant.size, cell // self.variant.size))
        if not cells <= position.pieces.keys():
            return "a cell of the lock is empty"
        pieces = {cell: position.pieces[cell] for cell in cells}
        if all(self.reach.start.pieces.get(cell) == piece for cell, piece in pieces.items()):
            return "the pieces of the lock stand as at the start"
        if any(came_last(pieces, cell) for cell in cells):
            return "a piece of the lock could have arrived last"
        return None

    def _came_last(self, pieces: dict[Cell, str], cell: Cell, depth: int) -> bool:
        """Return whether a move, with only these pieces and some king, takes one of them to its cell and captures none.

        For a depth of two the pieces before that move must not be out of reach by themselves.
        """
        game, piece = self.reach.game, pieces[cell]
        others = {other: kind for other, kind in pieces.items() if other != cell}
        for origin in self.reach.cells[piece] - pieces.keys():
            before = NaivePosition({**others, origin: piece}, "b" if piece == "b" else "w")
            if (origin, cell) not in game.legal_moves(before):
                continue
            # A king who is not among them may have stood anywhere.
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
                return True
        return False

    def _out_of_reach(self, pieces: Mapping[Cell, str], depth: int) -> bool:
        """Return whether what is left, when all that can have come last is taken away, stands not as at the start."""
        left = dict(pieces)
        while (free := next((cell for cell in left if self._came_last(left, cell, depth)), None)) is not None:
            del left[free]
        return any(self.reach.start.pieces.get(cell) != piece for cell, piece in left.items())

    def lemma(self, position: NaivePosition, name: str) -> str | None:
        """Return why a lemma does not exclude a position."""
        reach = self.reach
        if position_key(position) == position_key(reach.start):
            return "the start is reached"
        holds: dict[str, Callable[[NaivePosition], bool]] = {
            "material": reach.no_last_capture,
            "camp": reach.overfull_camp,
            "immobile": reach.immobile,
            "last_move": lambda position: next(reach.predecessors(position), None) is None,
        }
        return None if holds[name](position) else f"the lemma {name!r} does not hold"

    def tree(self, position: NaivePosition, size: int) -> str | None:
        """Return why a backward tree does not exclude a position."""
        if size > MOST_TREE:
            return f"a tree of {size:,} positions; at most {MOST_TREE:,} are derived again"
        found = self.reach.backward_tree(position, size, self.closed)
        if found is None:
            return f"the backward tree comes to the start, or has more than {size:,} positions"
        self.closed |= found
        return None

    def ending_tree(self, position: NaivePosition, outcome: Outcome, size: int) -> str | None:
        """Return why a backward tree does not exclude a final placement."""
        reach = self.reach
        for earlier, _ in reach.predecessors(position, outcome):
            if position_key(earlier) == position_key(reach.start):
                return "a ply from the start ends the game so"
            if reach.lemma(earlier) is not None or (size == 1 and self._out_of_reach(earlier.pieces, 2)):
                continue
            if (problem := self.tree(earlier, max(1, size - 1))) is not None:
                return problem
        return None


def check_file(
    path: Path, variant_named: Callable[[str], Variant], advance: Callable[[int], None] = lambda _count: None
) -> tuple[Header, CheckedSamples]:
    """Check every certificate of a file.

    Parameters
    ----------
    path : Path
        The file.
    variant_named : callable
        Gives the variant of a name, such as `tablut.variants.load_variant`.
    advance : callable
        Receives how many more certificates have been checked.

    Returns
    -------
    header : Header
        The first line of the file.
    checked : CheckedSamples
        What was found.

    Raises
    ------
    InputError
        If the file has another format, is cut short, or belongs to another game.
    """
    header, certificates = read_file(path)
    variant = variant_named(header.variant)
    if variant.digest != header.digest:
        raise InputError(f"certificate file {excerpt(str(path))}: is of another game than {variant.name!r} is here")
    checker = Checker(variant, header.space)
    return header, _check(checker, header, certificates, str(path), advance)


def _check(
    checker: Checker,
    header: Header,
    certificates: Iterable[tuple[int, PositionCertificate]],
    path: str,
    advance: Callable[[int], None],
) -> CheckedSamples:
    size = checker.size
    failures: list[str] = []
    counts = {"reachable": 0, "unreachable": 0, "unknown": 0}
    number = -1
    for number, (line, certificate) in enumerate(certificates):
        index = header.first + number
        if number >= header.count:
            raise InputError(f"certificate file {excerpt(path)}: line {line}: is beyond the {header.count:,} announced")
        problem = None
        if certificate.i != index:
            problem = f"is sample {certificate.i} where {index} is due"
        elif int(certificate.n) >= size:
            problem = f"number {certificate.n} is out of range: there are {size}"
        elif int(certificate.n) != plain_number(size, header.seed, index):
            problem = f"number {certificate.n} is not what seed {header.seed} draws"
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
        raise InputError(
            f"certificate file {excerpt(path)}: cut short: {number + 1:,} certificates of {header.count:,} announced"
        )
    if not failures:
        failures += _check_header(header, counts)
    return CheckedSamples(header.count, counts["unknown"], failures)


def _check_header(header: Header, counts: dict[str, int]) -> list[str]:
    """Return what is wrong with the sums and the intervals of a header."""
    from scipy.stats import binomtest

    failures = [
        f"line 1: {getattr(header, name):,} {name}, where the lines have {count:,}"
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
            failures.append(f"line 1: interval{level} is {stated}, where the counts give [{low}, {high}]")
    return failures
