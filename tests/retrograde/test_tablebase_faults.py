"""Stores that are damaged, swapped, linked, of other formats, or not as published: named, never believed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.solver.build import build_tablebase
from retrograde.tablebase import TablebaseError, open_tablebase
from retrograde.tablebase.records import RootRecord, TierRecord, read_record, write_record
from retrograde.tablebase.store import open_store, published_text, standing_of
from retrograde.verification.verifying import verify
from tablut.cli.shell import run
from tablut.indexing.values import value_of
from tablut.position import Position
from tablut.prober import MissingTableError
from tablut.store.records import digest_of
from tablut.variants import load_variant
from tests.support.effort import examples
from tests.support.endings import GAME, MEN, POSITIONS, contents

DATA = Path(__file__).parents[1] / "data" / "stores"


def assert_right_or_refused(root: Path, truth: list[int]) -> bool:
    """Every answer is the right one, or an error that names something of the store; return whether one was refused."""
    refused = False
    for position, value in zip(POSITIONS, truth, strict=True):
        try:
            assert value_of(open_tablebase_once(root).probe(position)) == value, str(position)
        except (TablebaseError, MissingTableError) as error:
            assert "\n" not in str(error)  # noqa: PT017
            assert str(root) in str(error), str(error)  # noqa: PT017
            refused = True
            break
    return refused


_OPEN: dict[Path, object] = {}


def open_tablebase_once(root: Path):  # type: ignore[no-untyped-def]
    if root not in _OPEN:
        _OPEN[root] = open_tablebase(root)
    return _OPEN[root]


# -- damages -------------------------------------------------------------------------------


def damage(root: Path, others: list[Path], draw: Callable) -> str:
    """Do one thing to a store that a disk, a user or a program might do."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "lock")
    if not files:
        return "nothing is left"
    pick = lambda: draw(st.sampled_from(files))  # noqa: E731
    kind = draw(
        st.sampled_from(["flip", "cut", "grow", "delete", "over", "swap", "foreign", "drop", "rename", "field"])
    )
    path = pick()
    content = path.read_bytes()
    if kind == "flip" and content:
        at = draw(st.integers(0, len(content) - 1))
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << draw(st.integers(0, 7)))]) + content[at + 1 :])
    elif kind == "cut":
        path.write_bytes(content[: draw(st.integers(0, len(content)))])
    elif kind == "grow":
        path.write_bytes(content + draw(st.binary(min_size=1, max_size=9)))
    elif kind == "delete":
        path.unlink()
    elif kind == "over":
        path.write_bytes(pick().read_bytes())
    elif kind == "swap":
        other = pick()
        mine, theirs = path.read_bytes(), other.read_bytes()
        path.write_bytes(theirs)
        other.write_bytes(mine)
    elif kind == "foreign":
        source = draw(st.sampled_from(others)) / path.relative_to(root)
        if source.exists():
            shutil.copy(source, path)
    elif kind == "drop":
        folder = draw(st.sampled_from(sorted({file.parent for file in files} - {root}) or [root]))
        if folder != root:
            shutil.rmtree(folder)
    elif kind == "rename":
        tiers = sorted(path for path in root.glob("*v*") if path.is_dir())
        if tiers:
            target = root / draw(st.sampled_from(["1v0", "2v0", "3v0", "1v1"]))
            source = draw(st.sampled_from(tiers))
            if source != target:
                shutil.rmtree(target, ignore_errors=True)
                source.rename(target)
    elif kind == "field" and path.suffix == ".json":
        # Edited, and its digest made to fit: what no digest can tell must at least not be believed to be more.
        try:
            group = json.loads(path.read_text())
            sealed = group["attributes"]["tablut"]
            name = draw(st.sampled_from(sorted(sealed["content"])))
        except (ValueError, KeyError, TypeError):
            return kind
        sealed["content"][name] = draw(st.sampled_from([None, -1, 0, 10**30, "x", [], {}, [[1, 0]], "0" * 64]))
        sealed["sha256"] = digest_of({key: value for key, value in sealed.items() if key != "sha256"})
        path.write_text(json.dumps(group, indent=1, sort_keys=True) + "\n")
    return kind


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_store_is_right_or_named(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, others: list[Path], truth: list[int], data: st.DataObject
) -> None:
    root = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)
    _OPEN.clear()
    before = contents(root)
    for _ in range(data.draw(st.integers(1, 2))):
        damage(root, others, data.draw)
    refused = assert_right_or_refused(root, truth)
    if contents(root) == before:
        assert not refused
        return
    # What probing need not look at, a verification does.
    try:
        assert verify(root).failures
    except TablebaseError as error:
        assert str(root) in str(error)  # noqa: PT017


@pytest.mark.parametrize("part", ["white/c/0", "black/zarr.json", "representatives/c/0"])
def test_a_file_that_the_record_leaves_out_is_missed(tmp_path: Path, sound: Path, part: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = read_record(root / "2v0", TierRecord)
    write_record(
        root / "2v0", record.model_copy(update={"files": {k: v for k, v in record.files.items() if k != part}})
    )
    (root / "2v0" / part).unlink()
    with pytest.raises(TablebaseError, match=rf"does not name '{part}'"):
        open_store(root).tier(2, 0)


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "white/../../1v0/zarr.json", "white/c/1"])
def test_a_name_in_a_record_is_never_a_path(tmp_path: Path, sound: Path, name: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = read_record(root / "2v0", TierRecord)
    write_record(root / "2v0", record.model_copy(update={"files": {**record.files, name: record.files["white/c/0"]}}))
    with pytest.raises(TablebaseError, match="names a file that is none of it"):
        open_store(root).tier(2, 0)


@pytest.mark.parametrize("link", ["zarr.json", "2v0", "2v0/white", "2v0/black/c/0"])
def test_links_out_of_a_store_are_not_followed(tmp_path: Path, sound: Path, link: str) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    (root / link).rename(tmp_path / "outside")
    (root / link).symlink_to(tmp_path / "outside")
    with pytest.raises(TablebaseError, match="is a link"):
        open_tablebase(root).probe(Position.parse("5/1b3/2K2/3b1/5 w", 5))


def test_a_record_that_drops_a_tier_does_not_pass(tmp_path: Path, sound: Path, capsys) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    record = open_store(root).record
    write_record(root, record.model_copy(update={"tiers": ((1, 0),)}))
    assert run(["tablebase", "verify", str(root)]) == 1
    assert "2v0" in capsys.readouterr().out


def test_a_giant_or_nested_record_is_refused(tmp_path: Path, sound: Path) -> None:
    for number, text in enumerate(["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, "\0", ""]):
        root = shutil.copytree(sound, tmp_path / str(number))
        (root / "zarr.json").write_text(text)
        with pytest.raises(TablebaseError, match=r"damaged|no record"):
            open_store(root)


# -- format versions -----------------------------------------------------------------------


def test_the_format_is_the_one_that_is_kept(tmp_path: Path, truth: list[int]) -> None:
    root = shutil.copytree(DATA / f"tablebase-{RootRecord.VERSION}", tmp_path / "s")
    table = open_tablebase(root)
    assert [value_of(table.probe(position)) for position in POSITIONS] == truth
    report = verify(root, sample=2)
    assert (report.failures, report.published["same"]) == (0, ["1v0", "2v0"])
    # It is added to, and what was there stays.
    before = contents(root)
    build_tablebase(root, GAME, MEN + 1)
    after = contents(root)
    assert {name: after[name] for name in before if name != "zarr.json"} == {
        name: before[name] for name in before if name != "zarr.json"
    }
    assert verify(root).failures == 0


@pytest.mark.parametrize(("version", "way"), [(3, "make it again"), (5, "update it")])
def test_another_version_is_refused_with_the_way_out(
    tmp_path: Path, sound: Path, capsys, version: int, way: str
) -> None:
    root = shutil.copytree(sound, tmp_path / "s")
    path = root / "zarr.json"
    path.write_text(path.read_text().replace('"version": 4', f'"version": {version}'))
    with pytest.raises(TablebaseError, match=way):
        open_store(root)
    assert run(["probe", str(root), "-p", "5/1b3/2K2/3b1/5 w"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- published -----------------------------------------------------------------------------


def test_values_are_compared_with_the_published(tmp_path: Path, sound: Path, others: list[Path], capsys) -> None:
    assert run(["tablebase", "verify", str(sound), "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["published"] == {"same": ["1v0", "2v0"], "unknown": [], "different": []}
    own = tmp_path / "own"
    build_tablebase(own, load_variant("brandubh-5-4v4"), 2)
    assert run(["tablebase", "verify", str(own)]) == 0
    assert "not among the published: 1v0" in capsys.readouterr().out
    assert json.loads(published_text([sound]))["games"][GAME.digest]["tiers"].keys() == {"1v0", "2v0"}
    assert standing_of(GAME, (3, 0), "0" * 64) == "different"


def test_other_values_than_the_published_fail(tmp_path: Path, sound: Path, monkeypatch, capsys) -> None:
    from retrograde.tablebase import store as published

    other = json.loads(published_text([sound]))
    other["games"][GAME.digest]["tiers"]["2v0"] = "0" * 64
    monkeypatch.setattr(published, "_published", lambda: other)
    assert run(["tablebase", "verify", str(sound), "--quick"]) == 1
    assert "not those published" in capsys.readouterr().out
