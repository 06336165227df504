"""Explorers for the tests of this folder."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from explorers import Running, running

from reports.explorer.guard import Settings
from reports.explorer.work import Workers
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
