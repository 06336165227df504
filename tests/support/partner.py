"""A program that plays one game by heart in a protocol that is not ours, from either side, or misbehaves in it.

Written from the protocols' public descriptions; imports nothing of ours. What is not in the description ends it.
"""

import os
import re
import sys
import time
from pathlib import Path

# pytest imports it as well, to look for examples.
_, PROTOCOL, MODE, log, size = sys.argv if __name__ == "__main__" else ("", "", "", "", "0")
LOG, SIZE = Path(log), int(size)
GAMES = {
    7: "g4-g5 e4-e6 f4-f6 d4-g4 d6-c6 g4-g1",
    11: "e1-e3 e5-d5 k4-k2 e6-e4 f2-c2 d6-d7 f10-j10 f6-c6 c2-c1 c6-c11 c1-c7 c11-a11",
}
ROLES = ("attacker", "defender")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def heard() -> str:
    line = sys.stdin.readline().rstrip("\n")
    with LOG.open("a") as file:
        file.write(f"{line}\n")
    return line


def matched(pattern: str, line: str) -> re.Match[str]:
    return re.fullmatch(pattern, line) or sys.exit(f"not in the protocol: {line}")


def by_heart(size: int, made: int, move: str) -> bool:
    """Return whether a move is the next of the game; who is to misbehave does not care."""
    return MODE != "good" or move == GAMES[size].split()[made]


def chosen(size: int, made: int) -> str:
    """Return the move by heart, unless it is not its day."""
    if MODE == "stall":
        time.sleep(60)
    if MODE == "die":
        os._exit(3)
    if MODE == "huge":
        os.write(1, b"x" * 3_000_000)
    return {"illegal": "a1-a2", "nonsense": "xy-zzy"}.get(MODE) or GAMES[size].split()[made]


def placed(record: str, square: str) -> str:
    """Return what stands on a square of an OpenTafl position: `t`, `T`, `K` or nothing."""
    row = re.sub(r"\d+", lambda run: "." * int(run[0]), record.strip("/").split("/")[int(square[1:]) - 1])
    return row["abcdefghijk".index(square[0])].strip(".")


def otep() -> None:
    say("simple-moves off\nhello")
    size = made = 0
    while line := heard():
        word, _, rest = line.partition(" ")
        if word == "rules":
            size, made = int(matched(r"dim:(\d+) name:\S* .*start:/\S+/", rest)[1]), 0
        elif word == "side":
            side = matched("attackers|defenders", rest)[0]
        elif word == "opponent-move":
            move, record = rest.split(" ")
            move, _, taken = move.partition("x")
            assert by_heart(size, made, move), line
            start, target = move.split("-")
            assert placed(record, target), line
            assert not taken or not placed(record, taken), line
            assert not placed(record, start), line
            made += 1
        elif word == "move":
            assert placed(rest, GAMES[size].split()[made - 1].split("-")[1]), line
        elif word == "play":
            assert rest == side, line
            matched(r"clock \d+\*? \d+\*? \d+ \d+ \d+", heard())
            say("position")
            matched(r"position /\S+/", heard())
            say("status by heart")
            if MODE == "refuse":
                say("error -1 cannot go on")
            say(f"move {chosen(size, made)}")
            made += 1
        elif word == "goodbye":
            return
        elif word not in ("hello", "start", "clock", "finish"):
            sys.exit(f"not in the protocol: {line}")


def taflzero() -> None:
    size = made = 0
    while line := heard():
        word, _, rest = line.partition(" ")
        if word == "uci":
            say("id name heart\nuciok\noption name NNFile type string default ./default_nn.onnx")
        elif word == "isready":
            say("readyok")
        elif word == "setoption":
            matched(r"name NNFile value \S+", rest)
        elif word == "position":
            found = matched(r"(?:startpos|fen ([0-9adk/]+) [ad])(?: moves(( [a-k]\d+[a-k]\d+)+))?", rest)
            moves = (found[2] or "").split()
            size = next((size for size in GAMES if "".join(moves) == game(size, len(moves))), 7)
            made = len(moves)
        elif word == "go":
            matched(r"(nodes|movetime) [1-9]\d*", rest)
            say("info depth 3 score cp 25 nodes 40 time 1 speed 40000 pv a1a2")
            say(f"bestmove {chosen(size if made else SIZE, made).replace('-', '')}")
        elif word == "quit":
            say("bye")
            return
        else:
            sys.exit(f"not in the protocol: {line}")


def game(size: int, plies: int) -> str:
    return "".join(GAMES[size].split()[:plies]).replace("-", "")


def htp() -> None:
    made = 0
    while line := heard():
        word, _, rest = line.partition(" ")
        reply = ""
        if word == "name":
            reply = "heart"
        elif word == "board_size":
            matched("11|13", rest)
            made = 0
        elif word == "time_settings":
            matched("un-timed|fischer 1 0", rest)
        elif word == "play":
            role, start, target = rest.split(" ")
            assert by_heart(11, made, f"{start}-{target}"), line
            assert role == ROLES[made % 2], line
            made += 1
        elif word == "generate_move":
            if MODE == "refuse":
                say("? cannot go on\n")
            reply = f"play {ROLES[made % 2]} {chosen(11, made).replace('-', ' ')}"
        elif word == "quit":
            return
        else:
            sys.exit(f"not in the protocol: {line}")
        say(f"= {reply}\n")


if __name__ == "__main__":
    {"otep": otep, "taflzero": taflzero, "htp": htp}[PROTOCOL]()
