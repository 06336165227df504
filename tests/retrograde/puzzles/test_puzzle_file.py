"""Puzzle files and stipulations: read, written, refused, judged."""

from importlib import resources

import pytest

from reports.studies.collection.making import format_puzzles
from retrograde.proofs.solver import solve
from retrograde.proofs.win_search import ProofLimits
from retrograde.puzzles.puzzle_file import (
    Puzzle,
    Stipulation,
    judge,
    parse_puzzles,
    read_puzzle_text,
    read_puzzles,
    shipped_ids,
)
from tablut.errors import InputError
from tablut.position import Position
from tablut.variants import load_variant

START = "2b2/5/b1K1b/5/2b2 w"
LINE = (
    f"{START}; id=one; variant=ashton-5-4v0; stipulation=white wins in 3; first=c3-b3 c3-d3 c3-c2 c3-c4; grade=1; "
    "source=the start, shown at https://example.org/?a=b; x-mine=kept"
)


def test_what_is_read_is_written() -> None:
    (puzzle,) = parse_puzzles("file", f"# a comment\n\n  {LINE}\n")
    assert puzzle.id == "one"
    assert puzzle.stipulation == Stipulation("white", 3)
    assert puzzle.first is not None
    assert [str(move) for move in puzzle.first] == ["c3-b3", "c3-d3", "c3-c2", "c3-c4"]
    assert puzzle.tags == {"grade": "1", "source": "the start, shown at https://example.org/?a=b", "x-mine": "kept"}
    text = format_puzzles([puzzle], "a header\nof two lines")
    assert text == f"# a header\n# of two lines\n{LINE}\n"
    assert parse_puzzles("file", text) == [puzzle]


def test_lines_without_tags() -> None:
    first, second = parse_puzzles("file", f"{START}\n\n{START} note=x\n", "ashton-5-4v0")
    assert (first.id, second.id) == ("1", "3")
    assert first.stipulation is first.first is None
    assert first.variant == "ashton-5-4v0"
    assert second.position.fields == {"note": "x"}


@pytest.mark.parametrize("text", ["white wins in 5", "black wins in 12", "white wins", "black wins", "draw"])
def test_stipulations_round_trip(text: str) -> None:
    assert str(Stipulation.parse(text)) == text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "the side to move is missing"),
        (f"{START}; id", "must be name=value"),
        (f"{START}; stipulation=white wins in 0", "must be like 'white wins in 5'"),
        (f"{START}; stipulation=draw in 3", "must be like 'white wins in 5'"),
        (f"{START}; first=c3", "move 'c3'"),
        (f"{START}; variant=brandubh-5-4v0", "of 'ashton-5-4v0'"),
        (f"{START}; stipulaton=draw", "did you mean 'stipulation'?"),
        (f"{START}; mine=kept", "names of your own tags must begin with 'x-'"),
        (f"{START}; game={'0' * 64}", "other rules than 'ashton-5-4v0'"),
    ],
)
def test_bad_lines_are_named(line: str, message: str) -> None:
    with pytest.raises(InputError, match="puzzle file 'mine', line 2") as caught:
        parse_puzzles("mine", f"# first\n{line}", "ashton-5-4v0")
    assert message in str(caught.value)


def test_rules_that_do_not_ship_are_written_by_their_digest(tmp_path) -> None:
    own = tmp_path / "ashton.toml"
    shipped = (resources.files("tablut.variants") / "data" / "ashton-5-4v0.toml").read_text()
    own.write_text(shipped.replace('repetition = "draw"', 'repetition = "none"'))
    variant = load_variant(str(own))
    puzzle = Puzzle(Position.parse(START, 5), variant.name, Stipulation("white", 3), "one", game=variant.digest)
    line = str(puzzle)
    assert f"; game={variant.digest}" in line
    assert "ashton" not in line
    assert [str(puzzle) for puzzle in parse_puzzles("mine", line, str(own))] == [line]
    with pytest.raises(InputError, match=r"mine"):
        parse_puzzles("mine", line)
    with pytest.raises(InputError, match="ashton-5-4v0"):
        parse_puzzles("mine", line, "ashton-5-4v0")


def test_a_puzzle_that_ships_is_found_by_its_id_in_any_case() -> None:
    for id_ in shipped_ids():
        (puzzle,) = read_puzzles(id_.title())
        assert puzzle.id == id_
    assert len(read_puzzles("COLLECTION")) == len(shipped_ids())
    for wrong, meant in {"colection": "collection", "clear-edg": "clear-edge", "brandub": "brandubh"}.items():
        with pytest.raises(InputError, match=f"{meant}"):
            read_puzzle_text(wrong)


def judged(
    stipulation: str | None, first: str | None = None, limits: ProofLimits | None = None, text: str = START
) -> str:
    variant = load_variant("ashton-5-4v0")
    tags = "".join(
        f"; {name}={value}" for name, value in (("stipulation", stipulation), ("first", first)) if value is not None
    )
    (puzzle,) = parse_puzzles("file", text + tags, variant.name)
    return judge(puzzle, solve(variant, Position.parse(text, 5), limits=limits))


@pytest.mark.parametrize(
    ("stipulation", "first", "verdict"),
    [
        ("white wins in 3", None, "holds"),
        ("white wins", None, "holds"),
        ("white wins in 1", None, "refuted"),
        ("white wins in 5", None, "refuted"),
        ("black wins", None, "refuted"),
        ("black wins in 2", None, "refuted"),
        ("draw", None, "refuted"),
        ("white wins in 3", "c3-c4 c3-b3 c3-d3 c3-c2", "holds"),
        ("white wins in 3", "c3-c4", "refuted"),
        (None, "c3-c4", "refuted"),
        (None, None, "none"),
    ],
)
def test_judging_what_is_proved(stipulation: str | None, first: str | None, verdict: str) -> None:
    assert judged(stipulation, first) == verdict


def test_judging_what_is_not() -> None:
    few = ProofLimits(nodes=8, positions=0)
    variant = load_variant("brandubh")
    solution = solve(variant, Position.parse(variant.start_position, 7), limits=ProofLimits(nodes=3000, positions=0))
    assert solution.status == "unknown"
    position = solution.position
    shortest = solution.bounds["white"].no_win_within

    def verdict(stipulation: Stipulation) -> str:
        return judge(Puzzle(position, variant.name, stipulation), solution)

    assert verdict(Stipulation("white", shortest)) == "refuted"
    assert verdict(Stipulation("white", shortest + 2)) == "unknown"
    assert verdict(Stipulation("white")) == verdict(Stipulation(None)) == "unknown"
    assert judged("white wins in 3", limits=few) == "unknown"
