"""``tablut tablebase copy``: a tablebase to another folder, or to an object store."""

from __future__ import annotations

from typing import Annotated

import typer

from tablut.cli.options import StoreArgument
from tablut.cli.runtime import Reply, command, interruptible, progress


@command
def copy_command(
    store: StoreArgument,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Where it goes: a folder, or an s3:// URL.", show_default=False)
    ],
) -> Reply:
    """Copy a tablebase to or from an object store, or to another folder, every file compared with its digest.

    The copy is of the present format, which a probe from afar reads chunk by chunk. A copy that was interrupted is
    finished by the same command.
    """
    from retrograde.cli.summary import info_of, show_info
    from retrograde.tablebase.copying import copy_store

    with progress("copy") as display:
        task = display.add_task("", total=None)
        interruptible(lambda: copy_store(store, target, lambda tier: display.update(task, description=tier)))
    info = info_of(target)
    return Reply(info, lambda console: show_info(console, info))
