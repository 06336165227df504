"""Verification of a stored census from its files, for the command ``tablut census verify``.

Records, parts and rows are checked against their digests. Then the rows are examined by code that is independent of the
census. This code computes orbits from each position's images, computes material and terrain from unpacked bits, and
generates moves with `tablut.engine`. With ``parents``, every position is expanded again by `Engine.expand` and
`Engine.canonical`, which the census does not use. Each child must be in the store, and each position must be a child of
a position in the previous ply.

Completeness is not guaranteed without ``parents``: a store that is consistent but incomplete then passes the
verification unless its digests are published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from counting.census.buckets import LEAVES, by_leaf
from counting.census.census_store import PlyRecord, StoreAbout, StoredCensus, ended, excess, stored_folders
from counting.census.expansion import BLACK_WON, DECIDED
from counting.census.rows import RowFile, cut, leaf_counts, leaf_digests, leaves_digest, read_rows, spans
from counting.census.toolbox import COUNTERS, toolbox
from symmetry import Symmetry
from tablut.engine import Engine, engine_for
from tablut.engine.packing import count_children
from tablut.errors import InputError, MachineError
from tablut.results import Result
from tablut.rules.outcome import ENCIRCLEMENT, KING_CAPTURED, NO_MOVES_WHITE, UNDECIDED
from tablut.variants import Variant, VariantLike, as_variant, shipped_variants
from tablut.work.files import lock_folder, store_path
from tablut.work.progress import Observer, plural

_MESSAGES: Final = 5

_CHECKS: Final = {
    "records": "records: right digests, each following from the previous one",
    "parts": "parts: present, of the right length, listed in their record",
    "rows": "rows: right digests, in the order of their leaves",
    "start": "the start is ply 0",
    "distinct": "positions are distinct within plies and between them",
    "canonical": "positions are in canonical form",
    "decided": "decided positions are won as marked, and others are possible",
    "counts": "counts: orbits, moves, material and winners of each ply",
    "bound": "there are no more positions than the board allows",
    "parents": "each position has a parent, and no child is missing",
    "counted": "a ply counted without being stored: tallies match their record, and the ply if it is stored",
    "full": "the count without symmetry has the same numbers",
    "published": "the digests are those published",
}


class StoreCheck(Result):
    """The result of one kind of check: numbers of cases and failures, and messages for the first failures."""

    name: str
    cases: int
    failures: int
    messages: list[str]


class VerifyReport(Result):
    """The results of ``tablut census verify``."""

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
    """The numbers of cases and failures of each check."""

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
        for name, (folder, about) in stored_folders(store_path(store)).items():
            rules = _rules_of(str(store), about, None if variant is None else as_variant(variant))
            # A folder without write permission cannot be locked, and needs no lock.
            with suppress(MachineError):
                stack.enter_context(lock_folder(folder, "census"))
            stored = StoredCensus(folder, rules.digest, full=about.full)
            found[name] = _Verification(rules, stored, tally, memory, watcher)
            found[name].run(parents=parents)
    if not found:
        raise InputError(
            "contains no census", subject=f"census verify {str(store)!r}", remedy="give the folder of a stored census"
        )
    first, *others = found.values()
    for other in others:
        for one, two in zip(first.records, other.records, strict=False):
            same = all(one.counters[name] == two.counters[name] for name in ("new", "decided", "moves"))
            tally.add("full", 1, not same, f"ply {one.ply} has different numbers without symmetry")
    if not first.records and not any(tally.failures.values()):
        raise InputError(
            "contains no complete ply", subject=f"census verify {str(store)!r}", remedy="complete a ply first"
        )
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
        raise InputError(
            f"contains a census with rules other than {variant.name!r}", subject=f"census verify {store!r}"
        )
    raise InputError(
        f"contains a census of {about.variant[:80]!r}, whose rules are not built in",
        subject=f"census verify {store!r}",
        remedy="give the file of the rules with -v",
    )


class _Verification:
    """The verification of one census folder."""

    def __init__(self, variant: Variant, stored: StoredCensus, tally: _Tally, memory: int, observer: Observer) -> None:
        self.variant, self.stored, self.tally, self.observer = variant, stored, tally, observer
        self.tools, self.engine = toolbox(variant, stored.full), engine_for(variant)
        self.words = self.tools.tables.words
        self.most = max(1 << 16, memory // (2 * 8 * self.words + RowTable.bytes_beside))
        self.records: list[PlyRecord] = []
        self.files: list[list[RowFile]] = []
        self.positions = self.classes = 0
        self.counted: int | None = None
        self.published = "not published"

    def run(self, *, parents: bool) -> None:
        """Run all checks."""
        self._read_records()
        for record in self.records:
            self._check_ply(record)
        if self.records and self.tally.failures["parts"] == 0:
            fault = excess(self.variant, self.records)
            self.tally.add("bound", 1, fault is not None, fault or "")
        # Comparing rows is meaningless if the rows themselves are damaged.
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
        try:
            for record in self.stored.records():
                self.tally.add("records", 1)
                self.records.append(record)
        except InputError as error:
            self.tally.add("records", 1, 1, str(error))
            return
        names = [path.name for path in self.stored.root.glob("ply-*.json")]
        later = [name for name in names if name > f"ply-{len(self.records):03}.json"]
        if later:
            path = self.stored.root / f"ply-{len(self.records):03}.json"
            self.tally.add("records", 1, 1, f"census file {str(path)!r} is missing, but {min(later)!r} exists")

    def _check_ply(self, record: PlyRecord) -> None:
        try:
            files = self.stored.check_parts(record)
            codes = [None if file.stats.codes is None else file.stats.codes[:3] for file in files]
            words = {file.stats.words for file in files}
            if set(codes) != {self.tools.codes} or words != {self.words}:
                raise InputError("its rows do not fit this board", subject=f"ply {record.ply}")
        except InputError as error:
            self.files.append([])
            self.tally.add("parts", 1, 1, str(error))
            return
        self.files.append(files)
        self.tally.add("parts", len(files))
        inspector = Inspector(self.variant, self.tools.group)
        total = record.counters["new_classes"] + record.counters["decided_classes"]
        self.observer.begin(f"ply {record.ply} verify", total)
        for file in files:
            self._check_rows(file, inspector)
        if self.tally.failures["rows"]:
            return
        counters, material = inspector.counters, inspector.material.tolist()
        same = counters == record.counters and material == [[list(row) for row in kind] for kind in record.material]
        wrong = next((name for name in COUNTERS if counters[name] != record.counters[name]), "material")
        self.tally.add("counts", 1, not same, f"ply {record.ply}: {wrong!r} in the record does not match the positions")
        moves_same = inspector.class_moves == record.next_children
        self.tally.add("counts", 1, not moves_same, f"ply {record.ply}: the number of children is wrong")
        self.positions += counters["new"] + counters["decided"]
        self.classes += total

    def _check_rows(self, file: RowFile, inspector: Inspector) -> None:
        done = 0
        for first, last in spans(file, 0, LEAVES):
            try:
                rows = read_rows(file, first, last)
                digests = leaf_digests(rows, file.counts[first:last], file.stats.codes)
                if digests != file.leaves[done : done + len(digests)]:
                    raise InputError(
                        "is damaged: the digests of its rows are wrong", subject=f"census file {str(file.path)!r}"
                    )
            except InputError as error:
                self.tally.add("rows", 1, 1, str(error))
                return
            done += len(digests)
            self.tally.add("rows", len(rows))
            not_canonical, impossible = inspector.inspect(rows)
            self.tally.add(
                "canonical", len(rows), not_canonical, f"{file.path}: {plural(not_canonical, 'non-canonical row')}"
            )
            self.tally.add(
                "decided", len(rows), impossible, f"{file.path}: {plural(impossible, 'impossible position')}"
            )
            self.observer.advance(len(rows))
            if file.part.header.owner.step == 0:
                self.tally.add(
                    "start", 1, not np.array_equal(rows, self.tools.start), f"{file.path}: does not contain the start"
                )

    def _check_counted(self, before: PlyRecord) -> None:
        """Check the ply after ``before`` against its tallies if that ply was counted but not stored."""
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
            self.tally.add("counted", 1, not same, f"ply {ply}: the counted numbers differ from the stored ones")
        wanted = published_counts(self.stored.game).get(ply)
        if wanted is not None and not self.stored.full:
            self.tally.add("published", 1, record.digest != wanted, f"the count of ply {ply} has a different digest")

    # -- comparison of rows with other rows --------------------------------------------

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
                f"{plural(twice, 'duplicate position')} in plies {parity}, {parity + 2}, …",
            )

    def _check_parents(self, ply: int) -> None:
        """Check a ply's positions against the children of the previous ply.

        Each child must be stored in this ply or an earlier one, and each position in this ply must be a child of a
        position in the previous ply.
        """
        new, known = self.files[ply], [file for some in self.files[ply % 2 : ply : 2] for file in some]
        self.observer.begin(f"ply {ply} parents", self.records[ply].children)
        for first, last in self._ranges([*new, *known]):
            fresh, old = (RowTable(files, first, last, self.words) for files in (new, known))
            missing = 0
            for children in canonical_children(self.engine, self.tools.group, self.files[ply - 1], first, last):
                missing += len(children) - fresh.mark(children) - old.mark(children)
                self.observer.advance(len(children))
                self.tally.add("parents", len(children))
            self.tally.add("parents", 0, missing, f"ply {ply}: {missing} children of the previous ply are missing")
            orphans = len(fresh.rows) - int(fresh.marked.sum())
            self.tally.add("parents", len(fresh.rows), orphans, f"ply {ply}: {plural(orphans, 'orphaned position')}")

    # -- published ---------------------------------------------------------------------

    def _compare_published(self) -> None:
        wanted = published_digests(self.stored.game)
        if self.stored.full or not wanted:
            return
        common = min(len(wanted), len(self.records))
        for record, digest in zip(self.records, wanted, strict=False):
            self.tally.add("published", 1, record.digest != digest, f"ply {record.ply} has a different digest")
        if self.tally.failures["published"]:
            self.published = "different from the published census"
        elif common:
            self.published = "as published" if common == len(self.records) else f"as published to ply {common - 1}"


# -- published digests --------------------------------------------------------------------


@cache
def _all() -> dict[str, dict[str, Any]]:
    text = (resources.files("counting.census") / "published.json").read_text(encoding="utf-8")
    return {census["game"]: census for census in json.loads(text)["censuses"]}


def published_digests(game: str) -> list[str]:
    """Return the published digests of a game's plies, beginning with ply 0. The list may be empty."""
    return list(_all().get(game, {}).get("plies", []))


def published_counts(game: str) -> dict[int, str]:
    """Return the published digests of a game's plies that were counted but not stored, by ply."""
    return {int(ply): digest for ply, digest in _all().get(game, {}).get("counted", {}).items()}


# -- properties of stored positions, computed from their bits in numpy --------------------


_STEP = 1 << 15
"""Number of rows that are unpacked at a time."""


class Inspector:
    """A second implementation of `survey`, in numpy, that also counts impossible positions."""

    def __init__(self, variant: Variant, group: Sequence[Symmetry]) -> None:
        self.variant, self.group, self.engine = variant, tuple(group), engine_for(variant)
        regions, cells = variant.regions, variant.size**2
        self.cells, self.king_bits = cells, (cells - 1).bit_length()
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.material = np.zeros((2, variant.attackers + 1, variant.defenders + 1), dtype=np.int64)
        self.class_moves = 0

        def mask(some: frozenset[int]) -> NDArray[np.bool_]:
            return np.isin(np.arange(cells), sorted(some))

        self._kings, self._escapes = mask(regions.king_cells), mask(regions.escapes)
        self._black, self._white = mask(regions.soldier_cells), mask(regions.free_cells)
        self._patterns = {
            king: [sorted(pattern.attackers) for pattern in patterns]
            for king, patterns in regions.king_patterns.items()
        }

    def inspect(self, rows: NDArray[np.uint64]) -> tuple[int, int]:
        """Add positions to the counters. Return the numbers of non-canonical rows and of impossible positions."""
        not_canonical = impossible = 0
        for start in range(0, len(rows), _STEP):
            wrong, out = self._inspect(rows[start : start + _STEP])
            not_canonical += wrong
            impossible += out
        return not_canonical, impossible

    def _inspect(self, rows: NDArray[np.uint64]) -> tuple[int, int]:
        words = rows.copy()
        words[:, -1] &= np.uint64((1 << BLACK_WON) - 1)
        flags = rows[:, -1] >> np.uint64(BLACK_WON)
        decided, black_won = (flags >> np.uint64(DECIDED - BLACK_WON)) == 1, flags == 3
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
        used = 2 * self.cells + self.king_bits + 1
        black, white = bits[:, : self.cells], bits[:, self.cells : 2 * self.cells]
        king = bits[:, 2 * self.cells : used - 1] @ (1 << np.arange(self.king_bits))
        sound = ~bits[:, used:].any(axis=1) & (king < self.cells) & (flags != 1)
        sound &= ~(black & white).any(axis=1)
        king = np.where(king < self.cells, king, 0)
        sound &= ~(black | white)[np.arange(len(rows)), king]
        if not sound.all():
            return 0, int((~sound).sum())  # the code below requires well-formed positions
        weights = self.engine.orbit_sizes(words, self.group)
        canonical = (self.engine.canonical(words, self.group)[0] == words).all(axis=1)
        attackers, defenders = black.sum(axis=1), white.sum(axis=1)
        moves = np.zeros(len(rows), dtype=np.int64)
        open_rows = np.flatnonzero(~decided)
        counts = np.empty(len(open_rows), dtype=np.int64)
        count_children(self.engine.tables, np.ascontiguousarray(words[open_rows]), counts)
        moves[open_rows] = counts
        stray = (black & ~self._black).any(axis=1) | (white & ~self._white).any(axis=1)
        outside = stray | ~self._kings[king] | (attackers < 1)
        outside |= (attackers > self.variant.attackers) | (defenders > self.variant.defenders)
        self._add("new", ~decided, weights)
        self._add("decided", decided, weights)
        self._add("black_wins", black_won, weights)
        self._add("immobile", ~decided & (moves == 0), weights)
        self._add("outside", ~decided & outside, weights)
        self.counters["moves"] += int((weights * moves).sum())
        self.class_moves += int(moves.sum())
        inside = ~decided & ~outside
        np.add.at(self.material[0], (attackers[inside], defenders[inside]), weights[inside])
        np.add.at(self.material[1], (attackers[inside], defenders[inside]), 1)
        possible = np.where(decided, self._won(words, black, king, attackers, black_won), ~outside)
        return int((~canonical).sum()), int((~possible).sum())

    def _add(self, name: str, which: NDArray[np.bool_], weights: NDArray[np.int64]) -> None:
        self.counters[name] += int(weights[which].sum())
        if f"{name}_classes" in self.counters:
            self.counters[f"{name}_classes"] += int(which.sum())

    def _won(
        self,
        words: NDArray[np.uint64],
        black: NDArray[np.bool_],
        king: NDArray[np.int64],
        attackers: NDArray[np.int64],
        black_won: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Return, for each position, whether it can be a win for the side that is marked as the winner."""
        held = np.zeros(len(words), dtype=np.bool_)
        for cell, patterns in self._patterns.items():
            here = king == cell
            for pattern in patterns:
                held |= here & black[:, pattern].all(axis=1)
        escaped = self._escapes[king] | (attackers == 0)
        if self.variant.rules.no_moves == "either_after_ply":
            held |= self._immobile(words, 0)
            escaped |= self._immobile(words, 1)
        return np.where(black_won, held, escaped)

    def _immobile(self, words: NDArray[np.uint64], side: int) -> NDArray[np.bool_]:
        """Return, for each position, whether a side (0: white, 1: black) has no move."""
        place = 2 * self.cells + self.king_bits
        turned = words.copy()
        bit = np.uint64(1 << (place & 63))
        turned[:, place >> 6] &= ~bit
        if side:
            turned[:, place >> 6] |= bit
        counts = np.empty(len(turned), dtype=np.int64)
        count_children(self.engine.tables, turned, counts)
        return np.asarray(counts == 0)


# -- lookup of rows in some leaves, and generation of children ----------------------------


_EXPANDED: Final = 1 << 20
"""Approximate number of children that are generated at a time."""


def _keys(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each row; equal rows have equal hashes."""
    keys = rows[:, 0].copy()
    for column in rows.T[1:]:
        keys *= np.uint64(0xD6E8FEB86659FD93)
        keys ^= keys >> np.uint64(32)
        keys += column
    return keys


class RowTable:
    """The rows in a range of several files' leaves, sorted by hash so that rows can be looked up."""

    bytes_beside: Final = 33
    """Maximum memory per row, in bytes, while the table is built. Two copies of the row are not included."""

    def __init__(self, files: Sequence[RowFile], first: int, last: int, words: int) -> None:
        pieces = [read_rows(file, begin, end) for file in files for begin, end in spans(file, first, last)]
        rows = np.concatenate([np.empty((0, words), dtype=np.uint64), *pieces])
        del pieces
        keys = _keys(rows)
        order = np.argsort(keys)
        self.rows, self._sorted = rows[order], keys[order]
        self.marked = np.zeros(len(rows), dtype=np.bool_)

    @property
    def distinct(self) -> int:
        """The number of distinct rows. Rows with equal hashes are compared word by word."""
        same = self._sorted[1:] == self._sorted[:-1]
        suspect = np.zeros(len(self.rows), dtype=np.bool_)
        suspect[1:] |= same
        suspect[:-1] |= same
        return len(self.rows) - int(suspect.sum()) + len(np.unique(self.rows[suspect], axis=0))

    def mark(self, wanted: NDArray[np.uint64]) -> int:
        """Mark the table rows that occur in ``wanted``. Return the number of rows of ``wanted`` in the table."""
        keys = _keys(wanted)
        order = np.argsort(keys)
        wanted, keys = wanted[order], keys[order]
        at, count = np.searchsorted(self._sorted, keys), 0
        while len(at):
            here = np.flatnonzero(at < len(self.rows))
            here = here[self._sorted[at[here]] == keys[here]]
            same = (self.rows[at[here]] == wanted[here]).all(axis=1)
            self.marked[at[here[same]]] = True
            count += int(same.sum())
            # The next row may have the same hash.
            left = here[~same]
            wanted, keys, at = wanted[left], keys[left], at[left] + 1
        return count


def canonical_children(
    engine: Engine, group: Sequence[Symmetry], files: Sequence[RowFile], first: int, last: int
) -> Iterator[NDArray[np.uint64]]:
    """Yield arrays of a ply's canonical children in the leaves from ``first`` up to, but excluding, ``last``."""
    for file in files:
        step = max(1, _EXPANDED // (4 * engine.tables.cells))
        for begin, end in spans(file, 0, LEAVES):
            rows = read_rows(file, begin, end)
            rows = rows[(rows[:, -1] >> np.uint64(DECIDED)) == 0]
            for start in range(0, len(rows), step):
                found = engine.expand(rows[start : start + step])
                words = engine.canonical(found.words, group)[0]
                words[:, -1] |= (found.outcomes != UNDECIDED).astype(np.uint64) << np.uint64(DECIDED)
                black = np.isin(found.outcomes, (KING_CAPTURED, NO_MOVES_WHITE, ENCIRCLEMENT)).astype(np.uint64)
                words[:, -1] |= black << np.uint64(BLACK_WON)
                if last - first < LEAVES:
                    leaves, _, _ = by_leaf(words)
                    words = words[(leaves >= first) & (leaves < last)]
                yield words
