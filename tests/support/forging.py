"""Certificates that say what is not so, made on purpose, and the judge that plays them out.

For the tests of the checker of proofs, and for whoever wants to try to deceive it. A true
proof is made by search, then altered in every way that somebody has thought of; some of
what comes out is still true, so a judge decides: `judging`.

Examples
--------
>>> from random import Random
>>> from tests.support.judging import accepts, plays_out
>>> from tablut.variants import load_variant
>>> variant = load_variant("ashton-5-4v0")
>>> proof = random_proof(variant, Random(1), most_plies=3)
>>> forged = list(forgeries(proof, variant, Random(2), (load_variant("mcgill"),)))
>>> len(forged) > 100, all(plays_out(file, variant) for file in forged if accepts(file))
(True, True)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from retrograde.proofs.certificate import ProofCertificate, build_certificate
from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.win_search import Budget, WinSearch
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import TablutError
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.testing import placement
from tests.support.judging import Forgery, goes_on
from tests.support.spoiling import ODD_VALUES, WAYS_TO_SPOIL, Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from tablut.variants import Variant

__all__ = ["forgeries", "random_proof"]


def random_proof(
    variant: Variant, random: Random, *, most_plies: int = 5, most_positions: int = 200, tries: int = 40
) -> ProofCertificate | None:
    """Return a true proof about a random position; the move limit plays no part in the choice.

    Parameters
    ----------
    variant : Variant
        The rule set.
    random : random.Random
        Where the positions come from.
    most_plies, most_positions : int
        Largest proof that is wanted.
    tries : int
        Positions after which to give up.

    Returns
    -------
    ProofCertificate or None
        With enough plies left, even if the move limit says otherwise; None if nothing was found.
    """
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
    """Yield altered copies of a proof: every field, every entry's parts, the claim, the structure of the file.

    Parameters
    ----------
    proof : ProofCertificate
        A true one.
    variant : Variant
        Its rule set.
    random : random.Random
        Chooses among the alterations that are many.
    others : tuple of Variant
        Rule sets that it may be passed off as.

    Yields
    ------
    Forgery
        More than a hundred; some are still true.
    """
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
