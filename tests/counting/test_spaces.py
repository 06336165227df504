"""Every space, union and Burnside count against the enumeration that shares nothing with them."""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings

from counting.exclusions.sets import locked_sets
from counting.paper import PaperEquations
from counting.spaces import FINAL, classes, spaces
from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import Variant, load_variant
from tablut.variants.schema import parse_variant
from tests.support.effort import ALL_CASES, MORE, examples, slow_but
from tests.support.strategies import shrunk, small_variants
from tests.twins.brute import BruteForce


def assert_equals_brute_force(variant: Variant) -> None:
    counts, orbits = BruteForce(variant).count()
    found = spaces(variant)
    assert counts.keys() <= found.keys()
    for id_, space in found.items():
        counted = {(attackers, defenders): count for attackers, defenders, count in space.material().pairs() if count}
        assert counted == dict(counts.get(id_, {})), (variant.name, id_)
        assert classes(space) == orbits.get(id_, 0), (variant.name, id_)


@pytest.mark.slow
def test_fourteen_million_placements_one_by_one() -> None:
    assert_equals_brute_force(load_variant("ashton-5-4v2"))


@settings(max_examples=examples(4, 2 * MORE), deadline=None)
@given(small_variants(size=5, most_attackers=2, most_defenders=1, later=True))
def test_any_rules_on_any_terrain(variant: Variant) -> None:
    assert_equals_brute_force(variant)
    assert_no_ply_leads_to_what_is_left_out(variant, 40)


@settings(max_examples=examples(10, 2 * MORE), deadline=None)
@given(small_variants(size=3, most_attackers=4, most_defenders=3, later=True))
def test_any_rules_on_the_smallest_board(variant: Variant) -> None:
    assert_equals_brute_force(variant)
    assert_no_ply_leads_to_what_is_left_out(variant, 40)


@pytest.mark.parametrize(
    "name", slow_but([], ["copenhagen", "saami-tablut", "tawlbwrdd-throneless", "sea-battle-9", "alea-evangelii"])
)
def test_the_rules_of_the_tafl_family_on_small_boards(name: str) -> None:
    assert_equals_brute_force(shrunk(name))
    assert_no_ply_leads_to_what_is_left_out(shrunk(name), 400)


def assert_no_ply_leads_to_what_is_left_out(variant: Variant, samples: int) -> None:
    """From a placement that is left, the plain rules lead to such placements only: so no game leaves them."""
    brute, game, size = BruteForce(variant), NaiveGame(variant), variant.size
    family = [{(cell % size, cell // size, piece) for cell, piece in found} for found in locked_sets(variant, 3)]
    kingless = [found for found in family if all(piece != "K" for *_, piece in found)]

    def labels(pieces: Mapping[tuple[int, int], str], final: bool) -> set[str]:
        black, white = (frozenset(cell for cell, piece in pieces.items() if piece == kind) for kind in "bw")
        held = {(*cell, piece) for cell, piece in pieces.items()}
        locked = {"locked" for found in (kingless if final else family) if found <= held}
        king = next(cell for cell, piece in pieces.items() if piece == "K")
        return locked | set(brute.labels((king, black, white)))

    pieces_of = [
        {**dict.fromkeys(black, "b"), **dict.fromkeys(white, "w"), king: "K"}
        for king, black, white in brute.placements()
        if king in brute.king_cells and black
    ]
    random = Random(1)
    for pieces in random.sample(pieces_of, min(samples, len(pieces_of))):
        if labels(pieces, final=False) & {"locked", "excluded_no_end"}:
            continue
        for side in "bw":
            position = NaivePosition(pieces, side)
            for move in game.legal_moves(position):
                result = game.apply(position, move)
                after = result.position.pieces
                some = "b" in after.values()
                if result.outcome is not None and result.outcome.termination == "king_captured":
                    space = "king_captured"
                elif result.position.king() in brute.king_cells:
                    space = "no_end" if some else "all_captured"
                else:
                    space = "escaped" if some else "escaped_last"
                found = labels(after, final=space != "no_end")
                assert space in found, (variant, position, move)
                assert not found & {"locked", f"excluded_{space}"}, (variant, position, move)


HELD_AT_HOME = """
format = 1
first = "white"
no_moves = "side_to_move_loses"
repetition = "draw"
terrain = "+.+\\n.T.\\n+.+"
start = "START"
castle = {pass = "nobody", stop = "nobody", hostile_to_white = "never", hostile_to_black = "never"}
king = {armed = true, on_castle = "two", elsewhere = "two"}
"""


@pytest.mark.parametrize(("start", "excludes"), [(r"...\nbKb\n.w.", False), (r".b.\nbK.\n.w.", True)])
def test_a_start_between_two_attackers_is_a_reachable_position(start: str, excludes: bool) -> None:
    """The king is captured by an arrival only, so a game may begin with a king between two attackers."""
    variant = parse_variant(HELD_AT_HOME.replace("START", start), name="held", origin="test")
    assert_equals_brute_force(variant)
    assert (spaces(variant)["excluded_no_end"].value() > 0) == excludes


def test_a_king_that_escapes_may_take_the_last_attackers_by_a_shieldwall() -> None:
    game = NaiveGame(shrunk("copenhagen"))
    result = game.apply(game.read("5/5/K4/1ww2/1bbw1 w"), game.parse_move("a3-a1"))
    assert (len(result.captured), result.outcome) == (2, ("king_escaped", "white"))
    kept, left_out = (spaces(shrunk(name))["excluded_escaped_last"].value() for name in ("copenhagen", "fetlar"))
    assert kept == 0 < left_out


@pytest.mark.parametrize("name", ALL_CASES)
def test_spaces_contain_what_the_paper_counts(name: str) -> None:
    variant = load_variant(name)
    paper, found = PaperEquations(variant), spaces(variant)
    for equation, space in {"eq6": "no_end", "eq7": "all_captured", "eq8": "escaped"}.items():
        assert found[space].value() == paper[equation].value()
    patterns = sum(part.value() for some in paper.patterns.values() for part in paper.captured(some))
    assert found["king_captured"].value() <= patterns
    for space in ("no_end", *FINAL[:3]):
        assert 0 <= found[f"excluded_{space}"].value() <= found[space].value()


# -- polynomials by material -----------------------------------------------------------------
