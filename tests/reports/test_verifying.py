"""``tablut verify`` on single files: certificates and proofs, sound and changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablut.cli.shell import run

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("name", ["reachable/few.jsonl", "proofs/ashton-5-4v0-version-2.jsonl"])
def test_a_file_of_proofs_is_checked_by_the_plain_rules(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(DATA / name), "--json"]) == 0
    sound = json.loads(capsys.readouterr().out)
    assert (sound["failures"], sound["records"] > 1) == (0, True)
    # Without the last line, a claim of the header has no proof.
    lines = (DATA / name).read_text(encoding="utf-8").splitlines(keepends=True)
    short = tmp_path / "short.jsonl"
    short.write_text("".join(lines[:-1]), encoding="utf-8")
    assert run(["verify", str(short)]) in (1, 2)
    # Neither does a file of another kind pass as one of them.
    short.write_text("{}\n", encoding="utf-8")
    assert run(["verify", str(short)]) == 2
