"""The games of a match as one table in a Parquet file, a row a game."""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tablut.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tablut.play.arena.match import MatchReport

__all__ = ["write_games"]


def write_games(path: Path, reports: Sequence[MatchReport]) -> None:
    """Write the games of some matches.

    Parameters
    ----------
    path : Path
        The file, replaced if it is there.
    reports : sequence of MatchReport
        The matches.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    # Imported here: pyarrow takes longer to load than many matches take; it has no types of its own.
    pa: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")

    rows = [
        {
            "a": report.summary.a,
            "b": report.summary.b,
            "game": one.number,
            "a_is_white": one.first_is_white,
            "winner": one.game.winner,
            "a_points": one.points,
            "termination": one.game.termination,
            "plies": len(one.game.moves),
            "white_seconds": one.game.seconds[0],
            "black_seconds": one.game.seconds[1],
            "white_nodes": one.game.nodes[0],
            "black_nodes": one.game.nodes[1],
            "fault": one.game.fault,
            "moves": " ".join(map(str, one.game.moves)),
        }
        for report in reports
        for one in report.played
    ]
    schema = pa.schema(
        [
            ("a", pa.string()),
            ("b", pa.string()),
            ("game", pa.int32()),
            ("a_is_white", pa.bool_()),
            ("winner", pa.string()),
            ("a_points", pa.float64()),
            ("termination", pa.string()),
            ("plies", pa.int32()),
            ("white_seconds", pa.float64()),
            ("black_seconds", pa.float64()),
            ("white_nodes", pa.int64()),
            ("black_nodes", pa.int64()),
            ("fault", pa.string()),
            ("moves", pa.string()),
        ]
    )
    content = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), content, compression="zstd")
    write_bytes(path, content.getvalue())
