"""The upper level of `tablut prove`: a proof-number tree with leaves that are searched by tasks, and its store on disk.

A node is a position up to symmetry. A position that can be reached by several lines of play is still one node. To
search a leaf, the program runs a task: a search with a limited number of moves (`retrograde.proofs.proving`). If the
search settles the leaf, the proof or disproof is propagated to all of the leaf's parents. Otherwise the leaf is
expanded, and its children become leaves with the numbers that the same task found for them. This is job-level
proof-number search [1]_.

Two rules make the workers search different parts of the tree. First, a leaf that a worker is searching is not chosen
again. Second, every running task below a node raises the number that decides whether the node is chosen (virtual proof
and disproof numbers [2]_). The numbers are weak proof numbers [3]_: the largest number among the open children, plus
one for every other open child. Sums would count the same leaf many times, because different lines lead to the same
positions.

A settled node's result depends only on settled children, and a win takes more plies than the wins on which it depends.
So neither transpositions nor cycles can make a result wrong.

The store contains the results of tasks, called answers, as rows in parts (`tablut.work.parts`). Adding all answers in
order rebuilds the tree.

References
----------
.. [1] I.-C. Wu, H.-H. Lin, D.-J. Sun, K.-Y. Kao, P.-H. Lin, Y.-C. Chan, P.-T. Chen, Job-level proof number search,
   IEEE Transactions on Computational Intelligence and AI in Games 5 (2013)
.. [2] T. Kaneko, Parallel depth first proof number search, AAAI 2010
.. [3] T. Ueda, T. Hashimoto, J. Hashimoto, H. Iida, Weak proof-number search, Computers and Games 2008
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from retrograde.proofs.table import INFINITE
from tablut.work.files import child
from tablut.work.ledger import Kind, damaged, drop_files
from tablut.work.parts import Owner, PartWriter, open_part
from tablut.work.sealed_records import Count, DamagedError, Digest, Part, Record, digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tablut.work.run import Mending

KIND: Final = Kind("proof search", "proof.json")
FIRST_PART: Final = "part-000001.rows"
"""Name of the file with the first answers."""
_MEND: Final = "delete the folder, and run the command again"

TASK, CHILD, LEAF, ENTRY = range(4)
"""Kinds of rows. A `TASK` row describes a leaf that was searched. If the leaf is still open, `CHILD` rows for its
children follow. A `LEAF` row describes a settled leaf. `ENTRY` rows for the leaf's strategy follow. The moves in
`ENTRY` rows are in the column ``nodes``."""


def row_type(width: int) -> np.dtype[Any]:
    """Return the data type of an answer's rows. A row contains a canonical position as words, and its numbers."""
    return np.dtype(
        [("words", "<u8", (width,)), *((name, "<i8") for name in ("kind", "proof", "disproof", "plies", "nodes"))]
    )


@dataclass(slots=True, eq=False)
class Node:
    """A position in the tree.

    ``mine`` is True if the prover is to move, and ``below`` is the number of running tasks below the node.
    """

    words: bytes
    mine: bool
    proof: int = 1
    disproof: int = 1
    plies: int = -1
    below: int = 0
    children: list[Node] | None = None
    parents: list[Node] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether the node is proved or disproved."""
        return self.proof == 0 or self.disproof == 0

    def ways(self, *, easy: bool) -> Iterator[Node]:
        """Return the open children in search order.

        The best child for the side to move comes first. With ``easy``, the child that is easiest to prove comes first.
        """
        left = [one for one in self.children or () if not one.settled]
        return iter(sorted(left, key=lambda one: (one.proof if self.mine or easy else one.disproof) * (1 + one.below)))

    def judge(self) -> None:
        """Compute the node's numbers from those of its children."""
        below = self.children or []
        least = min((one.proof if self.mine else one.disproof) for one in below)
        left = [number for one in below if (number := one.disproof if self.mine else one.proof)]
        other = min(max(left) + len(left) - 1, INFINITE - 1) if left else 0
        least, other = (0, INFINITE) if least == 0 else (INFINITE, 0) if other == 0 else (least, other)
        self.proof, self.disproof = (least, other) if self.mine else (other, least)
        if self.proof == 0:
            won = [one.plies for one in below if one.proof == 0]
            self.plies = 1 + (min(won) if self.mine else max(won))


class ProofTree:
    """The proof-number tree for a position that one side, the prover, may win.

    For a proof, the prover must win after every reply by the opponent. If ``easy`` is set, the replies that are easiest
    to prove are searched first, because their proofs help with the other replies. Otherwise the replies that are most
    likely to be disproved come first.
    """

    def __init__(self, root: NDArray[np.uint64], *, mine: bool) -> None:
        self.root = Node(root.tobytes(), mine)
        self.nodes = {self.root.words: self.root}
        self.busy: dict[Node, list[Node]] = {}
        """The path from the root to each leaf that a worker is searching."""
        self.made, self.tasks = 0, 0
        self.easy = False

    def choose(self) -> Node | None:
        """Return the most important open leaf that no worker is searching, or None if there is no such leaf now."""
        path = self._way_to_leaf()
        if path:
            self.busy[path[-1]] = path
        for one in path:
            one.below += 1
        return path[-1] if path else None

    def close(self) -> None:
        """Mark the root as disproved if no open leaf is left, since the prover then cannot force a win.

        In this case, wherever the other side is to move in an open position, it has a move to another open position.
        Wherever the prover is to move in an open position, none of its moves leads to a proved win.
        """
        if not self.root.settled and not self.busy and not self._way_to_leaf():
            self.root.proof, self.root.disproof = INFINITE, 0

    def _way_to_leaf(self) -> list[Node]:
        """Return the path to the most important open leaf that no worker is searching, or an empty list."""
        seen, path, ways = {self.root}, [self.root], [self.root.ways(easy=self.easy)]
        while path and not self.root.settled:
            node = path[-1]
            if node.children is None and node not in self.busy:
                return path
            step = next((way for way in ways[-1] if way not in seen), None)
            if step is None:
                path.pop()
                ways.pop()
            else:
                seen.add(step)
                path.append(step)
                ways.append(step.ways(easy=self.easy))
        return []

    def take(self, rows: NDArray[Any]) -> None:
        """Add to the tree the answer from a task that searched a leaf."""
        node = self.nodes[rows["words"][0].tobytes()]
        path = self.busy.pop(node, [node])
        for one in path:
            one.below = max(0, one.below - 1)
        self.made += int(rows["nodes"].sum())
        self.tasks += 1
        if node.settled:
            return
        self._set(node, rows[0])
        if not node.settled and node.children is None:
            names = [words.tobytes() for words in rows["words"][1:]]
            node.children = [self.nodes.setdefault(name, Node(name, not node.mine)) for name in names]
            for one, row in zip(node.children, rows[1:], strict=True):
                one.parents.append(node)
                if not one.settled and (one.children is None or 0 in (row["proof"], row["disproof"])):
                    self._set(one, row)
        for one in reversed(path):
            self.rise([one])

    def _set(self, node: Node, row: Any) -> None:
        node.proof, node.disproof, node.plies = (int(row[name]) for name in ("proof", "disproof", "plies"))
        if node.settled:
            # The node's result now comes from the search that settled the node, and no longer from its children.
            node.children = None
            self.rise(node.parents)

    def rise(self, nodes: Iterable[Node]) -> None:
        """Recompute the numbers of nodes. If this settles a node, also recompute its parents' numbers."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if not node.settled and node.children:
                node.judge()
                if node.settled:
                    waiting += node.parents

    def strategy(self, *tops: Node, holds: bool) -> tuple[list[tuple[Node, Node]], list[Node]]:
        """Return the nodes and leaves that the proofs of the given nodes depend on.

        With ``holds``, return the nodes and leaves that the disproofs depend on. By default, start from the root. The
        result is a list of the nodes where a move is chosen, each with the chosen child, and a list of leaves.
        """
        moves, leaves, waiting = [], [], list(tops or [self.root])
        seen = set(waiting)
        while waiting:
            node = waiting.pop()
            below = node.children
            if below is None:
                leaves.append(node)
                continue
            if node.mine != holds:
                settled = [one for one in below if (one.disproof if holds else one.proof) == 0]
                # In a tree without open leaves, open children also belong to the set that the side never has to leave.
                below = [min(settled or [one for one in below if one.proof], key=lambda one: one.plies)]
                moves.append((node, below[0]))
            waiting += [one for one in below if one not in seen]
            seen.update(below)
        return moves, leaves


# -- the store -----------------------------------------------------------------------------


class SearchRecord(Record):
    """The file ``proof.json``, which contains a search's claim.

    ``game`` identifies the rules; ``variant`` is only a readable name for them.
    """

    FORMAT: ClassVar[str] = "tablut proof search"
    VERSION: ClassVar[int] = 2

    variant: str
    game: Digest
    position: str
    claim: str
    tables: dict[str, Digest]

    def other(self, found: SearchRecord) -> str | None:
        """Return how the search in an existing store differs from this search, or None if both are the same."""
        if found.game != self.game:
            return f"contains a proof search under other rules, those of {found.variant}"
        parts = {"claim": "another claim", "position": "another position", "tables": "other tables"}
        unlike = [shown for name, shown in parts.items() if getattr(found, name) != getattr(self, name)]
        return f"contains a proof search with {unlike[0]}" if unlike else None


class AnswerStats(Part):
    """Statistics of a part, namely its number of rows."""

    rows: Count


class TreeStore:
    """A proof search's folder. The caller must have claimed the folder."""

    def __init__(self, root: Path, head: SearchRecord, kind: np.dtype[Any]) -> None:
        self._root, self._kind, self._plan, self._count = root, kind, digest_of(head), 0

    def _path(self, number: int) -> Path:
        return child(self._root, f"part-{number + 1:06d}.rows", "proof search file")

    def wrong(self, fault: str) -> DamagedError:
        """Return the error to raise if the answers contradict the rules or cannot come from a search."""
        return DamagedError(f"is damaged: {fault}", subject=f"proof search folder {str(self._root)!r}", remedy=_MEND)

    def answers(self, mending: Mending | None = None) -> Iterator[NDArray[Any]]:
        """Yield the answers in order, part by part.

        A damaged part is removed together with all later parts, because their answers depend on it. The search then
        computes these answers again. Without ``mending``, `DamagedError` is raised instead.
        """
        self._count, found = 0, sorted(self._root.glob("part-*.rows"))
        while self._count < len(found):
            try:
                rows = self._read(self._count)
            except DamagedError as error:
                if mending is None:
                    raise
                mending.remove(error, found=True)
                drop_files(path for path in found if path >= self._path(self._count))
                return
            self._count += 1
            yield rows

    def _read(self, number: int) -> NDArray[Any]:
        part = open_part(path := self._path(number), AnswerStats)
        if part.header.owner != Owner(plan=self._plan, step=0, number=number):
            raise damaged(path, "it belongs to another search or to another place in the search")
        content = part.array("rows")
        if not len(content) == part.header.stats.rows * self._kind.itemsize > 0:
            raise damaged(path, "it does not contain a whole number of rows")
        return content.view(self._kind)

    def write(self, answers: list[NDArray[Any]]) -> None:
        """Write the next part."""
        rows, owner = np.concatenate(answers), Owner(plan=self._plan, step=0, number=self._count)
        with PartWriter(self._path(self._count)) as writer:
            writer.put("rows", rows.view(np.uint8))
            writer.finish(owner, AnswerStats(rows=len(rows)), lasting=True)
        self._count += 1
