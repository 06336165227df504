"""Programs of other protocols: one that knows a game by heart plays it, one that misbehaves loses, ours speaks them."""

import io
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut import Board
from tablut.cli.shell import run
from tablut.formats.opentafl import write_position, write_rules
from tablut.play.arena import MatchPlan, Openings, contestant, play_match
from tablut.play.bridges import programs
from tablut.play.bridges.htp import HtpFront
from tablut.play.bridges.otep import OtepFront, OtepWords
from tablut.play.bridges.uci import Front, TaflZeroFront
from tablut.play.protocol import EngineOptions
from tablut.play.search.limits import SearchLimits
from tablut.position import Position
from tablut.variants import load_variant
from tests.support.effort import examples

PARTNER = Path(__file__).parents[1] / "support" / "partner.py"
ONE = SearchLimits(nodes=1)


@pytest.fixture
def partner(tmp_path: Path) -> Callable[..., str]:
    def text(protocol: str, mode: str = "good", size: int = 11) -> str:
        words = [sys.executable, str(PARTNER), protocol, mode, str(tmp_path / protocol), str(size)]
        own = {7: "option.variant=brandubh,", 11: ""}[size] if protocol == "taflzero" else ""
        return f"{protocol}:{shlex.join(words)}@{own}{'nodes=9' if protocol == 'taflzero' else 'movetime=60'}"

    return text


def plan(variant: str, first: str, second: str = "random") -> MatchPlan:
    players = (contestant(one, ONE) for one in (first, second))
    return MatchPlan(load_variant(variant), *players, games=2, openings=Openings(0, 1, 1))


@pytest.mark.parametrize(
    ("variant", "first", "second"), [("brandubh", "otep", "taflzero"), ("copenhagen", "htp", "otep")]
)
def test_programs_of_two_protocols_play_a_game_by_heart_from_either_side(
    partner: Callable[..., str], tmp_path: Path, variant: str, first: str, second: str
) -> None:
    size = load_variant(variant).size
    report = play_match(plan(variant, partner(first, size=size), partner(second, size=size)))
    assert report.summary.faults == []
    assert [(one.game.winner, one.game.termination) for one in report.played] == 2 * [("white", "king_escaped")]
    assert len({one.game.moves for one in report.played}) == 1
    said = (tmp_path / "otep").read_text().splitlines()
    assert said.count("finish 3") == 2
    assert said[-1] == "goodbye"
    # It asked for captures.
    assert any(line.startswith("opponent-move") and "x" in line for line in said) == (size == 7)
    assert {f"side {side}" for side in ("attackers", "defenders")} <= set(said)


MODES = {
    "illegal": ("illegal", "is not legal"),
    "nonsense": ("illegal", "zzy"),
    "huge": ("crash", "wrote a line of more than"),
    "die": ("crash", "exited with code 3"),
    "stall": ("time", "within"),
    "refuse": ("crash", "cannot go on"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("protocol", ["otep", "taflzero", "htp"])
def test_a_partner_that_misbehaves_loses_its_games_and_the_match_goes_on(
    partner: Callable[..., str], monkeypatch: pytest.MonkeyPatch, protocol: str, mode: str
) -> None:
    if (protocol, mode) == ("taflzero", "refuse"):
        return  # it has no word for that
    text = partner(protocol, mode)
    if mode == "stall":
        monkeypatch.setattr(programs, "_LATE", 0.3)
        text = text.replace("movetime=60", "movetime=0.3").replace("nodes=9", "movetime=0.3")
    report = play_match(plan("copenhagen", text))
    termination, fault = MODES[mode]
    assert [(one.points, one.game.termination) for one in report.played] == 2 * [(0, termination)]
    for line in report.summary.faults:
        assert fault in line
        assert line.isprintable()


def test_a_rule_that_only_the_history_decides_is_judged_by_the_match(
    partner: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["match", partner("otep"), "random", "-v", "copenhagen", "-n", "2", "--opening", "0", "--json"]) == 0
    assert "does not support repetition" in capsys.readouterr().err


# -- our engine, spoken to in other protocols ----------------------------------------------------


class Talk:
    """A front, and what it said."""

    def __init__(self, front: type[Front], variant: str, player: str = "random") -> None:
        self.said: list[str] = []
        options = EngineOptions(variant=variant, player=player, hash=1)
        self.front = front(self.said.append, options, ONE)

    def __call__(self, *lines: str) -> list[str]:
        before = len(self.said)
        for line in lines:
            self.front.handle(line)
            self.front.finish()
        return self.said[before:]


def test_our_engine_plays_in_opentafl() -> None:
    talk, board = Talk(OtepFront, "ashton"), Board("brandubh")
    assert talk.said == ["hello"]
    assert (
        talk("hello", f"rules {write_rules(board.variant)}", "side defenders", "clock 60000 60000 0 0 0", "start") == []
    )
    for number in range(6):
        mine = list(board.legal_moves)[number]
        board.push(mine)
        (said,) = talk(f"opponent-move {mine} {write_position(board.position)}", "play defenders")
        board.push_text(said.removeprefix("move "))
        if number == 3:
            # The host did not take the move: it says where the game stands, and asks again.
            board.pop()
            record = write_position(board.position)
            (said,) = talk("error 2", f"opponent-move {mine} {record}", "play defenders")
            board.push_text(said.removeprefix("move "))
        if number % 2:
            assert talk(f"move {write_position(board.position)}") == []
    record = write_position(board.position)
    (said,) = talk(f"position {record}", "side attackers", "analyze 3 1")
    assert board.is_legal(said.split()[2])
    assert said.startswith("analysis 1 ")
    assert all(line.startswith("error 0 ") for line in talk("dance", "side b", "clock soon", "position /7/"))
    assert [line[:9] for line in talk("rules dim:7 tfr:w start:/7/")] == ["error -1 "]
    assert talk("finish 1") == []
    assert talk.front.handle("goodbye") is False


def test_our_engine_analyses_several_lines_in_opentafl() -> None:
    talk, board = Talk(OtepFront, "brandubh", "alphabeta"), Board("brandubh")
    talk.front._limits = SearchLimits(nodes=3000)
    (said,) = talk(f"rules {write_rules(board.variant)}", "side attackers", "analyze 3 1")
    word, count, *found = said.split()
    assert (word, count, len(found), len(set(found[::2]))) == ("analysis", "3", 6, 3)
    assert all(map(board.is_legal, found[::2]))
    assert talk("play attackers")[0].startswith("move ")


def test_our_engine_plays_where_taflzero_does() -> None:
    talk = Talk(TaflZeroFront, "copenhagen")
    assert talk("uci")[-1] == "uciok"
    fen = "3aaaaa3/5a5/11/a4d4a/a3ddd3a/aa1ddkdd1aa/a3ddd3a/a4d4a/11/5a5/3aaaaa3 a"
    info, best = talk(f"position fen {fen} moves d1d3", "go nodes 5")
    assert info.startswith("info depth ")
    assert " speed " in info
    board = Board("copenhagen")
    board.push_text("d1-d3")
    assert board.is_legal(best.removeprefix("bestmove "))
    assert "-" not in best
    assert talk("position startpos moves a1a2", "go nodes 0")[-1] == "bestmove (none)"
    assert talk.front.handle("quit") is False
    assert talk.said[-1] == "bye"


def test_our_engine_answers_the_text_protocol() -> None:
    talk, board = Talk(HtpFront, "copenhagen"), Board("copenhagen")
    for line, reply in {
        "# nothing": None,
        "name": "= tablut\n",
        "known_command play": "= true\n",
        "board_size 11": "= \n",
        "time_settings fischer 15 10": "= \n",
        "play attacker e1 e3": "= \n",
        "final_status": "= ongoing\n",
    }.items():
        assert talk(line) == ([] if reply is None else [reply])
    board.push_text("e1-e3")
    (said,) = talk("generate_move")
    equals, play, role, start, target = said.split()
    assert (equals, play, role) == ("=", "play", "defender")
    board.push_text(f"{start}-{target}")
    assert talk("show_board") == ["= \n" + "\n".join(board.position.rows()) + "\n"]
    refused = talk("play defender e1 e3", "play attacker a1 a2", "board_size 12", "dance", "play", "time_settings x")
    assert len(refused) == 6
    assert all(line.startswith("? ") and line.count("\n") == 1 for line in refused)
    assert talk.front.handle("quit") is False


def test_the_text_protocol_has_all_commands_of_its_program() -> None:
    talk = Talk(HtpFront, "copenhagen")
    (listed,) = talk("list_commands")
    assert len(listed.split()[1:]) == 17
    assert all(talk(f"known_command {name}") == ["= true\n"] for name in listed.split()[1:])
    (starts,) = talk("play_from")
    board = Board("copenhagen")
    squares = {str(move).partition("-")[0] for move in board.legal_moves}
    assert starts.split()[1:] == ["attacker", *sorted(squares, key=lambda name: (int(name[1:]), name))]
    targets = {str(move).partition("-")[2] for move in board.legal_moves if str(move).startswith("d11-")}
    assert set(talk("play_to attacker d11")[0].split()[1:]) == targets
    assert talk("play_to defender f8")[0].startswith("? ")
    assert talk("show_board_open_tafl") == [
        "= /3AAAAA3/5A5/11/A4D4A/A3DDD3A/AA1DDKDD1AA/A3DDD3A/A4D4A/11/5A5/3AAAAA3/\n"
    ]
    start = talk("show_board")
    assert talk("play attacker d11 d9", "play_undo", "show_board")[-1:] == start
    assert talk("play attacker d11 d9", "time_settings fischer 1 0", "show_board")[-1:] == start
    assert talk("play defender resigns", "final_status")[-1] == "= attacker_wins\n"
    assert talk("generate_move")[0].startswith("? ")
    assert talk("first_move defender", "final_status")[-1] == "= ongoing\n"
    assert talk("play_from")[0].startswith("= defender ")
    assert talk("play_undo")[0].startswith("? ")


def planned(size: int, first: int, now: int, made: int) -> int:
    """Return the milliseconds that OpenTafl 0.4.8 plans for a move, given its clocks without overtime.

    From `planTimeUsage` in its class `AiWorkspace`; ``made`` is the number of moves that the side has made.
    """
    moves = {7: 6, 9: 10}.get(size, 20)
    if made < moves // 2:
        return int(first * 0.05) // (moves // 2)
    if now > first * 0.2:
        return int(first * 0.75) // moves
    return max(now // moves, 3)


@pytest.mark.parametrize("size", [7, 9, 11, 13])
@pytest.mark.parametrize("seconds", [0.1, 1, 2.5])
def test_opentafl_plans_the_limit_of_a_move_from_its_clock(size: int, seconds: float) -> None:
    words = OtepWords()
    clocks = [words._clock(size, seconds).split() for _ in range(60)]
    assert {(word, *overtime) for word, _, _, *overtime in clocks} == {("clock", "0", "0", "0")}
    first = int(clocks[0][1])
    for made, (_, attackers, defenders, *_) in enumerate(clocks):
        assert attackers == defenders
        # It stops half a second before the planned time.
        assert planned(size, first, int(attackers), made) - 500 == int(1000 * seconds)
    # If the limit has grown a lot, as on a clock with a long increment, it is not reached, rather than exceeded.
    assert planned(size, first, int(words._clock(size, 100 * seconds).split()[1]), 60) - 500 < 100_000 * seconds


WORDS = (
    "rules side attackers position clock opponent-move move play analyze 9 -1 1* finish error startpos fen go nodes "
    "d2-d3 | /7/7/7/7/7/7/7/ dim:7 start:/7/ play attacker d1 generate_move board_size time_settings fischer"
)


@settings(max_examples=examples(30))
@given(
    st.sampled_from([OtepFront, TaflZeroFront, HtpFront]),
    st.lists(
        st.one_of(
            st.sampled_from(WORDS.split()),
            st.text(max_size=9),
        ),
        max_size=9,
    ),
)
def test_no_line_is_a_crash_in_any_protocol(front: type[Front], words: list[str]) -> None:
    talk = Talk(front, "brandubh-5-4v0")
    for first in range(len(words)):
        assert all(line.replace("\n", "").isprintable() for line in talk(" ".join(words[first:])))


@pytest.mark.slow
def test_our_engines_play_from_a_position_through_two_bridges() -> None:
    start = Position.parse("3b3/3b3/3w3/bbwKwbb/3w3/3b3/2b4 w", 7)
    engine = f"{shlex.quote(sys.executable)} -m tablut engine -v brandubh --player random --protocol"
    players = f"otep:{engine} otep@movetime=60", f"taflzero:{engine} taflzero@nodes=1,option.variant=brandubh"
    report = play_match(plan("brandubh", *players)._replace(start=start, openings=Openings(3, 1, 1), games=4))
    assert report.summary.faults == []
    assert all(len(one.game.moves) > 3 for one in report.played)


@pytest.mark.parametrize("protocol", ["otep", "taflzero", "htp"])
def test_the_command_speaks_each_protocol(
    protocol: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {"otep": "play attackers\n", "taflzero": "position startpos\ngo nodes 1\n", "htp": "generate_move\n"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines[protocol].encode())))
    assert run(["engine", "--protocol", protocol, "-v", "copenhagen", "--player", "random"]) == 0
    told = capsys.readouterr().out
    move = told.strip().splitlines()[-1].partition("move ")[2] if protocol != "htp" else told[len("= play attacker ") :]
    Board("copenhagen").push_text(move.strip().replace(" ", "-"))
