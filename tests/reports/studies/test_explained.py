"""Every counted position of a small board is reached or explained: against plain search, and as stored."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from counting.census import census
from counting.reachable.certificate_checker import PlainReach
from counting.reachable.drawing import drawer_for
from counting.reachable.lemmas import LOCKED, Lemmas, lemmas_for
from reports.reachable import explanations
from reports.rendering import REDUCED_BOARDS
from reports.studies.explained import __main__ as program
from reports.studies.explained import explaining
from reports.studies.explained.__main__ import NAME
from reports.studies.explained.__main__ import explain_command as app
from reports.studies.explained.classes import ClassMarks, Predecessors, close, predecessors_within
from reports.studies.explained.explaining import BOARDS, explain, field_explanations
from tablut.cli.shell import run
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.rules import NaivePosition
from tablut.variants import Variant, load_variant
from tests.support.effort import slow_but
from tests.support.strategies import small_variants

pytestmark = pytest.mark.study
relaxed = settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
QUICK = ("ashton-5-4v0", "brandubh-5-4v0")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in REDUCED_BOARDS]
)
def test_every_position_is_explained_as_stored(name: str, tmp_path: Path) -> None:
    """No lemma holds on any class of the complete census; no game enters what neither reaches."""
    found = explain(name, store=tmp_path / "census", memory=3 << 30).model_dump(mode="json")
    stored = explanations()[name]
    assert found == {key: value for key, value in stored.items() if key != "provenance"}
    assert found["failures"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_every_position_is_explained_as_stored_where_a_later_rule_acts(name: str, tmp_path: Path) -> None:
    found = explain(BOARDS[name], store=tmp_path / "census", memory=3 << 30).model_dump(mode="json")
    assert found == {key: value for key, value in field_explanations()[name].items() if key != "provenance"}


@pytest.mark.parametrize("name", BOARDS)
def test_every_stored_board_has_a_rule_that_acts(name: str) -> None:
    stored = field_explanations()[name]
    (effect,) = stored["fields"]
    assert effect["field"] == name.split("-")[0]
    assert stored["failures"] == 0
    assert effect["plies"] > 0
    assert effect["reached"] != stored["reached"]["positions"]
    lemma = "locked" if effect["field"] == "shieldwall" else "last_move"
    assert [key for key, positions in effect["excluded"].items() if positions] == [lemma]
    assert effect["excluded"][lemma] <= stored["excluded"][lemma]["positions"]


def test_the_notes_list_the_boards_where_a_later_rule_acts() -> None:
    notes = (Path(__file__).parents[3] / "docs/notes/reachability.md").read_text(encoding="utf-8").splitlines()
    for name, stored in field_explanations().items():
        (effect,) = stored["fields"]
        excluded, closed = stored["excluded"], stored["closed"]
        amounts = [stored["counted"], stored["reached"], excluded["locked"], excluded["last_move"], closed["all"]]
        numbers = [amount["positions"] for amount in amounts]
        assert numbers[0] == sum(numbers[1:])
        numbers += [len(closed["layers"]), sum(effect["excluded"].values()), effect["plies"], effect["reached"]]
        assert f"| {name} | {' | '.join(f'{value:,}' for value in numbers)} |" in notes


def test_all_boards_are_stored_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board = tmp_path / "small.toml"
    text = BOARDS["encirclement-5-8v0"].read_text(encoding="utf-8")
    board.write_text(
        text.replace(".b.b.\nb...b\n..K..\nb...b\n.b.b.", "..b..\n.....\n..K..\n.....\n..b.."), encoding="utf-8"
    )
    (tmp_path / "data").mkdir()
    for module in (program, explaining):
        monkeypatch.setattr(module, "BOARDS", {"small": board})
        monkeypatch.setattr(module, "DATA", tmp_path / "data")

    def asked() -> tuple[int, str]:
        code = run(["--boards", "--json"], app, NAME)
        return code, json.loads(capsys.readouterr().out)["boards"][0]["result"]

    assert [asked(), asked()] == [(0, "stored now"), (0, "as stored")]
    path = tmp_path / "data" / "small.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["fields"][0]["plies"] += 1
    path.write_text(json.dumps(stored), encoding="utf-8")
    assert asked() == (1, "differs")
    assert run(["--boards", "-v", "ashton"], app, NAME) == 2
    assert "--boards: cannot be combined" in capsys.readouterr().err


class Row(NamedTuple):
    """A row of a table in ``docs/notes/reachability.md``: numbers of positions, and the number of layers."""

    counted: int
    reached: int
    locked: int
    last_move: int
    closed: int
    circles: int
    layers: int


COPENHAGEN = {
    "4v0": (
        ("..b..", ".....", "b.K.b", ".....", "..b.."),
        Row(counted=213_790, reached=199_528, locked=10, last_move=11_320, closed=2_932, circles=0, layers=2),
    ),
    "6v0": (
        ("..b..", ".b...", "b.K.b", "...b.", "..b.."),
        Row(counted=1_872_718, reached=1_672_736, locked=1_242, last_move=141_356, closed=57_384, circles=0, layers=3),
    ),
    "2v3": (
        ("..b..", "..w..", ".wKw.", ".....", "..b.."),
        Row(counted=6_877_280, reached=6_669_542, locked=112_448, last_move=92_170, closed=3_120, circles=0, layers=2),
    ),
    "4v2": (
        ("..b..", "..w..", "b.K.b", "..w..", "..b.."),
        Row(
            counted=27_005_690,
            reached=26_128_582,
            locked=739_662,
            last_move=132_406,
            closed=5_040,
            circles=0,
            layers=3,
        ),
    ),
}
"""Boards under the rules of Copenhagen: the start, and the row of the table."""


@pytest.mark.parametrize("name", slow_but(["4v0"], COPENHAGEN))
def test_every_position_is_explained_under_the_rules_of_copenhagen(name: str) -> None:
    start, row = COPENHAGEN[name]
    terrain = ("X...X", ".....", "..T..", ".....", "X...X")
    found = explain(replace(load_variant("copenhagen"), name=f"copenhagen-5-{name}", terrain=terrain, start=start))
    excluded = {lemma: amount.positions for lemma, amount in found.excluded.items()}
    assert found.failures == 0
    assert [lemma for lemma, positions in excluded.items() if positions] == ["locked", "last_move"]
    assert row == Row(
        counted=found.counted.positions,
        reached=found.reached.positions,
        locked=excluded["locked"],
        last_move=excluded["last_move"],
        closed=found.closed.all.positions,
        circles=found.closed.recurrent.positions,
        layers=len(found.closed.layers),
    )
    assert row.counted == row.reached + row.locked + row.last_move + row.closed


def test_the_notes_list_the_boards_under_the_rules_of_copenhagen() -> None:
    notes = (Path(__file__).parents[3] / "docs/notes/reachability.md").read_text(encoding="utf-8")
    rows = [line for line in notes.splitlines() if line.startswith("| copenhagen-")]
    assert rows == [
        " | ".join([f"| copenhagen-5-{name}", *(f"{value:,}" for value in row)]) + " |"
        for name, (_, row) in COPENHAGEN.items()
    ]


# -- against plain search --------------------------------------------------------------


def naive_parts(variant: Variant) -> tuple[Counter[str], list[int], dict[str, int]]:
    """Return how many positions the lemmas exclude, the sizes of the layers, and the sums, by plies forward alone."""
    reach, index, size = PlainReach(variant), PlacementIndex(variant), variant.size
    game = reach.plies

    def read(rank: int, side: str) -> NaivePosition:
        cells = index.unrank(rank, "w" if side == "w" else "b").cells
        return NaivePosition({(c % size, c // size): piece for c, piece in enumerate(cells) if piece != "."}, side)

    def key(position: NaivePosition) -> tuple[frozenset, str]:
        return frozenset(position.pieces.items()), position.side

    positions = {key(p): p for p in (read(rank, side) for rank in range(index.size) for side in "wb")}
    successors = {}
    for name, position in positions.items():
        results = (game.apply(position, move) for move in game.legal_moves(position))
        successors[name] = {key(result.position) for result in results if result.outcome is None}
    reached, front = {key(game.start())}, [key(game.start())]
    while front:
        front = [name for name in {after for before in front for after in successors[before]} if name not in reached]
        reached.update(front)
    lemma_of = {name: reach.lemma(position) for name, position in positions.items() if name not in reached}
    closed = {name for name, lemma in lemma_of.items() if lemma is None}
    before: dict[tuple[frozenset, str], set] = {name: set() for name in closed}
    for name in closed:
        for after in successors[name] & closed:
            before[after].add(name)
    layers, left = [], set(closed)
    while layer := {name for name in left if not before[name] & left}:
        layers.append(len(layer))
        left -= layer
    recurrent = 0
    for name in left:
        seen, front = set(), [name]
        while front:
            front = [other for other in {o for f in front for o in successors[f] & closed} if other not in seen]
            seen.update(front)
        recurrent += name in seen
    sums = {"reached": len(reached), "closed": len(closed), "recurrent": recurrent, "after": len(left) - recurrent}
    return Counter(lemma for lemma in lemma_of.values() if lemma is not None), layers, sums


def assert_twins_agree(variant: Variant) -> None:
    found = explain(variant)
    excluded, layers, sums = naive_parts(variant)
    assert found.failures == 0
    assert {name: amount.positions for name, amount in found.excluded.items() if amount.positions} == dict(excluded)
    assert [layer.positions for layer in found.closed.layers] == layers
    assert {
        "reached": found.reached.positions,
        "closed": found.closed.all.positions,
        "recurrent": found.closed.recurrent.positions,
        "after": found.closed.after.positions,
    } == sums
    assert sum(row.counted for row in found.material) == found.counted.positions == 2 * PlacementIndex(variant).size
    for row in found.material:
        assert row.counted == row.reached + row.excluded + row.closed


@relaxed
@given(st.one_of(small_variants(3, 2, 1), small_variants(3, 4, 1, later=True)))
def test_twins_agree_on_random_small_boards(variant: Variant) -> None:
    assume(variant.rules.move_limit is None)
    assert_twins_agree(variant)


@pytest.mark.slow
@relaxed
@given(st.one_of(small_variants(4, 2, 1), small_variants(4, 2, 1, later=True)))
def test_twins_agree_on_larger_random_boards(variant: Variant) -> None:
    assume(variant.rules.move_limit is None)
    assert_twins_agree(variant)


def test_layers_and_circles() -> None:
    """Three layers; two classes that come from each other, with one before and one after them; one from itself."""
    pairs = [(0, 1), (1, 2), (3, 4), (4, 3), (5, 3), (4, 6), (7, 7)]
    sources, targets = np.array(pairs).T
    found = close(9, Predecessors(sources, targets, np.empty(0, dtype=np.int64)))
    assert found.layer.tolist() == [1, 2, 3, 0, 0, 1, 0, 0, 1]
    assert np.flatnonzero(found.recurrent).tolist() == [3, 4, 7]
    assert len(set(found.component.tolist())) == 4
    assert close(0, Predecessors(*[np.empty(0, dtype=np.int64)] * 3)).layer.tolist() == []


# -- classes ---------------------------------------------------------------------------


@relaxed
@given(small_variants(4, 2, 1))
def test_classes_are_those_of_all_positions(variant: Variant) -> None:
    drawer, engine, marks = drawer_for(variant), engine_for(variant), ClassMarks(variant)
    words, counts = np.unique(
        engine.canonical(drawer.positions(list(range(drawer.size))))[0], axis=0, return_counts=True
    )
    np.testing.assert_array_equal(engine.orbit_sizes(words), counts)
    unmarked = list(marks.unmarked())
    assert sum(int(some.orbits.sum()) for some in unmarked) == drawer.size
    assert sum(len(some.boards) for some in unmarked) == len(words)
    half = engine.boards(words[::2])
    assert marks.mark(half) == len(half)
    assert marks.mark(half[:1]) == 0
    assert sum(len(some.boards) for some in marks.unmarked()) == len(words) - len(half)


# -- what must not pass ----------------------------------------------------------------


def test_a_lemma_that_excludes_a_reached_position_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = Lemmas.of_boards

    def wrong(self: Lemmas, boards: np.ndarray) -> np.ndarray:
        codes = honest(self, boards)
        codes[(boards == self.tables.origins.start).all(axis=1)] = LOCKED
        return codes

    monkeypatch.setattr(Lemmas, "of_boards", wrong)
    assert run(["-v", "brandubh-5-4v0", "--json"], app, NAME) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["failures"], found["failed"]) == (1, ["2b2/5/b1K1b/5/2b2 b"])
    assert run(["-v", "brandubh-5-4v0"], app, NAME) == 1
    assert "1 classes are contradictory" in capsys.readouterr().out


def test_a_set_that_a_game_may_enter_is_noticed() -> None:
    """The first plies come from the start, which no lemma excludes and which is not among them."""
    engine = engine_for(load_variant("brandubh-5-4v0"))
    first = engine.canonical(engine.expand(engine.words(engine.start())).words)[0]
    found = predecessors_within(engine.variant, np.unique(first, axis=0))
    assert found.entered.tolist() == list(range(len(np.unique(first, axis=0))))


def test_a_census_that_lacks_a_position_does_not_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not marked is held to be unreached; then a game enters the set."""
    honest, left_out = ClassMarks.mark, []

    def forgetful(self: ClassMarks, boards: np.ndarray) -> int:
        if not left_out and len(boards) > 10:
            left_out.append(boards[3])
            honest(self, np.delete(boards, 3, axis=0))
            return len(boards)
        return honest(self, boards)

    monkeypatch.setattr(ClassMarks, "mark", forgetful)
    with pytest.raises(ArithmeticError, match="are not all counted ones"):
        explain("brandubh-5-4v0", store=tmp_path / "census")
    assert len(left_out) == 1
    assert lemmas_for(load_variant("brandubh-5-4v0")).of_boards(left_out[0][None])[0] == 0


def test_what_cannot_be_explained_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([], app, NAME) == 2
    assert "'ashton': has about 2.4e+26 classes of counted positions" in capsys.readouterr().err
    limited = tmp_path / "limited.toml"
    text = (Path(__file__).parents[3] / "tablut/variants/data/brandubh-5-4v0.toml").read_text(encoding="utf-8")
    assert "move_limit" not in text
    limited.write_text(text.replace('first = "black"', 'first = "black"\nmove_limit = 9'), encoding="utf-8")
    with pytest.raises(InputError, match="ends a game after 9 plies; remove move_limit"):
        explain(limited)


def test_a_census_is_taken_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "census"
    census("brandubh-5-4v0", plies=4, store=store)
    command = ["-v", "brandubh-5-4v0", "--store", str(store)]
    assert run(command, app, NAME) == 0
    assert "reached" in capsys.readouterr().out
    part = next((store / "classes" / "ply-003").glob("part-*.rows"))
    damaged = bytearray(part.read_bytes())
    damaged[-1] ^= 1
    part.write_bytes(damaged)
    assert run([*command], app, NAME) == 2
    assert part.name in capsys.readouterr().err
