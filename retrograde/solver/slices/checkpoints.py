"""Checkpoints: which file every slice has after a step, so that a build that was killed goes on there.

The files of the last two checkpoints are kept: if one of the last is damaged or lost, its step is done
again from the one before, as far as its files are not there. File names are never read from a file.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrograde.solver.slices.files import Counts, DamagedSliceError, Source, check_blocks, damaged, open_slice
from retrograde.tablebase.records import TablebaseError
from tablut.errors import InputError, output_failure
from tablut.store.files import read_bytes, remove_temporaries, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

_RECORD_BYTES: Final = 256 << 20
_CHECKPOINT: Final = re.compile(r"step-(\d{5})\.json")
_SLICE: Final = re.compile(r"(\d{5})-(\d{6})\.slice")

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=0, lt=1 << 20)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SliceState(_Record):
    """A slice at a checkpoint: the step that made its file, and what that says."""

    step: Number
    digest: Digest
    white: Counts
    black: Counts
    wins: Counts
    losses: Counts


class Checkpoint(_Record):
    """All slices after a step, and what the tier has cost so far."""

    format: Literal[1] = 1
    plan: Digest
    step: Number
    slices: tuple[SliceState, ...]
    cpu_seconds: float
    read: int
    written: int


class SliceFolder:
    """The folder of a tier that is built in slices."""

    def __init__(self, folder: Path, plan: str, count: int, tell: Callable[[str], None]) -> None:
        self.folder, self.plan, self.count, self.tell = folder, plan, count, tell

    def path(self, step: int, number: int) -> Path:
        """Return the file of a slice after a step."""
        return self.folder / f"{step:05}-{number:06}.slice"

    def source(self, checkpoint: Checkpoint, number: int) -> Source:
        """Return the file of a slice at a checkpoint."""
        state = checkpoint.slices[number]
        return Source(str(self.path(state.step, number)), state.digest)

    def open(self) -> Checkpoint | None:
        """Make the folder if it is missing, and return the checkpoint to go on from; see `resume`."""
        shown = f"tablebase folder {str(self.folder)!r}"
        try:
            if self.folder.is_symlink():
                raise TablebaseError(f"{shown}: is a link; remove it")
            self.folder.mkdir(exist_ok=True)
            remove_temporaries(self.folder)
        except OSError as error:
            raise output_failure(f"{shown}: {error.strerror}; remove it", error) from error
        return self.resume()

    def write(self, checkpoint: Checkpoint, before: Checkpoint | None) -> None:
        """Write a checkpoint, and remove the files that neither it names nor the one before."""
        write_text(self.folder / f"step-{checkpoint.step:05}.json", _sealed(checkpoint), lasting=True)
        kept = [some for some in (checkpoint, before) if some is not None]
        steps = {some.step for some in kept}
        named = {self.path(state.step, number).name for some in kept for number, state in enumerate(some.slices)}
        for path in self.folder.iterdir():
            step = _CHECKPOINT.fullmatch(path.name)
            if (step and int(step[1]) not in steps) or (_SLICE.fullmatch(path.name) and path.name not in named):
                path.unlink(missing_ok=True)

    def resume(self) -> Checkpoint | None:
        """Return the last checkpoint of which all files are whole; what is not is told and removed."""
        found = sorted(
            (int(match[1]), path) for path in self.folder.iterdir() if (match := _CHECKPOINT.fullmatch(path.name))
        )
        for step, path in reversed(found):
            try:
                checkpoint = self._read(path, step)
            except DamagedSliceError as error:
                self.tell(str(error))
                path.unlink(missing_ok=True)
                continue
            whole = [self._is_whole(self.source(checkpoint, number)) for number in range(self.count)]
            if all(whole):
                return checkpoint
        return None

    def _read(self, path: Path, step: int) -> Checkpoint:
        """Return a checkpoint, verified."""
        if path.is_symlink():
            raise damaged(path, "is a link")
        try:
            text = read_bytes(path, "scratch file", _RECORD_BYTES).decode()
            checkpoint = Checkpoint.model_validate(json.loads(text)["checkpoint"])
        except (InputError, ValidationError, ValueError, KeyError, TypeError) as error:
            raise damaged(path, "is no checkpoint") from error
        if text != _sealed(checkpoint):
            raise damaged(path, "has another digest")
        if checkpoint.plan != self.plan:
            raise damaged(path, "is of other slices, or of other tiers below")
        if checkpoint.step != step or len(checkpoint.slices) != self.count:
            raise damaged(path, "does not belong to its place")
        return checkpoint

    def _is_whole(self, source: Source) -> bool:
        try:
            check_blocks(open_slice(source))
        except DamagedSliceError as error:
            self.tell(str(error))
            Path(source.path).unlink(missing_ok=True)
            return False
        return True

    def remove(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _sealed(checkpoint: Checkpoint) -> str:
    """Return the one text that a checkpoint has."""
    body = checkpoint.model_dump(mode="json")
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({"checkpoint": body, "sha256": digest}, sort_keys=True) + "\n"
