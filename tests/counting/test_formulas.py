"""Every number of a report has a formula, whose value is the number; in JSON, a text that sympy reads."""

import json
from functools import cache
from math import comb
from typing import Any

import pytest
import sympy
from hypothesis import given, settings

from counting import bounds
from counting.complexity import BoundsReport
from counting.formulas import ExactSum, class_formula, fixed_formula
from counting.spaces import classes, fixed_material, spaces
from tablut.cli.shell import run
from tablut.errors import InputError
from tests.support.effort import examples, slow_but
from tests.support.strategies import random_terrains

NAMES = ["ashton", "ashton-5-4v0", "brandubh", "copenhagen"]
report_of = cache(bounds)


@given(random_terrains(sizes=(3, 4, 5)))
@settings(deadline=None, max_examples=examples(8))
def test_formulas_of_random_rules(variant: Any) -> None:
    for space in spaces(variant).values():
        for symmetry in variant.symmetries:
            assert fixed_formula(space, symmetry).doit() == fixed_material(space, symmetry).total(), (
                space.id,
                symmetry,
            )
        assert class_formula(space).doit() == classes(space)


@pytest.mark.parametrize("name", slow_but(["ashton-5-4v0"], NAMES))
def test_every_number_is_the_value_of_its_formula(name: str) -> None:
    report = report_of(name)
    groups = ("corrected", "classes", "tightened", "classes_tightened")
    numbers = {f"{group}.{field}": value for group in groups for field, value in getattr(report, group)}
    assert {term.id: term.exact for term in report.counts} == numbers
    for term in (*report.terms, *report.counts):
        assert report.term(term.id) is term
        assert term.formula.doit() == term.exact, term.id
        assert term.latex.endswith(f" = {term.exact:,}".replace(",", r"\,")), term.id
        assert term.latex.count("{") == term.latex.count("}")


def test_a_sum_with_nested_limits_is_summed_exactly() -> None:
    b, w = sympy.symbols("b w", integer=True, nonnegative=True)
    summand = sympy.binomial(5, w) * sympy.binomial(3 - w, b)
    for low, high in ((1, 4), (0, w), (2, 1)):
        ends = [(low, high if isinstance(high, int) else value) for value in range(5)]
        wanted = sum(
            comb(5, value) * (comb(3 - value, many) if value <= 3 else 0)
            for value, (least, most) in enumerate(ends)
            for many in range(least, most + 1)
        )
        assert ExactSum(summand, (b, low, high), (w, 0, 4)).doit() == wanted


def test_json_and_csv_carry_formula_and_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bounds", "-v", "ashton-5-4v0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    report = report_of("ashton-5-4v0")
    small = {
        name: sympy.Symbol(name, integer=True, nonnegative=True) for name in ("b", "w", "c", "b2", "w2", "b4", "w4")
    }
    for one in (*found["terms"], *found["counts"]):
        term = report.term(one["id"])
        assert (one["formula"], one["latex"]) == (str(term.formula), term.latex)
        read = sympy.sympify(one["formula"], locals=small | {"Sum": ExactSum})
        assert read.doit() == term.exact
    again = BoundsReport.model_validate({key: value for key, value in found.items() if key != "provenance"})
    assert again.term("corrected.total").exact == report.corrected.total
    assert run(["bounds", "-v", "ashton-5-4v0", "--csv"]) == 0
    text = capsys.readouterr().out
    assert all(term.latex.split("=")[0] in text for term in report.counts)


def test_a_term_that_does_not_exist() -> None:
    for name in ("eq2", "corrected", "corrected.totl", "", None):
        with pytest.raises(InputError) as found:
            report_of("ashton-5-4v0").term(name)  # type: ignore[arg-type]
        assert found.value.parameter == "id_"
