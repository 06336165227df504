"""Ways to spoil the strategy of a proof: entries dropped, altered, merged, repeated, made up.

Each takes a draft and alters its entries. What comes out may still be true;
`judging` decides.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tablut.rules import NaiveGame
from tablut.testing import placement

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from retrograde.proofs.certificate import ProofCertificate
    from tablut.variants import Variant

__all__ = ["ODD_VALUES", "WAYS_TO_SPOIL", "Draft"]

ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2, 2.0, 3.5, 10**12, -(10**12), 2**64, 10**400, "", "1", "white", "b", [], {}, [1],
    {"a": 1}, "x" * 10_000, "[/red]", "../../etc/passwd", "/dev/zero", "\x00", "²", "1" * 5000,
)  # fmt: skip


class Draft:
    """A proof taken apart, to be altered.

    Parameters
    ----------
    proof : ProofCertificate
        A true one.
    variant : Variant
        Its rule set.
    """

    def __init__(self, proof: ProofCertificate, variant: Variant) -> None:
        header, *entries = (json.loads(line) for line in proof.text().splitlines())
        self.header: dict[str, Any] = header
        self.entries: list[Any] = entries
        self.variant = variant
        self.game = NaiveGame(variant)
        self.recount = True
        self.lines: list[str] = []

    def text(self) -> str:
        """Return the file as it is now."""
        if self.recount:
            self.header["positions"] = len(self.entries)
        return "\n".join([json.dumps(self.header), *map(json.dumps, self.entries), *self.lines]) + "\n"


def _reply_dropped(draft: Draft, random: Random) -> None:
    if draft.entries:
        draft.entries.pop(random.randrange(len(draft.entries)))


def _move_replaced(draft: Draft, random: Random) -> None:
    if not draft.entries:
        return
    entry = random.choice(draft.entries)
    moves = draft.game.legal_moves(draft.game.read(entry[0]))
    entry[2] = draft.game.move_name(random.choice(moves))


def _move_odd(draft: Draft, random: Random) -> None:
    if draft.entries:
        odd = ("a1-a1", "a1-a2", "", "c3", "c3-", "z9-z9", "c3-c99", "c3–c4", "a²-a1", "x" * 9000, None, 3, ["c3-c4"])
        random.choice(draft.entries)[2] = random.choice(odd)


def _plies_altered(draft: Draft, random: Random) -> None:
    if draft.entries:
        entry = random.choice(draft.entries)
        entry[1] = random.choice((entry[1] - 1, entry[1] - 2, entry[1] + 1, entry[1] + 2, 0, 1000))


def _plies_odd(draft: Draft, random: Random) -> None:
    if draft.entries:
        random.choice(draft.entries)[1] = random.choice(ODD_VALUES)


def _position_altered(draft: Draft, random: Random) -> None:
    if draft.entries:
        entry = random.choice(draft.entries)
        entry[0] = random.choice((*ODD_VALUES, entry[0].translate(str.maketrans("wb", "bw")), entry[0] + " x"))


def _repeated_line(draft: Draft, random: Random) -> None:
    if draft.entries:
        draft.entries.append(list(random.choice(draft.entries)))


def _repeated_otherwise(draft: Draft, random: Random) -> None:
    if draft.entries:
        position, plies, _ = random.choice(draft.entries)
        draft.entries.append([position, plies, random.choice(draft.entries)[2]])


def _merged(draft: Draft, random: Random) -> None:
    if len(draft.entries) > 1:
        one, other = random.sample(draft.entries, 2)
        one[1:] = other[1:]


def _extra_node(draft: Draft, random: Random) -> None:
    position = placement(draft.variant, random)._replace(side=draft.header["winner"][0])
    moves = draft.game.legal_moves(position)
    if moves:
        name = draft.game.move_name(random.choice(moves))
        draft.entries.append([draft.game.write(position), random.randrange(1, 6), name])


def _shuffled(draft: Draft, random: Random) -> None:
    random.shuffle(draft.entries)


def _all_plies_alike(draft: Draft, random: Random) -> None:
    for entry in draft.entries:
        entry[1] = max(1, min(draft.header["plies"], random.choice((1, draft.header["plies"]))))


def _all_plies_inflated(draft: Draft, random: Random) -> None:
    more = random.randrange(1, 4)
    for entry in draft.entries:
        entry[1] += more
    draft.header["plies"] += more


def _entry_of_another_shape(draft: Draft, random: Random) -> None:
    if draft.entries:
        place = random.randrange(len(draft.entries))
        draft.entries[place] = random.choice(([], {}, None, [1], draft.entries[place][:2], [*draft.entries[place], 1]))


def _aimless(draft: Draft, random: Random) -> None:
    """Make a strategy from nothing: some move for whatever comes up, mostly in circles."""
    _wander(draft, random, lambda: random.randrange(1, 8))


def _aimless_and_even(draft: Draft, random: Random) -> None:
    plies = random.randrange(1, 8)
    _wander(draft, random, lambda: plies)


def _wander(draft: Draft, random: Random, plies: Callable[[], int]) -> None:
    game, winner = draft.game, draft.header["winner"]
    draft.entries, known = [], set()
    waiting = [game.read(draft.header["position"])]
    while waiting and len(draft.entries) < 60:
        position = waiting.pop()
        name = game.write(position)
        if name in known:
            continue
        known.add(name)
        moves = game.legal_moves(position)
        if position.side == winner[0]:
            if not moves:
                continue
            move = random.choice(moves)
            draft.entries.append([name, plies(), game.move_name(move)])
            moves = [move]
        results = [game.apply(position, move) for move in moves]
        waiting += [result.position for result in results if result.outcome is None]
    draft.header["plies"] = max([entry[1] for entry in draft.entries], default=0) + random.randrange(2)


WAYS_TO_SPOIL: Final = (
    _reply_dropped,
    _move_replaced,
    _move_odd,
    _plies_altered,
    _plies_odd,
    _position_altered,
    _repeated_line,
    _repeated_otherwise,
    _merged,
    _extra_node,
    _shuffled,
    _all_plies_alike,
    _all_plies_inflated,
    _entry_of_another_shape,
    _aimless,
    _aimless_and_even,
)
