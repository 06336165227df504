"""Drawings: well-formed, the same every time, and showing what they should."""

import xml.etree.ElementTree as ET

import pytest

from tablut import svg
from tablut.position import Move, Position
from tablut.strip import draw_sheet
from tablut.variants import load_variant, variant_names

SVG = "{http://www.w3.org/2000/svg}"


def shapes(drawing: str, kind: str) -> list[ET.Element]:
    return [element for element in ET.fromstring(drawing).iter() if element.get("class") == kind]


@pytest.mark.parametrize("name", variant_names())
def test_every_variant_is_drawn_whole(name: str) -> None:
    variant = load_variant(name)
    drawing = svg.board(variant)
    assert drawing == svg.board(variant)
    counts = {kind: len(shapes(drawing, kind)) for kind in ("attacker", "defender", "king", "castle", "camp", "escape")}
    assert counts == {
        "attacker": variant.attackers,
        "defender": variant.defenders,
        "king": 1,
        "castle": len(variant.regions.castles),
        "camp": sum(len(camp.cells) for camp in variant.regions.camps),
        "escape": len(variant.regions.escapes - variant.regions.royal_corners),
    }


def test_pieces_stand_where_they_should() -> None:
    variant = load_variant("ashton")
    drawing = svg.board(variant, Position.parse("b8/9/9/9/9/9/9/9/1K7 w", 9))
    (attacker,) = shapes(drawing, "attacker")
    (king,) = shapes(drawing, "king")
    assert (attacker.get("cx"), attacker.get("cy")) == ("0.5", "0.5")  # a9, top left
    assert (king.get("cx"), king.get("cy")) == ("1.5", "8.5")  # b1


def test_what_is_added_to_a_board() -> None:
    variant = load_variant("brandubh")
    plain = svg.board(variant)
    rich = svg.board(
        variant,
        last_move=Move.parse("d6-a6", 7),
        arrows=[(3, 10), (0, 8)],
        highlights=[5, 6, 5],
        caption="<win> & more",
        pixels=300,
    )
    assert len(shapes(rich, "arrow")) == 2
    assert len(shapes(rich, "highlight")) == 2
    assert rich.count("#dcd04f") == 2
    assert "&lt;win&gt; &amp; more" in rich
    assert ET.fromstring(rich).get("width") == "300"
    assert len(ET.fromstring(plain).findall(f"{SVG}text")) == 14
    assert not ET.fromstring(svg.board(variant, coordinates=False)).findall(f"{SVG}text")


def test_a_sheet_draws_the_cells_of_its_boards_once() -> None:
    variant = load_variant("ashton")
    boards = [svg.board(variant, last_move=move, caption=str(move)) for move in (None, "e4-f4", "e4-g4", "d5-d6")]
    sheet = draw_sheet(boards, 2, 380)
    root = ET.fromstring(sheet)
    names = [use.get("href") for use in root.iter(f"{SVG}use")]
    (shared,) = [group for group in root.iter(f"{SVG}g") if group.get("id")]
    assert names == [f"#{shared.get('id')}"] * len(boards)
    alone = [ET.fromstring(drawing) for drawing in boards]
    groups = [drawing.find(f"{SVG}g") for drawing in alone]
    cells = [[] if group is None else [ET.tostring(part) for part in group] for group in groups]
    once = [ET.tostring(part) for part in shared]
    for placed, own, drawing in zip(root.findall(f"{SVG}svg"), cells, alone, strict=True):
        # What is a board's own is drawn above the cells that all share, and the rest after it as before.
        parts = [ET.tostring(part) for part in placed]
        start = next(number for number, part in enumerate(parts) if b"use" in part) + 1
        rest = [ET.tostring(part) for part in drawing][3:]
        assert parts[len(parts) - len(rest) :] == rest
        assert set(parts[start : len(parts) - len(rest)]) | set(once) >= set(own)
    assert len(sheet) < 0.6 * sum(map(len, boards))
    assert draw_sheet(boards[:1], 2, 380).count("<use") == 0
