"""The shipped rule sets: their boards, regions and symmetries, and the files of users."""

import hashlib
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.errors import VariantError
from tablut.variants import load_variant, rule_fields, shipped_variants
from tablut.variants.model import later_rules
from tablut.variants.schema import parse_variant

# name: size, attackers, defenders, first, king cells, camp cells, free cells, escapes, those in reach
SHIPPED = {
    "ashton": (9, 16, 8, "white", 45, 16, 64, 16, 16),
    "bologna": (9, 16, 8, "white", 45, 16, 64, 16, 16),
    "mcgill": (9, 16, 8, "black", 77, 0, 76, 4, 4),
    "leiden": (9, 16, 8, "white", 49, 0, 80, 32, 28),
    "berkeley": (9, 16, 8, "black", 49, 0, 80, 32, 28),
    "brandubh": (7, 8, 4, "black", 45, 0, 44, 4, 4),
    "ashton-5-4v0": (5, 4, 0, "white", 9, 4, 20, 8, 8),
    "ashton-5-4v2": (5, 4, 2, "white", 9, 4, 20, 8, 8),
    "ashton-5-4v4": (5, 4, 4, "white", 9, 4, 20, 8, 8),
    "ashton-7-4v1": (7, 4, 1, "white", 25, 4, 44, 16, 16),
    "brandubh-5-4v0": (5, 4, 0, "black", 21, 0, 20, 4, 4),
    "brandubh-5-4v4": (5, 4, 4, "black", 21, 0, 20, 4, 4),
    "brandubh-7-4v1": (7, 4, 1, "black", 45, 0, 44, 4, 4),
    "copenhagen": (11, 24, 12, "black", 117, 0, 116, 4, 4),
    "fetlar": (11, 24, 12, "black", 117, 0, 116, 4, 4),
    "brandubh-federation": (7, 8, 4, "black", 45, 0, 44, 4, 4),
    "saami-tablut": (9, 16, 8, "black", 49, 0, 80, 32, 28),
    "tawlbwrdd": (11, 24, 12, "black", 81, 0, 120, 40, 36),
    "tawlbwrdd-throneless": (11, 24, 12, "black", 81, 0, 121, 40, 36),
    "sea-battle-9": (9, 16, 8, "black", 49, 0, 81, 32, 28),
    "sea-battle-11": (11, 24, 12, "black", 81, 0, 121, 40, 36),
    "alea-evangelii": (19, 48, 24, "black", 345, 0, 344, 16, 16),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_material_and_regions(name: str) -> None:
    variant = load_variant(name)
    regions = variant.regions
    assert (
        variant.size,
        variant.attackers,
        variant.defenders,
        variant.rules.first,
        len(regions.king_cells),
        len(regions.camp_cells),
        len(regions.free_cells),
        len(regions.escapes),
        len(regions.approaches),
    ) == SHIPPED[name]
    assert len(variant.symmetries) == 8
    assert variant.title
    assert variant.source


@pytest.mark.parametrize("name", SHIPPED)
def test_every_board_is_mapped_to_itself_by_its_symmetries(name: str) -> None:
    regions = load_variant(name).regions
    for symmetry in load_variant(name).symmetries:
        for cells in (regions.king_cells, regions.camp_cells, regions.free_cells, regions.escapes):
            assert {symmetry.table[cell] for cell in cells} == cells
        for escape, ways in regions.approaches.items():
            moved = {frozenset(symmetry.table[cell] for cell in way) for way in ways}
            assert moved == set(regions.approaches[symmetry.table[escape]])


def test_rules_without_the_later_fields_are_the_same_data_as_ever() -> None:
    older = [load_variant(name) for name in list(SHIPPED)[:13]]
    digests = "".join(variant.digest for variant in older)
    assert hashlib.sha256(digests.encode()).hexdigest().startswith("a392add808f69b69")
    names = {field.name for variant in older for field in rule_fields(variant.rules)}
    assert len(names) == 16
    assert not [rule for variant in older for rule in later_rules(variant)]


def test_variants_are_values() -> None:
    variant = load_variant("ashton")
    assert variant.regions.castle == 40  # derived things do not stay in the pickle
    again = pickle.loads(pickle.dumps(variant))
    assert again == variant
    assert hash(again) == hash(variant)
    # Variants of one game share what is derived from it, whatever their names, and however they were made.
    variant, again = replace(variant), replace(again)  # an earlier test may have filled the cache with other games
    renamed = replace(again, name="other", rules=again.rules.model_copy())
    assert renamed.regions is again.regions is variant.regions
    assert renamed.start_symmetries is variant.start_symmetries
    assert replace(variant, rules=load_variant("leiden").rules).digest != variant.digest
    assert len(set(shipped_variants())) == len(SHIPPED)


SOURCE = Path(__file__).parents[2] / "tablut" / "variants" / "data"


def user_file(folder: Path, *changes: tuple[str, str], base: str = "ashton", name: str = "mine.toml") -> str:
    text = (SOURCE / f"{base}.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


DRAW = 'repetition = "draw"'
BAD = {
    "terrain": [("*...A...*", "*...A...")],
    "castle": [("BB..T..CC", "BB..TT.CC")],
    "start": [("bbwwKwwbb", "bbwwKKwbb")],
    "shieldwall.corner": [(DRAW, DRAW + '\nshieldwall = { corner = true, mover = "any" }')],
    "fort": [(DRAW, DRAW + '\nfort = "on_edge"')],
    "corners.wide": [(DRAW, DRAW + "\ncorners = { hostile = true, wide = true }")],
    "corners": [(DRAW, DRAW + '\ncorners.hostile = true\nencirclement = "no_way_to_edge"'), ("+**", "XAD")],
    "repetition": [(DRAW, "")],
    "camps.inert": [("inert = []", 'inert = ["e5"]')],
    "castel": [("[castle]", "[castel]")],
    "format": [("format = 1", "format = 2")],
    "name": [("format = 1", 'format = 1\nname = "Leiden"')],
    "TOML": [("[castle]", "[castle")],
}


@pytest.mark.parametrize("field", BAD)
def test_a_file_that_contradicts_itself_is_refused_by_its_field(field: str, tmp_path: Path) -> None:
    path = user_file(tmp_path, *BAD[field])
    with pytest.raises(VariantError) as caught:
        load_variant(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert field in str(caught.value)


@given(st.data(), st.sampled_from(sorted(SHIPPED)))
def test_a_value_that_no_field_has_is_refused_by_its_name(data: st.DataObject, name: str) -> None:
    lines = (SOURCE / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    rules = [number for number, line in enumerate(lines) if re.match(r"[a-z_]+ = [^\n]*[^=]$", line)]
    number = data.draw(st.sampled_from([number for number in rules if '"""' not in lines[number]]))
    field = lines[number].partition(" ")[0]
    lines[number] = f"{field} = {data.draw(st.sampled_from(['-1', '2.5', '[7]', '{ x = 1 }', 'nan', '1979-05-27']))}"
    with pytest.raises(VariantError) as caught:
        parse_variant("\n".join(lines), name="mine", origin="mine.toml")
    assert field in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("asthon", "'ashton'"),
        ("asthon.toml", "'ashton'"),
        ("nowhere/mine.toml", "nowhere"),
        ("x" * 5000, "x"),
    ],
)
def test_an_unknown_variant_is_refused(name: str, named: str) -> None:
    with pytest.raises(VariantError, match=named):
        load_variant(name)


def test_a_users_file_never_has_the_name_of_another_game(tmp_path: Path) -> None:
    path = user_file(tmp_path, ('repetition = "draw"', 'repetition = "none"'), name="Ashton.toml")
    assert load_variant(path).name == "Ashton.toml"
    named = user_file(tmp_path, ("format = 1", 'format = 1\nname = "ashton"'))
    assert load_variant(named).same_game(load_variant("ashton"))
