"""The stored estimates hold the exact numbers, and come out again."""

import pytest

from counting.reachable import estimate
from counting.reachable.certificate_checker import Checker
from counting.reachable.certificates import PositionCertificate
from counting.reachable.drawing import drawer_for
from reports.census import results as census_results
from reports.reachable import CLOSED, EXAMPLES, GAMES, ClosedSample, explanations, results, share
from reports.rendering import REDUCED_BOARDS
from reports.studies.explained.explaining import BOARDS, explain, field_explanations
from tablut.position import square_name
from tablut.variants import load_variant

REDUCED = [name for name in REDUCED_BOARDS if name in results()]


def test_all_games_and_boards_are_there_and_nothing_is_unknown() -> None:
    stored = results()
    assert len(stored) == 22
    assert len(REDUCED) == 7
    assert not sum(result["unknown"] for result in stored.values())


def test_every_sample_of_every_game_on_the_page_is_decided() -> None:
    shares = [share(name) for name in GAMES]
    assert [found.unknown for found in shares if found is not None] == [0] * 15


@pytest.mark.parametrize("name", REDUCED)
def test_the_exact_number_is_within_the_interval(name: str) -> None:
    low, high = (int(end) for end in results()[name]["positions"].values())
    assert low <= census_results()[name]["total"] <= high


@pytest.mark.parametrize(
    "name",
    [
        "ashton-7-4v1",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("brandubh-7-4v1", "brandubh-5-4v0", "ashton-5-4v2", "brandubh")
        ),
    ],
)
def test_stored_estimates_come_out_again(name: str) -> None:
    stored = results()[name]
    again = estimate(name, stored["n"], stored["seed"], lemma_samples=stored["lemmas"]["n"]).model_dump(mode="json")
    for result in (stored, again):
        result["games"] = {key: value for key, value in result["games"].items() if key != "cpu_milliseconds"}
        for key in ("checked", "cpu_seconds", "provenance"):
            result.pop(key, None)
    assert again == stored


@pytest.mark.parametrize("sample", CLOSED, ids=lambda sample: f"{sample.variant}-{sample.sample}")
def test_the_drawn_samples_are_in_pockets_or_have_whole_trees(sample: ClosedSample) -> None:
    number = str(drawer_for(load_variant(sample.variant)).draw(1, sample.sample, 1)[1][0])
    claim = {"pocket": " ".join(sample.squares)} if sample.squares else {"tree": sample.tree}
    certificate = PositionCertificate(i=sample.sample, n=number, **claim)
    assert Checker(load_variant(sample.variant)).certificate(certificate) is None
    assert certificate.i < results()[sample.variant]["n"]


def test_every_sample_without_a_game_or_a_lemma_is_drawn() -> None:
    for name in GAMES:
        games = results()[name]["games"]
        drawn = [bool(sample.squares) for sample in CLOSED if sample.variant == name]
        assert (drawn.count(True), drawn.count(False)) == (games["pockets"], games["exhausted"]), name


def test_the_drawn_closed_position_has_one_predecessor_and_that_is_locked() -> None:
    def name(file: int, rank: int) -> str:
        return square_name(9 * rank + file, 9)

    (example,) = (example for example in EXAMPLES if example.name == "closed")
    reach = Checker(load_variant(example.variant)).reach
    position = reach.game.read(example.position)
    assert reach.counted(position)
    assert reach.lemma(position) is None
    ((before, move),) = reach.predecessors(position)
    assert [name(*cell) for cell in move] == ["f3", "f2"]
    assert reach.lemma(before) == "locked"
    locked = {name(*cell) for cell in reach.locked(before)}
    assert locked | {"f2"} == set(example.squares)


@pytest.mark.parametrize(
    "example", [example for example in EXAMPLES if example.name != "closed"], ids=lambda example: example.name
)
def test_drawn_locks_are_locks(example) -> None:  # type: ignore[no-untyped-def]
    checker = Checker(load_variant(example.variant))
    position, squares = checker.reach.game.read(example.position), " ".join(example.squares)
    assert checker.pocket(position, squares) is None
    assert (checker.lock(position, squares) is None) == (example.name != "pocket")


@pytest.mark.parametrize("name", explanations())
def test_what_is_explained_is_what_the_census_leaves(name: str) -> None:
    found, census = explanations()[name], census_results()[name]
    assert found["counted"]["positions"] == int(census["bound"])
    assert found["reached"] == {"positions": census["total"], "classes": census["total_classes"]}
    pairs = {(row["attackers"], row["defenders"]): (row["counted"], row["reached"]) for row in found["material"]}
    assert pairs == {
        (pair["attackers"], pair["defenders"]): (int(pair["bound"]), pair["reached"]) for pair in census["material"]
    }


def test_every_position_of_a_board_with_encirclement_is_explained() -> None:
    """The other boards of the study take longer. The tests of the study explain them."""
    name = "encirclement-5-8v0"
    found = explain(BOARDS[name]).model_dump(mode="json")
    assert found == {key: value for key, value in field_explanations()[name].items() if key != "provenance"}
    (effect,) = found["fields"]
    assert effect["reached"] - found["reached"]["positions"] == effect["excluded"]["last_move"] == 2_518
