"""`tablut prove`: a claim about a position proved or refuted by a search that can be stopped and shared out.

Tasks are searches of a leaf of the tree (`retrograde.proofs.tree`), bounded by a number of
moves; what they answer is kept in the store before anything else is made of it, some
at a time. A run that was killed loses the tasks since the last part, which are done
again. When the root is proved, further tasks read out the strategies of the leaves that the
proof rests on; they are kept too, and joined with the tree's own moves to the certificate.

A win that is proved here holds whatever the rules say of repetitions: no play by its
strategy meets a position twice.

That a side never loses is the disproof of the other side's win, in the same tree: its tasks also
look for a set of positions which that side need not leave (`retrograde.proofs.holding`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from pydantic import Field

from retrograde.proofs.certificate import PackedStrategy, certificate_of, joined, needed, strategy_of, text_of
from retrograde.proofs.checker import StrategyCheck
from retrograde.proofs.holding import HoldingSearch
from retrograde.proofs.proof_numbers import MOST_PLIES
from retrograde.proofs.solution import NotWonError, ProofLimits, keys_of
from retrograde.proofs.solver import is_lost_at_once
from retrograde.proofs.table import INFINITE, LONGEST
from retrograde.proofs.tree import CHILD, ENTRY, KIND, LEAF, TASK, Node, ProofTree, SearchRecord, TreeStore, row_type
from retrograde.proofs.win_search import ProofBudget, WinSearch
from retrograde.tablebase.probing import prober_for
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.position import Move, Position, SideName, cells_of_code
from tablut.results import Result
from tablut.rules.outcome import OUTCOMES
from tablut.running.clocks import wall_clock
from tablut.running.progress import Observer
from tablut.running.scheduling import LocalScheduler
from tablut.store.files import child
from tablut.store.folders import claim as claimed

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from retrograde.proofs.certificate import ProofCertificate
    from tablut.engine import Engine
    from tablut.running.scheduling import Scheduler
    from tablut.variants import Variant

Claim = Literal["white", "black", "not-white", "not-black", "draw"]
Status = Literal["proved", "refuted", "open"]
_KEPT_EVERY: Final = 20.0
"""Seconds between two parts."""
_SHARE: Final = 32
_LOOK: Final = 1_000_000
"""A child is looked at with this part of its parent's moves, and with so many at most."""
_EXACT: Final = 10_000_000
_EXACT_MEMORY: Final = 64 << 20
"""Moves in which a shorter win is looked for, and bytes of the table for it."""
_CHECKED: Final = 10_000
"""Most positions of a strategy that is always checked by the plain rules, which takes seconds."""
_REFUTING: Final = 3_000_000
"""Moves in which what refutes a claim is searched once more, to be checked by the plain rules."""
_MOST: Final = 40_000_000
"""Most positions of the strategy of one leaf."""
_MOST_HELD: Final = 4_000_000
"""Most positions of a set that need not be left; it is searched for, and takes more memory than what is read out."""


class FirstMove(Result):
    """A first move: the numbers of the position after it, and what that means for the claim.

    The status is ``checked`` if it follows from the rules, or from a claim that is.
    """

    move: str
    proof: int | None
    disproof: int | None
    status: Status
    checked: bool


class Proving(Result):
    """What became of a claim; ``within`` bounds the plies of a win that is proved, ``dtm`` is exact or null.

    The status is ``checked`` if the plain rules have confirmed it (`retrograde.proofs.checker`). Otherwise it rests on
    the search and on what the store has kept, and so does the status of each first move.

    A draw has two ``halves``, that white does not win and that black does not, each with a certificate.
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
    """Return rows answer by answer."""
    return np.split(rows, np.flatnonzero(np.isin(rows["kind"], (TASK, LEAF)))[1:])


class Task(NamedTuple):
    """A leaf to be searched, or, if ``plies`` is not 0, the strategy of its proof to be read out.

    With ``holds`` the strategy is wanted by which the prover does not win.
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


Work = Callable[[Task], dict[str, Any]]
_of_thread = threading.local()


def search_of(task: Task) -> WinSearch:
    """Return this thread's search for a side, with what it has proved before."""
    about = (task.variant.digest, *task[1:6])
    if getattr(_of_thread, "about", None) != about:
        prober = None if task.tablebase is None else prober_for(task.variant, task.tablebase)
        budget = ProofBudget(ProofLimits())
        _of_thread.search = WinSearch(engine_for(task.variant), task.prover, task.memory, budget, prober, task.threads)
        _of_thread.about = about
    search: WinSearch = _of_thread.search
    return search


def run_task(task: Task, known: Sequence[PackedStrategy] = ()) -> dict[str, Any]:
    """Search a leaf and, if it stays open, look at its children; or read out what is not known of a leaf's strategy."""
    search, engine = search_of(task), engine_for(task.variant)
    own = np.frombuffer(task.words, dtype=np.uint64)[None]
    board = engine.boards(own)[0]
    if task.plies:
        # What is proved is found again, however long it takes with another table.
        search.budget = ProofBudget(ProofLimits(nodes=1 << 60))
        found = strategy_of(search, board, task.plies, _MOST, known)
        return _entries(own, found, (0, INFINITE, task.plies, 0))
    holding = HoldingSearch(search)
    if task.holds:
        held = holding.run(own, ProofLimits(nodes=task.nodes, positions=_MOST_HELD))
        if held is not None:
            return _entries(own, held, (INFINITE, 0, -1, holding.made))
    proof, disproof, plies, made = settled(search, board, task.nodes)
    numbers = [(proof, disproof, plies, made + holding.made)]
    if 0 not in numbers[0][:2]:
        below = below_of(engine, own)
        own = np.concatenate([own, below])
        numbers += [settled(search, one, max(1, min(task.nodes // _SHARE, _LOOK))) for one in engine.boards(below)]
    return _answer(TASK, CHILD, own, numbers)


def below_of(engine: Engine, own: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the undecided positions, up to symmetry, that the moves from a position lead to."""
    children = engine.expand(own)
    images, _ = engine.canonical(children.words[children.outcomes == 0], engine.variant.symmetries)
    return np.unique(images, axis=0)


def _answer(first: int, rest: int, words: NDArray[np.uint64], numbers: ArrayLike) -> dict[str, Any]:
    """Return what a task says as rows; the numbers are of shape (n, 4)."""
    rows = np.zeros(len(words), dtype=row_type(words.shape[1]))
    rows["words"], rows["kind"] = words, rest
    rows["kind"][0] = first
    for name, column in zip(("proof", "disproof", "plies", "nodes"), np.asarray(numbers).T, strict=True):
        rows[name] = column
    return {"rows": rows}


def _entries(own: NDArray[np.uint64], strategy: PackedStrategy, numbers: tuple[int, ...]) -> dict[str, Any]:
    """Return the strategy from a position that is settled as rows."""
    none = np.zeros(len(strategy), dtype=np.int64)
    columns = np.column_stack([none, none, strategy.plies, strategy.moves])
    return _answer(LEAF, ENTRY, np.concatenate([own, strategy.words]), np.concatenate([[numbers], columns]))


def proved_task(task: Task, made: int, known: Sequence[PackedStrategy]) -> dict[str, Any]:
    """Return the answer to a task whose leaf is proved by what this thread found before, with so many moves.

    With it is its strategy, where the known ones have none.
    """
    search, engine = search_of(task), engine_for(task.variant)
    own = np.frombuffer(task.words, dtype=np.uint64)[None]
    board = engine.boards(own)[0]
    numbers = (*settled(search, board, 1 << 60)[:3], made)
    strategy = strategy_of(search, board, numbers[2], _MOST, known)
    answers = _answer(TASK, CHILD, own, [numbers]), _entries(own, strategy, numbers)
    return {"rows": np.concatenate([answer["rows"] for answer in answers])}


def settled(search: WinSearch, board: NDArray[Any], nodes: int) -> tuple[int, int, int, int]:
    """Return proof number, disproof number, plies (-1 unless proved) and moves made, of a bounded search."""
    search.budget = ProofBudget(ProofLimits(nodes=nodes))
    answer = search.wins(board)
    proof, disproof = (search.pn, search.dn) if answer is None else (0, INFINITE) if answer else (INFINITE, 0)
    return proof, disproof, search.distance if answer else -1, search.budget.nodes


# -- the run ---------------------------------------------------------------------------------


class ProofRun:
    """The search for a win of one side from a position, or for what keeps it from winning."""

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
            why = f"a repetition can decide {loses} a game of {variant.name}"
            raise InputError(why, parameter="claim", remedy="claim a win")
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
        """Search until the claim is settled or the hours are over; write the certificate of what is proved."""
        end = None if hours is None else wall_clock() + 3600 * hours
        with ExitStack() as stack:
            if store is not None:
                stack.enter_context(claimed(store, KIND, self.about, other=self.about.other))
                self._files = TreeStore(store, self.about, self._type)
                self._read(self._files)
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

    def adopt(self, others: Iterable[ProofRun]) -> None:
        """Take proofs of positions one ply on, of the same claim under the same rules, for tasks of this run."""
        own = np.frombuffer(self.tree.root.words, dtype=np.uint64)[None]
        children, proved = self.engine.expand(own), {other.tree.root.words: other for other in others}
        ends = [OUTCOMES[code] for code in children.outcomes.tolist()]
        if self.tree.root.mine == self.holds and any(one and one.winner != self.winner for one in ends):
            return  # an answer that ends the game otherwise has no proof, and needs none of the others
        below = below_of(self.engine, own)
        numbers, strategies = [(1, 1, -1, 0)] * (1 + len(below)), []
        for at, words in enumerate(map(bytes, below), 1):
            if (other := proved.get(words)) is not None:
                root = other.tree.root
                numbers[at] = root.proof, root.disproof, root.plies, other.tree.made
                if other.whole is not None:
                    strategies.append(_entries(below[at - 1 : at], other.whole, numbers[at])["rows"])
        rows = _answer(TASK, CHILD, np.concatenate([own, below]), numbers)["rows"]
        self._fresh.append(np.concatenate([rows, *strategies]))
        self._apply(self._fresh[-1])

    @property
    def strategies(self) -> list[PackedStrategy]:
        """The strategies of leaves, in the order in which they came; all are kept together."""
        return list(self._strategies.values())

    def load(self, store: Path) -> None:
        """Take what a store of this run has, and the strategy of what it proves if it has all of that."""
        self._read(TreeStore(store, self.about, self._type))
        if self._numbers(self.tree.root)[0] == 0 and not self._unread():
            self.whole = self._joint()

    def _read(self, files: TreeStore) -> None:
        """Take what a store has; it may have been damaged, or edited and sealed again."""
        for rows in files.answers():
            for answer in _answers_in(rows):
                if not self._may_be(answer):
                    raise files.wrong("an answer in one of its parts is not one that a task gives")
                self._apply(answer)

    def _may_be(self, answer: NDArray[Any]) -> bool:
        """Return whether a task can give an answer; whether it is true is another question."""
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
        """Make of answers what the tree makes of them."""
        for answer in _answers_in(rows):
            if answer["kind"][0] == TASK:
                self.tree.take(answer)
                continue
            columns = answer["words"][1:].copy(), answer["plies"][1:].copy(), answer["nodes"][1:].astype(np.int32)
            self._strategies[answer["words"][0].tobytes()] = PackedStrategy(self.engine, *columns)
            if self.holds:
                # What holds is found with its strategy.
                self.tree.take(answer[:1])

    def _take(self, answer: dict[str, Any]) -> None:
        """Take an answer, and keep it before long."""
        self._apply(answer["rows"])
        self._fresh.append(answer["rows"])
        root, count = self.tree.root, len(self.tree.nodes)
        self.observer.advance()
        self.observer.note(f"proof {root.proof:,}, disproof {root.disproof:,}, {count:,} positions")
        if wall_clock() - self._kept_at > _KEPT_EVERY:
            self._keep()

    def _keep(self) -> None:
        """Write what was answered since the last part."""
        self._kept_at = wall_clock()
        if self._files is not None and self._fresh:
            self._files.write(self._fresh)
        self._fresh = []

    def _prove(self, scheduler: Scheduler, store: Path | None, work: Work) -> None:
        """Join the tree's moves and the strategies of its leaves to the certificate."""
        root = self.tree.root
        if root.plies > self._most:
            takes = f"the win that was found takes {root.plies} plies, and {self._most} are allowed"
            raise InputError(f"position '{self.position}': {takes}")
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
        # With the tables that captures lead to.
        tiers = [] if self.prober is None else self.prober.store.tiers()
        below = [(a, d) for a, d in tiers if any(a <= most_a and d <= most_d for most_a, most_d in leaves_in)]
        self.tables = {f"{a}v{d}": self.tables[f"{a}v{d}"] for a, d in below}
        plies = None if self.holds else root.plies
        proof = certificate_of(self.engine, side, self.board, plies, self.whole, tables=self.tables)
        if len(self.whole) <= _CHECKED:
            self._check(proof)
        if store is not None:
            self.certificate = store / "certificate.jsonl.gz"
            proof.write(self.certificate)

    def _exact(self, plies: int) -> int | None:
        """Return the plies of a win if a search excludes a shorter one."""
        budget, memory = ProofBudget(ProofLimits(nodes=_EXACT)), min(self.task.memory, _EXACT_MEMORY)
        search = WinSearch(self.engine, self.prover, memory, budget, self.prober)
        return plies if search.within(self.board, plies - 1) is False else None

    def _wrong(self, fault: str) -> Exception:
        """Return the error for answers that contradict the rules: without a store, that is a defect of this program."""
        return AssertionError(fault) if self._files is None else self._files.wrong(fault)

    def _check(self, proof: ProofCertificate) -> None:
        """Check a certificate by the plain rules."""
        try:
            found = StrategyCheck(self.variant, proof, most_plies=0, tablebase=self.prober).run()
        except InputError as error:
            raise self._wrong(str(error)) from error
        if found.failures:
            raise self._wrong(found.failures[0])
        self.checked = True

    def _check_refuted(self) -> None:
        """Look for a proof of the opposite that is found soon, and that the plain rules confirm."""
        side: SideName = "black" if self.prover else "white"
        other: SideName = "white" if self.prover else "black"
        claims = [side] if self.holds else [other, f"not-{side}"]
        self.checked = any(map(self._attempt, claims[: 1 + self.variant.rules.repetition.spares(other)]))
        if not self.checked and self._attempt(self.claim):
            raise self._wrong(f"they refute {self.claim}, which is proved")

    def _attempt(self, claim: Any) -> bool:
        """Return whether a short search without the store proves a claim, and the plain rules confirm it."""
        memory, tablebase = min(self.task.memory, _EXACT_MEMORY), self.task.tablebase
        about = self.variant, self.position, claim
        run = ProofRun(*about, observer=Observer(), tablebase=tablebase, nodes=_REFUTING, memory=memory)
        run._take(run_task(run.task._replace(words=run.tree.root.words)))
        if run._numbers(run.tree.root)[0] == 0 and run.tree.root.plies <= run._most:
            run._prove(LocalScheduler(1), None, run_task)
        return run.checked

    def _unread(self) -> list[Node]:
        """Return the leaves of the proof whose strategies are still to be read out."""
        _, leaves = self.tree.strategy(holds=self.holds)
        # What is lost without a move, or won at once, needs no strategy.
        return [one for one in leaves if (self.holds or one.plies > 1) and one.words not in self._strategies]

    def _joint(self) -> PackedStrategy:
        """Return the tree's own moves with all strategies, since one may rest on others."""
        return joined(self.engine, [self.own_moves(self.tree.strategy(holds=self.holds)[0]), *self.strategies])

    def own_moves(self, moves: list[tuple[Node, Node]]) -> PackedStrategy:
        """Return the moves of the tree's own nodes."""
        rows = np.zeros(len(moves), dtype=self._type)
        goals = rows["words"].copy()
        for at, (node, goal) in enumerate(moves):
            rows["words"][at], rows["plies"][at] = np.frombuffer(node.words, dtype=np.uint64), max(0, node.plies)
            goals[at] = np.frombuffer(goal.words, dtype=np.uint64)
        words = rows["words"].copy()
        children = self.engine.expand(words)
        images, _ = self.engine.canonical(children.words, self.variant.symmetries)
        fits = (children.outcomes == 0) & (keys_of(images) == keys_of(goals)[children.parents])
        _, first = np.unique(children.parents[fits], return_index=True)
        return PackedStrategy(self.engine, words, rows["plies"].copy(), children.moves[fits][first])

    # -- the answer --------------------------------------------------------------------

    def result(self) -> Proving:
        """Return what is known."""
        proof, disproof = self._numbers(self.tree.root)
        repeats = "play by the strategy may do it" if self.holds else "no play by its strategy repeats a position"
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
            repetition=f"it holds whatever a repetition does in a game of {self.variant.name}: {repeats}",
            nodes=self.tree.made,
            tasks=self.tree.tasks,
            positions=len(self.tree.nodes),
            certificate=None if self.certificate is None else str(self.certificate),
            strategy=None if self.whole is None else len(self.whole),
            tables=list(self.tables),
            first_moves=list(self._first_moves()),
        )

    def _numbers(self, node: Node) -> tuple[int, int]:
        """Return proof and disproof number of the claim."""
        return (node.disproof, node.proof) if self.holds else (node.proof, node.disproof)

    def _status(self, proof: int, disproof: int) -> Status:
        # Where a repetition decides the game, what nobody can force is not settled by that.
        refuted = disproof == 0 and (self.holds or self.variant.rules.repetition.draws or not self.tables)
        return "proved" if proof == 0 else "refuted" if refuted else "open"

    def _first_moves(self) -> Iterator[FirstMove]:
        root = self.tree.root
        follows = root.mine == self.holds
        # What is proved holds after every move of the other side, and what is refuted fails after every own one.
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
    """The search for what keeps either side from winning."""

    def __init__(self, variant: Variant, position: Position, claim: Claim, **options: Any) -> None:
        halves: tuple[Claim, ...] = ("not-white", "not-black")
        self._halves = [ProofRun(variant, position, half, **options) for half in halves]
        self.claim = claim

    def run(self, scheduler: Scheduler, store: Path | None = None, hours: float | None = None) -> None:
        """Search for one half, then for the other in the hours that are left; each has a folder in the store."""
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
        """Return what is known: both halves are needed, and one refutes."""
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
    """Return the numbers and the status of what needs both."""
    proofs, disproofs = [one.proof for one in ones], [one.disproof for one in ones if one.disproof is not None]
    states = {one.status for one in ones}
    status = "refuted" if "refuted" in states else "open" if "open" in states else "proved"
    checked = (any if status == "refuted" else all)(one.checked for one in ones if one.status == status)
    proof = None if None in proofs else sum(filter(None, proofs))
    return {"proof": proof, "disproof": min(disproofs, default=None), "status": status, "checked": checked}


def _finite(number: int) -> int | None:
    """Return a number as it is told: none for infinity."""
    return None if number >= INFINITE else number
