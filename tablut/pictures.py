"""PNG and animated GIF pictures of the SVG drawings created by `tablut.svg` and `tablut.strip`.

Only the SVG elements that these two modules write are supported. Shapes are drawn several times larger and then
reduced, which smooths their edges. The font is DejaVu Sans, which is included in matplotlib. The files contain no date,
so with the same versions of Pillow and FreeType, a drawing always produces the same bytes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from tablut.errors import InputError

__all__ = ["MOST_FRAMES", "draw_gif", "draw_png"]

MOST_FRAMES: Final = 2_000
"""Maximum number of boards in an animation. Browsers keep all of them in memory."""
_MOST_PIXELS: Final = 150_000_000
"""Maximum number of pixels drawn at once. Each takes 3 bytes."""
_FINE = 4
"""Factor by which shapes are drawn larger than in the picture."""
_SAMPLE = 8
"""Maximum number of drawings that are examined to choose the colours of an animation."""
_NUMBER = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_STEP = re.compile(rf"([MmLlhvz])\s*((?:{_NUMBER}[\s,]*)*)")
_TRANSFORM = re.compile(rf"(translate|scale)\(({_NUMBER})(?: ({_NUMBER}))?\)")
_Point = tuple[float, float]


def draw_png(drawing: str, scale: float = 2) -> bytes:
    r"""Return a ``drawing`` by `tablut.svg` or `tablut.strip` as the content of a PNG file, enlarged by ``scale``.

    Raises
    ------
    InputError
        If the picture would need too much memory: a board of more than 3,000 × 3,000 pixels, or a very long sheet.

    Examples
    --------
    >>> from tablut import svg
    >>> from tablut.pictures import draw_png
    >>> draw_png(svg.board("brandubh", pixels=100))[:4]
    b'\x89PNG'
    """
    buffer = BytesIO()
    _rendered(drawing, scale).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def draw_gif(drawings: Sequence[str], seconds: float = 1, scale: float = 1) -> bytes:
    """Return the content of an animated GIF file that shows ``drawings`` of equal size in an endless loop.

    Each is enlarged by ``scale`` and shown for the given time in ``seconds``, the last three times as long.

    Raises
    ------
    InputError
        If there are too many drawings, or if their sizes differ.

    Examples
    --------
    >>> from tablut.pictures import draw_gif
    >>> from tablut.strip import draw_line
    >>> draw_gif(draw_line("brandubh", "3K3/7/7/7/7/7/1b5 w", ["d7-a7"], pixels=80))[:6]
    b'GIF89a'
    """
    check_frames(len(drawings))
    palette = _palette(drawings, scale)
    frames = [_reduced(_rendered(drawing, scale), palette) for drawing in drawings]
    if len({frame.size for frame in frames}) > 1:
        raise InputError("needs drawings of equal size", subject="animation")
    times = [round(1000 * seconds)] * (len(frames) - 1) + [round(3000 * seconds)]
    buffer = BytesIO()
    frames[0].save(buffer, "gif", save_all=True, append_images=frames[1:], duration=times, loop=0)
    return buffer.getvalue()


def check_frames(number: int) -> None:
    """Raise `InputError` if an animation cannot show this many drawings."""
    if number > MOST_FRAMES:
        raise InputError(
            f"would show {number:,} boards, but at most {MOST_FRAMES:,} are possible",
            subject="animation",
            remedy="draw the boards one by one",
        )


def _palette(drawings: Sequence[str], scale: float) -> NDArray[np.int32]:
    """Return up to 256 colours: those named in the drawings, then the most frequent ones that smooth the edges."""
    named = {int(name, 16) for drawing in drawings for name in re.findall(r"#([0-9a-f]{6})\b", drawing)}
    counts: Counter[int] = Counter()
    for drawing in drawings[:: -(-len(drawings) // _SAMPLE)]:
        colours, number = np.unique(_codes(_rendered(drawing, scale)), return_counts=True)
        counts.update(dict(zip(colours.tolist(), number.tolist(), strict=True)))
    others = sorted(counts.keys() - named, key=lambda colour: (-counts[colour], colour))
    return np.array([*sorted(named), *others][:256], dtype=np.int32)


def _codes(image: Image.Image) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = np.asarray(image, dtype=np.int32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.int32)
    return codes


def _levels(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    return (codes[:, None] >> np.array([16, 8, 0], dtype=np.int32)) & np.int32(255)


def _reduced(image: Image.Image, palette: NDArray[np.int32]) -> Image.Image:
    """Return an image in which each colour is replaced by the nearest colour in a palette."""
    codes = _codes(image)
    colours, places = np.unique(codes, return_inverse=True)
    far = ((_levels(colours)[:, None] - _levels(palette)) ** 2).sum(axis=2)
    indices = far.argmin(axis=1).astype(np.uint8)[places.reshape(-1)]
    reduced = Image.frombytes("P", image.size, indices.tobytes())
    reduced.putpalette(_levels(palette).astype(np.uint8).tobytes())
    return reduced


def _rendered(drawing: str, scale: float) -> Image.Image:
    root = ET.fromstring(drawing)
    names = {f"#{element.get('id')}": element for element in root.iter() if element.get("id")}
    return _render(root, scale, names)


class _Place(NamedTuple):
    """Coordinate system of a group: its scale, and its origin in pixels of the canvas."""

    scale: float
    x: float
    y: float

    def at(self, x: float, y: float) -> _Point:
        return self.x + self.scale * x, self.y + self.scale * y

    def moved(self, transform: str) -> _Place:
        place = self
        for kind, first, second in _TRANSFORM.findall(transform):
            if kind == "scale":
                place = place._replace(scale=place.scale * float(first))
            else:
                place = _Place(place.scale, *place.at(float(first), float(second or 0)))
        return place


def _render(root: ET.Element, scale: float, names: dict[str, ET.Element]) -> Image.Image:
    """Return the picture of an ``svg`` element. Boards within it are rendered one by one, which saves memory."""
    width, height = (round(_number(root, name) * scale) for name in ("width", "height"))
    left, top, across, _ = map(float, root.get("viewBox", "").split())
    inner = [element for element in root if _kind(element) == "svg"]
    fine = 1 if inner else _FINE
    if width * height * fine**2 > _MOST_PIXELS:
        raise InputError(
            f"{width:,} × {height:,} pixels are too many", subject="picture", remedy="draw it smaller, or as SVG"
        )
    unit = width * fine / across
    canvas = _Canvas(Image.new("RGB", (width * fine, height * fine), "#ffffff"), names)
    canvas.draw(root, _Place(unit, -left * unit, -top * unit))
    picture = canvas.image.reduce(fine)
    for element in inner:
        corner = (round((_number(element, "x") - left) * scale), round((_number(element, "y") - top) * scale))
        picture.paste(_render(element, scale, names), corner)
    return picture


def _kind(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "0"))


class _Canvas:
    """Image on which the elements of a drawing are drawn."""

    def __init__(self, image: Image.Image, names: dict[str, ET.Element]) -> None:
        self.image, self._names = image, names
        # Blending colours takes much longer than replacing them.
        self._opaque, self._blending = ImageDraw.Draw(image), ImageDraw.Draw(image, "RGBA")

    def draw(self, parent: ET.Element, place: _Place, opacity: float = 1) -> None:
        """Draw the elements of a group."""
        for element in parent:
            match _kind(element):
                case "g":
                    inside = place.moved(element.get("transform", ""))
                    self.draw(element, inside, opacity * float(element.get("opacity", "1")))
                case "use":
                    self.draw(self._names[element.get("href", "")], place, opacity)
                case "text":
                    self._text(element, place)
                case "circle":
                    self._circle(element, place)
                case "rect":
                    x, y, width, height = (_number(element, name) for name in ("x", "y", "width", "height"))
                    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
                    self._shape(element, [place.at(*corner) for corner in corners], place.scale, opacity)
                case "line" | "polygon" | "path" as kind:
                    for points in _outlines(element, kind):
                        self._shape(element, [place.at(*point) for point in points], place.scale, opacity)

    def _shape(self, element: ET.Element, points: list[_Point], scale: float, opacity: float) -> None:
        draw, level = (self._opaque, 255) if opacity == 1 else (self._blending, round(255 * opacity))
        fill, stroke = (_colour(element, name, level) for name in ("fill", "stroke"))
        if fill is not None:
            draw.polygon(points, fill)
        if stroke is not None:
            closed = _kind(element) in ("rect", "polygon") or points[0] == points[-1]
            # Add two points to a closed outline, so that the corner where it closes is joined like the others.
            width = max(1, round(_number(element, "stroke-width") * scale))
            draw.line([*points, *points[: 2 * closed]], stroke, width, joint="curve")

    def _circle(self, element: ET.Element, place: _Place) -> None:
        centre = place.at(_number(element, "cx"), _number(element, "cy"))
        radius, half = _number(element, "r") * place.scale, _number(element, "stroke-width") * place.scale / 2
        for name, reach in (("stroke", radius + half), ("fill", radius - half)):
            self._opaque.circle(centre, reach, _colour(element, name))

    def _text(self, element: ET.Element, place: _Place) -> None:
        anchor = "mm" if element.get("text-anchor") == "middle" else "lm"
        font = _font(round(_number(element, "font-size") * place.scale))
        point = place.at(_number(element, "x"), _number(element, "y"))
        self._opaque.text(point, element.text or "", _colour(element, "fill"), font, anchor)


def _colour(element: ET.Element, name: str, level: int = 255) -> tuple[int, ...] | None:
    colour = element.get(name, "none")
    return None if colour == "none" else (*bytes.fromhex(colour[1:]), level)


def _outlines(element: ET.Element, kind: str) -> list[list[_Point]]:
    """Return the corners of a shape; a path may have several parts."""
    if kind == "line":
        x1, y1, x2, y2 = (_number(element, name) for name in ("x1", "y1", "x2", "y2"))
        return [[(x1, y1), (x2, y2)]]
    if kind == "polygon":
        return [_pairs([float(number) for number in re.findall(_NUMBER, element.get("points", ""))])]
    parts: list[list[_Point]] = []
    x = y = 0.0
    for command, numbers in _STEP.findall(element.get("d", "")):
        values = [float(number) for number in re.findall(_NUMBER, numbers)]
        if command == "z":
            parts[-1].append(parts[-1][0])
        if command in "hv":
            values = [values[0], 0.0] if command == "h" else [0.0, values[0]]
        for dx, dy in _pairs(values):
            x, y = (dx, dy) if command in "ML" else (x + dx, y + dy)
            if command in "Mm":
                parts.append([])
            parts[-1].append((x, y))
    return parts


def _pairs(values: Sequence[float]) -> list[_Point]:
    return list(pairwise(values))[::2]


@lru_cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    import matplotlib as mpl

    return ImageFont.truetype(Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", max(size, 1))
