"""Certificates: what is wrong with a file is named, with its number, and never accepted."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting.reachable.certificate_checker import check_file
from counting.reachable.certificates import decode_moves, encode_moves, read_file
from counting.reachable.estimation import estimate
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.variants import load_variant
from tests.support.effort import examples

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
    return next(r for r in records[1:] if kind in r and (kind != "game" or len(decode_moves(r["game"], 5)) >= least))


def first_move_twice(records: list[dict]) -> None:
    """An attacker and the king that go there and back repeat the start."""
    record = of_kind(records, "game", 2)
    record["game"] = encode_moves([(2, 1), (12, 7), (1, 2), (7, 12), *decode_moves(record["game"], 5)], 5)


def shortened(records: list[dict]) -> None:
    record = of_kind(records, "game", 2)
    record["game"] = encode_moves(decode_moves(record["game"], 5)[:-1], 5)


def altered_move(records: list[dict]) -> None:
    record = of_kind(records, "game", 2)
    moves = decode_moves(record["game"], 5)
    moves[1] = moves[1][0], (moves[1][1] + 1) % 25
    record["game"] = encode_moves(moves, 5)


BAD_CERTIFICATES: dict[str, Edit] = {
    "one altered move": altered_move,
    "a repeated position": first_move_twice,
    "a wrong end": shortened,
    "a cell beyond the board": lambda r: of_kind(r, "game", 1).update(game="/////w=="),
    "half a move": lambda r: of_kind(r, "game").update(game="AAAA"),
    "a number that was not drawn": lambda r: r[4].update(n=str(int(r[4]["n"]) ^ 1)),
    "another order": lambda r: r[3].update(i=7),
    "a lock that is none": lambda r: of_kind(r, "game").update(locked="c3") or of_kind(r, "game").pop("game"),
    "two claims": lambda r: of_kind(r, "game").update(lemma="last_move"),
    "no claim": lambda r: of_kind(r, "game").pop("game"),
    "a lemma that does not hold": lambda r: (
        of_kind(r, "game").update(lemma="last_move") or of_kind(r, "game").pop("game")
    ),
    "a tree of a reached position": lambda r: of_kind(r, "game").update(tree=50) or of_kind(r, "game").pop("game"),
    "a tree too large": lambda r: of_kind(r, "tree").update(tree=10**9),
    "a wrong sum": lambda r: r[0].update(reachable=r[0]["reachable"] - 1),
    "a wrong interval": lambda r: r[0].update(interval99=[0.5, 0.9]),
}


@pytest.mark.parametrize("name", BAD_CERTIFICATES)
def test_a_bad_certificate_is_named_with_its_number(name: str, lines: list[dict], tmp_path: Path) -> None:
    records = json.loads(json.dumps(lines))
    BAD_CERTIFICATES[name](records)
    path = written(tmp_path / "bad.jsonl", records)
    _, checked = check_file(path, load_variant)
    assert len(checked.failures) == 1
    assert re.match(r"line \d+", checked.failures[0])
    assert run(["reachable", "check", str(path)]) == 1


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_no_file_with_another_value_is_accepted(data: st.DataObject, lines: list[dict], tmp_path_factory: Any) -> None:
    records = json.loads(json.dumps(lines))
    record = data.draw(st.sampled_from([records[0], *records]))
    key = data.draw(st.sampled_from(sorted(set(record) - {"provenance"})))
    values = st.sampled_from([None, -1, 0, 2**70, 0.5, True, "", "x", [], {}, "no-such", "ashton-5-4v0"])
    record[key] = data.draw(values.filter(lambda value: value != record[key]))
    path = written(tmp_path_factory.getbasetemp() / "edited.jsonl", records)
    try:
        _, checked = check_file(path, load_variant)
    except InputError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert checked.failures


def test_a_good_file_holds(lines: list[dict], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "good.jsonl", lines)
    assert run(["reachable", "check", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["checked"], answer["failures"]) == (24, 0)


@pytest.mark.parametrize("name", ["file.jsonl", "file.jsonl.gz"])
def test_marks_of_editors_do_not_matter_and_a_cut_line_does(
    name: str, lines: list[dict], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = tmp_path / name, written(tmp_path / "good.jsonl", lines).read_bytes()
    pack = gzip.compress if name.endswith(".gz") else bytes
    for content in (b"\xef\xbb\xbf" + text, text + b"\n", text + b"  \n\n", text.replace(b"\n", b"\r\n")):
        path.write_bytes(pack(content))
        assert run(["reachable", "check", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["checked"] == 24
    for content in (text[:-1], text[:-20], text.replace(b'"i"', b"\xff", 1), b"\n" + text[: text.index(b"\n") + 1]):
        path.write_bytes(pack(content))
        assert run(["reachable", "check", str(path)]) in (1, 2)
    path.write_bytes(pack(text)[:-9])
    assert run(["reachable", "check", str(path)]) == 2


def test_some_of_the_shipped_certificates_hold() -> None:
    from counting.reachable.certificate_checker import Checker, plain_number, plain_size

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


BAD_ENDS: list[Edit] = [
    shortened,
    lambda r: (record := of_kind(r, "game", 2)).update(n=str((int(record["n"]) + 1) % 33_934)),
    lambda r: (record := of_kind(r, "game", 2)).update(tree=5) or record.pop("game"),
    lambda r: (record := of_kind(r, "tree")).update(lemma="last_move") or record.pop("tree"),
    lambda r: r[0].update(space="undecided"),
]


def test_certificates_of_final_placements(ends: list[dict], tmp_path: Path) -> None:
    _, checked = check_file(written(tmp_path / "good.jsonl", ends), load_variant)
    assert (checked.checked, checked.failures) == (60, [])
    for edit in BAD_ENDS:
        records = json.loads(json.dumps(ends))
        edit(records)
        _, checked = check_file(written(tmp_path / "bad.jsonl", records), load_variant)
        assert checked.failures
