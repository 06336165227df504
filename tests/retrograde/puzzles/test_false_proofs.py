"""No false proof passes: certificates forged by construction, under every rule, judged by play on a board.

Each base is a true proof; `forging` alters it. What reader and checker accept
must be won in play, with the history of the game, against everything.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.proofs.certificate import ProofCertificate, build_certificate
from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.win_search import Budget, WinSearch
from tablut.engine import engine_for
from tablut.testing import small_variants
from tablut.variants import Variant, load_variant, variant_names
from tests.support.forging import Forgery, accepts, forgeries, plays_out, random_proof, with_limit

OTHERS = (load_variant("brandubh-5-4v0"), load_variant("ashton-5-4v0"), load_variant("mcgill"))
REPETITION = ("draw", "mover_loses", "none")


def under(variant, random: Random):
    """The same board under other rules about history and immobility."""
    rules = variant.rules.model_copy(
        update={
            "repetition": random.choice(REPETITION),
            "no_moves": random.choice(("side_to_move_loses", "either_after_ply")),
            "move_limit": random.choice((None, 1, 2, 3, 4, 5, 6, 20)),
        }
    )
    return replace(variant, rules=rules)


def attack(variant, random: Random, told: Counter, **sizes: int) -> None:
    """Forge a proof in every way; nothing that is not so may be accepted."""
    proof = random_proof(variant, random, **sizes)
    if proof is None:
        return
    limit = variant.rules.move_limit
    given_rules = variant if proof.variant is None else None
    honest = Forgery("honest", proof.text(), given_rules)
    told["bases"] += 1
    # The strategy is right; whether it fits into the game is what the checker must see.
    assert accepts(honest) == plays_out(honest, variant) == (limit is None or proof.plies <= limit)
    if limit is not None and proof.plies <= limit:
        # With plies left that suffice just so, and one fewer.
        for left in (proof.plies, proof.plies - 1):
            late = Forgery("late", replace(proof, plies_left=left).text(), given_rules)
            assert accepts(late) == plays_out(late, variant) == (left == proof.plies)
    for forgery in forgeries(proof, variant, random, OTHERS):
        told["forged"] += 1
        if accepts(forgery):
            told["accepted"] += 1
            rules = forgery.given or variant
            assert plays_out(forgery, rules), (forgery.label, forgery.text[:2000])
        else:
            told[forgery.label] += 1


@pytest.mark.parametrize("name", variant_names())
def test_forged_under_shipped_rules(name: str) -> None:
    told: Counter = Counter()
    random = Random(name)
    variant = load_variant(name)
    attack(variant, random, told, most_plies=4, most_positions=80)
    attack(under(variant, random), random, told, most_plies=4, most_positions=80)
    assert told["bases"] >= 1
    assert told["forged"] >= 100
    assert told["accepted"] < told["forged"] / 4


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(), seed=st.integers(0, 2**32))
def test_forged_under_random_rules(variant, seed: int) -> None:
    random = Random(seed)
    attack(under(variant, random), random, Counter(), most_plies=4, most_positions=60)


@pytest.mark.parametrize(
    ("root", "winner"),
    [
        ("1b1/bKb/1b1 b", "white"),  # white has no move: black has won
        ("1b1/bKb/1b1 b", "black"),
        ("1b1/bKb/1b1 w", "black"),
        ("K2/3/2b b", "white"),
        ("3/1K1/3 b", "white"),
        ("1b1/b1b/1b1 b", "white"),
        ("K2/1K1/2b b", "white"),
    ],
)
@pytest.mark.parametrize("no_moves", ["side_to_move_loses", "either_after_ply"])
def test_what_a_ply_has_decided_proves_nothing(root: str, winner: str, no_moves: str) -> None:
    variant = decided_board(no_moves)
    claim = ProofCertificate(None, variant.digest, root, winner, 0, None, {})
    forgery = Forgery("decided", claim.text(), variant)
    # Nobody can move in the first three: that loses for the side to move, where it is asked on its turn.
    lost = no_moves == "side_to_move_loses" and (root, winner) in [
        ("1b1/bKb/1b1 b", "white"),
        ("1b1/bKb/1b1 w", "black"),
    ]
    assert accepts(forgery) == lost
    assert plays_out(forgery, variant) == lost


def decided_board(no_moves: str) -> Variant:
    variant = load_variant("brandubh-5-4v0")
    return replace(
        variant,
        name="tiny",
        terrain=("X.X", ".T.", "X.X"),
        start=(".b.", ".K.", ".b."),
        rules=variant.rules.model_copy(update={"no_moves": no_moves}),
    )


@pytest.mark.parametrize(
    ("limit", "left", "holds"),
    [
        (None, None, True),
        (3, 3, True),
        (9, 3, True),
        (2, 2, False),
        (9, 2, False),
        (3, 4, False),
        (9, None, False),
        (None, 2, False),
        (None, 10**12, False),
    ],
)
def test_a_win_must_fit_into_the_plies_that_are_left(limit: int | None, left: int | None, holds: bool) -> None:
    variant = with_limit(load_variant("ashton-5-4v0"), limit)
    root = "2b2/5/b1K1b/5/2b2 w"
    search = WinSearch(engine_for(variant), 0, 1 << 18, Budget(ProofLimits()))
    assert search.within(engine_for(variant).start(), 3)
    proof = build_certificate(engine_for(variant), search, engine_for(variant).start(), 3, 100)
    assert proof.position == root
    assert proof.plies_left == limit
    late = Forgery("late", replace(proof, plies_left=left).text(), variant)
    assert accepts(late) == holds
    assert plays_out(late, variant) == holds or left == 10**12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_many_are_forged(seed: int) -> None:
    """Some 10,000 files."""
    random = Random(seed)
    told: Counter = Counter()
    variant = load_variant(random.choice(variant_names()))
    attack(variant, random, told, most_plies=5, most_positions=400)
    attack(with_limit(variant, random.randrange(1, 8)), random, told, most_plies=5, most_positions=400)
    attack(under(variant, random), random, told, most_plies=5, most_positions=400)
