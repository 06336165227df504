"""What the tests of pages share: one browser for all of them, and one site."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from reports.site.site_builder import build_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Yield chromium, driven by Playwright; skip and say what is missing where it is not there."""
    lacks = []
    for package in ("playwright", "axe_playwright_python"):
        try:
            __import__(package)
        except ImportError:
            lacks.append(f"the package {package} (pip install -e '.[browser]')")
    if CHROMIUM is None:
        lacks.append("a chromium on the PATH")
    if lacks:
        pytest.skip(f"browser tests need {' and '.join(lacks)}")
    from playwright.sync_api import sync_playwright

    # A container's root cannot set up chromium's own sandbox.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield found
        found.close()


@pytest.fixture(scope="session")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> str:  # without a browser nothing is built
    """Return the address of the site in a folder."""
    folder: Path = tmp_path_factory.mktemp("site")
    build_site(folder, check=False)
    return folder.as_uri()
