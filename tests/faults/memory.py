"""Random rule sets under guard pages: every command that runs compiled code, and what it says compared with plain code.

A rule set is a file; each command about it runs in a fork whose arrays are guarded
(`tests.faults.guards`). So an access out of bounds ends a command by a signal. Where few
positions are reached, answers are compared with those of the plain solver and of the plain
rules as well.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import deque
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

from tests.faults import guards, running
from tests.faults.rule_sets import crowded_rule_set
from tests.faults.running import here
from tests.faults.verdict import Trial, Verdict, crash, one_line, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tablut.rules.naive import NaivePosition
    from tablut.variants import Variant
    from tests.faults.running import Run
    from tests.twins.solver import PlainSolution


_RULES: Final = """
castle = { pass = "king", stop = "king", hostile_to_white = "always", hostile_to_black = "empty" }
camps = { hostile = false, shelter = false }
corners = { hostile = false }
king = { armed = true, on_castle = "four", beside_castle = "as_on_castle", elsewhere = "two" }
"""
_HEAD: Final = 'first = "white"\nno_moves = "side_to_move_loses"\nrepetition = "draw"\n'
CLASSICS: Final = (
    # More attackers than cells are left: there are more choices of four of them than of five, and more than five.
    'terrain = """\n+**\n*T.\n*.D\n"""\nstart = """\n.bb\nbKw\nbwb\n"""\n' + _HEAD + _RULES,
    # No escape, and a castle in the corner.
    'terrain = """\n..T\n...\n...\n"""\nstart = """\n..K\nb..\n.bw\n"""\n' + _HEAD + _RULES,
)
"""Rule sets that each did harm once."""

FILE: Final = "own.toml"
_PLACES: Final = 20_000
"""Placements of a game that is solved, or of the tiers that are built."""
_PLAIN: Final = 1_000
"""Positions that the plain solver is given."""
_LIMIT: Final = 600.0
"""Seconds for a command: a few, and more where it is the first to compile kernels of boards over 11×11."""
_PLAYERS: Final = {
    "alphabeta": ["--nodes", "300", "--hash", "1"],
    "heuristic": ["--nodes", "1"],
    "greedy": ["--nodes", "1"],
    "mcts": ["--playouts", "20"],
    "mcts-expanded": ["--playouts", "20"],
    "mcts-improved": ["--playouts", "20"],
    "mcts-heuristic": ["--playouts", "20"],
    "payoff": ["--depth", "2"],
    "minimax3": ["--nodes", "300"],
}


class Question(NamedTuple):
    """A command about a rule set.

    Attributes
    ----------
    args : list of str
        The command line.
    wrong : callable, optional
        Given the JSON object that it printed, returns in what that is wrong, or "".
    around : callable, optional
        Returns what is entered before the command and left after it.
    """

    args: list[str]
    wrong: Callable[[dict[str, Any]], str] = lambda _: ""
    around: Callable[[], AbstractContextManager[object]] = nullcontext


class Game:
    """A rule set, and what plain code says of it."""

    def __init__(self, variant: Variant, rng: random.Random) -> None:
        from tablut.rules.naive import NaiveGame
        from tests.support.strategies import random_play

        self.variant, self.naive = variant, NaiveGame(variant)
        line = random_play(variant, rng, rng.randrange(12))
        self.played = [self.naive.write(position) for position in line]
        self.moves = [self._move_between(*pair) for pair in pairwise(line)]

    def _move_between(self, one: NaivePosition, other: NaivePosition) -> str:
        moves = self.naive.legal_moves(one)
        return next(self.naive.move_name(move) for move in moves if self.naive.apply(one, move).position == other)

    @cached_property
    def reached(self) -> int | None:
        """Number of positions that the start reaches, None if that is more than `_PLAIN`."""
        start = self.naive.start()
        seen, queue = {self.naive.write(start)}, deque([start])
        while queue:
            position = queue.popleft()
            for move in self.naive.legal_moves(position):
                result = self.naive.apply(position, move)
                if result.outcome is None and (text := self.naive.write(result.position)) not in seen:
                    seen.add(text)
                    queue.append(result.position)
            if len(seen) > _PLAIN:
                return None
        return len(seen)

    @cached_property
    def plain(self) -> PlainSolution | None:
        """The values of the positions reached."""
        from tests.twins.solver import plain_solution

        return plain_solution(self.variant) if self.reached else None

    def men(self) -> int:
        """Return with how many men all tiers together have at most `_PLACES` placements."""
        from retrograde.solver.tiers import tier_graph

        men = 2
        while men <= 1 + self.variant.attackers + self.variant.defenders:
            nodes = tier_graph(self.variant, men + 1).nodes
            if sum(nodes[tier]["positions"] for tier in nodes) > _PLACES:
                break
            men += 1
        return men

    def placed(self, rng: random.Random, men: int) -> list[str]:
        """Return up to two placements of at most so many men that the bound counts."""
        from tests.support.strategies import placement

        regions, size, found = self.variant.regions, self.variant.size, []
        for _ in range(40):
            position = placement(self.variant, rng, soldiers=rng.randrange(1, men))
            cells = {rank * size + file: piece for (file, rank), piece in position.pieces.items()}
            attackers, defenders = (sum(piece == kind for piece in cells.values()) for kind in "bw")
            if (
                1 <= attackers <= self.variant.attackers
                and defenders <= self.variant.defenders
                and any(cells.get(cell) == "K" for cell in regions.king_cells)
                and all(sum(cells.get(cell) == "b" for cell in camp.cells) <= camp.garrison for camp in regions.camps)
            ):
                found.append(self.naive.write(position))
        return found[:2]

    # -- what answers must be ----------------------------------------------------------

    def value(self, text: str, answer: dict[str, Any]) -> str:
        """Return in what a verdict on a position differs from the plain one."""
        if self.plain is None or text not in self.plain.plies or answer["wdl"] is None:
            return ""
        value = self.plain.value(text)
        wanted = ("win", value) if value > 0 else ("loss", -value - 1) if value < 0 else (None, None)
        found = (answer["wdl"], answer["dtm"])
        return "" if found == wanted or (not value and found[0] in ("draw", "unresolved")) else f"{found}, not {wanted}"

    def counts(self, depth: int, answer: dict[str, Any]) -> str:
        """Return in what a perft differs from the plain one."""
        found, start = answer["perft"], self.naive.start()
        right = [self.naive.perft(start, number) for number in range(1, min(depth, 2) + 1)]
        return "" if found[: len(right)] == right else f"{found}, not {right}"


def questions(game: Game, rng: random.Random, *, every: bool = False) -> list[Question]:
    """Return what is asked about a rule set, in this order; the longer ones are drawn unless all are wanted."""

    def drawn(share: float) -> bool:
        return every or rng.random() < share

    own, men = ["-v", FILE, "--json"], game.men()
    whole, few = men > game.variant.attackers + game.variant.defenders, game.placed(rng, men)
    texts = [rng.choice(game.played), *few]
    depth, way = rng.choice([2, 3]), rng.choice([[], ["--applied"], ["--threads", "2"]])
    asked = [Question(["perft", *own, "-d", str(depth), *way], partial(game.counts, depth))]
    if whole:
        threads = ["--threads", rng.choice(["1", "2"])]
        asked.append(
            Question(["solve", *own, *threads], lambda answer: game.value(game.variant.start_position, answer["start"]))
        )
    for name, share, most, change in (("table", 1.0, 6, nullcontext), ("sliced", 0.3, 4, _in_slices)):
        if drawn(share):
            build = ["tablebase", "build", *own, "--men", str(min(men, most)), "--store", name]
            asked.append(Question(build, around=change))
            asked.append(Question(["tablebase", "verify", name, "--sample", "3", "--json"]))
            asked += [Question(["probe", name, "--json", "-p", place], partial(game.value, place)) for place in few]
    plies = ["--all"] if whole and game.reached else ["--plies", rng.choice(["2", "3"])]
    plies += rng.choice([[], ["--full"], ["--passes", "2"] if "--plies" in plies else []])
    asked.append(Question(["census", *own, *plies, "--store", "count"], partial(_census, game)))
    if drawn(0.3):
        asked.append(Question(["census", "count", *own, "--plies", "2", "--passes", "3"]))
    if drawn(0.5):
        asked.append(Question(["census", "verify", "count", "-v", FILE, "--parents", "--json"]))
    search = ["--nodes", "2000", "--positions", "300", "--memory", "2"]
    ways = rng.sample([[], ["--tablebase", "table"], ["--save-proof", "p.jsonl"]], 3)
    names = list(_PLAYERS) if every else rng.sample(list(_PLAYERS), 2)
    for place, more in zip(texts, ways, strict=False):
        asked.append(Question(["puzzle", "solve", *own, "-p", place, *search, *more], partial(game.value, place)))
        asked += [Question(["bestmove", *own, "-p", place, "--player", name, *_PLAYERS[name]]) for name in names]
    table = rng.choice([["--threads", "2"], ["--tablebase", "table"]])
    played = [word for move in game.moves for word in ("-m", move)]
    asked.append(Question(["bestmove", *own, *_PLAYERS["alphabeta"], *table, *played]))
    if drawn(0.1):
        asked.append(Question(["symmetry", "verify", *own, "--samples", "10", "--most", "200"]))
    if drawn(0.1):
        for space in ("undecided", "decided"):
            few_samples = ["--samples", "3", "--check", "1", "--space", space]
            asked.append(Question(["reachable", "estimate", *own, *few_samples]))
    return asked


def _census(game: Game, answer: dict[str, Any]) -> str:
    found = answer["total"]
    complete = answer["complete"] and not answer["stopped_by_limit"]
    return f"{found} positions, not {game.reached}" if complete and game.reached not in (None, found) else ""


@contextmanager
def _in_slices() -> Iterator[None]:
    """Have every tier with defenders built in slices, as if it were too large for the memory."""
    from retrograde.solver import build
    from retrograde.solver.slices import building
    from retrograde.solver.slices.plan import even_cuts

    with (
        patch.object(build, "_is_too_large", lambda _variant, material, _memory: material[1] > 0),
        patch.object(building, "cut_tier", lambda tier, _memory, _workers=1: even_cuts(tier, min(tier.rows, 3))),
    ):
        yield


# -- trials --------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """Have this process load what the commands run, once it can guard what they allocate."""
    guards.check()
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random("memory")
    game = _game(folder, crowded_rule_set(rng, "own"), rng)
    for question in questions(game, rng, every=True):
        with question.around():
            here(question.args, folder)


def _game(folder: Path, text: str, rng: random.Random) -> Game:
    from tablut.variants import load_variant

    (folder / FILE).write_text(text, encoding="utf-8")
    return Game(load_variant(str(folder / FILE)), rng)


def under_guard(run_seed: int, number: int) -> list[Trial]:
    """Ask everything about a rule set, first about those that each did harm once; return a trial for each command."""
    seed, every = f"{run_seed}.{number}", number < len(CLASSICS)
    rng = random.Random(f"memory {seed}")
    text = CLASSICS[number] if every else crowded_rule_set(rng, "own")
    before = rng.random() < 0.2
    found: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as top:
        folder = Path(top).resolve() / "run"
        folder.mkdir()
        game = _game(folder, text, rng)
        asked = questions(game, rng, every=every)
        for question in asked:
            with question.around():
                run = running.run(question.args, folder, limit=_LIMIT, prepare=partial(guards.guard, before=before))
            verdict, detail = _judged(question, run)
            kind = "guarded before" if before else "guarded after"
            what = f"tablut {' '.join(question.args)}; {text!r}"
            found.append(Trial("memory", _name(question.args), kind, seed, what, verdict, detail, run.seconds))
    return found


def _name(args: Sequence[str]) -> str:
    """Return the command without what it is given."""
    return " ".join(takewhile(str.isalpha, args[: 1 if args[0] == "probe" else 2]))


def _judged(question: Question, run: Run) -> tuple[Verdict, str]:
    if (bad := crash(run)) is not None:
        return bad, tail(run)
    if run.code in (2, 74):
        return (Verdict.NAMED if one_line(run) else Verdict.UNNAMED), tail(run)
    # Of a puzzle, 3 says that it is not solved.
    if run.code not in (0, 3):
        return Verdict.WRONG, f"exit {run.code}: {run.out[:200]} {tail(run)}"
    wrong = question.wrong(json.loads(run.out))
    return (Verdict.WRONG, wrong) if wrong else (Verdict.RIGHT, "")
