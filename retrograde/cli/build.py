"""``tablut tablebase build``: from a rule set to a store."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablut.cli.options import SchedulerOption, VariantOption, threads_option
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.errors import TablutError
from tablut.variants import load_variant

if TYPE_CHECKING:
    from retrograde.cli.summary import TablebaseInfo
    from tablut.cli.people import PeopleConsole

__all__ = ["build_command"]

_LONG = 10
"""A build that takes more seconds is announced with its cost."""


@command
def build_command(
    men: Annotated[int, typer.Option("--men", min=2, help="Most men, the king counted.")],
    variant: VariantOption = "ashton",
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Where it goes. [default: ./tablebase-NAME]", show_default=False),
    ] = None,
    threads: Annotated[int, threads_option("Threads for each tier.")] = 1,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MIB", min=1, help="Most memory for a tier, in MiB; beyond it, a disk."),
    ] = 4096,
    scheduler: SchedulerOption = None,
) -> Reply:
    """Solve all tiers of at most so many men, and store every value with its distance.

    Stored tiers are kept: an interrupted build goes on, and a build of more men adds
    to one of fewer. A long build prints its cost first.
    The workers of --scheduler run what this program sends them: name only a cluster of your own.
    """
    from retrograde.cli.summary import info_of
    from retrograde.solver.build import build_tablebase
    from retrograde.solver.estimate import check_build
    from retrograde.tablebase.store import open_store, tier_name
    from retrograde.tablebase.writer import sweep

    rules = load_variant(variant)
    root = store if store is not None else Path(f"tablebase-{rules.name}")
    built = open_store(root).tiers() if (root / "zarr.json").exists() else []
    estimate = check_build(rules, men, memory << 20, root, built)
    if estimate.seconds >= _LONG:
        typer.echo(f"tablut: {rules.name}, at most {men} men: {estimate}", err=True)
    try:
        with progress("build") as display:
            task = display.add_task("", total=None)
            interruptible(
                lambda: build_tablebase(
                    root,
                    rules,
                    men,
                    threads=threads,
                    memory=memory << 20,
                    scheduler=scheduler,
                    advanced=lambda step: display.update(task, description=step),
                )
            )
    except KeyboardInterrupt:
        if (root / "zarr.json").exists():
            with suppress(TablutError, OSError):
                # Remove what the abandoned thread has left; the next build would do it, too.
                sweep(root)
            finished = ", ".join(map(tier_name, open_store(root).tiers())) or "none"
            words = ["tablut", "tablebase", "build", "-v", variant, "--men", str(men), "--store", str(root)]
            typer.echo(
                f"tablut: interrupted; tiers finished and kept: {finished}; go on: {shlex.join(words)}", err=True
            )
        raise
    info: TablebaseInfo = info_of(root)
    return Reply(info, lambda console: _show(console, info, root))


def _show(console: PeopleConsole, info: TablebaseInfo, root: Path) -> None:
    from retrograde.cli.summary import show_info

    show_info(console, info)
    console.print(f"stored in {root}", soft_wrap=True)
