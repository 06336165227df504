"""Building a tier in slices: one step after another as tasks of a scheduler, with a checkpoint after each step.

A build that was killed resumes from the last checkpoint. It keeps the intact files of the interrupted step, and makes
damaged or lost files again. If nothing can be recovered, the tier is solved again from the first step. The values are
the same in every case.

The files of the last two checkpoints are kept. If a file of the newest one is damaged or lost, the missing part of its
step is run again from the previous checkpoint. File names are never read from a file.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retrograde.solver.passes import BLACK, MOVES, QUICK_WINS, START, WHITE, describe_step, is_last, values_of
from retrograde.solver.slices.files import (
    WAY_OUT,
    DamagedSliceError,
    Number,
    PackedItems,
    SliceOwner,
    SliceSource,
    SliceStats,
    check_blocks,
    damaged,
    open_slice,
    record_path,
)
from retrograde.solver.slices.plan import SlicedTier, cut_tier
from retrograde.solver.slices.tasks import SliceTask, forget_tier, run_slice, share_tier
from retrograde.tablebase.store import TablebaseError, open_store, tier_name
from tablut.errors import InputError, output_failure
from tablut.indexing.values import ALIAS, code_of
from tablut.position import SIDES
from tablut.work.files import remove_temporaries
from tablut.work.records import Digest, Part, Record, StoreError, digest_of, read_record, write_record
from tablut.work.run import LocalScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tablut.work.run import Scheduler

_CHECKPOINT: Final = re.compile(r"step-(\d{5})\.json")
_SLICE: Final = re.compile(r"\d{5}-\d{6}\.(slice|json)")


class SliceState(Part):
    """A slice at a checkpoint: the step that wrote its file, and the file's digest and counts."""

    step: Number
    digest: Digest
    stats: SliceStats


class Checkpoint(Record):
    """All slices after a step, and the cost of the tier so far; ``read`` and ``written`` are bytes."""

    FORMAT = "tablut-checkpoint-of-slices"

    plan: Digest
    step: Number
    slices: tuple[SliceState, ...]
    cpu_seconds: float
    read: int
    written: int


class SliceFolder:
    """The scratch folder of a tier that is built in slices."""

    def __init__(self, folder: Path, plan: str, count: int, tell: Callable[[str], None]) -> None:
        self.folder, self.plan, self.count, self.tell = folder, plan, count, tell

    def path(self, step: int, number: int) -> Path:
        """Return the path of a slice's file after a step."""
        return self.folder / f"{step:05}-{number:06}.slice"

    def source(self, checkpoint: Checkpoint, number: int) -> SliceSource:
        """Return the path of a slice's file at a checkpoint, with the digest of its record."""
        state = checkpoint.slices[number]
        return SliceSource(str(self.path(state.step, number)), state.digest)

    def open(self) -> Checkpoint | None:
        """Create the folder if it is missing, and return the checkpoint from which to continue; see `resume`."""
        shown = f"tablebase folder {str(self.folder)!r}"
        try:
            if self.folder.is_symlink():
                raise TablebaseError("is a link", subject=shown, remedy="remove it")
            self.folder.mkdir(exist_ok=True)
            remove_temporaries(self.folder)
        except OSError as error:
            raise output_failure(shown, error, "remove it") from error
        return self.resume()

    def write(self, checkpoint: Checkpoint, before: Checkpoint | None) -> None:
        """Write a checkpoint, and remove the files that belong neither to it nor to the previous one."""
        write_record(self.folder / f"step-{checkpoint.step:05}.json", checkpoint)
        kept = [some for some in (checkpoint, before) if some is not None]
        steps = {some.step for some in kept}
        named = {self.path(state.step, number).stem for some in kept for number, state in enumerate(some.slices)}
        for path in self.folder.iterdir():
            step = _CHECKPOINT.fullmatch(path.name)
            if (step and int(step[1]) not in steps) or (_SLICE.fullmatch(path.name) and path.stem not in named):
                path.unlink(missing_ok=True)

    def resume(self) -> Checkpoint | None:
        """Return the last checkpoint whose files are all intact. Damaged files are reported and removed."""
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
        """Read and verify a checkpoint."""
        try:
            checkpoint = read_record(path, Checkpoint, "scratch file", WAY_OUT)
        except StoreError as error:
            raise DamagedSliceError(str(error)) from error
        if checkpoint is None:
            raise damaged(path, "is missing")
        if checkpoint.plan != self.plan:
            raise damaged(path, "belongs to other slices or to other tiers below")
        if checkpoint.step != step or len(checkpoint.slices) != self.count:
            raise damaged(path, "is in the wrong place")
        return checkpoint

    def _is_whole(self, source: SliceSource) -> bool:
        try:
            check_blocks(open_slice(source))
        except DamagedSliceError as error:
            self.tell(str(error))
            for path in (Path(source.path), record_path(Path(source.path))):
                path.unlink(missing_ok=True)
            return False
        return True

    def remove(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)


# -- the build ---------------------------------------------------------------------------------


_TRIES: Final = 3
"""Number of times that damage is repaired without progress before the disk is considered faulty."""


def scratch_folder(root: Path | str, material: tuple[int, int]) -> Path:
    """Return the scratch folder for the slices of a tier while it is built."""
    return Path(root) / f".{tier_name(material)}.slices"


class SliceBuild:
    """The build of one tier in slices. All tiers that captures lead to must be in the store."""

    def __init__(
        self,
        root: Path | str,
        material: tuple[int, int],
        scheduler: Scheduler,
        *,
        memory: int,
        tell: Callable[[str], None],
        cuts: Sequence[int] | None = None,
    ) -> None:
        self.root, self.material, self.scheduler, self.tell = Path(root), material, scheduler, tell
        self.name = tier_name(material)
        store = open_store(root)
        self.game = store.variant.digest
        self.tier = SlicedTier(store.variant, material)
        self.stride = self.tier.solver.stride
        self.cuts = tuple(cuts) if cuts is not None else self._cut(memory)
        self.count = len(self.cuts) - 1
        below = {tier_name(lower): store.tier(*lower).record.digest for lower in self.tier.lower}
        # Everything that the values in a slice's file depend on, apart from its input files.
        self.plan = digest_of([self.game, self.name, list(self.cuts), below])
        self.folder = SliceFolder(
            scratch_folder(root, material), self.plan, self.count, lambda what: tell(f"{self.name}: {what}")
        )
        share_tier(str(self.root), self.plan, store, self.tier)
        self.near = [self._near(number) for number in range(self.count)]
        # Number of times that damage was found since a new step was last completed.
        self._failures, self._furthest = 0, -1

    def _cut(self, memory: int) -> tuple[int, ...]:
        """Divide the tier into slices, for as many parallel tasks in a process as fit into memory."""
        if isinstance(self.scheduler, LocalScheduler):
            for workers in range(self.scheduler.sharing, 1, -1):
                with suppress(InputError):
                    cuts = cut_tier(self.tier, memory, workers)
                    if workers < self.scheduler.sharing:
                        self.scheduler = LocalScheduler(workers)
                    return cuts
            if self.scheduler.sharing > 1:
                self.scheduler = LocalScheduler(1)
        return cut_tier(self.tier, memory, self.scheduler.sharing)

    def _near(self, number: int) -> list[int]:
        """Return the slices that have rows near a slice, including the slice itself."""
        near = self.tier.window(self.cuts[number], self.cuts[number + 1]).near
        counts = np.add.reduceat(near.astype(np.int64), np.array(self.cuts[:-1]))
        return [int(other) for other in np.flatnonzero(counts)]

    # -- the passes --------------------------------------------------------------------

    def solve(self) -> tuple[PackedItems, PackedItems, Checkpoint]:
        """Run all remaining steps; return the codes with white and with black to move, and the last checkpoint."""
        done = self.folder.open()
        if done is not None:
            self.tell(f"{self.name}: resuming {self.count} slices after step {done.step}")
        while done is None or not self._finished(done):
            step = START if done is None else done.step + 1
            try:
                done = self._do(step, done)
            except DamagedSliceError as error:
                done = self._after_damage(error)
        starts = self.tier.starts[np.array(self.cuts)]
        files = [open_slice(self.folder.source(done, number)) for number in range(self.count)]
        white, black = (PackedItems(files, side, starts) for side in SIDES)
        return white, black, done

    def _finished(self, done: Checkpoint) -> bool:
        """Return whether no further value can follow after a checkpoint."""
        longest = max(
            (
                int(code) >> 1
                for state in done.slices
                for side in (state.stats.white, state.stats.black)
                for code in side
                if code != ALIAS
            ),
            default=0,
        )
        sent = any(state.stats.wins or state.stats.losses for state in done.slices if state.step == done.step)
        return not sent and is_last(done.step, self.stride, longest)

    def _do(self, step: int, before: Checkpoint | None) -> Checkpoint:
        """Run one step: a task for each slice that it concerns."""
        tasks = [task for number in range(self.count) if (task := self._task(step, number, before)) is not None]
        what = describe_step(step, self.stride)
        self.tell(f"{self.name}: {what}, {len(tasks)} of {self.count} slices")
        left = len(tasks)

        def _done(answer: dict[str, Any]) -> None:
            nonlocal left
            left -= 1
            if answer["found"]:
                self.tell(f"{self.name}: {answer['found']}")
            self.tell(f"{self.name}: {what}, {left} slices left")

        answers = self.scheduler.run(run_slice, tasks, _done) if tasks else []
        slices: list[SliceState | None] = [None] * self.count if before is None else [*before.slices]
        for answer in answers:
            slices[answer["number"]] = SliceState(step=step, digest=answer["digest"], stats=answer["stats"])
        spent = (0.0, 0, 0) if before is None else (before.cpu_seconds, before.read, before.written)
        checkpoint = Checkpoint(
            plan=self.plan,
            step=step,
            slices=tuple(state for state in slices if state is not None),
            cpu_seconds=spent[0] + sum(answer["cpu"] for answer in answers),
            read=spent[1] + sum(answer["read"] for answer in answers),
            written=spent[2] + sum(answer["bytes"] for answer in answers),
        )
        self.folder.write(checkpoint, before)
        if step > self._furthest:
            self._furthest, self._failures = step, 0
        return checkpoint

    def _task(self, step: int, number: int, before: Checkpoint | None) -> SliceTask | None:
        """Return the task of a slice in a step, or None if the step does not concern it."""
        own, near, received = None, [], []
        if before is not None:
            own = self.folder.source(before, number)
            if step in (QUICK_WINS, MOVES):
                near = [(other, self.folder.source(before, other)) for other in self.near[number]]
            received = [
                self.folder.source(before, other)
                for other in self.near[number]
                for state in (before.slices[other],)
                if state.step == step - 1 and (number in state.stats.wins or number in state.stats.losses)
            ]
            if step > MOVES and not received and not self._concerns(step, before.slices[number]):
                return None
        inputs = [source and source.digest for source in (own, *(source for _, source in near), *received)]
        plan = digest_of([self.plan, step, number, inputs])
        owner = SliceOwner(game=self.game, tier=self.name, plan=plan, step=step, number=number)
        target = str(self.folder.path(step, number))
        return SliceTask(
            str(self.root), self.material, self.plan, self.cuts, owner, own, tuple(near), tuple(received), target
        )

    def _concerns(self, step: int, state: SliceState) -> bool:
        """Return whether a slice has values that a round propagates, within the slice or to others."""
        found = {WHITE: state.stats.white, BLACK: state.stats.black}
        values = ((side, item) for side in found for item in values_of(step, self.stride, side))
        return any(code_of(item) in found[side] for side, item in values)

    def _after_damage(self, error: DamagedSliceError) -> Checkpoint | None:
        """Report damage, and return the checkpoint from which to continue."""
        self.count_damage(error)
        return self.folder.resume()

    def count_damage(self, error: DamagedSliceError) -> None:
        """Report damage; raise an error if it has occurred too often without progress."""
        self._failures += 1
        if self._failures > _TRIES:
            raise DamagedSliceError(
                str(error),
                remedy=f"check the disk of {str(self.root)!r}: this happened {self._failures} times",
            ) from error
        self.tell(f"{self.name}: {error}")

    def remove(self) -> None:
        """Remove the scratch files and the tables shared by this process's tasks, once the tier is stored."""
        forget_tier()
        self.folder.remove()
