"""The state graph of a complete census. Its nodes are classes of positions, and its edges are moves.

Nodes are numbered ply by ply, beginning with the start, which is node 0. Decided nodes have no successors. All moves
from one class to another form a single edge.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from counting.census.buckets import FIXING
from counting.census.expansion import BLACK_WON, DECIDED, EXPANSION_COUNTERS
from counting.census.rows import open_rows, read_rows
from counting.census.toolbox import toolbox
from tablut.engine import engine_for
from tablut.engine.packing import count_children
from tablut.errors import InputError
from tablut.position import Position
from tablut.results import Result
from tablut.work.files import ARCHIVE, write_bytes

if TYPE_CHECKING:
    from pathlib import Path

    import networkx as nx
    from numpy.typing import NDArray

    from counting.census.search import CensusSearch
    from tablut.variants import Variant

MOST_NODES: Final = 2_000_000
"""Maximum number of nodes. A networkx graph of this size still fits into a small machine's memory."""
_STEP: Final = 1 << 14
"""Number of positions that are unpacked at a time."""


class StateGraph(NamedTuple):
    """A state graph's nodes and edges as arrays.

    - ``ply``: The ply at which each node is first reached.
    - ``winner``: 0: undecided, 1: white has won, 2: black has won.
    - ``source``, ``target``: The edges, without duplicates, sorted by source, then target.
    - ``moves``: For each edge, the number of moves that lead from the source's representative to the target.
    - ``words``: The representative of each node, packed by `tablut.engine.packing`.
    """

    ply: NDArray[np.int32]
    winner: NDArray[np.uint8]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    moves: NDArray[np.int32]
    words: NDArray[np.uint64]

    def positions(self, variant: Variant) -> list[str]:
        """Return each node's representative as text."""
        engine = engine_for(variant)
        found: list[str] = []
        for start in range(0, len(self.words), _STEP):
            for board in engine.boards(self.words[start : start + _STEP]):
                cells, side = engine.cells(board)
                found.append(str(Position(cells, "b" if side == "b" else "w")))
        return found

    def to_networkx(self) -> nx.DiGraph[int]:
        """Return the graph with the node attributes ``ply`` and ``winner`` and the edge attribute ``moves``."""
        import networkx

        graph: nx.DiGraph[int] = networkx.DiGraph()
        for node, (ply, winner) in enumerate(zip(self.ply.tolist(), self.winner.tolist(), strict=True)):
            graph.add_node(node, ply=ply, winner=("", "white", "black")[winner])
        edges = zip(self.source.tolist(), self.target.tolist(), self.moves.tolist(), strict=True)
        graph.add_edges_from((source, target, {"moves": moves}) for source, target, moves in edges)
        return graph


class GraphNumbers(Result):
    """Numbers that describe the size and structure of a state graph."""

    file: str
    nodes: int
    undecided: int
    edges: int
    components: int
    largest_component: int
    condensation_depth: int
    returning: int
    most_successors: int
    mean_successors: float
    most_predecessors: int
    eccentricity: int


def state_graph(variant: Variant, search: CensusSearch) -> StateGraph:
    """Return the state graph of a complete census."""
    if not search.complete:
        raise InputError("needs a complete census", parameter="graph", remedy="count all plies: leave out `plies`")
    total = sum(record.counters[name] for record in search.records for name in ("new_classes", "decided_classes"))
    if total > MOST_NODES:
        why = f"needs {total:,} nodes, but a state graph can have at most {MOST_NODES:,}"
        raise InputError(why, parameter="graph", remedy="choose a smaller board")
    rows, plies = [], []
    for record in search.records:
        for source in search.store.parts(record):
            file = open_rows(*source)
            rows.append(read_rows(file, 0, len(file.counts)))
            plies.append(np.full(len(rows[-1]), record.ply, dtype=np.int32))
    words = np.concatenate(rows)
    flags = words[:, -1] >> np.uint64(BLACK_WON)
    winner = np.where(flags >> np.uint64(DECIDED - BLACK_WON), 1 + (flags & np.uint64(1)), 0).astype(np.uint8)

    tools = toolbox(variant, search.full)
    ply = np.concatenate(plies)
    # The game ends at the move limit, so positions in the last ply have no successors.
    limit = variant.rules.move_limit
    parents = np.flatnonzero((winner == 0) & (True if limit is None else ply < limit))
    counts = np.empty(len(parents), dtype=np.int64)
    due = int(count_children(tools.tables, np.ascontiguousarray(words[parents]), counts))
    children = np.empty((due + 4 * tools.tables.cells, tools.tables.words), dtype=np.uint64)
    counters = np.zeros(EXPANSION_COUNTERS, dtype=np.int64)
    _, found = tools.expand(words[parents], children, counters)
    children[:, -1] &= np.uint64((1 << 64) - 1 - (3 << FIXING))
    distinct, numbers = np.unique(np.concatenate([words, children[:found]]), axis=0, return_inverse=True)
    if len(distinct) != len(words):
        raise ArithmeticError(f"{variant.name}: a move leads out of the complete census")
    node = np.empty(len(words), dtype=np.int64)
    node[numbers[: len(words)]] = np.arange(len(words))
    targets = node[numbers[len(words) :]]
    pairs, moves = np.unique(np.repeat(parents, counts) * len(words) + targets, return_counts=True)
    positions = words.copy()
    positions[:, -1] &= np.uint64((1 << BLACK_WON) - 1)
    return StateGraph(ply, winner, pairs // len(words), pairs % len(words), moves.astype(np.int32), positions)


def write_graph(graph: StateGraph, variant: Variant, path: Path) -> None:
    """Write a state graph as a compressed archive of NumPy arrays (``.npz``), which `numpy.load` reads.

    The arrays are the fields of `StateGraph` without ``words``, ``position`` with the text of each node's
    representative, and ``variant`` with the name of the rule set.
    """
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in graph._fields if name != "words"}
    arrays |= {"position": np.array(graph.positions(variant)), "variant": np.array(variant.name)}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_bytes(path, content.getvalue(), remedy="choose another file with `graph`", kind=ARCHIVE)


def graph_numbers(graph: StateGraph, path: Path) -> GraphNumbers:
    """Return the size and structure of a graph, computed by networkx in O(nodes + edges) steps."""
    import networkx

    digraph = graph.to_networkx()
    condensed = networkx.condensation(digraph)
    undecided = int((graph.winner == 0).sum())
    distances = networkx.single_source_shortest_path_length(digraph, 0)
    if any(distances[node] != ply for node, ply in enumerate(graph.ply.tolist())):
        raise ArithmeticError("the length of a shortest path from the start differs from the ply of its last node")
    return GraphNumbers(
        file=str(path),
        nodes=len(graph.ply),
        undecided=undecided,
        edges=len(graph.source),
        components=condensed.number_of_nodes(),
        largest_component=max(len(members) for _, members in condensed.nodes(data="members")),
        condensation_depth=networkx.dag_longest_path_length(condensed),
        returning=len(networkx.ancestors(digraph, 0)) + 1,
        most_successors=max(degree for _, degree in digraph.out_degree()),
        mean_successors=round(len(graph.source) / undecided, 6),
        most_predecessors=max(degree for _, degree in digraph.in_degree()),
        eccentricity=max(distances.values()),
    )
