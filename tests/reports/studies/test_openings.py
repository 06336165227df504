"""Brandubh's openings: play by a certificate, on any side of the board, and a page that is that of the data."""

from __future__ import annotations

import json
import lzma
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from reports.studies.openings import __main__ as module
from reports.studies.openings import deciding, guided, selfplay, walking
from reports.studies.openings.__main__ import CERTIFICATE, NAME, app
from reports.studies.openings.deciding import DATA, GAME, Decided, Opening, Strategy, openings
from reports.studies.openings.guided import GuidedWork, given_moves
from reports.studies.openings.outline import OutlineRecord, read_outline
from retrograde.proofs.certificate import read_certificate
from retrograde.proofs.proving import ProofRun, Task, search_of, settled
from retrograde.proofs.strategy_checker import StrategyCheck
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from retrograde.tablebase.probing import open_tablebase
from tablut.board import Board
from tablut.cli.shell import run
from tablut.engine import Engine, engine_for
from tablut.engine.engine import position_keys
from tablut.play.collection import open_collection
from tablut.position import Move, Position
from tablut.rules.outcome import OUTCOMES
from tablut.variants import load_variant
from tablut.work.progress import Observer
from tablut.work.run import LocalScheduler
from tablut.work.sealed_records import data_file, read_record, write_record

pytestmark = pytest.mark.study
RETROGRADE = Path(__file__).resolve().parents[3] / "retrograde"
WON = "7/7/2bb3/b2Kw1w/6w/7/1b1b3 w"


def test_play_by_a_certificate_wins_in_its_plies_whatever_the_side_of_the_board(tmp_path: Path) -> None:
    board = Board(GAME, WON)
    search = ProofRun(
        board.variant, board.position, "white", observer=Observer(), tablebase=None, nodes=1_000_000, memory=1 << 22
    )
    search.run(LocalScheduler(1), tmp_path)
    within = search.result().within
    assert within is not None
    strategy = Strategy(read_certificate(CERTIFICATE, tmp_path / CERTIFICATE))
    lengths = set()
    for symmetry in board.variant.symmetries:
        played = board.transform(symmetry)
        line = strategy.line(played)
        for move in line:
            played.push_text(move)
        assert played.result() == "white"
        lengths.add(len(line))
    assert max(lengths) <= within


def test_what_a_task_leaves_open_is_searched_after_the_move_that_is_given_then_proved(tmp_path: Path) -> None:
    board, move = Board(GAME, WON), "e4-e6"
    limits = {"nodes": 20_000, "memory": 1 << 22}
    run = ProofRun(board.variant, board.position, "white", observer=Observer(), tablebase=None, **limits)
    work = GuidedWork(run, guide=50_000, given=given_moves(Board(GAME, WON), move), observer=Observer())
    root = run.tree.choose()
    assert root is not None
    run.tree.take(work(run.task._replace(words=root.words)))
    assert root.proof != 0
    chosen = run.tree.choose()
    assert chosen is not None
    board.push_text(move)
    (after,), _ = run.engine.canonical(
        run.engine.words(run.engine.board(board.position.cells, board.position.side)), board.variant.symmetries
    )
    assert chosen.words == after.tobytes()
    run.tree.take(work(run.task._replace(words=chosen.words)))
    run.run(LocalScheduler(2), tmp_path, None, work)
    assert run.tree.tasks > 2
    assert run.tree.nodes[after.tobytes()].plies == run.tree.root.plies - 1
    proof = read_certificate(CERTIFICATE, tmp_path / CERTIFICATE)
    assert StrategyCheck(board.variant, proof, most_plies=0).run().proved
    # What is read out at the end is what no strategy has yet.
    lines = np.concatenate([run.engine.canonical(one.words, board.variant.symmetries)[0] for one in run.strategies])
    assert len(lines) < 1.1 * len(np.unique(lines, axis=0))


def test_proofs_further_on_are_joined_with_what_lies_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, store = load_variant(GAME), str(tmp_path / "store")
    limits = {"nodes": 1_000_000, "memory": 1 << 22}
    won = ProofRun(rules, Position.parse(WON, 7), "white", observer=Observer(), tablebase=None, **limits)
    won.run(LocalScheduler(1), tmp_path / "whole")
    line = Strategy(read_certificate(CERTIFICATE, tmp_path / "whole" / CERTIFICATE)).line(Board(GAME, WON))
    first, between, last = (" ".join(move.partition("x")[0] for move in line[:n]) for n in (1, 2, 3))
    top = Opening(moves=first, start=WON)
    after = [Opening(moves=f"{first} {move}", start=WON) for move in top.board().legal_moves]
    after = [one for one in after if one.board().outcome() is None]
    monkeypatch.setattr(module, "openings", lambda: ({}, [top, *after, Opening(moves=last, start=WON)]))
    for of in (module, deciding):
        monkeypatch.setattr(of, "DATA", tmp_path)
    names = [one.moves for one in after if one.moves != between]
    assert len(names) + 1 == len(after)
    for name in (*names, last):
        assert run(["decide", "--store", store, "--only", name, "--memory", "4"], app, NAME) == 0
    assert run(["join", "--store", store, "--only", first], app, NAME) == 0
    found = deciding.read_findings()
    assert (found[between].status, found[between].part_of, found[between].sha256) == ("proved", first, None)
    for one in (first, between):
        board = Opening(moves=one, start=WON).board()
        for move in found[one].line:
            board.push_text(move)
        assert board.result() == "white"
    path = tmp_path / "store" / first / CERTIFICATE
    assert StrategyCheck(rules, read_certificate(CERTIFICATE, path), most_plies=0).run().proved


def won_opening(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Opening, list[Opening]]:
    """Have the study know of a move that wins, and of black's answers; its data go to a folder."""
    limits = {"nodes": 1_000_000, "memory": 1 << 22}
    won = ProofRun(load_variant(GAME), Position.parse(WON, 7), "white", observer=Observer(), tablebase=None, **limits)
    won.run(LocalScheduler(1), folder / "whole")
    first = Strategy(read_certificate(CERTIFICATE, folder / "whole" / CERTIFICATE)).line(Board(GAME, WON))[0]
    top = Opening(moves=first, start=WON)
    after = [Opening(moves=f"{first} {move}", start=WON) for move in top.board().legal_moves]
    after = [one for one in after if one.board().outcome() is None]
    monkeypatch.setattr(module, "openings", lambda: ({}, [top, *after]))
    for of in (module, deciding):
        monkeypatch.setattr(of, "DATA", folder)
    return top, after


def test_what_is_open_further_on_is_searched_with_what_is_proved_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, store = load_variant(GAME), str(tmp_path / "store")
    top, after = won_opening(tmp_path, monkeypatch)
    first = top.moves
    proved, left = after[::2], after[1::2]
    for one in proved:
        assert run(["decide", "--store", store, "--only", one.moves, "--memory", "4"], app, NAME) == 0
    assert run(["join", "--store", store, "--only", first], app, NAME) == 2
    told = list[int]()
    learn = WinSearch.learn
    monkeypatch.setattr(
        WinSearch, "learn", lambda self, words, left: (told.append(len(words)), learn(self, words, left))
    )
    options = ["--hours", "1", "--nodes", "1000000", "--memory", "4", "--guide", "50000", "--threads", "2"]
    # Stopped before it has begun, it goes on with what was kept.
    assert run(["join", "--store", store, "--only", first, "--hours", "1e-9"], app, NAME) == 0
    assert first not in deciding.read_findings()
    # An outline of what there is begins with the answers that are proved.
    assert run(["outline", "--store", store, "--only", first], app, NAME) == 0
    outline = read_record(tmp_path / f"{first}.outline.json", OutlineRecord, "outline", "")
    assert outline is not None
    assert len(outline.starts) == len(proved)
    assert run(["join", "--store", store, "--only", first, *options], app, NAME) == 0
    found = deciding.read_findings()
    assert sum(told) > 0
    assert {found[one.moves].part_of for one in left} == {first}
    for one in (top, *left):
        board = one.board()
        for move in found[one.moves].line:
            board.push_text(move)
        assert board.result() == "white"
    proof = read_certificate(CERTIFICATE, tmp_path / "store" / first / CERTIFICATE)
    assert StrategyCheck(rules, proof, most_plies=0).run().proved


def test_an_outline_leads_to_its_proof_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, _ = won_opening(tmp_path, monkeypatch)
    # Many small tasks, so that much is proved by the tree and not by a task; each makes a table for the engine.
    monkeypatch.setattr(guided, "_HASH", 1)

    def join(store: str, *options: str) -> int:
        names = ["--store", str(tmp_path / store), "--only", top.moves, "--memory", "4", "--hours", "0.1"]
        return run(["join", *names, *options], app, NAME)

    assert join("searched", "--nodes", "20000", "--guide", "2000") == 0
    searched = deciding.read_findings()[top.moves]
    outline = ["outline", "--store", str(tmp_path / "searched"), "--only", top.moves]
    assert run([*outline, "--least", "5"], app, NAME) == 0
    path = tmp_path / f"{top.moves}.outline.json"
    data = path.with_name(f"{path.stem}-1.xz")
    # In two files.
    monkeypatch.setattr(module, "_SHIPPED", data.stat().st_size // 2 + 1)
    assert run([*outline, "--least", "5"], app, NAME) == 0
    # It has the long wins of the certificate, those of the tree's own moves too; others are seen to be shorter.
    whole = read_certificate(CERTIFICATE, tmp_path / "searched" / top.moves / CERTIFICATE)
    long = {line for line in whole.strategy.lines() if json.loads(line)[1] >= 5}
    lines = set(read_outline(path, module._unsearched(top, Observer())).lines())
    assert lines < long
    engine = engine_for(load_variant(GAME))
    search = WinSearch(engine, 0, 1 << 20, ProofBudget(ProofLimits()))
    for position in (Position.parse(json.loads(line)[0], 7) for line in long - lines):
        assert search.within(engine.board(position.cells, position.side), 3)
    found, few = ["--outline", str(path)], ["--nodes", "1", "--guide", "1"]
    assert join("again", *few, *found, "--threads", "2", "--share") == 0
    again = deciding.read_findings()[top.moves]
    assert again.within == searched.within
    assert again.nodes < searched.nodes / 100
    proof = read_certificate(CERTIFICATE, tmp_path / "again" / top.moves / CERTIFICATE)
    assert StrategyCheck(GAME, proof, most_plies=0).run().proved
    # Sealed ones that tell of too much, of other bytes, of none that are compressed, of shorter wins.
    whole, told = data.read_bytes(), read_record(path, OutlineRecord, "outline", "")
    assert told is not None
    junk = tmp_path / "junk"
    junk.write_bytes(b"junk")
    for content, change in (
        (whole, {"positions": 1 << 62}), (whole, {"plies": 2}), (b"junk", {"data": (data_file(junk),)}),
        (whole[:-1], {}), (whole, {"starts": ("7/7/7/3K3/7/7/7 w",)}),
    ):  # fmt: skip
        data.write_bytes(content)
        write_record(path, told.model_copy(update=change))
        assert join("forged", *few, *found) == 2, change
        assert not (tmp_path / "forged" / top.moves).exists()


def test_what_strategies_prove_is_known_on_any_side_of_the_board(tmp_path: Path) -> None:
    rules, workers = load_variant(GAME), LocalScheduler(1)
    limits = {"nodes": 1_000_000, "memory": 1 << 22}
    run = ProofRun(rules, Position.parse(WON, 7), "white", observer=Observer(), tablebase=None, **limits)
    run.run(workers, tmp_path)
    known = GuidedWork(run, guide=1, given={}, observer=Observer())

    def proof_of(task: Task, board: Board, told: bool) -> dict[str, int]:
        if told:
            known._learn(task)
        position = run.engine.board(board.position.cells, board.position.side)
        return {"proof": settled(search_of(task), position, task.nodes)[0]}

    # A task with other limits has another table.
    for nodes, told in ((10_000, False), (10_001, True)):
        for symmetry in rules.symmetries:
            search = partial(proof_of, board=Board(GAME, WON).transform(symmetry), told=told)
            (answer,) = workers.run(search, [run.task._replace(nodes=nodes)], lambda _: None)
            assert (answer["proof"] == 0) == told, symmetry


def test_a_line_gives_whites_moves_on_any_side_of_the_board() -> None:
    given = given_moves(Board(GAME, WON), "e4-e6 a4-b4")
    after = Board(GAME, WON)
    after.push_text("e4-e6")
    assert str(after.position) not in given
    for symmetry in after.variant.symmetries:
        board = Board(GAME, WON).transform(symmetry)
        board.push_text(given[str(board.position)])
        assert board.position == after.position.transformed(symmetry)


def test_every_opening_can_be_played_and_the_page_is_that_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    sources, listed = openings()
    for opening in listed:
        assert opening.board().outcome() is None
        assert opening.source is None or opening.source in sources
    assert run(["page", "--check"], app, NAME) == 0, capsys.readouterr().out


def test_first_moves_that_are_images_of_each_other_have_one_value_in_the_walk() -> None:
    values = dict[Position, set[tuple[str, int | None]]]()
    for move in walking.walk().nodes[0].moves:
        board = Board(GAME)
        board.push_text(move.move)
        values.setdefault(board.canonical().position, set()).add((move.wdl, move.dtm))
    assert all(len(found) == 1 for found in values.values())
    assert ("loss", 52) in set().union(*values.values())


def recounted(path: Path) -> int:
    """Return the longest play under a certificate: all replies by the compiled rules, no number of plies is read."""
    proof = read_certificate(path.name, path)
    rules = load_variant(proof.variant or GAME)
    engine, size = engine_for(rules), rules.size
    wins = np.array([end is not None and end.winner == proof.winner for end in OUTCOMES])
    texts, _, moves = zip(*map(json.loads, proof.lines()), strict=True)
    words = np.concatenate([packed(engine, Position.parse(text, size)) for text in texts])
    codes = np.array([Move.parse(move, size).code for move in moves])
    keys = position_keys(engine.canonical(words, rules.symmetries)[0])
    order = np.argsort(keys)
    assert len(np.unique(keys)) == len(keys)

    def after_replies(words: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the plies from each position if the strategy is not needed further, and the links to its lines."""
        replies = engine.expand(words)
        on = replies.outcomes == 0
        assert wins[replies.outcomes[~on]].all()
        images, _ = engine.canonical(replies.words[on], rules.symmetries)
        found = position_keys(images)
        places = np.minimum(np.searchsorted(keys[order], found), len(keys) - 1)
        known, parents = keys[order][places] == found, replies.parents[on]
        assert won_at_once(engine, np.unique(images[~known], axis=0), wins)
        takes = np.zeros(len(words), dtype=np.int64)
        np.maximum.at(takes, replies.parents[~on], 1)
        np.maximum.at(takes, parents[~known], 2)
        return takes, [parents[known], order[places[known]]]

    base, links = np.ones(len(words), dtype=np.int64), [np.zeros((2, 0), dtype=np.int64)]
    for start in range(0, len(words), 1 << 15):
        children = engine.expand(words[start : start + (1 << 15)])
        made = children.moves == codes[start:][children.parents]
        assert np.array_equal(children.parents[made], np.arange(made.sum()))
        assert made.sum() == min(1 << 15, len(words) - start)
        on = np.flatnonzero(children.outcomes[made] == 0)
        assert wins[np.delete(children.outcomes[made], on)].all()
        takes, (parents, lines) = after_replies(children.words[made][on])
        base[start + on] += takes
        links.append(np.array([start + on[parents], lines]))
    sources, targets = np.concatenate(links, axis=1)
    lengths, before = base.copy(), np.zeros(0)
    while not np.array_equal(lengths, before):
        before = lengths
        lengths = base.copy()
        np.maximum.at(lengths, sources, 2 + before[targets])
        assert lengths.max() <= 2 * len(lengths) + 1, "play by the strategy goes in a circle"
    root = Position.parse(proof.position, size)
    own = packed(engine, root)
    if root.side == proof.winner[0]:
        (key,) = position_keys(engine.canonical(own, rules.symmetries)[0])
        return int(lengths[keys == key].item())
    takes, (_, lines) = after_replies(own)
    return max(int(takes[0]), *(1 + lengths[lines]))


def packed(engine: Engine, position: Position) -> np.ndarray:
    return engine.words(engine.board(position.cells, position.side))


def won_at_once(engine: Engine, words: np.ndarray, wins: np.ndarray) -> bool:
    """Return whether the side to move wins in one ply in every position, also by leaving no move to the other side."""
    for start in range(0, len(words), 1 << 15):
        part = words[start : start + (1 << 15)]
        moves = engine.expand(part)
        won = np.zeros(len(part), dtype=bool)
        won[moves.parents[wins[moves.outcomes]]] = True
        left = np.flatnonzero((moves.outcomes == 0) & ~won[moves.parents])
        stuck = np.setdiff1d(np.arange(len(left)), engine.expand(moves.words[left]).parents)
        won[moves.parents[left[stuck]]] = True
        if not won.all():
            return False
    return True


KEPT = [(name, found) for name, found in deciding.read_findings().items() if found.certificate]


@pytest.mark.parametrize(("name", "found"), KEPT, ids=[name for name, _ in KEPT])
def test_a_claim_is_what_the_certificate_proves(name: str, found: Decided) -> None:
    """Compare the page's number with the checker's count, a count by the compiled rules, and the length of a play."""
    assert found.certificate is not None
    opening = next(one for one in openings()[1] if one.name == name)
    _, checked = deciding.checked_strategy(DATA / found.certificate, opening.game)
    assert (checked.within, recounted(DATA / found.certificate)) == (found.counted, found.counted)
    board = opening.board()
    for move in found.line:
        board.push_text(move)
    assert found.counted is not None
    assert board.result() == "white"
    assert len(found.line) <= found.counted


def test_a_proof_of_a_board_with_fewer_men_agrees_with_the_tables_that_ship() -> None:
    tablebase = open_tablebase(RETROGRADE / "data" / "brandubh-5")
    board = next(one for one in openings()[1] if one.name == "6v2-file")
    lines = read_certificate(board.file, DATA / board.file).lines()
    few = [
        (text, plies) for text, plies, _ in map(json.loads, lines) if sum(map(text.partition(" ")[0].count, "bwK")) < 6
    ]
    for text, plies in few:
        wdl, dtm = tablebase.probe(Position.parse(text, 7))
        assert wdl == "win", text
        assert dtm is not None, text
        assert dtm <= plies, text
    assert len(few) > 100


def test_games_of_the_engine_are_repeated_continued_and_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = ["play", "-v", "brandubh", "-v", "ashton-5-4v2", "--nodes", "60"]

    def games(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8").partition("\n\n")[2]
            for path in folder.rglob("*.txt")
        }

    for name, numbers in (("one", ("2", "6")), ("two", ("6",))):
        for number in numbers:
            assert run([*play, "--games", number, "--store", str(tmp_path / name)], app, NAME) == 0
    found = games(tmp_path / "one")
    assert found == games(tmp_path / "two")
    assert len(found) == 12
    assert len(set(found.values())) > 6
    monkeypatch.setattr(selfplay, "SHIPPED_FILE", tmp_path / "shipped.games.xz")
    monkeypatch.setattr(selfplay, "PROVENANCE", tmp_path / "shipped.games.json")
    capsys.readouterr()
    assert run([*play, "--games", "6", "--store", str(tmp_path / "one"), "--ship", "--json"], app, NAME) == 0
    assert json.loads(capsys.readouterr().out)["games"] == {"brandubh": 6, "ashton-5-4v2": 6}
    about = json.loads((tmp_path / "shipped.games.json").read_text(encoding="utf-8"))
    assert about["provenance"]["seed"] == 1
    assert about["player"] == "alphabeta@nodes=60"
    with open_collection(lzma.decompress((tmp_path / "shipped.games.xz").read_bytes()), "made") as made:
        assert made.counts() == {"brandubh": 6, "ashton-5-4v2": 6}
        assert {file for file, _, _ in made.games()} == set(found)
        total = made.answer(Board("brandubh")).total
    assert total == 6
