"""Certificates: what is wrong with a file is named, with its number, and never accepted."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from counting.reachable.certificates import decode_moves, encode_moves, read_file
from counting.reachable.checker import check_file
from counting.reachable.estimation import estimate
from tablut.cli.shell import run
from tablut.variants import load_variant

SAMPLE = Path(__file__).parents[2] / "data" / "reachable" / "ashton.jsonl.gz"
Edit = Callable[[list[dict]], object]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """A good file of two dozen certificates of all kinds, line by line."""
    path = tmp_path_factory.mktemp("certificates") / "good.jsonl"
    estimate(load_variant("brandubh-5-4v0"), 24, 84, certificates=str(path))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert {key for record in records[1:] for key in record} == {"i", "n", "game", "locked", "lemma", "tree"}
    return records


def written(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def of_kind(records: list[dict], kind: str, least: int = 1) -> dict:
    return next(r for r in records[1:] if kind in r and (kind != "game" or len(decode_moves(r["game"])) >= least))


def first_move_twice(records: list[dict]) -> None:
    """An attacker and the king that go there and back repeat the start."""
    record = of_kind(records, "game", 2)
    record["game"] = encode_moves([(2, 1), (12, 7), (1, 2), (7, 12), *decode_moves(record["game"])])


def shortened(records: list[dict]) -> None:
    record = of_kind(records, "game", 2)
    record["game"] = encode_moves(decode_moves(record["game"])[:-1])


def altered_move(records: list[dict]) -> None:
    record = of_kind(records, "game", 2)
    moves = decode_moves(record["game"])
    moves[1] = moves[1][0], (moves[1][1] + 1) % 25
    record["game"] = encode_moves(moves)


BAD_CERTIFICATES: dict[str, tuple[Edit, str]] = {
    "one altered move": (altered_move, "not a legal move|does not end|decides|repeats"),
    "a repeated position": (first_move_twice, "ply 4: repeats"),
    "a wrong end": (shortened, "does not end in the position"),
    "a cell beyond the board": (
        lambda r: of_kind(r, "game", 1).update(game="/////w=="),
        ": a cell is outside the board",
    ),
    "no base 64": (lambda r: of_kind(r, "game").update(game="?"), "cannot be read"),
    "half a move": (lambda r: of_kind(r, "game").update(game="AAAA"), "cannot be read: the last move"),
    "a number out of range": (lambda r: r[5].update(n="213790"), "out of range"),
    "a number that was not drawn": (
        lambda r: r[4].update(n=str(int(r[4]["n"]) ^ 1)),
        "is not the one drawn with seed 84",
    ),
    "another order": (lambda r: r[3].update(i=7), "has sample number 7 instead of 2"),
    "a lock that is none": (lambda r: of_kind(r, "game").update(locked="c3") or of_kind(r, "game").pop("game"), "lock"),
    "two claims": (lambda r: of_kind(r, "game").update(lemma="last_move"), "exactly one claim"),
    "no claim": (lambda r: of_kind(r, "game").pop("game"), "exactly one claim"),
    "a lemma that does not hold": (
        lambda r: of_kind(r, "game").update(lemma="last_move") or of_kind(r, "game").pop("game"),
        "does not hold",
    ),
    "a tree of a reached position": (
        lambda r: of_kind(r, "game").update(tree=50) or of_kind(r, "game").pop("game"),
        "the backward tree",
    ),
    "a tree too large": (lambda r: of_kind(r, "tree").update(tree=10**9), "at most"),
    "a wrong sum": (lambda r: r[0].update(reachable=r[0]["reachable"] - 1), "line 1: "),
    "a wrong interval": (lambda r: r[0].update(interval99=[0.5, 0.9]), "line 1: interval99"),
}


@pytest.mark.parametrize("name", BAD_CERTIFICATES)
def test_a_bad_certificate_is_named_with_its_number(name: str, lines: list[dict], tmp_path: Path) -> None:
    edit, message = BAD_CERTIFICATES[name]
    records = json.loads(json.dumps(lines))
    edit(records)
    path = written(tmp_path / "bad.jsonl", records)
    _, checked = check_file(path, load_variant)
    assert len(checked.failures) == 1
    assert re.match(r"line \d+", checked.failures[0])
    assert re.search(message, checked.failures[0]), checked.failures
    assert run(["reachable", "check", str(path)]) == 1


BAD_FILES: dict[str, tuple[Edit, str]] = {
    "a foreign variant": (lambda r: r[0].update(variant="ashton-5-4v0"), "belongs to other rules"),
    "an unknown variant": (lambda r: r[0].update(variant="no-such"), "no-such"),
    "a truncated file": (lambda r: r.pop(), "cut short"),
    "a line too many": (lambda r: r.append(r[-1]), "follows the 24 certificates"),
    "another version": (lambda r: r[0].update(version=2), "version 2"),
    "another format": (lambda r: r[0].update(format="x"), "is not a header"),
    "an unknown key": (lambda r: r[3].update(x=1), "line 4"),
    "a text for a number": (lambda r: r[3].update(i="2"), "line 4"),
    "a negative count": (lambda r: r[0].update(count=-1), "line 1"),
    "another generator": (lambda r: r[0].update(generator="Mersenne"), "line 1"),
}


def test_a_good_file_holds(lines: list[dict], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "good.jsonl", lines)
    assert run(["reachable", "check", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["checked"], answer["failures"]) == (24, 0)


def test_some_of_the_shipped_certificates_hold() -> None:
    from counting.reachable.checker import Checker, plain_number, plain_size

    header, certificates = read_file(SAMPLE)
    checker = Checker(load_variant(header.variant))
    size = plain_size(checker.reach)
    for _, certificate in list(certificates)[::61]:
        assert int(certificate.n) == plain_number(size, header.seed, certificate.i)
        assert checker.certificate(certificate) is None


@pytest.mark.slow
def test_all_shipped_certificates_hold() -> None:
    _, checked = check_file(SAMPLE, load_variant)
    assert (checked.checked, checked.failures) == (2000, [])


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """A good file of certificates of final placements, line by line."""
    path = tmp_path_factory.mktemp("ends") / "good.jsonl"
    estimate(load_variant("brandubh-5-4v0"), 60, 1, space="decided", certificates=str(path))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert {key for record in records[1:] for key in record} == {"i", "n", "game", "tree"}
    return records


BAD_ENDS: dict[str, tuple[Edit, str]] = {
    "no last ply": (shortened, "does not end the game as claimed|does not end in the position"),
    "another ending": (
        lambda r: (record := of_kind(r, "game", 2)).update(n=str((int(record["n"]) + 1) % 33_934)),
        "is not the one drawn with seed 1",
    ),
    "a game said to be none": (
        lambda r: (record := of_kind(r, "game", 2)).update(tree=5) or record.pop("game"),
        "backward tree contains the start|a ply from the start",
    ),
    "a lemma": (
        lambda r: (record := of_kind(r, "tree")).update(lemma="last_move") or record.pop("tree"),
        "lemmas do not apply to final placements",
    ),
    "the other space": (lambda r: r[0].update(space="undecided"), "is not the one drawn with seed 1|does not"),
}


def test_certificates_of_final_placements(ends: list[dict], tmp_path: Path) -> None:
    _, checked = check_file(written(tmp_path / "good.jsonl", ends), load_variant)
    assert (checked.checked, checked.failures) == (60, [])
    for edit, problem in BAD_ENDS.values():
        records = json.loads(json.dumps(ends))
        edit(records)
        _, checked = check_file(written(tmp_path / "bad.jsonl", records), load_variant)
        assert checked.failures
        assert re.search(problem, checked.failures[0]), problem
