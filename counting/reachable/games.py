"""Proof games, found by a backward beam search (`counting.reachable.beam`), and whole backward trees.

The backward tree of a position is the set of all positions from which it can be reached, without those that a lemma
excludes. It is listed if it is small enough. Positions are compared word by word, never by a hash. If a complete
backward tree does not contain the start, the position is unreachable.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.exclusions.record import published_exclusions, sets_of
from counting.reachable.beam import EXHAUSTED, GAVE_UP, BeamTables, build_homes, find_games, make_room
from counting.reachable.certificates import PositionCertificate, encode_moves, lines_digest
from counting.reachable.checker import LEMMAS, MOST_TREE, reach_for
from counting.reachable.drawing import (
    BATCH,
    BATCH_ROWS,
    DrawTables,
    Placed,
    drawer_for,
    drawn,
    open_number,
    place_soldiers,
    placed,
)
from counting.reachable.lemmas import LAST_MOVE, LOCKED, LemmaTables, lemmas_for, placement_lemma
from counting.spaces import spaces
from tablut.engine import engine_for
from tablut.engine.cells import is_empty, join, set_at, without
from tablut.engine.jit import U64, advance, inlined, keep, kernel, pointer
from tablut.engine.layout import SIDE_AT, board_items, head
from tablut.engine.records import flat
from tablut.engine.unmoves import predecessors
from tablut.indexing import PlacementIndex
from tablut.notation import square_name
from tablut.position import cells_of_code
from tablut.rules import NaivePosition
from tablut.variants import Variant
from tablut.variants.model import king_patterns


def backward_tree(variant: Variant, words: NDArray[np.uint64], most: int = MOST_TREE) -> NDArray[np.uint64] | None:
    """Return the backward tree of some positions, including these positions.

    Return None if the tree contains the start or has more than ``most`` positions.
    """
    engine, lemmas = engine_for(variant), lemmas_for(variant)
    start = position_keys(engine.words(engine.start()))
    known = np.unique(position_keys(words))
    front = np.ascontiguousarray(words)
    while True:
        if len(known) > most or np.isin(start, known)[0]:
            return None
        found = np.unique(position_keys(predecessors(variant, front).words))
        found = found[~np.isin(found, known)]
        front = found.view(np.uint64).reshape(len(found), words.shape[1])
        front = np.ascontiguousarray(front[lemmas.of_boards(engine.boards(front)) == 0])
        if not len(front):
            return known.view(np.uint64).reshape(len(known), words.shape[1])
        known = np.union1d(known, position_keys(front))


class BackwardTrees:
    """Backward trees of several positions. Trees are kept, so that their positions need no new search."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self._found: list[NDArray[Any]] = []

    def size(self, words: NDArray[np.uint64]) -> int | None:
        """Return the size of a backward tree that contains a position, or None if there is no such tree."""
        key = position_keys(words)
        for known in self._found:
            if np.isin(key, known)[0]:
                return len(known)
        tree = backward_tree(self.variant, words)
        if tree is None:
            return None
        self._found.append(position_keys(tree))
        return len(tree)


def position_keys(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return an array with one item for each position, so that positions can be sorted and compared."""
    words = np.ascontiguousarray(words)
    if words.shape[1] == 1:
        return words.ravel()
    return words.view([(f"word{place}", np.uint64) for place in range(words.shape[1])]).ravel()


# -- proof games -------------------------------------------------------------------------


MOST_PLIES: Final = 1000
"""Maximum length of a game in plies."""


class Effort(NamedTuple):
    """Limits of one beam search: width of the beam, plies, and number of initial plies with random scores."""

    width: int
    plies: int
    shake: int = 0


EFFORTS: Final = (
    Effort(4, 160),
    Effort(8, 240),
    Effort(24, 300, 10),
    Effort(24, 300, 30),
    Effort(60, 400, 20),
    Effort(60, 400, 60),
    Effort(100, 600),
    Effort(100, 600, 40),
    Effort(200, 600, 15),
    Effort(200, 800, 100),
    Effort(400, MOST_PLIES, 30),
    Effort(2000, MOST_PLIES),
)
"""The searches that are tried in turn until one succeeds."""


class ProofGame(NamedTuple):
    """The result of the search for one position: a status and, if a game was found, its moves."""

    status: str
    moves: tuple[tuple[int, int], ...] = ()


class GameFinder:
    """A search for proof games in one variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.tables = BeamTables(lemmas_for(variant).tables, build_homes(variant))

    def find(
        self, boards: NDArray[np.uint32], *, seed: int = 1, efforts: tuple[Effort, ...] = EFFORTS
    ) -> list[ProofGame]:
        """Search for a game to each position, with increasing effort until one is found."""
        found = [ProofGame("unknown")] * len(boards)
        open_rows = np.arange(len(boards))
        for width, plies, shake in efforts:
            if not len(open_rows):
                break
            room = make_room(self.variant.size, width, plies)
            games = np.empty((len(open_rows), plies), dtype=np.int32)
            lengths = np.empty(len(open_rows), dtype=np.int32)
            asked = np.ascontiguousarray(boards[open_rows])
            find_games(self.tables, room, asked, np.uint64(seed), shake, games, lengths)
            starts, targets = (cells.tolist() for cells in cells_of_code(games, self.variant.size))
            for row, start, target, length in zip(open_rows.tolist(), starts, targets, lengths.tolist(), strict=True):
                if length == EXHAUSTED:
                    found[row] = ProofGame("exhausted")
                elif length != GAVE_UP:
                    found[row] = ProofGame("game", tuple(zip(start[:length], target[:length], strict=True)))
            open_rows = open_rows[lengths == GAVE_UP]
        return found


@lru_cache(maxsize=16)
def finder_for(variant: Variant) -> GameFinder:
    """Return the finder of a variant. Equal variants share one object."""
    return GameFinder(variant)


# -- families of locked sets -------------------------------------------------------------


class FamilyTables(NamedTuple):
    """A family of locked sets as arrays for kernels.

    Attributes
    ----------
    sets : int
        The number of sets.
    The attackers of each set (two words) and its defenders (two words).
        The attackers of each set (two words), and its defenders.
    kings : ndarray of int64, shape (sets,)
        The king's cell of each set, or -1.
    """

    sets: int
    cells: NDArray[np.uint64]
    kings: NDArray[np.int64]


def surviving(variant: Variant) -> int:
    """Return the number of undecided placements without a locked set of the family counted for a variant.

    If no family was counted, this is the number of all undecided placements.
    """
    record = published_exclusions(variant.digest)
    return PlacementIndex(variant).size if record is None else record.of("no_end").placements


@lru_cache(maxsize=16)
def family_tables(variant: Variant) -> FamilyTables:
    """Return the family of locked sets that `surviving` excludes."""
    record = published_exclusions(variant.digest)
    found = [] if record is None else sets_of(record, variant.size)
    if record is not None and spaces(variant)["excluded_no_end"].kings:
        # Placements with a besieged king on a castle that it has never left are excluded too.
        found += [
            frozenset([(castle, "K"), *((cell, "b") for cell in pattern.attackers)])
            for castle in variant.regions.castles
            for pattern in king_patterns(variant, castle)
        ]
    cells = np.zeros((len(found), 4), dtype=np.uint64)
    kings = np.full(len(found), -1, dtype=np.int64)
    for row, pieces_of in enumerate(found):
        for cell, piece in pieces_of:
            if piece == "K":
                kings[row] = cell
            else:
                cells[row, 2 * (piece == "w") + (cell >> 6)] |= np.uint64(1 << (cell & 63))
    return FamilyTables(len(found), cells.ravel(), kings)


@inlined
def holds_counted_set(f: FamilyTables, position: Placed) -> bool:
    """Return whether a placement contains a set of the family, in O(sets) steps."""
    black, white, king, _, _, _ = position
    for number in range(f.sets):
        missing = join(without(set_at(f.cells, 2 * number), black), without(set_at(f.cells, 2 * number + 1), white))
        if is_empty(missing) and (f.kings[number] < 0 or f.kings[number] == king):
            return True
    return False


# -- the two stages of an estimate, on ranges of samples ---------------------------------


_OUTSIDE: Final = len(LEMMAS) + 1
"""Index of the additional count, after those of the lemmas."""


@kernel
def _tally_lemmas(
    drawing: DrawTables,
    lemmas: LemmaTables,
    family: FamilyTables,
    seed: np.uint64,
    first: int,
    count: int,
    counts: NDArray[np.int64],
) -> np.uint64:
    """Add the results of the lemmas on samples to ``counts``, and return a checksum of the results.

    The first six counts are for 0 (no lemma) and the five lemmas. The seventh is the number of samples with locked
    pieces that contain a set of the family.
    """
    x, m, f = flat(drawing), flat(lemmas), flat(family)
    stride = board_items(m.rules.size)
    boards, room = np.empty(2 * stride, np.uint32), np.empty(BATCH_ROWS * BATCH, np.uint64)
    batch = pointer(room)
    board, left = pointer(boards), advance(pointer(boards), stride)
    checksum = U64(0)
    for done in range(first, first + count, BATCH):
        many = min(BATCH, first + count - done)
        for entry in range(many):
            low, high = drawn(x, seed, U64(done + entry))
            open_number(x, low, high, batch, entry)
        place_soldiers(x, batch, many)
        for entry in range(many):
            position = placed(x, batch, entry)
            found = placement_lemma(m, position, board, left)
            counts[found] += 1
            if found == LOCKED and holds_counted_set(f, position):
                counts[_OUTSIDE] += 1
            mixed = (U64(done + entry) * U64(8) + U64(found)) * U64(0x9E3779B97F4A7C15)
            checksum += mixed ^ (mixed >> U64(29))
    keep(room)
    keep(boards)
    return checksum


def count_lemmas(variant: Variant, seed: int, first: int, count: int) -> dict[str, Any]:
    """Return the counts of the lemmas for ``count`` samples from ``first`` on, and a checksum of all results."""
    counts, tables = np.zeros(_OUTSIDE + 1, dtype=np.int64), lemmas_for(variant).tables
    drawing, family = drawer_for(variant).tables, family_tables(variant)
    checksum = _tally_lemmas(drawing, tables, family, np.uint64(seed), first, count, counts)
    return {"lemmas": counts[:_OUTSIDE].tolist(), "outside": int(counts[_OUTSIDE]), "checksum": int(checksum)}


Settled = tuple[dict[str, Any], list[PositionCertificate]]
"""The results for a range of samples, and a certificate for each of them."""


def settle_samples(variant: Variant, seed: int, first: int, count: int) -> Settled:
    """Decide ``count`` samples from ``first`` on, by lemma, game, pocket or backward tree."""
    engine = engine_for(variant)
    words, numbers = drawer_for(variant).draw(seed, first, count)
    boards = engine.boards(words)
    left = np.empty_like(boards)
    codes = lemmas_for(variant).of_boards(boards, left)
    passed = np.flatnonzero(codes == 0)
    games = dict(zip(passed.tolist(), finder_for(variant).find(boards[passed], seed=first + 1), strict=True))

    certificates, trees = [], BackwardTrees(variant)
    one_sided = np.flatnonzero(codes == LAST_MOVE).tolist()
    for place, (number, code) in enumerate(zip(numbers, codes.tolist(), strict=True)):
        claim: dict[str, Any] = {}
        if code == LOCKED:
            claim["locked"] = " ".join(_squares(variant, left[place]))
        elif code:
            claim["lemma"] = LEMMAS[code - 1]
        elif games[place].status == "game":
            claim["game"] = encode_moves(games[place].moves)
        elif games[place].status == "unknown" and (cells := pocket(variant, boards[place])):
            claim["pocket"] = " ".join(cells)
        elif (size := trees.size(words[place : place + 1])) is not None:
            claim["tree"] = size
            one_sided.append(place)
        else:
            claim["unknown"] = True
        certificates.append(PositionCertificate(i=first + place, n=str(number), **claim))
    claims = Counter(name for certificate in certificates for name in certificate.claims())
    result = {
        "lemmas": np.bincount(codes, minlength=len(LEMMAS) + 1).tolist(),
        "outside": count_lemmas(variant, seed, first, count)["outside"],
        "found": claims["game"],
        "pockets": claims["pocket"],
        "exhausted": claims["tree"],
        "unknown": claims["unknown"],
        "twins": _reached_twins(variant, boards[sorted(one_sided)], first + 1, trees),
        "plies": [len(game.moves) for game in games.values() if game.status == "game"],
        "digest": lines_digest(certificates),
    }
    return result, certificates


def _reached_twins(variant: Variant, boards: NDArray[np.uint32], seed: int, trees: BackwardTrees) -> list[int]:
    """Return how many positions are reachable with the other side to move, and for how many this is not known."""
    engine = engine_for(variant)
    head(boards)[:, SIDE_AT] ^= 1
    boards = np.ascontiguousarray(boards[lemmas_for(variant).of_boards(boards) == 0])
    games = finder_for(variant).find(boards, seed=seed)
    reached = sum(game.status == "game" for game in games)
    left = [board for board, game in zip(boards, games, strict=True) if game.status != "game"]
    unknown = sum(trees.size(engine.words(board)) is None and not pocket(variant, board) for board in left)
    return [reached, unknown]


def pocket(variant: Variant, board: NDArray[np.uint32]) -> list[str]:
    """Return the squares of a pocket, or an empty list if a position has none.

    A pocket is a set of pieces that cannot have been put together: every last arrival captures one of the pieces or
    begins with a set that is already locked.
    """
    size = variant.size
    cells, side = engine_for(variant).cells(board)
    pieces = {(cell % size, cell // size): piece for cell, piece in enumerate(cells) if piece != "."}
    found = reach_for(variant).locked(NaivePosition(pieces, side), depth=2)
    return [square_name(cell, size) for cell in sorted(rank * size + file for file, rank in found)]


def _squares(variant: Variant, board: NDArray[np.uint32]) -> list[str]:
    """Return the squares of all pieces of a board."""
    size = variant.size
    rows = [(int(row) | int(row) >> 16) & 0xFFFF for row in board[:size]]
    return [
        square_name(rank * size + file, size) for rank in range(size) for file in range(size) if rows[rank] >> file & 1
    ]
