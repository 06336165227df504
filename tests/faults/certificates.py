"""Made certificates: real proofs with something changed, and forged ones for whatever claim.

Only claims that are true may pass `tablut puzzle check`. What is true is found by
`tests.faults.truth`. The made ones know of the format what ``--save-proof`` writes: JSON
lines, a header first; every value in every line is changed.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tablut.variants import load_variant
from tests.faults.damage import edit_json
from tests.faults.rule_sets import random_position, random_rule_set
from tests.faults.running import here, run
from tests.faults.truth import Truth, TruthSpentError
from tests.faults.verdict import Trial, Verdict, crash, one_line, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.faults.running import Run


_LIMIT: Final = 20.0
_SHIPPED: Final = ("ashton-5-4v0", "brandubh-5-4v0", "ashton-5-4v2", "brandubh-5-4v4", "ashton-7-4v1")
_ENTRIES: Final = 400
_UNLIMITED: Final = "-unlimited.toml"


@dataclass(frozen=True)
class Proof:
    """A real proof.

    Attributes
    ----------
    variant : str
        Name of the rule set, or path of its file.
    text : str
        What ``--save-proof`` wrote.
    """

    variant: str
    text: str

    @property
    def header(self) -> dict[str, Any]:
        """The first line."""
        header: dict[str, Any] = json.loads(self.text.split("\n", 1)[0])
        return header


def real_proofs(root: Path, seed: int, rule_sets: int, each: int) -> list[Proof]:
    """Have wins proved: of random positions of shipped small boards and of random rule sets, and of puzzles.

    Raises
    ------
    RuntimeError
        If hardly any position could be proved: then there is nothing to change.
    """
    root.mkdir(parents=True)
    variants = list(_SHIPPED[:1] if rule_sets == 0 else _SHIPPED)
    for number in range(rule_sets):
        text = random_rule_set(random.Random(f"{seed} {number}"), f"rules-{number}")
        # Of a rule set with a move limit there is one without it as well: its proofs may prove nothing under the limit.
        for path, content in (
            (root / f"rules-{number}.toml", text),
            (root / f"rules-{number}{_UNLIMITED}", re.sub(r"move_limit = \d+\n", "", text)),
        ):
            if path.name.endswith(_UNLIMITED) and content == text:
                continue
            path.write_text(content, encoding="utf-8")
            variants.append(str(path))
    # Kernels, once.
    here(["puzzle", "solve", "-v", "ashton-5-4v0", "--save-proof", "first.jsonl"], root)
    proofs = []
    for name in variants:
        rng, found = random.Random(f"{seed} {name.rsplit('/', 1)[-1]}"), 0
        terrain = load_variant(name).terrain
        for _ in range(8 * each):
            text = random_position(rng, terrain, men=rng.choice([2, 3, 4, 5]))[1]
            args = ["puzzle", "solve", "-v", name, "-p", text, "--nodes", "20000", "--positions", "2000"]
            ended = run([*args, "--save-proof", "proof.jsonl", "--proof-positions", str(_ENTRIES)], root, limit=60)
            path = root / "proof.jsonl"
            if ended.code == 0 and path.exists():
                proofs.append(Proof(name, path.read_text(encoding="utf-8")))
                path.unlink()
                found += 1
                proofs += _held(name, text, rng.choice(["white", "black"]), root)
            if found == each:
                break
    if len(proofs) < len(variants) // 2:
        raise RuntimeError(f"{len(proofs)} proofs of {len(variants)} rule sets")
    return proofs


def _held(name: str, text: str, side: str, root: Path) -> list[Proof]:
    """Return the proof that a side does not win a position, if it is found soon and is small."""
    options = ["--nodes", "20000", "--memory", "1", "--hours", "0.0005", "--store", "held"]
    run(["prove", "-v", name, "-p", text, "--claim", f"not-{side}", *options], root, limit=60)
    path = root / "held" / "certificate.jsonl.gz"
    content = gzip.decompress(path.read_bytes()).decode() if path.exists() else ""
    shutil.rmtree(root / "held", ignore_errors=True)
    return [Proof(name, content)] if 1 < content.count("\n") < _ENTRIES else []


def certificate_trial(
    proofs: Sequence[Proof], pairs: Sequence[tuple[Proof, Proof]], run_seed: int, number: int
) -> list[Trial]:
    """Have a certificate checked: three of four times a real proof that was changed, else a forged one."""
    seed = f"{run_seed}.{number}"
    rng, began = random.Random(f"certificates {seed}"), time.monotonic()
    proof = rng.choice(list(proofs))
    if pairs and rng.random() < 0.06:
        proof, longer = rng.choice(list(pairs))
        kind, (text, what) = "beyond the move limit", _beyond(rng, proof, longer)
    elif rng.random() < 0.25:
        kind, (text, what) = "forged", _forged(rng, proof)
    else:
        kind, text, what = _changed(rng, proof, proofs)
    with tempfile.TemporaryDirectory(prefix="faults-") as top:
        folder = Path(top).resolve() / "run"
        folder.mkdir()
        (folder / "made.jsonl").write_text(text, encoding="utf-8", newline="")
        plies = rng.choice(["0", "300", "3000"])
        given = [] if rng.random() < 0.3 and not proof.variant.endswith(".toml") else ["-v", proof.variant]
        args = ["puzzle", "check", "made.jsonl", *given, "--plies", plies, "--json"]
        ended = run(args, folder, limit=_LIMIT)
    verdict, detail = _judged(ended, text, proof)
    what = f"{Path(proof.variant).name}, {proof.header['position']}: {what}"
    seconds = round(time.monotonic() - began, 3)
    return [Trial("certificates", "certificate", kind, seed, what[:600], verdict, detail, seconds)]


def _judged(ended: Run, text: str, proof: Proof) -> tuple[Verdict, str]:
    if (bad := crash(ended)) is not None:
        return bad, tail(ended)
    if ended.code == 1:
        return Verdict.NAMED, "checked, and proves nothing"
    if ended.code in (2, 74):
        line = one_line(ended)
        return (Verdict.NAMED, "") if line is not None and "made.jsonl" in line else (Verdict.UNNAMED, tail(ended))
    if ended.code != 0:
        return Verdict.WRONG, tail(ended)
    answer = json.loads(ended.out)
    does = "never loses" if answer["plies"] is None else f"wins within {answer['plies']} plies"
    claim = f"{answer['winner']} {does} from '{answer['position']}' ({answer['variant']})"
    variant = load_variant(proof.variant if proof.variant.endswith(".toml") else answer["variant"])
    left = _plies_left(text)
    truth = Truth(variant)
    entries = [entry for entry in _lines(text) if isinstance(entry, list) and len(entry) == 3]
    strategy = {str(entry[0]): str(entry[2]) for entry in entries}
    if answer["plies"] is None:
        right = truth.keeps(answer["position"], answer["winner"], strategy)
        return (Verdict.RIGHT, "") if right else (Verdict.FALSE_PROOF, f"accepted: {claim}")
    try:
        if not truth.holds(answer["position"], answer["winner"], int(answer["plies"]), left):
            return Verdict.FALSE_PROOF, f"accepted: {claim}; move limit {variant.rules.move_limit}, left {left}"
        sooner = int(answer["plies"]) - 1
        exact = answer.get("distance") == "exact" and sooner >= 0
        if exact and truth.holds(answer["position"], answer["winner"], sooner, left):
            return Verdict.FALSE_PROOF, f"said to be exact, and is not: {claim}"
    except TruthSpentError:
        # Too far for brute force: then the certificate itself must be a strategy that wins.
        if not truth.covers(answer["position"], answer["winner"], int(answer["plies"]), strategy, left):
            return Verdict.FALSE_PROOF, f"accepted, and its strategy does not win: {claim}"
    return Verdict.RIGHT, ""


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.lstrip("\ufeff").splitlines() if line.strip()]


def _plies_left(text: str) -> int | None:
    """Return the plies before a draw that a certificate says it is made for, if it says so."""
    header = _lines(text)[0]
    found = [value for key, value in header.items() if "left" in key and isinstance(value, int)]
    return min(found) if found else None


# -- real proofs, changed ------------------------------------------------------------------


def _changed(rng: random.Random, proof: Proof, proofs: Sequence[Proof]) -> tuple[str, str, str]:
    """Return the kind of a change, the changed certificate and what was done."""
    lines = [json.loads(line) for line in proof.text.splitlines()]
    kind = rng.choice(list(_CHANGES))
    made = _CHANGES[kind](rng, lines, proofs)
    if isinstance(made, str):
        return kind, made, kind
    changed, what = made
    if isinstance(changed[0], dict) and "positions" in changed[0] and rng.random() < 0.7:
        changed[0]["positions"] = len(changed) - 1
    return kind, _text(changed), what


def _text(lines: Sequence[Any]) -> str:
    return "\n".join(json.dumps(line) for line in lines) + "\n"


Lines = list[Any]


def _value(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    """Edit a value anywhere; the header as often as all other lines together."""
    number = 0 if rng.random() < 0.5 or len(lines) < 2 else rng.randrange(1, len(lines))
    lines[number], said = edit_json(rng, lines[number])
    return lines, f"line {number + 1}: {said}"


def _dropped(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    number = rng.randrange(len(lines))
    del lines[number]
    return lines or [None], f"line {number + 1} dropped"


def _repeated(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    number = rng.randrange(len(lines))
    again, said = edit_json(rng, lines[number])
    lines.insert(rng.randrange(len(lines) + 1), again)
    return lines, f"line {number + 1} once more, with {said}"


def _exchanged(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    """Exchange one column of two lines of the strategy."""
    if len(lines) < 3:
        return _dropped(rng, lines, proofs)
    first, second = rng.sample(range(1, len(lines)), 2)
    column = rng.randrange(len(lines[first]))
    lines[first][column], lines[second][column] = lines[second][column], lines[first][column]
    return lines, f"lines {first + 1} and {second + 1}: column {column + 1} exchanged"


def _claimed(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    """Claim something else: sooner, later, by the other side, from another position, with the other to move."""
    header = lines[0]
    if header["plies"] is None or rng.random() < 0.2:
        for entry in lines[1:]:
            entry[1] = rng.choice([0, entry[1]])
        version, plies = rng.choice([(4, None), (4, None), (4, 7), (3, None), (3, 7)])
        place, other = rng.choice(lines[1:] or [[header["position"]]])[0], rng.choice(["white", "black"])
        header |= {"version": version, "plies": plies, **rng.choice([{}, {"winner": other}, {"position": place}])}
        return lines, "claims " + json.dumps({key: header.get(key) for key in ("position", "winner", "plies")})
    match rng.randrange(6):
        case 0:
            header["plies"] += rng.choice([-2, -1, 1, 2, 10**12, 2**63])
        case 1:
            header["winner"] = {"white": "black", "black": "white"}[header["winner"]]
        case 2 if len(lines) > 1:
            entry = rng.choice(lines[1:])
            header["position"], header["plies"] = entry[0], max(0, entry[1] + rng.choice([-1, 0, 0, 1]))
        case 3:
            text = header["position"]
            header["position"] = text[:-1] + {"w": "b", "b": "w"}.get(text[-1], "w")
        case 4:
            other = rng.choice(list(proofs)).header
            header.update({key: other[key] for key in rng.sample(sorted(other), 2)})
        case _:
            drop = rng.choice([-1, 1, -2])
            header["plies"] += drop
            for entry in lines[1:]:
                entry[1] = max(1, entry[1] + drop)
    return lines, "claims " + json.dumps({key: header.get(key) for key in ("position", "winner", "plies")})


def _lessened(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    """Give every number of plies in the strategy another value."""
    new = rng.choice([0, 1, True, -1, 1.0, 10**12, None, "1"])
    for entry in lines[1:]:
        entry[1] = new
    return lines, f"all plies of the strategy are {new!r}"


def _mixed(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> tuple[Lines, str]:
    """Put the strategy of one proof under the header of another."""
    other = rng.choice(list(proofs))
    return [lines[0], *map(json.loads, other.text.splitlines()[1:])], f"the strategy of {other.header['position']}"


def _ill_formed(rng: random.Random, lines: Lines, proofs: Sequence[Proof]) -> str:
    """Return text that is hardly JSON lines."""
    text = _text(lines)
    place = rng.randrange(len(text))
    depth = rng.choice([50, 2000, 100_000])
    return rng.choice(
        [
            text[:place],
            text[:place] + rng.choice(["\0", "é", "}", "[", "\n", "\ud7ff", "NaN", "1e999"]) + text[place + 1 :],
            "\ufeff" + text,
            text.replace("\n", "\r\n"),
            text.replace("\n", "\n\n"),
            "[" * depth + "]" * depth + "\n" + text,
            text + "[" * depth + "]" * depth + "\n",
            text.replace('"plies": ', '"plies": ' + "9" * rng.choice([20, 5000]), 1),
            text.replace("{", '{"winner": "black", "plies": 0, ', 1),
            text + "{" + '"a":' * 10 + "1" + "}" * 10 + "\n",
            "",
            "\n",
            "null\n",
        ]
    )


_CHANGES: Final[dict[str, Callable[[random.Random, Lines, Sequence[Proof]], Any]]] = {
    "value edited": _value,
    "line dropped": _dropped,
    "line repeated": _repeated,
    "columns exchanged": _exchanged,
    "another claim": _claimed,
    "plies of all": _lessened,
    "other strategy": _mixed,
    "ill-formed": _ill_formed,
}


def pairs_of(proofs: Sequence[Proof]) -> list[tuple[Proof, Proof]]:
    """Return proofs under a move limit, each with one of the same game without it that takes more plies."""
    found = []
    for proof in proofs:
        limit = load_variant(proof.variant).rules.move_limit
        twin = proof.variant.replace(".toml", _UNLIMITED)
        if limit is not None and proof.header["plies"] is not None:
            longer = (other for other in proofs if other.variant == twin and (other.header["plies"] or 0) > limit)
            found += [(proof, other) for other in longer]
    return found


def _beyond(rng: random.Random, proof: Proof, longer: Proof) -> tuple[str, str]:
    """Return a proof of the game without a move limit, as if it were one of the game with it."""
    lines = [json.loads(line) for line in longer.text.splitlines()]
    claim = {key: lines[0][key] for key in ("position", "winner", "plies", "positions")}
    lines[0] = {**proof.header, **claim}
    for key in lines[0]:
        if "left" in key:
            lines[0][key] = rng.choice([None, proof.header[key], claim["plies"], 10**6])
    return _text(lines), f"the proof of {longer.header['position']} in {longer.header['plies']} plies"


# -- forged --------------------------------------------------------------------------------


def _forged(rng: random.Random, proof: Proof) -> tuple[str, str]:
    """Return a certificate of a random claim under the rules of a real proof, as good as it can be made to look.

    The winner's moves win at once where one does, and are random else; every number of
    plies is what the claim leaves. Roots that are decided, without a move or beyond the move
    limit are as welcome as any.
    """
    variant = load_variant(proof.variant)
    truth, winner = Truth(variant), rng.choice(["white", "black"])
    root = random_position(rng, variant.terrain, men=rng.choice([2, 2, 3, 4, 6, 9]))[1]
    if rng.random() < 0.3:
        root = _stuck(rng, variant.terrain, truth) or root
    plies = rng.choice([0, 0, 1, 1, 2, 3, 3, 5, 8, 40, 999, 10**12])
    game = truth.game
    strategy: dict[str, list[Any]] = {}
    waiting, seen = [(game.read(root), min(plies, 50))], set()
    while waiting and len(strategy) < 150 and len(seen) < 600:
        position, left = waiting.pop()
        text = game.write(position)
        if (text, left) in seen or left < 0:
            continue
        seen.add((text, left))
        moves = list(game.legal_moves(position))
        if (position.side == "w") == (winner == "white"):
            if not moves:
                continue
            results = [game.apply(position, move) for move in moves]
            won = [
                number for number, result in enumerate(results) if result.outcome and result.outcome.winner == winner
            ]
            number = rng.choice(won) if won else rng.randrange(len(moves))
            strategy[text] = [text, rng.choice([left, left, 1]), game.move_name(moves[number])]
            if results[number].outcome is None:
                waiting.append((results[number].position, left - 1))
        else:
            for move in moves:
                result = game.apply(position, move)
                if result.outcome is None:
                    waiting.append((result.position, left - 1))
    entries = sorted(strategy.values(), key=lambda entry: entry[1])
    header = {**proof.header, "position": root, "winner": winner, "plies": plies, "positions": len(entries)}
    header["version"] = 3
    if rng.random() < 0.3:
        # That it never loses: most do not, by moves at random.
        header |= {"version": 4, "plies": None}
        entries = [[place, 0, move] for place, _, move in entries]
    for key in header:
        if "left" in key:
            header[key] = rng.choice([header[key], plies, 10**6])
    return _text(
        [header, *entries]
    ), f"forged: {winner} wins within {header['plies']} from {root}, {len(entries)} entries"


def _stuck(rng: random.Random, terrain: tuple[str, ...], truth: Truth) -> str | None:
    """Return a position in which a side has no move."""
    for _ in range(60):
        text = random_position(rng, terrain, men=rng.choice([2, 5, 8, 10]))[1]
        position = truth.game.read(text)
        if any(not truth.game.legal_moves(position._replace(side=side)) for side in "wb"):
            return text
    return None
