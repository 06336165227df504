"""The line protocol: what every line is answered with, how fast a search stops, and the client of the docs."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.players import Choice, player_names
from tablut.play.protocol import COMMANDS, LONGEST_LINE, OPTIONS, EngineOptions, EngineSession, RunningSearch
from tablut.play.search import Searcher, SearchLimits
from tablut.position import Move, Position
from tablut.variants import variant_names
from tests.support.effort import examples
from tests.support.waiting import PATIENCE, eventually
from tests.tablut.test_search_tree import solution

INFO = re.compile(
    r"info depth \d+( multipv \d)?( score (cp|mate) -?\d+)? nodes \d+ nps \d+ time \d+ tbhits \d+ pv( [a-i]\d-[a-i]\d)+"
)


class Talk:
    """An engine, and what it said."""

    def __init__(self, **options: object) -> None:
        self.said: list[str] = []
        self._heard = threading.Condition()
        self.engine = EngineSession(self._hear, EngineOptions(**{"hash": 1, **options}))  # type: ignore[arg-type]

    def _hear(self, line: str) -> None:
        with self._heard:
            self.said.append(line)
            self._heard.notify_all()

    def __call__(self, *lines: str) -> list[str]:
        """Send lines and return what was said to them, up to the end of a search with limits."""
        before = len(self.said)
        for line in lines:
            assert self.engine.handle(line)
        if self.engine._search is not None and not self.engine._search.endless:
            self.engine.finish()
        return self.said[before:]

    def wait(self, wanted: Callable[[str], bool], seconds: float = PATIENCE) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: any(map(wanted, self.said)), seconds)


def test_the_greeting_tells_every_option() -> None:
    said = Talk()("uci")
    assert said[0].startswith("id name tablut")
    assert said[-1] == "uciok"
    for name in OPTIONS:
        assert sum(line.startswith(f"option name {name} type ") for line in said) == 1
    assert all(f"var {name}" in " ".join(said) for name in player_names())
    assert all(name in " ".join(said) for name in variant_names())
    assert Talk()("isready") == ["readyok"]


@pytest.mark.parametrize("limit", ["nodes 2000", "depth 3", "movetime 100", "depth 40 nodes 1000", "nodes 1"])
def test_a_search_tells_lines_and_one_best_move(limit: str) -> None:
    talk = Talk()
    *info, best = talk("position startpos moves e4-f4", f"go {limit}")
    board = Board("ashton")
    board.push("e4-f4")
    assert info or limit == "nodes 1"
    assert all(INFO.fullmatch(line) for line in info)
    assert board.is_legal(best.removeprefix("bestmove "))
    if limit == "depth 3":
        assert [line.split()[2] for line in info] == ["1", "2", "3"]


@pytest.mark.parametrize("player", ["alphabeta", "random"])
def test_every_go_of_a_burst_has_its_best_move(player: str) -> None:
    talk = Talk(variant="brandubh", player=player)
    times = 50 if player == "alphabeta" else 3
    talk("isready", "go infinite", *(times * ["stop", "position startpos", "go infinite"]), "stop")
    talk.engine.finish()
    assert sum(line.startswith("bestmove") for line in talk.said) == times + 1
    assert not any("a search runs" in line for line in talk.said)


def test_what_waits_while_a_search_runs() -> None:
    talk = Talk()
    talk("isready", "go infinite")
    for line in ("position startpos", "setoption name hash value 2", "ucinewgame", "go depth 1"):
        command = line.split()[0]
        talk(line)
        assert talk.said[-1].startswith(f"info string {command}: a search runs; stop it first")
    assert talk("isready")[-1] == "readyok"
    assert talk.engine.handle("quit") is False
    talk.engine.leave(PATIENCE)
    assert talk.said[-1].startswith("bestmove")


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(12), deadline=None)
def test_a_game_that_goes_on_is_not_played_again(random: Random) -> None:
    """Longer, shorter, other, illegal games in any order: the board is a new engine's; only new moves are made."""
    talk, made = Talk(variant="brandubh"), 0
    push_text = Board.push_text

    def counted(board: Board, text: str) -> Move:
        nonlocal made
        made += 1
        return push_text(board, text)

    start, moves = "startpos", list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Board, "push_text", counted)
        for _ in range(12):
            before, kind, made = list(moves), random.choice(["on", "on", "on", "back", "other", "illegal"]), 0
            if kind == "other":
                start = random.choice(["startpos", "3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b", "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w"])
                moves = []
            elif kind == "back":
                moves = moves[: random.randrange(len(moves) + 1)]
            board = Board("brandubh", None if start == "startpos" else start)
            for move in moves:
                push_text(board, move)
            for _ in range(random.randrange(3) if kind == "on" else 0):
                if board.outcome() is None:
                    moves.append(str(random.choice(list(board.legal_moves))))
                    push_text(board, moves[-1])
            said = talk(" ".join(["position", start, "moves", *moves, *(["a1-a1"] if kind == "illegal" else [])]))
            assert len(said) == (kind == "illegal")
            if kind == "illegal":
                assert talk.engine._board.ply == len(moves)
            assert made <= len(moves) + (kind == "illegal")
            if kind == "on":
                assert made == len(moves) - len(before)
            mine = talk.engine._board
            assert (mine, mine.move_stack, mine.outcome()) == (board, board.move_stack, board.outcome())
            mine.assert_ok()


def test_options_are_used() -> None:
    talk = Talk()
    assert talk("setoption name variant value brandubh", "show")[0].endswith("3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 b")
    assert talk("setoption name Table-Memory value 0") == []
    talk("setoption name player value random", "setoption name seed value 5")
    first = talk("go nodes 1")[-1]
    talk("ucinewgame")
    assert talk("go nodes 1")[-1] == first
    talk = Talk(variant="brandubh", player="mcts", settings="depth=4")
    assert Board("brandubh").is_legal(talk("go playouts 30")[-1].removeprefix("bestmove "))
    assert "nosuch" in talk("setoption name settings value nosuch=1", "go playouts 30")[0]
    for wrong in ({"player": "nobody"}, {"tables": "no such"}, {"settings": "book='no such'"}, {"settings": "book='a"}):
        with pytest.raises(InputError):
            EngineSession(print, EngineOptions(**wrong))


NEW = ["ponder", "mate", "searchmoves"]


@settings(max_examples=examples(40))
@given(
    st.one_of(
        st.text(max_size=60),
        st.tuples(st.sampled_from(COMMANDS), st.text(max_size=60)).map(" ".join),
        st.tuples(
            st.sampled_from(["position startpos moves", "go", "setoption name", "position"]),
            st.lists(
                st.sampled_from(
                    [
                        "e4-f4",
                        "value",
                        "hash",
                        "infinite",
                        "9",
                        "depth",
                        "w",
                        "K8",
                        "startpos",
                        "ponder",
                        "mate",
                        "searchmoves",
                    ]
                )
            ).map(" ".join),
        ).map(" ".join),
    )
)
def test_no_line_is_a_crash(line: str) -> None:
    talk = SHARED
    if line.split()[:1] == ["quit"]:
        return
    assert talk.engine.handle(line)
    talk.engine.handle("stop")
    if talk.engine._search is not None:
        talk.engine._search.wait(PATIENCE)
        assert not talk.engine._search.running
    assert all(line.replace("\n", "").isprintable() for line in talk.said)
    talk.said.clear()


# -- several lines, given moves, the opponent's time and forced wins ---------------------------


def test_several_lines_are_told_in_order() -> None:
    talk = Talk(variant="brandubh", multipv=3)
    *info, best = talk("go depth 5")
    assert all(INFO.fullmatch(line) for line in info)
    told = [re.findall(r"depth (\d+) multipv (\d) .*score cp (-?\d+) .* pv (.*)", line)[0] for line in info]
    assert [(depth, rank) for depth, rank, *_ in told] == [(str(d), str(k)) for d in range(1, 6) for k in (1, 2, 3)]
    searcher = Searcher("brandubh", hash_mib=1)
    found = searcher.search(Board("brandubh"), SearchLimits(depth=5), lines=3)
    lines = [(str(line.score), " ".join(map(str, line.pv))) for line in (found, *found.others)]
    assert [line[2:] for line in told[-3:]] == lines
    assert best == f"bestmove {found.move}"
    assert not any("multipv" in line for line in talk("setoption name MultiPV value 1", "go depth 2"))
    for line in ("setoption name player value random", "setoption name multipv value 65"):
        assert "no option was changed" in Talk(multipv=2)(line)[0]


@pytest.mark.parametrize("player", player_names())
def test_a_player_keeps_to_the_moves_that_it_is_given(player: str) -> None:
    talk, moves = Talk(variant="ashton-5-4v0", player=player), [str(move) for move in Board("ashton-5-4v0").legal_moves]
    for move in (moves[0], moves[-1]):
        assert talk(f"go nodes 200 playouts 20 searchmoves {move} depth 2")[-1] == f"bestmove {move}"
    for words, why in (("a1-a2", "a1-a2"), (f"{moves[0]} c3-c5", "c3-c5"), ("", "needs a legal move"), ("e9", "e9")):
        said, *_, best = talk(f"go nodes 200 playouts 20 searchmoves {words}")
        assert best.removeprefix("bestmove ") in (words.split()[:1] if words.startswith(moves[0]) else moves)
        assert why in said


def test_a_pondering_engine_is_silent_until_it_is_told() -> None:
    talk = Talk(variant="brandubh", ponder=True)
    talk("isready")

    def best() -> list[str]:
        return [line for line in talk.said if line.startswith("bestmove")]

    def ask(line: str, *, ended: bool) -> RunningSearch:
        talk.said.clear()
        talk.engine.handle(line)
        search = talk.engine._search
        assert search is not None
        if ended:
            eventually(lambda: search._done)
        else:
            eventually(lambda: any("depth 3" in line for line in talk.said))
        time.sleep(0.05)
        assert (best(), search.running) == ([], True)
        return search

    # If the search has reached its limits or its time is over, or there are no limits, the answer comes immediately.
    for line, ended in (
        ("depth 2", True),
        ("nodes 500", True),
        ("", False),
        ("infinite", False),
        ("movetime 1", False),
    ):
        for word in ("ponderhit", "stop"):
            search = ask(f"go ponder {line}", ended=ended)
            began = time.perf_counter()
            talk.engine.handle(word)
            search.wait(PATIENCE)
            assert re.fullmatch(r"bestmove \S+ ponder \S+", *best())
            assert time.perf_counter() - began < 2
            assert talk(word)[:1] == (["info string ponderhit: the engine is not pondering"] if word != "stop" else [])
    # Otherwise the search continues for the rest of its time.
    search = ask("go ponder movetime 600000", ended=False)
    talk.engine.handle("ponderhit")
    assert (search.running, search.ponders, best()) == (True, False, [])
    talk.engine.handle("stop")
    search.wait(PATIENCE)
    search = ask("go ponder movetime 900", ended=False)
    talk.engine.handle("ponderhit")
    search.wait(PATIENCE)
    assert len(best()) == 1
    # The end of the input ends the search. An error is reported only then.
    ask("go ponder", ended=False)
    talk.engine.finish()
    assert len(best()) == 1
    talk = Talk(variant="brandubh", player="mcts")
    ask("go ponder depth 1", ended=True)
    talk.engine.handle("ponderhit")
    talk.engine.finish()
    assert len(best()) == 1
    assert "a number of playouts" in talk.said[0]


def test_a_forced_win_is_found_exactly_where_there_is_one() -> None:
    solved = solution("ashton-5-4v0")
    talk = Talk(variant="ashton-5-4v0")
    random = Random(2)
    answers = {True: 0, False: 0}
    for row in random.sample(range(len(solved.words)), 25):
        value = int(solved.values[row])
        cells, side = solved.engine.cells(solved.boards[row])
        board = Board("ashton-5-4v0", Position(cells, side))
        if board.outcome() is not None:
            continue
        plies = random.choice([1, 2, 3, 5, max(value, 1), max(value - 1, 1)])
        *said, best = talk(f"position {board.position}", f"go mate {plies}")
        wins = 0 < value <= plies
        answers[wins] += 1
        if not wins:
            assert (best, "there is no forced win within" in said[-1]) == ("bestmove none", True)
            continue
        mate, line = re.findall(r"score mate (\d+) .* pv (.*)", said[-1])[0]
        assert (int(mate), len(line.split())) == (value, value)
        assert best.split()[1] == line.split()[0]
        winner = board.turn
        for move in line.split():
            board.push(move)
        assert board.outcome().winner == winner  # type: ignore[union-attr]
    assert min(answers.values()) > 4


def test_a_forced_win_within_limits_and_bad_requests() -> None:
    talk = Talk()
    assert "limits were reached" in talk("go mate 9 nodes 100")[0]
    assert talk.said[-1] == "bestmove none"
    talk.engine.handle("go mate 99")
    talk.engine.handle("stop")
    talk.engine.finish()
    assert talk.said[-1] == "bestmove none"
    for words in (
        "mate",
        "mate 0",
        "mate 1000",
        "mate x",
        "mate 3 ponder",
        "mate 3 depth 2",
        "mate 3 searchmoves e4-f4",
    ):
        # What does not ask for a forced win in a way that can be answered is a search like any other.
        talk.engine.handle(f"go {words}")
        talk.engine.handle("ponderhit")
        talk.engine.finish()
        # If the search was already over, a note about `ponderhit` follows the move.
        made = next(line for line in reversed(talk.said) if line.startswith("bestmove "))
        assert Board("ashton").is_legal(made.removeprefix("bestmove "))
        assert any(re.match("info string go: mate", line) for line in talk.said)
        talk.said.clear()


UNREADABLE = """
nodes 0, nodes -1, nodes x, nodes, nodes 1e3, nodes ٣, depth 0, depth -4, depth two, movetime 0, movetime -5, movetime,
movetime 0.5, movetime x, playouts 0, wtime, wtime 5, btime -1, btime 0, btime -99999999999999999999, btime x, 5, -,
btime 5 wtime x, btime 100 movestogo 0, btime 100 movestogo -7, btime 100 binc -9, btime 5 btime 6, nodes 3 nodes 4,
foo, foo 7, foo bar baz, depth depth, depth 2 foo, nodes 20 foo 3, searchmoves, searchmoves a1-a2, mate, mate -3,
searchmoves a1-a2 d2-e2 nodes 9, searchmoves nodes 9, mate 9999, mate 2 depth 1, ponder x, movetime -1 wtime 5 btime 5,
infinite nodes 0, --help, wtime 10 btime 10 winc x binc x
""".replace("\n", " ").split(",")


@pytest.mark.parametrize("player", ["alphabeta", "random", "payoff", "mcts"])
def test_every_go_with_a_legal_move_is_answered_by_one(player: str) -> None:
    """Whatever stands after `go`, the search ends by itself, and the move is one of the position."""
    talk, board = Talk(variant="brandubh", player=player), Board("brandubh")
    talk("isready")
    for words in UNREADABLE:
        talk.said.clear()
        assert talk.engine.handle(f"go {words.strip()}")
        search = talk.engine._search
        assert search is not None
        if "ponder" in words:
            talk.engine.handle("ponderhit")
        search.wait(PATIENCE)
        assert not search.running, words
        assert [line.startswith("bestmove") for line in talk.said].count(True) == 1, words
        assert board.is_legal(talk.said[-1].removeprefix("bestmove ")), (words, talk.said)
        assert sum(line.startswith("info string") for line in talk.said) < 2


def test_lines_that_come_before_the_answer_wait_for_it() -> None:
    """As from a file or a pipe: each search has its move, and none is of the position before."""
    talk = Talk(variant="brandubh")
    talk("isready")
    lines = [
        "go btime 900",
        "go btime 1000 movestogo 0",
        "position startpos moves d2-e2",
        "go movetime 100",
        "go nodes 9",
    ]
    for line in lines:
        assert talk.engine.handle(line)
    talk.engine.finish()
    moves = [line.removeprefix("bestmove ") for line in talk.said if line.startswith("bestmove")]
    black, white = Board("brandubh"), Board("brandubh")
    white.push("d2-e2")
    assert [board.is_legal(move) for board, move in zip([black, black, white, white], moves, strict=True)] == [True] * 4
    assert not any("a search runs" in line for line in talk.said)


@pytest.mark.parametrize(("words", "named"), [("depth 2 depth 4", "'2' and '4'"), ("foo", "foo"), ("nodes 1.5", "1.5")])
def test_what_is_ignored_after_go_is_named(words: str, named: str) -> None:
    assert named in Talk(variant="brandubh", player="random")(f"go {words}")[0]


class Late:
    """A player that can be stopped; what its next search would find is `stopped`."""

    def __init__(self) -> None:
        self.stopped, self.meanwhile = False, lambda: None
        self.seen: list[bool] = []

    def stop(self) -> None:
        self.stopped = True

    def clear_stop(self) -> None:
        self.stopped = False

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        self.seen.append(self.stopped)
        self.meanwhile()
        move = next(iter(board.legal_moves))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))


def test_a_stop_ends_the_search_for_which_it_was_meant() -> None:
    player, answers = Late(), []

    def running() -> RunningSearch:
        told = lambda *_: None  # noqa: E731
        return RunningSearch(player, Board("brandubh"), SearchLimits(nodes=1), told, lambda *said: answers.append(said))

    early, late, after = running(), running(), running()
    early.stop()
    early.start()
    early.wait(PATIENCE)
    early.stop()
    # It comes when the player has chosen, and the search has not noticed that yet.
    player.meanwhile = late.stop
    late.start()
    late.wait(PATIENCE)
    player.meanwhile = lambda: None
    after.start()
    after.wait(PATIENCE)
    assert (player.seen, player.stopped, len(answers)) == ([True, False, False], False, 3)


SHARED = Talk(variant="ashton-5-4v0", player="random")


def test_whoever_reads_the_answer_goes_on_at_once() -> None:
    """The next lines may come while the thread that answered still ends."""
    talk = Talk(variant="brandubh", player="random")
    refused = []

    def write(line: str) -> None:
        if line.startswith("bestmove") and len(refused) < 50:
            refused.append(line)
            threading.Thread(target=go_on).start()

    def go_on() -> None:
        assert talk.engine.handle("position startpos")
        talk.engine.handle("go nodes 1")

    lines: list[str] = []
    talk.engine._written = lambda line: (lines.append(line), write(line))[0]
    talk.engine.handle("go nodes 1")
    eventually(lambda: len(refused) == 50)
    assert not any("a search runs" in line for line in lines)


# -- the command ----------------------------------------------------------------------------


def engine(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tablut", "engine", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def test_the_command_over_pipes() -> None:
    with engine("-v", "ashton-5-4v0", "--hash", "1") as process:
        out, _ = process.communicate("uci\nfoo\n" + "y" * (LONGEST_LINE + 5000) + "\ngo nodes 500\n", timeout=PATIENCE)
    lines = out.splitlines()
    assert "uciok" in lines
    assert sum(line.startswith("info string line of ") for line in lines) == 1
    assert sum(line.startswith("info string unknown command") for line in lines) == 1
    # The end of the input waits for a search that has limits.
    assert lines[-1].startswith("bestmove c3-")
    assert process.returncode == 0
