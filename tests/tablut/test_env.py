"""Many games at once are the games that boards play; the environments are of PettingZoo's and OpenSpiel's own kinds."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from retrograde import build_tablebase, open_tablebase
from tablut import Board, InputError, Move, Position, load_variant, variant_names
from tablut.env import Batch, env, spiel
from tablut.env.encoding import encoding_for
from tablut.indexing.values import verdict_of
from tablut.rules import NaiveGame
from tablut.status import UNPLAYABLE, position_status
from tablut.variants.model import Repetition
from tests.support.effort import MORE, examples, fuzzing, slow_but
from tests.support.strategies import placement, random_terrains, random_variants
from tests.tablut.test_family_rules import ENDS, small

if TYPE_CHECKING:
    from pathlib import Path

    from tablut.variants import Variant

START = Board("brandubh").text
WORTH = {"white": 1, "black": -1, None: 0}
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))
KEPT = ["ashton", "brandubh"]


def assert_same_games(
    variant: Variant, seed: int, plies: int, games: int = 4, position: Any = None, back: float = 0.6
) -> list[str]:
    """Play games on boards and in a batch, going back and forth often; return how they ended."""
    random, batch = Random(seed), Batch(variant, games, seed, position)
    boards = [Board(variant, position) for _ in range(games)]
    encoding = encoding_for(variant)
    for ply in range(plies):
        mask, planes = batch.mask(), batch.planes()
        values, going = batch.results()
        chosen, sampled = np.full(games, -1), batch.sample()
        for game, board in enumerate(boards):
            outcome, what = board.outcome(), f"{board.record()} {board.position}"
            legal = [] if outcome else sorted(batch.action(move) for move in board.legal_moves)
            assert bool(going[game]) == (outcome is None), what
            assert values[game] == (0 if outcome is None else WORTH[outcome.winner]), what
            assert np.flatnonzero(mask[game]).tolist() == legal, what
            assert batch.position(game).cells == board.position.cells, what
            np.testing.assert_array_equal(planes[game], encoding.planes(board), err_msg=what)
            assert (sampled[game] in legal) if legal else sampled[game] == -1, what
            if legal:
                chosen[game] = sampled[game] if ply % 2 else random.choice(legal)
                if board.ply > 1 and random.random() < back:
                    last = board.move_stack[-2]
                    returned = batch.action(Move(last.target, last.start, variant.size))
                    chosen[game] = returned if returned in legal else chosen[game]
                board.push(batch.move(int(chosen[game])))
        if ply % 8 == 5:
            assert_same_children(batch, boards, chosen)
        batch.step(chosen)
    return [outcome.termination for board in boards if (outcome := board.outcome())]


def assert_same_children(batch: Batch, boards: list[Board], chosen: Any) -> None:
    """Compare the successors of a batch with those of its boards, which are one ply ahead."""
    children, actions, planes = batch.children(), [], []
    values, going = children.batch.results()
    shown, encoding = children.batch.planes(), encoding_for(batch.variant)
    for game, board in enumerate(boards):
        if chosen[game] < 0:
            continue
        board = board.copy()
        board.pop()
        for move in sorted(board.legal_moves, key=batch.action):
            board.push(move)
            outcome, at = board.outcome(), len(actions)
            actions.append((game, batch.action(move)))
            planes.append(encoding.planes(board))
            assert (values[at], going[at]) == (0 if outcome is None else WORTH[outcome.winner], outcome is None)
            board.pop()
    assert list(zip(children.parents.tolist(), children.actions.tolist(), strict=True)) == actions
    assert not actions or (shown == np.array(planes)).all()


@st.composite
def with_histories(draw: st.DrawFn, variants: st.SearchStrategy[Variant]) -> Variant:
    """Generate rule sets with any rule on repetition, and often a move limit."""
    variant = draw(variants)
    results = get_args(Repetition.model_fields["result"].annotation)
    changes = {
        "repetition": Repetition(times=draw(st.integers(2, 4)), result=draw(st.sampled_from(results))),
        "move_limit": draw(st.none() | st.integers(1, 30)),
    }
    return replace(variant, rules=variant.rules.model_copy(update=changes))


@given(variant=with_histories(random_variants(later=fuzzing())), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=examples(4, 2 * MORE))
def test_random_rules(variant: Variant, seed: int) -> None:
    assert_same_games(variant, seed, 40)


@given(variant=with_histories(random_terrains(sizes=(3, 5, 7, 9), later=fuzzing())), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=examples(5, 3 * MORE))
def test_random_terrain(variant: Variant, seed: int) -> None:
    position = NaiveGame(variant).write(placement(variant, Random(seed)))
    try:
        Batch(variant, 1, position=position)
    except InputError:
        assume(False)
    assert_same_games(variant, seed, 30, position=position)


@pytest.mark.parametrize("name", slow_but(KEPT, variant_names()))
def test_shipped_rules(name: str) -> None:
    assert_same_games(load_variant(name), 1, 60, games=2, back=0.3)


@pytest.mark.slow
def test_forts_and_rings_end_games() -> None:
    for text, move, changes, outcome in ENDS.values():
        variant = small(**changes)
        if outcome is None or position_status(variant, text) & UNPLAYABLE:
            continue
        batch = Batch(variant, 1, position=text)
        batch.step(np.array([batch.action(move)]))
        assert batch.results() == (WORTH[outcome.winner], [False]), (text, move)


def test_long_histories_are_kept() -> None:
    rules = load_variant("brandubh").rules.model_copy(update={"repetition": Repetition(times=40, result="white_loses")})
    variant = replace(load_variant("brandubh"), rules=rules)
    assert set(assert_same_games(variant, 5, 350, games=1, back=1.0)) == {"repetition"}


@pytest.mark.parametrize("name", ["ashton", "ashton-5-4v2"])
def test_symmetric_copies(name: str) -> None:
    """The game of the images of the actions shows the images of the planes and of the masks."""
    batch = Batch(name, 20, seed=3)
    group = batch.variant.start_symmetries
    others = [Batch(name, 20) for _ in group]
    for _ in range(12):
        planes, masks = batch.images(batch.planes()), batch.images(batch.mask())
        for number, other in enumerate(others):
            np.testing.assert_array_equal(other.planes(), planes[number])
            np.testing.assert_array_equal(other.mask(), masks[number])
        actions = batch.sample()
        batch.step(actions)
        for number, other in enumerate(others):
            other.step(batch.action_images[number][actions])
    assert len(group) > 1
    assert (batch.action_images[0] == np.arange(batch.actions)).all()


@pytest.mark.parametrize("name", [*KEPT, "copenhagen", "alea-evangelii"])
def test_every_move_along_a_line_has_a_number(name: str) -> None:
    encoding = encoding_for(load_variant(name))
    size = encoding.variant.size
    assert [encoding.action(encoding.move(action)) for action in range(len(encoding.codes))] == [
        *range(2 * (size - 1) * size**2)
    ]
    for move in (Move(0, size + 1, size), Move(3, 3, size), Move(-1, 2, size), Move(0, size**2, size)):
        with pytest.raises(InputError):
            encoding.action(move)


@pytest.mark.parametrize("name", [*KEPT, "copenhagen", "alea-evangelii"])
def test_positions_are_placed_in_games(name: str) -> None:
    source = Batch(name, 40, seed=2)
    for _ in range(12):
        source.step(source.sample())
    going = np.flatnonzero(source.results()[1])
    words, boards = source.words()[going], [Board(name, source.position(game)) for game in going]
    for positions in (words, boards, [board.position for board in boards], [str(board.position) for board in boards]):
        batch = Batch(name, positions=positions)
        assert (batch.words() == words).all()
        batch.step(batch.sample())
        batch.reset()
        assert (batch.words() == words).all()
    batch = Batch(name, len(source))
    batch.step(batch.sample())
    batch.set(going[::-1], words[::-1])
    batch.set(int(going[0]), words[0])
    assert (batch.words()[going] == words).all()
    untouched = np.setdiff1d(np.arange(len(source)), going)
    assert not (batch.words()[untouched] == Batch(name, 1).words()).all(axis=1).any()
    fresh = Batch(name, positions=words)
    assert (batch.mask()[going] == fresh.mask()).all()
    assert (batch.planes()[going] == fresh.planes()).all()
    batch.reset(games=going)
    assert (batch.words()[going] == Batch(name, 1).words()).all()


@given(name=st.sampled_from([*KEPT, "ashton-5-4v0"]), seed=st.integers(0, 2**32))
@settings(relaxed, max_examples=examples(30))
def test_arbitrary_words_are_accepted_only_if_a_board_accepts_them(name: str, seed: int) -> None:
    random, variant = np.random.default_rng(seed), load_variant(name)
    cells, words = variant.size**2, Batch(name, 1).words()
    width = (cells - 1).bit_length()
    number = sum(1 << int(bit) for bit in set(random.integers(2 * cells, size=random.integers(6)).tolist()))
    number |= int(random.integers(1 << width)) << 2 * cells | int(random.integers(2)) << (2 * cells + width)
    number |= int(random.random() < 0.1) << (64 * words.shape[1] - 1)
    words[0] = [number >> 64 * place & (1 << 64) - 1 for place in range(words.shape[1])]
    king, black, white = number >> 2 * cells & (1 << width) - 1, number & (1 << cells) - 1, number >> cells
    letters = ["b" if black >> cell & 1 else "w" if white >> cell & 1 else "." for cell in range(cells)]
    sound = king < cells and not number >> (2 * cells + width + 1) and not black & white & (1 << cells) - 1
    if sound := sound and letters[king] == ".":
        letters[king] = "K"
        position = Position("".join(letters), "b" if number >> (2 * cells + width) else "w")
        try:
            sound = Board(variant, position).outcome() is None
        except InputError:  # impossible, and perhaps decided
            sound = False
    if sound:
        assert Batch(name, positions=words).position(0) == position
        return
    batch = Batch(name, 2)
    with pytest.raises(InputError) as found:
        batch.set(1, words)
    assert found.value.parameter == "words"
    assert (batch.words() == Batch(name, 2).words()).all()


def test_values_of_a_tablebase(tmp_path: Path) -> None:
    for limit in (None, 6):
        variant = load_variant("brandubh")
        variant = replace(variant, rules=variant.rules.model_copy(update={"move_limit": limit}))
        if limit is not None:
            build_tablebase(tmp_path / "store", variant, 3)
        tables = open_tablebase("brandubh" if limit is None else tmp_path / "store")
        first = Batch(variant, positions=["3K3/7/7/4b2/1b5/7/7 b", "7/1K5/7/4b2/1b5/w6/7 w", START])
        batch = first.children().batch
        batch.step(batch.sample())
        found = batch.values(None if limit is None else tables)
        seen = set()
        for game, going in enumerate(batch.results()[1]):
            board, value, plies = Board(variant, batch.position(game)), found.values[game], found.plies[game]
            if not going:
                assert (value, plies, found.known[game]) == (batch.results()[0][game], 0, True)
                continue
            verdict = tables.probe(board.position).wdl if tables.covers(*board.position.material) else None
            assert found.known[game] == (verdict is not None)
            stored = verdict_of(tables.stored_value(board.position)) if verdict else None
            dtm, late = (stored and stored.dtm), False
            if stored is None or dtm is None or (late := limit is not None and dtm > limit - 2):
                assert (value, plies) == (0, -1)
            else:
                assert plies == dtm
                assert value == (1 if (stored.wdl == "win") == (board.turn == "white") else -1)
            seen.add((verdict, late))
        assert len(seen) > 2, seen
    with pytest.raises(InputError, match="ashton") as refused:
        Batch("ashton", 1).values(tables)
    assert refused.value.parameter == "tablebase"
    with pytest.raises(InputError, match="no tablebase"):
        Batch("alea-evangelii", 1).values()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        (lambda batch: Batch("brandubh", 0), "games"),
        (lambda batch: Batch("brandubh"), "games"),
        (lambda batch: Batch("ashton", 10**9), "games"),
        (lambda batch: Batch("brandubh", positions=[]), "positions"),
        (lambda batch: Batch("brandubh", positions="7"), "positions"),
        (lambda batch: Batch("brandubh", positions=5), "positions"),
        (lambda batch: Batch("brandubh", positions=Batch("ashton", 2).words()), "positions"),
        (lambda batch: Batch("brandubh", positions=np.zeros((2, 2))), "positions"),
        (lambda batch: Batch("brandubh", 3, positions=batch.words()), ""),
        (lambda batch: Batch("brandubh", positions=[Board("ashton")]), ""),
        (lambda batch: Batch("brandubh", positions=["K6/7/7/4b2/7/7/7 b"]), ""),
        (lambda batch: batch.set(3, batch.words()[0]), "index"),
        (lambda batch: batch.set(-1, batch.words()[0]), "index"),
        (lambda batch: batch.set(0.5, batch.words()[0]), "index"),
        (lambda batch: batch.set([True, False, True], batch.words()[0]), "index"),
        (lambda batch: batch.set([0, 1], batch.words()), "words"),
        (lambda batch: batch.set(0, Batch("ashton", 1).words()), "words"),
        (lambda batch: batch.set(0, batch.words().astype(float)), "words"),
        (lambda batch: batch.set(0, ["3K3/7/7/3b3/7/7/7 b"]), ""),
        (lambda batch: batch.set(0, [Board("ashton")]), ""),
        (lambda batch: batch.values("nowhere"), ""),
    ],
)
def test_wrong_positions_are_refused(change: Any, parameter: str) -> None:
    batch = Batch("brandubh", 3, seed=1)
    with pytest.raises(InputError) as found:
        change(batch)
    assert found.value.parameter == parameter, found.value
    assert (batch.words() == Batch("brandubh", 3).words()).all()


def test_what_is_wrong_is_refused_and_changes_nothing() -> None:
    batch = Batch("brandubh", 3, seed=1)
    good = batch.sample()
    before = batch.planes()
    for wrong in (np.array([*good[:2], batch.action("d4-d5")]), np.array([*good[:2], -1]), good + batch.actions):
        with pytest.raises(InputError, match=r"^action"):
            batch.step(wrong)
    for odd in (good[:2], good.astype(float), [0, 1]):
        with pytest.raises(InputError, match=r"^actions"):
            batch.step(odd)  # type: ignore[arg-type]
    assert (batch.planes() == before).all()
    for call in (lambda: Batch("brandubh", 0), lambda: Batch("brandubh", 1, -1)):
        with pytest.raises(InputError):
            call()
    for call in (lambda: batch.move(588), lambda: batch.images(before[..., 0])):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError):
        Batch("brandubh", 1, position="7/7/7/7/2b4/7/K6 b")


def test_seeds_and_fresh_starts() -> None:
    def played(seed: int) -> Batch:
        batch = Batch("brandubh", 50, seed)
        for _ in range(30):
            batch.step(batch.sample())
        return batch

    one, same, other = played(1), played(1), played(2)
    assert (one.planes() == same.planes()).all()
    assert (one.planes() != other.planes()).any()
    over = ~one.results()[1]
    assert 0 < over.sum() < 50
    rest = one.planes()[~over]
    one.reset(over)
    assert one.results()[1].all()
    assert (one.planes()[~over] == rest).all()
    assert (one.planes()[over] == Batch("brandubh", 1).planes()).all()


def test_games_are_named_by_a_mask_or_by_numbers() -> None:
    def begun(**chosen: Any) -> list[bool]:
        batch = Batch("brandubh", 4, seed=1)
        start = batch.position(0)
        batch.step(batch.sample())
        batch.reset(**chosen)
        return [batch.position(game) == start for game in range(4)]

    mask = [True, False, False, True]
    for chosen in ({"which": np.array(mask)}, {"which": mask}, {"games": [3, 0]}, {"games": np.array([0, 3, 3])}):
        assert begun(**chosen) == mask
    assert begun() == begun(which=None) == [True] * 4
    assert begun(games=2) == [False, False, True, False]
    assert begun(games=[]) == [False] * 4
    wrong = [[1, 0, 0, 1], np.array([0, 3]), [True, False], np.ones((4, 1), dtype=bool), 2, True, "all", [0.0] * 4]
    refused = [{"which": one} for one in wrong]
    refused += [{"games": one} for one in ([4], [-1], mask, [1.0], True, ["0"])]
    for chosen in (*refused, {"which": mask, "games": [1]}):
        batch = Batch("brandubh", 4, seed=1)
        batch.step(batch.sample())
        before = batch.planes()
        with pytest.raises(InputError, match=r"^(which|games) "):
            batch.reset(**chosen)
        assert (batch.planes() == before).all(), chosen


# -- the environment of PettingZoo ---------------------------------------------------------


@pytest.mark.parametrize("name", slow_but(KEPT, ["copenhagen", "mcgill", "alea-evangelii"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_conforms(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the library's own tests; it has none of its own for a dictionary as an image, and says so."""
    from pettingzoo.test import api_test, render_test, seed_test, test_save_obs

    cycles = 100 if name == "alea-evangelii" else 1000
    api_test(env(name), num_cycles=cycles)
    seed_test(lambda: env(name), num_cycles=cycles // 10)
    render_test(lambda **options: env(name, **options), {"svg": lambda text: text.startswith("<svg")})
    test_save_obs(env(name))
    assert "did not save the observations" in capsys.readouterr().out


def test_its_games_are_those_of_the_batch() -> None:
    ends = set()
    for name in ("berkeley", "mcgill") * 4:
        batch, game = Batch(name, 1, seed=len(ends)), env(name)
        game.reset(seed=1)
        while game.agents:
            agent = game.agent_selection
            observation, reward, ended, cut, _ = game.last()
            (value,), (going,) = batch.results()
            assert (ended, cut) == (not going, False)
            np.testing.assert_array_equal(observation["observation"], batch.planes()[0])
            np.testing.assert_array_equal(observation["action_mask"], batch.mask()[0])
            assert reward == (value if agent == "white" else -value)
            assert not game.observe("black" if agent == "white" else "white")["action_mask"].any()
            actions = batch.sample()
            game.step(int(actions[0]) if going else None)
            batch.step(actions)
        ends.add(int(value))
    assert ends == {-1, 0, 1}


SEEN = (("c7", 10, 100), ("d7", 10, 140), ("c1", 250, 100), ("d1", 250, 140), ("d3", 170, 140))


def test_what_it_draws() -> None:
    for mode, kind in (("ansi", str), ("svg", str), ("rgb_array", np.ndarray), ("human", type(None))):
        game = env("brandubh", render_mode=mode)
        game.reset()
        assert isinstance(game.render(), kind)
    game = env("brandubh", render_mode="rgb_array")
    game.reset()
    picture = game.render()
    assert picture.shape == (280, 280, 3)
    # The top rank is row 0; an attacker on d7 goes to a place on c7.
    game.step(encoding_for(load_variant("brandubh")).action("d7-c7"))
    shades = {name: game.render()[row, column].astype(int).sum() for name, row, column in SEEN}
    assert shades["c7"] == shades["d1"] < 150 < 600 < shades["d3"]
    assert shades["d7"] == shades["c1"]
    assert picture[140, 140].tolist() == list(bytes.fromhex("b3261e"))
    assert len({tuple(colour) for colour in picture.reshape(-1, 3)}) == 7


# -- a game of OpenSpiel -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The chararray class is deprecated")  # OpenSpiel uses it to write a game down
@pytest.mark.parametrize("name", slow_but(KEPT, ["copenhagen", "leiden", "alea-evangelii"]))
def test_open_spiel_finds_no_fault(name: str, tmp_path: Any) -> None:
    """By the library's own test of random games, and by a game that it writes down and plays again."""
    import pyspiel
    from absl import flags
    from open_spiel.python.algorithms import generate_playthrough

    flags.FLAGS.mark_as_parsed()
    game = spiel(name, plies=150)
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)
    kept = tmp_path / "playthrough.txt"
    kept.write_text(generate_playthrough.playthrough(f"tablut(variant={name},plies=20)", None, seed=5))
    written, again = generate_playthrough.replay(str(kept))
    assert written == again


def test_its_games_are_those_of_the_batch_in_open_spiel_too() -> None:
    ends = set()
    for name in ("berkeley", "mcgill") * 4:
        batch, state = Batch(name, 1, seed=len(ends)), spiel(name).new_initial_state()
        while not state.is_terminal():
            player = state.current_player()
            assert state.legal_actions() == np.flatnonzero(batch.mask()[0]).tolist()
            planes = np.array(state.observation_tensor(player)).reshape(8, 9, 9)
            np.testing.assert_array_equal(planes.transpose(1, 2, 0), batch.planes()[0])
            actions = batch.sample()
            before = state.clone()
            state.apply_action(int(actions[0]))
            batch.step(actions)
            assert before.legal_actions()
            assert str(before) != str(state)
        (value,), (going,) = batch.results()
        assert (state.returns(), bool(going)) == ([value, -value], False)
        ends.add(int(value))
    assert ends == {-1, 0, 1}
    assert spiel("leiden", plies=7).max_game_length() == 7
    assert spiel("mcgill").max_game_length() == 100
