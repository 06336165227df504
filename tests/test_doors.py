"""Every door of the toolkit takes a rule set by value, name or path, and a position by value or as any text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counting import bounds
from counting.census import census
from counting.exclusions import count_exclusions
from counting.paper import PaperEquations
from counting.reachable import estimate
from counting.spaces import spaces
from retrograde.proofs import Solver, solve
from retrograde.solver.solution import memory_needed
from retrograde.solver.tier_graph import tier_graph
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.probing import prober_for, shipped_store
from tablut import Board, Move, Position, svg
from tablut.env import Batch
from tablut.errors import InputError
from tablut.formats import bologna, opentafl
from tablut.formats.reading import as_position, read_move, read_position
from tablut.play.arena import Tournament, play_match
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search import Searcher
from tablut.prober import find_prober
from tablut.records import read_record
from tablut.rules import NaiveGame
from tablut.status import check_playable, position_status
from tablut.strip import draw_strip
from tablut.variants import as_variant, load_variant
from tests.twins.census import naive_census
from tests.twins.solver import plain_solution

NAME = "ashton-5-4v0"
FILE = Path(__file__).resolve().parents[1] / "tablut" / "variants" / "data" / f"{NAME}.toml"
TEXT = "2b2/5/b1K1b/5/2b2 w"
POSITION = Position.parse(TEXT, 5)


def _untitled(picture: str) -> str:
    """Return a picture without its title, which names the rule set as it was given."""
    untitled, titles = re.subn("<title>.*?</title>", "", picture)
    assert titles
    return untitled


# What is called with a rule set; what is returned is compared between its forms.
VARIANT_DOORS: dict[str, Callable[[Any], Any]] = {
    "as_variant": lambda variant: as_variant(variant).digest,
    "Board": lambda variant: Board(variant).position,
    "read_record": lambda variant: read_record("1. c3-b3 *", variant).moves,
    "svg.board": lambda variant: _untitled(svg.board(variant)),
    "Batch": lambda variant: Batch(variant, 1).position(0),
    "position_status": lambda variant: position_status(variant, POSITION),
    "check_playable": lambda variant: check_playable(variant, POSITION),
    "as_position": lambda variant: as_position(TEXT, as_variant(variant)),
    "NaiveGame": lambda variant: NaiveGame(variant).start(),
    "Searcher": lambda variant: Searcher(variant, hash_mib=1).variant.digest,
    "make_player": lambda variant: type(make_player("random", variant, PlayerOptions(seed=1))),
    "play_match": lambda variant: play_match(variant, "random@nodes=1", "random@nodes=1").summary.score,
    "Tournament": lambda variant: len(Tournament(["random@nodes=1"] * 2, variant).play().summary.table),
    "find_prober": lambda variant: find_prober(variant).probe(Board(NAME, TEXT)).dtm,
    "bounds": lambda variant: bounds(variant).corrected,
    "spaces": lambda variant: sorted(spaces(variant)),
    "PaperEquations": lambda variant: PaperEquations(variant)["eq4"].verified_value(),
    "naive_census": lambda variant: naive_census(variant, 1),
    "census": lambda variant: census(variant, plies=1).plies[-1].new,
    "count_exclusions": lambda variant: count_exclusions(variant, 2).sets,
    "estimate": lambda variant: estimate(variant, 1, 1).certificates,
    "memory_needed": memory_needed,
    "tier_graph": lambda variant: sorted(tier_graph(variant, 3)),
    "plain_solution": lambda variant: plain_solution(variant, ["5/5/5/1b1K1/5 b"]).value("5/5/5/1b1K1/5 b"),
    "Solver": lambda variant: Solver(variant).variant.digest,
    "solve": lambda variant: solve(variant, TEXT).dtm,
    "draw_strip": lambda variant: _untitled(draw_strip(variant, TEXT, ["c3-c4"])),
    "prober_for": lambda variant: prober_for(variant).probe(Board(NAME, TEXT)),
    "shipped_store": shipped_store,
}
POSITION_DOORS: dict[str, Callable[[Any], Any]] = {
    "Board": lambda position: Board(NAME, position).position.cells,
    "as_position": lambda position: as_position(position, load_variant(NAME)).cells,
    "svg.board": lambda position: svg.board(NAME, position),
    "Batch": lambda position: Batch(NAME, positions=[position]).position(0),
    "position_status": lambda position: position_status(NAME, position),
    "solve": lambda position: solve(NAME, position).winning_moves,
    "Solver.solve": lambda position: Solver(NAME).solve(position).dtm,
    "draw_strip": lambda position: draw_strip(NAME, position, [Move.parse("c3-c4", 5)]),
}
MOVE_DOORS: dict[str, Callable[[Any], Any]] = {
    "Board.push": lambda move: _pushed(lambda board: board.push(move)),
    "Board.push_text": lambda move: _pushed(lambda board: board.push_text(str(move))),
    "draw_strip": lambda move: draw_strip(NAME, TEXT, [move]),
    "svg.board": lambda move: svg.board(NAME, last_move=move, arrows=[move]),
}
VARIANT_FORMS = [load_variant(NAME), NAME.upper(), FILE]
POSITION_FORMS = [
    POSITION,
    Board(NAME, TEXT),
    TEXT,
    POSITION.grid(),
    opentafl.write_position(POSITION) + " w",
    bologna.write_state(POSITION),
]
MOVE_FORMS = [
    Move.parse("c3-b3", 5),
    "c3-b3",
    "C3-B3",
    "c3b3",
    "Kc3-b3",
    "c3-b",
    "2 2 2 1 1",
    '{"from":"c3","to":"b3"}',
]


def _pushed(push: Callable[[Board], object]) -> str:
    board = Board(NAME)
    push(board)
    return str(board.position)


def _same(answers: list[Any]) -> None:
    assert all(answer == answers[0] for answer in answers), answers


def test_what_doors_return_is_shown_short_and_as_tables() -> None:
    """Its repr has a few hundred characters; in a notebook every value is escaped, and every row can be had."""
    board, counted = Board("ashton"), census(NAME, plies=30)
    board.push(next(iter(board.legal_moves)))
    shown = [
        board,
        board.variant,
        board.variant.regions,
        board.position,
        board.legal_moves,
        board.record({"White": "A" * 999}),
    ]
    results = [bounds("ashton"), counted, estimate(NAME, 1, 1)]
    for thing in [*shown, *results, *spaces("ashton").values(), solve(NAME, TEXT), count_exclusions(NAME, 2)]:
        assert len(repr(thing)) < 400, type(thing)
    assert [row["new"] for row in counted.to_rows()] == [ply.new for ply in counted.plies]
    assert counted.to_rows("material") == [pair.model_dump() for pair in counted.material]
    assert counted.plies[0].to_rows() == [counted.plies[0].model_dump()]
    with pytest.raises(InputError, match="table 'x'"):
        counted.to_rows("x")
    for found in results:
        page = found._repr_html_()
        assert page.count("<table>") == 1 + len(found._tables())
        assert page.count("<tr>") == page.count("</tr>") > len(found._tables())
    sly = counted.model_copy(update={"position": "<b>", "plies": counted.plies * 9})._repr_html_()
    assert "<b>" not in sly
    assert "&lt;b&gt;" in sly
    assert f"20 of {9 * len(counted.plies)} rows" in sly


@pytest.mark.parametrize("name", VARIANT_DOORS)
def test_a_rule_set_in_every_form(name: str) -> None:
    door = VARIANT_DOORS[name]
    _same([door(form) for form in VARIANT_FORMS])


@pytest.mark.parametrize("name", POSITION_DOORS)
def test_a_position_in_every_form(name: str) -> None:
    door = POSITION_DOORS[name]
    _same([door(form) for form in POSITION_FORMS])


@pytest.mark.parametrize("name", MOVE_DOORS)
def test_a_move_in_every_form(name: str) -> None:
    door = MOVE_DOORS[name]
    _same([door(form) for form in MOVE_FORMS])


def test_a_tablebase_probes_every_form() -> None:
    store = shipped_store("mcgill")
    assert store is not None
    tablebase = open_tablebase(store)
    text = "9/9/4b4/9/9/1K7/9/9/9 w"
    position = Position.parse(text, 9)
    forms = [text, position, Board("mcgill", text), position.grid(), bologna.write_state(position)]
    _same([tablebase.probe(form) for form in forms])
    with pytest.raises(InputError, match="position 7"):
        tablebase.probe(7)  # type: ignore[arg-type]


WRONG: list[tuple[dict[str, Callable[[Any], Any]], list[Any], str]] = [
    (VARIANT_DOORS, [9, "asthon"], "variant"),
    (POSITION_DOORS, [9, "9/9 w", Board("brandubh")], "position"),
    (MOVE_DOORS, [9, "c3-b9"], "move"),
]


@pytest.mark.parametrize(("doors", "values", "subject"), WRONG, ids=lambda value: value if type(value) is str else "")
def test_what_is_none_is_refused_in_one_line(
    doors: dict[str, Callable[[Any], Any]], values: list[Any], subject: str
) -> None:
    for name, door in doors.items():
        for wrong in values:
            with pytest.raises(InputError) as caught:
                door(wrong)
            assert caught.value.subject.startswith(subject), name
            assert "\n" not in str(caught.value), name


def test_a_json_state_without_a_side_takes_it_beside() -> None:
    over = json.dumps(json.loads(bologna.write_state(POSITION)) | {"turn": "DRAW"})
    assert read_position(over, 5, "b").side == "b"
    with pytest.raises(InputError):
        read_position(over, 5)
    with pytest.raises(InputError):
        read_position(TEXT, 5, "b")


@pytest.mark.parametrize(
    "door",
    [
        Board("brandubh").push_text,
        lambda wrong: read_position(wrong, 5),
        lambda wrong: read_move(wrong, 5),
        read_record,
    ],
)
@pytest.mark.parametrize("wrong", [3, None, ["e4-f4"]])
def test_what_is_no_text_is_refused_in_one_line(door: Callable[[Any], object], wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^(move|position|record) [^\n]*\Z"):
        door(wrong)
