"""The explanation of every counted position on a small board: whether games reach it, and if not, why not.

Two counts must match. The first is a complete census. It lists the reached positions, and no lemma may exclude any of
them. The second concerns all other classes: each must be excluded by a lemma or belong to a set that no game enters
(`reports.studies.explained.classes`). Together, the two counts must account for all counted positions.

For a board with shieldwalls, forts or encirclement, the explanation also states what each of these fields changes.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from counting.census import census
from counting.census.buckets import FIXING
from counting.census.census_store import StoredCensus
from counting.census.expansion import DECIDED
from counting.census.rows import read_rows, spans
from counting.census.search import Resources
from counting.reachable.certificate_checker import LEMMAS
from counting.reachable.lemmas import lemmas_for
from counting.spaces import spaces
from reports.reachable import Amount, ClosedReport, Explanation, MaterialRow, check_explanation
from reports.rendering import read_stored_all
from reports.studies.explained.classes import ClassMarks, close, predecessors_within
from tablut.engine import engine_for
from tablut.engine.engine import position_keys
from tablut.errors import InputError
from tablut.position import Position
from tablut.results import Result
from tablut.variants import as_variant, load_variant
from tablut.variants.model import Rules
from tablut.work.progress import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.variants import Variant, VariantLike

DATA: Final = Path(__file__).parent / "data"
"""Folder of the stored results."""
BOARDS: Final = {path.stem: path for path in sorted((Path(__file__).parent / "boards").glob("*.toml"))}
"""The variant files of this study, by name: boards with shieldwalls, forts or encirclement."""
MOST_ENTRIES: Final = 4 << 30
"""Maximum number of counted positions, up to symmetry, that a board may have. Each takes one byte of memory."""

_SHOWN: Final = 5
_STEP: Final = 1 << 16
"""Number of classes in one batch for the lemmas."""


class FieldEffect(Result):
    """The effect of one field of the rules: what changes if the field has its default value instead.

    Attributes
    ----------
    field : str
        The name of the field.
    plies : int
        Number of plies from reached positions that would lead to another placement or have another outcome.
    excluded : dict of str to int
        For each lemma, the number of excluded positions to which no lemma would apply.
    reached : int
        Number of positions that games would reach.
    """

    field: str
    plies: int
    excluded: dict[str, int]
    reached: int


class FieldExplanation(Explanation):
    """The explanation of a board with shieldwalls, forts or encirclement, and the effect of each of these fields."""

    fields: list[FieldEffect]


def field_explanations() -> dict[str, dict[str, Any]]:
    """Return the stored explanations for the boards in `BOARDS` by name. Boards without stored data are left out."""

    def check(stored: FieldExplanation, name: str) -> None:
        check_explanation(stored, name, load_variant(str(BOARDS[name])))

    return read_stored_all(DATA, BOARDS, FieldExplanation, check)


class Progress(Protocol):
    """Receiver of progress reports."""

    def begin(self, stage: str, total: int) -> None:
        """Begin a stage with a total number of steps."""

    def advance(self, count: int) -> None:
        """Report that more classes have been processed."""


class _Silent:
    """Receiver that ignores progress reports."""

    def begin(self, stage: str, total: int) -> None:
        """See `Progress`."""

    def advance(self, count: int) -> None:
        """See `Progress`."""


class _CensusStages(Observer):
    """Adapter that reports the steps of a census as stages."""

    def __init__(self, progress: Progress) -> None:
        self.begin_stage, self.advance_stage = progress.begin, progress.advance

    def begin(self, step: str, total: int | None = None) -> None:
        """Begin a stage for each step."""
        self.begin_stage(f"census, {step}", total or 0)

    def advance(self, count: int = 1) -> None:
        """Report that more rows have been processed."""
        self.advance_stage(count)


def explain(
    variant: VariantLike,
    *,
    store: Path | str | None = None,
    memory: int = 4 << 30,
    threads: int = 1,
    progress: Progress | None = None,
) -> Explanation:
    """Explain every counted position of a small board.

    In the result, ``failures`` is 0 unless the lemmas, the census or the un-moves are wrong. The census is stored in
    the folder ``store``, or in a temporary folder if ``store`` is None. It uses at most ``memory`` bytes and
    ``threads`` threads.
    """
    variant = as_variant(variant)
    _refuse(variant)
    shown = _Silent() if progress is None else progress
    with ExitStack() as stack:
        folder = store
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tablut-explain-"))
        watcher = _CensusStages(shown)
        report = census(variant, store=folder, resources=Resources(memory=memory, threads=threads), observer=watcher)
        work = _Explaining(variant, shown)
        work.mark_reached(Path(folder) / "classes", report.total_classes)
    found = work.finish(
        Amount(positions=report.total, classes=report.total_classes),
        {(pair.attackers, pair.defenders): (pair.bound, pair.reached) for pair in report.material},
    )
    effects = []
    for field in work.fields:
        shown.begin(f"without {field.name}", 0)
        with tempfile.TemporaryDirectory(prefix="tablut-explain-") as folder:
            resources = Resources(memory=memory, threads=threads)
            reached = census(field.without, store=folder, resources=resources, observer=watcher).total
        excluded = dict(zip(LEMMAS, field.excluded[1:], strict=True))
        effects.append(FieldEffect(field=field.name, plies=field.plies, excluded=excluded, reached=reached))
    return FieldExplanation(**dict(found), fields=effects) if effects else found


def _refuse(variant: Variant) -> None:
    """Raise an error if a board has too many positions to list, or if its rules have a move limit."""
    if variant.rules.move_limit is not None:
        raise InputError(
            f"ends a game after {variant.rules.move_limit} plies",
            subject=f"variant {variant.name!r}",
            remedy="remove move_limit, because reachability ignores limits",
        )
    classes = 2 * spaces(variant)["no_end"].value() // len(engine_for(variant).group)
    if classes > MOST_ENTRIES:
        raise InputError(
            (f"has about {classes:.1e} classes of counted positions, but at most {MOST_ENTRIES:.1e} can be listed"),
            subject=f"variant {variant.name!r}",
            remedy="use a reduced board, or `tablut reachable estimate`",
        )


def _off(name: str) -> object:
    """Return the default value of a field of the rules."""
    return Rules.model_fields[name].default


class _Field:
    """A field that was added to the rules later, and what it changes in the examined positions."""

    def __init__(self, variant: Variant, name: str) -> None:
        rules = variant.rules.model_copy(update={name: _off(name)})
        self.name, self.without = name, replace(variant, name=f"{variant.name}-without-{name}", rules=rules)
        self.engine, self.plies, self.excluded = engine_for(variant), 0, [0] * (len(LEMMAS) + 1)

    def add_reached(self, boards: NDArray[np.uint32]) -> None:
        """Count the plies from reached classes that have another effect without the field."""
        words = self.engine.words(boards)
        with_it, without = self.engine.expand(words), engine_for(self.without).expand(words)
        other = (with_it.words != without.words).any(axis=1) | (with_it.outcomes != without.outcomes)
        if other.any():
            self.plies += int(self.engine.orbit_sizes(words[with_it.parents[other]]).sum())

    def add_unreached(self, boards: NDArray[np.uint32], codes: NDArray[np.uint8], orbits: NDArray[np.int64]) -> None:
        """Count the positions to which no lemma applies without the field, by the lemma that excludes them."""
        only = (codes != 0) & (lemmas_for(self.without).of_boards(boards) == 0)
        for code in np.unique(codes[only]):
            self.excluded[code] += int(orbits[only & (codes == code)].sum())


class _Explaining:
    """An unfinished explanation of a variant's positions."""

    def __init__(self, variant: Variant, progress: Progress) -> None:
        self.variant, self.progress = variant, progress
        self.engine, self.lemmas = engine_for(variant), lemmas_for(variant)
        self.marks = ClassMarks(variant)
        later = [
            name for name in sorted(Rules.LATER) if getattr(variant.rules, name) != Rules.model_fields[name].default
        ]
        self.fields = [_Field(variant, name) for name in later]
        self.failures, self.failed = 0, list[str]()

    def mark_reached(self, folder: Path, total: int) -> None:
        """Apply the lemmas to every class in a complete census, and mark the class as reached."""
        self.progress.begin("reached", total)
        marked = 0
        for boards in self._reached(folder):
            self._fail(boards[self.lemmas.of_boards(boards) != 0])
            marked += self.marks.mark(boards)
            for field in self.fields:
                field.add_reached(boards)
            self.progress.advance(len(boards))
        if marked != total:
            raise ArithmeticError(f"{self.variant.name}: {marked:,} classes are marked, but the census has {total:,}")

    def _reached(self, folder: Path) -> Iterator[NDArray[np.uint32]]:
        """Yield batches of the undecided positions in a census, one position from each class."""
        stored = StoredCensus(folder, self.variant.digest, full=False)
        for record in stored.records():
            for file in stored.check_parts(record):
                for begin, end in spans(file, 0, len(file.counts)):
                    rows = read_rows(file, begin, end)
                    words = rows[rows[:, -1] >> np.uint64(DECIDED) == 0]
                    words[:, -1] &= np.uint64((1 << FIXING) - 1)
                    # Work in batches, and let an interrupt take effect between them.
                    for first in range(0, len(words), _STEP):
                        yield self.engine.boards(words[first : first + _STEP])

    def finish(self, reached: Amount, pairs: dict[tuple[int, int], tuple[int, int]]) -> Explanation:
        """Classify the positions that are not reached, and return the explanation.

        ``pairs`` contains the numbers of counted and of reached positions for each material.
        """
        self.progress.begin("not reached", self.marks.entries)
        excluded = [Amount() for _ in range(len(LEMMAS) + 1)]
        by_pair = {pair: [0, 0] for pair in pairs}
        left, orbits = [np.empty((0, self.engine.tables.words), dtype=np.uint64)], [np.empty(0, dtype=np.int64)]
        for some in self.marks.unmarked():
            codes = self.lemmas.of_boards(some.boards)
            for field in self.fields:
                field.add_unreached(some.boards, codes, some.orbits)
            for code in range(len(excluded)):
                excluded[code] += _amount(some.orbits[codes == code])
            sums = by_pair[some.attackers, some.defenders]
            sums[0] += int(some.orbits[codes != 0].sum())
            sums[1] += int(some.orbits[codes == 0].sum())
            left.append(self.engine.canonical(self.engine.words(some.boards[codes == 0]))[0])
            orbits.append(some.orbits[codes == 0])
        words = np.concatenate(left)
        order = np.argsort(position_keys(words))
        closed = self._close(np.ascontiguousarray(words[order]), np.concatenate(orbits)[order])
        counted = reached
        for amount in excluded:
            counted += amount
        if counted.positions != 2 * spaces(self.variant)["no_end"].value():
            raise ArithmeticError(f"{self.variant.name}: {counted.positions:,} positions are not all counted ones")
        return Explanation(
            variant=self.variant.name,
            digest=self.variant.digest,
            symmetries=len(self.engine.group),
            counted=counted,
            reached=reached,
            excluded=dict(zip(LEMMAS, excluded[1:], strict=True)),
            closed=closed,
            material=[
                MaterialRow(
                    attackers=attackers,
                    defenders=defenders,
                    counted=counted_here,
                    reached=reached_here,
                    excluded=by_pair[attackers, defenders][0],
                    closed=by_pair[attackers, defenders][1],
                )
                for (attackers, defenders), (counted_here, reached_here) in pairs.items()
            ],
            failures=self.failures,
            failed=self.failed,
        )

    def _close(self, words: NDArray[np.uint64], orbits: NDArray[np.int64]) -> ClosedReport:
        """Return the structure of the closed set. Classes that can be entered from outside count as failures."""
        self.progress.begin("closed", len(words))
        found = predecessors_within(self.variant, words)
        self._fail(self.engine.boards(words[found.entered]))
        shape = close(len(words), found)
        after = (shape.layer == 0) & ~shape.recurrent
        parts = np.bincount(shape.component, weights=orbits).astype(np.int64)
        return ClosedReport(
            all=_amount(orbits),
            layers=[_amount(orbits[shape.layer == number]) for number in range(1, int(shape.layer.max(initial=0)) + 1)],
            recurrent=_amount(orbits[shape.recurrent]),
            after=_amount(orbits[after]),
            parts=len(parts),
            largest_part=int(parts.max(initial=0)),
        )

    def _fail(self, boards: NDArray[np.uint32]) -> None:
        """Record positions that contradict the explanation."""
        self.failures += len(boards)
        for board in boards[: _SHOWN - len(self.failed)]:
            cells, side = self.engine.cells(board)
            self.failed.append(str(Position(cells, "b" if side == "b" else "w")))


def _amount(orbits: NDArray[np.int64]) -> Amount:
    return Amount(positions=int(orbits.sum()), classes=len(orbits))
