"""The proof in Rocq: what the generator writes and refuses, and, where the proof assistant is installed, the proof."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from reports.rulebook import with_field
from reports.studies.formal import proving
from reports.studies.formal.__main__ import NAME, app
from reports.studies.formal.generate import FOLDER, PROVED, claims, module_name, path_of, statements
from reports.studies.formal.page import artefacts, results
from reports.studies.formal.proving import ProofError, prove, theorem_names
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.variants import Variant, load_variant

if TYPE_CHECKING:
    from pathlib import Path

needs_rocq = pytest.mark.skipif(
    shutil.which("coqchk") is None, reason="the proof assistant is not installed (apt-get install coq)"
)


# -- the generator -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROVED)
def test_the_stored_statements_are_what_the_generator_writes_now(name: str) -> None:
    assert path_of(name).read_text(encoding="utf-8") == statements(name)


def without_black(variant: Variant, letter: str) -> tuple[str, ...]:
    """The start without the black soldiers of one camp."""
    return tuple(
        "".join("." if kind == letter else piece for kind, piece in zip(terrain, start, strict=True))
        for terrain, start in zip(variant.terrain, variant.start, strict=True)
    )


ASHTON, BRANDUBH = load_variant("ashton"), load_variant("brandubh")
REFUSED = {
    "terrain": replace(BRANDUBH, terrain=("X..*..X", *BRANDUBH.terrain[1:])),
    "start": replace(ASHTON, start=without_black(ASHTON, "A")),
    "camps.inert": replace(ASHTON, rules=with_field(ASHTON.rules, "camps.inert", ["e1"])),
}


@pytest.mark.parametrize("field", REFUSED)
def test_rules_that_are_not_symmetric_are_refused_by_field(field: str) -> None:
    with pytest.raises(InputError) as caught:
        statements(REFUSED[field])
    assert caught.value.subject.endswith(f"field {field}")
    assert caught.value.problem
    assert caught.value.remedy


def test_a_board_that_is_too_large_is_refused_by_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "-v", "alea-evangelii", "--out", str(tmp_path)], app, NAME) == 2
    message = capsys.readouterr().err
    assert "field terrain" in message
    assert "361 cells" in message
    assert not list(tmp_path.iterdir())


def test_every_claim_is_a_theorem_with_the_number_of_the_bounds() -> None:
    from counting.complexity import bounds

    text, report = path_of("brandubh").read_text(encoding="utf-8"), bounds("brandubh")
    for claim in claims():
        statement = text.partition(f"Theorem {claim.theorem} :")[2].partition("Proof.")[0]
        assert statement.strip().endswith(f"= {claim.number(report)}%N."), claim


def test_titles_and_names_cannot_leave_their_place_in_the_file() -> None:
    hostile = replace(BRANDUBH, name="definitions", title='ends *) here, and "begins', source="")
    text = statements(hostile)
    assert module_name(hostile) == "game_definitions"
    assert "Definition game_definitions : ruleset" in text
    assert text.partition("From mathcomp")[0].count("*)") == 1
    assert '"' not in text.partition("From mathcomp")[0]
    assert module_name(replace(BRANDUBH, name="7×7 mine")) == "game_7_7_mine"


def test_nothing_is_admitted_or_assumed() -> None:
    for path in FOLDER.glob("*.v"):
        text = path.read_text(encoding="utf-8")
        for word in ("Admitted", "Axiom", "Parameter", "Conjecture", "admit", "Abort"):
            assert word not in text, f"{path.name}: {word}"


# -- the page ----------------------------------------------------------------------------------------


def test_the_page_is_that_of_the_stored_result_and_the_definitions() -> None:
    for artefact in artefacts():
        assert not artefact.differs((FOLDER / artefact.path).read_bytes()), artefact.path


def test_every_theorem_of_the_stored_result_is_proved_without_axioms() -> None:
    stored = results()
    assert stored["failures"] == []
    assert all(one["closed"] for one in stored["theorems"])
    assert "* Axioms: <none>" in stored["checker"]
    compared = {one["theorem"] for one in stored["theorems"] if one["agrees"]}
    wanted = {f"{module_name(load_variant(name))}.{claim.theorem}" for name in PROVED for claim in claims()}
    wanted |= {f"paper.equation_{number}" for number in (1, *range(3, 15))}
    wanted |= {f"paper.figure_{number}" for number in (1, *range(3, 15))}
    assert wanted <= compared


# -- the proof ---------------------------------------------------------------------------------------


def test_a_missing_proof_assistant_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.studies.formal.proving.shutil.which", lambda _: None)
    with pytest.raises(InputError, match="coqc: is not installed"):
        prove(["brandubh"])


@needs_rocq
@pytest.mark.study
def test_brandubh_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    found = prove(["brandubh"])
    assert found.failures == []
    assert [one.theorem for one in found.theorems] == [
        f"brandubh.{name}" for name in theorem_names(path_of("brandubh").read_text(encoding="utf-8"))
    ]
    assert all(one.closed for one in found.theorems)
    assert sum(one.agrees is True for one in found.theorems) == len(claims())


@needs_rocq
@pytest.mark.study
def test_a_wrong_number_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    right = statements("brandubh-5-4v0")
    wrong = right.replace("106895%N", "106896%N").partition("(* ---- The same numbers by a list")[0]
    assert wrong != right
    monkeypatch.setattr(proving, "statements", lambda _: wrong)
    with pytest.raises(ProofError, match=r"brandubh_5_4v0\.v"):
        prove(["brandubh-5-4v0"])


WEAK = {
    "king.on_castle": "two",
    "king.beside_castle": "as_elsewhere",
    "king.elsewhere": "four",
    "king.armed": False,
    "camps.hostile": False,
    "castle.stop": "king",
    "castle.pass": "everyone",
}


@needs_rocq
@pytest.mark.study
@pytest.mark.slow
@pytest.mark.parametrize("base", ["ashton-5-4v2", "brandubh-7-4v1"])
def test_each_field_is_expressed(base: str) -> None:
    """If one field of a rule set is changed, the definitions still give the numbers of `tablut bounds`."""
    variant = load_variant(base)
    changed = [
        replace(variant, name=f"{base}-{field}", rules=with_field(variant.rules, field, value))
        for field, value in WEAK.items()
    ]
    found = prove(changed)
    assert found.failures == []
    assert sum(one.agrees is True for one in found.theorems) == len(changed) * len(claims())
