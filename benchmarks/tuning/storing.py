"""The hand-set weights that tuning starts from, and the format of pattern files.

``python -m benchmarks.tuning.storing FILE --level N`` raises every score of a pattern file by N centi-logits.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from tablut.errors import InputError
from tablut.play.search.weights import SCALE, TERMS, read_patterns
from tablut.work.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.play.search.weights import Patterns

HAND_WEIGHTS: Final[Mapping[str, float]] = dict.fromkeys(TERMS, 0.0) | {
    "attacker_moves": -1.0,
    "defender_moves": 1.0,
    "open_escapes": 3.0,
    "attackers": -30.0,
    "defenders": 50.0,
    "king_rays": 100.0,
    "king_paths": 20.0,
    "king_has_path": 40.0,
    "king_moves": 6.0,
    "attackers_beside_king": -25.0,
    "king_capture_sides": -50.0,
    "tempo": 10.0,
}
"""Hand-set weights. Tuning starts from these weights, and its result is compared with them."""

_ENDS_WEIGHTS: Final[Mapping[str, float]] = {"ends_closed": -12.0, "ends_open": 6.0}
_CORNER_WEIGHTS: Final[Mapping[str, float]] = {"fort_wall": 15.0, "corner_guards": -10.0, "corners_sealed": -120.0}
"""Further hand-set weights for rule sets where moves have distant effects. They were tested in matches.

The second set is used only if the escapes are in the corners.
"""


def hand_weights(family: str) -> Mapping[str, float]:
    """Return the hand-set weights for a family of variants."""
    afar = _ENDS_WEIGHTS if family.endswith("_afar") else {}
    return {**HAND_WEIGHTS, **afar, **(_CORNER_WEIGHTS if family == "corner_afar" else {})}


def written_patterns(patterns: Patterns) -> bytes:
    """Return the contents of a pattern file. Equal patterns always produce the same bytes."""
    written = io.BytesIO()
    np.savez_compressed(written, **patterns._asdict())
    return written.getvalue()


def with_level(patterns: Patterns, level: int) -> Patterns:
    """Return patterns that raise every score for white by a number of centi-logits.

    Results of games at odds teach a net which positions are better, but not how good they are between equals. A level
    makes up for this: with it, a position with the score 0 is one where both sides score equally. It is spread over the
    lines of the board, so that the search adds it without any further work, and it is rounded accordingly.
    """
    lines = patterns.line_table.shape[1]
    scores = patterns.line_scores.astype(np.int64) + round(level * SCALE / lines)
    if np.abs(scores).max() > np.iinfo(np.int16).max:
        raise InputError("does not fit into 16 bits on a line", parameter="level", value=level)
    made = f"{patterns.made}; a level of {level} centi-logits"
    return patterns._replace(line_scores=scores.astype(np.int16), made=made)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--level", type=int, required=True, help="Number of centi-logits to add to each score for white.")
def level_command(file: Path, level: int) -> None:
    """Raise every score of a pattern file."""
    write_bytes(file, written_patterns(with_level(read_patterns(file.read_bytes()), level)))


if __name__ == "__main__":
    level_command()
