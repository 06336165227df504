"""Proof games, compiled: a beam search backward from a position to the start.

From the target, plies are taken back (`tablut.engine.unmoves`), positions that a lemma excludes are
dropped, and of the others the best few of each ply are kept: those whose pieces are nearest to where
they started. No position is visited twice, so none is repeated in the game found; none on the way
is decided, because an un-move is a ply that decided nothing. Repetition and move limits play no part.

A search that ends and never had to drop a position for lack of room has seen the whole backward tree of
the target. As it knows positions by keys of 64 bits only, that is no proof: `counting.reachable.backward` is one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from counting.reachable.lemmas import LemmaTables, is_start, lemma, lemmas_for
from tablut.engine.attacks import neighbour
from tablut.engine.jit import I64, U64, advance, called, inlined, keep, kernel, pointer
from tablut.engine.kernels import key_change, position_key, unmake
from tablut.engine.layout import (
    board_items,
    coordinates,
    count_of,
    king_of,
    line_of,
    new_board,
    own_pieces,
    read_undo,
    side_of,
    start_of,
    target_of,
    undo_captured,
)
from tablut.engine.records import flat
from tablut.engine.unmoves import MOST_UNMOVES, OriginTables, build_origins, unmoves
from tablut.notation import diagram_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

__all__ = ["EFFORTS", "EXHAUSTED", "GAVE_UP", "MOST_PLIES", "Effort", "GameFinder", "ProofGame", "finder_for"]

GAVE_UP: Final = -1
EXHAUSTED: Final = -2
MOST_PLIES: Final = 1000
"""Longest game that is looked for."""


class Effort(NamedTuple):
    """What one search may cost.

    Attributes
    ----------
    width : int
        How many positions of each ply are kept.
    plies : int
        Longest game.
    shake : int
        So many of the first plies are taken back by luck alone, which loosens what is wedged.
    """

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
"""One search after the other, until one succeeds."""

_AWAY, _STEP, _MISSING, _NOISE = 3, 2, 9, 2
"""What counts against a position: a soldier away from home and each slide that it is away, a missing soldier;
and how much luck is added, in the same units."""

_KING_AWAY, _KING_STEP, _CALM = 200, 8, 2
"""The same for the king, which goes home first: as long as it is away, soldiers count for a quarter (two bits)."""

_BINS: Final = 4096
_SCALE: Final = 4


class HomeTables(NamedTuple):
    """How far pieces are from where they started; C is the number of cells.

    Attributes
    ----------
    attackers, defenders : int
        Numbers of homes.
    attacker_homes, defender_homes : ndarray of int32
        The cells where soldiers started.
    attacker_ways, defender_ways : ndarray of int32, shape (homes * C,)
        At ``home * C + cell`` what a soldier costs that is to slide from the cell back to the home.
    king_costs : ndarray of int32, shape (C,)
        What the king costs.
    black_stuck : int
        1 if attackers that are all at home have nowhere to have come from.
    """

    attackers: int
    defenders: int
    attacker_homes: NDArray[np.int32]
    defender_homes: NDArray[np.int32]
    attacker_ways: NDArray[np.int32]
    defender_ways: NDArray[np.int32]
    king_costs: NDArray[np.int32]
    black_stuck: int


def _distances(variant: Variant, at: NDArray[np.uint32], home: int) -> list[int]:
    """Return by cell how many slides back it takes to come to a home; 9 if there is no way.

    All others stand as at the start, as they will when the last pieces go home; where that leaves no way, the
    board is empty and the way counts for one slide more.
    """
    start = [letter != "." for letter in diagram_cells(variant.start)]
    start[home] = False
    found, alone = (_slides_back(variant, at, home, taken) for taken in (start, [False] * len(start)))
    return [steps if steps < 9 else min(other + 3, 9) for steps, other in zip(found, alone, strict=True)]


def _slides_back(variant: Variant, at: NDArray[np.uint32], home: int, taken: list[bool]) -> list[int]:
    """Return by cell how many slides back it takes to come to a home, with some cells taken; 9 if there is no way."""
    size, origins = variant.size, build_origins(variant).origins
    before: list[list[int]] = []
    for cell in range(size * size):
        rank, file = divmod(cell, size)
        row_taken = sum(taken[rank * size + place] << place for place in range(size))
        column_taken = sum(taken[place * size + file] << place for place in range(size))
        row = int(origins[int(at[rank]) + (file << size) + row_taken])
        column = int(origins[int(at[size + file]) + (rank << size) + column_taken])
        before.append(
            [rank * size + place for place in range(size) if row >> place & 1]
            + [place * size + file for place in range(size) if column >> place & 1]
        )
    found = [9] * (size * size)
    found[home] = 0
    for steps in range(1, 9):
        for cell, origin_cells in enumerate(before):
            if found[cell] == 9 and any(found[origin] == steps - 1 for origin in origin_cells):
                found[cell] = steps
    return found


def _stuck(variant: Variant, attackers: list[int]) -> bool:
    """Return whether attackers that are all at home have nowhere to have come from, wherever the others stand."""
    size, origins = variant.size, build_origins(variant)
    taken = [cell in attackers for cell in range(size * size)]
    return not any(
        origins.origins[
            int(origins.attacker_origins[line])
            + (place << size)
            + sum(taken[cell] << at for at, cell in enumerate(cells))
        ]
        for line, cells in enumerate(_lines(size))
        for place, home in enumerate(cells)
        if home in attackers
    )


def _lines(size: int) -> list[list[int]]:
    """Return the cells of every row, then of every column."""
    rows = [[rank * size + file for file in range(size)] for rank in range(size)]
    return rows + [list(column) for column in zip(*rows, strict=True)]


def build_homes(variant: Variant) -> HomeTables:
    """Return the tables of a variant."""
    cells, origins = diagram_cells(variant.start), build_origins(variant)
    attackers = [cell for cell, letter in enumerate(cells) if letter == "b"]
    defenders = [cell for cell, letter in enumerate(cells) if letter == "w"]

    def ways(at: NDArray[np.uint32], homes: list[int]) -> NDArray[np.int32]:
        costs = [[_AWAY + _STEP * steps for steps in _distances(variant, at, home)] for home in homes]
        return np.array(costs, dtype=np.int32).ravel()

    king = np.array(_distances(variant, origins.king_origins, cells.index("K")), dtype=np.int32)
    return HomeTables(
        attackers=len(attackers),
        defenders=len(defenders),
        attacker_homes=np.array(attackers, dtype=np.int32),
        defender_homes=np.array(defenders, dtype=np.int32),
        attacker_ways=ways(origins.attacker_origins, attackers),
        defender_ways=ways(origins.defender_origins, defenders) if defenders else np.zeros(1, dtype=np.int32),
        king_costs=np.where(king > 0, _KING_AWAY + _KING_STEP * king, 0).astype(np.int32),
        black_stuck=int(_stuck(variant, attackers)),
    )


class Room(NamedTuple):
    """Scratch arrays of a search; see `make_room`.

    Attributes
    ----------
    boards : ndarray of uint32, shape (2 * width, 2N + 4)
        The positions of this ply and of the next.
    keys : ndarray of uint64, shape (2 * width,)
        Their Zobrist keys.
    nodes : ndarray of int32, shape (2 * width,)
        Their numbers in the tree.
    parents, records : ndarray of int32, shape (nodes,)
        The tree: where each position was found, and by which un-move.
    known : ndarray of uint64, shape (a power of two,)
        The keys of all positions seen, by open addressing; 0 is free.
    scores, origins, moves : ndarray of int32, shape (candidates,)
        What the next ply can be: its score, the place of its source in this ply, the un-move.
    order : ndarray of int32, shape (candidates,)
        The candidates by score.
    bins : ndarray of int32, shape (_BINS + 1,)
        How many have a score.
    costs : ndarray of int32, shape (2 * C,)
        What an attacker and a defender on each cell cost.
    strays : ndarray of int32, shape (C,)
        The soldiers of the side that goes back that are away from home.
    """

    boards: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    nodes: NDArray[np.int32]
    parents: NDArray[np.int32]
    records: NDArray[np.int32]
    known: NDArray[np.uint64]
    scores: NDArray[np.int32]
    origins: NDArray[np.int32]
    moves: NDArray[np.int32]
    order: NDArray[np.int32]
    bins: NDArray[np.int32]
    costs: NDArray[np.int32]
    strays: NDArray[np.int32]


def make_room(size: int, width: int, plies: int) -> Room:
    """Return the arrays for searches of a width."""
    nodes = width * plies + 1
    candidates = width * min(MOST_UNMOVES * size * size, 1200)
    known = 1 << (6 * nodes).bit_length()
    return Room(
        boards=np.tile(new_board(size), (2 * width, 1)),
        keys=np.empty(2 * width, dtype=np.uint64),
        nodes=np.empty(2 * width, dtype=np.int32),
        parents=np.empty(nodes, dtype=np.int32),
        records=np.empty(nodes, dtype=np.int32),
        known=np.zeros(known, dtype=np.uint64),
        scores=np.empty(candidates, dtype=np.int32),
        origins=np.empty(candidates, dtype=np.int32),
        moves=np.empty(candidates + MOST_UNMOVES * size * size, dtype=np.int32),
        order=np.empty(candidates, dtype=np.int32),
        bins=np.empty(_BINS + 1, dtype=np.int32),
        costs=np.empty(2 * size * size, dtype=np.int32),
        strays=np.empty(size * size, dtype=np.int32),
    )


@inlined
def soldier_costs(
    t: Tables,
    board: NDArray[np.uint32],
    side: int,
    homes: NDArray[np.int32],
    count: int,
    ways: NDArray[np.int32],
    costs: NDArray[np.int32],
) -> int:
    """Write what a soldier on each cell costs, by its way to the nearest home that is free; return how many are."""
    cells, king = t.cells, king_of(t, board)
    for cell in range(cells):
        costs[cell] = np.int32(_AWAY + _STEP * 9)
    free = I64(0)
    for number in range(count):
        home = I64(homes[number])
        rank, file = coordinates(t, home)
        if (own_pieces(line_of(board, rank), side) >> file) & 1 != 0 and not (side == 0 and home == king):
            continue
        free += 1
        way = advance(ways, number * cells)
        for cell in range(cells):
            costs[cell] = min(costs[cell], way[cell])
    for number in range(count):
        costs[I64(homes[number])] = np.int32(0)
    return free


@inlined
def known_before(known: NDArray[np.uint64], mask: int, key: np.uint64) -> bool:
    """Return whether a key was seen, and note it."""
    key |= U64(1) << U64(63)
    place = I64(key & U64(mask))
    while known[place] != U64(0):
        if known[place] == key:
            return True
        place = (place + 1) & mask
    known[place] = key
    return False


@called
def add_candidates(
    t: Tables, r: OriginTables, h: HomeTables, room: Room, place: int, count: int, luck: np.uint64, shaken: bool
) -> tuple[int, np.uint64]:
    """Write the predecessors of one position as candidates; return the new count, and the luck that is left."""
    size, cells = t.size, t.cells
    board = advance(room.boards, place * board_items(size))
    side, king = side_of(t, board) ^ 1, king_of(t, board)
    # What is away from home now is a constant of all these candidates; among plies it is not, so it is counted.
    black_away = soldier_costs(t, board, 1, h.attacker_homes, h.attackers, h.attacker_ways, room.costs)
    white = advance(room.costs, cells)
    white_away = soldier_costs(t, board, 0, h.defender_homes, h.defenders, h.defender_ways, white)
    base = _MISSING * (h.attackers + h.defenders - count_of(t, board, 1) - count_of(t, board, 0))
    strays = I64(0)
    for rank in range(size):
        for file in range(size):
            cell = rank * size + file
            if (own_pieces(line_of(board, rank), 1) >> file) & 1:
                base += I64(room.costs[cell])
                if side == 1 and room.costs[cell] != 0:
                    room.strays[strays] = np.int32(cell)
                    strays += 1
            elif (own_pieces(line_of(board, rank), 0) >> file) & 1 and cell != king:
                base += I64(white[cell])
                if side == 0 and white[cell] != 0:
                    room.strays[strays] = np.int32(cell)
                    strays += 1
    if h.king_costs[king] != 0:
        white_away += 1
    own = room.costs if side == 1 else white
    ways = h.attacker_ways if side == 1 else h.defender_ways
    homes = h.attacker_homes if side == 1 else h.defender_homes
    number_of_homes = h.attackers if side == 1 else h.defenders
    victims = white if side == 1 else room.costs
    found = unmoves(t, r, board, advance(room.moves, count))
    kept = count
    for number in range(count, count + found):
        record = I64(room.moves[number])
        start, target, directions = start_of(record), target_of(record), undo_captured(record)
        if side == 0 and target == king:
            score, royal = base, I64(h.king_costs[start])
        else:
            score, royal = base + I64(own[start]) - I64(own[target]), I64(h.king_costs[king])
            if own[target] == 0:
                # The home that it leaves is free to go back to, or for another that is away.
                for other in range(number_of_homes):
                    if homes[other] == target:
                        way = advance(ways, other * cells)
                        gain = I64(own[start]) - I64(way[start]) if own[start] != 0 else I64(0)
                        for stray in range(strays):
                            cell = I64(room.strays[stray])
                            gain = max(gain, I64(own[cell]) - I64(way[cell]))
                        score -= max(gain, 0)
            # Attackers that are all at home and have nowhere to have come from leave white at most the ply that
            # opens the game, if it is white's.
            if (
                side == 1
                and h.black_stuck != 0
                and black_away == 1
                and own[start] == 0
                and own[target] != 0
                and white_away != 1 - side_of(t, r.start)
            ):
                continue
        while directions:
            direction = directions & -directions
            directions ^= direction
            score += I64(victims[neighbour(t, target, direction)]) - _MISSING
        if royal != 0:
            score = royal + (score >> _CALM)
        luck ^= luck << U64(13)
        luck ^= luck >> U64(7)
        luck ^= luck << U64(17)
        chance = I64(luck >> U64(40))
        room.scores[kept] = np.int32(chance % _BINS if shaken else score * _SCALE + chance % (_NOISE * _SCALE))
        room.origins[kept] = np.int32(place)
        room.moves[kept] = np.int32(record)
        kept += 1
    return kept, luck


@inlined
def sort_candidates(room: Room, count: int) -> None:
    """Write the order of the candidates by score."""
    for place in range(_BINS + 1):
        room.bins[place] = np.int32(0)
    for number in range(count):
        room.bins[min(I64(room.scores[number]), _BINS - 1) + 1] += np.int32(1)
    for place in range(_BINS):
        room.bins[place + 1] += room.bins[place]
    for number in range(count):
        score = min(I64(room.scores[number]), _BINS - 1)
        room.order[room.bins[score]] = np.int32(number)
        room.bins[score] += np.int32(1)


@called
def search(
    t: Tables,
    r: OriginTables,
    m: LemmaTables,
    h: HomeTables,
    room: Room,
    width: int,
    most_plies: int,
    most_candidates: int,
    mask: int,
    shake: int,
    left: NDArray[np.uint32],
    luck: np.uint64,
    game: NDArray[np.int32],
) -> int:
    """Search from the position in the first board of the room; write the game and return its plies, or say why not."""
    stride = board_items(t.size)
    for place in range(mask + 1):
        room.known[place] = U64(0)
    if is_start(t, r, room.boards):
        return 0
    room.keys[0] = position_key(t, room.boards)
    known_before(room.known, mask, room.keys[0])
    room.nodes[0] = 0
    here, there, held, total = I64(0), I64(width), I64(1), I64(1)
    complete = True
    for ply in range(1, most_plies + 1):
        count = I64(0)
        for place in range(held):
            if count + MOST_UNMOVES * t.cells > most_candidates:
                complete = False
                break
            count, luck = add_candidates(t, r, h, room, here + place, count, luck, ply <= shake)
        sort_candidates(room, count)
        kept = I64(0)
        for rank in range(count):
            number = I64(room.order[rank])
            source, record = I64(room.origins[number]), I64(room.moves[number])
            board = advance(room.boards, source * stride)
            side, target = side_of(t, board) ^ 1, target_of(record)
            key = room.keys[source] ^ key_change(t, side, side == 0 and target == king_of(t, board), record)
            if known_before(room.known, mask, key):
                continue
            if kept == width:
                complete = False
                break
            child = advance(room.boards, (there + kept) * stride)
            for place in range(stride):
                child[place] = board[place]
            unmake(t, child, record)
            if lemma(t, r, m, child, left) != 0:
                continue
            room.keys[there + kept] = key
            room.nodes[there + kept] = np.int32(total)
            room.parents[total], room.records[total] = room.nodes[source], np.int32(record)
            total += 1
            kept += 1
            if is_start(t, r, child):
                node = total - 1
                for number in range(ply):
                    game[number] = room.records[node]
                    node = I64(room.parents[node])
                return ply
        if kept == 0:
            return EXHAUSTED if complete else GAVE_UP
        here, there, held = there, here, kept
    return GAVE_UP


@kernel
def find_games(
    tables: Tables,
    origins: OriginTables,
    more: LemmaTables,
    homes: HomeTables,
    arrays: Room,
    boards: NDArray[np.uint32],
    seed: np.uint64,
    shake: int,
    games: NDArray[np.int32],
    plies: NDArray[np.int32],
) -> None:
    """Search for a game to each board, shape (n, 2N + 4).

    ``games``, shape (n, most plies), receives the plies as undo records, ``plies``, shape (n,), their number,
    or `GAVE_UP` or `EXHAUSTED`.
    """
    t, r, m, h = flat(tables), flat(origins), flat(more), flat(homes)
    room = flat(arrays)
    stride = board_items(t.size)
    scratch = np.empty(stride, dtype=np.uint32)
    width, most_plies = len(arrays.keys) >> 1, games.shape[1]
    for index in range(len(boards)):
        for place in range(stride):
            room.boards[place] = boards[index, place]
        luck = seed ^ (U64(index + 1) * U64(0x9E3779B97F4A7C15))
        plies[index] = search(
            t,
            r,
            m,
            h,
            room,
            width,
            most_plies,
            len(arrays.scores),
            len(arrays.known) - 1,
            shake,
            pointer(scratch),
            luck | U64(1),
            advance(pointer(games), index * most_plies),
        )
    keep(scratch)


class ProofGame(NamedTuple):
    """What the search found for one position.

    Attributes
    ----------
    status : {'game', 'exhausted', 'unknown'}
        A game; or a proof that there is none, by the whole backward tree; or neither.
    moves : tuple of (int, int)
        The game's moves, from and to, from the start on.
    """

    status: str
    moves: tuple[tuple[int, int], ...] = ()


class GameFinder:
    """Proof games of one variant.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Examples
    --------
    >>> from tablut.engine import engine_for
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("brandubh-5-4v0")
    >>> engine = engine_for(variant)
    >>> finder = GameFinder(variant)
    >>> finder.find(engine.boards(engine.expand(engine.words(engine.start())).words)[:1])[0].status
    'game'
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        lemmas = lemmas_for(variant)
        self.arguments = lemmas.tables, lemmas.origins, lemmas.more, build_homes(variant)

    def find(
        self, boards: NDArray[np.uint32], *, seed: int = 1, efforts: tuple[Effort, ...] = EFFORTS
    ) -> list[ProofGame]:
        """Search for a game to each position, with more effort as long as it is not found.

        Parameters
        ----------
        boards : ndarray of uint32, shape (n, 2N + 4)
            Counted positions, as boards of the engine.
        seed : int
            Of the luck that breaks ties.
        efforts : tuple of Effort
            See `EFFORTS`.
        """
        found = [ProofGame("unknown")] * len(boards)
        open_rows = np.arange(len(boards))
        for width, plies, shake in efforts:
            if not len(open_rows):
                break
            room = make_room(self.variant.size, width, plies)
            games = np.empty((len(open_rows), plies), dtype=np.int32)
            lengths = np.empty(len(open_rows), dtype=np.int32)
            find_games(
                *self.arguments, room, np.ascontiguousarray(boards[open_rows]), np.uint64(seed), shake, games, lengths
            )
            for row, game, length in zip(open_rows.tolist(), games, lengths.tolist(), strict=True):
                if length == EXHAUSTED:
                    found[row] = ProofGame("exhausted")
                elif length != GAVE_UP:
                    found[row] = ProofGame("game", tuple(read_undo(move)[:2] for move in game[:length].tolist()))
            open_rows = open_rows[lengths == GAVE_UP]
        return found


@lru_cache(maxsize=16)
def finder_for(variant: Variant) -> GameFinder:
    """Return the finder of a variant; the same object for equal variants."""
    return GameFinder(variant)
