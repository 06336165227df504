"""The independent checker of proofs: plain Python, the rules of `tablut.rules.naive` and nothing of the search.

It takes a strategy (see `retrograde.proofs.certificate`) block by block. Each of its
positions must have a legal move after which, whatever the loser answers, the winner has
a move that wins at once, or the strategy has the position that arises, or an image of it
under the symmetries of the rules, with a number of plies that is enough. As the numbers
fall with every ply, no play lasts for ever and none meets a position twice, so that no
rule on repetition has a say; and as the first of them fits into the plies that are left,
neither has the move limit. What is accepted is a proof, whatever wrote the file.
docs/proofs.md has the definition.

What a block has and what it needs goes, by a hash of the position, into shares that are
compared one after the other. So the memory is that of one block and one share, and the
blocks can be checked by several processes. A position that no line has may be one of a
table that the file names: then that table is asked, or, if the check is deep, played out
by its own moves and checked like the lines.

That a side never loses is checked in the same way, but that no number falls: play by the
strategy may last for ever. So there the rules on repetition have a say, and must not cost that side the game.

That shows *within* how many plies the side wins. The header and the lines give upper bounds, which
may be far too large: a search notes what it knows when it finds a move. The longest play by the strategy
is counted while the lines are read, because they come with the fewest plies first: every position to which
the loser can reply has been counted before.

That a win takes no less is another claim, which a strategy cannot show; it is tried by exhaustive search, in
plain Python too, as far as a number of plies made allows.
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
from retrograde.tablebase.probing import Tablebase, unlimited_board
from tablut.errors import InputError
from tablut.position import Position
from tablut.results import Result
from tablut.rules.naive import DIRECTIONS, Cell, NaiveGame, NaiveMove, NaivePosition
from tablut.running.clocks import wall_clock
from tablut.running.scheduling import LocalScheduler, Scheduler
from tablut.store.files import excerpt
from tablut.variants import Variant, VariantLike, as_variant

_LONGEST_MOVE = 7
_SHARE = 250_000
"""Positions of the strategy that are compared at a time, about."""
_SPOOL = 16 << 20
"""Bytes of a share that are kept in memory."""
_COUNTED = 2_000_000
"""Most positions of a strategy whose longest play is counted; each takes about 150 bytes of memory."""
_DIGITS = ".bwK"
_FOURS = ["".join(_DIGITS[value >> shift & 3] for shift in (6, 4, 2, 0)) for value in range(256)]
"""The four cells of a byte."""


class CheckedProof(Result):
    """What the checker found.

    ``within`` is the length of the longest play by the strategy. It is what the header claims if the plies cannot be
    counted: where the strategy ends in tables, is very long, or does not list the fewest plies first.
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
    """The plies allowed for the lower bound are made."""


class _Open(NamedTuple):
    """A position of the search for a shorter win, some of whose moves are still to be tried."""

    position: NaivePosition
    moves: Iterator[NaiveMove]
    left: int
    mine: bool


class CheckTask(NamedTuple):
    """Lines of a strategy to be checked; or, without lines, what it has and needs to be compared."""

    variant: Variant
    winner: str
    falls: bool
    number: int = 0
    lines: list[str] | None = None
    has: bytes = b""
    needs: bytes = b""
    shares: int = 1


class SymmetricGame(NaiveGame):
    """The plain rules, and positions up to their symmetries."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self._cells = [(cell % self.size, cell // self.size) for cell in range(self.size**2)]
        self.width = (self.size**2 + 3) // 4
        # What a piece adds to the number that has all images of a placement as its digits.
        self._adds = dict[tuple[tuple[int, int], str], int]()
        for number, cell in enumerate(self._cells):
            places = (self.size**2 - 1 - image.table.index(number) for image in variant.symmetries)
            soldier = sum(1 << 8 * self.width * at + 2 * place for at, place in enumerate(places))
            self._adds |= {(cell, letter): digit * soldier for digit, letter in enumerate(_DIGITS) if digit}
        ends = [self._cells[max(0, end - 4) : end] for end in range(len(self._cells), 0, -4)][::-1]
        # What a byte of a key says of its cells.
        self._says = [
            [tuple(one for one in zip(cells, four[-len(cells) :], strict=True) if one[1] != ".") for four in _FOURS]
            for cells in ends
        ]
        self._images = Struct(f"{self.width}s" * len(variant.symmetries))

    def key(self, position: NaivePosition) -> bytes:
        """Return what a placement and its images have in common and no other placement has."""
        number = sum(map(self._adds.__getitem__, position.pieces.items()))
        images: tuple[bytes, ...] = self._images.unpack(number.to_bytes(self._images.size, "big"))
        return min(images)

    def placed(self, key: bytes, side: str) -> NaivePosition:
        """Return a position by its key."""
        return NaivePosition(dict(chain.from_iterable(map(getitem, self._says, key))), side)

    def fault(self, position: NaivePosition) -> str | None:
        """Return why nobody plays on from a placement, or None."""
        pieces = list(position.pieces.values())
        if pieces.count("K") != 1:
            return f"has {pieces.count('K')} kings; nobody plays on from it"
        for cell, piece in position.pieces.items():
            letter = self.terrain[cell]
            if (piece != "K" and letter in "TX") or (piece != "b" and letter in "ABCD"):
                return "has a piece where none may stand; nobody plays on from it"
        if self.terrain[position.king()] in "*X":
            return "the game is over, the king has escaped"
        return "the game is over, black has no soldier" if "b" not in pieces else None

    def stops(self, position: NaivePosition, winner: str) -> tuple[set[Cell], set[Cell]]:
        """Return the cells on which a man of black's stops the king's escapes, and those from which he may do more.

        A move to a cell that is not among the first leaves a slide open by which the king escapes: that wins at once,
        and white is not shut in. Nor is the king captured by a move to one that is not among the second, those and the
        cells beside him. Where no escape is open, or need not win at once, or black is to win, all cells are told.
        """
        king, cells = position.king(), set(self.terrain)
        for file, rank in DIRECTIONS if winner == "white" and self.rules.no_moves != "either_after_ply" else ():
            for cell in self._slide(position, king, (file, rank)):
                if self.terrain[cell] in "*X" and self._on_edge(cell):
                    count = abs(cell[0] - king[0] + cell[1] - king[1])
                    cells &= {(king[0] + file * step, king[1] + rank * step) for step in range(1, count + 1)}
        return cells, cells.union(self._near[king])

    def wins_at_once(self, key: bytes, winner: str) -> bool:
        """Return whether a side, to move, has a move that ends the game in its favour, or leaves the other none."""
        position = self.placed(key, winner[0])
        made = (self.apply(position, move) for move in self.moves(position))
        return any(end.winner == winner if end else self._is_stuck(after, after.side) for after, _, end in made)


_game_of = lru_cache(2)(SymmetricGame)


class _Block:
    """The check of one block: what is wrong with it, what it has, what it needs; ``falls`` says if plies do."""

    def __init__(self, variant: Variant, winner: str, falls: bool) -> None:
        self.game, self.winner, self._ply = _game_of(variant), winner, int(falls)
        self.failures: list[str] = []
        self.has: dict[bytes, int] = {}
        self.needs: dict[bytes, int] = {}
        self.positions = 0
        # By the key of a position with the loser to move: the plies that are made at least, and the keys of what needs
        # a line or a look.
        self._after: dict[bytes, tuple[int, list[bytes]]] = {}
        self.ways: list[tuple[bytes, int, int, list[bytes]]] = []
        """By line: its key and plies, then what its move leads to, like the values of `_after`."""

    def winners_turn(self, name: str, plies: int, text: str) -> None:
        """Check a position of the strategy and all answers to its move."""
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
        """Note what every move of the loser needs, and return it; without a move the loser has lost, in no ply."""
        own = self.game.key(position)
        if own not in self._after:
            moves, keys = list(self.game.moves(position)), []
            stops, looked_at = self.game.stops(position, self.winner)
            looked = [move for move in moves if move[1] in looked_at]
            goes_on = len(looked) < len(moves)
            for move in looked:
                result = self.game.apply(position, move)
                if result.outcome is None:
                    goes_on = True
                    if move[1] in stops:
                        keys.append(self.game.key(result.position))
                elif result.outcome.winner != self.winner:
                    name, made = self.game.write(position), self.game.move_name(move)
                    self.failures.append(f"'{name}': after {made} {result.outcome.winner} has won")
            self.positions += 1 + len(looked) - len(keys)
            self._after[own] = self._ply * (bool(moves) + goes_on), keys
        takes, after = self._after[own]
        if left < takes:
            self.failures.append(f"'{self.game.write(position)}': the loser moves, when {left} plies are left")
        needs, least = self.needs, left - self._ply
        for key in after:
            if least < needs.get(key, left + 1):
                needs[key] = least
        return self._after[own]

    def answer(self, shares: int, number: int = 0) -> dict[str, Any]:
        """Return what was found, what it has and needs as records by share."""
        parts = {"has": _parts(self.has, shares), "needs": _parts(self.needs, shares)}
        made = {"number": number, "ways": self.ways, "positions": self.positions}
        return {"failures": self.failures, **made, **parts}


def check(task: CheckTask) -> dict[str, Any]:
    """Check some lines, or compare what is needed with what is there."""
    block = _Block(task.variant, task.winner, task.falls)
    if task.lines is not None:
        for entry in entries_of(task.number, task.lines, falls=task.falls):
            block.winners_turn(*entry)
        return block.answer(task.shares, task.number)
    has, needs = (_least(content, block.game.width) for content in (task.has, task.needs))
    missing = []
    for key, left in needs.items():
        plies = has.get(key)
        block.positions += plies is None
        # No line is needed where a move wins at once.
        if (plies is None or plies > left) and not (left >= task.falls and block.game.wins_at_once(key, task.winner)):
            missing.append((key, left, plies))
    return {"missing": missing, "positions": block.positions, "unused": len(has.keys() - needs.keys())}


def _parts(found: dict[bytes, int], shares: int) -> list[bytes]:
    """Return keys with their plies, those of each share together."""
    parts: list[list[bytes]] = [[] for _ in range(shares)]
    for key, plies in found.items():
        # Fewer than no plies is none: no line has so few.
        parts[crc32(key) % shares].append(key + max(0, plies).to_bytes(2, "big"))
    return list(map(b"".join, parts))


def _least(content: bytes, width: int) -> dict[bytes, int]:
    """Return the least number of plies by key, of records of both."""
    found: dict[bytes, int] = {}
    for at in range(0, len(content), width + 2):
        key, plies = content[at : at + width], int.from_bytes(content[at + width : at + width + 2], "big")
        if plies < found.get(key, plies + 1):
            found[key] = plies
    return found


class StrategyCheck:
    """The check of one strategy, that can be asked on its way how far it came."""

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
            raise InputError(f"that {self.winner} never loses: a repetition can decide a game of {self.variant.name}")
        self.most_plies, self.most_failures = most_plies, most_failures
        self.scheduler, self.tablebase, self.deep = scheduler or LocalScheduler(1), tablebase, deep
        self.root = self._playable(proof.position)
        limit = self.variant.rules.move_limit
        self.plies_left = limit if proof.plies_left is None else proof.plies_left
        if self.plies_left is not None and not 0 <= self.plies_left <= (self.plies_left if limit is None else limit):
            raise InputError(f"{self.plies_left} plies left: a game of {self.variant.name} has {limit} at most")
        self._check_tables()
        self.failures: list[str] = []
        self.plies_made = self.positions = self.unused = 0
        self.excluded = -1
        self.shorter: int | None = None
        self.within = proof.plies
        # By the key of a position of the strategy: the length of the longest play from there.
        self._longest = dict[bytes, int]()
        self._counts = self.falls and not proof.tables and len(proof.strategy) <= _COUNTED
        self._ways, self._line, self._fewest = dict[int, list[tuple[bytes, int, int, list[bytes]]]](), 2, 0
        self.proved = self.finished = False
        self._began, self._seconds = wall_clock(), 0.0
        # By the key of a position that a table knows: its plies.
        self._tabled: dict[bytes, int] = {}

    def _check_tables(self) -> None:
        """Refuse to ask other tables than those that the file names."""
        for name, digest in self.proof.tables.items():
            if self.tablebase is None:
                raise InputError(f"it ends in the table {name}; name the tablebase that has it")
            store, (attackers, defenders) = self.tablebase.store, map(int, name.split("v"))
            if not store.has(attackers, defenders) or store.tier(attackers, defenders).record.digest != digest:
                raise InputError(f"it ends in the table {name}, and {str(store.root)!r} has not that one")

    def _playable(self, text: str) -> NaivePosition:
        """Return the root, on which play must go on: nobody has won yet, and every piece stands where it may."""
        root = self.game.read(text)
        shown = f"position {excerpt(text)}"
        if self.game.write(root) != text:
            raise InputError(f"{shown}: is not written as positions are; expected {self.game.write(root)!r}")
        if (fault := self.game.fault(root)) is not None:
            raise InputError(f"{shown}: {fault}")
        if self.game.rules.no_moves == "either_after_ply":
            for side in ("white", "black"):
                if not self.game.legal_moves(root, side[0]):
                    raise InputError(f"{shown}: the game is over, {side} has no move")
        return root

    def run(self) -> CheckedProof:
        """Check the strategy, then look for a shorter win."""
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
                # Not an error: the lower bound is claimed only as far as it was tried.
                pass
        self.finished = True
        return self.found()

    def found(self) -> CheckedProof:
        """Return what was found so far."""
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
        """Check every block, then that what all of them need is there."""
        if self.plies_left is not None and self.plies > self.plies_left:
            self.failures.append(f"a win within {self.plies} plies, when the game is drawn after {self.plies_left}")
        root = _Block(self.variant, self.winner, self.falls)
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
            self._take(root.answer(count))
            about = self.variant, self.winner, self.falls
            lines = (CheckTask(*about, *block, shares=count) for block in self.proof.blocks())
            self.scheduler.feed(check, lambda: self._next(lines), self._take)
            if self._counts:
                self.within = self._left(*begins) - mine
            shares = (CheckTask(*about, has=_content(one), needs=_content(two)) for one, two in self._shares)
            self.scheduler.feed(check, lambda: self._next(shares), self._compare)

    def _next(self, tasks: Iterator[CheckTask]) -> CheckTask | None:
        return next(tasks, None) if len(self.failures) < self.most_failures else None

    def _take(self, answer: dict[str, Any]) -> None:
        """Lay what a block has and needs to the shares."""
        self.failures += answer["failures"]
        self.positions += answer["positions"]
        for which, name in enumerate(("has", "needs")):
            for part, share in zip(answer[name], self._shares, strict=True):
                share[which].write(part)
        if self._counts and not self.failures:
            self._ways[answer["number"]] = answer["ways"]
        # The fewest plies come first, so what a line leads to has been counted; if not, the header's number stands.
        while self._counts and (ways := self._ways.pop(self._line, None)):
            self._line += len(ways)
            for key, plies, takes, after in ways:
                self._counts &= plies >= self._fewest
                own = 1 + self._left(takes, after)
                self._longest[key], self._fewest = min(own, self._longest.get(key, own)), plies

    def _left(self, takes: int, keys: list[bytes]) -> int:
        """Return the length of the longest play with the loser to move; a position without a line is won in one ply."""
        return takes if takes < 2 else 1 + max((self._longest.get(key, 1) for key in keys), default=1)

    def _compare(self, answer: dict[str, Any]) -> None:
        """Take what was needed and not there: a table may have it, and if the check is deep, its moves are played."""
        self.positions += answer["positions"]
        self.unused += answer["unused"]
        waiting = answer["missing"]
        while waiting and len(self.failures) < self.most_failures:
            key, left, plies = waiting.pop()
            position = self.game.placed(key, self.winner[0])
            text, fresh = self.game.write(position), key not in self._tabled
            if plies is None and self.tablebase is not None:
                plies = self._tabled.get(key) or self._value(text)
            if plies is None or plies > left:
                takes = "the strategy has no move" if plies is None else f"takes {plies} plies, when {left} are left"
                self.failures.append(f"'{text}': {takes}")
            elif fresh:
                self._tabled[key] = plies
                if self.deep and plies != 1:
                    block = _Block(self.variant, self.winner, self.falls)
                    block.winners_turn(text, plies, self._best(text))
                    self.failures += block.failures
                    self.positions += block.positions
                    waiting += [(after, needs, None) for after, needs in block.needs.items()]

    def _value(self, text: str) -> int | None:
        """Return within how many plies a table that the file names wins; None if it does not."""
        position = Position.parse(text, self.game.size)
        if "v".join(map(str, position.material)) not in self.proof.tables or self.tablebase is None:
            return None
        value = self.tablebase.stored_value(position)
        return (value if self.falls else 0) if value >= self.falls else None

    def _best(self, text: str) -> str:
        assert self.tablebase is not None
        board = unlimited_board(self.variant, Position.parse(text, self.game.size))
        return str(self.tablebase.best_moves(board)[0].move)

    # -- the lower bound ---------------------------------------------------------------

    def wins_within(self, root: NaivePosition, plies: int) -> bool:
        """Return whether the winner wins within so many plies, by trying everything; repetitions count for nothing.

        The naive twin of `retrograde.proofs.win_search.WinSearch.within`.
        """
        stack: list[_Open] = []
        value = self._opened(root, plies)
        while True:
            if isinstance(value, _Open):
                stack.append(value)
            elif not stack:
                return value
            elif value == stack[-1].mine:
                # The side to move has what it wants.
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
        """Return whether the winner wins from a position, if that needs no move, or the position to be searched."""
        moves = self.game.legal_moves(position)
        mine = position.side == self.winner[0]
        if not moves:
            return not mine
        return _Open(position, iter(moves), plies, mine) if plies > 0 else False


def _content(share: Any) -> bytes:
    share.seek(0)
    return bytes(share.read())
