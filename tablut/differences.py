"""The search for positions where two rule sets differ, both near the start and with few men.

Two rule sets differ in a position if a ply is legal under only one of them, captures different pieces, or ends the game
differently. Rules that depend on the game history (repetition and the move limit) are not compared.

There are two searches. The first examines the positions that can be reached from the start, ply by ply, one for each
class under the symmetries that both games share. The second draws random placements whose men are crowded into a part
of the board, and removes men from them one by one as long as the difference remains. It may miss some differences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symmetry import Symmetry
from tablut.engine import Engine, engine_for
from tablut.errors import InputError
from tablut.position import Move, Position
from tablut.rules import OUTCOMES, Outcome
from tablut.rules.naive import NaiveGame
from tablut.rules.outcome import NO_ATTACKERS
from tablut.status import position_status
from tablut.variants import Variant
from tablut.work.progress import Observer

_CHUNK: Final = 4096
_SHIFT: Final = 20
"""Number of low bits that contain the move in a ply's key. The bits above contain the parent position's number."""
_NOT_LEGAL: Final = 255
_TRIED: Final = 6
"""Number of positions per kind of difference that are reduced by removing men. The smallest result is kept."""
_EDGE: Final = 7
"""Maximum side length, in cells, of the board area that contains the men of a random placement."""

Kind = tuple[int, ...]
"""The difference between a ply's effects under the rule sets a and b, as four numbers.

The first two are the outcomes under a and b, or 255 where the ply is not legal. The other two are the numbers of
soldiers captured only under a and only under b, where 2 stands for two or more.
"""


class Effect(NamedTuple):
    """The effect of a ply under a rule set: the cells of the captured pieces and the outcome."""

    captures: tuple[int, ...]
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A position that is undecided under two rule sets and where some plies have different effects.

    - ``line``: The moves that lead from the start to the position; None for a random placement.
    - ``moves``: The plies whose effects differ. The first one shows the kind of difference of this position.
    - ``effects``: Effects of these plies under each rule set; None where a ply is not legal.
    """

    position: Position
    line: tuple[Move, ...] | None
    moves: tuple[Move, ...]
    effects: tuple[tuple[Effect | None, ...], tuple[Effect | None, ...]]


@dataclass(slots=True)
class Differences:
    """The differences found, and the extent of the search.

    - ``found``: The earliest difference of each kind from the start, followed by those with few men.
    - ``plies``: Number of the last ply whose positions were all compared; -1 if not even the start was compared.
    - ``compared``, ``drawn``: Number of positions compared from the start, and number of random placements.
    - ``stopped``: Reason why the search from the start ended early; empty if it did not.
    """

    found: list[Difference] = field(default_factory=list)
    plies: int = -1
    compared: int = 0
    drawn: int = 0
    stopped: str = ""


class _Compared(NamedTuple):
    """Result of comparing positions: the plies with different effects, the kinds of difference, and the children.

    Only children that are the same under both rule sets are listed.
    """

    plies: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    words: NDArray[np.uint64]
    ways: NDArray[np.int64]


def differences(
    a: Variant, b: Variant, observer: Observer, *, plies: int, most: int, samples: int, seed: int = 0
) -> Differences:
    """Find differences between two rule sets for boards of the same size, from the start and in random placements."""
    if a.size != b.size:
        raise InputError(f"have boards of sides {a.size} and {b.size}", subject=f"variants {a.name!r} and {b.name!r}")
    pair, result = _Pair(a, b), Differences()
    pair.from_start(result, plies, most, observer)
    pair.with_few_men(result, samples, Random(seed), observer)
    return result


def _size(position: Position) -> tuple[int, str]:
    return sum(position.material), str(position)


class _Pair:
    """Two rule sets to be compared."""

    def __init__(self, a: Variant, b: Variant) -> None:
        self.variants = (a, b)
        self.engines: tuple[Engine, Engine] = (engine_for(a), engine_for(b))
        self.games = (NaiveGame(a), NaiveGame(b))
        self.size = a.size
        region, other = a.regions, b.regions
        # Cells where the king (in an undecided position) and the soldiers may stand under both rule sets.
        self._kings = region.king_cells & other.king_cells - region.escapes - other.escapes
        free = region.free_cells & other.free_cells
        self._men = {"b": free | (region.camp_cells & other.camp_cells), "w": free}

    # -- from the start ------------------------------------------------------------------

    def from_start(self, result: Differences, plies: int, most: int, observer: Observer) -> None:
        """Compare all positions ply by ply, and stop after the first ply that has differences."""
        a, b = self.variants
        start = Position.parse(a.start_position, self.size)
        if not self._is_possible(start):
            result.stopped = f"the start of {a.name} is not a position of {b.name}"
            return
        group = tuple(symmetry for symmetry in a.start_symmetries if symmetry in b.start_symmetries)
        words, ways = self.engines[0].words(start), [np.zeros(1, dtype=np.int64)]
        for ply in range(plies + 1):
            observer.begin(f"ply {ply}", len(words))
            differing: list[tuple[int, Kind]] = []
            merged: tuple[NDArray[np.uint64], ...] | None = None
            last = ply == plies
            for first in range(0, len(words), _CHUNK):
                chunk = words[first : first + _CHUNK]
                compared = self.compare(chunk)
                base = first << _SHIFT
                differing += [
                    (int(key) + base, tuple(kind.tolist()))
                    for key, kind in zip(compared.plies, compared.kinds, strict=True)
                ]
                observer.advance(len(chunk))
                if not last and not differing:
                    merged = self._merged(merged, compared, base, group)
                    if len(merged[0]) > most:
                        result.stopped = f"ply {ply + 1} has more than {most:,} positions"
                        last = True
            result.plies, result.compared = ply, result.compared + len(words)
            if differing:
                for key, _ in {kind: (key, kind) for key, kind in reversed(differing)}.values():
                    row, code = divmod(key, 1 << _SHIFT)
                    line, move = self._line(ways, row), Move.from_code(code, self.size)
                    result.found.append(self._difference(self._position(words[row]), line, move))
                return
            if last or merged is None:
                return
            words = merged[1]
            ways.append(merged[2].astype(np.int64))

    def _merged(
        self,
        before: tuple[NDArray[np.uint64], ...] | None,
        compared: _Compared,
        base: int,
        group: tuple[Symmetry, ...],
    ) -> tuple[NDArray[np.uint64], ...]:
        """Merge the children found by a comparison into the earlier ones, keeping one for each symmetry class."""
        canonical = self.engines[0].canonical(compared.words, group)[0]
        now = (canonical, compared.words, (compared.ways + base).astype(np.uint64))
        parts = now if before is None else tuple(np.concatenate(pair) for pair in zip(before, now, strict=True))
        first = np.unique(parts[0], axis=0, return_index=True)[1]
        return tuple(part[first] for part in parts)

    def _line(self, ways: list[NDArray[np.int64]], row: int) -> tuple[Move, ...]:
        line = []
        for found in reversed(ways[1:]):
            row, code = divmod(int(found[row]), 1 << _SHIFT)
            line.append(Move.from_code(code, self.size))
        return tuple(reversed(line))

    # -- with few men --------------------------------------------------------------------

    def with_few_men(self, result: Differences, samples: int, rng: Random, observer: Observer) -> None:
        """Draw random placements, and remove men from those where the rule sets differ."""
        kinds: dict[Kind, list[tuple[int, Move, Position]]] = defaultdict(list)
        observer.begin("placements", samples)
        while result.drawn < samples:
            drawn = [self._placement(rng) for _ in range(min(_CHUNK, samples - result.drawn))]
            result.drawn += len(drawn)
            positions = [position for position in drawn if position is not None]
            compared = self.compare(self.engines[0].words(positions))
            for key, kind in zip(compared.plies.tolist(), compared.kinds.tolist(), strict=True):
                row, code = divmod(key, 1 << _SHIFT)
                if any(kind[2:]) and NO_ATTACKERS in kind[:2]:
                    continue  # the same difference also occurs in placements where attackers remain
                men = sum(positions[row].material)
                kinds[tuple(kind)].append((men, Move.from_code(code, self.size), positions[row]))
            for found in kinds.values():
                found.sort(key=lambda candidate: candidate[0])
                del found[8 * _TRIED :]
            observer.advance(len(drawn))
        smallest: dict[Position, Move] = {}
        for kind, candidates in sorted(kinds.items()):
            possible = [one for one in candidates if self._is_possible(one[2])][:_TRIED]
            left = [(self._without_men(position, move, kind), move) for _, move, position in possible]
            if left:
                position, move = min(left, key=lambda one: _size(one[0]))
                smallest.setdefault(position, move)
        result.found += [
            self._difference(position, None, smallest[position]) for position in sorted(smallest, key=_size)
        ]

    def _placement(self, rng: Random) -> Position | None:
        """Return a random placement with the men close together, or None if it lacks a king or an attacker."""
        size, (a, b) = self.size, self.variants
        width, height = (rng.randint(2, min(size, _EDGE)) for _ in range(2))
        file, rank = (rng.choice((0, rng.randint(0, size - side), size - side)) for side in (width, height))
        area = [(rank + y) * size + file + x for y in range(height) for x in range(width)]
        homes = [cell for cell in area if cell in self._kings]
        if not homes:
            return None
        cells = ["."] * (size * size)
        full, black = rng.choice((0.3, 0.6, 0.9)), rng.choice((0.1, 0.3, 0.5, 0.7, 0.9))
        left = {"b": min(a.attackers, b.attackers), "w": min(a.defenders, b.defenders)}
        for cell in (*rng.sample(area, len(area)), *rng.choices(range(size * size), k=rng.randint(1, 3))):
            piece = "b" if rng.random() < black else "w"
            if rng.random() < full and cells[cell] == "." and left[piece] and cell in self._men[piece]:
                left[piece] -= 1
                cells[cell] = piece
        cells[rng.choice(homes)] = "K"
        return Position("".join(cells), rng.choice("wb")) if "b" in cells else None  # type: ignore[arg-type]

    def _without_men(self, position: Position, move: Move, kind: Kind) -> Position:
        """Remove men as long as the ply still shows the same kind of difference."""
        removed = True
        while removed:
            removed = False
            for cell, piece in enumerate(position.cells):
                if piece not in "bw" or cell == move.start:
                    continue
                without = Position(f"{position.cells[:cell]}.{position.cells[cell + 1 :]}", position.side)
                if self._kinds(without).get(move.code) == kind and self._is_possible(without):
                    position, removed = without, True
        return position

    # -- comparing positions --------------------------------------------------------------

    def compare(self, words: NDArray[np.uint64]) -> _Compared:
        """Compare all plies of the given positions under both rule sets."""
        a, b = (engine.expand(words) for engine in self.engines)
        ways = (a.parents << _SHIFT | a.moves, b.parents << _SHIFT | b.moves)
        both, in_a, in_b = np.intersect1d(ways[0], ways[1], assume_unique=True, return_indices=True)
        words_a, words_b = a.words[in_a], b.words[in_b]
        kinds = np.zeros((len(both), 4), dtype=np.uint8)
        kinds[:, 0], kinds[:, 1] = a.outcomes[in_a], b.outcomes[in_b]
        # A soldier that is captured under only one rule set is still present in the words of the other.
        for column, only in ((2, words_b & ~words_a), (3, words_a & ~words_b)):
            kinds[:, column] = np.minimum(np.bitwise_count(only).sum(axis=1), 2)
        same = (kinds[:, 0] == kinds[:, 1]) & ~kinds[:, 2:].any(axis=1)
        goes_on = same & (kinds[:, 0] == 0)
        # An outcome that both rule sets agree on is not part of the difference.
        kinds[kinds[:, 0] == kinds[:, 1], :2] = 0
        alone = [np.setdiff1d(mine, both, assume_unique=True) for mine in ways]
        plies = np.concatenate([both[~same], *alone])
        legal = [[0, _NOT_LEGAL, 0, 0]] * len(alone[0]) + [[_NOT_LEGAL, 0, 0, 0]] * len(alone[1])
        found = np.concatenate([kinds[~same], np.array(legal, dtype=np.uint8).reshape(-1, 4)])
        order = np.argsort(plies)
        return _Compared(plies[order], found[order], words_a[goes_on], both[goes_on])

    def _kinds(self, position: Position) -> dict[int, Kind]:
        compared = self.compare(self.engines[0].words(position))
        return dict(zip(compared.plies.tolist(), map(tuple, compared.kinds.tolist()), strict=True))

    def _is_possible(self, position: Position) -> bool:
        """Return whether a position is possible under both rule sets and not already decided by its placement."""
        cells, king = position.cells, position.cells.index("K")
        around = [cells[near] for near in self.variants[0].regions.neighbours(king)]
        if around == ["b"] * 4 or any(position_status(variant, position) for variant in self.variants):
            return False
        board = self.engines[0].board(cells, position.side)
        if not all(engine.count_moves(board, side) for engine in self.engines for side in (0, 1)):
            return False
        on_edge = not {0, self.size - 1}.isdisjoint(divmod(king, self.size))
        for game in self.games:
            placed = game.read(str(position))
            if king in game.variant.regions.escapes:
                return False
            if game.rules.encirclement != "none" and game.is_encircled(placed):
                return False
            if game.rules.fort != "none" and on_edge and game.is_fort(placed):
                return False
        return True

    def _position(self, words: NDArray[np.uint64]) -> Position:
        cells, side = self.engines[0].cells(self.engines[0].boards(words[None])[0])
        return Position(cells, "w" if side == "w" else "b")

    def _difference(self, position: Position, line: tuple[Move, ...] | None, first: Move) -> Difference:
        codes = sorted(self._kinds(position), key=lambda code: (code != first.code, code))
        return Difference(
            position,
            line,
            tuple(Move.from_code(code, self.size) for code in codes),
            (self._effects(0, position, codes), self._effects(1, position, codes)),
        )

    def _effects(self, which: int, position: Position, codes: Sequence[int]) -> tuple[Effect | None, ...]:
        engine = self.engines[which]
        legal = set(engine.legal_moves(engine.board(position.cells, position.side)).tolist())
        effects: list[Effect | None] = []
        for code in codes:
            board = engine.board(position.cells, position.side)
            undo, outcome = engine.make(board, code) if code in legal else (0, 0)
            effects.append(Effect(engine.captured(undo), OUTCOMES[outcome]) if code in legal else None)
        return tuple(effects)
