"""Certificates that say what is not so, made on purpose, and the judge that plays them out.

For the tests of the checker of proofs, and for whoever wants to try to deceive it. A true proof is made by search, then
altered in every way that somebody has thought of. Some of what comes out is still true, so a judge decides:
`plays_out` plays on a `tablut.board.Board`, against every reply, with the whole history of the game. It shares
neither the reading nor the rules in plain Python with the checker.

Examples
--------
>>> from random import Random
>>> from tablut.variants import load_variant
>>> variant = load_variant("ashton-5-4v0")
>>> proof = random_proof(variant, Random(1), most_plies=3)
>>> forged = list(forgeries(proof, variant, Random(2), (load_variant("mcgill"),)))
>>> len(forged) > 100, all(plays_out(file, variant) for file in forged if accepts(file))
(True, True)
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retrograde.proofs.certificate import ProofCertificate, build_certificate, game_of, read_certificate
from retrograde.proofs.checker import StrategyCheck
from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.win_search import Budget, WinSearch
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, TablutError
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.testing import placement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from retrograde.proofs.certificate import ProofCertificate
    from tablut.variants import Variant


class Forgery(NamedTuple):
    """A file that pretends to be a proof."""

    label: str
    text: str
    given: Variant | None


def with_limit(variant: Variant, limit: int | None) -> Variant:
    """Return a variant with another move limit."""
    return replace(variant, rules=variant.rules.model_copy(update={"move_limit": limit}))


def accepts(forgery: Forgery) -> bool:
    """Return whether the reader and the checker take a file for a proof."""
    try:
        proof = read_certificate("forged", forgery.text)
        rules = game_of("forged", proof, forgery.given)
        check = StrategyCheck(
            rules,
            proof.position,
            proof.winner,
            proof.plies,
            proof.strategy,
            plies_left=proof.plies_left,
            most_plies=0,
        )
    except InputError:
        return False
    check.run()
    return check.proved


def plays_out(forgery: Forgery, variant: Variant, most: int = 200_000) -> bool:
    """Return whether what a file claims is so: its strategy is played on a board, against everything."""
    header, *entries = (json.loads(line) for line in forgery.text.removesuffix("\n").split("\n"))
    strategy = {position: move for position, _, move in entries}
    left = header.get("plies_left")
    most_left = variant.rules.move_limit
    if most_left is not None and (left is None or left > most_left):
        return False
    rules = with_limit(variant, left)
    position = Position.parse(header["position"], variant.size)
    if not goes_on(rules, position):
        return False
    board = Board(rules, position)
    outcome = board.outcome()
    if outcome is not None and (outcome.termination != "no_moves" or rules.rules.no_moves == "either_after_ply"):
        return False  # decided by the ply that led to it, or drawn: nothing is left to be won
    budget = [most]
    return _wins(board, header["winner"], header["plies"], strategy, budget)


def goes_on(variant: Variant, position: Position) -> bool:
    """Return whether every piece of a position stands where it may."""
    try:
        len(Board(variant, position).legal_moves)
    except InputError:
        return False
    return True


def _wins(board: Board, winner: str, plies: int, strategy: dict[str, str], budget: list[int]) -> bool:
    """Return whether every play by the strategy is won within so many plies of the root."""
    outcome = board.outcome()
    if outcome is not None:
        return outcome.winner == winner and board.ply <= plies
    if board.ply >= plies:
        return False
    if board.turn == winner:
        text = strategy.get(str(board.position))
        if text is None:
            return False
        try:
            board.push_text(text)
        except InputError:
            return False
        won = _wins(board, winner, plies, strategy, budget)
        board.pop()
        return won
    for move in list(board.legal_moves):
        budget[0] -= 1
        if budget[0] < 0:
            raise RuntimeError("too large to be played out")
        board.push(move)
        won = _wins(board, winner, plies, strategy, budget)
        board.pop()
        if not won:
            return False
    return True


# -- ways to spoil the strategy of a proof: entries dropped, altered, merged, repeated, made up


ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2, 2.0, 3.5, 10**12, -(10**12), 2**64, 10**400, "", "1", "white", "b", [], {}, [1],
    {"a": 1}, "x" * 10_000, "[/red]", "../../etc/passwd", "/dev/zero", "\x00", "²", "1" * 5000,
)  # fmt: skip


class Draft:
    """A proof taken apart, to be altered."""

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


# -- certificates that say what is not so, made on purpose, and the judge that plays them out


def random_proof(
    variant: Variant, random: Random, *, most_plies: int = 5, most_positions: int = 200, tries: int = 40
) -> ProofCertificate | None:
    """Return a true proof about a random position; the move limit plays no part in the choice."""
    engine, game = engine_for(variant), NaiveGame(variant)
    for _ in range(tries):
        text = game.write(placement(variant, random, soldiers=random.randrange(1, 7)))
        position = Position.parse(text, variant.size)
        if not goes_on(variant, position) or Board(variant, position).outcome() is not None:
            continue
        board = engine.board(position.cells, position.side)
        for side in random.sample((0, 1), 2):
            search = WinSearch(engine, side, 1 << 18, Budget(ProofLimits(nodes=300_000)))
            for plies in range(1, most_plies + 1):
                if search.within(board, plies):
                    try:
                        return build_certificate(engine, search, board, plies, most_positions)
                    except TablutError:  # larger than wanted
                        break
    return None


def forgeries(
    proof: ProofCertificate, variant: Variant, random: Random, others: tuple[Variant, ...]
) -> Iterator[Forgery]:
    """Yield altered copies of a proof: every field, every entry's parts, the claim, the structure of the file."""
    given = variant if proof.variant is None else None
    for name, alter in _alterations(proof, variant, random):
        draft = Draft(proof, variant)
        alter(draft)
        yield Forgery(name, draft.text(), given)
    for other in others:
        draft = Draft(proof, variant)
        draft.header |= {"variant": None, "game": other.digest}
        yield Forgery("foreign rules", draft.text(), other)
        yield Forgery("rules given that are not its own", proof.text(), other)
    text = proof.text()
    first, _, rest = text.partition("\n")
    for name, content in {
        "empty": "",
        "header alone": first,
        "cut": text[: random.randrange(len(text))],
        "a byte changed": _one_changed(text, random),
        "blank line": f"{first}\n\n{rest}",
        "deep nesting": "[" * 100_000,
        "deep entry": f"{first}\n{'[' * 50_000}{']' * 50_000}\n{rest}",
        "twice": text + text,
        "said twice": first.replace('"plies": ', '"plies": 1, "plies": ') + "\n" + rest,
        "not a number": first.replace('"plies": ', '"plies": NaN, "x": ') + "\n" + rest,
    }.items():
        yield Forgery(name, content, given)


def _one_changed(text: str, random: Random) -> str:
    place = random.randrange(len(text))
    return text[:place] + random.choice('0123456789bwKabcdef"[],{} -/\n') + text[place + 1 :]


def _alterations(
    proof: ProofCertificate, variant: Variant, random: Random
) -> Iterator[tuple[str, Callable[[Draft], object]]]:
    """Yield names and functions that alter a draft."""
    limit = variant.rules.move_limit
    for key in json.loads(proof.text().split("\n")[0]):
        for value in random.sample(ODD_VALUES, 4):
            yield f"{key} odd", _set(key, value, recount=key != "positions")
        yield f"{key} missing", _dropped(key)
    yield "field added", _set("comment", "true")
    for plies in {proof.plies - 2, proof.plies - 1, 0, proof.plies + 1, proof.plies + 2, 999, 1001, 10**12}:
        yield "plies of the claim", _set("plies", plies)
    for left in {None, 0, proof.plies - 1, proof.plies, proof.plies + 1, limit, (limit or 0) + 1, 10**12}:
        yield "plies left", _set("plies_left", left)
    yield "other winner", _set("winner", "black" if proof.winner == "white" else "white")
    for root in _roots(proof, variant, random):
        yield "other root", _set("position", root)
        yield "other root, decided", _emptied(root, random.choice(("white", "black")), random.randrange(3))
    for kind in WAYS_TO_SPOIL:
        for _ in range(2):
            yield kind.__name__.strip("_").replace("_", " "), _with(kind, random)


def _set(key: str, value: Any, *, recount: bool = True) -> Callable[[Draft], object]:
    def alter(draft: Draft) -> None:
        draft.header[key] = value
        draft.recount = recount

    return alter


def _dropped(key: str) -> Callable[[Draft], object]:
    def alter(draft: Draft) -> None:
        draft.recount = key != "positions"
        del draft.header[key]

    return alter


def _emptied(root: str, winner: str, plies: int) -> Callable[[Draft], object]:
    """Claim that a root is won already, without a strategy."""

    def alter(draft: Draft) -> None:
        draft.header |= {"position": root, "winner": winner, "plies": plies}
        draft.entries = []

    return alter


def _with(kind: Callable[[Draft, Random], object], random: Random) -> Callable[[Draft], object]:
    return lambda draft: kind(draft, random)


def _roots(proof: ProofCertificate, variant: Variant, random: Random) -> Iterator[str]:
    """Yield other roots: possible, decided, immobile, impossible, badly written."""
    placed, _, side = proof.position.partition(" ")
    other = "b" if side == "w" else "w"
    game, size = NaiveGame(variant), variant.size
    yield f"{placed} {other}"
    yield f"{placed} {side} note=x"
    yield f"{placed} {side}x"
    yield f"{placed}"
    yield placed.replace("K", "w") + f" {side}"
    yield placed.replace("b", "K") + f" {side}"
    yield placed.replace("b", "w") + f" {side}"
    yield f"{placed}/{size} {side}"
    yield f"0{placed} {side}"
    yield f"{'9' * 5000}/{placed} {side}"
    yield f"{placed.replace(str(size), '²', 1)} {side}"
    for _ in range(3):
        position = placement(variant, random)
        yield game.write(position)
        # Shut in: everybody around the king, and nothing else.
        king = position.king()
        walls = {
            (king[0] + step[0], king[1] + step[1]): random.choice("bw") for step in ((0, 1), (1, 0), (0, -1), (-1, 0))
        }
        shut = {cell: piece for cell, piece in walls.items() if cell in game.terrain} | {king: "K"}
        yield game.write(position._replace(pieces=shut))
    corner = "K" + (str(size - 1) if size > 1 else "")
    yield "/".join([corner, *[str(size)] * (size - 2), f"b{size - 1}"]) + f" {side}"
