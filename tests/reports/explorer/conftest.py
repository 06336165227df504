"""Explorers for the tests of this folder."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from explorers import Running, running

from reports.explorer.guard import Settings
from reports.explorer.work import Workers
from tests.support.browsing import SIZES, page_of
from tests.support.waiting import PATIENCE


@pytest.fixture(scope="package")
def workers() -> Iterator[Workers]:
    """Yield what all explorers of this process search with: a process takes seconds to start."""
    found = Workers()
    yield found
    found.close()


@pytest.fixture(scope="package")
def address(workers: Workers) -> Iterator[str]:
    # A busy machine is not what is tried here: test_abuse has the limits.
    patient = Settings(bounds_seconds=PATIENCE, count_seconds=PATIENCE, puzzle_seconds=PATIENCE, margin=PATIENCE)
    with running(patient, workers) as found:
        yield found


@pytest.fixture(scope="package")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=PATIENCE) as found:
        yield found


@pytest.fixture
def started(workers: Workers) -> Iterator[Running]:
    """Return what starts an explorer with other limits, and gives a client of it."""
    with ExitStack() as stack:

        def start(settings: Settings) -> httpx.Client:
            address = stack.enter_context(running(settings, workers))
            return stack.enter_context(httpx.Client(base_url=address, timeout=PATIENCE))

        yield start


@pytest.fixture(scope="package")
def shown(workers: Workers) -> Iterator[str]:
    """Yield the address of the explorer whose pages are tried in a browser."""
    patient = Settings(
        searches=1,
        proof_seconds=PATIENCE,
        puzzle_seconds=2 * PATIENCE,
        analysis_seconds=PATIENCE,
        count_seconds=PATIENCE,
        margin=PATIENCE,
    )
    with running(patient, workers, warmed=True) as found:
        # The first search on a machine compiles; no page waits for it.
        for variant in ("ashton", "brandubh"):
            httpx.post(f"{found}/api/bestmove", json={"variant": variant, "nodes": 100}, timeout=PATIENCE)
        yield found


@pytest.fixture(params=SIZES, ids=str)
def page(browser: Any, shown: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield a page of a screen and of a phone, which never becomes wider."""
    width, height = request.param
    with page_of(browser, shown, width, height) as found:
        yield found
        assert found.evaluate("document.documentElement.scrollWidth") <= width
