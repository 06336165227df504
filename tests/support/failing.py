"""Machines that fail at any call by which a store writes."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Faults:
    """Counts the calls that write, and lets one of them fail.

    ``at`` says which call fails, from 0 on; of bytes to be written half are written first, as a full disk does it.
    """

    def __init__(self, at: int | None, error: BaseException) -> None:
        self.at, self.error, self.calls = at, error, 0

    def call(self) -> bool:
        """Count a call; return whether it is the one that fails."""
        self.calls += 1
        return self.calls - 1 == self.at

    def failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that fails when its turn comes."""

        def replaced(*arguments: Any, **keywords: Any) -> Any:
            if self.call():
                raise self.error
            return function(*arguments, **keywords)

        return replaced

    @contextmanager
    def injected(self) -> Iterator[None]:
        """Put the faults into every call of the system by which a census writes."""
        real = os.fdopen

        def opened(descriptor: int, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            file = real(descriptor, mode, *arguments, **keywords)
            return _Stream(file, self) if "w" in mode else file

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fdopen", opened)
            patch.setattr(os, "fsync", self.failing(os.fsync))
            patch.setattr(tempfile, "mkstemp", self.failing(tempfile.mkstemp))
            for name in ("mkdir", "replace", "unlink", "chmod"):
                patch.setattr(Path, name, self.failing(getattr(Path, name)))
            yield


class _Stream:
    def __init__(self, file: Any, faults: Faults) -> None:
        self.file, self.faults = file, faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *arguments: object) -> None:
        self.file.close()

    def write(self, content: Any) -> Any:
        if self.faults.call():
            self.file.write(content[: len(content) // 2])
            raise self.faults.error
        return self.file.write(content)


ERRORS = (OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error"), MemoryError())
