"""The finite part of the proof, checked by a program: every step of the construction outside the closures.

Each check covers one kind of step for all materials and lists the failures. `docs/notes/lower-bound.md` explains how
the proof uses the steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from counting.reachable.certificate_checker import Checker
from counting.reachable.proof_games import finder_for
from reports.studies.lower_bound.layout import CAMPS, CASTLE, SIZE, UPPER, cell_of, cells_of, mirrored, place_of
from reports.studies.lower_bound.plies import Region, find_path, is_mobile, is_quiet, is_safe, parked
from reports.studies.lower_bound.summing import MOST_ATTACKERS, MOST_WHITE, RegionMaterial
from tablut.engine import engine_for
from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECES = "bwK"
GATE = place_of(cell_of("f8"))
"""Place where attackers arrive from the tip of a region's camp."""
_LANE = range(1, SIZE - 1)
"""Places of the lane that a piece may enter from the middle. The places next to camps are excluded."""
_OPEN = tuple(place_of(cell) for cell in cells_of("c7 d7 f7 g7"))
"""Places in the lane that are neither doors nor at its ends."""


class StepChecks(NamedTuple):
    """The number of steps checked, and the names of those that failed."""

    checked: int
    failures: tuple[str, ...]


def parkable(attackers: int = MOST_ATTACKERS) -> Iterator[RegionMaterial]:
    """Yield the materials that can be parked in an outer region."""
    for black in range(attackers + 1):
        for king in range(2):
            for soldiers in range(MOST_WHITE - king + 1):
                yield RegionMaterial(black, soldiers, king)


def with_piece(region: Region, piece: str, place: int) -> Region:
    """Return a placement in a region with one additional piece."""
    if piece == "K":
        return region._replace(king=place)
    if piece == "b":
        return region._replace(black=region.black | 1 << place)
    return region._replace(soldiers=region.soldiers | 1 << place)


def more(material: RegionMaterial, piece: str) -> RegionMaterial | None:
    """Return a material with one additional piece, or None if it cannot be parked."""
    attackers, defenders, king = material
    attackers, defenders, king = attackers + (piece == "b"), defenders + (piece == "w"), king + (piece == "K")
    if attackers > MOST_ATTACKERS or defenders + king > MOST_WHITE or king > 1:
        return None
    return RegionMaterial(attackers, defenders, king)


def _parking() -> Iterator[tuple[str, bool]]:
    """Check that each park with a white piece is mobile, and that a piece can leave it for the lane and return."""
    for material in parkable(8):
        whole = parked(material)
        if whole.white:
            yield f"{material} is mobile", is_mobile(whole)
        if material.attackers == 8:
            yield f"{material}: the gate is quiet", is_quiet(whole, GATE)
        yield f"{material}: the tip is safe", is_safe(whole)
    for material in parkable():
        for piece in PIECES:
            larger = more(material, piece)
            if larger is None:
                continue
            rest, whole = parked(material), parked(larger)
            for place in _LANE:
                lane = with_piece(rest, piece, place)
                # If white has no piece in this region, it has one in the other park.
                tempo = bool(lane.white)
                name = f"{material} and {piece} on {place}"
                yield f"{name}: leaves", find_path(lane, whole, own_tempo=tempo, free=place) is not None
                yield f"{name}: arrives quietly", is_quiet(lane, place)
                if piece == "b" and tempo:
                    yield f"{name}: white is mobile", is_mobile(lane, place)
                if place in _OPEN:
                    yield f"{name}: comes", find_path(whole, lane, own_tempo=tempo) is not None


def _gate() -> Iterator[tuple[str, bool]]:
    """Check that an attacker can get from the camp's tip to a park, and to the lane if the park is full."""
    for material in parkable():
        rest = parked(material)
        at_gate = with_piece(rest, "b", GATE)
        tempo = bool(rest.white)
        yield f"{material}: the gate is quiet", is_quiet(at_gate, GATE) and is_safe(at_gate)
        if tempo:
            yield f"{material}: white is mobile beside the gate", is_mobile(at_gate)
        larger = more(material, "b")
        if larger is not None:
            yield f"{material}: from the gate", find_path(parked(larger), at_gate, own_tempo=tempo) is not None
            continue
        for place in _LANE:
            lane = with_piece(rest, "b", place)
            yield f"{material}: gate to {place}", find_path(lane, at_gate, own_tempo=tempo, free=place) is not None


def _camps(game: NaiveGame) -> Iterator[tuple[str, bool]]:
    """Check under the plain rules that plies within camps capture nothing while all other pieces are parked."""
    for material in parkable(8):
        pieces = full_board({0: parked(material), 1: parked(material._replace(king=0))})
        if not material.king:
            pieces[_cell(cell_of("e5"))] = "K"
        for camp in CAMPS:
            for leaf in camp[1:]:
                position = NaivePosition({**pieces, _cell(camp[0]): "b"}, "b")
                result = game.apply(position, (_cell(camp[0]), _cell(leaf)))
                yield f"{material}: camp to {leaf}", not result.captured and result.outcome is None


def _sorties(game: NaiveGame) -> Iterator[tuple[str, bool]]:
    """Check the plies across the empty middle: those out of camps, those between lanes, and both kinds of capture."""
    for king in ("e5", "c8"):
        for text, taken in (
            ("b b5-c5", ""),
            ("b c5-c7", ""),
            ("b c5-c3", ""),
            ("b h5-g5", ""),
            ("b g5-g7", ""),
            ("b g5-g3", ""),
            ("w c7-c3", ""),
            ("w c3-c7", ""),
            ("b c7-c3", ""),
            # A defender is captured between an attacker and a camp, and the captor moves back.
            ("w c7-c5", ""),
            ("b d7-d5 w=c5", "c5"),
            ("b d5-d7", ""),
            # An attacker is captured between a defender and a camp.
            ("b g7-g5", ""),
            ("w f7-f5 b=g5", "g5"),
            ("w f5-f7", ""),
        ):
            yield f"king on {king}: {text}", _plays(game, {"K": king}, text, taken)
    # The king can make the same plies.
    for text, taken in (("K c7-c3", ""), ("K c3-c7", ""), ("K f7-f5 b=g5", "g5"), ("K f5-f7", "")):
        yield text, _plays(game, {}, text, taken)


def _plays(game: NaiveGame, others: dict[str, str], text: str, taken: str) -> bool:
    """Return whether a ply such as ``b d7-d5 w=c5`` is legal, captures only ``taken`` and does not decide the game."""
    piece, move, *more_pieces = text.split()
    start, target = game.parse_move(move)
    pieces = {_cell(cell_of(square)): other for other, square in others.items()}
    pieces |= {_cell(cell_of(square)): other for other, square in (entry.split("=") for entry in more_pieces)}
    # Add an attacker elsewhere to prevent a capture from deciding the game.
    pieces |= {start: piece, _cell(cell_of("e1")): "b"}
    position = NaivePosition(pieces, "b" if piece == "b" else "w")
    if (start, target) not in game.legal_moves(position):
        return False
    result = game.apply(position, (start, target))
    return result.outcome is None and result.captured == ({_cell(cell_of(taken))} if taken else set())


def full_board(regions: dict[int, Region]) -> dict[tuple[int, int], str]:
    """Return the pieces on the board for given placements of the outer regions."""
    pieces = {}
    for lower, region in regions.items():
        for place, cell in enumerate(UPPER):
            at = _cell(mirrored(cell) if lower else cell)
            if region.black >> place & 1:
                pieces[at] = "b"
            elif place == region.king:
                pieces[at] = "K"
            elif region.soldiers >> place & 1:
                pieces[at] = "w"
    return pieces


def _cell(cell: int) -> tuple[int, int]:
    """Return a cell as a pair of file and rank."""
    return cell % SIZE, cell // SIZE


def check_steps() -> StepChecks:
    """Check every step of the proof except for the openings and the closures."""
    game = NaiveGame(load_variant("ashton"))
    facts = [*_parking(), *_gate(), *_camps(game), *_sorties(game)]
    return StepChecks(len(facts), tuple(name for name, holds in facts if not holds))


# -- the construction's openings: games from the start until all pieces are parked or in full camps


CENTRE: Final = 0b0001
TIP: Final = 0b1000
_FULL: Final = 0b1111


class Opening(NamedTuple):
    """An opening: its token camp, the attackers in this camp, whether the king is parked, and the side to move."""

    camp: int
    held: int
    king: int
    side: str


OPENINGS: Final = tuple(
    Opening(camp, held, king, side)
    for camp in range(len(CAMPS))
    for held in range(1, _FULL)
    if bool(held & CENTRE) != bool(held & TIP)
    for king in (0, 1)
    for side in "wb"
)


def opening_position(opening: Opening) -> NaivePosition:
    """Return an opening's final position."""
    out = 4 - opening.held.bit_count()
    regions = {0: parked(RegionMaterial(out, 4, opening.king)), 1: parked(RegionMaterial(0, 4, 0))}
    pieces = full_board(regions)
    if not opening.king:
        pieces[CASTLE % SIZE, CASTLE // SIZE] = "K"
    for number, camp in enumerate(CAMPS):
        held = opening.held if number == opening.camp else _FULL
        pieces |= {(cell % SIZE, cell // SIZE): "b" for bit, cell in enumerate(camp) if held >> bit & 1}
    return NaivePosition(pieces, opening.side)


@lru_cache(maxsize=1)
def _games() -> dict[Opening, tuple[tuple[int, int], ...]]:
    """Return a game for each opening. Openings are missing if the search for them fails."""
    variant = load_variant("ashton")
    engine = engine_for(variant)
    positions = [opening_position(opening) for opening in OPENINGS]
    boards = [
        engine.board("".join(p.pieces.get((c % SIZE, c // SIZE), ".") for c in range(SIZE * SIZE)), p.side)
        for p in positions
    ]
    found = finder_for(variant).find(np.array(boards))
    return {opening: game.moves for opening, game in zip(OPENINGS, found, strict=True) if game.status == "game"}


def opening_moves(opening: Opening) -> tuple[tuple[int, int], ...]:
    """Return a game from the start to an opening's position."""
    return _games()[opening]


def check_openings() -> StepChecks:
    """Replay every opening's game under the plain rules."""
    checker = Checker(load_variant("ashton"))
    failures = []
    for opening in OPENINGS:
        moves = _games().get(opening)
        wrong = "no game was found" if moves is None else checker.game(opening_position(opening), list(moves))
        if wrong is not None:
            failures.append(f"{opening}: {wrong}")
    return StepChecks(len(OPENINGS), tuple(failures))
