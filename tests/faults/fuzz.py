"""Fuzzed inputs: mangled texts for every parser, hostile values for every option; in process, each with a time limit.

A group of inputs is run one after the other in one folder, each in a fork.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.faults.running import Run, here, run
from tests.faults.verdict import Trial, Verdict, crash, one_line, tail
from tests.support.commands import SLOW, SMALL, command_tree, example_of, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP: Final = 200
"""Inputs of a folder."""
LIMIT: Final = 20.0
"""Seconds for an input."""
_LONGEST: Final = 2000
"""Characters of an error line, beyond which it is no line for people."""
_SMALL: Final = ["-v", SMALL]

# Commands that read a kind of text: TEXT is the text itself, FILE a file that holds it.
_READERS: Final[dict[str, list[list[str]]]] = {
    "position": [
        ["show", *_SMALL, "-p", "TEXT"],
        ["show", "-p", "TEXT"],
        ["show", *_SMALL, "-p", "FILE"],
        ["show", *_SMALL, "-p", "-"],
        ["moves", *_SMALL, "-p", "TEXT"],
        ["status", *_SMALL, "-p", "TEXT"],
        ["rank", *_SMALL, "-p", "TEXT"],
        ["convert", "--to", "opentafl", *_SMALL, "-p", "TEXT"],
        ["convert", "--to", "bologna", "-p", "TEXT"],
        ["apply", "c3-b3", *_SMALL, "-p", "TEXT"],
        ["perft", "-d", "1", *_SMALL, "-p", "TEXT"],
        ["bestmove", *_SMALL, "--nodes", "50", "--movetime", "0.05", "--hash", "1", "-p", "TEXT"],
        ["puzzle", "solve", *_SMALL, "--nodes", "200", "--positions", "20", "--memory", "2", "-p", "TEXT"],
        ["probe", "table", "-p", "TEXT"],
    ],
    "move": [
        ["apply", "TEXT"],
        ["apply", *_SMALL, "c3-b3", "TEXT"],
        ["convert", "--to", "tablut", "TEXT"],
        ["bestmove", *_SMALL, "--nodes", "50", "--movetime", "0.05", "--hash", "1", "-m", "TEXT"],
    ],
    "record": [["replay", "FILE"], ["replay", "FILE", "--all"], ["replay", "-"], ["replay", "FILE", "-v", "ashton"]],
    "variant": [
        ["variants", "FILE"],
        ["show", "-v", "FILE"],
        ["moves", "-v", "FILE"],
        ["puzzle", "solve", "-v", "FILE", "--nodes", "100", "--positions", "10", "--memory", "2"],
    ],
    "puzzles": [["puzzle", "solve", "FILE", "--nodes", "200", "--positions", "20", "--memory", "2"]],
    "corpus": [["perft", *_SMALL, "--corpus", "FILE"]],
    "certificate": [["puzzle", "check", "FILE", "--plies", "10"], ["puzzle", "check", "-", *_SMALL, "--plies", "10"]],
    # The records of other programs, most of which name no rules; their encodings too.
    "foreign": [
        ["replay", "FILE"],
        ["replay", "FILE", "-v", "brandubh-federation"],
        ["games", "FILE", "-v", "brandubh-federation"],
        ["replay", "-", "-v", "copenhagen"],
    ],
    # Scripts of a program that drives the engine; they come over standard input.
    "script": [["engine", *_SMALL, "--player", "random"], ["engine", *_SMALL, "--hash", "1"]],
}

_REFUSING: Final = frozenset({"report", "bench", "warmup", "serve"})
"""Commands that take half a minute, or many processes: tried only where they refuse."""
_LONG: Final = frozenset({*_REFUSING, *SLOW, "analyse", "bounds", "exclusions", "solve", "symmetry verify"})
"""Commands that take a second or more whatever is given: tried less often."""
_AS_LONG_AS_TOLD: Final = frozenset({
    "analyse", "engine", "exclusions", "match", "measure", "play", "reachable estimate", "referee",
    "tournament",
})  # fmt: skip
"""Commands that take hours if they are told so: of hostile numbers they get those that are none."""


def _template(name: str) -> list[str]:
    """Return a command that ends soon; one of its options gets a hostile value."""
    return example_of(name, SMALL, move="c3-b3", folder=".", proof="proof.jsonl", census="count")


def prepare(folder: Path) -> None:
    """Make what the commands read, and load the kernels."""
    folder.mkdir(parents=True)
    texts = sound_texts()
    (folder / "game.txt").write_text(texts["record"][0], encoding="utf-8")
    here(["tablebase", "build", *_SMALL, "--men", "3", "--store", "table"], folder)
    here(["census", *_SMALL, "--plies", "2", "--store", "count"], folder)
    here(["puzzle", "solve", *_SMALL, "--save-proof", "proof.jsonl"], folder)
    for readers in _READERS.values():
        for args in readers:
            if "TEXT" not in args and "FILE" not in args and "-" not in args:
                continue
            filled = ["2b2/5/b1K1b/5/2b2 w" if word in ("TEXT", "FILE") else word for word in args]
            if "-" not in filled:
                here(filled, folder)
    for name, command in command_tree().items():
        if name not in _REFUSING:
            here(_template(name), folder)
        for item in command.params if name not in _LONG else ():
            if getattr(item, "is_flag", False) and item.name not in ("help", "as_json"):
                here([*_template(name), item.opts[0]], folder)
    here(["bestmove", *_SMALL, "--nodes", "50", "--tablebase", "table"], folder)
    here(["solve", *_SMALL, "--store", "solved"], folder)
    here(["show"], folder)
    here(["rank"], folder)


# -- making inputs -------------------------------------------------------------------------


class Input(NamedTuple):
    """A command line and what it reads."""

    kind: str
    args: list[str]
    stdin: bytes = b""
    file: bytes = b""


@cache
def _classics() -> list[Input]:
    """Return inputs that each did harm once; every run begins with them."""
    record = ["replay", "input.txt"]
    solve = ["puzzle", "solve", "input.txt", "--nodes", "200"]
    place = b"2b2/5/b1K1b/5/2b2 w"
    game = b'[Variant "ashton"]\n1. e4-e7' + b"xe8" * 40 + b"!\n"
    proof = b'{"format": "tablut-proof", "version": 1, "variant": "/dev/zero", "rules": "", "position": "5 w", '
    proof += b'"winner": "white", "plies": 1, "positions": 0}\n'
    options = [
        ["bestmove", *_SMALL, "--nodes", "50", "--hash", "99999999"],
        ["bestmove", *_SMALL, "--movetime", "0.05", "--nodes", "9" * 23],
        ["bestmove", *_SMALL, "--nodes", "50", "--movetime", "9" * 19],
        ["bestmove", *_SMALL, "--nodes", "50", "-p", "3bb/3bK/3bb/5/5 w"],
        ["puzzle", "solve", *_SMALL, "--nodes", "50", "--memory", "200000"],
        ["puzzle", "solve", *_SMALL, "--nodes", "50", "--save-proof", "p[/b].jsonl"],
        ["census", *_SMALL, "--plies", "1", "--store", "c1", "--scheduler", "tls://127.0.0.1:1"],
        ["census", *_SMALL, "--plies", "1", "--store", "c2", "--scheduler", "ucx://1"],
        ["show", "-p", "/dev/zero"],
        ["apply", "²²-¹¹"],
        ["apply", "e" + "9" * 5000 + "-e1"],
        ["convert", "--to", "grid", "e4-e7" + "xe8" * 40 + "!"],
    ]
    named = '{}\nname = "[/bold]"\n'.format("a = " + "[" * 100_000 + "]" * 100_000)
    rules = sound_texts()["variant"][0]
    return [
        *(Input("option", args) for args in options),
        Input("script", ["engine", *_SMALL], b"position 9/9 w\ngo nodes 5\n"),
        Input("script", ["engine", *_SMALL], b"setoption name hash value -5\ngo nodes 5\n"),
        Input("foreign", record, b"", "1. e4-f4".encode("utf-16")),
        Input("foreign", record, b"", b"game=/" + b"A" * 5000),
        Input("record", record, b"", game),
        Input("record", record, b"", b'[Variant "/dev/zero"]\n1. e4-e7\n'),
        Input("record", record, b"", b'[Variant "ashton"]\n[White "[/bold]"]\n1. e4-f4\n'),
        Input("puzzles", solve, b"", place + b"; variant=/dev/zero"),
        Input("puzzles", solve, b"", place + b"; variant=ashton-5-4v0; id=[/red]; stipulation=white wins in 3\n"),
        Input("puzzles", solve, b"", b"# nothing\n"),
        Input("certificate", ["puzzle", "check", "input.txt"], b"", proof),
        Input("certificate", ["puzzle", "check", "input.txt"], b"", b"[" * 100_000),
        Input("variant", ["variants", "input.txt"], b"", named.encode()),
        Input("variant", ["variants", "input.txt"], b"", ('name = "[/bold]"\n' + rules).encode()),
        Input("variant", ["show", "-v", "input.txt"], b"", (f"move_limit = {2**63}\n" + rules).encode()),
    ]


def _input(seed: str, proof: str) -> Input:
    """Return the input of a seed; ``proof`` is a sound certificate."""
    number, classics = int(seed.rpartition(".")[2]), _classics()
    if number < len(classics):
        return classics[number]
    rng = random.Random(f"inputs {seed}")
    if rng.random() < 0.25:
        return _hostile_option(rng)
    texts = sound_texts()
    kind = rng.choices(list(texts), [5, 2, 5, 4, 4, 1, 3, 3, 3])[0]
    sound = proof if kind == "certificate" and rng.random() < 0.8 else rng.choice(texts[kind])
    text = mangled(rng, sound, _all_texts())
    if kind == "corpus":
        # A depth that takes hours is no fault of the reader.
        text = re.sub(r"\b([4-9]|\d\d)=", "3=", text)
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]) if kind == "foreign" else "utf-8"
    coded = text.encode(encoding, "replace" if encoding != "utf-8" else rng.choice(["replace", "surrogatepass"]))
    reader = rng.choice(_READERS[kind])
    # A command line has no null characters, and is not endless.
    shown = text.replace("\0", "")[:100_000]
    args = ["input.txt" if word == "FILE" else shown if word == "TEXT" else word for word in reader]
    return Input(kind, args, coded if "-" in reader or kind == "script" else b"", coded)


@cache
def _all_texts() -> list[str]:
    return [text for texts in sound_texts().values() for text in texts]


def _hostile_option(rng: random.Random) -> Input:
    """Return a command with one or two options of hostile values."""
    while True:
        name = rng.choice(sorted(command_tree()))
        if name not in _LONG or rng.random() < 0.15:
            break
    args, least = _template(name), len(name.split())
    parameters = [item for item in command_tree()[name].params if item.name != "help"]
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.05:
            args.insert(rng.randrange(least, len(args) + 1), rng.choice(["--nonsense", "-Z", "x", "--json=1"]))
            continue
        item = rng.choice(parameters)
        value = rng.choice(HOSTILE_NUMBERS if number_of(item) and rng.random() < 0.8 else HOSTILE_WORDS)
        if name in _AS_LONG_AS_TOLD and number_of(item) and re.fullmatch(r"\s*\+?[\d_]*[1-9][\de_.]*\s*", value):
            value = "-1"
        if name in _REFUSING:
            value = rng.choice(["/dev/null/x", "input.txt/x"])
        if item.param_type_name == "argument":
            args.append(value)
        elif getattr(item, "is_flag", False):
            args.append(item.opts[0])
        else:
            args += [rng.choice(item.opts), value] if rng.random() < 0.8 else [f"{item.opts[0]}={value}"]
    if name in _REFUSING:
        args.append("--nonsense")
    return Input(name, args, rng.choice([b"", b"\0", b"w\n", b"\xff\xfe"]), b"2b2/5/b1K1b/5/2b2 w\n")


# -- running them --------------------------------------------------------------------------


def fuzz_trials(root: Path, numbers: Sequence[int], seed: int, group: int) -> list[Trial]:
    """Run the inputs of a group of numbers; return a trial for each."""
    proof = (root / "proof.jsonl").read_text(encoding="utf-8")
    found: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as top:
        folder = Path(top).resolve() / "a" / "b" / "run"
        shutil.copytree(root, folder)
        (folder.parent / "tmp").mkdir()
        for number in numbers[group * GROUP : (group + 1) * GROUP]:
            given = _input(f"{seed}.{number}", proof)
            (folder / "input.txt").write_bytes(given.file)
            ended = run(given.args, folder, limit=LIMIT, stdin=given.stdin)
            found.append(_trial(f"{seed}.{number}", given, ended))
    return found


def _trial(seed: str, given: Input, ended: Run) -> Trial:
    shown = " ".join(word if len(word) < 80 else f"{word[:40]}...({len(word)} characters)" for word in given.args)
    what = f"tablut {shown}".encode("utf-8", "backslashreplace").decode()
    what += f" < {given.file[:120]!r}" if "input.txt" in given.args or "-" in given.args else ""
    verdict, detail = _judged(ended)
    return Trial("inputs", given.kind, given.kind, seed, what[:500], verdict, detail, round(ended.seconds, 3))


def _judged(ended: Run) -> tuple[Verdict, str]:
    """Return the verdict on an input: an answer, or a refusal in one line of sensible length."""
    if (bad := crash(ended)) is not None:
        return bad, tail(ended)
    if ended.code in (0, 1, 3):
        return Verdict.RIGHT, ""
    if ended.code in (2, 74):
        line = one_line(ended)
        if line is None:
            return Verdict.UNNAMED, tail(ended)
        return (
            (Verdict.NAMED, "") if len(line) <= _LONGEST else (Verdict.UNNAMED, f"a line of {len(line):,} characters")
        )
    return Verdict.TRACEBACK, f"exit {ended.code}: {tail(ended)}"


# -- texts that are nearly right, and values that nobody should give ---------------------------


_ROOT = Path(__file__).resolve().parents[2]

HOSTILE_NUMBERS: Final = (
    "-1", "0", "00", "-0", "+1", "1e3", "1_000", "0x10", "1.5", " 1", "1\n", "", "nan", "inf", "-inf", "None", "true",
    "٣", "²", "½", "१", "9" * 19, "9" * 30, "-" + "9" * 30, "9" * 5000, "1" + "0" * 400, "1e400", "2147483648",
)  # fmt: skip
HOSTILE_WORDS: Final = (
    "", " ", "-", "--", "-x", "--help=1", ".", "..", "/", "~", "*", "%s%n", "$(id)", "a\nb", "a\tb", "\x1b[31m",
    "\x7f", "[/bold]", "[red]", "[link=x]", "p[/b].txt", "ASHTON", "asthon", "../ashton", "ashton.toml",
    "ashton-5-4v0 ", "é" * 999, "/dev/zero", "/dev/full", "/dev/null", "/dev/null/x", "/dev/stdin", "a" * 300,
    "a" * 100_000, "a/" * 3000, "\udc80\udcff", "\ufeff", "\u202e", "😀", "e4-e4", "²²-¹¹", "tcp://x", "{}", "[]",
    "null", "a;b", "a=b", "input.txt",
)  # fmt: skip
_PIECES: Final = (
    *HOSTILE_NUMBERS, *(word for word in HOSTILE_WORDS if len(word) < 1000), "/", "//", "w", "b", "K", "KK", "T", ";",
    "; id=", "; variant=/dev/zero", '[Variant "/dev/zero"]', '[Variant "../x"]', "xe8", "-", "x", "1.", "{", "}", "[",
    "]", '"', "'", "\\", "\\u0000", "#", "=", ",", ":", "\x00", "\r", "\r\n", "\n\n", "\x85", "note=[/red]", "true",
    "false", "null", "NaN", "1e999", '"""', "'''", "[a.b]", "a.b.c=1", "{a={a={}}}", "\x0b", "\x1c",
)  # fmt: skip


@cache
def sound_texts() -> dict[str, list[str]]:
    """Return texts that are right, by what they are."""
    data = _ROOT / "tests" / "data"
    puzzles = [path.read_text(encoding="utf-8") for path in (_ROOT / "retrograde" / "puzzles" / "data").glob("*.txt")]
    lines = [line for text in puzzles for line in text.splitlines() if line and not line.startswith("#")]
    variants = sorted((_ROOT / "tablut" / "variants" / "data").glob("*.toml"))
    opentafl = "/3t3/3t3/3T3/ttTKTtt/3T3/3t3/3t3/"
    grid = "..b..\n.....\nb.K.b\n.....\n..b..\nw\n"
    state = '{"board":[' + ",".join(['["EMPTY","BLACK","EMPTY","KING","WHITE"]'] * 5) + '],"turn":"WHITE"}'
    return {
        "position": [
            "2b2/5/b1K1b/5/2b2 w",
            "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w",
            *(line.split(";")[0] for line in lines[:20]),
            "2b2/5/b1K1b/5/2b2 w note=x",
            opentafl,
            grid,
            state,
            *([(data / "states" / "start.json").read_text()] if (data / "states" / "start.json").exists() else []),
        ],
        "move": ["e4-e7", "e4e7", "e4-e7xe8", "e4-e7xe8xd7", "d5-7", "i6-g", "4 4 4 7 1", "c3-b3", "Kd4-d3-", "f4-f5+"],
        "record": [path.read_text(encoding="utf-8") for path in sorted((data / "records").iterdir())],
        "variant": [path.read_text(encoding="utf-8") for path in variants],
        "puzzles": ["\n".join(lines[start : start + 2]) for start in range(0, min(40, len(lines)), 2)],
        "corpus": [
            "\n".join((data / "perft" / f"{name}.txt").read_text(encoding="utf-8").splitlines()[:4])
            for name in ("ashton-5-4v0", "brandubh-5-4v0")
        ],
        "certificate": [
            '{"format": "tablut-proof", "version": 1, "variant": "ashton-5-4v0", "rules": "bbdb", '
            '"position": "2b1b/5/bK3/5/2b2 w", "winner": "white", "plies": 1, "positions": 1}\n'
            '["2b1b/5/bK3/5/2b2 w", 1, "b3-b1"]\n'
        ],
        "foreign": [
            content.decode("utf-16" if content[:2] == b"\xff\xfe" else "utf-8")
            for content in (path.read_bytes() for path in sorted((data / "foreign").iterdir()))
        ],
        "script": [
            "uci\nsetoption name variant value ashton-5-4v0\nposition startpos moves c1-d1\ngo nodes 20\nquit\n",
            "position 2b2/5/b1K1b/5/2b2 w\ngo depth 1\nposition startpos moves c1-c2\ngo nodes 10\n",
            "board_size 5\nplay attacker c1 d1\ngenerate_move\nfinal_status\n",
            "isready\nsetoption name nosuch value 1\nucinewgame\ngo nodes 5\nstop\n",
        ],
    }


def mangled(rng: random.Random, text: str, others: list[str]) -> str:
    """Return a text with one to four things done to it."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        text = _once(rng, text, others)
    # A text that is read has no half characters, but for those that stand for bytes.
    return text[:2_000_000]


def _once(rng: random.Random, text: str, others: list[str]) -> str:
    place = rng.randrange(len(text) + 1)
    end = min(len(text), place + rng.choice([1, 1, 2, 5, 20, 100]))
    match rng.randrange(13):
        case 0:
            return text[:place] + text[end:]
        case 1:
            return text[:place] + rng.choice(_PIECES) + text[place:]
        case 2:
            return text[:place] + rng.choice(_PIECES) + text[end:]
        case 3:
            return text[:end] + text[place:end] + text[end:]
        case 4:
            return text[:end] + text[place:end] * rng.choice([3, 40, 1000]) + text[end:]
        case 5:
            return text[:place] + chr(rng.randrange(0xD800)) + text[end:]
        case 6:
            return text[:place]
        case 7:
            other = rng.choice(others)
            return text[:place] + other[rng.randrange(len(other) + 1) :]
        case 8:
            numbers = list(re.finditer(r"\d+", text))
            if not numbers:
                return text
            found = rng.choice(numbers)
            return text[: found.start()] + rng.choice(HOSTILE_NUMBERS) + text[found.end() :]
        case 9:
            words = list(re.finditer(r"[A-Za-z_]+", text))
            if not words:
                return text
            found = rng.choice(words)
            return text[: found.start()] + rng.choice([*HOSTILE_WORDS, found[0].swapcase()]) + text[found.end() :]
        case 10:
            lines = text.split("\n")
            rng.shuffle(lines)
            return "\n".join(lines)
        case 11:
            depth = rng.choice([20, 2000, 100_000])
            opened, closed = rng.choice([("[", "]"), ("{", "}"), ("(", ")"), ('{"a":', "}"), ("a=[", "]")])
            return text[:place] + opened * depth + closed * depth + text[end:]
        case _:
            return text.replace(
                *rng.choice([("\n", "\r\n"), (" ", "\t"), ("/", "//"), ("w", "W"), ("-", "–"), ("=", " = ")])
            )
