"""`tablut prove`: it agrees with tables and with the plain checker; a store goes on, and only for its own search."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from clusters import cluster

from reports.studies.openings.joining import adopt
from retrograde.proofs import proving as proving_module
from retrograde.proofs.certificate import certificate_of, read_certificate
from retrograde.proofs.proof_tree import ProofTree, row_type
from retrograde.proofs.proving import DrawRun, ProofRun
from retrograde.proofs.strategy_checker import StrategyCheck
from retrograde.tablebase.probing import open_tablebase
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.cli.shell import run
from tablut.engine import engine_for
from tablut.errors import InputError, TablutError
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.variants import load_variant
from tablut.variants.model import Repetition
from tablut.work.parts import PartWriter
from tablut.work.progress import Observer
from tablut.work.run import LocalScheduler
from tests.support.effort import slow_but
from tests.support.strategies import placement

BOARD = "brandubh-5-4v0"
TABLES = Path(__file__).parents[3] / "retrograde" / "data" / "brandubh-5"
LARGER = TABLES.parent / "ashton-5-4v2"


def proving(variant: str, position: str, claim: Any, nodes: int = 300, tablebase: str | None = None) -> ProofRun:
    rules = load_variant(variant)
    asked = Position.parse(position, rules.size)
    return ProofRun(rules, asked, claim, observer=Observer(), tablebase=tablebase, nodes=nodes, memory=1 << 20)


def asked(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> Any:
    capsys.readouterr()
    board = [] if "-v" in options else ["-v", BOARD]
    assert run(["prove", *board, *options, "--memory", "1", "--nodes", "20", "--json"]) == code
    told = capsys.readouterr()
    return json.loads(told.out) if code in (0, 1, 3) else told.err


@pytest.mark.slow
@pytest.mark.parametrize("tables", [None, str(TABLES)])
def test_a_win_is_proved_where_a_table_has_one_and_the_plain_rules_confirm_it(tables: str | None) -> None:
    tablebase, random = open_tablebase(TABLES), Random(3)
    variant, game = tablebase.variant, NaiveGame(tablebase.variant)
    wins = 0
    while wins < 4:
        text = game.write(placement(variant, random, soldiers=3))
        position = Position.parse(text, variant.size)
        try:
            wdl, dtm = tablebase.probe(position)
        except InputError:  # decided
            continue
        if not 5 <= (dtm or 0) <= 9:
            continue
        winner = "white" if (wdl == "win") == (position.side == "w") else "black"
        found = proving(variant.name, text, winner, tablebase=tables)
        found.run(LocalScheduler(2))
        root = found.tree.root
        assert root.proof == 0, text
        assert root.plies >= (dtm or 0)
        assert found.dtm in (None, dtm)
        claim = found.engine, found.prover, found.board, root.plies
        proof = certificate_of(*claim, found.whole, tables=found.tables)
        for deep in (False, True):
            check = StrategyCheck(variant, proof, most_plies=0, tablebase=tablebase, deep=deep)
            assert not check.run().failures
        wins += 1


class Cut(LocalScheduler):
    """Is interrupted after so many answers, some of which are lost."""

    left = 4

    def feed(self, function: Any, draw: Any, done: Any) -> None:
        def told(answer: Any) -> None:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            done(answer)

        super().feed(function, draw, told)


def test_what_was_begun_and_lost_is_done_again(tmp_path: Path) -> None:
    tasks = []
    for scheduler in (Cut(2), Cut(2), LocalScheduler(2)):
        found = proving("brandubh", "7/2b4/4bKb/7/b6/7/4w2 b", "white", nodes=1000)
        try:
            found.run(scheduler, tmp_path / "store")
        except KeyboardInterrupt:
            assert isinstance(scheduler, Cut)
        tasks.append(found.tree.tasks)
    assert tasks[:2] == [4, 8]
    assert found.tree.root.proof == 0
    assert found.certificate is not None
    assert found.certificate.exists()


def test_a_search_that_goes_on_prefers_what_it_preferred_before(tmp_path: Path) -> None:
    def numbers(found: ProofRun) -> dict[bytes, tuple[int, int]]:
        return {words: (node.proof, node.disproof) for words, node in found.tree.nodes.items()}

    before, again = (proving("brandubh", "7/2b4/4bKb/7/b6/7/4w2 b", "white", nodes=100) for _ in range(2))
    cut = Cut(1)
    cut.left = 30
    with pytest.raises(KeyboardInterrupt):
        before.run(cut, tmp_path / "store")
    again.run(LocalScheduler(1), tmp_path / "store", 0)
    assert numbers(again) == numbers(before)


@pytest.mark.parametrize("easy", [False, True])
def test_of_the_answers_that_which_disproves_comes_first_or_that_which_is_easy_to_prove(easy: bool) -> None:
    rows = np.zeros(4, dtype=row_type(1))
    rows["words"][:, 0], rows["proof"], rows["disproof"] = range(4), (5, 9, 2, 5), (1, 1, 7, 4)
    tree = ProofTree(np.zeros(1, dtype=np.uint64), mine=False)
    tree.easy = easy
    tree.take(rows)
    first = tree.choose()
    assert first is not None
    assert first.words == rows["words"][2 if easy else 1].tobytes()


def test_a_store_goes_on_and_is_for_one_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(tmp_path / "store")]
    here = ["--claim", "white", *store]
    assert asked(capsys, *here, "--hours", "0", code=3)["status"] == "open"
    found = asked(capsys, *here)
    assert (found["status"], found["dtm"], found["variant"]) == ("proved", 6, BOARD)
    assert {move["status"] for move in found["first_moves"]} == {"proved"}
    assert asked(capsys, *here)["tasks"] == found["tasks"]
    assert asked(capsys, "--claim", "white", "--moves", "c1-b1", code=0)["first_moves"]
    for other, name in (
        (["--claim", "black", *store], "another claim"), ([*here, "--moves", "c1-b1 c3-b3"], "another position"),
        ([*here, "--tablebase", str(TABLES.parent / BOARD)], "other tables"),
        ([*here, "-v", "ashton-5-4v0"], "other rules"),
    ):  # fmt: skip
        assert name in asked(capsys, *other, code=2)
    path = tmp_path / "store" / "proof.json"
    sound = path.read_bytes()
    path.write_bytes(sound[:-9] + bytes([sound[-9] ^ 1]) + sound[-8:])
    assert path.name in asked(capsys, *here, code=2)
    path.write_bytes(sound)
    with next((tmp_path / "store").glob("part-*.rows")).open("ab") as part:
        part.write(b"x")
    assert asked(capsys, *here)["tasks"] == found["tasks"]
    assert asked(capsys, "--claim", "black", code=1)["status"] == "refuted"


def test_what_is_settled_is_checked_by_the_plain_rules_or_said_to_be_unchecked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for claim, code, way in (("white", 0, "puzzle check"), ("black", 1, "not-black"), ("not-white", 1, "white")):
        here = ["--claim", claim, "--store", str(tmp_path / claim)]
        with monkeypatch.context() as patch:
            told = asked(capsys, *here, code=code)
            assert told["checked"]
            # What is settled after a first move follows from the position itself here.
            assert {one["checked"] for one in told["first_moves"] if one["status"] != "open"} <= {True}
            patch.setattr(proving_module, "_CHECKED", -1)
            told = asked(capsys, *here, code=code)
            assert (told["status"], told["checked"]) == (("proved", "refuted")[code], False)
            assert not any(one["checked"] for one in told["first_moves"])
            assert run(["prove", "-v", BOARD, *here, "--memory", "1", "--nodes", "20"]) == code
            assert way in capsys.readouterr().out.split("to check it")[1]
    assert not asked(capsys, "--claim", "white", "--hours", "0", code=3)["checked"]


def test_a_part_is_written_again_if_it_was_not_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    found, store = proving(BOARD, "2b2/5/b1K1b/5/2b2 b", "white", nodes=20), tmp_path / "store"
    cut = Cut(1)
    with monkeypatch.context() as patch:
        tried = iter((stopped, PartWriter.finish))
        patch.setattr(PartWriter, "finish", lambda *args, **more: next(tried)(*args, **more))
        patch.setattr(proving_module, "_KEPT_EVERY", 0.0)
        with pytest.raises(KeyboardInterrupt):
            found.run(cut, store)
    again = proving(BOARD, "2b2/5/b1K1b/5/2b2 b", "white", nodes=20)
    again.run(LocalScheduler(1), store, hours=0)
    assert again.tree.tasks == found.tree.tasks == 1
    assert [path.name for path in sorted(store.glob("*.rows"))] == ["part-000001.rows"]


def test_proofs_of_all_answers_are_one_of_the_position_before_them(tmp_path: Path) -> None:
    board = Board(BOARD)
    after = []
    for move in list(board.legal_moves):
        board.push(move)
        after.append(proving(BOARD, str(board.position), "white"))
        board.pop()
        after[-1].run(LocalScheduler(1))
    but_one = [one for one in after if one.tree.root.words != after[0].tree.root.words]
    for others, status in ((but_one, "open"), (after, "proved")):
        whole = proving(BOARD, str(board.position), "white")
        adopt(whole, others)
        whole.run(LocalScheduler(1), tmp_path / status, hours=0)
        assert whole.result().status == status
    assert whole.certificate is not None
    proof = read_certificate(whole.certificate.name, whole.certificate)
    assert StrategyCheck(whole.variant, proof, most_plies=0).run().proved
    again = proving(BOARD, str(board.position), "white")
    again.run(LocalScheduler(1), tmp_path / "proved", hours=0)
    assert again.result() == whole.result()


def test_proofs_of_all_other_answers_are_none_where_one_ends_the_game(tmp_path: Path) -> None:
    board, after = Board("brandubh", "7/7/7/1b5/7/7/2Kb3 b"), []
    for move in list(board.legal_moves):
        board.push(move)
        if str(move) == "b4-b1":
            assert board.result() == "black"
        else:
            after.append(proving("brandubh", str(board.position), "white"))
            after[-1].run(LocalScheduler(1))
            assert after[-1].result().status == "proved"
        board.pop()
    whole = proving("brandubh", str(board.position), "white")
    adopt(whole, after)
    whole.run(LocalScheduler(1), tmp_path, hours=0)
    assert whole.result().status == "open"


def test_both_halves_of_a_draw_share_the_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    now, given = [0.0], []

    def search(run: ProofRun, scheduler: object, store: object, hours: float | None) -> None:
        given.append(hours)
        now[0] += 2 * 3600

    monkeypatch.setattr("retrograde.proofs.proving.wall_clock", lambda: now[0])
    monkeypatch.setattr(ProofRun, "run", search)
    limits: dict[str, Any] = {"nodes": 1, "memory": 1 << 20, "tablebase": None}
    for hours, expected in ((3.0, [3.0, 1.0]), (1.0, [1.0, 0.0]), (None, [None, None])):
        given.clear()
        whole = DrawRun(load_variant(BOARD), Board(BOARD).position, "draw", observer=Observer(), **limits)
        whole.run(LocalScheduler(1), hours=hours)
        assert given == expected


def valued(draws: int, count: int) -> list[tuple[Position, str | None]]:
    """Return positions of a small board, each with the side that wins by its table; draws come first, and are few."""
    tablebase, random = open_tablebase(LARGER), Random(7)
    found: list[tuple[Position, str | None]] = []
    drawn = list_positions(tablebase.store, TableQuery(wdl="draw", materials=((4, 2),)), 2000).positions
    found += [(one.position, None) for one in random.sample(drawn, 4)[:draws]]
    while len(found) < count:
        text = NaiveGame(tablebase.variant).write(placement(tablebase.variant, random, soldiers=5))
        try:
            wdl, _ = tablebase.probe(position := Position.parse(text, 5))
        except TablutError:  # decided, or of no tier that is kept
            continue
        found.append((position, "white" if (wdl == "win") == (position.side == "w") else "black"))
    return found


@pytest.mark.parametrize("tables", [None, str(LARGER)])
@pytest.mark.parametrize(("draws", "count"), slow_but([(1, 2)], [(4, 9)]))
def test_a_side_holds_where_a_table_has_no_win_against_it(draws: int, count: int, tables: str | None) -> None:
    tablebase, statuses = open_tablebase(LARGER), set()
    for position, winner in valued(draws, count):
        for side in ("white", "black"):
            found = proving("ashton-5-4v2", str(position), f"not-{side}", nodes=3_000_000, tablebase=tables)
            found.run(LocalScheduler(1))
            told = found.result()
            assert told.status == ("refuted" if winner == side else "proved"), (position, side)
            statuses.add((winner is None, told.status))
            if told.status == "proved":
                other = 1 - found.prover
                proof = certificate_of(found.engine, other, found.board, None, found.whole, tables=found.tables)
                for deep in (False, True):
                    check = StrategyCheck("ashton-5-4v2", proof, most_plies=0, tablebase=tablebase, deep=deep).run()
                    assert check.proved, check.failures
                    assert check.distance is None
    assert statuses == {(True, "proved"), (False, "proved"), (False, "refuted")}


@pytest.mark.parametrize("text", slow_but(["1b3/b4/5/bK1b1/ww3 w"], ["5/5/bb3/1Kw2/1b1bw b", "5/b4/5/b1K1b/ww2b w"]))
def test_a_tree_that_has_no_leaf_left_shows_that_nobody_wins(text: str) -> None:
    for side in ("white", "black"):
        found = proving("ashton-5-4v2", text, side, nodes=100)
        found.run(LocalScheduler(1))
        assert found.result().status == "refuted"
        held = proving("ashton-5-4v2", text, f"not-{side}", nodes=1)
        held.run(LocalScheduler(1))
        assert held.tree.tasks > 1
        proof = certificate_of(held.engine, 1 - held.prover, held.board, None, held.whole)
        assert StrategyCheck("ashton-5-4v2", proof, most_plies=0).run().proved


def test_a_draw_is_two_proofs_that_others_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = ["prove", "-v", "ashton-5-4v2", "-p", "5/3b1/3b1/bK1w1/1b2w b", "--memory", "1", "--json"]
    here += ["--store", str(tmp_path)]
    texts = []
    for _ in range(2):
        assert run([*here, "--claim", "draw"]) == 0
        texts.append(json.loads(capsys.readouterr().out))
    again, first = texts.pop(), texts.pop()
    assert again | {"provenance": None} == first | {"provenance": None}
    assert [half["claim"] for half in first["halves"]] == ["not-white", "not-black"]
    assert run([*here, "--claim", "not-white"]) == 2
    assert "another claim" in capsys.readouterr().err
    for half in first["halves"]:
        content = gzip.decompress(Path(half["certificate"]).read_bytes()).decode()
        winning = content.replace('"version": 4', '"version": 3').replace('"plies": null', '"plies": 5')
        for changed, code in (
            (content, 0),
            (content.replace('"plies": null', '"plies": 5'), 2),
            (content.replace('"version": 4', '"version": 3'), 2),
            (winning, 2),
            (winning.replace(", 0, ", ", 5, "), 1),
            (content.replace(", 0, ", ", 1, "), 2),
            (
                re.sub(
                    r'("positions": )(\d+)',
                    lambda found: found[1] + str(int(found[2]) - 1),
                    content[: content[:-1].rindex("\n") + 1],
                ),
                1,
            ),
        ):
            (tmp_path / "changed.jsonl").write_text(changed)
            assert run(["puzzle", "check", str(tmp_path / "changed.jsonl")]) == code, changed[:400]
    assert "never loses" in capsys.readouterr().out


def test_what_a_repetition_can_decide_is_refused_at_once() -> None:
    position = "9/9/9/9/4K4/2b6/2b6/9/2b6 w"
    for variant, claim in (("berkeley", "draw"), ("berkeley", "not-white"), ("berkeley", "not-black")):
        assert run(["prove", "-v", variant, "-p", position, "--claim", claim]) == 2
    engine = engine_for(load_variant("berkeley"))
    board = Board("berkeley", position)
    proof = certificate_of(engine, 0, engine.board(board.position.cells, board.position.side), None, {})
    with pytest.raises(InputError, match="repetition"):
        StrategyCheck("berkeley", proof)


def test_who_may_go_round_for_ever() -> None:
    spared = {"draw": "wb", "none": "wb", "white_loses": "b", "black_loses": "w", "mover_loses": "", "illegal": ""}
    spared |= {"mover_wins": "", "illegal_for_white": "b"}
    for result, sides in spared.items():
        rule = Repetition.model_validate({"times": 3, "result": result})
        assert "".join(side[0] for side in ("white", "black") if rule.spares(side)) == sides


@pytest.mark.slow
def test_two_workers_of_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(tmp_path / "cluster", workers=2) as address:
        here = ["--claim", "white", "--store", str(tmp_path / "store"), "--scheduler", address]
        assert asked(capsys, *here)["dtm"] == 6
    assert asked(capsys, "--claim", "white", "--scheduler", address, "--store", str(tmp_path / "more"), code=74)
