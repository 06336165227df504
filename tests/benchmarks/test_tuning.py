"""Tuning: the regression finds weights that are known, games are repeatable, a match is what its games say."""

import json
from importlib.resources import files
from random import Random

import numpy as np
import pytest

from benchmarks.search_threads import command as threads_command
from benchmarks.tuning.__main__ import TRAINING
from benchmarks.tuning.games import MatchScore, gather, play_game, play_pairs
from benchmarks.tuning.judging import judge, judging_command
from benchmarks.tuning.net import fit_net
from benchmarks.tuning.patterns import fit_patterns, layout_of, make_patterns
from benchmarks.tuning.positions import Positions, calibration
from benchmarks.tuning.regression import fit, term_values
from benchmarks.tuning.storing import HAND_WEIGHTS, hand_weights, written_patterns
from tablut.engine import engine_for
from tablut.engine.layout import SIDE_AT, head
from tablut.play.arena.statistics import Sprt
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher
from tablut.play.search.weights import NO_NET, TERMS, load_patterns, load_weights, weights_family
from tablut.position import diagram_cells
from tablut.variants import load_variant
from tests.support.placements import letters
from tests.support.strategies import placement

pytestmark = pytest.mark.study


def test_the_regression_finds_the_weights_that_made_the_results():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(150_000, len(TERMS))) * rng.uniform(0.5, 3, len(TERMS))
    values[:, 4] = 0  # never varies: keeps its prior
    true = rng.uniform(-40, 40, len(TERMS))
    odds = 1 / (1 + np.exp(-values @ true / 100))
    found = fit(values, (rng.random(len(odds)) < odds).astype(float), dict.fromkeys(TERMS, 7.0))
    assert found[TERMS[4]] == 7.0
    for number, term in enumerate(TERMS):
        if number != 4:
            assert abs(found[term] - true[number]) < 6, term


def test_games_are_repeatable_and_their_positions_quiet():
    variant = load_variant("brandubh-5-4v4")
    searcher = Searcher(variant, hash_mib=1, weights=HAND_WEIGHTS)
    games = []
    for _ in range(2):
        searcher.forget()
        result, quiet = play_game([searcher] * 2, variant, Random(4), nodes=200, opening=2)
        games.append((result, [(found.board.tolist(), found.score) for found in quiet]))
    assert games[0] == games[1]
    assert games[0][0] in (0.0, 0.5, 1.0)
    sample = gather(variant, HAND_WEIGHTS, games=12, nodes=50, seed=2, share=1.0)
    assert len(sample.boards) == len(sample.results) > 0
    assert np.isfinite(term_values(variant, sample.boards)).all()


@pytest.mark.parametrize("each", [{"nodes": 60}, {"nodes": None, "movetime": 0.06}])
def test_whoever_plays_black_has_the_odds(each):
    variant, limits = load_variant("brandubh-5-4v4"), set()

    class Watched(Searcher):
        def think(self, root, given, *further):
            limits.add((self, int(head(root.array)[SIDE_AT]), given.nodes, given.movetime and round(given.movetime, 9)))
            return super().think(root, SearchLimits(nodes=30), *further)

    players = [Watched(variant, hash_mib=1) for _ in range(2)]
    limits.clear()  # of the searches that warm the players up
    assert len(list(play_pairs(players, variant, pairs=1, seed=1, odds=9, **each))) == 1
    white, black = ((20, None), (180, None)) if each["nodes"] else ((None, 0.02), (None, 0.18))
    assert limits == {(player, *given) for player in players for given in ((0, *white), (1, *black))}


def test_the_stored_weights_say_where_they_come_from():
    stored = json.loads(files("tablut.play.search").joinpath("data", "weights.json").read_text(encoding="utf-8"))
    assert set(stored["weights"]) == set(TRAINING)
    for family, names in TRAINING.items():
        if not stored["tuning"].get(family, {}).get("taken", False):
            assert stored["weights"][family] == hand_weights(family)
            continue
        assert stored["tuning"][family]["variants"] == list(names)
        for name in names:
            match = stored["match_against_hand_set"][name]
            score = MatchScore(match["wins"], match["draws"], match["losses"])
            assert match["share"] == round(score.share, 3)
            assert match["interval95"] == [round(bound, 3) for bound in score.interval95]


@pytest.mark.slow
def test_what_the_patterns_add_is_what_made_the_results():
    variant, random = load_variant("brandubh"), Random(7)
    engine, layout = engine_for(variant), layout_of(variant)
    made = [placement(variant, random) for _ in range(250)]
    cells = [letters(7, position) for position in made]
    boards = np.array([engine.board(text, position.side) for text, position in zip(cells, made, strict=True)])
    # White likes a king on the middle rank, whatever the terms say of it.
    middle = np.array([21 <= text.index("K") < 28 for text in cells])
    plain = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, load_weights(variant)), boards, plain)
    worth = 1 / (1 + np.exp(-(plain / 100 + np.where(middle, 1.5, -0.5))))
    patterns = fit_patterns(variant, layout, Positions(boards, worth, np.zeros(len(worth))), ridge=1.0)
    scores = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, load_weights(variant), patterns), boards, scores)
    added = scores - plain
    assert added[middle].mean() > 100
    assert added[~middle].mean() < -20


def test_the_odds_of_games_do_not_change_the_slope_of_scores():
    rng = np.random.default_rng(2)
    odds = rng.uniform(0, 2.8, 100_000)
    # Black's better search lowers the scores and wins games besides, so that both say the same.
    scores = rng.normal(size=len(odds)) * 3 - 2 * odds
    results = (rng.random(len(odds)) < 1 / (1 + np.exp(-(0.4 * scores + 3 - 0.9 * odds)))).astype(float)
    slope, level, weight = calibration(scores, results, odds)
    assert abs(slope - 0.4) < 0.02
    assert abs(level - 3) < 0.1
    assert abs(weight + 0.9) < 0.1
    assert calibration(scores, results, np.zeros(len(odds))).slope > 0.45


@pytest.mark.slow
def test_what_a_net_adds_is_what_made_the_results():
    variant, random = load_variant("brandubh"), Random(7)
    engine, patterns = engine_for(variant), load_patterns(variant)._replace(net=NO_NET)
    made = [placement(variant, random) for _ in range(300)]
    cells = [letters(7, position) for position in made]
    boards = np.array([engine.board(text, position.side) for text, position in zip(cells, made, strict=True)])
    # No sum over lines says this: white likes an even number of sides of the board with a piece on the middle cell.
    even = np.array([sum(text[cell] != "." for cell in (3, 21, 27, 45)) % 2 == 0 for text in cells])
    plain = np.zeros(len(boards), dtype=np.int64)
    evaluate_boards(engine.tables, evaluation_tables(variant, load_weights(variant), patterns), boards, plain)
    worth = 1 / (1 + np.exp(-(plain / 100 + np.where(even, 1.5, -1.5))))
    shown = Positions(boards, worth, np.zeros(len(worth)))
    net, (without, with_it) = fit_net(variant, patterns, shown, shown, epochs=300, seed=1)
    assert with_it < 0.9 * without
    short = [fit_net(variant, patterns, shown, shown, epochs=3, seed=1)[0] for _ in range(2)]
    assert (short[0] == short[1]).all()
    scores = np.zeros(len(boards), dtype=np.int64)
    tables = evaluation_tables(variant, load_weights(variant), patterns._replace(net=net))
    evaluate_boards(engine.tables, tables, boards, scores)
    added = scores - plain
    assert added[even].mean() > added[~even].mean() + 100


@pytest.mark.slow
def test_a_match_of_patterns_says_who_is_better(tmp_path, capsys):
    variant, rng = load_variant("brandubh"), np.random.default_rng(1)
    made = make_patterns([variant], games=20, nodes=50, rounds=1, seed=1)
    noise = rng.integers(-9000, 9000, made.line_scores.shape).astype(np.int16)
    players, test = [None, made._replace(line_scores=noise)], Sprt(0, 50)
    found = judge(players, variant, pairs=300, nodes=100, seed=2, test=test)
    assert found.state == "accepted"
    assert found.ratio >= test.bounds[1]
    assert found.tally.games < 600
    # The other way round it is the same match, since nothing else tells the two apart.
    back = judge(players[::-1], variant, pairs=found.tally.games // 2, nodes=100, seed=2, test=Sprt(0, 0.01))
    assert (back.tally.wins, back.tally.losses) == (found.tally.losses, found.tally.wins)
    even = judge([made, made], variant, pairs=5, nodes=100, seed=2, test=test)
    assert (even.tally.share, even.tally.pairs) == (0.5, (0, 0, 5, 0, 0))
    (tmp_path / "made").write_bytes(written_patterns(made))
    judging_command.callback(tmp_path / "made", None, "brandubh", 2, 50, None, 4.0, 1, (0, 10))
    assert capsys.readouterr().out.startswith("brandubh, 50 nodes, odds 4, seed 1: ")


@pytest.mark.parametrize("name", ["ashton", "berkeley"])
def test_patterns_that_ship_are_of_the_board_and_say_how_they_were_made(name):
    variant = load_variant(name)
    patterns = load_patterns(variant)
    assert patterns.terrain == "".join(diagram_cells(variant.terrain))
    assert patterns.family == weights_family(variant)
    assert "positions" in patterns.made
    layout = layout_of(variant)
    assert (patterns.line_table == layout.line_table).all()
    assert patterns.line_scores.shape == layout.line_pattern.shape


@pytest.mark.slow
def test_threads_play_a_match_against_one_thread(capsys):
    threads_command.callback((2, 3), 1, 1.0, 1, "brandubh", 1, 1, 2, 0.01, 0.5)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"brandubh, {threads} threads, 0.01 s, odds 0.5, seed 1" for threads in (2, 3)
    ]
    assert all(sum(int(number) for number in line.split(": ")[1].split("  ")[0].split(", ")) == 4 for line in lines)
