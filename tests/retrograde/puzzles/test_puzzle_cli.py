"""``tablut puzzle``: answers, exit codes, JSON, files."""

import json
from importlib import resources
from pathlib import Path

import pytest

from retrograde.proofs.solver import Solver
from tablut.cli.shell import run
from tablut.errors import IllegalMoveError
from tablut.pictures import draw_gif
from tablut.position import Move, Position
from tablut.strip import draw_line, draw_strip
from tablut.variants import load_variant

START = "2b2/5/b1K1b/5/2b2 w"
SMALL = ["--memory", "4"]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    code = run(["puzzle", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["puzzle", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_solved_position(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof, strip, line = tmp_path / "proof.jsonl", tmp_path / "strip.svg", tmp_path / "line.gif"
    drawn = ["--svg", str(strip), "--gif", str(line)]
    code, answer = asked(
        capsys, "solve", "-v", "ashton-5-4v0", *SMALL, "--save-proof", str(proof), *drawn, "--all-wins"
    )
    assert code == 0
    assert (answer["status"], answer["wdl"], answer["dtm"], answer["winner"]) == ("proved", "win", 3, "white")
    assert answer["winning_moves"] == ["c3-b3", "c3-d3", "c3-c2", "c3-c4"]
    assert answer["other_winning_moves"] == []
    assert len(answer["line"]) == 3
    assert answer["position"] == START
    assert answer["bounds"] == {
        "white": {"win_within": 3, "no_win_within": 2, "never": False},
        "black": {"win_within": None, "no_win_within": -1, "never": True},
    }
    assert answer["nodes"] > 0
    assert {"version", "commit", "command", "parameters", "seconds", "peak_rss_bytes"} <= answer["provenance"].keys()
    assert strip.read_text().count('class="king"') == 4
    assert (answer["svg"], answer["png"], answer["gif"]) == (str(strip), None, str(line))
    assert line.read_bytes() == draw_gif(draw_line("ashton-5-4v0", START, answer["line"], title="white wins in 3"))

    code, checked = asked(capsys, "check", str(proof))
    assert code == 0
    assert checked["failures"] == []
    assert (checked["winner"], checked["plies"], checked["distance"]) == ("white", 3, "exact")
    assert checked["strategy"] == answer["proof_positions"]

    sound = proof.read_text()
    for text in ("\ufeff" + sound, sound + "\n", sound + " \n\n"):  # as editors leave it
        proof.write_text(text, encoding="utf-8")
        code, again = asked(capsys, "check", str(proof))
        assert (code, again["failures"], again["strategy"]) == (0, [], checked["strategy"])
    damaged = sound.splitlines()
    entry = json.loads(damaged[-1])
    damaged[-1] = json.dumps([entry[0], entry[1], "a1-a2"])
    proof.write_text("\n".join(damaged))
    code, checked = asked(capsys, "check", str(proof))
    assert code == 1
    assert "not legal" in checked["failures"][0]
    assert run(["puzzle", "check", str(proof)]) == 1
    assert "fails" in capsys.readouterr().out
    assert "other rules" in refused(capsys, "check", str(proof), "-v", "brandubh-5-4v0")
    # Lines that are missing are met only while it checks; the file is named once.
    proof.write_text("\n".join(damaged[:-1]))
    assert refused(capsys, "check", str(proof)).count(proof.name) == 1


def test_unknown_is_an_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    limits = ["--nodes", "2000", "--positions", "0"]
    code, answer = asked(capsys, "solve", "-v", "brandubh", *SMALL, *limits)
    assert code == 3
    assert (answer["status"], answer["wdl"], answer["dtm"], answer["winning_moves"]) == ("unknown", None, None, [])
    assert answer["bounds"]["white"]["no_win_within"] >= 2
    assert run(["puzzle", "solve", "-v", "brandubh", *SMALL, *limits]) == 3
    assert "proved: white: no win within" in capsys.readouterr().out
    proof = tmp_path / "proof"
    assert "no proved win" in refused(capsys, "solve", "-v", "brandubh", *SMALL, *limits, "--save-proof", str(proof))
    assert not proof.exists()


def test_a_file_of_puzzles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    good = f"{START}; id=good; stipulation=white wins in 3\n"
    file.write_text(f"# mine\n{good}{START}; id=asks\n")
    options = ["-v", "ashton-5-4v0", *SMALL]
    code, answer = asked(capsys, "solve", str(file), *options)
    assert code == 0
    assert (answer["checked"], answer["holds"], answer["without_claim"]) == (2, 1, 1)
    assert [puzzle["id"] for puzzle in answer["puzzles"]] == ["good", "asks"]
    assert answer["puzzles"][0]["solution"]["dtm"] == 3

    file.write_text(f"{good}{START}; id=bad; stipulation=black wins; first=c3-c4\n")
    assert run(["puzzle", "solve", str(file), *options]) == 1
    shown = capsys.readouterr().out
    assert "claimed: black wins, first move c3-c4" in shown
    assert "1 hold, 1 refuted, 0 unknown" in shown
    # Under rules of one's own no table ships that knows the answers.
    shipped = (resources.files("tablut.variants") / "data" / "ashton-5-4v0.toml").read_text()
    own = tmp_path / "own.toml"
    own.write_text(shipped.replace('repetition = "draw"', 'repetition = "none"'))
    options = ["-v", str(own), *SMALL]
    code, answer = asked(capsys, "solve", str(file), *options, "--nodes", "8", "--positions", "0")
    assert code == 3
    assert answer["unknown"] == 2


def test_a_strip_shows_every_ply() -> None:
    variant = load_variant("brandubh")
    position = Position.parse("7/7/2bb3/b2Kw1w/6w/7/1b1b3 w", 7)
    line = [Move.parse(move, 7) for move in ["e4-e1", "b1-c1", "d4-f4"]]
    drawing = draw_strip(variant, position, line, title="a <title>", columns=3)
    assert drawing == draw_strip(variant, position, line, title="a <title>", columns=3)
    assert drawing.count('class="king"') == 4
    assert drawing.count('class="arrow"') == 3
    assert "a &lt;title&gt;" in drawing
    assert "3. white d4-f4" in drawing
    with pytest.raises(IllegalMoveError):
        draw_strip(variant, position, line[1:])


# -- nothing from outside is markup, a path, or too much ---------------------------------


@pytest.fixture
def strange_rules(tmp_path: Path) -> Path:
    """Rules of one's own, with a name that is markup and a move limit."""
    own = tmp_path / "own.toml"
    shipped = (resources.files("tablut.variants") / "data" / "ashton-5-4v0.toml").read_text()
    shipped = shipped.replace('repetition = "draw"', 'repetition = "mover_loses"\nmove_limit = 9')
    own.write_text(f'name = "[/bold]"\n{shipped}')
    return own


def test_a_proof_records_the_plies_that_are_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, strange_rules: Path
) -> None:
    own, proof = ["-v", str(strange_rules)], tmp_path / "proof"
    for left, dtm in ((9, 3), (3, 3), (2, None)):
        options = [*own, *SMALL, "--plies-left", str(left), "--save-proof", str(proof)]
        if dtm is None:
            assert "no proved win" in refused(capsys, "solve", *options)
            continue
        code, answer = asked(capsys, "solve", *options)
        assert (code, answer["dtm"], answer["plies_left"]) == (0, dtm, left)
        header = json.loads(proof.read_text().split("\n")[0])
        assert (header["plies_left"], header["variant"], header["version"]) == (left, None, 3)
        assert str(strange_rules) not in proof.read_text()
        code, checked = asked(capsys, "check", str(proof), *own)
        assert (code, checked["plies_left"], checked["proved"], checked["unused"]) == (0, left, True, 0)
        assert checked["game"] == load_variant(str(strange_rules)).digest
    assert "must be from 0 to 9" in refused(capsys, "solve", *own, *SMALL, "--plies-left", "10")
    proof.write_text(proof.read_text().replace('"plies_left": 3', '"plies_left": 10'))
    assert "must be from 0 to 9" in refused(capsys, "check", str(proof), *own)


def test_a_loss_without_a_move_can_be_saved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    stuck = ["-v", "ashton-5-4v0", "-p", "5/2b2/1bKb1/2b2/5 w"]
    code, answer = asked(capsys, "solve", *stuck, "--save-proof", str(proof))
    assert (code, answer["dtm"], answer["winner"], answer["proof_positions"]) == (0, 0, "black", 0)
    code, checked = asked(capsys, "check", str(proof))
    assert (code, checked["proved"], checked["distance"], checked["plies"]) == (0, True, "exact", 0)


# -- nothing checked is no success ------------------------------------------------------


# -- interrupts -------------------------------------------------------------------------


def test_an_interrupt_prints_what_was_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine"
    file.write_text("".join(f"{START}; id={n}; variant=ashton-5-4v0; stipulation=white wins in 3\n" for n in range(3)))
    solved, calls = Solver.solve, []

    def solve(solver: Solver, *arguments, **settings):
        calls.append(solver)
        if len(calls) % 3 == 0:
            raise KeyboardInterrupt
        return solved(solver, *arguments, **settings)

    monkeypatch.setattr(Solver, "solve", solve)
    code, answer = asked(capsys, "solve", str(file), *SMALL)
    assert (code, answer["interrupted"], answer["holds"], len(answer["puzzles"])) == (130, True, 2, 2)
    assert run(["puzzle", "solve", str(file), *SMALL]) == 130
    assert "interrupted: 2 of 3 puzzles solved" in capsys.readouterr().out
