"""The folder of a census: what it says of itself, which plies are complete, and how it is read and written.

``census.json`` says which game is counted. ``ply-004.json``, written last, makes ply 4
complete; its positions are the row files in ``ply-004/``. ``count-007.json`` in the same way binds the tallies
of ``count-007/``, a ply that was counted and not stored. ``work/`` holds the files of
children of the ply that is being made, and goes when that is complete.

Each record holds the digest of the one before and those of its files, so that every file
belongs to one place of one census; as a record of `tablut.store` it is sealed. Its ``digest`` covers what was counted
alone: the game, the ply, the digest of the ply before, the counts, and the rows in the order of their leaves. That is
the same for any memory, any number of threads and any interruptions, so it can be published.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar

import numpy as np
from pydantic import Field

from counting.census.buckets import BINS, LEAVES
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.rows import (
    FORMAT_VERSION,
    Bins,
    Counters,
    Expanded,
    MaterialCounts,
    Model,
    Owner,
    PartStats,
    Plan,
    PlyNumber,
    RowFile,
    RowSource,
    TallyStats,
    damaged,
    leaves_digest,
    open_rows,
    rows_digest,
)
from counting.spaces import spaces
from tablut.errors import InputError
from tablut.store.files import child
from tablut.store.folders import Kind, claim, commit, drop, sweep, writing
from tablut.store.records import Count, Digest, Record, digest_of, fields_of, read_record
from tablut.variants import Variant

KIND: Final = Kind("census", "census.json")
WHOLE: Final = Kind("census", "*/census.json")
"""The folder that ``--store`` names: censuses in folders of their own."""
HUNDREDTHS: Final = 100
_MEND: Final = "delete it, and run the command again"


# -- records -------------------------------------------------------------------------------


class StoreAbout(Record):
    """``census.json``: which census a folder holds; ``variant`` is a name for people, ``game`` decides."""

    FORMAT = "tablut census"
    VERSION = FORMAT_VERSION

    variant: str
    game: Digest
    full: bool


class PartEntry(Model):
    """A row file as a record names it: its length, and the digest that it must have."""

    bytes: Count
    digest: Digest


class TallyEntry(PartEntry):
    """A tally as a record names it."""

    bins: Bins


class SealedPly(Record):
    """What the records of plies have in common, whether their positions are stored or were only counted."""

    VERSION = FORMAT_VERSION
    APART: ClassVar[set[str]] = {"digest", "cpu"}
    """The fields that `digest` does not cover: how the ply was made, not what it holds."""

    game: Digest
    full: bool
    ply: PlyNumber
    before: Digest | None
    counters: Counters
    material: MaterialCounts
    children: Count
    next_children: Count
    expanded: Expanded
    digest: Digest
    cpu: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @property
    def whole(self) -> bool:
        """Whether all of the ply is in it."""
        return True

    @property
    def classes(self) -> int:
        """How many classes it adds, decided ones included."""
        return self.counters["new_classes"] + self.counters["decided_classes"]

    @classmethod
    def make(cls, content: dict[str, Any]) -> Self:
        """Return a record with its digest, from all its other fields."""
        digest = digest_of({name: value for name, value in content.items() if name not in cls.APART})
        return cls.model_validate_json(json.dumps(content | {"digest": digest}))

    def fault(self) -> str | None:
        """Return what is wrong with the record by itself, or None."""
        right = digest_of(fields_of(self, without=self.APART))
        return None if right == self.digest else "its digest is another"


class PlyRecord(SealedPly):
    """``ply-004.json``: what one complete ply holds; see `SealedPly`."""

    FORMAT = "tablut census ply"
    APART: ClassVar[set[str]] = SealedPly.APART | {"plan", "parts"}

    rows: Digest
    plan: Plan
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1, max_length=LEAVES)]


class Hundredth(Model):
    """What a hundredth of the bins holds; ``leaves`` is a digest of its new positions by leaf.

    Tallies never straddle hundredths, so that counts of a part of a ply can be compared, however they were made.
    """

    number: Annotated[int, Field(ge=0, lt=HUNDREDTHS)]
    children: Count
    new: Count
    new_classes: Count
    decided: Count
    decided_classes: Count
    leaves: Digest


class CountRecord(SealedPly):
    """``count-007.json``: what of one ply was counted and not stored; see `SealedPly`.

    Passes, tallies, memory and times do not change its digest.
    """

    FORMAT = "tablut census count"
    APART: ClassVar[set[str]] = SealedPly.APART | {"tallies", "passes"}

    before: Digest
    leaves: Digest
    hundredths: Annotated[tuple[Hundredth, ...], Field(min_length=1, max_length=HUNDREDTHS)]
    tallies: Annotated[tuple[TallyEntry, ...], Field(min_length=1, max_length=BINS)]
    passes: Annotated[int, Field(ge=1, le=BINS)]

    @property
    def whole(self) -> bool:
        """Whether all of the ply was counted."""
        return len(self.hundredths) == HUNDREDTHS


OfPly = TypeVar("OfPly", bound=SealedPly)


# -- what files add up to ------------------------------------------------------------------


def part_sums(files: Sequence[RowFile]) -> dict[str, Any]:
    """Return the sums of what parts or tallies say, as the record of a ply has them."""
    found = [_stats(file, PartStats) for file in files]
    try:
        material = np.sum([np.array(stats.material, dtype=np.int64) for stats in found], axis=0)
    except ValueError as error:
        raise damaged(files[0].path, "its material is that of another board") from error
    return {
        "counters": {name: sum(stats.counters[name] for stats in found) for name in found[0].counters},
        "material": tuple(tuple(tuple(row) for row in kind) for kind in material.tolist()),
        "children": sum(stats.children for stats in found),
        "next_children": sum(stats.next_children for stats in found),
    }


def count_sums(files: Sequence[RowFile]) -> dict[str, Any]:
    """Return what tallies add up to, as `CountRecord` has it; of each hundredth that they cover."""
    shares: dict[int, list[RowFile]] = {}
    for file in files:
        bins = bins_of(file)
        if (number := hundredth_of(bins)) is None:
            raise damaged(file.path, "it lies in several hundredths")
        some = shares.setdefault(number, [])
        if bins[0] != (bins_of(some[-1])[1] if some else edge(number)):
            raise damaged(file.path, "it does not begin where the tally before ends")
        some.append(file)
    for number, some in shares.items():
        if bins_of(some[-1])[1] != edge(number + 1):
            raise damaged(some[-1].path, "it does not reach the end of its hundredth")
    expanded = [_stats(file, TallyStats).expanded for file in files]
    return {
        **part_sums(files),
        "expanded": tuple(sum(each[place] for each in expanded) for place in range(EXPANSION_COUNTERS)),
        "leaves": leaves_digest(files),
        "hundredths": tuple(_hundredth(number, some) for number, some in sorted(shares.items())),
    }


def _hundredth(number: int, files: Sequence[RowFile]) -> Hundredth:
    sums = part_sums(files)
    numbers = {name: sums["counters"][name] for name in ("new", "new_classes", "decided", "decided_classes")}
    return Hundredth(number=number, children=sums["children"], leaves=leaves_digest(files), **numbers)


def edge(number: int) -> int:
    """Return the first bin of a hundredth."""
    return BINS * number // HUNDREDTHS


def hundredth_of(bins: tuple[int, int]) -> int | None:
    """Return the hundredth that some bins lie in, or None if they are none or lie in several."""
    number = min(-(-(bins[0] + 1) * HUNDREDTHS // BINS) - 1, HUNDREDTHS - 1)
    return number if edge(number) <= bins[0] < bins[1] <= edge(number + 1) else None


def bins_of(file: RowFile) -> tuple[int, int]:
    """Return the bins of a tally."""
    return _stats(file, TallyStats).bins


def tally_name(bins: tuple[int, int]) -> str:
    """Return the name of the tally of some bins."""
    return f"tally-{bins[0]:04}-{bins[1]:04}.rows"


def tally_owner(game: str, full: bool, ply: int, before: str, bins: tuple[int, int]) -> Owner:
    """Return what the tally of some bins belongs to: to the bins, whatever pass counted them."""
    return Owner(game, full, ply, bins[0], digest_of(["tally", before, *bins])[:32])


Stats = TypeVar("Stats", bound=PartStats)


def _stats(file: RowFile, kind: type[Stats]) -> Stats:
    if not isinstance(file.header.stats, kind):
        raise damaged(file.path, "its statistics are of another kind")
    return file.header.stats


def ended(variant: Variant, records: Sequence[SealedPly]) -> bool:
    """Return whether no more positions can be reached than those of the records, which begin with ply 0."""
    limit = variant.rules.move_limit
    return records[-1].counters["new_classes"] == 0 or (limit is not None and records[-1].ply >= limit)


def excess(variant: Variant, records: Sequence[SealedPly]) -> str | None:
    """Return where more positions were reached than the board has, or None.

    A ply has one side to move, so the positions of every other ply are different
    placements: each material has so many of them, undecided.
    """
    bound = spaces(variant)["no_end"].material().rows
    for parity in (0, 1):
        some = records[parity::2]
        if not some:
            continue
        reached = np.sum([np.array(record.material, dtype=object)[0] for record in some], axis=0)
        for attackers, defenders in np.argwhere(reached > np.array(bound, dtype=object)).tolist():
            return (
                f"{reached[attackers][defenders]:,} positions with {attackers} attackers and {defenders} defenders "
                f"in plies {parity}, {parity + 2} and so on, where the board has {bound[attackers][defenders]:,}"
            )
    return None


# -- the folder ----------------------------------------------------------------------------


class StoredCensus:
    """The folder of one census, to be read."""

    def __init__(self, root: Path, game: str, *, full: bool) -> None:
        self.root, self.game, self.full = root, game, full

    def records(self) -> Iterator[PlyRecord]:
        """Yield the records of the complete plies, from ply 0 on, each found to follow from the one before."""
        before = None
        while (record := self.record(0 if before is None else before.ply + 1, before)) is not None:
            yield record
            before = record

    def record(self, ply: int, before: PlyRecord | None) -> PlyRecord | None:
        """Return the record of a ply, or None if there is none."""
        return self._of_ply(f"ply-{ply:03}.json", PlyRecord, ply, before)

    def count_record(self, before: PlyRecord) -> CountRecord | None:
        """Return the record of the ply after another if it was counted and not stored, or None."""
        return self._of_ply(f"count-{before.ply + 1:03}.json", CountRecord, before.ply + 1, before)

    def _of_ply(self, name: str, model: type[OfPly], ply: int, before: PlyRecord | None) -> OfPly | None:
        path = self._inside(name)
        record = read_record(path, model, "census file", _MEND)
        if record is None:
            return None
        fault = None
        if (record.game, record.full, record.ply) != (self.game, self.full, ply):
            fault = "it belongs to another ply, or to another census"
        elif record.before != (None if before is None else before.digest):
            fault = "it does not follow from the record of the ply before"
        elif before is not None and record.whole and contradiction(before, record.expanded, record.children):
            fault = "its parents and children are not those that the ply before has"
        if fault is not None:
            raise InputError(f"census file {str(path)!r}: is damaged: {fault}; {_MEND}")
        return record

    def parts(self, record: PlyRecord) -> tuple[RowSource, ...]:
        """Return the parts of a complete ply and the digests that they must have."""
        folder = self._inside(f"ply-{record.ply:03}")
        return tuple(
            RowSource(folder / f"part-{number:05}.rows", entry.digest) for number, entry in enumerate(record.parts)
        )

    def check_parts(self, record: PlyRecord) -> list[RowFile]:
        """Return the parts of a ply, opened and found to be those that its record names; no row is read."""
        files = []
        for number, (source, entry) in enumerate(zip(self.parts(record), record.parts, strict=True)):
            owner = Owner(self.game, self.full, record.ply, number, record.plan)
            files.append(_belonging(source.path, "part", owner, entry))
        self._compare(record, f"ply-{record.ply:03}.json", part_sums(files) | {"rows": rows_digest(files)}, "parts")
        return files

    def check_tallies(self, record: CountRecord) -> list[RowFile]:
        """Return the tallies of a counted ply, opened and found to be those that its record names."""
        folder, files = self._inside(f"count-{record.ply:03}"), []
        for entry in record.tallies:
            owner = tally_owner(record.game, record.full, record.ply, record.before, entry.bins)
            files.append(_belonging(folder / tally_name(entry.bins), "tally", owner, entry))
        self._compare(record, f"count-{record.ply:03}.json", count_sums(files), "tallies")
        return files

    def _compare(self, record: SealedPly, name: str, sums: dict[str, Any], what: str) -> None:
        if any(getattr(record, field) != value for field, value in sums.items()):
            path = str(self.root / name)
            raise InputError(f"census file {path!r}: is damaged: it does not add up from its {what}; {_MEND}")

    def _inside(self, name: str) -> Path:
        """Return a file or folder of the store, which must not be a link."""
        return child(self.root, name, "census file")


def _belonging(path: Path, kind: str, owner: Owner, entry: PartEntry | None = None) -> RowFile:
    """Return a row file, opened and found to be that of its place, and the one that a record names."""
    file = open_rows(path, None if entry is None else entry.digest)
    if (file.header.kind, file.header.owner) != (kind, owner) or (entry is not None and file.length != entry.bytes):
        raise damaged(path, "it belongs elsewhere")
    return file


def contradiction(before: PlyRecord, expanded: Sequence[int], children: int) -> str | None:
    """Return how parents, moves and children of a ply differ from what the ply before says of them, or None."""
    due = [before.counters["new"], before.counters["moves"], before.next_children]
    found = [*expanded[:2], children]
    return None if found == due else f"{found} parents, moves and children where {due} are due"


def stored_folders(root: Path) -> dict[str, tuple[Path, StoreAbout]]:
    """Return the folders of a census: by classes, and without symmetry if it was counted so as well."""
    found: dict[str, tuple[Path, StoreAbout]] = {}
    for name in (".", "classes", "full"):
        folder = root if name == "." else child(root, name, "census file")
        about = read_record(child(folder, KIND.head, "census file"), StoreAbout, "census file", "choose another folder")
        if about is not None:
            found[name] = (folder, about)
        elif name != "." and folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"census file {str(folder / KIND.head)!r} is missing; count again")
        if "." in found:
            break
    return found


class CensusStore(StoredCensus):
    """The folder of one census, to be written by this process alone."""

    def __init__(self, root: Path, variant: Variant, *, full: bool) -> None:
        super().__init__(root.resolve(), variant.digest, full=full)
        about = StoreAbout(variant=variant.name, game=self.game, full=full)
        self._stack = ExitStack()
        self._stack.enter_context(claim(root, KIND, about, other=self._other))

    def _other(self, about: StoreAbout) -> str | None:
        if (about.game, about.full) == (self.game, self.full):
            return None
        other = "in another way" if about.game == self.game else "by other rules"
        return f"holds a census of {about.variant[:80]!r} {other}"

    def close(self) -> None:
        """Release the folder."""
        self._stack.close()

    # -- places ------------------------------------------------------------------------

    def part(self, ply: int, number: int) -> Path:
        """Return where a part of a ply's positions goes."""
        return self._place(f"ply-{ply:03}", f"part-{number:05}.rows")

    def work_file(self, ply: int, name: str, number: int) -> Path:
        """Return where a file goes from which a ply is made."""
        return self._place("work", f"ply-{ply:03}", f"{name}-{number:05}.rows")

    def tally(self, folder: Path, bins: tuple[int, int]) -> Path:
        """Return where the tally of some bins goes."""
        return self._place(folder.name, tally_name(bins))

    def count_folder(self, ply: int, *, again: bool = False) -> Path:
        """Return where the tallies of a ply are that was counted and not stored."""
        return self._inside(f"{'again' if again else 'count'}-{ply:03}")

    def _place(self, *names: str) -> Path:
        """Return where a file goes; its folders are made, and are no links."""
        folder = self.root
        for name in names[:-1]:
            folder = child(folder, name, "census folder")
            with writing(f"census folder {str(folder)!r}"):
                folder.mkdir(exist_ok=True)
        return folder / names[-1]

    # -- what is there -----------------------------------------------------------------

    def tallies(self, ply: int, before: str, folder: Path) -> list[RowFile]:
        """Return the tallies of a ply in a folder, found to belong to it and not to overlap."""
        files: list[RowFile] = []
        for path in sorted(folder.glob("tally-*.rows")) if folder.is_dir() else []:
            bins = bins_of(open_rows(path))
            file = _belonging(path, "tally", tally_owner(self.game, self.full, ply, before, bins))
            if path.name != tally_name(bins):
                raise damaged(path, "it belongs elsewhere")
            if files and bins[0] < bins_of(files[-1])[1]:
                raise damaged(path, f"it has the same bins as {files[-1].path.name}")
            files.append(file)
        return files

    def taken_bytes(self) -> int:
        """Return how many bytes the folder takes, whatever its files are for."""
        return sum(path.stat().st_size for path in self.root.rglob("*.rows"))

    def free_bytes(self) -> int:
        """Return the free space of the disk."""
        return shutil.disk_usage(self.root).free

    # -- finished and left -------------------------------------------------------------

    def commit(self, name: str, record: SealedPly) -> None:
        """Make a ply finished and remove what it was made from; its files are on the disk already."""
        commit(self.root / f"{name}-{record.ply:03}.json", record)
        self.drop_work()
        if isinstance(record, PlyRecord):
            named = {source.path for source in self.parts(record)}
            folder = self.root / f"ply-{record.ply:03}"
            sweep(folder, "census")
            with writing(f"census folder {str(folder)!r}"):
                for path in folder.glob("part-*.rows"):
                    if path not in named:
                        path.unlink()

    def drop_work(self) -> None:
        """Remove what a ply was made from."""
        drop(self.root / "work")

    def sweep(self, ply: int | None) -> None:
        """Remove what killed tasks left: temporary names, and all of ``work/`` that the next ply does not need."""
        work = child(self.root, "work", "census folder")
        for folder in (path for kind in ("ply", "count", "again") for path in self.root.glob(f"{kind}-*")):
            sweep(folder, "census")
        for folder in work.glob("*"):
            if ply is None or folder.name != f"ply-{ply:03}":
                drop(folder)
            else:
                sweep(folder, "census")
        if work.is_dir() and not any(work.iterdir()):
            work.rmdir()
