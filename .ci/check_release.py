#!/usr/bin/env python3
"""Check that a tag is that of the version in the sources, and that the release is described.

    .ci/check_release.py TAG [PACKAGE...]

The tag is a `v` followed by the version. The version also stands in `CITATION.cff` and heads a section of
`CHANGELOG.md` that is not marked as unreleased. The metadata name the project's address, so that users of a package
find its sources, its issues and its security page. All packages, if any are named, must have this version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def faults(tag: str, packages: list[str]) -> list[str]:
    """Return what is wrong with a release, in words."""

    def versions(name: str, pattern: str) -> list[str]:
        return re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)

    found = []
    (version,) = versions("tablut/__init__.py", r'^__version__ = "(.+)"$')
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but tablut/__init__.py has version {version}")
    if versions("CITATION.cff", r"^version: (.+)$") != [version]:
        found.append(f"CITATION.cff does not have version {version}")
    headings = [heading for heading in versions("CHANGELOG.md", r"^## (.+)$") if heading.split()[0] == version]
    if len(headings) != 1 or "unreleased" in headings[0]:
        found.append(f"CHANGELOG.md has no section for the release {version}")
    if not versions("pyproject.toml", r"^Source = (.+)$"):
        found.append("pyproject.toml names no address of the project ([project.urls])")
    names = (f"tablut-{version}.tar.gz", f"tablut-{version}-")
    return found + [f"{package} is not a package of {version}" for package in packages if not fits(package, names)]


def fits(package: str, names: tuple[str, str]) -> bool:
    """Return whether a package has the name of the source distribution, or that of a wheel."""
    name = Path(package).name
    return name == names[0] or (name.startswith(names[1]) and name.endswith(".whl"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit((__doc__ or "").strip())
    sys.exit("\n".join(faults(sys.argv[1], sys.argv[2:])) or 0)
