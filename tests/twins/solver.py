"""The plain solver: a graph of positions in dictionaries, valued by textbook iteration.

The oracle of the fast one. It takes the rules in plain Python (`tablut.rules.NaiveGame`)
and shares nothing with it: no index, no tiers, no symmetry, no way back from child to
parent. Some ten thousand moves a second; for small boards and few men.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tablut.rules import NaiveGame
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tablut.variants import VariantLike


class PlainSolution(NamedTuple):
    """The values of all positions that some roots reach."""

    wins: dict[str, int]
    losses: dict[str, int]
    open: set[str]
    plies: dict[str, int]

    def value(self, text: str) -> int:
        """Return the value of a position: n > 0 a win in n plies, n < 0 a loss in -n - 1, 0 not forced."""
        return self.wins.get(text, 0) or (-self.losses[text] - 1 if text in self.losses else 0)


def plain_solution(variant: VariantLike, roots: Iterable[str] | None = None) -> PlainSolution:
    """Return the values of all undecided positions that some positions reach, each the first of its game.

    Under a move limit wins are looked for only as far as the limit goes.
    """
    variant = as_variant(variant)
    game, limit = NaiveGame(variant), variant.rules.move_limit
    given = [game.read(root) for root in roots or [variant.start_position]]
    queue = deque((game.write(position), position) for position in given)
    plies = dict.fromkeys((text for text, _ in queue), 0)
    children: dict[str, list[str]] = {}
    wins: dict[str, int] = {}
    # Moves that end the game and lose it, under rules that know such.
    suicides: set[str] = set()
    while queue:
        text, position = queue.popleft()
        children[text] = []
        for move in game.legal_moves(position):
            result = game.apply(position, move)
            if result.outcome is None:
                child = game.write(result.position)
                children[text].append(child)
                if child not in plies:
                    plies[child] = plies[text] + 1
                    queue.append((child, result.position))
            elif (result.outcome.winner or " ")[0] == position.side:
                wins[text] = 1
            else:
                suicides.add(text)

    losses = {text: 0 for text, found in children.items() if not found and text not in suicides and text not in wins}
    pending = [text for text in children if text not in wins and text not in losses]
    distance = 1
    news = True
    # Every value from 2 on follows from one that is less by one: a distance without news is the last.
    while (news or distance <= 2) and (limit is None or distance <= limit):
        new_wins, new_losses, left = [], [], []
        for text in pending:
            if any(losses.get(child) == distance - 1 for child in children[text]):
                new_wins.append(text)
            elif all(wins.get(child, distance) < distance for child in children[text]):
                new_losses.append(text)
            else:
                left.append(text)
        news = len(left) < len(pending)
        # At distance 1 a loss has only moves that end the game against their own side.
        wins.update(dict.fromkeys(new_wins, distance))
        losses.update(dict.fromkeys(new_losses, distance))
        pending = left
        distance += 1
    return PlainSolution(wins, losses, set(pending), plies)
