"""``tablut census verify``: a stored census, verified from its files.

Records, parts and rows are checked by their digests. Then other code than the census examines
the rows: it takes orbits from the images of each position, material and terrain from unpacked
bits, and moves from `tablut.engine`. With ``parents`` it expands every position again, by
`Engine.expand` and `Engine.canonical`, which the census does not use: each child must be in the
store, and each position must be a child of the ply before.

Non-guarantee: without ``parents`` a store that lacks positions but is consistent passes,
unless its digests are published.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counting.census.buckets import LEAF_BITS
from counting.census.inspection import Inspector, RowTable, canonical_children
from counting.census.rows import cut, leaf_counts, leaf_digests, leaves_digest, read_rows, spans
from counting.census.store import StoredCensus, ended, excess, stored_folders
from counting.census.toolbox import COUNTERS, start_rows, toolbox
from tablut.engine import engine_for
from tablut.errors import InputError, MachineError
from tablut.results import Result
from tablut.running.progress import Observer
from tablut.store.files import lock_folder
from tablut.variants import as_variant, shipped_variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counting.census.rows import RowFile
    from counting.census.store import PlyRecord, StoreAbout
    from tablut.variants import Variant, VariantLike

_LEAVES: Final = 1 << LEAF_BITS
_MESSAGES: Final = 5

_CHECKS: Final = {
    "records": "records: digests, and each follows from the one before",
    "parts": "parts: present, of the right length, named by their record",
    "rows": "rows: digests, and in the order of their leaves",
    "start": "the start is ply 0",
    "distinct": "positions are distinct, in a ply and among plies",
    "canonical": "positions are in canonical form",
    "decided": "decided positions are won as marked, others possible",
    "counts": "counts: orbits, moves, material and winners of each ply",
    "bound": "no more positions than the board has",
    "parents": "each position has a parent, each child is there",
    "counted": "what was counted and not stored: tallies add up, and to what is stored of that ply",
    "full": "the same numbers without symmetry",
    "published": "the digests are those published",
}


class StoreCheck(Result):
    """One kind of check: how many cases, how many of them failed, and what the first failures say."""

    name: str
    cases: int
    failures: int
    messages: list[str]


class VerifyReport(Result):
    """Everything that ``tablut census verify`` says."""

    variant: str
    store: str
    plies: int
    without_symmetry: int | None
    counted: int | None
    complete: bool
    parents: bool
    positions_checked: int
    classes_checked: int
    published: str
    checks: list[StoreCheck]
    failures: int


class _Tally:
    """Cases and failures by check."""

    def __init__(self) -> None:
        self.cases = dict.fromkeys(_CHECKS, 0)
        self.failures = dict.fromkeys(_CHECKS, 0)
        self.messages: dict[str, list[str]] = {name: [] for name in _CHECKS}

    def add(self, name: str, cases: int, failures: int = 0, message: str = "") -> None:
        self.cases[name] += cases
        self.failures[name] += failures
        if failures and len(self.messages[name]) < _MESSAGES:
            self.messages[name].append(message)

    def checks(self) -> list[StoreCheck]:
        return [
            StoreCheck(name=text, cases=self.cases[name], failures=self.failures[name], messages=self.messages[name])
            for name, text in _CHECKS.items()
            if self.cases[name] or self.failures[name]
        ]


def verify_census(
    store: Path | str,
    variant: VariantLike | None = None,
    *,
    parents: bool = False,
    memory: int = 2 << 30,
    observer: Observer | None = None,
) -> VerifyReport:
    """Verify a stored census."""
    tally = _Tally()
    watcher = Observer() if observer is None else observer
    found: dict[str, _Verification] = {}
    with ExitStack() as stack:
        for name, (folder, about) in stored_folders(Path(store)).items():
            rules = _rules_of(str(store), about, None if variant is None else as_variant(variant))
            # A folder without write permission needs no lock.
            with suppress(MachineError):
                stack.enter_context(lock_folder(folder, "census"))
            stored = StoredCensus(folder, rules.digest, full=about.full)
            found[name] = _Verification(rules, stored, tally, memory, watcher)
            found[name].run(parents=parents)
    if not found:
        raise InputError(f"census verify {str(store)!r}: holds no census; name the folder given with --store")
    first, *others = found.values()
    for other in others:
        for one, two in zip(first.records, other.records, strict=False):
            same = all(one.counters[name] == two.counters[name] for name in ("new", "decided", "moves"))
            tally.add("full", 1, not same, f"ply {one.ply} has other numbers without symmetry")
    if not first.records and not any(tally.failures.values()):
        raise InputError(f"census verify {str(store)!r}: holds no complete ply; nothing can be verified")
    return VerifyReport(
        variant=first.variant.name,
        store=str(store),
        plies=len(first.records),
        without_symmetry=len(found["full"].records) if "full" in found else None,
        counted=first.counted,
        complete=bool(first.records) and ended(first.variant, first.records),
        parents=parents,
        positions_checked=sum(each.positions for each in found.values()),
        classes_checked=sum(each.classes for each in found.values()),
        published=first.published,
        checks=tally.checks(),
        failures=sum(tally.failures.values()),
    )


def _rules_of(store: str, about: StoreAbout, variant: Variant | None) -> Variant:
    for candidate in shipped_variants() if variant is None else (variant,):
        if candidate.digest == about.game:
            return candidate
    if variant is not None:
        raise InputError(f"census verify {store!r}: is a census by other rules than those of {variant.name!r}")
    raise InputError(
        f"census verify {store!r}: the rules of {about.variant[:80]!r} do not ship; name their file with -v"
    )


class _Verification:
    """One folder of a census under verification."""

    def __init__(self, variant: Variant, stored: StoredCensus, tally: _Tally, memory: int, observer: Observer) -> None:
        self.variant, self.stored, self.tally, self.observer = variant, stored, tally, observer
        self.tools, self.engine = toolbox(variant, stored.full), engine_for(variant)
        self.group = self.engine.group[:1] if stored.full else self.engine.group
        self.words = self.tools.tables.words
        self.most = max(1 << 16, memory // (2 * 8 * self.words + RowTable.bytes_beside))
        self.records: list[PlyRecord] = []
        self.files: list[list[RowFile]] = []
        self.positions = self.classes = 0
        self.counted: int | None = None
        self.published = "not published"

    def run(self, *, parents: bool) -> None:
        """Make all checks."""
        self._read_records()
        for record in self.records:
            self._check_ply(record)
        if self.records and self.tally.failures["parts"] == 0:
            fault = excess(self.variant, self.records)
            self.tally.add("bound", 1, fault is not None, fault or "")
        # Rows that are not what they should be prove nothing about each other.
        if not any(self.tally.failures[name] for name in ("parts", "rows")):
            for parity in (0, 1):
                self._check_distinct(parity)
            if parents:
                for ply in range(1, len(self.records)):
                    self._check_parents(ply)
        for record in self.records:
            self._check_counted(record)
        self._compare_published()

    # -- files -------------------------------------------------------------------------

    def _read_records(self) -> None:
        while True:
            ply = len(self.records)
            try:
                record = self.stored.record(ply, self.records[-1] if ply else None)
            except InputError as error:
                self.tally.add("records", 1, 1, str(error))
                return
            if record is None:
                break
            self.tally.add("records", 1)
            self.records.append(record)
        names = [path.name for path in self.stored.root.glob("ply-*.json")]
        later = [name for name in names if name > f"ply-{len(self.records):03}.json"]
        if later:
            path = self.stored.root / f"ply-{len(self.records):03}.json"
            self.tally.add("records", 1, 1, f"census file {str(path)!r} is missing, {min(later)!r} is there")

    def _check_ply(self, record: PlyRecord) -> None:
        try:
            files = self.stored.check_parts(record)
            codes = [None if file.header.codes is None else file.header.codes[:3] for file in files]
            words = {file.header.words for file in files}
            if set(codes) != {self.tools.codes} or words != {self.words}:
                raise InputError(f"ply {record.ply}: its rows are those of another board")
        except InputError as error:
            self.files.append([])
            self.tally.add("parts", 1, 1, str(error))
            return
        self.files.append(files)
        self.tally.add("parts", len(files))
        inspector = Inspector(self.variant, self.group)
        total = record.counters["new_classes"] + record.counters["decided_classes"]
        self.observer.begin(f"ply {record.ply} verify", total)
        for file in files:
            self._check_rows(file, inspector)
        if self.tally.failures["rows"]:
            return
        counters, material = inspector.counters, inspector.material.tolist()
        same = counters == record.counters and material == [[list(row) for row in kind] for kind in record.material]
        wrong = next((name for name in COUNTERS if counters[name] != record.counters[name]), "material")
        self.tally.add("counts", 1, not same, f"ply {record.ply}: {wrong!r} differs from what its positions give")
        moves_same = inspector.class_moves == record.next_children
        self.tally.add("counts", 1, not moves_same, f"ply {record.ply}: the number of children differs")
        self.positions += counters["new"] + counters["decided"]
        self.classes += total

    def _check_rows(self, file: RowFile, inspector: Inspector) -> None:
        done = 0
        for first, last in spans(file, 0, _LEAVES):
            try:
                rows = read_rows(file, first, last)
                digests = leaf_digests(rows, file.counts[first:last], file.header.codes)
                if digests != file.leaves[done : done + len(digests)]:
                    raise InputError(f"census file {str(file.path)!r}: is damaged: its rows have other digests")
            except InputError as error:
                self.tally.add("rows", 1, 1, str(error))
                return
            done += len(digests)
            self.tally.add("rows", len(rows))
            not_canonical, impossible = inspector.inspect(rows)
            self.tally.add(
                "canonical", len(rows), not_canonical, f"{file.path}: {not_canonical} rows are not canonical"
            )
            self.tally.add("decided", len(rows), impossible, f"{file.path}: {impossible} rows are impossible positions")
            self.observer.advance(len(rows))
            if file.header.ply == 0:
                start = start_rows(self.variant, self.stored.full)
                self.tally.add("start", 1, not np.array_equal(rows, start), f"{file.path}: it is another position")

    def _check_counted(self, before: PlyRecord) -> None:
        """Check what was counted of the ply after another: no row is stored, so the tallies must add up."""
        ply = before.ply + 1
        try:
            record = self.stored.count_record(before)
            if record is None:
                return
            self.counted = ply
            files = self.stored.check_tallies(record)
        except InputError as error:
            self.tally.add("counted", 1, 1, str(error))
            return
        self.tally.add("counted", len(files))
        if not record.whole:
            return
        fault = excess(self.variant, [*self.records[:ply], record])
        self.tally.add("counted", 1, fault is not None, f"ply {ply}: {fault}")
        if ply < len(self.files) and self.files[ply]:
            stored = self.records[ply]
            same = all(
                getattr(record, name) == getattr(stored, name)
                for name in ("counters", "material", "children", "next_children", "expanded")
            )
            same &= record.leaves == leaves_digest(self.files[ply])
            self.tally.add("counted", 1, not same, f"ply {ply}: other numbers were counted than are stored")
        wanted = published_counts(self.stored.game).get(ply)
        if wanted is not None and not self.stored.full:
            self.tally.add("published", 1, record.digest != wanted, f"ply {ply}, counted, has another digest")

    # -- rows against rows -------------------------------------------------------------

    def _ranges(self, files: Sequence[RowFile]) -> list[tuple[int, int]]:
        return cut(leaf_counts(files), self.most)

    def _check_distinct(self, parity: int) -> None:
        files = [file for some in self.files[parity::2] for file in some]
        if not files:
            return
        for first, last in self._ranges(files):
            table = RowTable(files, first, last, self.words)
            twice = len(table.rows) - table.distinct
            self.tally.add(
                "distinct",
                len(table.rows),
                twice,
                f"{twice} positions of plies {parity}, … are duplicates",
            )

    def _check_parents(self, ply: int) -> None:
        """Expand the ply before; its children are the ply's positions, or known already."""
        new, known = self.files[ply], [file for some in self.files[ply % 2 : ply : 2] for file in some]
        self.observer.begin(f"ply {ply} parents", self.records[ply].children)
        for first, last in self._ranges([*new, *known]):
            fresh, old = (RowTable(files, first, last, self.words) for files in (new, known))
            missing = 0
            for children in canonical_children(self.engine, self.group, self.files[ply - 1], first, last):
                missing += len(children) - fresh.mark(children) - old.mark(children)
                self.observer.advance(len(children))
                self.tally.add("parents", len(children))
            self.tally.add("parents", 0, missing, f"ply {ply}: {missing} children of the ply before are missing")
            orphans = len(fresh.rows) - int(fresh.marked.sum())
            self.tally.add("parents", len(fresh.rows), orphans, f"ply {ply}: {orphans} positions have no parent")

    # -- published ---------------------------------------------------------------------

    def _compare_published(self) -> None:
        wanted = published_digests(self.stored.game)
        if self.stored.full or not wanted:
            return
        common = min(len(wanted), len(self.records))
        for record, digest in zip(self.records, wanted, strict=False):
            self.tally.add("published", 1, record.digest != digest, f"ply {record.ply} has another digest")
        if self.tally.failures["published"]:
            self.published = "other than published"
        elif common:
            self.published = "as published" if common == len(self.records) else f"as published to ply {common - 1}"


# -- the digests of the censuses that we have counted, to compare others with ------------


@cache
def _all() -> dict[str, dict[str, Any]]:
    text = (resources.files("counting.census") / "published.json").read_text(encoding="utf-8")
    return {census["game"]: census for census in json.loads(text)["censuses"]}


def published_digests(game: str) -> list[str]:
    """Return the digests of the plies of a game from ply 0 on; none if nothing is published."""
    return list(_all().get(game, {}).get("plies", []))


def published_counts(game: str) -> dict[int, str]:
    """Return the digests of the plies of a game that were counted and not stored."""
    return {int(ply): digest for ply, digest in _all().get(game, {}).get("counted", {}).items()}
