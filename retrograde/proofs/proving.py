"""The search behind `tablut prove`, which proves or refutes a claim about a position on one or many machines.

A task searches one leaf of the tree (`retrograde.proofs.proof_tree`), up to a maximum number of moves. The results of
tasks, called answers, are saved to the store in parts, about every 20 seconds. If a run is killed, only the tasks since
the last part are lost, and these are run again. When the root is proved, further tasks extract the strategies of the
leaves that the proof needs. These strategies are also saved, and are joined with the tree's own moves to form the
certificate.

A win that is proved in this way does not depend on the rules on repetition, because no game that follows the strategy
repeats a position.

To prove that a side never loses, the program disproves the other side's win in the same kind of tree. The tasks then
also search for a set of positions that the side never has to leave (`retrograde.proofs.strategy`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from retrograde.proofs.certificate import certificate_of
from retrograde.proofs.proof_numbers import MOST_PLIES
from retrograde.proofs.proof_tree import (
    CHILD,
    ENTRY,
    KIND,
    LEAF,
    TASK,
    Node,
    ProofTree,
    SearchRecord,
    TreeStore,
    row_type,
)
from retrograde.proofs.solver import is_lost_at_once
from retrograde.proofs.strategy import HoldingSearch, NotWonError, PackedStrategy, joined, needed, strategy_of, text_of
from retrograde.proofs.strategy_checker import StrategyCheck
from retrograde.proofs.table import INFINITE, LONGEST
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from retrograde.tablebase.probing import prober_for
from tablut.engine import engine_for
from tablut.engine.engine import position_keys
from tablut.errors import InputError
from tablut.position import Move, Position, SideName, cells_of_code
from tablut.results import Result
from tablut.rules.outcome import OUTCOMES
from tablut.work.clocks import wall_clock
from tablut.work.files import child
from tablut.work.ledger import claim as claimed
from tablut.work.progress import Observer
from tablut.work.run import LocalScheduler, Mending

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from retrograde.proofs.certificate import ProofCertificate
    from tablut.engine import Engine
    from tablut.variants import Variant
    from tablut.work.run import Scheduler

Claim = Literal["white", "black", "not-white", "not-black", "draw"]
Status = Literal["proved", "refuted", "open"]
_KEPT_EVERY: Final = 20.0
"""Minimum time in seconds between saving two parts."""
_SHARE: Final = 32
_LOOK: Final = 1_000_000
"""Maximum number of moves in the search below a leaf's child.

Such a search is also limited to the number of moves allowed for the leaf, divided by `_SHARE`.
"""
_EXACT: Final = 10_000_000
_EXACT_MEMORY: Final = 64 << 20
"""Size of the table, in bytes, for the search for a shorter win, which makes at most `_EXACT` moves."""
_CHECKED: Final = 10_000
"""Maximum size of a strategy that is always checked with the plain rules. Such a check takes only seconds."""
_REFUTING: Final = 3_000_000
"""Maximum number of moves in the search that repeats a refutation, so that the plain rules can check it."""
_MOST: Final = 40_000_000
"""Maximum number of positions in the strategy of one leaf."""
_MOST_HELD: Final = 4_000_000
"""Maximum number of positions in a set that a side never has to leave.

The number is smaller than `_MOST`, because searching for a set takes more memory than extracting a strategy.
"""


class FirstMove(Result):
    """A first move, and the claim's proof and disproof numbers and status after the move.

    ``checked`` is True if the status follows directly from the rules, or from a result that the plain rules confirmed.
    """

    move: str
    proof: int | None
    disproof: int | None
    status: Status
    checked: bool


class Proving(Result):
    """Result of a search for a proof of a claim.

    ``within`` is an upper bound on the number of plies that a proved win takes; ``dtm`` is the exact number, or null if
    it is not known.

    ``checked`` is True if the plain rules have confirmed the result (`retrograde.proofs.strategy_checker`). If not, the
    result relies on the search and the store's contents. The same applies to the status of each first move.

    The result for a draw has two ``halves``, and each has its own certificate. One half proves that white does not win,
    and the other half proves that black does not win.
    """

    variant: str
    position: str
    claim: str
    status: Status
    checked: bool
    proof: int | None
    disproof: int | None
    within: int | None
    dtm: int | None
    repetition: str
    nodes: int
    tasks: int
    positions: int
    certificate: str | None
    strategy: int | None
    tables: list[str]
    first_moves: list[FirstMove]
    halves: list[Proving] = Field(default_factory=list)


# -- tasks -----------------------------------------------------------------------------------


def _answers_in(rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Split rows into the answers of tasks."""
    return np.split(rows, np.flatnonzero(np.isin(rows["kind"], (TASK, LEAF)))[1:])


class Task(NamedTuple):
    """A task that searches a leaf or, if ``plies`` is not 0, extracts the strategy from the leaf's proof.

    If ``holds`` is true, the task also searches for a strategy that keeps the prover from winning.
    """

    variant: Variant
    prover: int
    nodes: int
    memory: int
    tablebase: str | None
    threads: int
    holds: bool
    words: bytes = b""
    plies: int = 0


Rows = NDArray[np.void]
"""Rows of a part: the answer to a task."""
Work = Callable[[Task], Rows]
_of_thread = threading.local()


def search_of(task: Task) -> WinSearch:
    """Return this thread's search object for a task. Its table keeps the results of earlier tasks."""
    about = (task.variant.digest, *task[1:6])
    if getattr(_of_thread, "about", None) != about:
        prober = None if task.tablebase is None else prober_for(task.variant, task.tablebase)
        budget = ProofBudget(ProofLimits())
        _of_thread.search = WinSearch(engine_for(task.variant), task.prover, task.memory, budget, prober, task.threads)
        _of_thread.about = about
    search: WinSearch = _of_thread.search
    return search


def run_task(task: Task, known: Sequence[PackedStrategy] = ()) -> Rows:
    """Search a leaf and, if it stays open, its children.

    If a strategy was requested, return the leaf's strategy without the positions in ``known``.
    """
    search, engine = search_of(task), engine_for(task.variant)
    own = np.frombuffer(task.words, dtype=np.uint64)[None]
    board = engine.boards(own)[0]
    if task.plies:
        # The leaf was proved before, so the proof can be found again. Set no limit, because the search may take longer
        # than before if the table has other contents.
        search.budget = ProofBudget(ProofLimits(nodes=1 << 60))
        found = strategy_of(search, board, task.plies, _MOST, known)
        return strategy_answer(own, found, (0, INFINITE, task.plies, 0))
    holding = HoldingSearch(search)
    if task.holds:
        held = holding.run(own, ProofLimits(nodes=task.nodes, positions=_MOST_HELD))
        if held is not None:
            return strategy_answer(own, held, (INFINITE, 0, -1, holding.made))
    proof, disproof, plies, made = settled(search, board, task.nodes)
    numbers = [(proof, disproof, plies, made + holding.made)]
    if 0 not in numbers[0][:2]:
        below = below_of(engine, own)
        own = np.concatenate([own, below])
        numbers += [settled(search, one, max(1, min(task.nodes // _SHARE, _LOOK))) for one in engine.boards(below)]
    return answer_of(TASK, CHILD, own, numbers)


def below_of(engine: Engine, own: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the undecided successors of a position, up to symmetry."""
    children = engine.expand(own)
    images, _ = engine.canonical(children.words[children.outcomes == 0], engine.variant.symmetries)
    return np.unique(images, axis=0)


def answer_of(first: int, rest: int, words: NDArray[np.uint64], numbers: ArrayLike) -> Rows:
    """Return a task's answer; ``numbers`` has shape (n, 4)."""
    rows: Rows = np.zeros(len(words), dtype=row_type(words.shape[1]))
    rows["words"], rows["kind"] = words, rest
    rows["kind"][0] = first
    for name, column in zip(("proof", "disproof", "plies", "nodes"), np.asarray(numbers).T, strict=True):
        rows[name] = column
    return rows


def strategy_answer(own: NDArray[np.uint64], strategy: PackedStrategy, numbers: tuple[int, ...]) -> Rows:
    """Return the rows for a strategy that begins at a settled position."""
    none = np.zeros(len(strategy), dtype=np.int64)
    columns = np.column_stack([none, none, strategy.plies, strategy.moves])
    return answer_of(LEAF, ENTRY, np.concatenate([own, strategy.words]), np.concatenate([[numbers], columns]))


def settled(search: WinSearch, board: NDArray[Any], nodes: int) -> tuple[int, int, int, int]:
    """Run a bounded search. Return the proof number, disproof number, plies (-1 unless proved) and moves made."""
    search.budget = ProofBudget(ProofLimits(nodes=nodes))
    answer = search.wins(board)
    proof, disproof = (search.pn, search.dn) if answer is None else (0, INFINITE) if answer else (INFINITE, 0)
    return proof, disproof, search.distance if answer else -1, search.budget.nodes


# -- the run ---------------------------------------------------------------------------------


class ProofRun:
    """A search for a proof of one claim: that a side wins from a position, or that it does not."""

    def __init__(
        self,
        variant: Variant,
        position: Position,
        claim: Claim,
        *,
        observer: Observer,
        tablebase: str | None,
        nodes: int,
        memory: int,
        threads: int = 1,
    ) -> None:
        loser = claim.removeprefix("not-")
        self.holds = loser != claim
        self.winner: SideName = "black" if (loser == "white") == self.holds else "white"
        if self.holds and not variant.rules.repetition.spares(self.winner):
            loses = f"whether {self.winner} loses"
            why = f"cannot be proved, because a repetition can decide {loses} a game of {variant.name}"
            raise InputError(why, parameter="claim", remedy="claim a win instead")
        is_lost_at_once(variant, position)
        self.variant, self.position, self.claim, self.observer = variant, position, claim, observer
        self.checked = False
        self._most = min(MOST_PLIES, variant.rules.move_limit or MOST_PLIES)
        self.engine, self.prover = engine_for(variant), int(loser == "black")
        self.prober = None if tablebase is None else prober_for(variant, tablebase)
        store = None if self.prober is None else self.prober.store
        tiers = [] if store is None else [store.tier(*material).record for material in store.tiers()]
        self.tables = {tier.name: tier.digest for tier in tiers}
        self.board = self.engine.board(position.cells, position.side)
        (root,), _ = self.engine.canonical(self.engine.words(self.board), variant.symmetries)
        self.tree = ProofTree(root, mine="wb"[self.prover] == position.side)
        self.about = SearchRecord(
            variant=variant.name,
            game=variant.digest,
            position=text_of(self.engine, self.engine.boards(root[None])[0]),
            claim=claim,
            tables=self.tables,
        )
        self.task = Task(variant, self.prover, nodes, memory, tablebase, threads, self.holds)
        self._type = row_type(len(root))
        self._fresh: list[NDArray[Any]] = []
        self._strategies: dict[bytes, PackedStrategy] = {}
        self._files: TreeStore | None = None
        self._kept_at = wall_clock()
        self.certificate: Path | None = None
        self.whole: PackedStrategy | None = None
        self.dtm: int | None = None

    def run(
        self, scheduler: Scheduler, store: Path | None = None, hours: float | None = None, work: Work = run_task
    ) -> None:
        """Search until the claim is settled or the time limit in hours is reached. Write a certificate for a proof."""
        end = None if hours is None else wall_clock() + 3600 * hours
        with ExitStack() as stack:
            if store is not None:
                stack.enter_context(claimed(store, KIND, self.about, other=self.about.other))
                self._files = TreeStore(store, self.about, self._type)
                self._read(self._files, Mending(self.observer.say))
                self._keep()
                self.tree.rise(self.tree.nodes.values())
            stack.callback(self._keep)

            def draw() -> Task | None:
                node = None if end is not None and wall_clock() >= end else self.tree.choose()
                return None if node is None else self.task._replace(words=node.words)

            self.observer.begin("tasks")
            scheduler.feed(work, draw, self._take)
            if self.variant.rules.repetition.spares("black" if self.prover == 0 else "white"):
                self.tree.close()
            proof, disproof = self._numbers(self.tree.root)
            if proof == 0:
                self._prove(scheduler, store, work)
                self.dtm = None if self.holds else self._exact(self.tree.root.plies)
            elif self._status(proof, disproof) == "refuted":
                self._check_refuted()

    @property
    def strategies(self) -> list[PackedStrategy]:
        """The leaves' strategies, in the order in which they were found."""
        return list(self._strategies.values())

    def load(self, store: Path) -> None:
        """Load the answers from a store of this run, and the proof's strategy if it is complete."""
        self._read(TreeStore(store, self.about, self._type))
        if self._numbers(self.tree.root)[0] == 0 and not self._unread():
            self.whole = self._joint()

    def _read(self, files: TreeStore, mending: Mending | None = None) -> None:
        """Read the answers from a store. The store may be damaged, or someone may have edited it and its digests."""
        for rows in files.answers(mending):
            for answer in _answers_in(rows):
                if not self._may_be(answer):
                    raise files.wrong("one of its parts contains an answer that no task can give")
                self._apply(answer)

    def _may_be(self, answer: NDArray[Any]) -> bool:
        """Return whether a task could have produced an answer. The answer may still be wrong."""
        kind, own, below, size = answer["kind"][0], answer["words"][:1], answer[1:], self.variant.size
        numbers = np.column_stack([answer[name] for name in ("proof", "disproof", "plies", "nodes")])
        numbers = numbers[: len(answer) if kind == TASK else 1]
        least = np.where(numbers[:, :1] == 0, (0, 1, 0, 0), (1, 0, -1, 0))
        if (numbers < least).any() or (numbers > (INFINITE, INFINITE, LONGEST, 1 << 60)).any():
            return False
        settled, codes = 0 in numbers[0, :2], below["nodes"]
        if kind == LEAF:
            fits = settled and (codes >> 14 == 0).all() and np.max(cells_of_code(codes, size), initial=0) < size**2
        else:
            fits = kind == TASK and settled != bool(len(below))
        if fits and (kind == TASK or self.holds):
            fits = own.tobytes() in self.tree.nodes
        if fits and not settled:
            fits = np.array_equal(below["words"], below_of(self.engine, own))
        return bool(fits and (below["kind"] == kind + 1).all())

    def _apply(self, rows: NDArray[Any]) -> None:
        """Add answers to the tree and to the leaves' strategies."""
        for answer in _answers_in(rows):
            if answer["kind"][0] == TASK:
                self.tree.take(answer)
                continue
            columns = answer["words"][1:].copy(), answer["plies"][1:].copy(), answer["nodes"][1:].astype(np.int32)
            self._strategies[answer["words"][0].tobytes()] = PackedStrategy(self.engine, *columns)
            if self.holds:
                # If a task finds a set of positions that the side never has to leave, the answer both settles the leaf
                # and contains the strategy.
                self.tree.take(answer[:1])

    def add(self, rows: Rows) -> None:
        """Add answers, and save them with the next part."""
        self._apply(rows)
        self._fresh.append(rows)

    def _take(self, rows: Rows) -> None:
        """Add an answer, and report the state of the search."""
        self.add(rows)
        root, count = self.tree.root, len(self.tree.nodes)
        self.observer.advance()
        self.observer.note(f"proof {root.proof:,}, disproof {root.disproof:,}, {count:,} positions")
        if wall_clock() - self._kept_at > _KEPT_EVERY:
            self._keep()

    def _keep(self) -> None:
        """Save the answers that have arrived since the last part."""
        self._kept_at = wall_clock()
        if self._files is not None and self._fresh:
            self._files.write(self._fresh)
        self._fresh = []

    def _prove(self, scheduler: Scheduler, store: Path | None, work: Work) -> None:
        """Join the tree's moves and its leaves' strategies, and write the certificate."""
        root = self.tree.root
        if root.plies > self._most:
            takes = f"has a proved win in {root.plies} plies, but only {self._most} are allowed"
            raise InputError(takes, subject=f"position '{self.position}'")
        left = self._unread()
        again = self.task._replace(nodes=1 << 60) if self.holds else self.task
        waiting = (again._replace(words=leaf.words, plies=max(0, leaf.plies)) for leaf in left)
        self.observer.begin("strategies of leaves", len(left))
        try:
            scheduler.feed(work, lambda: next(waiting, None), self._take)
        except NotWonError as error:
            raise self._wrong(str(error)) from error
        side = self.prover ^ self.holds
        self.whole, leaves_in = needed(self._joint(), side, self.board, self.prober)
        # Include the tables for all material that captures can produce.
        tiers = [] if self.prober is None else self.prober.store.tiers()
        below = [(a, d) for a, d in tiers if any(a <= most_a and d <= most_d for most_a, most_d in leaves_in)]
        self.tables = {f"{a}v{d}": self.tables[f"{a}v{d}"] for a, d in below}
        plies = None if self.holds else root.plies
        proof = certificate_of(self.engine, side, self.board, plies, self.whole, tables=self.tables)
        if len(self.whole) <= _CHECKED:
            self._check(proof)
        if store is not None:
            self.certificate = store / "certificate.jsonl.gz"
            if not self.certificate.is_dir():
                # It may be damaged, and opening a pipe for writing would wait for a reader.
                self.certificate.unlink(missing_ok=True)
            proof.write(self.certificate)

    def _exact(self, plies: int) -> int | None:
        """Return the number of plies to the win if a search excludes every shorter win, and otherwise None."""
        budget, memory = ProofBudget(ProofLimits(nodes=_EXACT)), min(self.task.memory, _EXACT_MEMORY)
        search = WinSearch(self.engine, self.prover, memory, budget, self.prober)
        return plies if search.within(self.board, plies - 1) is False else None

    def _wrong(self, fault: str) -> Exception:
        """Return the error for answers that contradict the rules.

        Without a store, such answers show that the program has a defect.
        """
        return AssertionError(fault) if self._files is None else self._files.wrong(fault)

    def _check(self, proof: ProofCertificate) -> None:
        """Check a certificate with the plain rules."""
        try:
            found = StrategyCheck(self.variant, proof, most_plies=0, tablebase=self.prober).run()
        except InputError as error:
            raise self._wrong(str(error)) from error
        if found.failures:
            raise self._wrong(found.failures[0])
        self.checked = True

    def _check_refuted(self) -> None:
        """Try to prove the opposite claim with a short search, and confirm the proof with the plain rules."""
        side: SideName = "black" if self.prover else "white"
        other: SideName = "white" if self.prover else "black"
        claims = [side] if self.holds else [other, f"not-{side}"]
        self.checked = any(map(self._attempt, claims[: 1 + self.variant.rules.repetition.spares(other)]))
        if not self.checked and self._attempt(self.claim):
            raise self._wrong(f"its answers refute {self.claim}, which has been proved")

    def _attempt(self, claim: Any) -> bool:
        """Return whether a short search without the store proves a claim and the plain rules confirm the proof."""
        memory, tablebase = min(self.task.memory, _EXACT_MEMORY), self.task.tablebase
        about = self.variant, self.position, claim
        run = ProofRun(*about, observer=Observer(), tablebase=tablebase, nodes=_REFUTING, memory=memory)
        run._take(run_task(run.task._replace(words=run.tree.root.words)))
        if run._numbers(run.tree.root)[0] == 0 and run.tree.root.plies <= run._most:
            run._prove(LocalScheduler(1), None, run_task)
        return run.checked

    def _unread(self) -> list[Node]:
        """Return the leaves of the proof whose strategies have yet to be extracted."""
        _, leaves = self.tree.strategy(holds=self.holds)
        # No strategy is needed for a position without a legal move, or for a win in one ply.
        return [one for one in leaves if (self.holds or one.plies > 1) and one.words not in self._strategies]

    def _joint(self) -> PackedStrategy:
        """Join the tree's own moves with the strategies of all leaves, because one strategy may depend on another."""
        return joined(self.engine, [self.own_moves(self.tree.strategy(holds=self.holds)[0]), *self.strategies])

    def own_moves(self, moves: list[tuple[Node, Node]]) -> PackedStrategy:
        """Return the moves from the tree's own nodes to the chosen children, as a strategy."""
        rows = np.zeros(len(moves), dtype=self._type)
        goals = rows["words"].copy()
        for at, (node, goal) in enumerate(moves):
            rows["words"][at], rows["plies"][at] = np.frombuffer(node.words, dtype=np.uint64), max(0, node.plies)
            goals[at] = np.frombuffer(goal.words, dtype=np.uint64)
        words = rows["words"].copy()
        children = self.engine.expand(words)
        images, _ = self.engine.canonical(children.words, self.variant.symmetries)
        fits = (children.outcomes == 0) & (position_keys(images) == position_keys(goals)[children.parents])
        _, first = np.unique(children.parents[fits], return_index=True)
        return PackedStrategy(self.engine, words, rows["plies"].copy(), children.moves[fits][first])

    # -- the result --------------------------------------------------------------------

    def result(self) -> Proving:
        """Return the result so far."""
        proof, disproof = self._numbers(self.tree.root)
        repeats = (
            f"play that follows the strategy {'may repeat positions' if self.holds else 'never repeats a position'}"
        )
        within = self.tree.root.plies if proof == 0 and not self.holds else None
        return Proving(
            variant=self.variant.name,
            position=str(self.position),
            claim=self.claim,
            status=self._status(proof, disproof),
            checked=self.checked,
            proof=_finite(proof),
            disproof=_finite(disproof),
            within=within,
            dtm=self.dtm,
            repetition=f"it holds whatever effect a repetition has in a game of {self.variant.name}: {repeats}",
            nodes=self.tree.made,
            tasks=self.tree.tasks,
            positions=len(self.tree.nodes),
            certificate=None if self.certificate is None else str(self.certificate),
            strategy=None if self.whole is None else len(self.whole),
            tables=list(self.tables),
            first_moves=list(self._first_moves()),
        )

    def _numbers(self, node: Node) -> tuple[int, int]:
        """Return a node's numbers with respect to the claim: the proof number and the disproof number."""
        return (node.disproof, node.proof) if self.holds else (node.proof, node.disproof)

    def _status(self, proof: int, disproof: int) -> Status:
        # If a repetition can decide the game, a draw according to a table does not settle the position.
        refuted = disproof == 0 and (self.holds or self.variant.rules.repetition.draws or not self.tables)
        return "proved" if proof == 0 else "refuted" if refuted else "open"

    def _first_moves(self) -> Iterator[FirstMove]:
        root = self.tree.root
        follows = root.mine == self.holds
        # A proved claim is true after every move by the other side. A refuted claim is false after every move by the
        # claim's side.
        same = "proved" if follows else "refuted"
        sure = self.checked and self._status(*self._numbers(root)) == same
        children = self.engine.expand(self.engine.words(self.board))
        images, _ = self.engine.canonical(children.words, self.variant.symmetries)
        for words, code, outcome in zip(images, children.moves.tolist(), children.outcomes.tolist(), strict=True):
            node, ended = self.tree.nodes.get(words.tobytes(), Node(b"", mine=False)), OUTCOMES[outcome]
            proof, disproof = self._numbers(node)
            if ended is not None or (self._numbers(root)[0] == 0 and follows):
                won = ended is None or ended.winner == self.winner
                proof, disproof = (0, INFINITE) if won else (INFINITE, 0)
            move, status = str(Move.from_code(code, self.variant.size)), self._status(proof, disproof)
            checked = status != "open" and (ended is not None or (sure and status == same))
            yield FirstMove(move=move, proof=_finite(proof), disproof=_finite(disproof), status=status, checked=checked)


class DrawRun:
    """A search for a proof of a draw, that is, a proof that neither side wins."""

    def __init__(self, variant: Variant, position: Position, claim: Claim, **options: Any) -> None:
        halves: tuple[Claim, ...] = ("not-white", "not-black")
        self._halves = [ProofRun(variant, position, half, **options) for half in halves]
        self.claim = claim

    def run(self, scheduler: Scheduler, store: Path | None = None, hours: float | None = None) -> None:
        """Search for one half of the proof, then for the other half in the remaining time.

        Each half has its own folder in the store.
        """
        end = None if hours is None else wall_clock() + 3600 * hours
        with ExitStack() as stack:
            if store is not None:
                about = self._halves[0].about.model_copy(update={"claim": self.claim})
                stack.enter_context(claimed(store, KIND, about, other=about.other))
            for half in self._halves:
                left = None if end is None else max(0.0, end - wall_clock()) / 3600
                half.run(scheduler, None if store is None else child(store, half.claim, KIND.name), left)
                if half.result().status == "refuted":
                    break

    def result(self) -> Proving:
        """Return the result so far. A proof needs both halves, but a refutation needs only one half."""
        halves = [half.result() for half in self._halves]
        moves = [
            FirstMove(move=first[0].move, **_both(first))
            for first in zip(*(one.first_moves for one in halves), strict=True)
        ]
        made = {name: sum(getattr(one, name) for one in halves) for name in ("nodes", "tasks", "positions")}
        tables = sorted({table for one in halves for table in one.tables})
        more = {**_both(halves), **made, "tables": tables, "first_moves": moves, "halves": halves}
        return halves[0].model_copy(update={"claim": self.claim, "certificate": None, "strategy": None, **more})


def _both(ones: Sequence[Proving | FirstMove]) -> dict[str, Any]:
    """Combine the numbers and statuses of two results. The combination is proved only if both are proved."""
    proofs, disproofs = [one.proof for one in ones], [one.disproof for one in ones if one.disproof is not None]
    states = {one.status for one in ones}
    status = "refuted" if "refuted" in states else "open" if "open" in states else "proved"
    checked = (any if status == "refuted" else all)(one.checked for one in ones if one.status == status)
    proof = None if None in proofs else sum(filter(None, proofs))
    return {"proof": proof, "disproof": min(disproofs, default=None), "status": status, "checked": checked}


def _finite(number: int) -> int | None:
    """Return a number for output, or None if it is infinite."""
    return None if number >= INFINITE else number
