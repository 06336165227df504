"""The upper level of `tablut prove`: a proof-number tree whose leaves are tasks, and the store that is its truth.

A node is a position up to symmetry; positions that several lines reach are one node. A
leaf becomes a task, a bounded search (`retrograde.proofs.proving`). If that settles it, its
proof or disproof goes up to all its parents; otherwise it is expanded, and its children
are leaves with the numbers that the same search gave them. That is job-level
proof-number search [1]_. Two things keep workers apart: a leaf that a worker has is not
chosen, and every task below a node raises the number by which it is chosen (virtual
proof and disproof numbers [2]_). The numbers are weak ones [3]_, the largest of the
children and one for every other that is open: in a graph whose lines join and repeat, sums would
count the same leaf many times.

What is settled rests on settled children alone, and every win has a number of plies that
is larger than theirs; so neither transpositions nor cycles can make it wrong.

The store keeps what tasks have answered, in files of rows that a sealed record binds.
The tree is what these answers make when they are taken in order.

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
from tablut.store.files import child, write_bytes
from tablut.store.folders import Kind, commit
from tablut.store.records import DamagedError, DataFile, Digest, Record, check_data, data_file, digest_of, read_record

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

KIND: Final = Kind("proof search", "proof.json")
PARTS: Final = "parts.json"
_MEND: Final = "delete the folder, and run the command again"

TASK, CHILD, LEAF, ENTRY = range(4)
"""What a row is of: a leaf that a task has searched, then its children if it stays open; or a leaf that is proved,
then its strategy, whose moves stand in the column ``nodes``."""


def row_type(width: int) -> np.dtype[Any]:
    """Return what an answer is made of: the words of a position, the least of its images, and numbers."""
    return np.dtype(
        [("words", "<u8", (width,)), *((name, "<i8") for name in ("kind", "proof", "disproof", "plies", "nodes"))]
    )


@dataclass(slots=True, eq=False)
class Node:
    """A position of the tree; ``below`` counts the tasks that run there."""

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
        """Return the open children, the best for who is to move first, or those that are easy to prove."""
        left = [one for one in self.children or () if not one.settled]
        return iter(sorted(left, key=lambda one: (one.proof if self.mine or easy else one.disproof) * (1 + one.below)))

    def judge(self) -> None:
        """Work the numbers out from those of the children."""
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
    """What is known of a position and of those after it: one side, the prover, is to win.

    If it is ``easy``, what is easy to prove comes first: all answers have to be proved, and the easy ones help with the
    others. Otherwise what disproves comes first.
    """

    def __init__(self, root: NDArray[np.uint64], *, mine: bool) -> None:
        self.root = Node(root.tobytes(), mine)
        self.nodes = {self.root.words: self.root}
        self.busy: dict[Node, list[Node]] = {}
        """By leaf that a worker has: the way to it."""
        self.made, self.tasks = 0, 0
        self.easy = False

    def choose(self) -> Node | None:
        """Return the open leaf that matters most and that no worker has; None if there is none now."""
        path = self._way_to_leaf()
        if path:
            self.busy[path[-1]] = path
        for one in path:
            one.below += 1
        return path[-1] if path else None

    def close(self) -> None:
        """Find the root disproved if no leaf is left: from what is open then the prover has no way to win.

        The other side has a move from there that stays there, and the prover no other.
        """
        if not self.root.settled and not self.busy and not self._way_to_leaf():
            self.root.proof, self.root.disproof = INFINITE, 0

    def _way_to_leaf(self) -> list[Node]:
        """Return the way to the leaf that matters most and that no worker has; it is empty if there is none."""
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
        """Take what a task says of a leaf."""
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
            # A search has settled it: it rests on that, not on what is known of its children.
            node.children = None
            self.rise(node.parents)

    def rise(self, nodes: Iterable[Node]) -> None:
        """Work the numbers of nodes out again; where that settles one, those of all its parents."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if not node.settled and node.children:
                node.judge()
                if node.settled:
                    waiting += node.parents

    def strategy(self, *tops: Node, holds: bool) -> tuple[list[tuple[Node, Node]], list[Node]]:
        """Return what proofs, or disproofs, rest on, the root's unless others are named.

        That is nodes, each with the child chosen, and leaves.
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
                # Where the tree is closed, what is open holds.
                below = [min(settled or [one for one in below if one.proof], key=lambda one: one.plies)]
                moves.append((node, below[0]))
            waiting += [one for one in below if one not in seen]
            seen.update(below)
        return moves, leaves


# -- the store -----------------------------------------------------------------------------


class SearchRecord(Record):
    """``proof.json``: what is searched for; ``variant`` is a name for people, ``game`` decides."""

    FORMAT: ClassVar[str] = "tablut proof search"

    variant: str
    game: Digest
    position: str
    claim: str
    tables: dict[str, Digest]

    def other(self, found: SearchRecord) -> str | None:
        """Return what else a store is for, or None."""
        if found.game != self.game:
            return f"holds a proof search under other rules, of {found.variant}"
        names = [name for name in ("claim", "position", "tables") if getattr(found, name) != getattr(self, name)]
        return f"holds a proof search with another {names[0]}" if names else None


class PartsRecord(Record):
    """``parts.json``: the files of answers, in order."""

    FORMAT: ClassVar[str] = "tablut proof search parts"

    search: Digest
    parts: tuple[DataFile, ...]


class TreeStore:
    """The folder of a proof search, which the caller has claimed."""

    def __init__(self, root: Path, head: SearchRecord, kind: np.dtype[Any]) -> None:
        self._root, self._kind, self._search = root, kind, digest_of(head)
        self._parts: list[DataFile] = []

    def _next(self) -> Path:
        return child(self._root, f"part-{len(self._parts) + 1:06d}.rows", "proof search file")

    def wrong(self, fault: str) -> DamagedError:
        """Return the error for what was read so far, where it cannot come from a search or contradicts the rules."""
        return DamagedError(f"proof search folder {str(self._root)!r}: is damaged: {fault}; {_MEND}")

    def answers(self) -> Iterator[NDArray[Any]]:
        """Yield the answers in order, those of a part together; what is damaged is named."""
        path = self._root / PARTS
        record = read_record(path, PartsRecord, "proof search file", _MEND)
        if record is not None and record.search != self._search:
            raise DamagedError(f"proof search file {str(path)!r}: is of another search; {_MEND}")
        for part in () if record is None else record.parts:
            check_data(self._next(), part, "proof search file", _MEND)
            rows = np.fromfile(self._next(), dtype=self._kind)
            self._parts.append(part)
            if not rows.nbytes == part.bytes > 0:
                raise self.wrong(f"part {len(self._parts)} has {part.bytes:,} bytes, and no whole number of rows")
            yield rows

    def write(self, answers: list[NDArray[Any]]) -> None:
        """Write a part: its rows first, then the record that makes it one.

        If that is interrupted, the next call writes the same part again.
        """
        data = self._next()
        write_bytes(data, (rows.tobytes() for rows in answers), lasting=True)
        part = data_file(data)
        commit(self._root / PARTS, PartsRecord(search=self._search, parts=(*self._parts, part)))
        self._parts.append(part)
