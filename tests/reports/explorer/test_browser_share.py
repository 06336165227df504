"""Sharing in a real browser: addresses with game, ply and orientation, pictures and animations.

Skipped where something is missing, as the other tests in a browser.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.browsing import asked, held, move, opened, square, until
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.browser


def steps(page: Any, later: int) -> None:
    until(page, f"document.querySelectorAll('.made.later').length === {later}")


def test_an_address_contains_the_game_the_ply_and_the_orientation(page: Any) -> None:
    opened(page, "/board?variant=brandubh&moves=d2-e2,c4-c5,e2-d2")
    steps(page, 0)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    steps(page, 2)
    page.click("#flip")
    link = page.url
    other = page.context.new_page()
    opened(other, link)
    steps(other, 2)
    assert other.locator(".made").count() == 3
    boxes = [square(other, name).bounding_box() for name in ("a1", "a7")]
    assert boxes[0]["y"] < boxes[1]["y"]
    other.close()
    # An address that makes no sense does no harm. The variations of this tab are kept.
    opened(page, "/board?variant=brandubh&moves=d2-e2&ply=%3Cb%3E&turned=9")
    steps(page, 3)
    page.goto("/games?variant=brandubh&moves=d2-e2,c4-c5,e2-d2&ply=2")
    page.wait_for_selector("#game:not([hidden]) .made")
    steps(page, 1)
    page.keyboard.press("ArrowLeft")
    steps(page, 2)
    assert "ply=1" in page.url
    page.reload()
    page.wait_for_selector("#game:not([hidden]) .made")
    steps(page, 2)


def test_a_picture_and_an_animation_are_downloaded(page: Any) -> None:
    from PIL import Image

    opened(page, "/board?variant=brandubh")
    move(page, "d2-e2")
    until(page, "document.querySelectorAll('.made').length === 1")
    page.keyboard.press("ArrowLeft")
    steps(page, 1)
    page.click("summary:has-text('Share')")
    for button, kind, frames in (("Picture", "PNG", 1), ("Animation", "GIF", 2)):
        with page.expect_download() as found:
            page.click(f"#save button:has-text('{button}')")
        picture = Image.open(BytesIO(Path(found.value.path()).read_bytes()))
        assert (picture.format, getattr(picture, "n_frames", 1)) == (kind, frames)
    # While the animation is drawn, the page says so and offers to stop it.
    routes = held(page, "**/api/picture")
    page.click("#save button:has-text('Animation')")
    asked(page, routes)
    assert "Drawing" in page.inner_text("#save")
    page.click("#save button:has-text('Stop')")
    page.wait_for_selector("#save button:has-text('Animation')")
    page.unroute("**/api/picture")


def test_pictures_are_bounded(shown: str) -> None:
    moves = ["d2-e2", "c4-c5", "e2-d2", "c5-c4"] * 80
    for body, words in (
        ({"variant": "brandubh", "moves": moves, "animated": True}, ""),
        ({"variant": "brandubh", "moves": ["a1-a2"]}, "move 1"),
    ):
        found = httpx.post(f"{shown}/api/picture", json=body, timeout=PATIENCE)
        assert found.status_code == 422
        assert words in found.json()["error"]
