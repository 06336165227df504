"""All that says who wins, held to one another: on rules with and without a move limit, whatever repetition does.

The plain solver is the judge. `solve`, a store of it, a built tablebase, `puzzle solve` and
the engine's proven scores are compared with it, position by position.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from retrograde.proofs.solver import Solver
from retrograde.solver.build import build_tablebase
from retrograde.solver.solution import SolvedGame
from retrograde.solver.solver_report import SolveReport, solve_report
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.store import open_store
from retrograde.verification.verifying import verify
from tablut.board import Board
from tablut.cli.shell import run
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing.values import Verdict, value_of, verdict_of
from tablut.play.search.limits import SearchLimits, mate_in
from tablut.play.search.searcher import Searcher
from tablut.position import Position
from tablut.variants import Variant, load_variant
from tests.support.effort import MORE, examples, slow_but
from tests.support.endings import contents
from tests.support.games import recurrence
from tests.support.strategies import small_variants
from tests.twins.solver import PlainSolution, plain_solution

# The start wins in 3, however the game goes on; one corner to escape to gives draws, and wins of 23 plies.
LONE_CORNER = ("+...+", ".....", "..T..", ".....", "X...+")


def under(variant: Variant, **rules: object) -> Variant:
    return replace(variant, name="changed", rules=variant.rules.model_copy(update=rules))


def assert_all_agree(variant: Variant, folder: Path, sample: int = 12) -> None:
    limit = variant.rules.move_limit
    over = Board(variant).outcome()
    if over is not None and (over.termination != "no_moves" or variant.rules.no_moves == "either_after_ply"):
        with pytest.raises(InputError):
            solve_report(variant)
        return
    plain = plain_solution(variant)
    reached = [text for text, plies in plain.plies.items() if limit is None or plies <= limit]
    unforced = "unresolved" if variant.rules.repetition.result == "mover_loses" else "draw"
    truth = {text: verdict_of(plain.value(text), unforced=unforced) for text in plain.plies}  # type: ignore[arg-type]
    shutil.rmtree(folder, ignore_errors=True)
    report, solved = solve_report(variant, store=folder / "solved")
    assert_report(variant, report, solved, {text: truth[text] for text in reached})
    positions = [Position.parse(text, variant.size) for text in plain.plies]
    assert [solved.probe(position) for position in positions] == list(truth.values())

    build_tablebase(folder / "built", variant, 1 + variant.attackers + variant.defenders)
    assert contents(folder / "solved") == contents(folder / "built")
    report_of_verify = verify(folder / "built", sample=3, seed=1)
    assert (report_of_verify.failures, report_of_verify.failed) == (0, [])
    table = open_tablebase(folder / "built")
    assert table.probe_words(engine_for(variant).words(positions)).tolist() == [
        value_of(verdict) for verdict in truth.values()
    ]

    chosen = Random(1).sample(positions, min(sample, len(positions)))
    puzzles, unforced_left = Solver(variant), 1
    playable = Board(variant).outcome() is None
    choosers = [Searcher(variant, hash_mib=1, prober=prober) for prober in (None, table) if playable]
    for position in [Position.parse(variant.start_position, variant.size), *chosen]:
        board, verdict = Board(variant, position), truth[str(position)]
        assert table.probe(position) == table.probe(board) == verdict
        outcome = board.outcome()
        if outcome is not None:
            continue
        moves = table.best_moves(board)
        # A move to the last ply of the limit draws, whatever history might have done later.
        last = verdict.wdl == "unresolved" and limit == 1 and moves[0].wdl == "draw"
        assert last or (moves[0].wdl, moves[0].dtm) == verdict
        if verdict.dtm is None and limit is None:
            # Searched for long before everything reachable is listed: a second each.
            unforced_left -= 1
            if unforced_left < 0:
                continue
        solution = puzzles.solve(position)
        assert (solution.status, solution.wdl, solution.dtm) == ("proved", *verdict), str(position)
        assert (
            sorted(map(str, solution.winning_moves))
            == sorted(str(rated.move) for rated in moves if verdict.wdl != "draw" and (rated.wdl, rated.dtm) == verdict)
            or verdict.dtm is None
        )
        for chooser in choosers:
            assert_search(chooser, board, verdict, plain)


def assert_search(chooser: Searcher, board: Board, verdict: Verdict, plain: PlainSolution) -> None:
    """What the engine calls proven is so, and an end with the next ply is proven."""
    depth = 6
    mate = mate_in(chooser.search(board, SearchLimits(depth=depth)).score)
    exact = board.variant.rules.repetition.result != "mover_loses"
    signed = {"win": verdict.dtm, "loss": -(verdict.dtm or 0)}.get(verdict.wdl)
    if mate is not None and (exact or signed is not None):
        # Where a repetition loses, the engine sees wins by history that no table knows.
        assert signed is not None, (str(board.position), mate)
        # The end comes within so many plies: a longer one may be found before the shortest.
        assert (mate > 0) == (signed > 0), (str(board.position), mate, verdict)
        assert not exact or abs(mate) >= abs(signed), (str(board.position), mate, verdict)
    if signed == 1:
        assert mate is not None, (str(board.position), verdict)


def assert_report(variant: Variant, report: SolveReport, solved: SolvedGame, truth: dict[str, Verdict]) -> None:
    assert report.positions == len(truth)
    for side in ("white", "black"):
        counts = getattr(report, f"{side}_to_move")
        verdicts = [verdict for text, verdict in truth.items() if text[-1] == side[0]]
        for wdl in ("win", "draw", "loss", "unresolved"):
            assert getattr(counts, wdl) == sum(verdict.wdl == wdl for verdict in verdicts), (side, wdl)
    distances = [verdict.dtm for verdict in truth.values() if verdict.dtm is not None]
    assert report.max_dtm == max(distances, default=0)
    start = truth[variant.start_position]
    mover = "white" if variant.start_position[-1] == "w" else "black"
    other = {"white": "black", "black": "white"}[mover]
    assert (report.value, report.dtm) == ({"win": mover, "loss": other}.get(start.wdl, start.wdl), start.dtm)
    for line in (report.start, report.longest):
        if line is None:
            continue
        board = Board(variant, Position.parse(line.position, variant.size))
        assert (line.wdl, line.dtm) == truth[line.position]
        winner = board.turn if line.wdl == "win" else {"white": "black", "black": "white"}[board.turn]
        for move in line.line:
            assert board.outcome() is None
            board.push_text(move)
        assert len(line.line) == (line.dtm or 0)
        if line.dtm is not None:
            outcome = board.outcome()
            # In a real game even the last ply of the limit may win.
            assert outcome is not None
            assert outcome.winner == winner


# A case is a few seconds: shrinking one would take minutes.
QUICKLY = [Phase.explicit, Phase.reuse, Phase.generate]
limits = st.none() | st.integers(1, 4) | st.integers(1, 40)


@settings(max_examples=examples(1, 4 * MORE), deadline=None, phases=QUICKLY, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(size=3, later=True), limit=limits)
def test_rules_that_nobody_plays(tmp_path_factory: pytest.TempPathFactory, variant: Variant, limit: int | None) -> None:
    assert_all_agree(under(variant, move_limit=limit), tmp_path_factory.getbasetemp() / "agree")


START = (".....", "..b..", "..K..", ".....", ".....")
RULES = [
    {"move_limit": 3, "repetition": recurrence("mover_loses")},
    {"move_limit": 4, "no_moves": "either_after_ply"},
    {"repetition": recurrence("mover_loses")},
]


@pytest.mark.parametrize("rules", slow_but(RULES[:1], RULES), ids=str)
def test_a_king_and_a_soldier(tmp_path: Path, rules: dict[str, object]) -> None:
    variant = replace(load_variant("brandubh-5-4v4"), terrain=LONE_CORNER, start=START)
    assert_all_agree(under(variant, **rules), tmp_path / "s")


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 5, 8, 13, 22, None])
@pytest.mark.parametrize("repetition", ["draw", "mover_loses"])
def test_a_game_with_long_wins(tmp_path: Path, limit: int | None, repetition: str) -> None:
    variant = replace(
        load_variant("brandubh-5-4v4"), terrain=LONE_CORNER, start=("..b..", ".....", "..K..", "..b..", ".....")
    )
    assert_all_agree(under(variant, move_limit=limit, repetition=recurrence(repetition)), tmp_path / "s", 40)


# -- the commands --------------------------------------------------------------------------


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("limit", "value", "dtm"), [(2, "draw", None), pytest.param(3, "white", 3, marks=pytest.mark.slow)]
)
def test_every_command_reads_the_limit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, limit: int, value: str, dtm: int | None
) -> None:
    shipped = Path(__file__).parents[2] / "tablut" / "variants" / "data" / "ashton-5-4v0.toml"
    own = tmp_path / "own.toml"
    text = shipped.read_text(encoding="utf-8")
    own.write_text(text.replace("\n[castle]", f"move_limit = {limit}\n\n[castle]", 1), encoding="utf-8")
    game, store, built = str(own), str(tmp_path / "store"), str(tmp_path / "built")
    wdl = {"white": "win"}.get(value, value)
    solved = answer(capsys, "solve", "-v", game, "--store", store)
    assert (solved["value"], solved["dtm"], solved["max_dtm"]) == (value, dtm, min(limit, solved["max_dtm"]))
    assert (solved["start"]["wdl"], len(solved["start"]["line"])) == (wdl, dtm or 0)
    answer(capsys, "tablebase", "build", "--men", "5", "-v", game, "--store", built)
    assert contents(Path(store)) == contents(Path(built))
    start = load_variant(game).start_position
    for folder in (store, built):
        probed = answer(capsys, "probe", folder, "-p", start)
        assert (probed["wdl"], probed["dtm"]) == (wdl, dtm)
        tiers = answer(capsys, "tablebase", "info", folder)["tiers"]
        assert max(tier["max_dtm"] for tier in tiers) == limit
    assert answer(capsys, "tablebase", "verify", store)["failures"] == 0
    for options in ([], ["--tablebase", store]):
        puzzle = answer(capsys, "puzzle", "solve", "-v", game, "-p", start, *options)
        assert (puzzle["status"], puzzle["wdl"], puzzle["dtm"]) == ("proved", wdl, dtm)
    best = answer(capsys, "bestmove", "-v", game, "-p", start, "--nodes", "20000")
    assert mate_in(best["score"]) == dtm
    assert open_store(store).variant.rules.move_limit == limit
