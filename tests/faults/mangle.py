"""Texts that are nearly right, and values that nobody should give: what the fuzzer feeds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random


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
