"""The ``tablut`` command: a shell that finds its sub-commands in the packages that contribute them.

`shell` lists and loads commands; `runtime` gives each of them JSON, provenance,
exit codes and error lines; `options` holds the parameters that many share.
"""

from tablut.cli.shell import main

__all__ = ["main"]
