"""Building a tier in slices. The tasks of each step run on a scheduler, and a checkpoint is written after each step.

A build that was killed resumes from the last checkpoint. The intact files of the interrupted step are kept, and damaged
or lost files are written again. If nothing can be recovered, the tier is solved again from the first step. The values
are the same in every case.

The last two checkpoints' files are kept. If one of the newest checkpoint's files is damaged or lost, the missing part
of its step is run again from the previous checkpoint. The program computes all file names, and never reads them from a
file.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retrograde.solver.passes import BLACK, MOVES, QUICK_WINS, START, WHITE, describe_step, is_last, values_of
from retrograde.solver.slices.slice_plan import SlicedTier, cut_tier
from retrograde.solver.slices.slice_tasks import SliceStats, SliceTask, forget_tier, open_slice, share_tier
from retrograde.tablebase.store import TablebaseError, open_store, tier_name
from tablut.errors import InputError
from tablut.indexing.values import ALIAS, ALIAS_CODE, code_of
from tablut.position import SIDES
from tablut.work.files import remove_temporaries, writing
from tablut.work.ledger import damaged, drop_files, read_made
from tablut.work.parts import BLOCK, Number, Owner, PartFile, PartSource
from tablut.work.run import LocalScheduler, Mending, PartResult, run_parts
from tablut.work.sealed_records import DamagedError, Digest, Part, Record, StoreError, digest_of, write_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tablut.work.run import Scheduler

_CHECKPOINT: Final = re.compile(r"step-(\d{5})\.json")
_SLICE: Final = re.compile(r"\d{5}-\d{6}\.slice")


class SliceState(Part):
    """A slice's state at a checkpoint: the step that wrote its file, and the file's digest and counts."""

    step: Number
    digest: Digest
    stats: SliceStats


class Checkpoint(Record):
    """The state of all slices after a step, and the build's cost so far.

    ``read`` and ``written`` are byte counts.
    """

    FORMAT = "tablut-checkpoint-of-slices"
    VERSION = 2

    plan: Digest
    step: Number
    slices: tuple[SliceState, ...]
    cpu_seconds: float
    read: int
    written: int


class SliceFolder:
    """The scratch folder for a tier that is built in slices."""

    def __init__(self, folder: Path, plan: str, count: int, mending: Mending) -> None:
        self.folder, self.plan, self.count, self.mending = folder, plan, count, mending

    def path(self, step: int, number: int) -> Path:
        """Return the path of a slice's file after a step."""
        return self.folder / f"{step:05}-{number:06}.slice"

    def source(self, checkpoint: Checkpoint, number: int) -> PartSource:
        """Return the path and digest of a slice's file at a checkpoint."""
        state = checkpoint.slices[number]
        return PartSource(self.path(state.step, number), state.digest)

    def open(self) -> Checkpoint | None:
        """Create the folder if it is missing, and return the checkpoint from which to continue (see `resume`)."""
        shown = f"tablebase folder {str(self.folder)!r}"
        if self.folder.is_symlink():
            raise TablebaseError("is a link", subject=shown, remedy="remove it")
        with writing(shown, "remove it"):
            self.folder.mkdir(exist_ok=True)
            remove_temporaries(self.folder)
        return self.resume()

    def write(self, checkpoint: Checkpoint, before: Checkpoint | None) -> None:
        """Write a checkpoint, and remove the files that belong neither to this nor to the previous checkpoint."""
        write_record(self.folder / f"step-{checkpoint.step:05}.json", checkpoint)
        kept = [some for some in (checkpoint, before) if some is not None]
        steps = {some.step for some in kept}
        named = {self.path(state.step, number) for some in kept for number, state in enumerate(some.slices)}
        named |= {self.folder / f"step-{step:05}.json" for step in steps}
        ours = (
            path for path in self.folder.iterdir() if _CHECKPOINT.fullmatch(path.name) or _SLICE.fullmatch(path.name)
        )
        drop_files(path for path in ours if path not in named)

    def resume(self) -> Checkpoint | None:
        """Return the last checkpoint whose files are all intact. Damaged files are reported and removed."""
        found = sorted(
            (int(match[1]), path) for path in self.folder.iterdir() if (match := _CHECKPOINT.fullmatch(path.name))
        )
        for step, path in reversed(found):
            try:
                checkpoint = self._read(path, step)
                whole = [self._is_whole(self.source(checkpoint, number)) for number in range(self.count)]
            except DamagedError as error:
                self.mending.remove(error, found=True)
                continue
            if all(whole):
                return checkpoint
        return None

    def _read(self, path: Path, step: int) -> Checkpoint:
        """Read and verify a checkpoint."""
        try:
            checkpoint = read_made(path, Checkpoint)
        except StoreError as error:  # a link, or a checkpoint of another version
            raise damaged(path, error.problem) from error
        if checkpoint is None:
            raise damaged(path, "it is missing")
        if checkpoint.plan != self.plan:
            raise damaged(path, "it belongs to other slices or to other tiers below")
        if checkpoint.step != step or len(checkpoint.slices) != self.count:
            raise damaged(path, "it is in the wrong place")
        return checkpoint

    def _is_whole(self, source: PartSource) -> bool:
        try:
            open_slice(*source).check()
        except DamagedError as error:
            self.mending.remove(error, found=True)
            return False
        return True

    def remove(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)


# -- the build ---------------------------------------------------------------------------------


def scratch_folder(root: Path | str, material: tuple[int, int]) -> Path:
    """Return the scratch folder for a tier's slices during the build."""
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
        # The plan covers everything that affects the values in a slice's file, apart from the input files.
        self.plan = digest_of([self.game, self.name, list(self.cuts), below])
        self.mending = Mending(lambda what: tell(f"{self.name}: {what}"))
        self.folder = SliceFolder(scratch_folder(root, material), self.plan, self.count, self.mending)
        share_tier(str(self.root), self.plan, store, self.tier)
        self.near = [self._near(number) for number in range(self.count)]
        self._done: Checkpoint | None = None

    def _cut(self, memory: int) -> tuple[int, ...]:
        """Divide the tier into slices so that as many tasks as possible fit into the memory at the same time."""
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
        """Return the numbers of all slices with rows near a given slice, including the slice itself."""
        near = self.tier.window(self.cuts[number], self.cuts[number + 1]).near
        counts = np.add.reduceat(near.astype(np.int64), np.array(self.cuts[:-1]))
        return [int(other) for other in np.flatnonzero(counts)]

    # -- the passes --------------------------------------------------------------------

    def solve(self) -> tuple[PackedItems, PackedItems, Checkpoint]:
        """Run all remaining steps. Return the codes with white and with black to move, and the last checkpoint."""
        done = self._done = self.folder.open()
        if done is not None:
            self.tell(f"{self.name}: resuming {self.count} slices after step {done.step}")
        while (done := self._done) is None or not self._finished(done):
            step = START if done is None else done.step + 1
            with self.mending.attempt(step, self.resume):
                self._done = self._do(step, done)
        starts = self.tier.starts[np.array(self.cuts)]
        files = [open_slice(*self.folder.source(done, number)) for number in range(self.count)]
        white, black = (PackedItems(files, side, starts) for side in SIDES)
        return white, black, done

    def resume(self) -> None:
        """Return to the last checkpoint whose files are intact."""
        self._done = self.folder.resume()

    def _finished(self, done: Checkpoint) -> bool:
        """Return whether the tier is solved at a checkpoint, that is, whether no later step can find a new value."""
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
        """Run one step, using a task for each slice concerned, and return the new checkpoint."""
        tasks = [task for number in range(self.count) if (task := self._task(step, number, before)) is not None]
        what = describe_step(step, self.stride)
        self.tell(f"{self.name}: {what}, {len(tasks)} of {self.count} slices")
        left = len(tasks)

        def _done(_: PartResult) -> None:
            nonlocal left
            left -= 1
            self.tell(f"{self.name}: {what}, {left} slices left")

        answers = run_parts(self.scheduler, tasks, lambda found: self.tell(f"{self.name}: {found}"), _done)
        slices: list[SliceState | None] = [None] * self.count if before is None else [*before.slices]
        for answer in answers:
            slices[answer.number] = SliceState(step=step, digest=answer.digest, stats=answer.stats)
        spent = (0.0, 0, 0) if before is None else (before.cpu_seconds, before.read, before.written)
        checkpoint = Checkpoint(
            plan=self.plan,
            step=step,
            slices=tuple(state for state in slices if state is not None),
            cpu_seconds=spent[0] + sum(answer.cpu for answer in answers),
            read=spent[1] + sum(answer.stats.read for answer in answers),
            written=spent[2] + sum(answer.length for answer in answers),
        )
        self.folder.write(checkpoint, before)
        return checkpoint

    def _task(self, step: int, number: int, before: Checkpoint | None) -> SliceTask | None:
        """Return a slice's task in a step, or None if the step does not concern the slice."""
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
        owner, target = Owner(plan=plan, step=step, number=number), self.folder.path(step, number)
        return SliceTask(
            str(self.root), self.material, self.plan, self.cuts, owner, own, tuple(near), tuple(received), target
        )

    def _concerns(self, step: int, state: SliceState) -> bool:
        """Return whether a slice has values that a round propagates within the slice or to other slices."""
        found = {WHITE: state.stats.white, BLACK: state.stats.black}
        values = ((side, item) for side in found for item in values_of(step, self.stride, side))
        return any(code_of(item) in found[side] for side, item in values)

    def remove(self) -> None:
        """Remove the scratch files, and the tables that this process's tasks share.

        The tier must already be stored.
        """
        forget_tier()
        self.folder.remove()


# -- a tier's codes ----------------------------------------------------------------------------


_PART = 1 << 16
"""Number of items that are converted to codes together.

The number is small enough for the temporary arrays to fit into the cache.
"""


def to_codes(items: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Convert a solver's items in place to codes for storage, and return them (see `tablut.indexing.values`)."""
    for start in range(0, len(items), _PART):
        part = items[start : start + _PART]
        codes = code_of(part)
        codes[part == ALIAS] = ALIAS_CODE
        part[:] = codes
    return items


class PackedItems:
    """A sliced tier's compressed codes with one side to move. Indexing with a range unpacks its codes."""

    def __init__(self, files: Sequence[PartFile[Any]], side: str, starts: NDArray[np.int64]) -> None:
        self.files, self.side, self.starts = list(files), side, starts
        self.dtype = np.dtype(np.uint16)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, part: slice) -> NDArray[np.uint16]:
        """Return a range of codes after verifying each block."""
        start, stop, _ = part.indices(len(self))
        found = np.empty(max(stop - start, 0), dtype=np.uint16)
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for number in range(first, len(self.files)):
            begin, end = int(self.starts[number]), int(self.starts[number + 1])
            if begin >= stop:
                break
            blocks = np.arange(-(-(end - begin) // BLOCK))
            wanted = (begin + blocks * BLOCK < stop) & (begin + (blocks + 1) * BLOCK > start)
            for at, items in self.files[number].blocks(self.side, wanted):
                low, high = max(begin + at, start), min(begin + at + len(items), stop)
                found[low - start : high - start] = items[low - begin - at : high - begin - at]
        return to_codes(found)
