"""No answer is for a state that was refused, in any protocol that the engine speaks.

A tracker sends lines, some of them broken, and keeps the accepted state itself, by the plain rules. What the engine
answers must be a move of that state, and none where there is no state.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablut.formats.opentafl import write_position, write_rules
from tablut.formats.reading import write_fen
from tablut.play.bridges.htp import HtpFront
from tablut.play.bridges.otep import OtepFront
from tablut.play.bridges.uci import TaflZeroFront
from tablut.play.protocol import EngineOptions, EngineSession, LineProtocol
from tablut.play.search.limits import SearchLimits
from tablut.position import Position
from tablut.rules.naive import NaiveGame, NaivePosition
from tablut.variants import load_variant
from tests.support.effort import examples

RULES = ("brandubh", "brandubh-5-4v0")
FRONTS: dict[str, type[LineProtocol]] = {
    "uci": EngineSession,
    "taflzero": TaflZeroFront,
    "otep": OtepFront,
    "htp": HtpFront,
}


class Talk:
    """The engine behind a protocol, and what it wrote."""

    def __init__(self, protocol: str) -> None:
        self.said: list[str] = []
        options = EngineOptions(variant="brandubh", player="random", hash=1)
        more = () if protocol == "uci" else (SearchLimits(nodes=1),)
        self.engine = FRONTS[protocol](self.said.append, options, *more)  # type: ignore[call-arg, arg-type]

    def __call__(self, *lines: str) -> list[str]:
        before = len(self.said)
        for line in lines:
            assert self.engine.handle(line)
            self.engine.finish()  # type: ignore[attr-defined]
        return self.said[before:]


def move_in(said: list[str]) -> str | None:
    """Return the move that an answer names, as the plain rules write it."""
    pattern = r"(?:bestmove|move|analysis 1|= play \w+) ([a-g]\d)[- ]?([a-g]\d)\b.*"
    found = [match for line in said if (match := re.fullmatch(pattern, line, re.DOTALL))]
    assert len(found) <= 1
    return "-".join(found[0].groups()) if found else None


# -- one line at a time: a state, a command that is refused, a question, and a state again -------------


@pytest.mark.parametrize("line", ["position startpos", "ucinewgame", "setoption name variant value brandubh"])
@pytest.mark.parametrize("protocol", ["uci", "taflzero"])
def test_what_is_refused_because_a_search_runs_was_not_set(protocol: str, line: str) -> None:
    talk = Talk(protocol)
    talk.engine.handle("go infinite")
    talk.engine.handle(line)
    assert move_in(talk("stop"))  # of the state before, which was there when it was asked for
    assert move_in(talk("go nodes 1")) is None
    assert move_in(talk("setoption name variant value brandubh", line, "go nodes 1"))


@pytest.mark.parametrize("refused", ["setoption name variant value nosuch", "setoption variant nosuch"])
def test_a_position_under_rules_that_were_refused_is_none(refused: str) -> None:
    talk = Talk("uci")
    for line in (refused, "position startpos", "ucinewgame", "show"):
        assert len(talk(line)) == 1
    assert talk("go nodes 1")[-1] == "bestmove none"
    assert talk("setoption name variant value brandubh-5-4v0") == []
    assert "2b2/5/b1K1b/5/2b2" in talk("show")[0]


def test_moves_told_after_a_move_that_was_refused_are_none_of_another_game() -> None:
    talk = Talk("htp")
    talk("board_size 7", "play attacker d6 d2", "play defender d5 f5", "play attacker d6 f6")
    assert move_in(talk("generate_move")) is None
    assert talk("show_board", "final_status") == [line for line in talk.said[-2:] if line.startswith("? ")]


@pytest.mark.parametrize("protocol", ["uci", "taflzero"])
def test_an_option_that_is_refused_keeps_its_value_and_the_state(protocol: str) -> None:
    talk = Talk(protocol)
    for line in ("setoption name hash value x", "setoption name player value nobody", "setoption", "setoption name no"):
        (said,) = talk(line)
        assert "no option was changed" in said
    assert "default 1" in next(line for line in talk("uci") if " hash " in line)
    assert move_in(talk("go nodes 1"))


# -- random scripts ------------------------------------------------------------------------------------


class Tracker(ABC):
    """Draws lines of a protocol, and keeps the state that they leave: of none, the position is None."""

    def __init__(self, random: Random, talk: Talk) -> None:
        self.random, self.talk = random, talk
        self.game = NaiveGame("brandubh")
        self.position: NaivePosition | None = self.game.start()
        self.over = False
        self.seen = Counter[str]()

    @property
    def size(self) -> int:
        return self.game.size

    def pick(self, position: NaivePosition) -> str:
        return self.game.move_name(self.random.choice(list(self.game.moves(position))))

    def follow(self, position: NaivePosition, move: str, seen: Counter[str]) -> tuple[NaivePosition, bool]:
        """Return where a move leads, and whether the game is over there, by a repetition too."""
        seen[self.game.write(position)] += not seen
        result = self.game.apply(position, self.game.parse_move(move))
        seen[self.game.write(result.position)] += 1
        return result.position, result.outcome is not None or self.repeats(result.position, seen)

    def repeats(self, position: NaivePosition, seen: Counter[str]) -> bool:
        rule = self.game.variant.rules.repetition
        return rule.result not in ("none", "illegal") and seen[self.game.write(position)] >= rule.times

    def walk(self, position: NaivePosition, plies: int) -> tuple[list[str], NaivePosition, bool]:
        """Return random moves, where they lead, and whether the game is over there."""
        moves: list[str] = []
        seen = Counter[str]()
        for _ in range(plies):
            moves.append(self.pick(position))
            position, over = self.follow(position, moves[-1], seen)
            if over:
                return moves, position, True
        return moves, position, False

    def undecided(self) -> NaivePosition:
        """Return a position to begin at."""
        while True:
            _, position, over = self.walk(self.game.start(), self.random.randrange(6))
            if not over:
                return position

    def illegal(self, position: NaivePosition) -> str:
        """Return a move that is not legal: of the other side, of nobody, or no move at all."""
        other = NaivePosition(position.pieces, "b" if position.side == "w" else "w")
        return self.random.choice([self.pick(other), "a1-a1", "d4-z9", "x"])

    def read(self, position: NaivePosition) -> Position:
        return Position.parse(self.game.write(position), self.size)

    def answered(self, said: list[str], position: NaivePosition | None) -> str | None:
        """Hold an answer against the state; return its move."""
        move = move_in(said)
        assert said
        if position is None or self.over:
            assert move is None, self.talk.said
        else:
            assert move is not None, self.talk.said
            assert self.game.parse_move(move) in self.game.legal_moves(position), (move, self.game.write(position))
        return move

    def run(self, lines: int) -> None:
        for _ in range(lines):
            self.step()

    @abstractmethod
    def step(self) -> None:
        """Send a line, or a few."""


class UciTracker(Tracker):
    rules = True

    def said_start(self, position: NaivePosition) -> str:
        return self.game.write(position)

    def said_move(self, move: str) -> str:
        return move

    def step(self) -> None:
        kind = self.random.choice(["position"] * 4 + ["broken"] * 3 + ["go"] * 5 + ["rules", "option", "new", "noise"])
        getattr(self, f"{kind}_line")()

    def begun(self) -> tuple[str, NaivePosition]:
        if self.random.random() < 0.5:
            return "startpos", self.game.start()
        position = self.undecided()
        return self.said_start(position), position

    def position_line(self) -> None:
        start, position = self.begun()
        moves, position, over = self.walk(position, self.random.randrange(6))
        self.talk(f"position {start} moves {' '.join(map(self.said_move, moves))}")
        self.position, self.over = (position if self.rules else None), over

    def broken_line(self) -> None:
        start, position = self.begun()
        moves, position, over = self.walk(position, self.random.randrange(3))
        wrong = "a1-a1" if over else self.illegal(position)
        good = f"position {start} moves {' '.join(map(self.said_move, moves))}"
        other = NaiveGame(RULES[self.game.variant.name == RULES[0]])
        line = self.random.choice(
            [
                f"{good} {self.said_move(wrong)}",
                f"position {start.replace('K', '1').replace('k', '1')} w" if start != "startpos" else "position",
                f"position {other.write(other.start())}",
                f"position {start}/3 moves",
            ]
        )
        assert self.talk(line)
        self.position = None

    def go_line(self) -> None:
        assert any(line.startswith("bestmove") for line in self.talk(self.random.choice(["go depth 0", "go nodes x"])))
        self.answered(self.talk("go nodes 1"), self.position)

    def rules_line(self) -> None:
        name = self.random.choice([*RULES, "nosuch", ""])
        said = self.talk(f"setoption name variant value {name}")
        self.rules, self.over = name in RULES, False
        assert bool(said) != self.rules
        if self.rules:
            self.game = NaiveGame(name)
        self.position = self.game.start() if self.rules else None

    def option_line(self) -> None:
        self.talk("setoption " + self.random.choice(["name hash value 2", "name hash value x", "name no value 1", ""]))

    def new_line(self) -> None:
        self.talk("ucinewgame")
        self.position, self.over = (self.game.start() if self.rules else None), False

    def noise_line(self) -> None:
        (line, *_) = self.talk(self.random.choice(["show", "dance", "isready", "positions startpos"]))
        shown = line.partition("info string position ")[2]
        assert not shown or (self.position is not None and shown == self.game.write(self.position))


class TaflZeroTracker(UciTracker):
    def said_start(self, position: NaivePosition) -> str:
        return f"fen {write_fen(self.read(position))}"

    def said_move(self, move: str) -> str:
        return move.replace("-", "")


class OtepTracker(Tracker):
    """Positions are told without a side: it is that of the last `side`, or of the question."""

    side: str | None = "b"
    rules = True
    sides: ClassVar[dict[str, str]] = {"attackers": "b", "defenders": "w"}

    def record(self, position: NaivePosition) -> str:
        return write_position(self.read(position))

    def step(self) -> None:
        kind = self.random.choice(
            ["rules", "side"] + ["position", "broken"] * 3 + ["moved"] * 2 + ["play"] * 5 + ["analyse", "noise"]
        )
        getattr(self, f"{kind}_line")()

    def rules_line(self) -> None:
        name = self.random.choice([*RULES, *RULES, ""])
        said = self.talk(f"rules {write_rules(load_variant(name)) if name else 'dim:7 tfr:w start:/7/'}")
        self.rules = bool(name)
        assert bool(said) != self.rules
        if self.rules:
            self.game = NaiveGame(name)
        self.position = self.game.start() if self.rules else None

    def side_line(self) -> None:
        name = self.random.choice([*self.sides, "both"])
        self.talk(f"side {name}")
        self.side = self.sides.get(name)

    def position_line(self) -> None:
        position = self.undecided()
        said = self.talk(f"position {self.record(position)}")
        if said:  # of the sides of some positions it is known only here that they cannot be played on
            self.position = None
        else:
            assert self.rules
            assert self.side is not None
            self.position = position

    def moved_line(self) -> None:
        """Tell a move of the opponent, with where it leads."""
        if self.position is not None and self.side is not None:
            moves, position, over = self.walk(self.position._replace(side="bw"[self.side == "b"]), 1)
            if not over and not self.talk(f"opponent-move {moves[0]} {self.record(position)}"):
                self.position = position
            elif not over:
                self.position = None

    def broken_line(self) -> None:
        other = NaiveGame(RULES[self.game.variant.name == RULES[0]])
        position = Position.parse(other.write(other.start()), other.size)
        record = self.random.choice([write_position(position), "/7/", "", "nonsense"])
        word = self.random.choice(["position", "move", "opponent-move d1-d2", "opponent-move x"])
        assert self.talk(f"{word} {record}")
        self.position = None

    def play_line(self) -> None:
        name = self.random.choice(list(self.sides))
        said = self.talk(f"play {name}")
        self.side = self.sides[name]
        self.held(said)

    def analyse_line(self) -> None:
        said = self.talk("analyze 1 1")
        if self.side is None:
            assert move_in(said) is None
        else:
            self.held(said)

    def held(self, said: list[str]) -> None:
        asked = None if self.position is None else self.position._replace(side=self.side or "")
        if move_in(said) is None and asked is not None:
            return  # a position whose other side is to move may be none that can be played on
        self.answered(said, asked)

    def noise_line(self) -> None:
        self.talk(self.random.choice(["clock soon", "clock 1000 1000 0 0 0", "dance", "error 0", "hello"]))


class HtpTracker(Tracker):
    """A refused move leaves no position, but its side may choose another; after one of the other side nobody may."""

    last: NaivePosition | None = None
    lost = False

    def repeated(self) -> bool:
        return self.last is not None and self.repeats(self.last, self.seen)

    def step(self) -> None:
        kind = self.random.choice(["size"] + ["play"] * 6 + ["broken"] * 2 + ["ask"] * 4 + ["noise"])
        if self.last is None:
            self.last = self.game.start()
        getattr(self, f"{kind}_line")()

    def size_line(self) -> None:
        size = self.random.choice(["7", "7", "9", ""])
        (said,) = self.talk(f"board_size {size}")
        self.lost, self.over = size != "7", False
        assert said.startswith("? " if self.lost else "= ")
        self.last, self.position = self.game.start(), None if self.lost else self.game.start()
        self.seen.clear()

    def told(self, side: str, move: str) -> str:
        start, _, target = move.partition("-")
        return self.talk(f"play {'attacker' if side == 'b' else 'defender'} {start} {target}")[0]

    def play_line(self) -> None:
        assert self.last is not None
        move = self.pick(self.last)
        if self.told(self.last.side, move).startswith("? "):
            assert self.lost or (self.over and not self.repeated())
            self.position = None
            return
        assert not self.lost
        assert not self.over or self.repeated()  # a repetition ends a game only if nobody plays on
        self.last, self.over = self.follow(self.last, move, self.seen)
        self.position = self.last

    def broken_line(self) -> None:
        assert self.last is not None
        other = "bw"[self.last.side == "b"]
        if self.random.random() < 0.3:
            self.lost = self.lost or self.position is None
            said = self.told(other, self.pick(self.last._replace(side=other)))
        else:
            said = self.told(self.last.side, self.illegal(self.last))
        assert said.startswith("? ")
        self.position = None

    def ask_line(self) -> None:
        said = self.talk("generate_move")
        if (move := self.answered(said, self.position)) is not None:
            assert self.position is not None
            self.last, self.over = self.follow(self.position, move, self.seen)
            self.position = self.last

    def noise_line(self) -> None:
        (shown,) = self.talk(self.random.choice(["show_board", "final_status", "time_settings x", "dance"]))
        if shown.startswith("= \n"):
            assert self.position is not None
            assert shown.split()[1:] == list(self.read(self.position).rows())


TRACKERS: dict[str, Callable[[Random, Talk], Tracker]] = {
    "uci": UciTracker,
    "taflzero": TaflZeroTracker,
    "otep": OtepTracker,
    "htp": HtpTracker,
}


@pytest.mark.parametrize("protocol", TRACKERS)
@given(seed=st.integers(0, 2**64))
@settings(max_examples=examples(20, 100), deadline=None)
def test_no_answer_is_for_a_state_that_was_refused(protocol: str, seed: int) -> None:
    """Random scripts of valid and broken lines: 2,000 of each protocol from a fresh seed under `-m fuzz`."""
    TRACKERS[protocol](Random(seed), Talk(protocol)).run(25)
