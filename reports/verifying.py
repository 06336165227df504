"""``tablut verify``: verify a folder of finished or unfinished work of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.cli.command import argument, command
from tablut.cli.runtime import EXIT_NO, Reply, interruptible
from tablut.results import Result
from tablut.work.progress import plural

if TYPE_CHECKING:
    from pathlib import Path

    from tablut.cli.people import PeopleConsole
    from tablut.work.verify import Check


class VerifiedFolder(Result):
    """The result of ``tablut verify``."""

    store: str
    kinds: list[str]
    records: int
    parts: int
    failures: int
    failed: list[str]


def checks() -> dict[str, Check]:
    """Return the check of each kind of store, keyed by the name of the file that identifies the kind."""
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


def verify_folder(folder: Path | str) -> VerifiedFolder:
    """Verify a folder of finished or unfinished work: a census, a tablebase, a proof, an estimate or a match."""
    from tablut.work.verify import verify

    found = verify(folder, checks())
    return VerifiedFolder(
        store=str(folder),
        kinds=list(found.kinds),
        records=found.records,
        parts=found.parts,
        failures=len(found.failures),
        failed=list(found.failures),
    )


@command()
@argument("store", metavar="DIR", help="Folder of a store of any kind, finished or not.")
def verify_command(store: str) -> Reply:
    """Verify a folder of stored work: a census, a tablebase, a proof search, an estimate or a match.

    Every file is compared with its digests, and the records with one another. The values in a tablebase and the
    parents in a census are checked by `tablut tablebase verify` and `tablut census verify --parents`. Exit code 1: an
    error was found.
    """
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
