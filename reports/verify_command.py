"""The command ``tablut verify``, which verifies finished or unfinished work of any kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tablut.cli.command import command
from tablut.cli.requests import Argument, Request
from tablut.cli.runtime import EXIT_NO, Reply, interruptible
from tablut.errors import InputError, TablutError
from tablut.play.collection_file import is_collection, open_file
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import store_path
from tablut.work.parts import MAGIC, TAIL, open_part
from tablut.work.progress import plural
from tablut.work.sealed_records import sealed_format

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

Check = Callable[[Path], list[str]]
"""Type of a function that checks a folder of one kind, and returns descriptions of the failures."""


class VerifiedFolder(Result):
    """The result of ``tablut verify``."""

    store: str
    kinds: list[str]
    records: int
    parts: int
    failures: int
    failed: list[str]


def checks() -> dict[str, Check]:
    """Return the check for each kind of store, keyed by a pattern for the file that identifies the kind."""
    from counting.census.verification import verify_census
    from retrograde.verification.verifying import verify
    from tablut.play.arena.match import match_faults

    def census(folder: Path) -> list[str]:
        return [message for check in verify_census(folder).checks for message in check.messages]

    def tablebase(folder: Path) -> list[str]:
        return [f"{one.where}: {one.what}" for one in verify(folder, quick=True).failed]

    return {
        "census.json": census,
        "*/census.json": census,
        "zarr.json": tablebase,
        "game-*.txt": match_faults,
        "*/game-*.txt": match_faults,
    }


def _verify_proof(path: Path) -> VerifiedFolder | None:
    """Verify a file of certificates or a saved proof with the plain rules, or return None if the file is neither."""
    from counting.reachable.certificate_checker import check_file
    from counting.reachable.certificates import CERTIFICATES
    from retrograde.proofs.certificate import PROOF_FILE, game_of, read_certificate
    from retrograde.proofs.strategy_checker import StrategyCheck
    from retrograde.tablebase.probing import prober_for

    if CERTIFICATES.fits(path):
        _, samples = check_file(path, load_variant)
        kind, count, failed = "certificates", samples.checked, samples.failures
    elif PROOF_FILE.fits(path):
        proof = read_certificate(str(path), path)
        rules = game_of(str(path), proof, None)
        tables = prober_for(rules, None) if proof.tables else None
        checked = StrategyCheck(rules, proof, tablebase=tables).run()
        shorter = [] if checked.shorter is None else [f"there is a win in {plural(checked.shorter, 'ply')}"]
        kind, count, failed = "a proof", checked.positions, [*checked.failures, *shorter]
    else:
        return None
    return VerifiedFolder(
        store=str(path), kinds=[kind], records=count, parts=0, failures=len(failed), failed=list(failed)
    )


def verify_folder(folder: Path | str) -> VerifiedFolder:
    """Verify stored work: a folder, finished or not, a collection of games, a file of certificates or a saved proof."""
    root, kinds = store_path(folder), dict[str, None]()
    if root.is_file() and (proof := _verify_proof(root)) is not None:
        return proof
    if not root.is_dir() and not is_collection(root):
        name = "name the folder of a store, a collection of games, a file of certificates or a saved proof"
        raise InputError("is no stored work", subject=f"store {str(root)!r}", remedy=name)
    records = parts = 0
    failures: list[str] = []
    inside = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    for path in inside if root.is_dir() else [root]:
        try:
            if path.suffix == ".json" and (found := sealed_format(path)):
                records += 1
                kinds[found] = None
            elif is_collection(path):
                parts += 1
                kinds["collection of games"] = None
                with open_file(path, f"collection {str(path)!r}") as file:
                    file.check()
            elif _is_part(path):
                parts += 1
                open_part(path).check()
        except TablutError as error:
            failures.append(str(error))
    checked = [check for pattern, check in checks().items() if any(root.glob(pattern))]
    if not kinds and not parts and not checked:
        raise InputError("contains no stored work", subject=f"store {str(root)!r}", remedy="name the folder of a store")
    for check in checked:
        try:
            failures += [failure for failure in check(root) if failure not in failures]
        except TablutError as error:
            failures.append(str(error))
    failed = list(dict.fromkeys(failures))
    return VerifiedFolder(
        store=str(folder), kinds=list(kinds), records=records, parts=parts, failures=len(failed), failed=failed
    )


def _is_part(path: Path) -> bool:
    """Return whether a file is a part, judging by its name or its last bytes."""
    if path.suffix in (".rows", ".slice", ".part"):
        return True
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL.size))
        return file.read().startswith(MAGIC)


class VerifyPathRequest(Request):
    """The request of ``tablut verify``."""

    store: str = Argument(
        "PATH", "Folder of a store of any kind, finished or not; a collection, certificates or a proof."
    )


@command()
def verify_command(request: VerifyPathRequest) -> Reply:
    """Verify stored work of any kind, such as a census, a tablebase, a book, certificates or a proof.

    Every file is checked against its digests, and the records are compared with one another. Certificates
    and proofs are checked with the plain rules. To check the values in a tablebase or the parents in a
    census, use `tablut tablebase verify` or `tablut census verify --parents`. Exit code 1: an error was
    found.
    """
    store = request.store
    result = interruptible(lambda: verify_folder(store))

    def show(console: PeopleConsole) -> None:
        for failure in result.failed:
            console.print(failure, soft_wrap=True)
        console.print(
            f"{store}: {plural(result.records, 'record')} and {plural(result.parts, 'part')} checked, "
            f"{plural(result.failures, 'failure')}.",
            soft_wrap=True,
        )

    return Reply(result, show, EXIT_NO if result.failures else 0)
