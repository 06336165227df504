"""The folder of a census: which plies are complete, their parts, and how it is read.

``census.json`` says which game is counted. ``ply-004.json``, written last, makes ply 4
complete; its positions are the row files in ``ply-004/``. ``work/`` holds the files of
children of the ply that is being made, and goes when that is complete.

Each record holds the digest of the one before and those of its parts, so that every file
belongs to one place of one census. Names are made from numbers, never read from a
file, and links are not followed out of the folder.
"""

from __future__ import annotations

import json
import re
import shutil
from abc import abstractmethod
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from counting.census.buckets import BINS, LEAF_BITS
from counting.census.expansion import EXPANSION_COUNTERS
from counting.census.rows import (
    FORMAT_VERSION,
    Bins,
    Count,
    Counters,
    Digest,
    Material,
    Model,
    Owner,
    Plan,
    PlyNumber,
    RowFile,
    Source,
    TallyStats,
    damaged,
    digest_of,
    leaves_digest,
    open_rows,
    part_sums,
    rows_digest,
)
from counting.spaces import spaces
from tablut.errors import InputError, OutputError, output_failure
from tablut.store.files import child, lock_folder, read_bytes, remove_temporaries, sync_names, write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from counting.census.rows import RowFile
    from tablut.variants import Variant

ABOUT: Final = "census.json"


class Sealed(Model):
    """What is a file of its own, and carries its digest."""

    @abstractmethod
    def fault(self) -> str | None:
        """Return what is wrong with it by itself, or None."""


class StoreAbout(Sealed):
    """``census.json``: which census a folder holds; ``variant`` is a name for people, ``game`` decides."""

    format: int
    variant: str
    game: Digest
    full: bool
    leaf_bits: int
    checksum: Digest

    @classmethod
    def make(cls, variant: str, game: str, *, full: bool) -> StoreAbout:
        """Return what a new folder says."""
        content = {
            "format": FORMAT_VERSION,
            "variant": variant,
            "game": game,
            "full": full,
            "leaf_bits": LEAF_BITS,
        }
        return cls.model_validate_json(json.dumps({**content, "checksum": digest_of(content)}))

    def fault(self) -> str | None:
        """Return what is wrong with it, or None."""
        if self.leaf_bits != LEAF_BITS:
            return f"leaf_bits is {self.leaf_bits}, not {LEAF_BITS}"
        content = self.model_dump(mode="json", exclude={"checksum"})
        return None if digest_of(content) == self.checksum else "its checksum is another"


class PartEntry(Model):
    """A part of a ply: rows, bytes of the file, and the digest that the file must have."""

    rows: Count
    bytes: Count
    digest: Digest


class SealedPly(Sealed):
    """What the records of plies have in common, whether their positions are stored or were only counted."""

    counted: ClassVar[frozenset[str]] = frozenset(
        {"game", "full", "ply", "before", "counters", "material", "children", "next_children", "expanded"}
    )
    """The fields that `digest` covers."""

    format: int
    game: Digest
    full: bool
    ply: PlyNumber
    before: Digest | None
    counters: Counters
    material: Material
    children: Count
    next_children: Count
    expanded: tuple[Count, Count, Count, Count]
    digest: Digest
    cpu: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    checksum: Digest

    @property
    def whole(self) -> bool:
        """Whether all of the ply is in it."""
        return True

    @classmethod
    def make(cls, content: dict[str, Any]) -> Self:
        """Return a record with its digests, from all its other fields but the format."""
        counted = {name: content[name] for name in cls.counted}
        whole = {**content, "format": FORMAT_VERSION, "digest": digest_of(counted)}
        return cls.model_validate_json(json.dumps({**whole, "checksum": digest_of(whole)}))

    def fault(self) -> str | None:
        """Return what is wrong with the record by itself, or None."""
        if self.format != FORMAT_VERSION:
            return f"format version {self.format}, not {FORMAT_VERSION}"
        content = self.model_dump(mode="json", exclude={"checksum"})
        if digest_of(content) != self.checksum:
            return "its checksum is another"
        if digest_of({name: content[name] for name in self.counted}) != self.digest:
            return "its digest is another"
        return None


class PlyRecord(SealedPly):
    """``ply-004.json``: what one complete ply holds; see `SealedPly`."""

    counted: ClassVar[frozenset[str]] = SealedPly.counted | {"rows"}

    rows: Digest
    plan: Plan
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1, max_length=1 << LEAF_BITS)]


HUNDREDTHS: Final = 100


class TallyEntry(Model):
    """A tally: its bins, the bytes of the file, and the digest that the file must have."""

    bins: Bins
    bytes: Count
    digest: Digest


class Hundredth(Model):
    """What a hundredth of the bins holds."""

    number: Annotated[int, Field(ge=0, lt=HUNDREDTHS)]
    children: Count
    new: Count
    new_classes: Count
    decided: Count
    decided_classes: Count
    leaves: Digest


class CountRecord(SealedPly):
    """``count-007.json``: what of one ply was counted and not stored; see `SealedPly`."""

    counted: ClassVar[frozenset[str]] = SealedPly.counted | {"leaves", "hundredths"}

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


class StoredCensus:
    """The folder of one census, to be read."""

    def __init__(self, root: Path, game: str, *, full: bool) -> None:
        self.root, self.game, self.full = root, game, full

    def records(self) -> list[PlyRecord]:
        """Return the records of the complete plies, from ply 0 on, each found to follow from the one before."""
        found: list[PlyRecord] = []
        while (record := self.record(len(found), found[-1] if found else None)) is not None:
            found.append(record)
        return found

    def record(self, ply: int, before: PlyRecord | None) -> PlyRecord | None:
        """Return the record of a ply, or None if there is none."""
        return self._ply_record(f"ply-{ply:03}.json", PlyRecord, ply, before)

    def count_record(self, before: PlyRecord) -> CountRecord | None:
        """Return the record of the ply after another if it was counted and not stored, or None."""
        ply = before.ply + 1
        return self._ply_record(f"count-{ply:03}.json", CountRecord, ply, before)

    def _ply_record(self, name: str, model: type[OfPly], ply: int, before: PlyRecord | None) -> OfPly | None:
        path = _inside(self.root, name)
        hint = "delete it, and go on with --resume"
        record = read_record(path, model, hint)
        if record is None:
            return None
        fault = None
        if (record.game, record.full, record.ply) != (self.game, self.full, ply):
            fault = "it belongs to another ply, or to another census"
        elif record.before != (None if before is None else before.digest):
            fault = "it does not follow from the record of the ply before"
        elif before is not None and record.whole and not _follows(before, record):
            fault = "its parents and children are not those that the ply before has"
        if fault is not None:
            raise InputError(f"census file {str(path)!r} is damaged: {fault}; {hint}")
        return record

    def check_tallies(self, record: CountRecord) -> list[RowFile]:
        """Return the tallies of a counted ply, opened and found to be those that its record names."""
        folder, files = _inside(self.root, f"count-{record.ply:03}"), []
        for entry in record.tallies:
            file = open_rows(folder / tally_name(entry.bins), entry.digest)
            owner = tally_owner(record.game, record.full, record.ply, record.before, entry.bins)
            if (file.header.kind, file.header.owner, file.length) != ("tally", owner, entry.bytes):
                raise damaged(file.path, "it belongs elsewhere")
            files.append(file)
        if any(getattr(record, name) != value for name, value in count_sums(files).items()):
            path = self.root / f"count-{record.ply:03}.json"
            raise InputError(
                f"census file {str(path)!r} is damaged: it does not add up from its tallies; "
                "delete it, and go on with --resume"
            )
        return files

    def check_parts(self, record: PlyRecord) -> list[RowFile]:
        """Return the parts of a ply, opened and found to be those that its record names.

        Their heads and indices are read, not their rows.
        """
        files = []
        for number, (source, entry) in enumerate(zip(self.parts(record), record.parts, strict=True)):
            file = open_rows(*source)
            owner = (self.game, self.full, record.ply, number, record.plan)
            if file.header.owner != owner or (file.header.rows, file.length) != (entry.rows, entry.bytes):
                raise damaged(source.path, "it belongs elsewhere")
            files.append(file)
        path = self.root / f"ply-{record.ply:03}.json"
        try:
            sums = part_sums([file.header.stats.model_dump() for file in files])
        except (ValueError, KeyError, TypeError):  # statistics of another kind or shape
            sums = {"counters": None}
        if any(getattr(record, name) != value for name, value in sums.items()) or rows_digest(files) != record.rows:
            raise InputError(
                f"census file {str(path)!r} is damaged: it does not add up from its parts; "
                "delete it and them, and go on with --resume"
            )
        return files

    def parts(self, record: PlyRecord) -> tuple[Source, ...]:
        """Return the parts of a complete ply and the digests that they must have."""
        folder = _inside(self.root, f"ply-{record.ply:03}")
        return tuple(
            Source(folder / f"part-{number:05}.rows", entry.digest) for number, entry in enumerate(record.parts)
        )

    def taken_bytes(self, records: Sequence[PlyRecord]) -> int:
        """Return how many bytes the positions of plies take."""
        return sum(entry.bytes for record in records for entry in record.parts)


def read_about(root: Path) -> StoreAbout | None:
    """Return what the ``census.json`` of a folder says, or None if it has none."""
    return read_record(_inside(root, ABOUT), StoreAbout, "choose another folder")


def stored_folders(root: Path) -> dict[str, tuple[Path, StoreAbout]]:
    """Return the folders of a census: by classes, and without symmetry if it was counted so as well."""
    if (about := read_about(root)) is not None:
        return {".": (root, about)}
    found = {}
    for name in ("classes", "full"):
        folder = _inside(root, name)
        if (about := read_about(folder)) is not None:
            found[name] = (folder, about)
        elif folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"census file {str(folder / ABOUT)!r} is missing; count again")
    return found


def _inside(root: Path, name: str) -> Path:
    """Return a file or folder of a store; it must not be a link."""
    return child(root, name, "census file")


def _follows(before: PlyRecord, record: SealedPly) -> bool:
    """Return whether the parents, moves and children of a ply are those that the ply before has."""
    due = (before.counters["new"], before.counters["moves"])
    return record.expanded[:2] == due and record.children == before.next_children


# -- what a census says of itself in JSON: the store, its plies, the heads of its row files; each bound by digests


# -- the record of a ply that was counted and not stored: what its tallies add up to, and in which shares


def edge(number: int) -> int:
    """Return the first bin of a hundredth."""
    return BINS * number // HUNDREDTHS


def hundredth_of(bins: tuple[int, int]) -> int | None:
    """Return the hundredth that some bins lie in, or None if they are none or lie in several."""
    number = min(-(-(bins[0] + 1) * HUNDREDTHS // BINS) - 1, HUNDREDTHS - 1)
    return number if edge(number) <= bins[0] < bins[1] <= edge(number + 1) else None


# -- records as files: JSON that is read with a bound on its size and checked by itself, and as it is written


_RECORD_BYTES: Final = 4 << 20
"""Most bytes of a record: 4096 parts, and the material of an 11x11 board."""


class _Format(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    format: int


Record = TypeVar("Record", bound=Sealed)


def read_record(path: Path, model: type[Record], hint: str) -> Record | None:
    """Return what a JSON file of a store says, checked by itself; None if there is no such file."""
    if not path.exists():
        return None
    try:
        content = read_bytes(path, "census file", _RECORD_BYTES)
    except InputError as error:
        reason = str(error).rpartition(": ")[2]
        raise InputError(f"census file {str(path)!r} cannot be read: {reason}; {hint}") from error
    return _parsed(content, path, model, hint)


def _parsed(content: bytes, path: Path, model: type[Record], hint: str) -> Record:
    """Return the record that a file's content is."""
    try:
        version = _Format.model_validate_json(content).format
        if version != FORMAT_VERSION:
            raise InputError(
                f"census file {str(path)!r}: format version {version}, this program reads {FORMAT_VERSION}; "
                "count again into another folder"
            )
        found = model.model_validate_json(content)
        fault = found.fault()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        fault = f"{where}: {first['msg']}" if where else first["msg"]
    if fault is not None:
        raise InputError(f"census file {str(path)!r} is damaged: {fault}; {hint}")
    return found


def dump(record: Model) -> bytes:
    """Return a record as it is written."""
    return record.model_dump_json(indent=2).encode() + b"\n"


# -- tallies as files of a store: their names, what they belong to, and what they add up to


_NUMBERS = ("new", "new_classes", "decided", "decided_classes")


def bins_of(file: RowFile) -> tuple[int, int]:
    """Return the bins of a tally."""
    stats = file.header.stats
    return stats.bins if isinstance(stats, TallyStats) else (0, 0)


def tally_name(bins: tuple[int, int]) -> str:
    """Return the name of the tally of some bins."""
    return f"tally-{bins[0]:04}-{bins[1]:04}.rows"


def tally_owner(game: str, full: bool, ply: int, before: str, bins: tuple[int, int]) -> Owner:
    """Return what the tally of some bins belongs to: to the bins, whatever else is counted with them."""
    return Owner(game, full, ply, bins[0], digest_of(["tally", before, *bins])[:32])


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
    stats = [file.header.stats.model_dump() for file in files]
    return {
        **part_sums(stats),
        "expanded": tuple(sum(each["expanded"][place] for each in stats) for place in range(EXPANSION_COUNTERS)),
        "leaves": leaves_digest(files),
        "hundredths": tuple(_hundredth(number, some) for number, some in sorted(shares.items())),
    }


def _hundredth(number: int, files: Sequence[RowFile]) -> Hundredth:
    """Return what the tallies of a hundredth add up to."""
    stats = [file.header.stats.model_dump() for file in files]
    return Hundredth(
        number=number,
        children=sum(each["children"] for each in stats),
        leaves=leaves_digest(files),
        **{name: sum(each["counters"][name] for each in stats) for name in _NUMBERS},
    )


# -- the folder of a census to be written: by one process at a time, ply by ply; see `counting.census.store`


_LEFT_OVER = re.compile(r"lock|\.census\.json\..+\.tmp")
"""What a census may leave that was killed before it had written anything."""


class CensusStore(StoredCensus):
    """The folder of one census, to be written by this process alone."""

    root: Path

    def __init__(self, root: Path, variant: Variant, *, full: bool, resume: bool) -> None:
        super().__init__(root.resolve(), variant.digest, full=full)
        self._stack = ExitStack()
        try:
            self._claim(root, variant, resume=resume)
        except BaseException:
            self.close()
            raise

    def _claim(self, root: Path, variant: Variant, *, resume: bool) -> None:
        with _writing(f"--store {str(root)!r}", "; choose another folder"):
            self.root.mkdir(parents=True, exist_ok=True)
            self._refuse_foreign(root)
            child(self.root, "lock", "census file")
            self._stack.enter_context(lock_folder(self.root, "census"))
            self._refuse_foreign(root)
            remove_temporaries(self.root)
        about = read_about(self.root)
        if about is None:
            content = dump(StoreAbout.make(variant.name, self.game, full=self.full))
            write_bytes(self.root / ABOUT, content, lasting=True)
            return
        refuse_other(str(root), about, self.game, full=self.full)
        if not resume:
            raise InputError(
                f"--store {str(root)!r}: holds a census of {variant.name!r} to ply {len(self.records()) - 1}; "
                "go on with --resume, or choose another folder"
            )

    def _refuse_foreign(self, root: Path) -> None:
        """Refuse a folder that holds something else, before anything is written there."""
        names = {entry.name for entry in self.root.iterdir()}
        if ABOUT not in names and any(_LEFT_OVER.fullmatch(name) is None for name in names):
            raise InputError(f"--store {str(root)!r}: is not empty and holds no census; choose another folder")

    def close(self) -> None:
        """Release the lock."""
        self._stack.close()

    def part(self, ply: int, number: int) -> Path:
        """Return where a part of a ply's positions goes; its folder is made."""
        return self._folder(self.root, f"ply-{ply:03}") / f"part-{number:05}.rows"

    def work_file(self, ply: int, name: str, number: int) -> Path:
        """Return where a file goes from which a ply is made; its folder is made."""
        return self._folder(self._folder(self.root, "work"), f"ply-{ply:03}") / f"{name}-{number:05}.rows"

    def tally(self, folder: Path, bins: tuple[int, int]) -> Path:
        """Return where the tally of some bins goes; its folder is made."""
        return self._folder(folder.parent, folder.name) / tally_name(bins)

    def count_folder(self, ply: int, *, again: bool = False) -> Path:
        """Return where the tallies of a ply are that was counted and not stored."""
        return child(self.root, f"{'again' if again else 'count'}-{ply:03}", "census folder")

    def tallies(self, ply: int, before: str, folder: Path) -> tuple[list[RowFile], list[str]]:
        """Return the tallies of a ply in a folder that belong to it and do not overlap."""
        files: list[RowFile] = []
        faults = []
        for path in sorted(folder.glob("tally-*.rows")) if folder.is_dir() else []:
            try:
                file = open_rows(path)
            except InputError as error:
                faults.append(str(error))
                continue
            bins = bins_of(file)
            fits = file.header.owner == tally_owner(self.game, self.full, ply, before, bins)
            if file.header.kind != "tally" or not fits or path.name != tally_name(bins):
                faults.append(f"census file {str(path)!r} belongs elsewhere")
            elif files and bins[0] < bins_of(files[-1])[1]:
                faults.append(f"census file {str(path)!r}: the same bins as {files[-1].path.name} has")
            else:
                files.append(file)
        return files, faults

    def commit_count(self, record: CountRecord) -> None:
        """Write the record of a ply that is counted and not stored, and remove what it was made from."""
        sync_names(self.count_folder(record.ply))
        write_bytes(self.root / f"count-{record.ply:03}.json", dump(record), lasting=True)
        sync_names(self.root)
        shutil.rmtree(self.root / "work", ignore_errors=True)

    def _folder(self, parent: Path, name: str) -> Path:
        folder = child(parent, name, "census folder")
        with _writing(f"census folder {str(folder)!r}"):
            folder.mkdir(exist_ok=True)
        return folder

    def commit(self, content: dict[str, Any]) -> PlyRecord:
        """Make a ply complete and remove what it was merged from; return its record.

        The parts are on the disk already; their names must be there before the record, and the
        record before what it was made from goes.
        """
        record = PlyRecord.make({**content, "game": self.game, "full": self.full})
        folder = self.root / f"ply-{record.ply:03}"
        sync_names(folder)
        write_bytes(self.root / f"ply-{record.ply:03}.json", dump(record), lasting=True)
        sync_names(self.root)
        shutil.rmtree(self.root / "work", ignore_errors=True)
        named = {source.path for source in self.parts(record)}
        with _writing(f"census folder {str(folder)!r}"):
            remove_temporaries(folder)
            for path in folder.glob("part-*.rows"):
                if path not in named:
                    path.unlink()
        return record

    def sweep(self, ply: int | None) -> None:
        """Remove what killed tasks left: temporary names, and all of ``work/`` that the next ply does not need."""
        work = child(self.root, "work", "census folder")
        with _writing(f"census folder {str(work)!r}"):
            for folder in (
                self.root,
                *self.root.glob("ply-*"),
                *self.root.glob("count-*"),
                *self.root.glob("again-*"),
                *work.glob("*"),
            ):
                if not folder.is_dir() or folder.is_symlink():
                    continue
                if folder.parent == work and (ply is None or folder.name != f"ply-{ply:03}"):
                    shutil.rmtree(folder, ignore_errors=True)
                else:
                    remove_temporaries(folder)
            if work.is_dir() and not any(work.iterdir()):
                work.rmdir()

    def taken_bytes(self, _: Sequence[PlyRecord] = ()) -> int:
        """Return how many bytes the folder takes, whatever its files are for."""
        return sum(path.stat().st_size for path in self.root.rglob("*.rows"))

    def free_bytes(self) -> int:
        """Return the free space of the disk."""
        return shutil.disk_usage(self.root).free


def refuse_other(store: str, about: StoreAbout, game: str, *, full: bool) -> None:
    """Refuse a store that holds another census than the one that is to be counted."""
    if (about.game, about.full) != (game, full):
        other = "in another way" if about.game == game else "by other rules"
        raise InputError(f"--store {store!r}: holds a census of {about.variant[:80]!r} {other}")


@contextmanager
def _writing(what: str, hint: str = "") -> Iterator[None]:
    """Turn an error of the system into one line."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output_failure(f"{what}: {error.strerror or error}{hint}", error) from error


# -- how far a census can go: where it ends, and how many positions the board has --------


def ended(variant: Variant, records: Sequence[PlyRecord | CountRecord]) -> bool:
    """Return whether no more positions can be reached than those of the records, which begin with ply 0."""
    limit = variant.rules.move_limit
    return records[-1].counters["new_classes"] == 0 or (limit is not None and records[-1].ply >= limit)


def excess(variant: Variant, records: Sequence[PlyRecord | CountRecord]) -> str | None:
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
