"""Random rule sets under guard pages: an access of compiled code beside an array ends the command.

Each command about a rule set runs in a fork whose arrays lie beside pages that nobody may touch
(`tests.faults.guards`). What it answers is compared with the plain rules and the plain solver. The forks are made by a
process of their own (``python -m tests.faults.test_memory EXAMPLES SEED``), which guards arrays from its beginning.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tablut.errors import VariantError
from tablut.rules import NaiveGame
from tablut.variants.schema import parse_variant, write_variant
from tests.support.strategies import placement, random_play, small_variants
from tests.twins.solver import plain_solution

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tablut.variants import Variant

ROOT = Path(__file__).resolve().parents[2]
PLACES = 20_000
"""Most placements of a game that is solved, or of the tiers that are built."""
PLAYERS = {
    "alphabeta": "--nodes 300 --hash 1", "heuristic": "--nodes 1", "greedy": "--nodes 1", "mcts": "--playouts 20",
    "mcts-expanded": "--playouts 20", "mcts-improved": "--playouts 20", "mcts-heuristic": "--playouts 20",
    "payoff": "--depth 2", "minimax3": "--nodes 300",
}  # fmt: skip
_RULES = """
castle = { pass = "king", stop = "king", hostile_to_white = "always", hostile_to_black = "empty" }
camps = { hostile = false, shelter = false }
corners = { hostile = false }
king = { armed = true, on_castle = "four", beside_castle = "as_on_castle", elsewhere = "two" }
"""
_HEAD = 'first = "white"\nno_moves = "side_to_move_loses"\nrepetition = "draw"\n'
CLASSICS = (
    # More attackers than cells are left: there are more choices of four of them than of five, and more than five.
    'terrain = """\n+**\n*T.\n*.D\n"""\nstart = """\n.bb\nbKw\nbwb\n"""\n' + _HEAD + _RULES,
    # No escape, and a castle in the corner.
    'terrain = """\n..T\n...\n...\n"""\nstart = """\n..K\nb..\n.bw\n"""\n' + _HEAD + _RULES,
)
"""Rule sets that each did harm once."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="guards are for Linux alone")


def guarded(script: str) -> str:
    """Run a script that guards its arrays in a process of its own, and return what it prints."""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_guards_are_where_arrays_are_made_and_end_a_process_beside_one() -> None:
    script = "from tests.faults import guards; guards.check(); print(len({place for _, place, _ in guards._exact()}))"
    assert guarded(script) == "6\n"


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True])
def test_a_search_with_patterns_and_a_net_stays_within_their_arrays(before: bool) -> None:
    script = f"""
from tests.faults import guards
guards.guard(before={before})
from tablut import Board
from tablut.play.search import Searcher, SearchLimits
for name in ("ashton", "brandubh"):
    print(Searcher(name, hash_mib=1).search(Board(name), SearchLimits(nodes=20_000)).nodes)
"""
    assert guarded(script) == "20000\n" * 2


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True])
def test_samples_of_large_boards_stay_within_their_arrays(before: bool) -> None:
    script = f"""
from tests.faults import guards
guards.guard(before={before})
from counting.reachable.drawing import drawer_for
from counting.reachable.tallies import count_lemmas
from tablut.variants import load_variant
from tests.counting.reachable.test_drawing import CROWDED
for variant in (load_variant("ashton"), load_variant("copenhagen"), load_variant("alea-evangelii"), CROWDED):
    drawer = drawer_for(variant)
    drawer.positions([0, 1, *(1 << bit for bit in range(drawer.size.bit_length() - 1)), drawer.size - 1])
    print(sum(count_lemmas(variant, 1, 0, 1001).lemmas))
"""
    assert guarded(script) == "1001\n" * 4


@pytest.mark.fuzz
def test_random_rule_sets_stay_within_their_arrays() -> None:
    number = Random().randrange(1 << 32)
    command = [sys.executable, "-m", "tests.faults.test_memory", "300", str(number)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"seed {number}: {ended.stdout[-3000:]}{ended.stderr[-5000:]}"


# -- in the process of its own ---------------------------------------------------------------


class Asked:
    """A rule set in a folder, and what plain code says about it."""

    def __init__(self, variant: Variant, folder: Path, random: Random) -> None:
        self.variant, self.folder, self.random = variant, folder, random
        self.naive, self.before = NaiveGame(variant), random.random() < 0.2
        (folder / "own.toml").write_text(write_variant(variant), encoding="utf-8")
        soldiers = 1 + variant.attackers + variant.defenders
        # Only of games with few placements all reached positions are known.
        self.plain = plain_solution(variant) if variant.size == 3 and soldiers < 6 else None

    def ask(self, line: str, place: str = "", *, sliced: bool = False) -> dict[str, Any]:
        """Run a command under guard pages in a fork, and return its JSON object; that of a refusal is empty."""
        from tablut.cli.shell import run
        from tests.faults import guards

        out, words = self.folder / "out", [*line.split(), *(["-p", place] if place else []), "--json"]
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.chdir(self.folder)
                sys.stdout = out.open("w", encoding="utf-8")
                guards.guard(before=self.before)
                with in_slices() if sliced else nullcontext():
                    code = run(words)
                sys.stdout.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 2, 3, 74), f"tablut {' '.join(words)}: exit {code}"
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if code in (0, 3) else {}
        return found

    def value(self, line: str, place: str) -> None:
        """Compare a verdict on a position with the plain solver's."""
        answer = self.ask(line, place)
        if answer and self.plain is not None and place in self.plain.plies and answer["wdl"] is not None:
            value = self.plain.value(place)
            wanted = ("win", value) if value > 0 else ("loss", -value - 1) if value < 0 else (None, None)
            assert (answer["wdl"], answer["dtm"]) == wanted or (not value and answer["wdl"] in ("draw", "unresolved"))

    def men(self) -> int:
        """Return with how many men all tiers together have at most `PLACES` placements."""
        from retrograde.solver.tier_graph import tier_graph

        whole = 1 + self.variant.attackers + self.variant.defenders
        sizes = {men: tier_graph(self.variant, men).nodes(data="positions") for men in range(2, min(whole, 6) + 1)}
        return max((men for men, tiers in sizes.items() if sum(size for _, size in tiers) <= PLACES), default=2)


def in_slices() -> AbstractContextManager[object]:
    """Build every tier with defenders in slices, as if it were too large for the memory."""
    from retrograde.solver import build
    from retrograde.solver.slices import building
    from retrograde.solver.slices.slice_plan import even_cuts

    patches = ExitStack()
    patches.enter_context(patch.object(build, "_is_too_large", lambda _variant, material, _memory: material[1] > 0))
    cut = patch.object(building, "cut_tier", lambda tier, _memory, _workers=1: even_cuts(tier, min(tier.rows, 3)))
    patches.enter_context(cut)
    return patches


def ask_everything(asked: Asked, *, every: bool) -> None:
    """Give a rule set to every command that runs compiled code; the longer ones are drawn unless all are wanted."""
    random, variant, naive, own = asked.random, asked.variant, asked.naive, "-v own.toml"
    found = asked.ask(f"perft {own} -d 2 {random.choice(['', '--applied', '--threads 2'])}")
    if found:
        assert found["perft"] == [naive.perft(naive.start(), depth) for depth in (1, 2)]
    men, start = asked.men(), variant.start_position
    places = [naive.write(placement(variant, random, soldiers=random.randrange(1, men))) for _ in range(2)]
    if men > variant.attackers + variant.defenders:
        asked.ask(f"solve {own} --threads {random.choice([1, 2])}")
    for store, sliced in (("table", False), ("sliced", True)):
        if not sliced or every or random.random() < 0.3:
            asked.ask(f"tablebase build {own} --men {min(men, 4)} --store {store}", sliced=sliced)
            asked.ask(f"tablebase verify {store} --sample 3")
            for place in places:
                asked.value(f"probe {store}", place)
    plies = "--all" if asked.plain is not None else "--plies 2"
    found = asked.ask(f"census {own} {plies} {random.choice(['', '--full'])} --store count")
    if found and asked.plain is not None and found["complete"] and not found["stopped_by_limit"]:
        assert found["total"] == len(asked.plain.plies)
    asked.ask(f"census count {own} --plies 2 --passes 3")
    asked.ask(f"census verify count {own} --parents")
    played = naive.write(random_play(variant, random, random.randrange(12))[-1])
    names = list(PLAYERS) if every else random.sample(list(PLAYERS), 2)
    for place in (start, played, *places):
        way = random.choice(["", "--tablebase table", "--save-proof p.jsonl"])
        asked.value(f"puzzle solve {own} --nodes 2000 --positions 300 --memory 2 {way}", place)
        for name in names:
            asked.ask(f"bestmove {own} --player {name} {PLAYERS[name]}", place)
    more = random.choice(["--threads 2", "--tablebase table"])
    asked.ask(f"bestmove {own} {PLAYERS['alphabeta']} {more}", played)
    if every or random.random() < 0.1:
        asked.ask(f"symmetry verify {own} --samples 10 --most 200")
        for space in ("undecided", "decided"):
            asked.ask(f"reachable estimate {own} --samples 3 --check 1 --space {space}")


def main(count: int, number: int) -> None:
    """Ask everything about the rule sets that each did harm once, and about drawn ones."""
    from tests.faults import guards

    guards.prepare()

    def about(variant: Variant, random: Random, *, every: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ask_everything(Asked(variant, Path(folder), random), every=every)

    @seed(number)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data(), st.sampled_from([3, 3, 3, 5, 5, 7, 9, 13]), st.integers(0, 2**32))
    def drawn(data: st.DataObject, size: int, number: int) -> None:
        variant = data.draw(small_variants(size, size * size, size * size // 2, later=True))
        with suppress(VariantError):
            parse_variant(write_variant(variant), name="own", origin="own")
            about(variant, Random(number))

    for text in CLASSICS:
        about(parse_variant(text, name="own", origin="own"), Random(number), every=True)
    drawn()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
