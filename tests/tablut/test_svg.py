"""Drawings: well-formed, the same every time, and showing what they should."""

import xml.etree.ElementTree as ET
from io import BytesIO

import pytest
from PIL import Image, ImageChops, ImageColor, ImageSequence

from tablut import svg
from tablut.errors import InputError
from tablut.pictures import draw_gif, draw_png
from tablut.position import Move, Position
from tablut.strip import draw_line, draw_sheet
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


# -- pictures: PNG and GIF ---------------------------------------------------------------


def opened(content: bytes) -> Image.Image:
    return Image.open(BytesIO(content))


@pytest.mark.parametrize("name", ["ashton", "brandubh", "alea-evangelii"])
def test_a_picture_has_the_colours_of_the_board_at_each_square(name: str) -> None:
    variant = load_variant(name)
    content = draw_png(svg.board(variant, pixels=40 * variant.size, coordinates=False), 1)
    assert content == draw_png(svg.board(variant, pixels=40 * variant.size, coordinates=False), 1)
    picture, unit = opened(content), 40 * variant.size / (variant.size + 0.2)
    pieces = {"b": svg.FILLS["black"], "w": svg.FILLS["white"], "K": svg.FILLS["cross"]}
    for row, (pieces_of_row, cells) in enumerate(zip(variant.start, variant.terrain, strict=True)):
        for column, (piece, cell) in enumerate(zip(pieces_of_row, cells, strict=True)):
            x, y = (0.1 + column) * unit, (0.1 + row) * unit
            ground = picture.getpixel((round(x + 0.06 * unit), round(y + 0.5 * unit)))
            assert ground == ImageColor.getrgb(svg.FILLS[svg.kind_of(cell)])
            if piece != ".":
                centre = picture.getpixel((round(x + 0.5 * unit), round(y + 0.5 * unit)))
                assert centre == ImageColor.getrgb(pieces[piece])


def test_a_picture_of_a_sheet_shows_each_of_its_boards() -> None:
    line = draw_line("brandubh", "7/7/b6/1w1K3/2b4/2w4/7 w", ["b4-c4", "a5-b5", "d4-d1"], title="a <line>")
    boards = [opened(draw_png(board, 1)) for board in line]
    sheet = opened(draw_png(draw_sheet(line, 2, 400), 1))
    assert sheet.size == (2 * 400 + 3 * 14, 2 * boards[0].height + 3 * 14)
    for number, board in enumerate(boards):
        left, top = 14 + number % 2 * 414, 14 + number // 2 * (board.height + 14)
        part = sheet.crop((left, top, left + board.width, top + board.height))
        # In a sheet, the line between two cells may be shifted by half a pixel.
        unlike = ImageChops.difference(part, board).convert("L").histogram()
        assert sum(unlike[1:]) < 0.003 * board.width * board.height
    # The first move captures the piece on c3, whose cell is framed. The last move ends on the edge but is no escape.
    assert [len(shapes(board, "highlight")) for board in line] == [0, 1, 0, 0]


def test_an_animation_shows_each_drawing_and_keeps_the_colours_of_pieces() -> None:
    line = draw_line("ashton", "9/9/9/4K4/9/9/9/9/b8 w", ["e6-f6", "a1-a2", "f6-f7"])
    content = draw_gif(line, seconds=0.5)
    assert content == draw_gif(line, seconds=0.5)
    moving = opened(content)
    frames = [(frame.convert("RGB"), frame.info["duration"]) for frame in ImageSequence.Iterator(moving)]
    assert [seconds for _, seconds in frames] == [500, 500, 500, 1500]
    assert moving.info["loop"] == 0
    for (frame, _), drawing in zip(frames, line, strict=True):
        exact = opened(draw_png(drawing, 1))
        far = ImageChops.difference(frame, exact)
        assert max(high for _, high in far.getextrema()) <= 40
        flat = ImageColor.getrgb(svg.FILLS["black"]), ImageColor.getrgb(svg.FILLS["ordinary"])
        for colour in flat:
            same = [dict(map(reversed, image.getcolors(1 << 20)))[colour] for image in (frame, exact)]
            assert same[0] >= same[1] > 0


def test_what_an_animation_and_a_picture_refuse() -> None:
    board = svg.board("brandubh", pixels=40)
    with pytest.raises(InputError, match=r"2,001 boards, but at most 2,000"):
        draw_gif([board] * 2001)
    with pytest.raises(InputError, match="equal size"):
        draw_gif([board, svg.board("brandubh", pixels=50)])
    with pytest.raises(InputError, match=r"10,000 × 10,000 pixels are too many"):
        draw_png(svg.board("brandubh", pixels=10_000), 1)
