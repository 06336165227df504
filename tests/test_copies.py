"""What the packages hand out survives copy, deepcopy and pickle as a value of its own, or refuses in words.

Each class that a door exports, and each environment, stands in `VALUES` or in `REFUSING`; a new one has to be added.
"""

from __future__ import annotations

import copy
import pickle
import pkgutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from counting import bounds
from counting.census import Resources, census
from counting.exclusions import count_exclusions
from retrograde import open_tablebase, solve_game
from retrograde.proofs import ProofLimits, Solver, solve
from retrograde.puzzles import Puzzle
from retrograde.tablebase.probing import shipped_store
from retrograde.verification import Verification
from symmetry import dihedral
from tablut import Board, Move, Position, Status, load_variant
from tablut.automorphisms import SymmetryCheck
from tablut.engine import Engine, build_tables, engine_for
from tablut.env import Batch, env, spiel
from tablut.errors import IllegalMoveError, TablutError, UncompiledError, UseError
from tablut.indexing import EndingIndex, FinalPlacement, PlacementIndex
from tablut.play.arena import MatchPlan, Openings, Sprt, Tournament, contestant, measure, play_match, play_tournament
from tablut.play.competition import ClientSettings, Referee, RefereeSettings, ServerGame
from tablut.play.players import PLAYERS, PlayerOptions, Setting, make_player
from tablut.play.search import Searcher, SearchLimits
from tablut.records import read_record
from tablut.rules import NaiveGame

if TYPE_CHECKING:
    from collections.abc import Callable

NAME, FILE = "ashton-5-4v0", "brandubh"
TEXT = "2b2/5/b1K1b/5/2b2 w"
VARIANT = load_variant(NAME)
WIDE = replace(VAST := load_variant("alea-evangelii"), rules=VAST.rules.model_copy(update={"fort": "on_edge"}))
"""A rule set that the compiled rules do not hold: its boards are played by the plain ones."""
FEW = f"4b14/{'19/' * 8}2w6K9/{'19/' * 8}4b14 b"
ONE = SearchLimits(nodes=1)
PLAN = MatchPlan(VARIANT, contestant("random@nodes=1", ONE), contestant("random@nodes=1", ONE), 2)


class Kept(NamedTuple):
    """A value, what there is to see of it, and how it changes."""

    make: Callable[[], Any]
    seen: Callable[[Any], Any] = lambda value: value
    change: Callable[[Any], object] | None = None


def _played(board: Board) -> Board:
    board.push(next(iter(board.legal_moves)))
    assert board.legal_moves
    return board


def _history(board: Board) -> Any:
    board.assert_ok()
    moves = list(board.legal_moves)
    return board.text, board.move_stack, moves, board.outcome(), board.occurrence(), board.record()


def _arrays(record: Any) -> Any:
    return [_arrays(part) if isinstance(part, tuple) else np.asarray(part).tolist() for part in record]


def _shown(batch: Batch) -> Any:
    ahead = copy.deepcopy(batch)
    ahead.step(ahead.sample())
    arrays = [batch.mask(), batch.planes(), *batch.results(), ahead.planes()]
    return [array.tolist() for array in arrays], [batch.position(game) for game in range(len(batch))]


def _batch() -> Batch:
    batch = Batch("brandubh", 3, seed=2)
    for _ in range(5):
        batch.step(batch.sample())
    return batch


def _environment() -> Any:
    game = env("brandubh", render_mode="ansi")
    game.reset(seed=1)
    for space in game.unwrapped.action_spaces.values():
        space.seed(3)
    game.step(int(game.last()[0]["action_mask"].argmax()))
    return game


def _game(game: Any) -> Any:
    agents = game.agents, game.agent_selection, game.rewards, game._cumulative_rewards
    ends = game.terminations, game.truncations, game.infos
    draws = [copy.deepcopy(game.action_space(agent)).sample() for agent in game.agents]
    return agents, ends, game.render(), game.unwrapped.board.move_stack, game.last()[0]["action_mask"].tolist(), draws


def _state() -> Any:
    state = spiel("brandubh", plies=60).new_initial_state()
    state.apply_action(state.legal_actions()[0])
    return state


def _step(game: Any) -> None:
    game.step(int(game.last()[0]["action_mask"].argmax()))


def _store() -> Any:
    return open_tablebase(shipped_store(NAME), 1 << 20)


VALUES: dict[str, Kept] = {
    "Board": Kept(lambda: _played(Board("ashton")), _history, _played),
    "Board.pop": Kept(lambda: _played(_played(Board("ashton"))), _history, Board.pop),
    "Board of plain rules": Kept(lambda: _played(Board(WIDE, FEW)), _history, _played),
    "Batch": Kept(_batch, _shown, lambda batch: batch.step(batch.sample())),
    "Batch.reset": Kept(_batch, _shown, Batch.reset),
    "env": Kept(_environment, _game, _step),
    "env.unwrapped": Kept(lambda: _environment().unwrapped, _game, _step),
    "spiel": Kept(lambda: spiel("brandubh", plies=60), lambda game: (str(game), game.plies, game.variant)),
    "spiel.state": Kept(
        _state,
        lambda state: (state.history(), state.legal_actions(), state.board.move_stack),
        lambda state: state.apply_action(state.legal_actions()[0]),
    ),
    "Engine": Kept(lambda: engine_for(VARIANT), lambda engine: (id(engine), engine.perft(engine.start(), 2))),
    "Children": Kept(lambda: Engine(VARIANT).expand(Engine(VARIANT).words(Board(NAME))), _arrays),
    "LeafStatistics": Kept(lambda: Engine(VARIANT).perft_applied(Engine(VARIANT).start(), 1)),
    "Tables": Kept(lambda: build_tables(VARIANT), _arrays),
    "Tablebase": Kept(_store, lambda base: (base.probe(Board(NAME, TEXT)), base.best_moves(Board(NAME, TEXT)))),
    "Resources": Kept(lambda: Resources(memory=1 << 30, passes=2)),
    "RatedMove": Kept(lambda: _store().best_moves(Board(NAME, TEXT))[0]),
    "SolvedGame": Kept(lambda: solve_game(VARIANT), lambda game: (game.total().totals(), game.line(TEXT))),
    "PlacementIndex": Kept(lambda: PlacementIndex(VARIANT), lambda index: (index.size, index.unrank(9, "w"))),
    "PlacementTier": Kept(lambda: PlacementIndex(VARIANT).tiers[1, 0]),
    "EndingIndex": Kept(lambda: EndingIndex(VARIANT), lambda index: (index.size, index.unrank(9))),
    "FinalPlacement": Kept(lambda: FinalPlacement(Position.parse(TEXT, 5), "escaped")),
    "NaiveGame": Kept(lambda: NaiveGame(VARIANT), lambda game: game.legal_moves(game.start())),
    "NaivePosition": Kept(lambda: NaiveGame(VARIANT).start()),
    "NaiveResult": Kept(
        lambda: NaiveGame(VARIANT).apply(
            NaiveGame(VARIANT).start(), NaiveGame(VARIANT).legal_moves(NaiveGame(VARIANT).start())[0]
        )
    ),
    "Move": Kept(lambda: Move.parse("c3-b3", 5)),
    "Position": Kept(lambda: Position.parse(TEXT, 5)),
    "Status": Kept(lambda: Status.VALID | Status.NO_KING),
    "Outcome": Kept(lambda: Board(NAME, "4K/5/b4/5/5 b").outcome()),
    "Symmetry": Kept(lambda: dihedral(5)[3]),
    "SymmetryCheck": Kept(lambda: SymmetryCheck("words", 2, 1, "a1")),
    "Variant": Kept(lambda: VARIANT, lambda variant: (variant, variant.digest, variant.regions)),
    "Rules": Kept(lambda: VARIANT.rules),
    "Regions": Kept(lambda: load_variant("ashton").regions),
    "Camp": Kept(lambda: load_variant("ashton").regions.camps[0]),
    "GameRecord": Kept(lambda: read_record('[Variant "ashton-5-4v0"]\n[White "A"]\n\n1. c3-b3 {a} *')),
    "Choice": Kept(lambda: make_player("random", VARIANT).choose(Board(NAME), ONE)),
    "SearchLimits": Kept(lambda: ONE),
    "PlayerOptions": Kept(lambda: PlayerOptions(seed=2)),
    "Setting": Kept(lambda: Setting(3, least=1)),
    "Contestant": Kept(lambda: PLAN.first),
    "MatchPlan": Kept(lambda: PLAN),
    "Openings": Kept(lambda: Openings(2, 1, 1)),
    "MatchReport": Kept(lambda: play_match(PLAN)),
    "MatchSummary": Kept(lambda: play_match(PLAN).summary),
    "GameMeasures": Kept(lambda: measure(VARIANT, play_match(PLAN))),
    "ScoredGame": Kept(lambda: play_match(PLAN).played[0]),
    "Tally": Kept(lambda: play_match(PLAN).tally),
    "Sprt": Kept(lambda: Sprt(0.0, 10.0)),
    "Successors": Kept(
        lambda: _batch().children(), lambda found: (_shown(found.batch), [array.tolist() for array in found[1:]])
    ),
    "TableValues": Kept(lambda: _batch().values(), lambda found: [array.tolist() for array in found]),
    "Tournament": Kept(lambda: Tournament(["random", "greedy"], NAME)),
    "TournamentReport": Kept(lambda: play_tournament([PLAN.first, contestant("greedy@nodes=1", ONE)], PLAN)),
    "ClientSettings": Kept(lambda: ClientSettings("here", "w", 1.0)),
    "RefereeSettings": Kept(RefereeSettings),
    "ServerGame": Kept(lambda: ServerGame(_played(Board(NAME)), None, "gone")),
    "BoundsReport": Kept(lambda: bounds(VARIANT)),
    "CensusReport": Kept(lambda: census(VARIANT, plies=1)),
    "exclusions": Kept(lambda: count_exclusions(VARIANT, 2)),
    "ProofLimits": Kept(lambda: ProofLimits(5)),
    "Solution": Kept(lambda: solve(NAME, TEXT)),
    "Puzzle": Kept(lambda: Puzzle(Position.parse(TEXT, 5), NAME, id="1", tags={"a": "b"})),
    "Verification": Kept(lambda: Verification(variant=NAME, quick=True, published={})),
}
REFUSING: dict[str, Callable[[], Any]] = {
    "Searcher": lambda: Searcher(VARIANT, hash_mib=1),
    "Solver": lambda: Solver(VARIANT),
    "Referee": lambda: Referee(VARIANT, RefereeSettings(port_white=0, port_black=0)),
    **{f"player {name}": (lambda name=name: make_player(name, VARIANT, PlayerOptions(hash_mib=1))) for name in PLAYERS},
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_copy_is_equal_and_independent(name: str) -> None:
    make, seen, change = VALUES[name]
    value = make()
    before = seen(value)
    for way, taken in WAYS.items():
        twin = taken(value)
        assert type(twin) is type(value), way
        assert seen(twin) == before, way
        if change is not None:
            change(twin)
            changed = seen(twin)
            assert changed != before, way
            assert seen(value) == before, way
            change(value)
            assert seen(twin) == changed, way
            value = make()


@pytest.mark.parametrize("name", REFUSING)
def test_what_serves_one_caller_refuses_to_be_copied(name: str) -> None:
    one = REFUSING[name]()
    for taken in WAYS.values():
        with pytest.raises(UseError, match=type(one).__name__):
            taken(one)
    if hasattr(one, "close"):
        one.close()


def _exported() -> list[type]:
    rooms = ["symmetry", "tablut", "counting", "retrograde", "reports"]
    for package in list(rooms):
        walked = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
        rooms += [module.name for module in walked if module.ispkg]
    things = {
        getattr(door, name)
        for door in map(import_module, rooms)
        for name in getattr(door, "__all__", ())
        if isinstance(getattr(door, name), type)
    }
    return sorted(things, key=lambda thing: thing.__name__)


def test_every_class_of_a_door_is_among_them() -> None:
    known = {name.partition(".")[0] for name in [*VALUES, *REFUSING]}
    left = [thing.__name__ for thing in _exported() if not issubclass(thing, TablutError)]
    # Players are a protocol; those that there are stand under their names.
    assert [name for name in left if name not in known] == ["Player"]


def _errors(kind: type[TablutError]) -> set[type[TablutError]]:
    return {kind}.union(*map(_errors, kind.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(_errors(TablutError), key=lambda kind: kind.__qualname__))
def test_an_error_keeps_message_and_fields(kind: type[TablutError]) -> None:
    error = kind("brandubh", "what") if kind is UncompiledError else kind("position 7: is none")
    error.field = "more"  # type: ignore[attr-defined]
    for taken in WAYS.values():
        again = taken(error)
        assert (type(again), str(again), again.args) == (kind, str(error), error.args)
        assert (vars(again), again.exit_code) == (vars(error), error.exit_code)


def test_an_illegal_move_keeps_its_reason() -> None:
    with pytest.raises(IllegalMoveError) as caught:
        Board("ashton").push("e5-e9")
    assert pickle.loads(pickle.dumps(caught.value)).why == caught.value.why != ""


# -- what is small, shared, or a view --------------------------------------------------------


def test_a_board_travels_without_its_engine_and_finds_the_shared_one() -> None:
    board = Board("ashton")
    untouched = len(pickle.dumps(board))
    assert board.legal_moves
    kept = pickle.dumps(board)
    assert len(kept) < untouched + 1000 < 4000
    assert pickle.loads(kept)._engine is copy.deepcopy(board)._engine is engine_for(board.variant)
    assert len(pickle.dumps(Batch("brandubh", 1))) < 20_000


def test_the_moves_of_a_copy_are_those_of_its_own_board() -> None:
    board = Board("ashton")
    moves = board.legal_moves
    for taken in (copy.deepcopy, WAYS["pickle"]):
        twin = taken(moves)
        before = list(moves)
        assert list(twin) == before
        board.push(before[0])
        assert list(twin) == before != list(moves)
        board.pop()


def test_boards_that_are_one_stay_one() -> None:
    board = Board(NAME)
    for taken in (copy.deepcopy, WAYS["pickle"]):
        first, second = taken([board, board])
        assert first is second is not board


def test_what_batches_share_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Batch("brandubh", 1).action_images[0, 0] = 1


LOADED = """
import pickle, sys
game, state, board = pickle.load(sys.stdin.buffer)
print(game.unwrapped.board.ply, state.board.ply, board.ply)
"""


def test_another_process_goes_on_with_them() -> None:
    sent = pickle.dumps((_environment(), _state(), _played(Board("brandubh"))))
    answer = subprocess.run([sys.executable, "-c", LOADED], input=sent, capture_output=True, check=True, timeout=120)
    assert answer.stdout.split() == [b"1"] * 3
