"""What is true of a small position: who can force a win within so many plies, by the naive rules and nothing else.

It shares no line with the checker of proofs: positions and plies are tried one after the
other, with a memory. A rule set's move limit counts from the position: it is the first of
its game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tablut.rules.naive import NaiveGame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.rules.naive import NaiveMove, NaivePosition
    from tablut.variants import Variant


_DEPTH: Final = 9


class TruthSpentError(Exception):
    """A question took more moves than are allowed for it."""


class Truth:
    """What is true under one rule set.

    Parameters
    ----------
    variant : Variant
        The rule set.
    most : int
        Most moves that a question may take.
    """

    def __init__(self, variant: Variant, most: int = 30_000) -> None:
        self.variant, self.most = variant, most
        self.game = NaiveGame(variant)
        self._known: dict[tuple[str, str, int], bool] = {}
        self._made = 0

    def holds(self, text: str, winner: str, plies: int, left: int | None = None) -> bool:
        """Return whether a side can force a win from a position within so many plies.

        Parameters
        ----------
        text : str
            The position.
        winner : {'white', 'black'}
            Who is said to win.
        plies : int
            Within how many plies.
        left : int, optional
            Plies before the game is drawn; by default the rule set's limit.

        Raises
        ------
        TruthSpentError
            If that takes too many moves.
        """
        position = self.game.read(text)
        over = self.decided(position)
        if over is not None:
            return over == winner
        limits = [plies, *(limit for limit in (left, self.variant.rules.move_limit) if limit is not None)]
        self._made = 0
        within = min(limits)
        if self._wins(position, winner, min(within, _DEPTH)):
            return True
        if within > _DEPTH:
            raise TruthSpentError(f"{text}: no win within {_DEPTH} plies; further it was not tried")
        return False

    def covers(self, text: str, winner: str, plies: int, strategy: Mapping[str, str], left: int | None = None) -> bool:
        """Return whether a strategy wins from a position within so many plies, whatever the loser does.

        Parameters
        ----------
        text, winner, plies, left
            As for `holds`.
        strategy : mapping of str to str
            The winner's move by position.
        """
        position = self.game.read(text)
        over = self.decided(position)
        if over is not None:
            return over == winner
        limits = [plies, *(limit for limit in (left, self.variant.rules.move_limit) if limit is not None)]
        longest = self._longest(position, winner, self._images(strategy), {})
        return longest is not None and longest <= min(limits)

    def keeps(self, text: str, holder: str, strategy: Mapping[str, str]) -> bool:
        """Return whether a side never loses from a position by a strategy, whatever the other side does.

        Parameters
        ----------
        text : str
            The position.
        holder : {'white', 'black'}
            Who is said never to lose.
        strategy : mapping of str to str
            Its move by position.
        """
        repeats = self.variant.rules.repetition.result
        spared = "black_loses" if holder == "white" else "white_loses"
        position = self.game.read(text)
        if repeats not in ("draw", "none", spared) or self.decided(position) is not None:
            return False
        moves, waiting, seen = self._images(strategy), [position], set()
        while waiting:
            position = waiting.pop()
            own = self.game.write(position)
            if own in seen:
                continue
            seen.add(own)
            mine = (position.side == "w") == (holder == "white")
            legal = self._sensible(position, holder, moves) if mine else self.game.legal_moves(position)
            if mine and not legal:
                return False
            for move in legal:
                result = self.game.apply(position, move)
                if result.outcome is None:
                    waiting.append(result.position)
                elif result.outcome.winner != holder:
                    return False
        return True

    def _images(self, strategy: Mapping[str, str]) -> dict[str, str]:
        """Return a strategy with all images of its lines."""
        moves: dict[str, str] = {}
        for place, move in strategy.items():
            # A line stands for its position and all images of it.
            own, ends = self.game.read(place), self.game.parse_move(move)
            for symmetry in self.variant.symmetries:
                size = self.game.size
                to = {(cell % size, cell // size): (at % size, at // size) for cell, at in enumerate(symmetry.table)}
                image = own._replace(pieces={to[cell]: piece for cell, piece in own.pieces.items()})
                moves[self.game.write(image)] = self.game.move_name((to[ends[0]], to[ends[1]]))
        return moves

    def _sensible(self, position: NaivePosition, side: str, moves: Mapping[str, str]) -> list[NaiveMove]:
        """Return a move that wins at once, else that of the strategy, if there is one."""
        legal = self.game.legal_moves(position)
        after = [(move, self.game.apply(position, move)) for move in legal]
        at_once = [move for move, (_, _, end) in after if end is not None and end.winner == side]
        at_once += [move for move, (there, _, end) in after if end is None and not self.game.legal_moves(there)]
        said = moves.get(self.game.write(position))
        return at_once[:1] or [move for move in legal if self.game.move_name(move) == said]

    def _longest(
        self, position: NaivePosition, winner: str, moves: Mapping[str, str], known: dict[str, int | None]
    ) -> int | None:
        """Return the most plies that a strategy takes; None if it does not win."""
        text = self.game.write(position)
        if text in known:
            return known[text]
        # Who comes back to where the line has been has not won.
        known[text] = None
        mine = (position.side == "w") == (winner == "white")
        legal = self._sensible(position, winner, moves) if mine else self.game.legal_moves(position)
        longest = 0
        if mine and not legal:
            return None
        for move in legal:
            result = self.game.apply(position, move)
            if result.outcome is not None:
                rest = 0 if result.outcome.winner == winner else None
            else:
                rest = self._longest(result.position, winner, moves, known)
            if rest is None:
                return None
            longest = max(longest, 1 + rest)
        known[text] = longest
        return longest

    def decided(self, position: NaivePosition) -> str | None:
        """Return who has won a position already, as far as a position alone shows it."""
        pieces = list(position.pieces.values())
        if "K" not in pieces:
            return "black"
        if "b" not in pieces or self.game.terrain[position.king()] in "*X":
            return "white"
        if self.variant.rules.no_moves == "either_after_ply":
            for side, winner in (("w", "black"), ("b", "white")):
                if not self.game.legal_moves(position._replace(side=side)):
                    return winner
        return None

    def _wins(self, position: NaivePosition, winner: str, plies: int) -> bool:
        key = (self.game.write(position), winner, plies)
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._tried(position, winner, plies)
        return known

    def _tried(self, position: NaivePosition, winner: str, plies: int) -> bool:
        moves = self.game.legal_moves(position)
        mine = (position.side == "w") == (winner == "white")
        if not moves:
            return not mine
        if plies <= 0:
            return False
        # What is won in fewer plies is won.
        if plies > 1 and self._wins(position, winner, plies - 1):
            return True
        for move in moves:
            self._made += 1
            if self._made > self.most:
                raise TruthSpentError(f"{self.game.write(position)}: more than {self.most:,} moves")
            result = self.game.apply(position, move)
            won = (
                self._wins(result.position, winner, plies - 1)
                if result.outcome is None
                else (result.outcome.winner == winner)
            )
            if won == mine:
                return won
        return not mine
