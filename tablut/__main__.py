"""``python -m tablut`` is the same as ``tablut``."""

from tablut.cli import main

if __name__ == "__main__":
    main()
