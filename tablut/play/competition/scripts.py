"""``runmyplayer.sh``: what the competition starts a player with, written out for this installation."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from tablut.files import write_text

__all__ = ["SCRIPT_NAME", "write_player_script"]

SCRIPT_NAME: Final = "runmyplayer.sh"
_TEMPLATE: Final = Path(__file__).with_name(SCRIPT_NAME)


def write_player_script(folder: Path, arguments: tuple[str, ...] = ()) -> Path:
    """Write the script of the competition into a folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    arguments : tuple of str
        Further arguments of ``tablut play``, such as the player.

    Returns
    -------
    Path
        The script, executable.

    Raises
    ------
    OutputError
        If it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = write_player_script(Path(folder), ("--player", "random"))
    ...     script.name, script.read_text().splitlines()[-1].endswith('--timeout "$2" --wait 60 --player random')
    ('runmyplayer.sh', True)
    """
    text = _TEMPLATE.read_text(encoding="utf-8")
    text = text.replace("@PYTHON@", shlex.quote(sys.executable)).replace("@MORE@", shlex.join(arguments))
    target = folder / SCRIPT_NAME
    write_text(target, "\n".join(line.rstrip() for line in text.splitlines()) + "\n")
    target.chmod(0o755)
    return target
