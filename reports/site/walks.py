"""The solved boards that are walked in the browser: positions near the start, every move with its value.

Solving takes a while, so the walks are kept in ``reports/data/walks`` as ``python -m reports.sources walk`` gave them
of what ``tablut solve --store`` keeps. A test computes the small ones again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reports.stored import Provenance, read_stored
from retrograde.answers import TableWalk
from tablut.board import Board
from tablut.indexing.values import Verdict, a_ply_earlier, value_of
from tablut.variants import load_variant

if TYPE_CHECKING:
    from retrograde.answers import WalkMove, WalkNode

WALKS: Final = ("ashton-5-4v0", "brandubh-5-4v0", "ashton-5-4v2")
"""The boards, in the order of the pages."""


class _Stored(TableWalk):
    provenance: Provenance


def walks() -> dict[str, dict[str, Any]]:
    """Return the stored walks by the names of their boards."""
    return {name: read_stored("walks", name, _Stored, _check) for name in WALKS}


def _check(stored: _Stored, name: str) -> None:
    """Compare a walk with its name, with the rules at the start, and every value with those that it leads to."""
    rules = load_variant(name)
    if stored.variant != name or not stored.nodes or stored.nodes[0].position != rules.start_position:
        raise ValueError("variant, nodes: are not those of this board")
    for node in stored.nodes:
        if sorted(move.move for move in node.moves) != sorted(map(str, Board(rules, node.position).legal_moves)):
            raise ValueError(f"position {node.position!r}: has other moves than the rules")
        if node.moves and _value(node.moves[0]) != _value(node):
            raise ValueError(f"position {node.position!r}: is not worth what its best move is")
        for move in node.moves:
            if move.to is None:
                continue
            if not 0 <= move.to < len(stored.nodes):
                raise ValueError(f"position {node.position!r}: {move.move} leads to a number that is not there")
            if _value(move) != a_ply_earlier(_value(stored.nodes[move.to])):
                raise ValueError(f"position {node.position!r}: {move.move} has another value than where it leads")


def _value(one: WalkNode | WalkMove) -> int:
    return value_of(Verdict(one.wdl, one.dtm))  # type: ignore[arg-type]


def walk_data(name: str, stored: dict[str, Any]) -> str:
    """Return what the script of a walk reads, safe within a script element."""
    data = {"terrain": load_variant(name).terrain, "nodes": stored["nodes"]}
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
