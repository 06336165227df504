"""``python -m tablut`` is the same as ``tablut``, also in a folder that has a ``reports.py`` of its own."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python looks into the folder that one is in first; the names of our packages are found where tablut is.
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != Path(__file__).resolve().parents[1]:
        del sys.path[0]
    from tablut.cli import main

    main()
