"""The fillings of one camp: which sets of its cells can be occupied in the course of a game.

A soldier may step within its camp and leave it for good, and a sheltered one is
never captured; so the fillings form a small state space of their own, exhausted
here as a networkx digraph. The rest of the board is taken to be empty.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx

from tablut.notation import square_name
from tablut.variants.model import DIRECTIONS, ray

if TYPE_CHECKING:
    from tablut.variants import Variant
    from tablut.variants.model import Camp

Filling = frozenset[int]


def camp_fillings(variant: Variant, camp: Camp) -> nx.DiGraph[Filling]:
    """Return the fillings that can follow from the full camp, and the moves between them."""
    graph: nx.DiGraph[Filling] = nx.DiGraph()
    pending = [camp.cells]
    graph.add_node(camp.cells)
    while pending:
        filling = pending.pop()
        for move, following in _moves(variant, camp, filling):
            if following not in graph:
                pending.append(following)
            graph.add_edge(filling, following, move=move)
    return graph


def _moves(variant: Variant, camp: Camp, filling: Filling) -> list[tuple[str, Filling]]:
    size, moves = variant.size, []
    for cell in sorted(filling):
        left = filling - {cell}
        name = square_name(cell, size)
        leaves = False
        for direction in DIRECTIONS:
            for target in ray(cell, direction, size):
                if target in filling:
                    break
                if target in camp.cells:
                    moves.append((f"{name}-{square_name(target, size)}", left | {target}))
                elif target in variant.regions.free_cells:
                    leaves = True
                else:
                    break
        if leaves:
            moves.append((f"{name} leaves", left))
    return moves


def shortest_line(graph: nx.DiGraph[Filling], start: Filling, goal: Filling) -> list[str]:
    """Return the moves of a shortest way from one filling to another."""
    path = nx.shortest_path(graph, start, goal)
    return [graph.edges[edge]["move"] for edge in pairwise(path)]
