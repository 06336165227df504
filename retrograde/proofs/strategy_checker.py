"""An independent checker for proofs, in plain Python. The checker uses `tablut.rules.naive`, and no search code.

The checker reads a strategy (see `retrograde.proofs.certificate`) block by block. Each position must have a legal move
that leads to a win against every reply by the loser. After the reply, either the winner has a move that wins
immediately, or the strategy contains the position (or an image of it under the rules' symmetries) with no more plies
than are left. Since the number of plies falls with every ply, every game ends and none repeats a position. So rules on
repetition do not matter. The number in the header is at most the number of plies left in the game, so the move limit
does not matter either. An accepted file is a proof, whatever program wrote it. docs/proofs.md gives the exact
definition.

A hash divides the positions that a block contains and the positions that it needs into groups, called shares. The
shares are then processed one after the other. Every position that is needed in a share must also be contained in that
share. The check therefore needs memory only for one block and one share at a time, and several processes can check
blocks. If the file has no line for a position, the position may belong to a tablebase table that the file names. In
this case the table is consulted. In a deep check, the table's moves are also played, and are checked like lines.

A claim that a side never loses is checked in the same way, except that the number of plies does not fall. Play that
follows the strategy may therefore go on forever. The rules on repetition then matter, and must not make that side lose.

The check shows *within* how many plies the side wins. The upper bounds in the header and the lines may be far too
large, because a search records the number of plies that is known when it finds a move. While the checker reads the
lines, it therefore computes the length of the longest game under the strategy. Lines with fewer plies come first, so
the lengths of the games from all positions that the loser can reach are already known.

A strategy cannot show that there is no shorter win. To find a lower bound on the length, the checker tries an
exhaustive search, also in plain Python and limited to a maximum number of moves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain
from operator import getitem
from struct import Struct
from typing import Any, Literal, NamedTuple
from zlib import crc32

from retrograde.proofs.certificate import ProofCertificate, entries_of
from retrograde.tablebase.probing import Tablebase
from tablut.errors import InputError
from tablut.position import Position
from tablut.prober import rated_moves, unlimited_board
from tablut.results import Result
from tablut.rules.naive import DIRECTIONS, Cell, NaiveGame, NaiveMove, NaivePosition
from tablut.variants import Variant, VariantLike, as_variant
from tablut.work.clocks import wall_clock
from tablut.work.files import excerpt
from tablut.work.run import LocalScheduler, Scheduler

_LONGEST_MOVE = 7
_SHARE = 250_000
"""Approximate number of positions of the strategy in one share."""
_SPOOL = 16 << 20
"""Number of bytes of a share that are kept in memory before the share is written to a temporary file."""
_COUNTED = 2_000_000
"""Maximum number of positions of a strategy whose longest game is computed. A position takes about 150 bytes."""
_DIGITS = ".bwK"
_FOURS = ["".join(_DIGITS[value >> shift & 3] for shift in (6, 4, 2, 0)) for value in range(256)]
"""For each value of a byte, the contents of the four cells that it encodes."""


class CheckedProof(Result):
    """Result of checking a proof.

    ``within`` is the length, in plies, of the longest game that follows the strategy. If the strategy ends in tables,
    is very long, or does not list the lines with the fewest plies first, this length cannot be computed. ``within`` is
    then the number claimed in the header.
    """

    proved: bool
    within: int | None
    failures: list[str]
    positions: int
    distance: Literal["exact", "at most"] | None
    shorter: int | None
    excluded: int
    unused: int
    in_tables: int
    seconds: float
    positions_per_second: int


class _SpentError(Exception):
    """Raised when the search for a shorter win exceeds its limit on the number of plies."""


class _Open(NamedTuple):
    """A position in the search for a shorter win, and the moves that have not been tried yet."""

    position: NaivePosition
    moves: Iterator[NaiveMove]
    left: int
    mine: bool


class CheckTask(NamedTuple):
    """A task that checks lines of a strategy, or that checks whether a share contains all the positions needed."""

    variant: Variant
    winner: str
    falls: bool
    number: int = 0
    lines: list[str] | None = None
    has: bytes = b""
    needs: bytes = b""
    shares: int = 1


class SymmetricGame(NaiveGame):
    """The rules in plain Python, and a key for each position that is the same for all its symmetric images."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self._cells = [(cell % self.size, cell // self.size) for cell in range(self.size**2)]
        self.width = (self.size**2 + 3) // 4
        # A placement is encoded as a number that consists of all its images. The table contains the summand that each
        # piece on each cell contributes to this number.
        self._adds = dict[tuple[tuple[int, int], str], int]()
        for number, cell in enumerate(self._cells):
            places = (self.size**2 - 1 - image.table.index(number) for image in variant.symmetries)
            soldier = sum(1 << 8 * self.width * at + 2 * place for at, place in enumerate(places))
            self._adds |= {(cell, letter): digit * soldier for digit, letter in enumerate(_DIGITS) if digit}
        ends = [self._cells[max(0, end - 4) : end] for end in range(len(self._cells), 0, -4)][::-1]
        # For each byte of a key and each value of that byte, the pieces on the cells that the byte encodes.
        self._contents = [
            [tuple(pair for pair in zip(cells, four[-len(cells) :], strict=True) if pair[1] != ".") for four in _FOURS]
            for cells in ends
        ]
        self._images = Struct(f"{self.width}s" * len(variant.symmetries))

    def key(self, position: NaivePosition) -> bytes:
        """Return a key that is the same for a placement and its images, and different for any other placement."""
        number = sum(map(self._adds.__getitem__, position.pieces.items()))
        images: tuple[bytes, ...] = self._images.unpack(number.to_bytes(self._images.size, "big"))
        return min(images)

    def placed(self, key: bytes, side: str) -> NaivePosition:
        """Return the position with a given key and side to move."""
        return NaivePosition(dict(chain.from_iterable(map(getitem, self._contents, key))), side)

    def fault(self, position: NaivePosition) -> str | None:
        """Return the reason why no game can continue from a placement, or None if a game can continue."""
        pieces = list(position.pieces.values())
        if pieces.count("K") != 1:
            return f"has {pieces.count('K')} kings, so no game continues from it"
        for cell, piece in position.pieces.items():
            letter = self.terrain[cell]
            if (piece != "K" and letter in "TX") or (piece != "b" and letter in "ABCD"):
                return "has a piece on a forbidden cell, so no game continues from it"
        if self.terrain[position.king()] in "*X":
            return "the game is over, the king has escaped"
        return "the game is over, black has no soldier" if "b" not in pieces else None

    def stops(self, position: NaivePosition, winner: str) -> tuple[set[Cell], set[Cell]]:
        """Return the cells on which a black soldier blocks all of the king's escapes, and the target cells to examine.

        If black moves to a cell outside the first set, the king still has an open slide to an escape. White therefore
        has a legal move, and wins immediately. The second set consists of the first set and the cells next to the king.
        A black move to any other cell cannot capture the king either, and need not be examined. Both sets contain all
        cells if no escape is open, if an escape need not win immediately, or if black is the winner.
        """
        king, cells = position.king(), set(self.terrain)
        for file, rank in DIRECTIONS if winner == "white" and self.rules.no_moves != "either_after_ply" else ():
            for cell in self._slide(position, king, (file, rank)):
                if self.terrain[cell] in "*X" and self._on_edge(cell):
                    count = abs(cell[0] - king[0] + cell[1] - king[1])
                    cells &= {(king[0] + file * step, king[1] + rank * step) for step in range(1, count + 1)}
        return cells, cells.union(self._near[king])

    def wins_at_once(self, key: bytes, winner: str) -> bool:
        """Return whether the side to move can win in one ply.

        Such a ply ends the game or leaves the other side without a legal move.
        """
        position = self.placed(key, winner[0])
        made = (self.apply(position, move) for move in self.moves(position))
        return any(end.winner == winner if end else self._is_stuck(after, after.side) for after, _, end in made)


_game_of = lru_cache(2)(SymmetricGame)


class _BlockCheck:
    """The check of one block: the failures found, and the positions that the block contains and needs.

    ``falls`` is True if the number of plies must fall, as it must in a proof of a win.
    """

    def __init__(self, variant: Variant, winner: str, falls: bool) -> None:
        self.game, self.winner, self._ply = _game_of(variant), winner, int(falls)
        self.failures: list[str] = []
        self.has: dict[bytes, int] = {}
        self.needs: dict[bytes, int] = {}
        self.positions = 0
        # For positions with the loser to move, by key: the least number of plies that a win takes, and the keys of the
        # next positions. Each next position must have a line in the strategy or an immediate win.
        self._after: dict[bytes, tuple[int, list[bytes]]] = {}
        self.ways: list[tuple[bytes, int, int, list[bytes]]] = []
        """For each line, the key and plies of its position, and the value of `_after` for the position after its move.
        """

    def winners_turn(self, name: str, plies: int, text: str) -> None:
        """Check a position in the strategy, and all replies to its move."""
        self.positions += 1
        try:
            position = self.game.read(name)
        except InputError as error:
            self.failures.append(str(error))
            return
        fault = self.game.fault(position) or ("" if position.side == self.winner[0] else "the winner is not to move")
        try:
            move = None if fault or len(text) > _LONGEST_MOVE else self.game.parse_move(text)
        except InputError:
            move = None
        if move is None or move not in self.game.moves(position):
            self.failures.append(f"'{name}': {fault or excerpt(text) + ' is not legal'}")
            return
        key = self.game.key(position)
        self.has[key] = min(plies, self.has.get(key, plies))
        result = self.game.apply(position, move)
        after: tuple[int, list[bytes]] = 0, []
        if result.outcome is None:
            after = self.losers_turn(result.position, plies - self._ply)
        elif result.outcome.winner != self.winner:
            self.failures.append(f"'{name}': after {text} {result.outcome.winner} has won")
        self.ways.append((key, plies, *after))

    def losers_turn(self, position: NaivePosition, left: int) -> tuple[int, list[bytes]]:
        """Record and return the positions that the strategy must contain because the loser can move to them.

        If the loser has no legal move, the game is won.
        """
        own = self.game.key(position)
        if own not in self._after:
            moves, keys = list(self.game.moves(position)), []
            stops, looked_at = self.game.stops(position, self.winner)
            looked = [move for move in moves if move[1] in looked_at]
            continues = len(looked) < len(moves)
            for move in looked:
                result = self.game.apply(position, move)
                if result.outcome is None:
                    continues = True
                    if move[1] in stops:
                        keys.append(self.game.key(result.position))
                elif result.outcome.winner != self.winner:
                    name, made = self.game.write(position), self.game.move_name(move)
                    self.failures.append(f"'{name}': after {made} {result.outcome.winner} has won")
            self.positions += 1 + len(looked) - len(keys)
            self._after[own] = self._ply * (bool(moves) + continues), keys
        takes, after = self._after[own]
        if left < takes:
            self.failures.append(f"'{self.game.write(position)}': the loser is to move, but only {left} plies are left")
        needs, least = self.needs, left - self._ply
        for key in after:
            if least < needs.get(key, left + 1):
                needs[key] = least
        return self._after[own]

    def results(self, shares: int, number: int = 0) -> _BlockResult:
        """Return the check's results."""
        has, needs = _parts(self.has, shares), _parts(self.needs, shares)
        return _BlockResult(number, self.failures, self.positions, self.ways, has, needs)


class _BlockResult(NamedTuple):
    """The results for a block of lines, with records of the contained and of the needed positions by share."""

    number: int
    failures: list[str]
    positions: int
    ways: list[tuple[bytes, int, int, list[bytes]]]
    has: list[bytes]
    needs: list[bytes]


class _ShareResult(NamedTuple):
    """The results for a share: the needed positions that it lacks, each with its plies, and its unused lines."""

    missing: list[tuple[bytes, int, int | None]]
    positions: int
    unused: int


def _check_block(task: CheckTask) -> _BlockResult:
    block = _BlockCheck(task.variant, task.winner, task.falls)
    for entry in entries_of(task.number, task.lines or [], falls=task.falls):
        block.winners_turn(*entry)
    return block.results(task.shares, task.number)


def _check_share(task: CheckTask) -> _ShareResult:
    block = _BlockCheck(task.variant, task.winner, task.falls)
    has, needs = (_least(content, block.game.width) for content in (task.has, task.needs))
    missing: list[tuple[bytes, int, int | None]] = []
    for key, left in needs.items():
        plies = has.get(key)
        block.positions += plies is None
        # No line is needed for a position where a move wins immediately.
        if (plies is None or plies > left) and not (left >= task.falls and block.game.wins_at_once(key, task.winner)):
            missing.append((key, left, plies))
    return _ShareResult(missing, block.positions, len(has.keys() - needs.keys()))


def _parts(plies_by_key: dict[bytes, int], shares: int) -> list[bytes]:
    """Return one byte string for each share. It contains a record of each key and its plies."""
    parts: list[list[bytes]] = [[] for _ in range(shares)]
    for key, plies in plies_by_key.items():
        # Negative numbers of plies become 0, which does not occur in any line.
        parts[crc32(key) % shares].append(key + max(0, plies).to_bytes(2, "big"))
    return list(map(b"".join, parts))


def _least(content: bytes, width: int) -> dict[bytes, int]:
    """Return the least number of plies for each key, from records of keys and plies."""
    least: dict[bytes, int] = {}
    for at in range(0, len(content), width + 2):
        key, plies = content[at : at + width], int.from_bytes(content[at + width : at + width + 2], "big")
        if plies < least.get(key, plies + 1):
            least[key] = plies
    return least


class StrategyCheck:
    """The check of one strategy. `result` can be called at any time to get the current state."""

    def __init__(
        self,
        variant: VariantLike,
        proof: ProofCertificate,
        *,
        most_plies: int = 20_000,
        most_failures: int = 10,
        scheduler: Scheduler | None = None,
        tablebase: Tablebase | None = None,
        deep: bool = False,
    ) -> None:
        self.variant = as_variant(variant)
        self.game = _game_of(self.variant)
        self.proof, self.winner, self.plies = proof, proof.winner, proof.plies or 0
        self.falls = proof.plies is not None
        if not self.falls and not self.variant.rules.repetition.spares(self.winner):
            raise InputError(
                f"cannot be proved, because a repetition can decide a game of {self.variant.name}",
                subject=f"that {self.winner} never loses",
            )
        self.most_plies, self.most_failures = most_plies, most_failures
        self.scheduler, self.tablebase, self.deep = scheduler or LocalScheduler(1), tablebase, deep
        self.root = self._playable(proof.position)
        limit = self.variant.rules.move_limit
        self.plies_left = limit if proof.plies_left is None else proof.plies_left
        if self.plies_left is not None and not 0 <= self.plies_left <= (self.plies_left if limit is None else limit):
            raise InputError(
                f"must be from 0 to {limit} in a game of {self.variant.name}", subject=f"{self.plies_left} plies left"
            )
        self._check_tables()
        self.failures: list[str] = []
        self.plies_made = self.positions = self.unused = 0
        self.excluded = -1
        self.shorter: int | None = None
        self.within = proof.plies
        # The length of the longest game from each position in the strategy, by the position's key.
        self.longest = dict[bytes, int]()
        """Length of the longest game from each position with the winner to move, if lengths are computed."""
        # Whether these lengths are computed. Otherwise, `within` is the number claimed in the header.
        self.counts = self.falls and not proof.tables and len(proof.strategy) <= _COUNTED
        self._ways, self._line, self._fewest = dict[int, list[tuple[bytes, int, int, list[bytes]]]](), 2, 0
        self.proved = self.finished = False
        self._began, self._seconds = wall_clock(), 0.0
        # The number of plies that a win takes from each position found in a table, by the position's key.
        self._tabled: dict[bytes, int] = {}

    def _check_tables(self) -> None:
        """Raise `InputError` unless the tablebase contains every table listed in the file, with the same digest."""
        for name, digest in self.proof.tables.items():
            if self.tablebase is None:
                raise InputError(f"the proof ends in the table {name}", remedy="give the tablebase that contains it")
            store, (attackers, defenders) = self.tablebase.store, map(int, name.split("v"))
            if not store.has(attackers, defenders) or store.tier(attackers, defenders).record.digest != digest:
                raise InputError(f"the proof ends in the table {name}, which is not in {str(store.root)!r}")

    def _playable(self, text: str) -> NaivePosition:
        """Return the root position.

        Raise `InputError` if the game is already over in this position or a piece stands on a forbidden cell.
        """
        root = self.game.read(text)
        subject = f"position {excerpt(text)}"
        if self.game.write(root) != text:
            raise InputError(f"is not in the form used by proofs, {self.game.write(root)!r}", subject=subject)
        if (fault := self.game.fault(root)) is not None:
            raise InputError(fault, subject=subject)
        if self.game.rules.no_moves == "either_after_ply":
            for side in ("white", "black"):
                if not self.game.legal_moves(root, side[0]):
                    raise InputError(f"the game is over, {side} has no move", subject=subject)
        return root

    def run(self) -> CheckedProof:
        """Check the strategy, then search for a shorter win."""
        self._walk()
        self._seconds = wall_clock() - self._began
        self.proved = not self.failures
        if self.proved:
            try:
                for fewer in range(self.plies):
                    if self.wins_within(self.root, fewer):
                        self.shorter = fewer
                        break
                    self.excluded = fewer
            except _SpentError:
                # Exceeding the limit is not an error: the result then contains only the lower bound that the search has
                # shown.
                pass
        self.finished = True
        return self.result()

    def result(self) -> CheckedProof:
        """Return the result so far."""
        exact = self.finished and not self.failures and self.excluded == self.plies - 1
        seconds = self._seconds or wall_clock() - self._began
        return CheckedProof(
            proved=self.proved,
            within=self.within if self.proved else None,
            failures=self.failures[: self.most_failures],
            positions=self.positions,
            distance=None if not self.falls else "exact" if exact else "at most",
            shorter=self.shorter,
            excluded=self.excluded,
            unused=self.unused,
            in_tables=len(self._tabled),
            seconds=round(seconds, 3),
            positions_per_second=round(self.positions / max(seconds, 1e-3)),
        )

    # -- the strategy ------------------------------------------------------------------

    def _walk(self) -> None:
        """Check every block, then check that the strategy contains every position that the blocks need."""
        if self.plies_left is not None and self.plies > self.plies_left:
            self.failures.append(f"a win takes {self.plies} plies, but the game is drawn after {self.plies_left}")
        root = _BlockCheck(self.variant, self.winner, self.falls)
        mine, own = self.root.side == self.winner[0], self.game.key(self.root)
        if mine:
            root.needs[own] = self.plies
        begins = (2, [own]) if mine else root.losers_turn(self.root, self.plies)
        with ExitStack() as stack:
            self._shares = [
                [stack.enter_context(tempfile.SpooledTemporaryFile(_SPOOL)) for _ in range(2)]
                for _ in range(1 + len(self.proof.strategy) // _SHARE)
            ]
            count = len(self._shares)
            self._take(root.results(count))
            about = self.variant, self.winner, self.falls
            lines = (CheckTask(*about, *block, shares=count) for block in self.proof.blocks())
            self.scheduler.feed(_check_block, lambda: self._next(lines), self._take)
            if self.counts:
                self.within = self._left(*begins) - mine
            shares = (CheckTask(*about, has=_content(has), needs=_content(needs)) for has, needs in self._shares)
            self.scheduler.feed(_check_share, lambda: self._next(shares), self._compare)

    def _next(self, tasks: Iterator[CheckTask]) -> CheckTask | None:
        return next(tasks, None) if len(self.failures) < self.most_failures else None

    def _take(self, result: _BlockResult) -> None:
        """Add a block's contained and needed positions to the shares, and update the longest games' lengths."""
        self.failures += result.failures
        self.positions += result.positions
        for has, needs, share in zip(result.has, result.needs, self._shares, strict=True):
            share[0].write(has)
            share[1].write(needs)
        if self.counts and not self.failures:
            self._ways[result.number] = result.ways
        # Lines with fewer plies come first, so the lengths after a line's move are already known. If the lines are in
        # another order, the result is the number claimed in the header.
        while self.counts and (ways := self._ways.pop(self._line, None)):
            self._line += len(ways)
            for key, plies, takes, after in ways:
                self.counts &= plies >= self._fewest
                own = 1 + self._left(takes, after)
                self.longest[key], self._fewest = min(own, self.longest.get(key, own)), plies

    def _left(self, takes: int, keys: list[bytes]) -> int:
        """Return the length of the longest game from a position with the loser to move.

        Positions without a line in the file are won in one ply.
        """
        return takes if takes < 2 else 1 + max((self.longest.get(key, 1) for key in keys), default=1)

    def _compare(self, result: _ShareResult) -> None:
        """Look up missing positions in the tables. In a deep check, also play and check the tables' moves."""
        self.positions += result.positions
        self.unused += result.unused
        waiting = result.missing
        while waiting and len(self.failures) < self.most_failures:
            key, left, plies = waiting.pop()
            position = self.game.placed(key, self.winner[0])
            text, fresh = self.game.write(position), key not in self._tabled
            if plies is None and self.tablebase is not None:
                plies = self._tabled.get(key) or self._value(text)
            if plies is None or plies > left:
                takes = "the strategy has no move" if plies is None else f"takes {plies} plies, but {left} are left"
                self.failures.append(f"'{text}': {takes}")
            elif fresh:
                self._tabled[key] = plies
                if self.deep and plies != 1:
                    block = _BlockCheck(self.variant, self.winner, self.falls)
                    block.winners_turn(text, plies, self._best(text))
                    self.failures += block.failures
                    self.positions += block.positions
                    waiting += [(after, needs, None) for after, needs in block.needs.items()]

    def _value(self, text: str) -> int | None:
        """Return how many plies a win takes according to a table that the file names.

        If the number of plies need not fall, the position only has to be not lost, and the result is 0. If no table
        proves the win, or that the position is not lost, the result is None.
        """
        position = Position.parse(text, self.game.size)
        if "v".join(map(str, position.material)) not in self.proof.tables or self.tablebase is None:
            return None
        value = self.tablebase.stored_value(position)
        return (value if self.falls else 0) if value >= self.falls else None

    def _best(self, text: str) -> str:
        table = self.tablebase
        assert table is not None
        board = unlimited_board(self.variant, Position.parse(text, self.game.size))
        return str(rated_moves(board, lambda after: table.stored_value(after.position))[0].move)

    # -- the lower bound ---------------------------------------------------------------

    def wins_within(self, root: NaivePosition, plies: int) -> bool:
        """Return whether the winner wins within ``plies`` plies. The search is exhaustive and ignores repetitions.

        This method is the plain Python counterpart of `retrograde.proofs.win_search.WinSearch.within`.
        """
        stack: list[_Open] = []
        value = self._opened(root, plies)
        while True:
            if isinstance(value, _Open):
                stack.append(value)
            elif not stack:
                return value
            elif value == stack[-1].mine:
                # The side to move has reached its goal.
                stack.pop()
                continue
            top = stack[-1]
            move = next(top.moves, None)
            if move is None:
                value = not stack.pop().mine
                continue
            self.plies_made += 1
            if self.plies_made > self.most_plies:
                raise _SpentError
            result = self.game.apply(top.position, move)
            if result.outcome is not None:
                value = result.outcome.winner == self.winner
            else:
                value = self._opened(result.position, top.left - 1)

    def _opened(self, position: NaivePosition, plies: int) -> bool | _Open:
        """Return whether the winner wins if this is clear without a search, and otherwise the position to search."""
        moves = self.game.legal_moves(position)
        mine = position.side == self.winner[0]
        if not moves:
            return not mine
        return _Open(position, iter(moves), plies, mine) if plies > 0 else False


def _content(share: Any) -> bytes:
    share.seek(0)
    return bytes(share.read())
