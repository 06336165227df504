"""Pages of the explorer in a browser that Playwright drives."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SIZES", "asked", "drag", "held", "move", "opened", "page_of", "square", "until"]

SIZES = ((1280, 800), (390, 844))
"""Width and height of a screen and of a phone."""


@contextmanager
def page_of(browser: Any, address: str, width: int = 1280, height: int = 800, **options: Any) -> Iterator[Any]:
    """Open a page, and see to it that the console is silent until the page is closed."""
    told: list[str] = []
    context = browser.new_context(base_url=address, viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: told.append(str(error)))
    yield page
    context.close()
    # What the tests provoke on purpose is refused by the server, and chromium notes that in the console.
    assert [line for line in told if "Failed to load resource" not in line] == []


def square(page: Any, name: str) -> Any:
    return page.locator(f'#board button[data-square="{name}"]')


def move(page: Any, text: str) -> None:
    """Move by two clicks."""
    start, target = text.split("-")
    square(page, start).click()
    square(page, target).click()


def drag(page: Any, start: str, target: str | None) -> None:
    """Drag from a square to another one, or off the board."""
    box = square(page, start).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    box = square(page, target).bounding_box() if target else {"x": 2, "y": 2, "width": 0, "height": 0}
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()


def until(page: Any, expression: str) -> None:
    """Wait until something holds on a page; Playwright's own way is forbidden by the policy of the pages."""
    ends = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < ends, expression
        page.wait_for_timeout(25)


def opened(page: Any, path: str) -> Any:
    page.goto(path)
    if path.startswith(("/board", "/play")):
        page.wait_for_selector("#turn span")
    else:
        page.wait_for_load_state("networkidle")
    return page


def held(page: Any, pattern: str) -> list[Any]:
    """Hold what a page asks of some address until `unroute`, and return the list of what is held."""
    routes: list[Any] = []
    page.route(pattern, lambda route: routes.append(route))  # Playwright takes no method of a list
    return routes


def asked(page: Any, routes: list[Any], number: int = 1) -> None:
    """Wait until so much is held."""
    ends = 0
    while len(routes) < number:
        page.wait_for_timeout(25)
        ends += 1
        assert ends < 2400
