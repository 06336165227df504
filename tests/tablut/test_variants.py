"""The shipped rule sets: their boards, regions and symmetries, and the files of users."""

import hashlib
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from tablut.errors import VariantError
from tablut.variants import load_variant, rule_fields, shipped_variants
from tablut.variants.model import later_rules

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


def test_a_users_file_works_by_path(tmp_path: Path) -> None:
    variant = load_variant(user_file(tmp_path))
    assert variant.name == "mine"
    assert variant.same_game(load_variant("ashton"))


DRAW = 'repetition = "draw"'
CASTLE = (SOURCE / "ashton.toml").read_text(encoding="utf-8").partition("[castle]")[2].partition("[camps]")[0]
BAD = {
    "ragged": ([("*...A...*", "*...A...")], "field 'terrain': row 2 ('*...A...') has 8 cells, but there are 9 rows"),
    "unknown letter": ([("*...A...*", "*...Q...*")], "unknown letter 'Q'"),
    "two castles": ([("BB..T..CC", "BB..TT.CC")], "has 2 castle cells (T)"),
    "no field castle": ([("BB..T..CC", "BB..T..CC"), ("[castle]" + CASTLE, "")], "field 'castle': is missing"),
    "captured king": (
        [("....w....\nb...w", "....w....\nb...b"), ("wKw", "bKb"), ("b...w", "b...b")],
        "a captured king on e5",
    ),
    "fort without an edge": (
        [(DRAW, DRAW + '\nfort = "on_edge"')],
        "field 'fort': is on_edge, and by 'terrain' no king",
    ),
    "wall without a corner": (
        [(DRAW, DRAW + '\nshieldwall = { corner = true, mover = "any" }')],
        "field 'shieldwall.corner': is true, and 'terrain' has no X corners",
    ),
    "wall with corners, escape by the edge": (
        [
            (DRAW, DRAW + '\ncorners.hostile = true\nshieldwall = { corner = true, mover = "any" }'),
            ("+**AAA**+", "X*******X"),
            ("*...A...*", "*.......*"),
            ("BB..T..CC", "*...T...*"),
            ("B.......C", "*.......*"),
            ("B.......C", "*.......*"),
            ("*...D...*", "*.......*"),
            ("+**DDD**+", "X*******X"),
        ],
        "field 'shieldwall.corner': is true, but in 'terrain' the king escapes on the whole edge",
    ),
    "ring, corner out of reach": (
        [(DRAW, DRAW + '\ncorners.hostile = true\nencirclement = "no_way_to_edge"'), ("+**", "XAD")],
        "field 'corners': cannot be reached by any king in 'terrain'",
    ),
    "wide, no corner": (
        [(DRAW, DRAW + "\ncorners = { hostile = true, wide = true }")],
        "field 'corners.wide': is true, and 'terrain' has no X corners",
    ),
    "wide, narrow corner": (
        [(DRAW, DRAW + "\ncorners = { hostile = true, wide = true }"), ("+**AAA**+", "X**AAA**X")],
        "field 'corners.wide': is true, but a corner of 'terrain' is not a block of 2x2 X cells",
    ),
    "corner out of reach": (
        [(DRAW, DRAW + '\ncorners.hostile = true\nshieldwall = { corner = true, mover = "any" }'), ("+**", "XAD")],
        "field 'corners': cannot be reached by any king in 'terrain'",
    ),
    "once": ([(DRAW, 'repetition = { times = 1, result = "draw" }')], "field 'repetition.times': "),
    "corner inside": ([("*.......*", "*..X....*")], "has 'X' on d7, which is not a corner"),
    "two kings": ([("bbwwKwwbb", "bbwwKKwbb")], "field 'start': has 2 kings (K)"),
    "unknown piece": ([("....w....", "....x....")], "unknown letter 'x'"),
    "king on an escape": ([("bbwwKwwbb", "bbww.wwbb"), ("...bbb...", ".K.bbb...")], "has the king on b9: an escape"),
    "start of another size": ([('start = """\n...bbb...\n....b....\n', 'start = """\n')], "field 'start': row 1"),
    "wrong value": ([('pass = "nobody"', 'pass = "sometimes"')], "field 'castle.pass': expected 'nobody', 'king' or"),
    "unknown field": ([("armed = true", "armed = true\nflies = true")], "field 'king.flies': is not a field"),
    "missing field": ([('repetition = "draw"\n', "")], "field 'repetition': is missing"),
    "inert cell elsewhere": ([("inert = []", 'inert = ["e5"]')], "field 'camps.inert': e5 is not a camp cell"),
    "move limit": ([('repetition = "draw"', 'repetition = "draw"\nmove_limit = 0')], "field 'move_limit': "),
    "misspelt table": (
        [("[castle]", "[castel]")],
        "field 'castel': is not a field of variant files; did you mean 'castle'",
    ),
    "inert text": ([("inert = []", 'inert = "e1"')], "field 'camps.inert': expected a list of texts, not 'e1'"),
    "another game's name": (
        [("format = 1", 'format = 1\nname = "Leiden"')],
        "field 'name': 'Leiden' is a shipped rule set with other rules; choose another name",
    ),
    "not TOML": ([("[castle]", "[castle")], "not valid TOML"),
    "later format": ([("format = 1", "format = 2")], "field 'format': this version reads format 1, but the file has 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_is_refused_with_its_name_and_field(case: str, tmp_path: Path) -> None:
    changes, message = BAD[case]
    path = user_file(tmp_path, *changes)
    with pytest.raises(VariantError) as caught:
        load_variant(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) or case == "not TOML"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("asthon", "did you mean 'ashton'"),
        ("chess", "`tablut variants` lists them"),
        ("nowhere/mine.toml", "No such file or directory"),
        ("asthon.toml", "No such file or directory; did you mean 'ashton'"),
        ("/dev/zero", "is not an ordinary file"),
        ("x" * 5000, r"no such rule set"),
        ("", "no such rule set"),
    ],
)
def test_an_unknown_variant_is_refused(name: str, message: str) -> None:
    with pytest.raises(VariantError, match=message):
        load_variant(name)


def test_a_users_file_never_has_the_name_of_another_game(tmp_path: Path) -> None:
    path = user_file(tmp_path, ('repetition = "draw"', 'repetition = "none"'), name="Ashton.toml")
    assert load_variant(path).name == "Ashton.toml"
    named = user_file(tmp_path, ("format = 1", 'format = 1\nname = "ashton"'))
    assert load_variant(named).same_game(load_variant("ashton"))
