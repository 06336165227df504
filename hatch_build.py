"""Build hook: put compiled kernels into a wheel for one platform.

`tablut warmup --into FOLDER` compiles them. With ``TABLUT_KERNELS=FOLDER`` in the environment, the wheel contains them,
and its tags name the interpreter and the platform. Without the variable, the wheel is pure Python.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PLATFORMS = {
    # The kernels call nothing newer than the libraries that numba's own wheels require.
    "linux": "manylinux_2_27",
    "darwin": "macosx_12_0",
    "win32": "win",
}


class KernelsHook(BuildHookInterface[Any]):
    """Hook that adds the kernels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the folder of kernels, if there is one, and set the tags of the wheel."""
        folder = os.environ.get("TABLUT_KERNELS")
        if not folder or self.target_name != "wheel":
            return
        if not any(Path(folder).glob("*.kernel")):
            raise FileNotFoundError(f"TABLUT_KERNELS={folder}: no kernels there; `tablut warmup --into` makes them")
        build_data["force_include"][str(Path(folder).absolute())] = "tablut/engine/compiled"
        build_data["pure_python"] = False
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["tag"] = f"{python}-none-{_PLATFORMS[sys.platform]}_{platform.machine().lower()}"
