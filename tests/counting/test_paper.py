"""The equations of the paper: independent sums, printed digits, stated geometry, any variant."""

from math import factorial, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting.paper import PaperEquations, Subspace, is_rounded
from tablut.variants import load_variant, variant_names
from tests.support.effort import slow_but

EXACT = {
    "eq1": 2 * 2**16 * 3**20 * 4**44,
    "eq3": 6096405542257313008648679261,
    "eq4": 30313248887018321011379867,
    "eq5": 917576000369514086068284388,
    "eq6": 947889249256532407079664255,
    "eq7": 203208853237,
    "eq8": 228207007117729462830447728,
    "eq9": 28473508057241538423256,
    "eq10": 505571024180850074037344,
    "eq11": 80234626852410989076948320,
    "eq12": 41019808636966473872687808,
    "eq13": 349995487139345220601397693,
    "eq14": 1297884736395877627681061948,
}


def triple_sum(subspace: Subspace) -> int:
    """The paper's sum over b, w and c, from its equation (2): permutations with repetition."""

    def arrangements(cells: int, *kinds: int) -> int:
        empty = cells - sum(kinds)
        return 0 if empty < 0 else factorial(cells) // prod(map(factorial, (*kinds, empty)))

    return subspace.multiplicity * sum(
        arrangements(subspace.camp_cells, c) * arrangements(subspace.free_cells, b - c, w)
        for b in subspace.attackers
        for w in subspace.defenders
        for c in range(b + 1)
    )


@pytest.fixture(scope="module")
def paper() -> PaperEquations:
    return PaperEquations(load_variant("ashton"))


@pytest.mark.parametrize("id_", EXACT)
def test_exact_values(paper: PaperEquations, id_: str) -> None:
    assert paper[id_].verified_value() == EXACT[id_]


def test_geometry_is_what_the_paper_states(paper: PaperEquations) -> None:
    facts = paper.geometry()
    assert len(facts) == 13
    assert [fact.description for fact in facts if not fact.agrees] == []


@pytest.mark.parametrize(
    ("text", "exact", "agrees"),
    [
        ("1.6e26", 155 * 10**24, True),
        ("1.6e26", 155 * 10**24 - 1, False),
        ("1.6e26", 165 * 10**24 - 1, True),
        ("1.6e26", 165 * 10**24, False),
        ("1.60e26", 1595 * 10**23, True),
        ("1.60e26", 1594 * 10**23, False),
        ("1e41", 149 * 10**39, True),
        ("1e41", 151 * 10**39, False),
        ("1e41", 96 * 10**39, True),
        ("3e25", 34 * 10**24, True),
    ],
)
def test_agreement_is_judged_to_the_digits_printed(text: str, exact: int, agrees: bool) -> None:
    assert is_rounded(exact, text) is agrees


@pytest.mark.parametrize(
    "name", slow_but(["mcgill", "copenhagen"], [name for name in variant_names() if name != "ashton"])
)
def test_every_variant_is_evaluated_three_ways(name: str) -> None:
    paper = PaperEquations(load_variant(name))
    for equation in paper.equations.values():
        assert equation.verified_value() >= 0
        assert equation.published is None
    assert all(fact.agrees is None for fact in paper.geometry())
    values = {id_: equation.value() for id_, equation in paper.equations.items()}
    assert values["eq6"] == values["eq4"] + values["eq5"] <= values["eq3"] <= values["eq1"]
    assert values["eq14"] == values["eq6"] + sum(values[f"eq{n}"] for n in range(7, 13))


@given(
    camp=st.integers(0, 4),
    free=st.integers(0, 6),
    least=st.integers(0, 2),
    span=st.integers(0, 4),
    defenders=st.integers(0, 3),
    multiplicity=st.integers(1, 60),
    involved=st.integers(0, 4),
)
def test_a_subspace_has_one_value(
    camp: int, free: int, least: int, span: int, defenders: int, multiplicity: int, involved: int
) -> None:
    subspace = Subspace(
        "drawn", multiplicity, camp, free, range(least, least + span + 1), range(defenders + 1), involved
    )
    assert subspace.value() == triple_sum(subspace) == subspace.formula().doit()
