"""A compiled beam search backward from a target position to the start, guided by the pieces' distances from home.

The *homes* of a side are the cells on which its pieces stand at the start. An *un-move* takes back a ply
(`tablut.engine.unmoves`). The search begins at the target and takes back plies. Of the positions in each ply that no
lemma excludes, it keeps those whose pieces are nearest to their homes. No position is visited twice, and none is
decided, because un-moves take back only plies that did not end the game. Repetition and move limits are ignored. A
search that fails without dropping a position for lack of space proves nothing, because positions are identified by
64-bit keys; `counting.reachable.proof_games` lists the tree exactly.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.reachable.lemmas import LemmaTables, board_lemma, is_start
from tablut.engine.jit import I64, U64, advance, called, inlined, keep, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import key_change, position_key, unmake
from tablut.engine.layout import (
    board_items,
    captured_cell,
    coordinates,
    count_of,
    king_of,
    line_of,
    new_board,
    own_pieces,
    side_of,
    start_of,
    target_of,
    undo_captured,
)
from tablut.engine.tables import Tables, build_tables
from tablut.engine.unmoves import build_origins, most_unmoves, unmoves
from tablut.position import NARROW, diagram_cells
from tablut.variants import Variant

AWAY: Final = 3
"""Cost of each soldier that is away from home."""
STEP: Final = 2
"""Additional cost for each slide that a soldier away from home needs to return."""
MISSING: Final = 9
"""Cost of each missing soldier."""
NOISE: Final = 2
"""Upper limit of the random number that is added to a cost, in units of the cost."""

_KING_AWAY, _KING_STEP = 200, 8
"""The king's costs that correspond to `AWAY` and `STEP`. They are higher, so that the king returns home first."""
CALM: Final = 2
"""Number of bits by which the soldiers' cost is shifted right while the king is away, which divides it by four."""


class HomeTables(NamedTuple):
    """The costs of pieces at each distance from home, for each side (0: white, 1: black). C is the number of cells.

    - ``homes``, ``counts``, ``most``: The cells where soldiers stand at the start, their number for each side, and the
      larger of the two numbers.
    - ``ways``: At index ``(side * most + home) * C + cell``, the cost for a soldier on the cell that must return to
      this home.
    - ``king_costs``: The king's cost on each cell.
    - ``black_stuck``: 1 if no attacker could have arrived last when all attackers are at home, otherwise 0.
    """

    most: int
    counts: NDArray[np.int64]
    homes: NDArray[np.int32]
    ways: NDArray[np.int32]
    king_costs: NDArray[np.int32]
    black_stuck: int


def _distances(variant: Variant, at: NDArray[np.uint32], home: int) -> list[int]:
    """Return an estimated number of slides from each cell back to a home, or 9 if the piece can never return.

    All other pieces are assumed to be at home. If they block every path, the estimate is the number of slides on an
    empty board plus 3. No proof depends on it.
    """
    start = [letter != "." for letter in diagram_cells(variant.start)]
    start[home] = False
    among_others, alone = (_slides_back(variant, at, home, taken) for taken in (start, [False] * len(start)))
    return [steps if steps < 9 else min(other + 3, 9) for steps, other in zip(among_others, alone, strict=True)]


def _origins_of(variant: Variant, at: NDArray[np.uint32], cell: int, taken: list[bool]) -> list[int]:
    """Return the cells from which a piece could have slid to a cell, given the occupied cells."""
    size, origins = variant.size, build_origins(variant).origins
    rank, file = divmod(cell, size)
    sources = []
    for line, place, cells in (
        (rank, file, range(rank * size, rank * size + size)),
        (size + file, rank, range(file, size * size, size)),
    ):
        # The mask for an empty line. On wide boards, there is no other.
        began = int(origins[int(at[line]) + (place if size > NARROW else place << size)])
        for way in (range(place - 1, -1, -1), range(place + 1, size)):
            free = takewhile(lambda number: not taken[cells[number]], way)  # noqa: B023
            sources += [cells[number] for number in free if began >> number & 1]
    return sources


def _slides_back(variant: Variant, at: NDArray[np.uint32], home: int, taken: list[bool]) -> list[int]:
    """Return the number of slides from each cell to a home, given the occupied cells, or 9 if there is no path."""
    before = [_origins_of(variant, at, cell, taken) for cell in range(variant.size**2)]
    slides = [9] * len(before)
    slides[home] = 0
    for steps in range(1, 9):
        for cell, origin_cells in enumerate(before):
            if slides[cell] == 9 and any(slides[origin] == steps - 1 for origin in origin_cells):
                slides[cell] = steps
    return slides


def _stuck(variant: Variant, attackers: list[int]) -> bool:
    """Return whether no attacker could have arrived last when all of them are at home, wherever white's pieces are."""
    at, taken = build_origins(variant).attacker_origins, [cell in attackers for cell in range(variant.size**2)]
    return not any(_origins_of(variant, at, home, taken) for home in attackers)


def build_homes(variant: Variant, *, loose: bool = False) -> HomeTables:
    """Return a variant's cost tables. If ``loose`` is true, attackers can leave their homes at a low cost."""
    cells, origins = diagram_cells(variant.start), build_origins(variant)
    started = [[cell for cell, letter in enumerate(cells) if letter == kind] for kind in "wb"]
    most = max(map(len, started))
    homes = np.zeros((2, most), dtype=np.int32)
    ways = np.zeros((2, most, len(cells)), dtype=np.int32)
    for side, at in enumerate((origins.defender_origins, origins.attacker_origins)):
        for number, home in enumerate(started[side]):
            homes[side, number] = home
            slides = np.array(_distances(variant, at, home))
            ways[side, number] = slides if loose and side == 1 else AWAY + STEP * slides
    king = np.array(_distances(variant, origins.king_origins, cells.index("K")), dtype=np.int32)
    return HomeTables(
        most=most,
        counts=np.array(list(map(len, started)), dtype=np.int64),
        homes=homes.ravel(),
        ways=ways.ravel(),
        king_costs=np.where(king > 0, _KING_AWAY + _KING_STEP * king, 0).astype(np.int32),
        black_stuck=int(_stuck(variant, started[1])),
    )


# -- the search --------------------------------------------------------------------------


GAVE_UP: Final = -1
EXHAUSTED: Final = -2

_BINS: Final = 4096
_SCALE: Final = 4


class BeamTables(NamedTuple):
    """The tables that a search uses for a variant."""

    lemmas: LemmaTables
    homes: HomeTables


class BeamMemory(NamedTuple):
    """Scratch arrays for a search and their capacities; see `new_beam_memory`.

    - ``width``, ``plies``: The number of positions that are kept for each ply, and the maximum length of a game.
    - ``room``, ``candidates``: The maximum numbers of predecessors of a position, and of a ply's positions.
    - ``known``, ``mask``: A hash table (open addressing) of the keys of all positions seen, 0 for a free slot, and its
      size minus one.
    - ``boards``, ``keys``, ``nodes``: The positions in this ply and the next, their Zobrist keys, and their tree nodes.
    - ``parents``, ``records``: The tree: each node's parent, and the un-move that leads to the node.
    - ``scores``, ``origins``, ``moves``: The candidates for the next ply: score, index of the source, and un-move.
    - ``order``, ``bins``: The candidates sorted by score, and the number of candidates with each score.
    - ``costs``: A defender's cost on each cell, followed by an attacker's cost on each cell.
    - ``strays``: The cells of the soldiers that are away from home, on the side whose ply is taken back.
    """

    width: int
    plies: int
    room: int
    candidates: int
    mask: int
    boards: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    nodes: NDArray[np.int32]
    parents: NDArray[np.int32]
    records: NDArray[np.int64]
    known: NDArray[np.uint64]
    scores: NDArray[np.int32]
    origins: NDArray[np.int32]
    moves: NDArray[np.int64]
    order: NDArray[np.int32]
    bins: NDArray[np.int32]
    costs: NDArray[np.int32]
    strays: NDArray[np.int32]


def new_beam_memory(variant: Variant, width: int, plies: int) -> BeamMemory:
    """Return the arrays for searches of a given width and depth."""
    nodes, size, room = width * plies + 1, variant.size, most_unmoves(build_tables(variant))
    candidates = width * min(room, 1200)
    if 3 * room > 2 * candidates:
        # A position is expanded only if there is space for ``room`` more candidates, and few positions have so many.
        # With this rule, at least a third of the original space can be filled. Where this is so anyway, as on 9×9
        # without shieldwalls, nothing is added, because the space affects which games are found, and so the published
        # estimates.
        candidates += room
    known = 1 << (6 * nodes).bit_length()
    return BeamMemory(
        width=width,
        plies=plies,
        room=room,
        candidates=candidates,
        mask=known - 1,
        boards=np.tile(new_board(size), (2 * width, 1)),
        keys=np.empty(2 * width, dtype=np.uint64),
        nodes=np.empty(2 * width, dtype=np.int32),
        parents=np.empty(nodes, dtype=np.int32),
        records=np.empty(nodes, dtype=np.int64),
        known=np.zeros(known, dtype=np.uint64),
        scores=np.empty(candidates, dtype=np.int32),
        origins=np.empty(candidates, dtype=np.int32),
        moves=np.empty(candidates + room, dtype=np.int64),
        order=np.empty(candidates, dtype=np.int32),
        bins=np.empty(_BINS + 1, dtype=np.int32),
        costs=np.empty(2 * size * size, dtype=np.int32),
        strays=np.empty(size * size, dtype=np.int32),
    )


class HomesOf(NamedTuple):
    """One side's costs and homes, created by kernels; see `HomeTables`.

    - ``own``, ``victims``: The costs on each cell for this side's soldiers and for the other side's soldiers.
    - ``homes``, ``ways``, ``places``: The homes of this side's soldiers, the costs for each home, and their number.
    """

    own: NDArray[np.int32]
    victims: NDArray[np.int32]
    homes: NDArray[np.int32]
    ways: NDArray[np.int32]
    places: int


@inlined
def _homes_of(beam: BeamTables, memory: BeamMemory, side: int) -> HomesOf:
    """Return the costs and homes of a side (0: white, 1: black)."""
    tables, cells, first = beam.homes, beam.lemmas.rules.cells, side * beam.homes.most
    own, victims = advance(memory.costs, side * cells), advance(memory.costs, (side ^ 1) * cells)
    return HomesOf(
        own, victims, advance(tables.homes, first), advance(tables.ways, first * cells), I64(tables.counts[side])
    )


@inlined
def _soldier_costs(rules: Tables, board: NDArray[np.uint32], side: int, homes: HomesOf) -> int:
    """Write a soldier's cost on each cell, using the nearest free home. Return the number of free homes."""
    king = king_of(rules, board)
    for cell in range(rules.cells):
        homes.own[cell] = np.int32(AWAY + STEP * 9)
    free = I64(0)
    for number in range(homes.places):
        home = I64(homes.homes[number])
        rank, file = coordinates(rules, home)
        if (own_pieces(line_of(board, rank), side) >> file) & 1 != 0 and not (side == 0 and home == king):
            continue
        free += 1
        way = advance(homes.ways, number * rules.cells)
        for cell in range(rules.cells):
            homes.own[cell] = min(homes.own[cell], way[cell])
    for number in range(homes.places):
        homes.own[I64(homes.homes[number])] = np.int32(0)
    return free


@inlined
def _known_before(known: NDArray[np.uint64], mask: int, key: np.uint64) -> bool:
    """Return whether a key was seen before, and mark it as seen."""
    key |= U64(1) << U64(63)
    place = I64(key & U64(mask))
    while known[place] != U64(0):
        if known[place] == key:
            return True
        place = (place + 1) & mask
    known[place] = key
    return False


class PricedPosition(NamedTuple):
    """A position whose last ply is to be taken back, and its pieces' costs."""

    place: int
    side: int
    king: int
    base: int
    strays: int
    black_away: int
    white_away: int


@inlined
def _priced(beam: BeamTables, memory: BeamMemory, place: int) -> PricedPosition:
    """Write the soldiers' costs on each cell in a position, and return the position with its total cost."""
    rules, tables = beam.lemmas.rules, beam.homes
    board = advance(memory.boards, place * board_items(rules.size))
    side, king = side_of(rules, board) ^ 1, king_of(rules, board)
    # The cost of pieces away from home is part of the score of every predecessor of this position. It differs between
    # the positions in a ply, so the scores must include it.
    black_away = _soldier_costs(rules, board, 1, _homes_of(beam, memory, 1))
    white_away = _soldier_costs(rules, board, 0, _homes_of(beam, memory, 0))
    base = MISSING * (
        I64(tables.counts[0]) + I64(tables.counts[1]) - count_of(rules, board, 1) - count_of(rules, board, 0)
    )
    strays = I64(0)
    for cell in range(rules.cells):
        rank, file = coordinates(rules, cell)
        content = line_of(board, rank)
        colour = I64(-1)
        if (own_pieces(content, 1) >> file) & 1:
            colour = I64(1)
        elif (own_pieces(content, 0) >> file) & 1 and cell != king:
            colour = I64(0)
        if colour >= 0:
            cost = I64(memory.costs[colour * rules.cells + cell])
            base += cost
            if colour == side and cost != 0:
                memory.strays[strays] = np.int32(cell)
                strays += 1
    if tables.king_costs[king] != 0:
        white_away += 1
    return PricedPosition(place, side, king, base, strays, black_away, white_away)


@inlined
def _gain_of_home(
    beam: BeamTables, memory: BeamMemory, priced: PricedPosition, homes: HomesOf, start: int, target: int
) -> int:
    """Return the decrease in cost because an un-move frees a home for the moved soldier or another one."""
    saved = I64(0)
    for home in range(homes.places):
        if homes.homes[home] == target:
            way = advance(homes.ways, home * beam.lemmas.rules.cells)
            gain = I64(homes.own[start]) - I64(way[start]) if homes.own[start] != 0 else I64(0)
            for stray in range(priced.strays):
                cell = I64(memory.strays[stray])
                gain = max(gain, I64(homes.own[cell]) - I64(way[cell]))
            saved += max(gain, 0)
    return saved


@inlined
def _goes_nowhere(beam: BeamTables, priced: PricedPosition, homes: HomesOf, start: int, target: int) -> bool:
    """Return whether an un-move takes the last attacker home too early.

    When all attackers are at home and none of them could have arrived last, at most the first ply of white can remain.
    """
    return (
        priced.side == 1
        and beam.homes.black_stuck != 0
        and priced.black_away == 1
        and homes.own[start] == 0
        and homes.own[target] != 0
        and priced.white_away != 1 - side_of(beam.lemmas.rules, beam.lemmas.origins.start)
    )


@inlined
def _score_before(beam: BeamTables, memory: BeamMemory, priced: PricedPosition, homes: HomesOf, record: int) -> int:
    """Return the cost of the position before a ply. The cost is lower when the pieces are nearer to their homes."""
    rules = beam.lemmas.rules
    start, target, captures = start_of(rules, record), target_of(rules, record), undo_captured(record)
    if priced.side == 0 and target == priced.king:
        score, royal = priced.base, I64(beam.homes.king_costs[start])
    else:
        score, royal = (
            priced.base + I64(homes.own[start]) - I64(homes.own[target]),
            I64(beam.homes.king_costs[priced.king]),
        )
        if homes.own[target] == 0:
            score -= _gain_of_home(beam, memory, priced, homes, start, target)
    while captures:
        score += I64(homes.victims[captured_cell(rules, target, captures)]) - MISSING
        captures &= captures - 1
    return royal + (score >> CALM) if royal != 0 else score


@called
def _add_candidates(
    beam: BeamTables, memory: BeamMemory, place: int, count: int, state: np.uint64, shaken: bool
) -> tuple[int, np.uint64]:
    """Add a position's predecessors to the candidates. Return their new number and the random generator's state."""
    rules, priced = beam.lemmas.rules, _priced(beam, memory, place)
    homes = _homes_of(beam, memory, priced.side)
    board = advance(memory.boards, place * board_items(rules.size))
    written = unmoves(rules, beam.lemmas.origins, board, advance(memory.moves, count))
    kept = count
    for number in range(count, count + written):
        record = I64(memory.moves[number])
        target = target_of(rules, record)
        if not (priced.side == 0 and target == priced.king) and _goes_nowhere(
            beam, priced, homes, start_of(rules, record), target
        ):
            continue
        score = _score_before(beam, memory, priced, homes, record)
        state ^= state << U64(13)
        state ^= state >> U64(7)
        state ^= state << U64(17)
        noise = I64(state >> U64(40))
        memory.scores[kept] = np.int32(noise % _BINS if shaken else score * _SCALE + noise % (NOISE * _SCALE))
        memory.origins[kept] = np.int32(place)
        memory.moves[kept] = record
        kept += 1
    return kept, state


@inlined
def _sort_candidates(memory: BeamMemory, count: int) -> None:
    """Sort the candidates by score."""
    least, most = I64(_BINS), I64(0)
    for number in range(count):
        score = min(I64(memory.scores[number]), _BINS - 1)
        least, most = min(least, score), max(most, score)
    for place in range(least, most + 2):
        memory.bins[place] = np.int32(0)
    for number in range(count):
        memory.bins[min(I64(memory.scores[number]), _BINS - 1) + 1] += np.int32(1)
    for place in range(least, most):
        memory.bins[place + 1] += memory.bins[place]
    for number in range(count):
        score = min(I64(memory.scores[number]), _BINS - 1)
        memory.order[memory.bins[score]] = np.int32(number)
        memory.bins[score] += np.int32(1)


@inlined
def _add_child(
    beam: BeamTables, memory: BeamMemory, number: int, there: int, total: int, left: NDArray[np.uint32]
) -> tuple[bool, bool]:
    """Take back a candidate's ply. Return whether the position is new, and whether it is kept.

    It is written to the slot ``there`` and added to the tree, unless a lemma excludes it or no slot is left (-1).
    """
    rules = beam.lemmas.rules
    stride = board_items(rules.size)
    source, record = I64(memory.origins[number]), I64(memory.moves[number])
    board = advance(memory.boards, source * stride)
    side, target = side_of(rules, board) ^ 1, target_of(rules, record)
    key = memory.keys[source] ^ key_change(rules, side, side == 0 and target == king_of(rules, board), record)
    if _known_before(memory.known, memory.mask, key):
        return False, False
    if there < 0:
        return True, False
    child = advance(memory.boards, there * stride)
    for place in range(stride):
        child[place] = board[place]
    unmake(rules, child, record)
    if board_lemma(beam.lemmas, child, left) != 0:
        return True, False
    memory.keys[there], memory.nodes[there] = key, np.int32(total)
    memory.parents[total], memory.records[total] = memory.nodes[source], record
    return True, True


@inlined
def _write_game(memory: BeamMemory, node: int, plies: int, game: NDArray[np.int32]) -> None:
    """Write the plies that lead from a node in the tree to the target."""
    for number in range(plies):
        game[number] = np.int32(memory.records[node] & 0x3FFF)
        node = I64(memory.parents[node])


@called
def _search(
    beam: BeamTables,
    memory: BeamMemory,
    shake: int,
    left: NDArray[np.uint32],
    state: np.uint64,
    game: NDArray[np.int32],
) -> int:
    """Search from the first board. Write a game and return its length, or return `EXHAUSTED` or `GAVE_UP`."""
    rules = beam.lemmas.rules
    stride = board_items(rules.size)
    for place in range(memory.mask + 1):
        memory.known[place] = U64(0)
    if is_start(beam.lemmas, memory.boards):
        return 0
    memory.keys[0] = position_key(rules, memory.boards)
    _known_before(memory.known, memory.mask, memory.keys[0])
    memory.nodes[0] = 0
    here, there, held, total = I64(0), I64(memory.width), I64(1), I64(1)
    complete = True
    for ply in range(1, memory.plies + 1):
        count = I64(0)
        for place in range(held):
            if count + memory.room > memory.candidates:
                complete = False
                break
            count, state = _add_candidates(beam, memory, here + place, count, state, ply <= shake)
        _sort_candidates(memory, count)
        kept = I64(0)
        for rank in range(count):
            place = there + kept if kept < memory.width else I64(-1)
            fresh, added = _add_child(beam, memory, I64(memory.order[rank]), place, total, left)
            if fresh and kept == memory.width:
                complete = False
                break
            if added:
                total += 1
                kept += 1
                if is_start(beam.lemmas, advance(memory.boards, place * stride)):
                    _write_game(memory, total - 1, ply, game)
                    return ply
        if kept == 0:
            return EXHAUSTED if complete else GAVE_UP
        here, there, held = there, here, kept
    return GAVE_UP


@kernel
def find_games(
    tables: BeamTables,
    arrays: BeamMemory,
    boards: NDArray[np.uint32],
    seed: np.uint64,
    shake: int,
    games: NDArray[np.int32],
    plies: NDArray[np.int32],
) -> None:
    """Search for a game to each board. At most O(width * plies) positions are visited for each board."""
    beam, memory = flat(tables), flat(arrays)
    stride = board_items(beam.lemmas.rules.size)
    scratch = np.empty(stride, dtype=boards.dtype)
    for index in range(len(boards)):
        for place in range(stride):
            memory.boards[place] = boards[index, place]
        state = seed ^ (U64(index + 1) * U64(0x9E3779B97F4A7C15))
        game = advance(pointer(games), index * games.shape[1])
        plies[index] = _search(beam, memory, shake, pointer(scratch), state | U64(1), game)
    keep(scratch)
