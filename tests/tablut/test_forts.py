"""Forts held to a search of all that black can do while white only moves the king within; see docs/rules-family.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.engine import engine_for
from tablut.position import Move, Position
from tablut.rules import OUTCOMES, NaiveGame, NaivePosition
from tablut.variants import load_variant
from tests.support.effort import examples, slow_but
from tests.tablut.test_family_rules import NARROW, small

if TYPE_CHECKING:
    from tablut.rules.naive import Cell
    from tablut.variants import Variant


def room(game: NaiveGame, position: NaivePosition) -> set[Cell]:
    """Return the king's cell and the empty cells that hang together with it; a castle that shuts black out is none."""
    found, pending = {position.king()}, [position.king()]
    shut = set() if game.rules.castle.passable == "everyone" else {game.castle}
    while pending:
        file, rank = pending.pop()
        for cell in ((file, rank + 1), (file + 1, rank), (file, rank - 1), (file - 1, rank)):
            if cell in game.terrain and cell not in found | shut and not position.piece(cell):
                found.add(cell)
                if game.terrain[cell] != "X":
                    pending.append(cell)
    return found


def breaks(game: NaiveGame, position: NaivePosition, most: int) -> bool | None:
    """Return whether black can come in, take the king or leave it no move; None after so many positions."""
    inside = room(game, position)
    seen, pending = set(), [position]
    while pending:
        at = pending.pop()
        key = at.side, frozenset(at.pieces.items())
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > most:
            return None
        moves = game.legal_moves(at)
        if at.side == "w":
            king = at.king()
            moves = [move for move in moves if move[0] == king and move[1] in inside]
            if not moves:
                return True
        for move in moves:
            result = game.apply(at, move)
            if result.outcome is None:
                if any(result.position.piece(cell) == "b" for cell in inside):
                    return True
                pending.append(result.position)
            elif result.outcome.termination == "king_captured":
                return True
    return False


def candidate(game: NaiveGame, random: Random, attackers: int) -> NaivePosition | None:
    """Return a position after white's ply: some room at the edge, most of what is around it white, black elsewhere."""
    size = game.size
    inner = {cell for cell, letter in game.terrain.items() if letter == "."}
    king = random.choice(sorted(cell for cell in inner if not {0, size - 1}.isdisjoint(cell)))
    inside, pieces = {king}, {king: "K"}

    def around() -> list[Cell]:
        near = {(f + x, r + y) for f, r in inside for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0))}
        return sorted((near - inside) & inner)

    for _ in range(random.randrange(1, 4)):
        if around():
            inside.add(random.choice(around()))
    wall = around()
    extra = random.sample(sorted(inner - inside - set(wall)), random.randrange(3))
    for cell in wall + extra:
        if random.random() < 0.97:
            pieces[cell] = "w"
    left = sorted(inner - inside - pieces.keys())
    if len(left) < attackers:
        return None
    return NaivePosition(pieces | dict.fromkeys(random.sample(left, attackers), "b"), "b")


def compare(variant: Variant, random: Random, tries: int, most: int, attackers: int) -> Counter[tuple[bool, ...]]:
    """Return how often each answer was given: a fort, a fort when men are counted, whether black broke it."""
    kinds = ("on_edge", "on_edge_counted")
    games = [NaiveGame(replace(variant, rules=variant.rules.model_copy(update={"fort": kind}))) for kind in kinds]
    on = NaiveGame(replace(variant, rules=variant.rules.model_copy(update={"fort": "none", "encirclement": "none"})))
    found: Counter[tuple[bool, ...]] = Counter()
    while found.total() < tries:
        position = candidate(on, random, random.randrange(1, attackers + 1))
        if position is not None and (broken := breaks(on, position, most)) is not None:
            held = [game.is_fort(position) for game in games]
            found[(*held, broken)] += 1
            assert not (broken and any(held)), on.write(position)
            assert held[0] <= held[1], on.write(position)
    return found


FIVE = ("X...X", ".....", "..T..", ".....", "X...X")
BOARDS = {
    "corners": small(FIVE),
    "any piece may close": small(FIVE, shieldwall={"corner": True, "mover": "any"}),
    "the castle shuts": small(FIVE, castle__pass="king", king__on_castle="two", king__elsewhere="two"),
    "no castle": small(("X...X", *["....."] * 3, "X...X"), corners__hostile=False, king__armed=False),
    "seven": small(NARROW),
}


@pytest.mark.parametrize("name", slow_but(["corners", "seven"], BOARDS))
def test_no_fort_is_broken(name: str) -> None:
    found = compare(BOARDS[name], Random(name), examples(4 if name == "seven" else 16), 2000, 2)
    assert any(held for held, *_ in found)


@pytest.mark.parametrize("kind", ["on_edge", "on_edge_counted"])
@pytest.mark.parametrize("name", slow_but(["corners", "no castle", "copenhagen"], BOARDS))
def test_compiled_rules_see_the_same_forts(name: str, kind: str) -> None:
    """A soldier steps into its place in the wall; edges full of soldiers make rows for shieldwalls."""
    variant, ends = BOARDS.get(name) or load_variant(name), Counter[str]()
    variant = replace(variant, rules=variant.rules.model_copy(update={"fort": kind}))
    game, engine = NaiveGame(variant), engine_for(variant)

    @given(st.randoms(use_true_random=False))
    @settings(max_examples=examples(10), deadline=None)
    def check(random: Random) -> None:
        # A number of its own: what hypothesis draws for each piece is too long to shrink.
        chance = Random(random.random())
        for _ in range(4):
            before = walled(game, chance)
            steps = [move for move in game.legal_moves(before) if before.piece(move[0]) == "w"]
            for move in chance.sample(steps, min(4, len(steps))):
                cells = Position.parse(game.write(before), game.size).cells
                result = game.apply(before, move)
                _, outcome = engine.make(engine.board(cells, "w"), Move.parse(game.move_name(move), game.size).code)
                assert OUTCOMES[outcome] == result.outcome, (game.write(before), game.move_name(move))
                ends[result.outcome.termination if result.outcome else ""] += 1

    check()
    assert ends["exit_fort"] > 0


def walled(game: NaiveGame, random: Random) -> NaivePosition:
    """Return a position before white's ply: a fort or nearly one, a soldier of it elsewhere, another edge half full."""
    while (position := candidate(game, random, random.randrange(1, 7))) is None:
        continue
    pieces, along, far = dict(position.pieces), random.randrange(2), random.choice([0, game.size - 1])
    for cell, letter in game.terrain.items():
        if letter == "." and cell[along] == far and random.random() < 0.5:
            pieces.setdefault(cell, "w")
    king = position.king()
    beside = [
        cell for cell in pieces if pieces[cell] == "w" and max(abs(cell[0] - king[0]), abs(cell[1] - king[1])) < 3
    ]
    if beside:
        gone = random.choice(sorted(beside))
        del pieces[gone]
        empty = [cell for cell, letter in game.terrain.items() if letter == "." and cell not in pieces and cell != gone]
        near = [cell for cell in empty if 0 in (cell[0] - gone[0], cell[1] - gone[1])]
        if near:
            pieces[random.choice(sorted(near))] = "w"
    return NaivePosition(pieces, "w")
