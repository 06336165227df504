"""The independent checker of proofs: plain Python, the rules of `tablut.rules.naive` and nothing of the search.

It takes a strategy (see `retrograde.proofs.certificate`) and plays everything that the
loser can do against it. Each position with the winner to move must be in the strategy,
with a legal move and a number of plies that is enough for what follows; each position
with the loser to move is expanded in full. As the numbers fall with every ply, no play
lasts for ever and none meets a position twice, so that no rule on repetition has a say;
and as the first of them fits into the plies that are left, neither has the move limit.
What is accepted is a proof, whatever wrote the file. docs/puzzles.md has the definition.

That shows *within* how many plies the side wins. That it takes no less is another
claim, which a strategy cannot show; it is tried by exhaustive search, in plain
Python too, as far as a number of plies made allows.

Each position is expanded once, so a check costs no more than the strategy is long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from tablut.errors import InputError
from tablut.results import Result
from tablut.rules.naive import NaiveGame
from tablut.store.files import excerpt
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrograde.proofs.certificate import ProofCertificate
    from tablut.rules.naive import NaiveMove, NaivePosition
    from tablut.variants import VariantLike

_LONGEST_MOVE = 7


class CheckedProof(Result):
    """What the checker found."""

    proved: bool
    failures: list[str]
    positions: int
    distance: Literal["exact", "at most"]
    shorter: int | None
    excluded: int
    unused: int


class _SpentError(Exception):
    """The plies allowed for the lower bound are made."""


class _Open(NamedTuple):
    """A position of the search for a shorter win, some of whose moves are still to be tried."""

    position: NaivePosition
    moves: Iterator[NaiveMove]
    left: int
    mine: bool


class StrategyCheck:
    """The check of one strategy, that can be asked on its way how far it came."""

    def __init__(
        self,
        variant: VariantLike,
        proof: ProofCertificate,
        *,
        most_plies: int = 20_000,
        most_failures: int = 10,
    ) -> None:
        variant = as_variant(variant)
        self.game = NaiveGame(variant)
        self.winner, self.plies, self.strategy = proof.winner, proof.plies, proof.strategy
        self.loser = "black" if self.winner == "white" else "white"
        self.most_plies = most_plies
        self.most_failures = most_failures
        self.root = self._playable(proof.position)
        limit = variant.rules.move_limit
        self.plies_left = limit if proof.plies_left is None else proof.plies_left
        if self.plies_left is not None and not 0 <= self.plies_left <= (self.plies_left if limit is None else limit):
            raise InputError(f"{self.plies_left} plies left: a game of {variant.name} has {limit} at most")
        self.failures: list[str] = []
        self.plies_made = 0
        self.excluded = -1
        self.shorter: int | None = None
        self.proved = False
        self.finished = False
        # By the text of a position with the loser to move: the plies that the strategy needs from it.
        self._needed: dict[str, int] = {}
        self._reached: set[str] = set()

    def _playable(self, text: str) -> NaivePosition:
        """Return the root, on which play must go on: nobody has won yet, and every piece stands where it may."""
        root = self.game.read(text)
        shown = f"position {excerpt(text)}"
        if self.game.write(root) != text:
            raise InputError(f"{shown}: is not written as positions are; expected {self.game.write(root)!r}")
        pieces = list(root.pieces.values())
        if pieces.count("K") != 1:
            raise InputError(f"{shown}: has {pieces.count('K')} kings; nobody plays on from it")
        for cell, piece in root.pieces.items():
            letter = self.game.terrain[cell]
            if (piece != "K" and letter in "TX") or (piece != "b" and letter in "ABCD"):
                raise InputError(f"{shown}: has a piece where none may stand; nobody plays on from it")
        if self.game.terrain[root.king()] in "*X":
            raise InputError(f"{shown}: the game is over, the king has escaped")
        if "b" not in pieces:
            raise InputError(f"{shown}: the game is over, black has no soldier")
        if self.game.rules.no_moves == "either_after_ply":
            for side in ("white", "black"):
                if not self.game.legal_moves(root, side[0]):
                    raise InputError(f"{shown}: the game is over, {side} has no move")
        return root

    def run(self) -> CheckedProof:
        """Check the strategy, then look for a shorter win."""
        self._walk()
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
        return CheckedProof(
            proved=self.proved,
            failures=self.failures,
            positions=len(self._reached) + len(self._needed),
            distance="exact" if exact else "at most",
            shorter=self.shorter,
            excluded=self.excluded,
            unused=len(self.strategy) - sum(name in self.strategy for name in list(self._reached)),
        )

    # -- the strategy ------------------------------------------------------------------

    def _walk(self) -> None:
        """Check everything that can happen from the root."""
        if self.plies_left is not None and self.plies > self.plies_left:
            self.failures.append(f"a win within {self.plies} plies, when the game is drawn after {self.plies_left}")
        if self.root.side == self.winner[0]:
            plies, _ = self.strategy.get(self.game.write(self.root), (0, ""))
            if plies > self.plies:
                self.failures.append(
                    f"'{self.game.write(self.root)}': wins within {plies} plies, when {self.plies} are left"
                )
            waiting = [self.root]
        else:
            waiting = self._losers_turn(self.root, self.plies)
        while waiting and len(self.failures) < self.most_failures:
            waiting += self._winners_turn(waiting.pop())

    def _winners_turn(self, position: NaivePosition) -> list[NaivePosition]:
        """Check the answer to a position with the winner to move; return the positions that are to be answered next."""
        name = self.game.write(position)
        if name in self._reached:
            return []
        self._reached.add(name)
        if name not in self.strategy:
            self.failures.append(f"'{name}': the strategy has no move")
            return []
        plies, text = self.strategy[name]
        try:
            move = self.game.parse_move(text) if len(text) <= _LONGEST_MOVE else None
        except InputError:
            move = None
        if move is None or move not in self.game.legal_moves(position):
            self.failures.append(f"'{name}': {excerpt(text)} is not legal")
            return []
        result = self.game.apply(position, move)
        if plies < 1:
            self.failures.append(f"'{name}': no plies are left for {text}")
        elif result.outcome is None:
            return self._losers_turn(result.position, plies - 1)
        elif result.outcome.winner != self.winner:
            self.failures.append(f"'{name}': after {text} {result.outcome.winner} has won")
        return []

    def _losers_turn(self, position: NaivePosition, left: int) -> list[NaivePosition]:
        """Check that the plies left suffice against every move of the loser; return what these lead to, once."""
        name = self.game.write(position)
        found = []
        if name not in self._needed:
            # Without a move the loser has lost: that takes no ply.
            needed = 0
            for move in self.game.legal_moves(position):
                result = self.game.apply(position, move)
                plies = 0
                if result.outcome is None:
                    found.append(result.position)
                    plies, _ = self.strategy.get(self.game.write(result.position), (0, ""))
                elif result.outcome.winner != self.winner:
                    self.failures.append(f"'{name}': after {self.game.move_name(move)} {self.loser} has won")
                needed = max(needed, plies + 1)
            self._needed[name] = needed
        if self._needed[name] > left:
            self.failures.append(f"'{name}': takes {self._needed[name]} plies, when {left} are left")
        return found

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
