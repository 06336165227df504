"""The hand-set weights that tuning starts from, and the format of pattern files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import numpy as np

from tablut.play.search.weights import TERMS

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
