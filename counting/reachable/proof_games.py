"""Decisions on whether samples are reachable, based on proof games, whole backward trees and last plies.

A proof game is found by a backward beam search (`counting.reachable.beam`). A position's *backward tree* consists of
the position and all positions that are found by repeatedly taking back plies, unless a lemma excludes them. Positions
are compared word by word, never by a hash. If a complete backward tree does not contain the start, the position is
unreachable.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from counting.reachable.beam import EXHAUSTED, GAVE_UP, BeamTables, build_homes, find_games, new_beam_memory
from counting.reachable.certificate_checker import ENDED_AS, LEMMAS, MOST_TREE, reach_for
from counting.reachable.certificates import Lemma, PositionCertificate, encode_moves, lines_digest
from counting.reachable.drawing import draw_number, drawer_for
from counting.reachable.lemmas import LAST_MOVE, LOCKED, lemmas_for
from counting.reachable.tallies import SampleStats, count_lemmas
from tablut.engine import engine_for
from tablut.engine.distant import has_shieldwalls
from tablut.engine.engine import position_keys, words_of_keys
from tablut.engine.jit import I64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import (
    SIDE_AT,
    board_items,
    cell_on_cross,
    coordinates,
    count_of,
    direction_on_cross,
    head,
    king_of,
    line_of,
    move_of,
    own_pieces,
    side_of,
    soldiers_of,
    undo_of,
)
from tablut.engine.tables import Tables
from tablut.engine.unmoves import (
    MOST_UNMOVES,
    OriginTables,
    add_unmoves,
    add_wall_unmoves,
    line_origins,
    open_sides,
    predecessors,
)
from tablut.indexing import ENDINGS, Ending, EndingIndex
from tablut.position import NARROW, Move, cells_of_code, square_name
from tablut.rules import NaivePosition
from tablut.rules.outcome import KING_CAPTURED, KING_ESCAPED, OUTCOMES, UNDECIDED
from tablut.variants import Variant
from tablut.variants.model import derived
from tablut.work.sealed_records import Count, Digest


def backward_tree(variant: Variant, words: NDArray[np.uint64], most: int = MOST_TREE) -> NDArray[np.uint64] | None:
    """Return the union of several positions' backward trees, including these positions.

    Return None if the tree contains the start or has more than ``most`` positions.
    """
    engine, lemmas = engine_for(variant), lemmas_for(variant)
    start = position_keys(engine.words(engine.start()))
    known = np.unique(position_keys(words))
    front = np.ascontiguousarray(words)
    while True:
        if len(known) > most or np.isin(start, known)[0]:
            return None
        keys = np.unique(position_keys(predecessors(variant, front).words))
        front = words_of_keys(keys[~np.isin(keys, known)])
        front = np.ascontiguousarray(front[lemmas.of_boards(engine.boards(front)) == 0])
        if not len(front):
            return words_of_keys(known)
        known = np.union1d(known, position_keys(front))


class BackwardTrees:
    """A cache of backward trees. A position that belongs to a cached tree needs no new search."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self._found: list[NDArray[Any]] = []

    def size(self, words: NDArray[np.uint64]) -> int | None:
        """Return the size of a backward tree that contains the given position, or None if there is none."""
        key = position_keys(words)
        for known in self._found:
            if np.isin(key, known)[0]:
                return len(known)
        tree = backward_tree(self.variant, words)
        if tree is None:
            return None
        self._found.append(position_keys(tree))
        return len(tree)


# -- proof games -------------------------------------------------------------------------


MOST_PLIES: Final = 1000
"""Maximum length of a game in plies."""


class Effort(NamedTuple):
    """The limits of one beam search: its width, its number of plies, and the number of plies with random scores.

    If ``loose`` is true, attackers leave their homes easily (`counting.reachable.beam.build_homes`).
    """

    width: int
    plies: int
    shake: int = 0
    loose: bool = False


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
"""The searches that are tried one after another until one of them succeeds, on boards up to 9×9."""
LARGE_EFFORTS: Final = (
    Effort(4, 160),
    Effort(8, 300, 10),
    Effort(8, 300, 30, loose=True),
    Effort(8, 300, 20),
    Effort(8, 300, 50, loose=True),
    Effort(8, 300, 40),
    Effort(16, 300, 20, loose=True),
    Effort(16, 300, 30),
    Effort(24, 300, 10),
    Effort(24, 300, 30, loose=True),
    Effort(24, 300, 60),
    Effort(60, 400, 20),
    Effort(60, 400, 60, loose=True),
    Effort(100, 600, 40, loose=True),
    Effort(200, 600, 15),
    Effort(200, 600, 20, loose=True),
    Effort(200, 800, 100),
    Effort(400, MOST_PLIES, 40, loose=True),
    Effort(400, MOST_PLIES, 30),
    Effort(2000, MOST_PLIES),
)
"""The same for larger boards. Their formations are dense, so several narrow searches of both kinds are tried."""
WIDE_EFFORTS: Final = tuple(effort._replace(plies=min(effort.plies * 3 // 2, MOST_PLIES)) for effort in LARGE_EFFORTS)
"""The same for boards of more than 11×11, where games are longer."""


class ProofGame(NamedTuple):
    """The result of a search for a game to one position: a status and, if a game was found, its moves."""

    status: str
    moves: tuple[tuple[int, int], ...] = ()


class GameFinder:
    """A search for proof games in one variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.efforts = EFFORTS if variant.size <= 9 else LARGE_EFFORTS if variant.size <= NARROW else WIDE_EFFORTS
        lemmas = lemmas_for(variant).tables
        self.tables = [BeamTables(lemmas, build_homes(variant, loose=loose)) for loose in (False, True)]

    def find(
        self, boards: NDArray[np.uint32], *, seed: int = 1, efforts: tuple[Effort, ...] | None = None
    ) -> list[ProofGame]:
        """Search for a game to each position, with increasing effort until a game is found."""
        results = [ProofGame("unknown")] * len(boards)
        open_rows = np.arange(len(boards))
        for width, plies, shake, loose in self.efforts if efforts is None else efforts:
            if not len(open_rows):
                break
            memory = new_beam_memory(self.variant, width, plies)
            games = np.empty((len(open_rows), plies), dtype=np.int32)
            lengths = np.empty(len(open_rows), dtype=np.int32)
            open_boards = np.ascontiguousarray(boards[open_rows])
            find_games(self.tables[loose], memory, open_boards, np.uint64(seed), shake, games, lengths)
            starts, targets = (cells.tolist() for cells in cells_of_code(games, self.variant.size))
            for row, start, target, length in zip(open_rows.tolist(), starts, targets, lengths.tolist(), strict=True):
                if length == EXHAUSTED:
                    results[row] = ProofGame("exhausted")
                elif length != GAVE_UP:
                    results[row] = ProofGame("game", tuple(zip(start[:length], target[:length], strict=True)))
            open_rows = open_rows[lengths == GAVE_UP]
        return results


finder_for = derived(GameFinder)
"""Return the `GameFinder` for a variant. Equal variants share one object."""


# -- decisions on ranges of samples -------------------------------------------------------


class SettledStats(SampleStats):
    """The stored result for samples that pass through both stages.

    - ``found``: The number of samples with a game.
    - ``exhausted``: The number of samples whose backward tree is complete and does not contain the start.
    - ``unknown``: The number of undecided samples.
    - ``plies``: The lengths of the games.
    - ``digest``: The digest of the certificates.
    """

    found: Count
    exhausted: Count
    unknown: Count
    plies: list[Count]
    digest: Digest


class GameStats(SettledStats):
    """The stored result for undecided positions.

    - ``pockets``: The number of samples with a pocket, or with a king in a room.
    - ``twins``: The numbers of samples without a game that are reachable if the other side is to move, and of those
      where this is unknown.
    """

    pockets: Count
    twins: tuple[Count, Count]


class EndingStats(SettledStats):
    """The stored result for final placements: for each kind of ending, the numbers of samples and of those reached."""

    endings: dict[str, tuple[Count, Count]]


def settle_samples(variant: Variant, seed: int, first: int, count: int) -> tuple[GameStats, list[PositionCertificate]]:
    """Decide whether each of ``count`` samples starting at ``first`` is reachable."""
    engine = engine_for(variant)
    words, numbers = drawer_for(variant).draw(seed, first, count)
    boards = engine.boards(words)
    left = np.empty_like(boards)
    codes = lemmas_for(variant).of_boards(boards, left)
    passed = np.flatnonzero(codes == 0)
    games = dict(zip(passed.tolist(), finder_for(variant).find(boards[passed], seed=first + 1), strict=True))
    for place in [place for place, game in games.items() if game.status == "unknown"]:
        games[place] = game_by_predecessor(variant, boards[place], seed=first + 1)

    certificates: list[PositionCertificate] = []
    trees = BackwardTrees(variant)
    one_sided = np.flatnonzero(codes == LAST_MOVE).tolist()
    for place, code in enumerate(codes.tolist()):
        claim = partial(PositionCertificate, i=first + place, n=str(numbers[place]))
        if code == LOCKED:
            certificates.append(claim(locked=" ".join(_squares(variant, left[place]))))
        elif code:
            certificates.append(claim(lemma=cast("Lemma", LEMMAS[code - 1])))
        elif games[place].status == "game":
            certificates.append(claim(game=encode_moves(games[place].moves, variant.size)))
        elif games[place].status == "unknown" and (cells := pocket(variant, boards[place])):
            certificates.append(claim(pocket=" ".join(cells)))
        elif (size := trees.size(words[place : place + 1])) is not None:
            certificates.append(claim(tree=size))
            one_sided.append(place)
        else:
            certificates.append(claim(unknown=True))
    stats = GameStats(
        lemmas=np.bincount(codes, minlength=len(LEMMAS) + 1).tolist(),
        outside=count_lemmas(variant, seed, first, count).outside,
        found=sum(one.game is not None for one in certificates),
        exhausted=sum(one.tree is not None for one in certificates),
        unknown=sum(one.unknown is not None for one in certificates),
        plies=[len(game.moves) for game in games.values() if game.status == "game"],
        digest=lines_digest(certificates),
        pockets=sum(one.pocket is not None for one in certificates),
        twins=_reached_twins(variant, boards[sorted(one_sided)], first + 1, trees),
    )
    return stats, certificates


def game_by_predecessor(variant: Variant, board: NDArray[np.uint32], *, seed: int) -> ProofGame:
    """Search for a game to any predecessor of a position, with little effort for each of them.

    This can succeed where a search from the position itself drops most predecessors in its first step.
    """
    engine, finder = engine_for(variant), finder_for(variant)
    plies = last_plies(variant, board[None], np.array([UNDECIDED]))
    rows = np.flatnonzero(lemmas_for(variant).of_boards(plies.boards) == 0)
    found = finder.find(plies.boards[rows], seed=seed, efforts=finder.efforts[:_PREDECESSOR_EFFORTS])
    for row, game in zip(rows.tolist(), found, strict=True):
        if game.status == "game":
            last = Move.from_code(int(plies.moves[row]), variant.size)
            moves, here = (*game.moves, (last.start, last.target)), engine.start()
            for ply, (start, target) in enumerate(moves, 1):
                engine.make(here, Move(start, target, variant.size).code)
                if (here == board).all():
                    # The game to the predecessor may itself pass through the position.
                    return ProofGame("game", moves[:ply])
    return ProofGame("unknown")


def _reached_twins(variant: Variant, boards: NDArray[np.uint32], seed: int, trees: BackwardTrees) -> tuple[int, int]:
    """Count the positions that are reachable if the other side is to move, and those where this is unknown."""
    engine = engine_for(variant)
    head(boards)[:, SIDE_AT] ^= 1
    boards = np.ascontiguousarray(boards[lemmas_for(variant).of_boards(boards) == 0])
    games = finder_for(variant).find(boards, seed=seed)
    reached = sum(game.status == "game" for game in games)
    left = [board for board, game in zip(boards, games, strict=True) if game.status != "game"]
    unknown = sum(trees.size(engine.words(board)) is None and not pocket(variant, board) for board in left)
    return reached, unknown


def pocket(variant: Variant, board: NDArray[np.uint32]) -> list[str]:
    """Return the cells of a pocket or of a king in a room, or an empty list if the position has neither.

    A pocket is a set of pieces that cannot have been assembled: whichever arrived last, it would have captured another
    piece in the set, or the set was already locked before. In a room, this is true of all pieces except the king.
    """
    size, reach, position = variant.size, reach_for(variant), naive_position(variant, board)
    cells = reach.locked(position, depth=2) or reach.room(position)
    return [square_name(cell, size) for cell in sorted(rank * size + file for file, rank in cells)]


def naive_position(variant: Variant, board: NDArray[np.uint32]) -> NaivePosition:
    """Return a board as a position of the naive rules."""
    cells, side = engine_for(variant).cells(board)
    size = variant.size
    return NaivePosition({(cell % size, cell // size): kind for cell, kind in enumerate(cells) if kind != "."}, side)


def _squares(variant: Variant, board: NDArray[np.uint32]) -> list[str]:
    """Return the cells of all pieces on a board."""
    size = variant.size
    return [square_name(cell, size) for cell, kind in enumerate(soldiers_of(board, size)) if kind]


# -- final placements ----------------------------------------------------------------------
# A final placement is *reached* if a legal ply from a reached position leads to it and ends the game in the given way.
# Samples are drawn from all final placements (`tablut.indexing.EndingIndex`). For each sample, the positions before the
# last ply are listed. Then either a game to one of them is found, or lemmas or whole backward trees exclude them all.


OUTCOME_OF: Final[dict[Ending, int]] = {ending: OUTCOMES.index(outcome) for ending, outcome in ENDED_AS.items()}
"""For each kind of ending, the outcome of the ply that leads to the final placement."""

EXCLUSIONS: Final = ("no_last_ply", "predecessors")
"""Reasons why a final placement is unreachable: no ply leads to it, or lemmas exclude every previous position."""

_FIRST_EFFORTS: Final = 3
"""Number of searches that are tried for all last plies before more costly searches are tried for any of them."""
_PREDECESSOR_EFFORTS: Final = 8
"""Number of searches that are tried for each predecessor of a position if the search for a game to it has failed."""
_MOVE: Final = (1 << 14) - 1
"""The bits of an undo record that contain the move."""


class LastPlies(NamedTuple):
    """The plies that could have led to final placements (``moves``), and the positions before them (``boards``).

    ``sources`` contains, for each ply, the row of the resulting final placement, in ascending order.
    """

    boards: NDArray[np.uint32]
    sources: NDArray[np.int64]
    moves: NDArray[np.int32]


ending_index = derived(EndingIndex)
"""Return the index of a variant's final placements. Equal variants share one object."""


@inlined
def _beside(t: Tables, cell: int, other: int) -> bool:
    """Return whether two cells share an edge."""
    return bool(t.facing[cell * t.cells + other] != 0)


@inlined
def _leads(
    t: Tables,
    board: NDArray[np.uint32],
    record: int,
    outcome: int,
    before: NDArray[np.uint32],
    after: NDArray[np.uint32],
) -> bool:
    """Write to ``before`` the position that results from an un-move. Return whether its ply has the given outcome."""
    for place in range(board_items(t.size)):
        before[place] = board[place]
    unmake(t, before, record)
    if count_of(t, before, 1) == 0:
        return False
    for place in range(board_items(t.size)):
        after[place] = before[place]
    undo, ended = make(t, after, record & _MOVE)
    return bool(undo == record and ended == outcome)


@inlined
def _un_moves_to(
    t: Tables, r: OriginTables, board: NDArray[np.uint32], cell: int, kind: int, records: NDArray[np.int64]
) -> int:
    """Write all un-moves of the piece on a cell, with all possible captures. Return their number."""
    side, centre = I64(kind == 0), coordinates(t, cell)
    missing = (r.defenders if side == 1 else r.attackers) - count_of(t, board, side ^ 1)
    sides = open_sides(t, r, board, side, cell)
    origins = line_origins(t, r, board, cell, kind)
    count = I64(0)
    while origins:
        place = trailing_zeros(origins)
        origins &= origins - 1
        move = move_of(t, cell_on_cross(t, centre, place), cell)
        way = direction_on_cross(centre, place)
        count = add_unmoves(records, count, move, sides & ~way, missing)
        if has_shieldwalls(t.distant):
            count = add_wall_unmoves(t, r, board, (cell, way), records, count, undo_of(move, sides & ~way), missing)
    return count


@kernel
def _last_plies(
    tables: Tables,
    origins: OriginTables,
    boards: NDArray[np.uint32],
    outcomes: NDArray[np.int64],
    before: NDArray[np.uint32],
    sources: NDArray[np.int64],
    moves: NDArray[np.int32],
) -> int:
    """Write the plies that lead to the given final placements, shape (n, 2N + 4), and return their number.

    If ``sources`` is empty, the plies are only counted.
    """
    t, r = flat(tables), flat(origins)
    stride = board_items(t.size)
    scratch, found_records = np.empty(2 * stride, dtype=boards.dtype), np.empty(MOST_UNMOVES * t.size, dtype=np.int64)
    earlier, later, records = pointer(scratch), advance(pointer(scratch), stride), pointer(found_records)
    total = 0
    for index in range(len(boards)):
        board, outcome = advance(pointer(boards), index * stride), I64(outcomes[index])
        side, king = side_of(t, board) ^ 1, king_of(t, board)
        for cell in range(t.cells):
            rank, file = coordinates(t, cell)
            if (own_pieces(line_of(board, rank), side) >> file) & 1 == 0:
                continue
            royal = side == 0 and cell == king
            # Only a move of the king is an escape, and only an attacker next to the king could have captured it.
            if (outcome == KING_ESCAPED and not royal) or (outcome == KING_CAPTURED and not _beside(t, king, cell)):
                continue
            for number in range(_un_moves_to(t, r, board, cell, I64(2) if royal else 1 - side, records)):
                record = I64(records[number])
                if not _leads(t, board, record, outcome, earlier, later):
                    continue
                if len(sources) != 0:
                    kept = advance(pointer(before), total * stride)
                    for item in range(stride):
                        kept[item] = earlier[item]
                    sources[total], moves[total] = index, np.int32(record & _MOVE)
                total += 1
    keep(scratch)
    keep(found_records)
    return total


def last_plies(variant: Variant, boards: NDArray[np.uint32], outcomes: NDArray[np.int64]) -> LastPlies:
    """Return every ply from a counted position that leads to a final placement with the given outcome."""
    tables = lemmas_for(variant).tables
    boards = np.ascontiguousarray(boards)
    stride = boards.shape[1]
    none = np.empty((0, stride), boards.dtype), np.empty(0, np.int64), np.empty(0, np.int32)
    total = int(_last_plies(tables.rules, tables.origins, boards, outcomes, *none))
    plies = LastPlies(np.empty((total, stride), boards.dtype), np.empty(total, np.int64), np.empty(total, np.int32))
    if total:
        _last_plies(tables.rules, tables.origins, boards, outcomes, *plies)
    return plies


def settle_endings(
    variant: Variant, seed: int, first: int, count: int
) -> tuple[EndingStats, list[PositionCertificate]]:
    """Decide whether each of ``count`` sampled final placements starting at ``first`` is reachable."""
    engine, index = engine_for(variant), ending_index(variant)
    numbers = [draw_number(index.size, seed, first + place) for place in range(count)]
    finals = [index.unrank(number) for number in numbers]
    boards = np.array([engine.board(final.position.cells, final.position.side) for final in finals])
    plies = last_plies(variant, boards, np.array([OUTCOME_OF[final.ending] for final in finals], dtype=np.int64))
    passed = np.flatnonzero(lemmas_for(variant).of_boards(plies.boards) == 0)
    rows: dict[int, list[int]] = {}
    for row in passed.tolist():
        rows.setdefault(int(plies.sources[row]), []).append(row)
    games = _games_before(variant, plies, rows, first + 1)

    certificates: list[PositionCertificate] = []
    for place in range(count):
        claim = partial(PositionCertificate, i=first + place, n=str(numbers[place]))
        if place in games:
            row, game = games[place]
            last = Move.from_code(int(plies.moves[row]), variant.size)
            moves = *game.moves, (last.start, last.target)
            certificates.append(claim(game=encode_moves(moves, variant.size)))
        elif place not in rows:
            certificates.append(claim(tree=1))
        elif (tree := backward_tree(variant, engine.words(plies.boards[rows[place]]))) is not None:
            certificates.append(claim(tree=1 + len(tree)))
        elif all(reach_for(variant).locked(naive_position(variant, plies.boards[row]), depth=2) for row in rows[place]):
            certificates.append(claim(tree=1))
        else:
            certificates.append(claim(unknown=True))
    made, unknown = len(np.unique(plies.sources)), sum(one.unknown is not None for one in certificates)
    drawn = Counter(final.ending for final in finals)
    reached = Counter(finals[place].ending for place in games)
    stats = EndingStats(
        lemmas=[len(rows), count - made, made - len(rows)],
        outside=0,
        found=len(games),
        exhausted=len(rows) - len(games) - unknown,
        unknown=unknown,
        plies=[1 + len(game.moves) for _, (_, game) in sorted(games.items())],
        digest=lines_digest(certificates),
        endings={ending: (drawn[ending], reached[ending]) for ending in ENDINGS},
    )
    return stats, certificates


def _games_before(
    variant: Variant, plies: LastPlies, rows: dict[int, list[int]], seed: int
) -> dict[int, tuple[int, ProofGame]]:
    """Return, for each final placement, a last ply and a game to the position before it, if a game is found."""
    finder, games = finder_for(variant), dict[int, tuple[int, "ProofGame"]]()
    hopeless: set[int] = set()
    for efforts in (finder.efforts[:_FIRST_EFFORTS], finder.efforts):
        for turn in range(max(map(len, rows.values()), default=0)):
            tried = [
                (place, own[turn])
                for place, own in rows.items()
                if place not in games and turn < len(own) and own[turn] not in hopeless
            ]
            if not tried:
                continue
            boards = plies.boards[[row for _, row in tried]]
            for (place, row), game in zip(tried, finder.find(boards, seed=seed, efforts=efforts), strict=True):
                if game.status == "game":
                    games[place] = row, game
                elif game.status == "exhausted":
                    hopeless.add(row)
    return games
