"""Build hooks: put compiled kernels into a wheel for one platform, and make the README's links absolute.

`tablut warmup --into FOLDER` compiles them. With ``TABLUT_KERNELS=FOLDER`` in the environment, the wheel contains them,
and its tags name the interpreter and the platform. Without the variable, the wheel is pure Python.

The folder's ``kernels.json`` describes the kernels. A folder is refused if it contains any other file, a file that is
damaged or not described, or kernels that were compiled by another version of Python, on another platform, or from other
sources than those of the wheel.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_PLATFORMS = {
    # The kernels call nothing newer than the libraries that numba's own wheels require.
    "linux": "manylinux_2_27",
    "darwin": "macosx_12_0",
    "win32": "win",
}
_RECORD = "kernels.json"
_MAGIC, _DIGEST, _LENGTH = b"tablut kernel 1\n", 32, 8
"""The beginning of a kernel's file, and the sizes of what follows; see `tablut.engine.kernel_cache`."""


_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Hook that gives the README as the package's long description, which is shown outside the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description. Its links lead to the project's address, if ``project.urls`` has a ``Source``."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text, address)}


def long_description(text: str, address: str | None) -> str:
    """Make relative links absolute. Without an address, drop pictures, and keep the text of links."""

    def absolute(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if address is None:
            return "" if picture else words
        return f"{picture}[{words}]({address.rstrip('/')}/{'raw' if picture else 'blob'}/HEAD/{target})"

    return _LINK.sub(absolute, text)


class KernelsHook(BuildHookInterface[Any]):
    """Hook that adds the kernels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the kernels, if there is a folder of them, and set the tags of the wheel."""
        named = os.environ.get("TABLUT_KERNELS")
        if not named or self.target_name != "wheel":
            return
        folder = Path(named).absolute()
        for kernel in checked(folder, Path(self.root)):
            build_data["force_include"][str(folder / kernel)] = f"tablut/engine/compiled/{kernel}"
        build_data["pure_python"] = False
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["tag"] = f"{python}-none-{_PLATFORMS[sys.platform]}_{platform.machine().lower()}"


def checked(folder: Path, root: Path) -> list[str]:
    """Return the names of the kernels in a folder, or raise `ValueError` unless they fit the sources below ``root``."""

    def check(holds: bool, fault: str) -> None:
        if not holds:
            raise ValueError(f"TABLUT_KERNELS={folder}: {fault}; make a new folder with `tablut warmup --into FOLDER`")

    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    check(_RECORD in names, f"has no {_RECORD}")
    try:
        record = json.loads((folder / _RECORD).read_bytes())
        made = (tuple(record["python"]), tuple(record["platform"]))
        sources, kernels = dict(record["sources"]), dict(record["kernels"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{folder / _RECORD}: does not describe kernels") from error
    here = (sys.version_info[:2], (sys.platform, platform.machine()))
    check(made == here, f"was made by Python {made[0]} on {made[1]}, but this is Python {here[0]} on {here[1]}")
    check(bool(kernels), "has no kernels")
    for name in sorted({*names, *kernels} - {_RECORD}):
        path = folder / name
        check(name in kernels, f"{name} is not one of the kernels that {_RECORD} describes")
        check(path.is_file() and not path.is_symlink(), f"{name} is missing")
        content = path.read_bytes()
        check(_is_sealed(content), f"{name} is not a compiled kernel, or it is damaged")
        check(_digest(content) == kernels[name], f"{name} is not the kernel that {_RECORD} describes")
    for module, digest in sources.items():
        place = root.joinpath(*module.split("."))
        there = [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
        found = [_digest(path.read_bytes()) for path in there]
        check(digest in found, f"was compiled from another version of {module}")
    return sorted(kernels)


def _is_sealed(content: bytes) -> bool:
    """Return whether a file has the head of a kernel, with the length and digest of what follows."""
    start = len(_MAGIC)
    covered, payload = content[start : start + _DIGEST + _LENGTH], content[start + 2 * _DIGEST + _LENGTH :]
    digest = content[start + _DIGEST + _LENGTH :][:_DIGEST]
    length = int.from_bytes(covered[_DIGEST:], "little")
    sealed = hashlib.sha256(covered + payload).digest()
    return content.startswith(_MAGIC) and len(payload) == length and digest == sealed


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
