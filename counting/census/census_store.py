"""A census folder: its layout, its records, and the classes that read and write it.

``census.json`` identifies the game. ``ply-004.json`` is the record of ply 4. This file is written last and marks the
ply as complete. The ply's positions are in the row files in ``ply-004/``. ``count-007.json`` is the record of a ply
that was counted but not stored; its tallies are in ``count-007/``. ``work/`` contains the files of children while a ply
is being made, and is removed when the ply is complete.

Each record contains the digests of the previous record and of its own ply's files. Every file therefore belongs to
exactly one place in one census. Every record is sealed by a checksum (`tablut.work.sealed_records`). A record's
``digest`` covers only the results: the game, the ply, the previous ply's digest, the counts, and the rows in leaf
order. The digest does not depend on memory, the number of threads or interruptions, so it can be published.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar

import numpy as np
from pydantic import Field

from counting.census.buckets import BINS, LEAVES
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.rows import (
    Bins,
    Counters,
    Expanded,
    MaterialCounts,
    PartStats,
    PlyNumber,
    RowFile,
    TallyStats,
    leaves_digest,
    open_rows,
    rows_digest,
)
from counting.spaces import spaces
from tablut.errors import InputError
from tablut.variants import Variant
from tablut.work.files import child, writing
from tablut.work.ledger import Kind, claim, commit, damaged, drop, drop_files, read_made, sweep
from tablut.work.parts import Owner, PartSource
from tablut.work.sealed_records import Count, Digest, Part, Record, digest_of, fields_of, read_record

FORMAT_VERSION: Final = 6
KIND: Final = Kind("census", "census.json")
WHOLE: Final = Kind("census", "*/census.json")
"""The kind of the ``--store`` folder, which contains one folder for each census."""
HUNDREDTHS: Final = 100


# -- records -------------------------------------------------------------------------------


class StoreAbout(Record):
    """``census.json``, which identifies a census by ``game`` and ``full``.

    The field ``variant`` is used only for display.
    """

    FORMAT = "tablut census"
    VERSION = FORMAT_VERSION

    variant: str
    game: Digest
    full: bool


class PartEntry(Part):
    """A row file's entry in a record: the file's length and digest."""

    bytes: Count
    digest: Digest


class TallyEntry(PartEntry):
    """A tally's entry in a record."""

    bins: Bins


class SealedPly(Record):
    """The fields that the records of stored plies and of counted plies have in common."""

    VERSION = FORMAT_VERSION
    APART: ClassVar[set[str]] = {"digest", "cpu"}
    """The fields that ``digest`` does not cover, because they describe how the ply was made."""

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
        """Whether the record covers the whole ply."""
        return True

    @property
    def classes(self) -> int:
        """The number of new classes, including decided ones."""
        return self.counters["new_classes"] + self.counters["decided_classes"]

    @classmethod
    def make(cls, content: dict[str, Any]) -> Self:
        """Return a record with the given fields and a digest of its results."""
        digest = digest_of({name: value for name, value in content.items() if name not in cls.APART})
        return cls.model_validate_json(json.dumps(content | {"digest": digest}))

    def fault(self) -> str | None:
        """Return a description of an inconsistency in the record, or None."""
        right = digest_of(fields_of(self, without=self.APART))
        return None if right == self.digest else "its digest is wrong"


class PlyRecord(SealedPly):
    """``ply-004.json``: a complete ply's record; see `SealedPly`."""

    FORMAT = "tablut census ply"
    APART: ClassVar[set[str]] = SealedPly.APART | {"plan", "parts"}

    rows: Digest
    plan: Digest
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1, max_length=LEAVES)]


class Hundredth(Part):
    """The counts for a hundredth of the bins. The field ``leaves`` is a digest of the new positions by leaf.

    A tally never extends over several hundredths. Two counts of a part of a ply can therefore be compared even if they
    were divided into tallies differently.
    """

    number: Annotated[int, Field(ge=0, lt=HUNDREDTHS)]
    children: Count
    new: Count
    new_classes: Count
    decided: Count
    decided_classes: Count
    leaves: Digest


class CountRecord(SealedPly):
    """``count-007.json``: the record of a ply, or part of a ply, that was counted but not stored; see `SealedPly`.

    Its digest does not depend on the number of passes, the memory, the running time, or the division into tallies.
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
        """Whether the whole ply was counted."""
        return len(self.hundredths) == HUNDREDTHS


OfPly = TypeVar("OfPly", bound=SealedPly)


# -- sums over files -----------------------------------------------------------------------


def part_sums(files: Sequence[RowFile]) -> dict[str, Any]:
    """Add up the statistics of parts or tallies, and return the sums as fields of the ply's record."""
    found = [_stats(file, PartStats) for file in files]
    try:
        material = np.sum([np.array(stats.material, dtype=np.int64) for stats in found], axis=0)
    except ValueError as error:
        raise damaged(files[0].path, "its material does not fit the other parts") from error
    return {
        "counters": {name: sum(stats.counters[name] for stats in found) for name in found[0].counters},
        "material": tuple(tuple(tuple(row) for row in kind) for kind in material.tolist()),
        "children": sum(stats.children for stats in found),
        "next_children": sum(stats.next_children for stats in found),
    }


def count_sums(files: Sequence[RowFile]) -> dict[str, Any]:
    """Return the sums of tallies, in total and for each hundredth that they contain, as fields of `CountRecord`."""
    shares: dict[int, list[RowFile]] = {}
    for file in files:
        bins = bins_of(file)
        if (number := hundredth_of(bins)) is None:
            raise damaged(file.path, "it extends over several hundredths")
        some = shares.setdefault(number, [])
        if bins[0] != (bins_of(some[-1])[1] if some else edge(number)):
            raise damaged(file.path, "it does not begin where the previous tally ends")
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
    """Return the first bin in a hundredth."""
    return BINS * number // HUNDREDTHS


def hundredth_of(bins: tuple[int, int]) -> int | None:
    """Return the hundredth that contains a range of bins, or None if the range is empty or spans several hundredths."""
    number = min(-(-(bins[0] + 1) * HUNDREDTHS // BINS) - 1, HUNDREDTHS - 1)
    return number if edge(number) <= bins[0] < bins[1] <= edge(number + 1) else None


def bins_of(file: RowFile) -> tuple[int, int]:
    """Return a tally's range of bins."""
    return _stats(file, TallyStats).bins


def tally_name(bins: tuple[int, int]) -> str:
    """Return the file name of the tally for a range of bins."""
    return f"tally-{bins[0]:04}-{bins[1]:04}.rows"


def tally_owner(ply: int, before: str, bins: tuple[int, int]) -> Owner:
    """Return the owner of the tally for a range of bins. The owner does not depend on the pass that counted them."""
    return Owner(plan=digest_of(["tally", before, *bins]), step=ply, number=bins[0])


Stats = TypeVar("Stats", bound=PartStats)


def _stats(file: RowFile, kind: type[Stats]) -> Stats:
    if not isinstance(file.stats, kind):
        raise damaged(file.path, "its statistics are of the wrong kind")
    return file.stats


def ended(variant: Variant, records: Sequence[SealedPly]) -> bool:
    """Return whether the records, which begin with ply 0, contain all reachable positions."""
    limit = variant.rules.move_limit
    return records[-1].counters["new_classes"] == 0 or (limit is not None and records[-1].ply >= limit)


def excess(variant: Variant, records: Sequence[SealedPly]) -> str | None:
    """Return a description of material with more reached positions than the board allows, or None.

    All positions in a ply have the same side to move. The positions in the even plies are therefore all different
    placements, and so are those in the odd plies. For each material, neither number can exceed the number of undecided
    placements with this material.
    """
    bound = spaces(variant)["no_end"].material()
    for parity, (attackers, defenders, most) in product((0, 1), bound.pairs()):
        reached = sum(record.material[0][attackers][defenders] for record in records[parity::2])
        if reached > most:
            return (
                f"{reached:,} positions with {attackers} attackers and {defenders} defenders "
                f"in plies {parity}, {parity + 2} and so on, but the board allows {most:,}"
            )
    return None


# -- the folder ----------------------------------------------------------------------------


class StoredCensus:
    """One census's folder, opened for reading."""

    def __init__(self, root: Path, game: str, *, full: bool) -> None:
        self.root, self.game, self.full = root, game, full

    def records(self) -> Iterator[PlyRecord]:
        """Yield the complete plies' records in order. Check that each record follows from the one before it."""
        before = None
        while (record := self.record(0 if before is None else before.ply + 1, before)) is not None:
            yield record
            before = record

    def record(self, ply: int, before: PlyRecord | None) -> PlyRecord | None:
        """Return a ply's record, or None if it does not exist."""
        return self._of_ply(f"ply-{ply:03}.json", PlyRecord, ply, before)

    def count_record(self, before: PlyRecord) -> CountRecord | None:
        """Return the record of the ply after ``before`` if that ply was counted but not stored, otherwise None."""
        return self._of_ply(f"count-{before.ply + 1:03}.json", CountRecord, before.ply + 1, before)

    def _of_ply(self, name: str, model: type[OfPly], ply: int, before: PlyRecord | None) -> OfPly | None:
        path = self._inside(name)
        record = read_made(path, model)
        if record is None:
            return None
        fault = None
        if (record.game, record.full, record.ply) != (self.game, self.full, ply):
            fault = "it belongs to another ply, or to another census"
        elif record.before != (None if before is None else before.digest):
            fault = "it does not follow from the record of the previous ply"
        elif before is not None and record.whole and contradiction(before, record.expanded, record.children):
            fault = "its parents and children do not match the previous ply"
        if fault is not None:
            raise damaged(path, fault)
        return record

    def parts(self, record: PlyRecord) -> tuple[PartSource, ...]:
        """Return a complete ply's parts with their expected digests."""
        folder = self._inside(f"ply-{record.ply:03}")
        return tuple(
            PartSource(folder / f"part-{number:05}.rows", entry.digest) for number, entry in enumerate(record.parts)
        )

    def check_parts(self, record: PlyRecord) -> list[RowFile]:
        """Open a ply's parts and check that they belong to its record. Rows are not read."""
        files = []
        for number, (source, entry) in enumerate(zip(self.parts(record), record.parts, strict=True)):
            owner = Owner(plan=record.plan, step=record.ply, number=number)
            files.append(_belonging(source.path, owner, entry))
        self._compare(record, f"ply-{record.ply:03}.json", part_sums(files) | {"rows": rows_digest(files)}, "parts")
        return files

    def check_tallies(self, record: CountRecord) -> list[RowFile]:
        """Open a counted ply's tallies and check that they belong to its record."""
        folder, files = self._inside(f"count-{record.ply:03}"), []
        for entry in record.tallies:
            owner = tally_owner(record.ply, record.before, entry.bins)
            files.append(_belonging(folder / tally_name(entry.bins), owner, entry))
        self._compare(record, f"count-{record.ply:03}.json", count_sums(files), "tallies")
        return files

    def _compare(self, record: SealedPly, name: str, sums: dict[str, Any], what: str) -> None:
        if any(getattr(record, field) != value for field, value in sums.items()):
            raise damaged(self.root / name, f"it does not match its {what}")

    def _inside(self, name: str) -> Path:
        """Return the path of a file or folder in the store, which must not be a link."""
        return child(self.root, name, "census file")


def _belonging(path: Path, owner: Owner, entry: PartEntry | None = None) -> RowFile:
    """Open a row file. Check that it has the given owner and, if an entry is given, that it matches the entry."""
    file = open_rows(path, "" if entry is None else entry.digest)
    if file.part.header.owner != owner or (entry is not None and file.part.length != entry.bytes):
        raise damaged(path, "it belongs elsewhere")
    return file


def contradiction(before: PlyRecord, expanded: Sequence[int], children: int) -> str | None:
    """Return a description of a contradiction between a ply and the previous ply's record, or None.

    The numbers of parents, moves and children of the ply are compared with the numbers in the record.
    """
    due = [before.counters["new"], before.counters["moves"], before.next_children]
    found = [*expanded[:2], children]
    return None if found == due else f"it has {found} parents, moves and children instead of {due}"


def stored_folders(root: Path) -> dict[str, tuple[Path, StoreAbout]]:
    """Return a census's folders: the one for classes and, if it exists, the one for the count without symmetry."""
    found: dict[str, tuple[Path, StoreAbout]] = {}
    for name in (".", "classes", "full"):
        folder = root if name == "." else child(root, name, "census file")
        about = read_record(child(folder, KIND.head, "census file"), StoreAbout, "census file", "choose another folder")
        if about is not None:
            found[name] = (folder, about)
        elif name != "." and folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"census file {str(folder / KIND.head)!r} is missing", remedy="count again")
        if "." in found:
            break
    return found


class CensusStore(StoredCensus):
    """One census's folder, locked for writing by this process."""

    def __init__(self, root: Path, variant: Variant, *, full: bool) -> None:
        super().__init__(root.resolve(), variant.digest, full=full)
        about = StoreAbout(variant=variant.name, game=self.game, full=full)
        self._stack = ExitStack()
        self._stack.enter_context(claim(root, KIND, about, other=self._other))

    def _other(self, about: StoreAbout) -> str | None:
        if (about.game, about.full) == (self.game, self.full):
            return None
        other = "with other symmetries" if about.game == self.game else "by other rules"
        return f"contains a census of {about.variant[:80]!r} {other}"

    def close(self) -> None:
        """Release the lock on the folder."""
        self._stack.close()

    # -- paths -------------------------------------------------------------------------

    def part(self, ply: int, number: int) -> Path:
        """Return the path of one of a ply's parts."""
        return self._place(f"ply-{ply:03}", f"part-{number:05}.rows")

    def work_file(self, ply: int, name: str, number: int) -> Path:
        """Return the path of a ply's intermediate file."""
        return self._place("work", f"ply-{ply:03}", f"{name}-{number:05}.rows")

    def tally(self, folder: Path, bins: tuple[int, int]) -> Path:
        """Return the path of the tally for a range of bins."""
        return self._place(folder.name, tally_name(bins))

    def count_folder(self, ply: int, *, again: bool = False) -> Path:
        """Return the folder for the tallies of a ply that is counted but not stored."""
        return self._inside(f"{'again' if again else 'count'}-{ply:03}")

    def _place(self, *names: str) -> Path:
        """Return a file's path after creating its folders, which must not be links."""
        folder = self.root
        for name in names[:-1]:
            folder = child(folder, name, "census folder")
            with writing(f"census folder {str(folder)!r}"):
                folder.mkdir(exist_ok=True)
        return folder / names[-1]

    # -- contents ----------------------------------------------------------------------

    def tallies(self, ply: int, before: str, folder: Path) -> list[RowFile]:
        """Open a ply's tallies in a folder, and check that they belong to the ply and do not overlap."""
        files: list[RowFile] = []
        for path in sorted(folder.glob("tally-*.rows")) if folder.is_dir() else []:
            bins = bins_of(open_rows(path))
            file = _belonging(path, tally_owner(ply, before, bins))
            if path.name != tally_name(bins):
                raise damaged(path, "it belongs elsewhere")
            if files and bins[0] < bins_of(files[-1])[1]:
                raise damaged(path, f"its bins overlap those of {files[-1].path.name}")
            files.append(file)
        return files

    def taken_bytes(self) -> int:
        """Return the total size in bytes of all row files in the folder, including intermediate files."""
        return sum(path.stat().st_size for path in self.root.rglob("*.rows"))

    def free_bytes(self) -> int:
        """Return the free disk space in bytes."""
        return shutil.disk_usage(self.root).free

    # -- completing and cleaning up ----------------------------------------------------

    def commit(self, name: str, record: SealedPly) -> None:
        """Write the record that completes a ply, after all of its files, and remove intermediate files."""
        commit(self.root / f"{name}-{record.ply:03}.json", record)
        self.drop_work()
        if isinstance(record, PlyRecord):
            named = {source.path for source in self.parts(record)}
            folder = self.root / f"ply-{record.ply:03}"
            sweep(folder, "census")
            drop_files(path for path in folder.glob("part-*.rows") if path not in named)

    def forget(self, name: str, ply: int) -> None:
        """Remove the record of a ply that has a missing or damaged file. ``name`` is ``ply`` or ``count``."""
        drop_files([self.root / f"{name}-{ply:03}.json"])

    def drop_work(self) -> None:
        """Remove a ply's intermediate files."""
        drop(self.root / "work")

    def sweep(self, ply: int | None) -> None:
        """Remove temporary files of killed tasks, and all files in ``work/`` that ply ``ply`` does not need."""
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
