"""Verification of a tablebase: proving every value, checking every file, and playing out some positions.

**The proof.** A tablebase assigns a value to each position: won in d plies, lost in d plies, or not forced. Suppose
that the value of every position follows from the values of its successors by three rules. If a successor is lost, the
position is won, and the win takes one ply more than the shortest such loss. If all successors are won, the position is
lost, and the loss takes one ply more than the longest of these wins. Otherwise the position is not forced. Then, by
induction on d, every stored win or loss is correct, and takes exactly d plies. In a position that is stored as not
forced, the side to move always has a move to another such position, and no move to a position that is lost for the
opponent. This side can therefore avoid losing forever, but cannot force a win. Hence all values are correct if each of
them agrees with the successors' values. `retrograde.verification.proof` tests this.

**The index.** Placements are enumerated by an independent decoding of entries. Every image of a placement must have
the same entry number, and the sizes of all orbits must add up to the number of placements with this material. Every
position in the tier has then been visited.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

import numpy as np
from pydantic import ConfigDict, Field

from retrograde.tablebase.probing import Tablebase
from retrograde.tablebase.store import (
    Store,
    StoredTier,
    TablebaseError,
    open_store,
    tier_name,
    values_digest,
)
from tablut import __version__
from tablut.errors import THREADS, numbers, whole_number
from tablut.indexing.values import code_of_value, is_loss, plies_of, value_of_code, verdict_of
from tablut.position import SIDES, Position, SideName
from tablut.prober import MissingTableError
from tablut.results import Result
from tablut.rules.naive import NaiveGame, NaiveMove, NaivePosition, NaiveResult
from tablut.work.progress import Observer
from tablut.work.sealed_records import Count, Digest, Part, Record, read_record, write_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retrograde.tablebase.bulk_probing import UnpackedTiers
    from tablut.variants import Variant

Standing = Literal["same", "unknown", "different"]
STANDINGS: Final[tuple[Standing, ...]] = ("same", "unknown", "different")
"""Possible results of comparing a tier with the published tier."""
MEMORY: Final = 4 << 30
"""Default limit on the memory for unpacked tiers, in bytes."""
LISTED: Final = 20
"""Maximum number of failures that are listed."""


class Wrong(Result):
    """A failure: the tier or folder, a description of the error, and the position concerned, if there is one."""

    where: str
    what: str
    position: str | None = None


class Verification(Result):
    """Result of a verification, which is filled in while the verification is running.

    Attributes
    ----------
    variant : str
        Name of the game.
    quick : bool
        Whether the verification only compared files and values with their digests.
    positions_checked : int
        Number of values proved. Each value is for a class of positions with one side to move.
    verified_before : dict of str to int
        Tiers that were not proved again, because the record lists them and they are unchanged. Each name maps to the
        number of values in the tier.
    files_checked : int
        Number of files whose contents were checked against their digests.
    published : dict of str to list of str
        Tiers by the result of comparing their values with the published ones: ``same``, ``unknown`` if no values are
        published, or ``different``, which is a failure.
    samples : dict of str to int
        Numbers of positions that were ``searched`` and of positions that were ``followed``.
    played : dict of str to int
        Numbers of the same positions by stored value: ``wins``, ``losses``, and ``draws`` for all unforced positions.
    failures : int
        Number of failures.
    failed : list of Wrong
        The first failures, at most 20.
    """

    model_config = ConfigDict(frozen=False, extra="forbid")

    variant: str
    quick: bool
    files_checked: int = 0
    positions_checked: int = 0
    verified_before: dict[str, int] = Field(default_factory=dict)
    samples: dict[str, int] = Field(default_factory=lambda: {"searched": 0, "followed": 0})
    played: dict[str, int] = Field(default_factory=lambda: {"wins": 0, "losses": 0, "draws": 0})
    published: dict[str, list[str]]
    failures: int = 0
    failed: list[Wrong] = Field(default_factory=list)

    def add(self, where: str, what: str, position: str | None = None) -> None:
        """Count a failure, and add it to the list if the list is not full.

        Parameters
        ----------
        where, what : str
            The tier or folder, and a description of the error.
        position : str, optional
            The position concerned.
        """
        self.failures += 1
        if len(self.failed) < LISTED:
            self.failed.append(Wrong(where=where, what=what, position=position))


def describe(code: int) -> str:
    """Return a description of the value that a code represents."""
    if code == 0:
        return "not forced"
    verdict = verdict_of(value_of_code(code))
    return f"{verdict.wdl} in {verdict.dtm}"


@numbers(sample=whole_number, seed=whole_number, threads=THREADS, memory=whole_number)
def verify(
    path: Path | str,
    *,
    quick: bool = False,
    sample: int = 0,
    seed: int = 0,
    threads: int = 1,
    memory: int = MEMORY,
    record: Path | str | None = None,
    observer: Observer | None = None,
) -> Verification:
    """Verify a tablebase.

    Parameters
    ----------
    path : Path or str
        Folder of the tablebase.
    quick : bool
        Whether to compare files and values only with their digests, without a proof.
    sample : int
        Number of positions (wins, draws and losses) to play out with the plain rules after the proof.
    seed : int
        Seed for the random choice of these positions.
    threads : int
        Number of threads for the proof.
    memory : int
        Maximum memory in bytes for unpacked tiers. If the tiers take more, they are mapped from temporary files.
    record : Path or str, optional
        File that records each tier once it has been proved. Tiers that the file already lists and that have not changed
        are not proved again, but their files and digests are still compared.
    observer : Observer, optional
        Receives progress reports, as the number of entries proved.

    Returns
    -------
    Verification
        The result. It has no failures if the tablebase is correct.

    Raises
    ------
    TablebaseError
        If the store cannot be opened or plans no tiers, or if the record is damaged.
    MachineError
        If the disk has no space for the unpacked tiers.
    """
    store = open_store(path)
    if not store.planned:
        raise TablebaseError("has no tiers", subject=str(store), remedy="build it")
    verified = None if record is None else VerifiedTiers(Path(record), store.variant.digest)
    report = Verification(variant=store.variant.name, quick=quick, published={name: [] for name in STANDINGS})
    for name in store.unplanned():
        report.add(name, f"tablebase folder {str(store.root / name)!r}: is not one of the tiers of the record")
    sound = list(_sound_tiers(store, report))
    if quick:
        return report
    if sound:
        unpacked = 2 * sum(tier.entries for tier, _ in sound)
        with tempfile.TemporaryDirectory(prefix="tablut-verify-") as folder:
            scratch = Path(folder) if unpacked > memory else None
            prove = partial(_prove_tier, threads=threads, report=report, observer=observer or Observer())
            _prove_tiers(store, sound, scratch, verified, report, prove)
    # With a wrong table, the search could take far too long, so positions are played out only if the tables are
    # correct.
    if sample and not report.failures:
        play_out(store, sample, seed, report)
    return report


def _sound_tiers(store: Store, report: Verification) -> Iterator[tuple[StoredTier, str]]:
    """Yield the tiers whose files are all undamaged, each with a digest of the tier's values. Lower tiers come first.

    Failures in the other tiers are added to the report.
    """
    for material in sorted(store.planned, key=lambda material: (sum(material), material)):
        name = tier_name(material)
        try:
            tier = store.tier(*material)
        except (MissingTableError, TablebaseError) as error:
            report.add(name, str(error))
            continue
        before = report.failures
        for damage in tier.check_contents():
            report.add(name, str(damage))
        report.files_checked += len(tier.record.files)
        if report.failures == before:
            try:
                digest = values_digest(tier.values())
            except TablebaseError as error:
                report.add(name, str(error))
                continue
            standing = standing_of(store.variant, material, digest)
            report.published[standing].append(name)
            if standing == "different":
                report.add(name, f"its values differ from those published for {store.variant.name}")
            yield tier, digest


def _lower(tier: StoredTier) -> list[tuple[int, int]]:
    """Return the tiers that captures lead to. Without shieldwalls, a ply captures at most three soldiers."""
    attackers, defenders = tier.record.attackers, tier.record.defenders
    most = 3 if tier.index.variant.rules.shieldwall is None else attackers + defenders
    fewer_attackers = [(left, defenders) for left in range(max(1, attackers - most), attackers)]
    return fewer_attackers + [(attackers, left) for left in range(max(0, defenders - most), defenders)]


def _prove_tiers(
    store: Store,
    sound: list[tuple[StoredTier, str]],
    scratch: Path | None,
    verified: VerifiedTiers | None,
    report: Verification,
    prove: Callable[[StoredTier, UnpackedTiers], None],
) -> None:
    from retrograde.tablebase.bulk_probing import UnpackedTiers

    digests = {(tier.record.attackers, tier.record.defenders): digest for tier, digest in sound}
    materials = list(digests)
    unpacked = UnpackedTiers(store, materials, scratch)
    for place, ((tier, _), material) in enumerate(zip(sound, materials, strict=True)):
        absent = [lower for lower in _lower(tier) if lower not in materials]
        if absent:
            names = ", ".join(map(tier_name, absent))
            report.add(tier.record.name, f"cannot be verified, because captures lead to {names}")
            continue
        proof = proof_digest(digests[material], [digests[lower] for lower in _lower(tier)]) if verified else ""
        before = verified.positions(tier.record.name, proof) if verified else None
        if before is not None:
            report.verified_before[tier.record.name] = before
            continue
        failures, checked = report.failures, report.positions_checked
        try:
            for needed in [*_lower(tier), material]:
                unpacked.load(needed)
            prove(tier, unpacked)
        except TablebaseError as error:
            report.add(tier.record.name, str(error))
        if verified and report.failures == failures:
            verified.add(tier.record.name, proof, report.positions_checked - checked)
        wanted = {lower for later, _ in sound[place + 1 :] for lower in _lower(later)}
        for done in set(unpacked.arrays) - wanted:
            unpacked.drop(done)


def _prove_tier(
    tier: StoredTier, unpacked: UnpackedTiers, *, threads: int, report: Verification, observer: Observer
) -> None:
    from retrograde.verification.proof import ALIASES, CHECKED, COUNTERS, FAILURES, ORBITS, TierProof

    record, index = tier.record, tier.index
    codes = 1 + max((code for side in (record.white, record.black) for code in side.classes), default=0)
    proof = TierProof(index, unpacked, codes, LISTED)
    totals = np.zeros(COUNTERS, dtype=np.int64)
    histogram = np.zeros((2, codes), dtype=np.int64)
    listed: list[list[int]] = []
    observer.begin(record.name, record.entries)
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for part, tally in pool.map(lambda part: (part, proof.prove(part)), proof.parts()):
            observer.advance(part.entries)
            totals += tally.counters
            histogram += tally.histogram.reshape(2, codes)
            listed += tally.failures.reshape(-1, 4)[: tally.counters[FAILURES]].tolist()
    report.positions_checked += int(totals[CHECKED])
    for kind, entry, side, proved in listed[:LISTED]:
        stored = int(unpacked.arrays[record.attackers, record.defenders][side][entry])
        position = index.unrank(entry, "b" if side else "w")
        report.add(record.name, _failure(kind, entry, stored, proved), str(position))
    report.failures += int(totals[FAILURES]) - len(listed[:LISTED])
    if totals[ORBITS] != record.placements or record.placements != index.positions:
        report.add(
            record.name,
            f"orbits add up to {int(totals[ORBITS]):,} placements, but the record gives {record.placements:,} "
            f"and the material has {index.positions:,}",
        )
    classes = record.entries - int(totals[ALIASES])
    if record.classes != classes:
        report.add(record.name, f"the record gives {record.classes:,} classes, but there are {classes:,}")
    for side_record, counts in zip((record.white, record.black), histogram, strict=True):
        counted = {int(code): int(counts[code]) for code in np.flatnonzero(counts)}
        if counted != dict(side_record.classes):
            report.add(record.name, f"the record gives {side_record.classes} classes by code, but there are {counted}")


def _failure(kind: int, entry: int, stored: int, proved: int) -> str:
    from retrograde.verification.proof import NO_ENTRY, WRONG_ALIAS, WRONG_IMAGE

    if kind == WRONG_ALIAS:
        return f"entry {entry:,}: its placement has rank {proved:,}"
    if kind == WRONG_IMAGE:
        return f"entry {entry:,}: an image of its placement has another rank"
    if kind == NO_ENTRY:
        return f"entry {entry:,}: stored {describe(stored)}; a move leads to a position without an entry"
    return f"entry {entry:,}: stored {describe(stored)}, proved {describe(proved)}"


# -- published tables --------------------------------------------------------------------------
# For each game's digest, ``published.json`` contains the game's name and a digest of each tier's decoded values. Any
# tables can be compared with the published ones by means of this file. The file is written by
# `python -m reports.studies.sources`.


class _PublishedGame(TypedDict):
    tiers: dict[str, str]


@cache
def _published() -> dict[str, _PublishedGame]:
    text = (resources.files("retrograde.tablebase") / "published.json").read_text(encoding="utf-8")
    games: dict[str, _PublishedGame] = json.loads(text)["games"]
    return games


def standing_of(variant: Variant, material: tuple[int, int], digest: str) -> Standing:
    """Compare the digest of a tier's values with the published one. Return ``unknown`` if there is none."""
    game = _published().get(variant.digest)
    expected = None if game is None else game["tiers"].get(tier_name(material))
    if expected is None:
        return "unknown"
    return "same" if expected == digest else "different"


# -- the record of verified tiers ----------------------------------------------------------------
# A tier is added to the record once all of its values have been proved, so an interrupted verification can resume. The
# proof depends on the values of the tier and of the tiers that captures lead to, and on the program. The record
# therefore stores a digest of all three. If any of them changes, the tier is verified again.


class _ProvedTier(Part):
    proof: Digest
    positions: Count


class _VerifiedRecord(Record):
    """The record of all verified tiers, by game digest and tier name."""

    FORMAT = "tablut-verified-tiers"

    tiers: dict[str, dict[str, _ProvedTier]]


def proof_digest(values: str, below: Iterable[str]) -> str:
    """Return a digest of everything that a tier's proof depends on.

    The digest covers the values of the tier and of the tiers that captures lead to, and the program.
    """
    from tablut.engine.kernel_cache import source_digest

    # Different states of the program can have the same development version. Include a digest of the proof's source.
    here = Path(__file__).with_name("proof.py")
    program = (__version__, source_digest("retrograde.verification.proof", here))
    return hashlib.sha256("\n".join((*program, values, *below)).encode()).hexdigest()


class VerifiedTiers:
    """The verified tiers that a record file lists. The file is rewritten whenever a tier is added."""

    def __init__(self, path: Path, game: str) -> None:
        self.path, self.game = path, game
        record = read_record(path, _VerifiedRecord, "verification record", "remove it or choose another file")
        self._tiers = {} if record is None else record.tiers

    def positions(self, tier: str, proof: str) -> int | None:
        """Return the number of proved values of a tier, or None if its present state has not been verified."""
        note = self._tiers.get(self.game, {}).get(tier)
        return note.positions if note is not None and note.proof == proof else None

    def add(self, tier: str, proof: str, positions: int) -> None:
        """Add a tier to the record, and write the file."""
        self._tiers.setdefault(self.game, {})[tier] = _ProvedTier(proof=proof, positions=positions)
        write_record(self.path, _VerifiedRecord(tiers=self._tiers))


# -- playing out positions ---------------------------------------------------------------------
# Positions are played out with the plain rules, independently of the compiled rules. A short win or loss is verified by
# a search: it must exist, and there must be no shorter win or loss. The stored values only decide which moves are tried
# first, so a wrong value costs time but cannot make a wrong result pass. For a longer win or loss, the best moves of
# both sides are played: the winner must be the side that the stored value names, after exactly the stored number of
# plies. If neither side can force a win, a search must find neither a short win nor a short loss. After that, moves
# that keep the position unforced are played.


_Kind: TypeAlias = tuple[StoredTier, SideName, int]

SEARCHED_PLIES: Final = 5
"""Length of the longest win or loss, in plies, that is verified by a search."""
DRAW_PLIES: Final = 3
"""Depth, in plies, of the search for a win or loss in a position that is stored as unforced."""
FOLLOWED_PLIES: Final = 24
"""Number of plies that are played from an unforced position."""
_NODES: Final = 20_000
"""Maximum number of positions that a search visits before it is abandoned."""
_FAR: Final = 1 << 20


class _GivenUpError(Exception):
    """Raised when a search has visited too many positions."""


class ForwardCheck:
    """Checker for stored values that searches for short wins and losses, and plays out the other positions."""

    def __init__(self, tablebase: Tablebase) -> None:
        self.tablebase = tablebase
        self.game = NaiveGame(tablebase.variant)
        self.nodes = 0

    def check(self, position: Position, value: int) -> str | None:
        """Check a position's stored value. Return a description of the error, or None if the value is correct."""
        start = self.game.read(str(position))
        if value == 0:
            return self._check_unforced(start)
        plies, word = (value, "win") if value > 0 else (-value - 1, "loss")
        winner = _side(start) if value > 0 else _other(start)
        if plies > SEARCHED_PLIES:
            return self._follow(start, plies, winner)
        self.nodes = 0
        try:
            if not self.wins(start, plies, winner):
                return f"a search finds no {word} in {plies} plies"
            if plies and self.wins(start, plies - 1, winner):
                return f"a search finds a {word} in fewer than {plies} plies"
        except _GivenUpError:
            return f"a search of {_NODES:,} positions neither proves nor refutes a {word} in {plies} plies"
        return None

    def wins(self, position: NaivePosition, plies: int, winner: str) -> bool:
        """Return whether a side can force a win within ``plies`` plies. A side without a legal move has lost."""
        mine = _side(position) == winner
        if plies < 1:
            return not mine and not self.game.legal_moves(position)
        return (any if mine else all)(
            result.outcome.winner == winner if result.outcome else self.wins(result.position, plies - 1, winner)
            for _, result, _ in self._successors(position)
        )

    def _successors(self, position: NaivePosition) -> list[tuple[NaiveMove, NaiveResult, int]]:
        """Return the moves, the resulting positions, and their ratings for the side to move. The best move comes first.

        The ratings come from the tablebase.
        """
        self.nodes += 1
        if self.nodes > _NODES:
            raise _GivenUpError
        successors = []
        for move in self.game.legal_moves(position):
            result = self.game.apply(position, move)
            if result.outcome is not None:
                merit = _FAR if result.outcome.winner == _side(position) else -_FAR
            else:
                merit = _merit(self.tablebase, Position.parse(self.game.write(result.position), self.game.size))
            successors.append((move, result, merit))
        return sorted(successors, key=lambda successor: -successor[2])

    def _follow(self, position: NaivePosition, plies: int, winner: str) -> str | None:
        """Play best moves until the game is over. Return a description of the error, or None if there is none."""
        line, ended, _ = self._best_play(position, plies + 1)
        if ended is None:
            return f"best moves do not end the game in {plies} plies: {' '.join(line)}"
        if (ended, len(line)) != (winner, plies):
            return f"best moves end the game for {ended} in {len(line)} plies, not {plies}: {' '.join(line)}"
        return None

    def _check_unforced(self, position: NaivePosition) -> str | None:
        """Search for a short win and a short loss, then play moves that keep the position unforced."""
        self.nodes = 0
        try:
            for winner, word in ((_side(position), "win"), (_other(position), "loss")):
                if self.wins(position, DRAW_PLIES, winner):
                    return f"a search finds a {word} within {DRAW_PLIES} plies"
        except _GivenUpError:
            return f"a search of {_NODES:,} positions neither finds nor excludes a win within {DRAW_PLIES} plies"
        line, ended, merit = self._best_play(position, FOLLOWED_PLIES, unforced=True)
        if merit != 0:
            return f"the best move {'wins' if merit > 0 else 'loses'}: {' '.join(line)}"
        return None if ended is None else f"a side has no move after {' '.join(line) or 'no moves'}"

    def _best_play(
        self, position: NaivePosition, most: int, *, unforced: bool = False
    ) -> tuple[list[str], str | None, int]:
        """Play at most ``most`` best moves. With ``unforced``, stop once a side can force a win.

        Return the moves, the winner if the game ends, and the last move's rating for the side that made it.
        """
        line: list[str] = []
        merit = 0
        while len(line) < most:
            self.nodes = 0
            successors = self._successors(position)
            if not successors:
                return line, _other(position), merit
            move, result, merit = successors[0]
            line.append(self.game.move_name(move))
            if result.outcome is not None:
                return line, result.outcome.winner or "", merit
            if unforced and merit != 0:
                break
            position = result.position
        return line, None, merit


def _merit(tablebase: Tablebase, position: Position) -> int:
    """Return a successor's rating for the side that moved last. Quick wins and slow losses have high ratings."""
    value = tablebase.stored_value(position)
    if value == 0:
        return 0
    return _FAR + value if value < 0 else value - _FAR + 1


def _side(position: NaivePosition) -> SideName:
    return "white" if position.side == "w" else "black"


def _other(position: NaivePosition) -> SideName:
    return "black" if position.side == "w" else "white"


def sample_values(store: Store, number: int, seed: int) -> Iterator[tuple[StoredTier, Position, int]]:
    """Yield random positions with their values, alternating between wins, losses and unforced positions."""
    random = np.random.default_rng(seed)
    wins: list[_Kind] = []
    losses: list[_Kind] = []
    rest: list[_Kind] = []
    for material in store.tiers():
        tier = store.tier(*material)
        for side in SIDES:
            for code in getattr(tier.record, side).classes:
                (losses if is_loss(code) else wins if code else rest).append((tier, side, code))
    groups = [kinds for kinds in (wins, losses, rest) if kinds]
    for count in range(number if groups else 0):
        kinds = groups[count % len(groups)]
        tier, side, code = kinds[random.integers(len(kinds))]
        entry = _find(tier, side, code, int(random.integers(tier.entries)))
        yield tier, tier.index.unrank(entry, "w" if side == "white" else "b"), value_of_code(code)


def _find(tier: StoredTier, side: SideName, code: int, start: int) -> int:
    """Return the first entry from ``start`` onwards that has a given code and is not an alias.

    The search wraps around at the end of the tier.
    """
    chunk = tier.record.chunk
    chunks = -(-tier.entries // chunk)
    for turn in range(chunks + 1):
        number = (start // chunk + turn) % chunks
        entries = number * chunk + np.flatnonzero(tier.chunk(side, number) == code)
        if turn == 0:
            entries = entries[entries >= start]
        for entry in entries.tolist():
            if tier.index.entry(tier.index.unrank(entry, "w").cells) == entry:
                return int(entry)
    raise LookupError(f"tier {tier.record.name}: no entry with {side} to move has code {code}, which its record counts")


def play_out(store: Store, number: int, seed: int, report: Verification) -> None:
    """Check a sample of positions, and add the counts and failures to a report."""
    check = ForwardCheck(Tablebase(store))
    for tier, position, value in sample_values(store, number, seed):
        wrong = check.check(position, value)
        code = code_of_value(value)
        report.samples["searched" if code and plies_of(code) <= SEARCHED_PLIES else "followed"] += 1
        report.played["draws" if not code else "losses" if is_loss(code) else "wins"] += 1
        if wrong is not None:
            report.add(tier.record.name, f"stored {describe(code)}: {wrong}", str(position))
