"""No false proof passes: certificates forged by construction, under every rule, judged by play on a board.

Each base is a true proof; `retrograde.testing` alters it. What reader and checker accept
must be won in play, with the history of the game, against everything.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.testing import Forgery, accepts, forgeries, plays_out, random_proof, with_limit
from tablut.testing import small_variants
from tablut.variants import load_variant, variant_names

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


WEAKNESSES = {
    "the move limit is not read": ("_walk", lambda check: setattr(check, "plies_left", None)),
    "any root is played on from": ("_playable", None),
    "plies are not counted": ("_losers_turn", lambda check: setattr(check, "_needed", Silent())),
    "who has won is not asked": ("_winners_turn", lambda check: setattr(check, "failures", Silent.failures(check))),
}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(), seed=st.integers(0, 2**32))
def test_forged_under_random_rules(variant, seed: int) -> None:
    random = Random(seed)
    attack(under(variant, random), random, Counter(), most_plies=4, most_positions=60)


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
