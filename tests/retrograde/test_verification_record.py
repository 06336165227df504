"""Verification goes on from its record, and verifies again what has changed."""

import json
import shutil
from pathlib import Path

import pytest

from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import write_tier
from retrograde.verification import findings as record_module
from retrograde.verification import verifying as verification_module
from retrograde.verification.verifying import verify
from tablut.cli.shell import run
from tablut.indexing.tiers import tier_index
from tablut.store.records import StoreError

TIERS = ["1v0", "1v1", "2v0", "2v1", "3v0"]


class StoppedError(Exception):
    """As if the program had been killed."""


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, deep_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "record.json"
    prove, proved = verification_module._prove_tier, []

    def until_the_fourth(tier, *others) -> None:
        if len(proved) == 3:
            raise StoppedError
        proved.append(tier.record.name)
        prove(tier, *others)

    monkeypatch.setattr(verification_module, "_prove_tier", until_the_fourth)
    with pytest.raises(StoppedError):
        verify(deep_store, record=record)
    monkeypatch.undo()
    assert proved == TIERS[:3]
    rest = verify(deep_store, record=record)
    assert list(rest.verified_before) == TIERS[:3]
    assert (rest.failures, rest.files_checked) == (0, 30)
    again = verify(deep_store, record=record)
    assert (list(again.verified_before), again.positions_checked) == (TIERS, 0)
    assert sum(again.verified_before.values()) == verify(deep_store).positions_checked


def test_a_tier_that_changes_is_verified_again_with_all_above(tmp_path, deep_store, deep_codes) -> None:
    record = tmp_path / "record.json"
    verify(deep_store, record=record)
    root = shutil.copytree(deep_store, tmp_path / "s")
    white, black = (codes.copy() for codes in deep_codes[2, 0])
    white[white == 2] = 6
    write_tier(root, tier_index(open_store(root).variant, 2, 0), white, black)
    report = verify(root, record=record)
    # 2v1 and 3v0 come to 2v0 by captures.
    assert list(report.verified_before) == ["1v0", "1v1"]
    assert report.failures > 0
    assert "2v0" in {wrong.where for wrong in report.failed}
    # What failed is not noted.
    assert "2v0" not in verify(root, record=record).verified_before


def test_another_program_verifies_again(tmp_path, deep_store, monkeypatch) -> None:
    record = tmp_path / "record.json"
    verify(deep_store, record=record)
    monkeypatch.setattr(record_module, "__version__", "another")
    assert verify(deep_store, record=record).verified_before == {}


def test_one_file_holds_several_games(tmp_path, deep_store, small_store) -> None:
    record = tmp_path / "record.json"
    for store in (deep_store, small_store):
        assert verify(store, record=record).verified_before == {}
    for store in (deep_store, small_store):
        assert verify(store, record=record).positions_checked == 0


@pytest.mark.parametrize("how", ["edited", "other", "text", "folder"])
def test_a_record_that_is_not_as_it_was_written_is_refused(tmp_path, deep_store, capsys, how: str) -> None:
    record = tmp_path / "record.json"
    if how == "folder":
        record.mkdir()
    elif how == "edited":
        verify(deep_store, record=record)
        record.write_text(record.read_text().replace('"positions": ', '"positions": 1', 1))
    else:
        record.write_text(json.dumps({"record": {"format": "x", "version": 1}}) if how == "other" else "notes")
    if how == "edited":
        with pytest.raises(StoreError, match="not what its digest says"):
            verify(deep_store, record=record)
    assert run(["tablebase", "verify", str(deep_store), "--record", str(record)]) == 2
    # A long path is quoted in part.
    error = capsys.readouterr().err
    assert "verification record" in error
    assert str(record)[:30] in error
    assert error.count("\n") == 1
