"""Entry point for ``python -m tablut``, which is equivalent to ``tablut``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python searches the current folder first, where a module could hide one of the toolkit's packages.
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != Path(__file__).resolve().parents[1]:
        del sys.path[0]
    from tablut.cli import main

    main()
