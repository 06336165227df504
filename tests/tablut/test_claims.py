"""What `tablut variants` says of the rule fields together, held against the plain rules for every two fields."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any, get_args

import pytest

from tablut import Board
from tablut.rules import NaiveGame, NaivePosition
from tablut.rules.claims import claims
from tablut.variants import Rules, Variant, load_variant, rule_fields, shipped_variants
from tablut.variants.model import Repetition

# The castle has a neighbour on the edge, one beside a corner, and two beside a camp.
CROWDED = ("X.A..", ".T...", "..B..", ".....", "X...X")
WIDE = ("X.....X", *["......."] * 2, "...T...", *["......."] * 2, "X.....X")
START = ("..b..", ".K...", ".....", ".....", "w...."), ("...b...", *["......."] * 2, "...K...", *["......."] * 3)
WALLS = [None, *({"corner": corner, "mover": mover} for corner in (True, False) for mover in ("bracket", "any"))]
VALUES: dict[str, list[Any]] = {
    "first": ["white", "black"],
    "castle.pass": ["nobody", "king", "everyone"],
    "castle.stop": ["nobody", "king"],
    "castle.hostile_to_white": ["never", "empty", "empty_or_besieged", "always"],
    "castle.hostile_to_black": ["never", "empty", "always"],
    "camps.hostile": [True, False],
    "camps.shelter": [True, False],
    "camps.inert": [[], ["c3"]],
    "corners.hostile": [True, False],
    "corners.wide": [False, True],
    "king.armed": [True, False],
    "king.on_castle": ["four", "two"],
    "king.beside_castle": ["as_on_castle", "as_elsewhere"],
    "king.elsewhere": ["two", "four"],
    "no_moves": ["side_to_move_loses", "either_after_ply"],
    "repetition": [
        *({"times": times, "result": "draw"} for times in (2, 3)),
        *({"times": 2, "result": word} for word in get_args(Repetition.model_fields["result"].annotation)[1:]),
    ],
    "move_limit": [None, 3],
    "shieldwall": WALLS,
    "fort": ["none", "on_edge", "on_edge_counted"],
    "encirclement": ["none", "no_way_to_edge"],
}
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
Answers = Mapping[str, Mapping[str, Any]]


def rules_with(values: Mapping[str, Any]) -> Rules:
    """Return rules whose other fields have their first value."""
    plain: dict[str, Any] = {}
    for name, of_field in VALUES.items():
        table, _, field = name.rpartition(".")
        (plain.setdefault(table, {}) if table else plain)[field] = values.get(name, of_field[0])
    return Rules.model_validate(plain)


def rule_sets() -> Iterator[Rules]:
    """Yield rules in which every two values of two fields occur together, each set the best of some drawn ones."""
    draw = random.Random(48)
    left = {
        pair
        for one, other in combinations(VALUES, 2)
        for pair in product(enumerated(one, VALUES[one]), enumerated(other, VALUES[other]))
    }
    yield rules_with({})
    while left:
        drawn = [{name: draw.randrange(len(values)) for name, values in VALUES.items()} for _ in range(20)]
        covered = [left.intersection(combinations(chosen.items(), 2)) for chosen in drawn]
        best = max(range(len(drawn)), key=lambda number: len(covered[number]))
        if covered[best]:
            left -= covered[best]
            yield rules_with({name: VALUES[name][number] for name, number in drawn[best].items()})


def enumerated(name: str, values: list[Any]) -> list[tuple[str, int]]:
    return [(name, number) for number in range(len(values))]


def cell(name: str) -> tuple[int, int]:
    return ord(name[0]) - ord("a"), int(name[1]) - 1


def placed(**pieces: str) -> dict[tuple[int, int], str]:
    """Return the pieces that stand on the squares named."""
    return {cell(square): piece for piece, squares in pieces.items() for square in squares.split()}


def played(game: NaiveGame, pieces: dict[tuple[int, int], str], piece: str, target: tuple[int, int]) -> Any:
    """Return what a piece does that arrives on a cell, from anywhere."""
    start = (-5, -5)
    return game.apply(NaivePosition({**pieces, start: piece}, "b" if piece == "b" else "w"), (start, target))


def kinds(
    game: NaiveGame, pieces: Mapping[tuple[int, int], str], at: tuple[int, int], victim: tuple[int, int]
) -> set[str]:
    """Return the words of claims that are true of a cell, seen from a piece beside it."""
    found = {{"b": "attacker", "w": "defender", "K": "king"}.get(pieces.get(at, ""), "")}
    letter = game.terrain.get(at, "")
    found |= {"camp"} if letter in tuple("AB") else {"corner"} if letter == "X" else set()
    if at == game.castle:
        others = [(at[0] + x, at[1] + y) for x, y in STEPS]
        besieged = all(pieces.get(other) == "b" for other in others if other != victim)
        found |= {"occupied castle"} if at in pieces else {"empty castle"}
        found |= {"besieged castle"} if at in pieces and besieged else set()
    return found


def check_king(game: NaiveGame, said: Answers) -> None:
    """Surround the king on, beside and away from the castle, in every way that an attacker completes."""
    for king in map(cell, ("b4", "c4", "b3", "a4", "d3", "b1")):
        sides = [(king[0] + x, king[1] + y) for x, y in STEPS]
        place = "on" if king == game.castle else "beside" if game.castle in sides else ""
        answer = said[f"king {place} the castle" if place else "king elsewhere"]
        free = [side for side in sides if side in game.terrain and game.terrain[side] not in "TX"]
        for target in free:
            for size in range(4):
                for others in combinations([side for side in free if side != target], size):
                    pieces = {king: "K", **dict.fromkeys(others, "b")}
                    hostile = [
                        side == target or bool(kinds(game, pieces, side, king).intersection(answer["hostile"]))
                        for side in sides
                    ]
                    at = sides.index(target)
                    expected = all(hostile) if answer["sides"] == 4 else hostile[(at + 2) % 4]
                    outcome = played(game, pieces, "b", target).outcome
                    assert (outcome is not None and outcome.termination == "king_captured") == expected, (
                        king,
                        others,
                        target,
                    )


def check_soldiers(game: NaiveGame, said: Answers) -> None:
    """Capture soldiers of both kinds between each mover and each kind of cell, also in a camp."""
    for victim, step in product(map(cell, ("c4", "b3", "b2", "c2", "c3", "b5")), STEPS):
        near, far = ((victim[0] + n * step[0], victim[1] + n * step[1]) for n in (-1, 1))
        if near not in game.terrain or game.terrain[near] in "ABTX":
            continue
        siege = {(game.castle[0] + x, game.castle[1] + y): "b" for x, y in STEPS}
        for soldier, mover, behind, besieged in product("bw", "bwK", ("", "b", "w", "K"), (False, True)):
            in_camp = game.terrain[victim] in "AB" and soldier == "w"
            if (mover == "b") == (soldier == "b") or (behind == "K" and mover == "K") or in_camp:
                continue
            if behind in ("b", "w") and game.terrain.get(far, "T") in "TX":
                continue
            pieces = {**(siege if besieged else {}), victim: soldier, **({far: behind} if behind else {})}
            if far not in game.terrain or (behind == "" and pieces.pop(far, "")):
                continue
            pieces.pop(near, None)
            if "K" not in pieces.values():
                pieces[cell("d1")] = "K"
            name = "a defender" if soldier == "w" else "an attacker"
            answer = said[f"capture of {name}"]
            hostile = kinds(game, pieces, far, victim).intersection(answer["hostile"])
            inert = chr(97 + far[0]) + str(far[1] + 1) in answer["inert"]
            expected = {"b": "attacker", "w": "defender", "K": "king"}[mover] in answer["movers"]
            expected &= bool(hostile - ({"camp"} if inert else set()))
            expected &= not (answer["sheltered"] and game.terrain[victim] in "AB")
            taken = victim in played(game, pieces, mover, near).captured
            assert taken == expected, (victim, far, soldier, mover, behind, besieged)


def check_castle(game: NaiveGame, said: Answers) -> None:
    for piece, name in (("b", "attacker"), ("w", "defender"), ("K", "king")):
        moves = game.legal_moves(NaivePosition({cell("a4"): piece}, "b" if piece == "b" else "w"))
        targets = {target for _, target in moves}
        assert (cell("c4") in targets) == (name in said["castle"]["crossing"])
        assert (game.castle in targets) == (name in said["castle"]["stopping"])


def check_shieldwall(game: NaiveGame, said: Answers) -> None:
    wall = said.get("shieldwall", {"corner": False, "completing": [], "king": False})
    row = {cell("e3"), cell("e4")}
    between = placed(w="e3 e4", b="d3 d4 e2", K="b1")
    assert (played(game, between, "b", cell("e5")).captured >= row) == ("end" in wall["completing"])
    between = placed(w="e3 e4", b="d3 e2 e5", K="b1")
    assert (played(game, between, "b", cell("d4")).captured >= row) == ("front" in wall["completing"])
    corner = placed(w="b1 c1", b="b2 c2", K="e4")
    assert (played(game, corner, "b", cell("d1")).captured >= {cell("b1"), cell("c1")}) == wall["corner"]
    with_king = placed(b="e3 e4", w="d3 d4", K="e2")
    assert (played(game, with_king, "w", cell("e5")).captured >= row) == bool(wall["completing"] and wall["king"])


def check_ends(game: NaiveGame, wide: NaiveGame, said: Answers) -> None:
    """Shut black in by its own ply, stand in a fort, and close a ring."""
    stuck = played(game, placed(K="b4", w="d4"), "b", cell("c4")).outcome
    assert (stuck is not None and (stuck.termination, stuck.winner) == ("no_moves", "white")) == said["no moves"][
        "either"
    ]
    assert game.start().side == said["first"]["side"][0]
    fort = wide.read("7/7/1b5/7/2w1w2/1w3w1/1w1K1w1 w")
    outcome = played(wide, dict(fort.pieces), "w", cell("d3")).outcome
    assert (outcome is not None and outcome.termination == "exit_fort") == said["fort"]["wins"]
    ring = wide.read("7/2bbb2/1b2wb1/1b1K3/1b3b1/2bbb2/7 b")
    outcome = played(wide, dict(ring.pieces), "b", cell("f4")).outcome
    assert (outcome is not None and outcome.termination == "encirclement") == said["encirclement"]["wins"]


def check_history(variant: Variant, said: Answers, side: str) -> None:
    """Move to and fro: the second player's move back makes a position again."""
    board = Board(variant, f"4b/5/5/5/1K3 {side}")
    moves = ["b1-b2", "e5-e4", "b2-b1", "e4-e5"]
    order = moves if board.turn == "white" else [moves[1], moves[0], moves[3], moves[2]]
    limit, repetition = said["move limit"]["plies"], said["repetition"]
    last = "black" if board.turn == "white" else "white"
    loser = {"mover_loses": last, "white_loses": "white", "black_loses": "black"}.get(repetition["result"])
    recurs = 4 * (repetition["times"] - 1)
    for ply in range(1, 9):
        move = order[(ply - 1) % 4]
        forbidden = ("illegal", "illegal_for_white") if board.turn == "white" else ("illegal",)
        if ply >= recurs and repetition["result"] in forbidden:
            assert not board.is_legal(move)
            return
        assert board.is_legal(move)
        board.push(move)
        outcome = board.outcome()
        if ply == recurs and repetition["result"] not in ("none", "illegal_for_white"):
            assert outcome is not None
            winner = last if repetition["result"] == "mover_wins" else None
            assert outcome.winner == (winner if loser is None else "white" if loser == "black" else "black")
            return
        if ply == limit:
            assert outcome is not None
            assert outcome.winner is None
            return
        assert outcome is None


def check(rules: Rules, *, claimed: Rules | None = None) -> None:
    """Hold all claims of rules against what is played under them."""
    variants = [
        Variant("claims", "", "", terrain, start, rules) for terrain, start in zip((CROWDED, WIDE), START, strict=True)
    ]
    game, wide = map(NaiveGame, variants)
    about = Variant("claims", "", "", CROWDED, START[0], claimed or rules)
    said = {claim.question: claim.answer for claim in claims(about)}
    check_king(game, said)
    check_soldiers(game, said)
    check_castle(game, said)
    check_shieldwall(game, said)
    check_ends(game, wide, said)
    for side in "wb":
        check_history(variants[0], said, side)


def test_every_two_fields_do_together_what_is_claimed() -> None:
    for rules in rule_sets():
        check(rules)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "corners.wide"])
def test_the_check_sees_each_field(name: str) -> None:
    """Claims made of other rules are refuted; a shape of terrain says nothing beyond its drawing."""
    # A king that captures is hostile to black on the castle, whatever the castle is.
    others = {"king.armed": False} if name == "castle.hostile_to_black" else {}
    # Both find the fort of this check; they differ in forts of few attackers.
    values = [value for value in VALUES[name] if value != "on_edge_counted"]
    for one, other in combinations(values, 2):
        with pytest.raises((AssertionError, KeyError)):
            check(rules_with({**others, name: one}), claimed=rules_with({**others, name: other}))


def test_every_field_is_varied() -> None:
    fields = {field.name for variant in shipped_variants() for field in rule_fields(variant.rules)}
    assert {name if name in VALUES else name.partition(".")[0] for name in fields} <= VALUES.keys()


def test_a_board_is_asked_only_about_the_cells_that_it_has() -> None:
    questions = [claim.question for claim in claims(load_variant("sea-battle-9"))]
    assert not any("castle" in question for question in questions)
    assert "camp" not in " ".join(claim.sentence for claim in claims(load_variant("brandubh")))
