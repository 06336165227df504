"""Explorers for the tests of this folder."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from explorers import Running, running

from reports.explorer.settings import Settings


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    with running(Settings()) as found:
        yield found


@pytest.fixture(scope="package")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as found:
        yield found


@pytest.fixture
def started() -> Iterator[Running]:
    """Return what starts an explorer with other limits, and gives a client of it."""
    with ExitStack() as stack:

        def start(settings: Settings) -> httpx.Client:
            address = stack.enter_context(running(settings))
            return stack.enter_context(httpx.Client(base_url=address, timeout=60))

        yield start
