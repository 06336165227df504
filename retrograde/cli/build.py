"""``tablut tablebase build``: from a rule set to a store."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablut.cli.options import SchedulerOption, VariantOption, material_option, read_materials, threads_option
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.errors import InputError, TablutError
from tablut.locations import as_location
from tablut.store.files import check_output
from tablut.variants import load_variant

if TYPE_CHECKING:
    from retrograde.cli.summary import TablebaseInfo
    from tablut.cli.people import PeopleConsole
    from tablut.locations import Location

_MEMORY = 4096
_LONG = 10
"""A build that takes more seconds is announced with its cost."""


@command
def build_command(
    men: Annotated[int | None, typer.Option("--men", min=2, help="Most men, the king counted.")] = None,
    material: Annotated[
        list[str] | None,
        material_option("Attackers and defenders, such as 5v1, with all that captures lead to; may be repeated."),
    ] = None,
    variant: VariantOption = "ashton",
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="STORE",
            help="A folder, or an s3:// URL. [default: ./tablebase-NAME]",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[int, threads_option("Threads for each tier.")] = 1,
    memory: Annotated[
        int,
        typer.Option("--memory", metavar="MIB", min=1, help="Most memory, in MiB; larger tiers are built in slices."),
    ] = _MEMORY,
    scheduler: SchedulerOption = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write what each task took there, as JSON.", show_default=False),
    ] = None,
) -> Reply:
    """Solve all tiers of at most so many men, or of some material, and store every value with its distance.

    Stored tiers are kept: an interrupted build goes on, and a build of more men or other material adds
    to what is there. A long build prints its cost first, and which tiers it builds in slices.
    The workers of --scheduler run what this program sends them: name only a cluster of your own.
    """
    from retrograde.cli.summary import info_of
    from retrograde.solver.build import build_tablebase
    from retrograde.solver.tiers import check_build
    from retrograde.solver.trace import Tracer, write_trace
    from retrograde.tablebase.store import is_store, open_store, tier_name
    from retrograde.tablebase.writer import sweep

    rules, materials = load_variant(variant), read_materials(material)
    if men is None and not materials:
        raise InputError("--men or --material: one of them is needed; --men 4 builds all tiers of at most four men")
    root = as_location(f"tablebase-{rules.name}" if store is None else store)
    # One that is to be elsewhere is built in the system's folder for temporary files.
    folder = root if isinstance(root, Path) else Path(tempfile.gettempdir())
    built = open_store(root).tiers() if is_store(root) else []
    estimate = check_build(rules, men, memory << 20, folder, built, materials=materials)
    tracer = None
    if trace is not None:
        check_output(trace)
        tracer = Tracer(rules, max([men or 0, *(1 + sum(one) for one in materials)]), memory << 20)
    if estimate.seconds >= _LONG:
        asked = [] if men is None else [f"at most {men} men"]
        asked += map(tier_name, materials)
        typer.echo(f"tablut: {rules.name}, {', '.join(asked)}: {estimate}", err=True)
    try:
        with progress("build") as display:
            task = display.add_task("", total=None)
            interruptible(
                lambda: build_tablebase(
                    root,
                    rules,
                    men,
                    materials=materials,
                    threads=threads,
                    memory=memory << 20,
                    scheduler=scheduler,
                    advanced=lambda step: display.update(task, description=step),
                    tracer=tracer,
                )
            )
    except KeyboardInterrupt:
        if is_store(root):
            if isinstance(root, Path):
                with suppress(TablutError, OSError):
                    # Remove what the abandoned thread has left; the next build would do it, too.
                    sweep(root)
            finished = ", ".join(map(tier_name, open_store(root).tiers())) or "none"
            words = ["tablut", "tablebase", "build", "-v", variant, *([] if men is None else ["--men", str(men)])]
            words += [word for one in materials for word in ("--material", tier_name(one))]
            words += ["--store", str(root)]
            # Slices of another size would begin anew.
            words += [] if memory == _MEMORY else ["--memory", str(memory)]
            typer.echo(
                f"tablut: interrupted; tiers finished and kept: {finished}; go on: {shlex.join(words)}", err=True
            )
        raise
    if trace is not None and tracer is not None:
        write_trace(trace, tracer.trace())
    info: TablebaseInfo = info_of(root)
    return Reply(info, lambda console: _show(console, info, root))


def _show(console: PeopleConsole, info: TablebaseInfo, root: Location) -> None:
    from retrograde.cli.summary import show_info

    show_info(console, info)
    console.print(f"stored in {root}", soft_wrap=True)
