"""Records that are damaged at random: read as the plain rules read them, or refused in the name of their reader."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random, SystemRandom

import pytest

from tablut.cli.shell import run
from tablut.rules import NaiveGame
from tablut.variants import variant_names

DATA = Path(__file__).parents[1] / "data"
PATHS = sorted(path for folder in ("records", "foreign") for path in (DATA / folder).iterdir())
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF)]
TRIALS = 10_000
SIGNATURES = {
    "tablut record": r'\s*\[[A-Z][\w-]* "',
    "OpenTafl record": r"\s*\[[a-z-]+:",
    "record": r'(\{|\[\{)"\w+":|game=/',
    "archive": r'"?[a-k]\d-[a-k]\d[^,;\n]*[,;] ?\d+[,;]',
    "Bologna game log": r"(?s)\w+ \d+, \d+ [\d:]+ \wM \S+\.domain\.Game\w+ \S+\n.*(Stato:|Turn:|Players:\t|Inizio)",
    "Bologna system log": r"(?s)\w+ \d+, \d+ [\d:]+ \wM \S+\.server\.Server run\n",
}


def swapped(text: str, random: Random) -> str:
    lines = text.split("\n")
    one, two = (random.randrange(len(lines)) for _ in range(2))
    lines[one], lines[two] = lines[two], lines[one]
    return "\n".join(lines)


def changed(text: str, random: Random) -> str:
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice('[]{}();%$!?*.-"a1xK:\n') + text[place + random.randrange(3) :]


def with_control(text: str, random: Random) -> str:
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(CONTROLS) + text[place:]


def separated(text: str, random: Random) -> str:
    kinds = [(",", ";"), (",", "\t"), (" ", "\t"), ("\n", "\r"), ("\n", "\r\n"), (" ", "  ")]
    return text.replace(*random.choice(kinds))


CHANGES: list[Callable[[str, Random], str]] = [
    lambda text, random: text[: random.randrange(1, len(text) + 1)],
    lambda text, random: text + random.choice(["", "\n"]) + text,
    swapped,
    changed,
    with_control,
    separated,
]
ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"]


def told(answer: dict[str, object], games: dict[str, NaiveGame], where: str) -> None:
    """Hold what was read to the plain rules."""
    name = str(answer["variant"])
    if name not in variant_names():
        return  # rules that the record spells out
    game = games.setdefault(name, NaiveGame(name))
    position = game.read(str(answer["start"]))
    for move, after in zip(answer["moves"], answer["positions"], strict=True):  # type: ignore[call-overload]
        made = game.parse_move(move["move"])
        assert made in game.legal_moves(position), where
        position = game.apply(position, made).position
        assert game.write(position) == after, where
    assert game.write(position) == answer["position"], where


@pytest.mark.fuzz
def test_damaged_records_are_read_by_the_plain_rules_or_refused_by_their_reader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = SystemRandom().randrange(1 << 32)
    random, games = Random(seed), dict[str, NaiveGame]()
    codes, refused, told_of = [0, 0, 0], dict[str, int](), 0
    for trial in range(TRIALS):
        source = random.choice(PATHS)
        content = source.read_bytes()
        text = content.decode("utf-16" if content[:2] == b"\xff\xfe" else "utf-8")
        for _ in range(random.randint(0, 3)):
            text = random.choice(CHANGES)(text, random)
        encoding = random.choice(ENCODINGS)
        path = tmp_path / "game"
        path.write_bytes(text.encode(encoding, "replace"))
        rules = {".csv": ["-v", "brandubh-federation"], ".json": ["-v", "copenhagen"]}.get(source.suffix, [])
        capsys.readouterr()
        code = run(["games" if source.suffix == ".csv" else "replay", str(path), *rules, "--json"])
        out, err = capsys.readouterr()
        where = f"seed {seed}, trial {trial}, {source.name}: {text!r}: {code} {err}"
        assert code in (0, 1, 2), where
        codes[code] += 1
        if code < 2:
            answer = json.loads(out)
            if "moves" in answer:
                told(answer, games, where)
                told_of += 1
            continue
        line = err.strip().split("\n")[-1]
        assert line.startswith("tablut: "), where
        assert str(path) in line, where
        plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        fits = [name for name, shape in SIGNATURES.items() if re.match(shape, plain)]
        if fits and "UTF-8" not in line:
            assert line.startswith(f"tablut: {fits[0]} '"), where
            refused[fits[0]] = refused.get(fits[0], 0) + 1
    with capsys.disabled():
        sys.stdout.write(
            f"seed {seed}: exit codes 0, 1, 2: {codes}; refused: {refused}; held to the rules: {told_of}\n"
        )
