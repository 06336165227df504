"""Verification of a tablebase: proving every value, checking every file, and playing out some positions.

**The proof.** A tablebase gives a value to each position: won in d plies, lost in d plies, or not forced. Suppose that
every value follows from the values of the position's successors: a win takes one ply more than the shortest loss among
them; if all of them are wins, the position is a loss that takes one ply more than the longest of these wins; otherwise
it is not forced. Then, by induction on d, every stored win or loss is correct, and takes exactly d plies. From a
position that is stored as not forced, the side to move always has a move to another such position, and no move to a
lost one, so it can avoid losing for ever. Hence all values are correct if each of them agrees with its successors'
values, which `retrograde.verification.proof` tests.

**The index.** Placements are enumerated by an independent decoding of entries. All images of a placement must
be ranked to its entry, and the orbits of all placements must add up to the number of
placements of the material. This shows that every position of the tier has been visited.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.tablebase.records import TablebaseError, values_digest
from retrograde.tablebase.store import STANDINGS, Store, StoredTier, open_store, standing_of
from retrograde.verification.findings import LISTED, Verification, VerifiedTiers, describe, proof_digest
from tablut.prober import MissingTableError
from tablut.work.progress import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from retrograde.tablebase.batch import UnpackedTiers

MEMORY: Final = 4 << 30
"""Default limit of the memory for unpacked tiers, in bytes."""


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
        Only compare files and values with their digests, without a proof.
    sample : int
        Number of positions to play out with the naive rules as well: wins, draws and losses.
    seed : int
        Seed that selects these positions.
    threads : int
        Number of threads of the proof.
    memory : int
        Maximum memory in bytes for unpacked tiers. If they take more, they are mapped from temporary files.
    record : Path or str, optional
        File to which each tier is added once it is proved. Tiers that it already lists and that have not changed are
        not proved again, but their files and digests are still compared.
    observer : Observer, optional
        Receives progress reports: the number of entries proved.

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
        raise TablebaseError("has no tiers", subject=f"tablebase {str(store.root)!r}", remedy="build it")
    verified = None if record is None else VerifiedTiers(Path(record), store.variant.digest)
    report = Verification(variant=store.variant.name, quick=quick, published={name: [] for name in STANDINGS})
    for name in store.strangers():
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
    # A wrong table could misguide the search without limit, so positions are played out only if the table is correct.
    if sample and not report.failures:
        from retrograde.verification.playing import play_out

        play_out(store, sample, seed, report)
    return report


def _sound_tiers(store: Store, report: Verification) -> Iterator[tuple[StoredTier, str]]:
    """Yield the tiers whose files are all undamaged, lower ones first, with the digests of their values.

    Failures of the other tiers are added to the report.
    """
    for material in sorted(store.planned, key=lambda material: (sum(material), material)):
        name = f"{material[0]}v{material[1]}"
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
    """Return the tiers that captures lead to; without a shieldwall, a ply captures at most three soldiers."""
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
    from retrograde.tablebase.batch import UnpackedTiers

    digests = {(tier.record.attackers, tier.record.defenders): digest for tier, digest in sound}
    materials = list(digests)
    unpacked = UnpackedTiers(store, materials, scratch)
    for place, ((tier, _), material) in enumerate(zip(sound, materials, strict=True)):
        absent = [lower for lower in _lower(tier) if lower not in materials]
        if absent:
            names = ", ".join(f"{attackers}v{defenders}" for attackers, defenders in absent)
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
    proof = TierProof(index, unpacked, codes)
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
        found = {int(code): int(counts[code]) for code in np.flatnonzero(counts)}
        if found != dict(side_record.classes):
            report.add(record.name, f"the record gives {side_record.classes} classes by code, but there are {found}")


def _failure(kind: int, entry: int, stored: int, proved: int) -> str:
    from retrograde.verification.proof import NO_ENTRY, WRONG_ALIAS, WRONG_IMAGE

    if kind == WRONG_ALIAS:
        return f"entry {entry:,}: its placement has rank {proved:,}"
    if kind == WRONG_IMAGE:
        return f"entry {entry:,}: an image of its placement has another rank"
    if kind == NO_ENTRY:
        return f"entry {entry:,}: stored {describe(stored)}; a move leads to a position without an entry"
    return f"entry {entry:,}: stored {describe(stored)}, proved {describe(proved)}"
