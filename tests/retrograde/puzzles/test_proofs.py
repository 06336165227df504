"""Saved strategies: built, read back, accepted by the checker, and refused when anything in them is off."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from retrograde.proofs.certificate import (
    MOST_PLIES,
    ProofCertificate,
    build_certificate,
    game_of,
    read_certificate,
)
from retrograde.proofs.checker import check_strategy, wins_within
from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.win_search import Budget, WinSearch
from tablut.engine import engine_for
from tablut.errors import TablutError
from tablut.position import Position
from tablut.rules import NaiveGame
from tablut.variants import load_variant

# Name, position, winner, distance; with either side to move.
WINS = [
    ("ashton-5-4v0", "2b2/5/b1K1b/5/2b2 w", "white", 3),
    ("brandubh-5-4v0", "2b2/5/b1K1b/5/2b2 b", "white", 6),
    ("brandubh", "4b2/1b1b3/b1K4/2w4/2b4/7/3bb2 b", "black", 7),
    ("ashton", "2b6/4b4/4b1b1w/9/9/b3K1b1b/2b6/b8/b6b1 b", "black", 5),
    ("mcgill", "4bb3/3b1w3/9/b2w2bbb/bb1K5/2b4w1/9/3w1w1w1/9 w", "white", 3),
]


def certificate(name: str, text: str, winner: str, plies: int, most: int = 100_000) -> ProofCertificate:
    variant = load_variant(name)
    engine, position = engine_for(variant), Position.parse(text, variant.size)
    search = WinSearch(engine, int(winner == "black"), 1 << 22, Budget(ProofLimits()))
    return build_certificate(engine, search, engine.board(position.cells, position.side), plies, most)


def check(proof: ProofCertificate, most_plies: int = 2_000):
    variant = load_variant(proof.variant)
    return check_strategy(
        variant, proof.position, proof.winner, proof.plies, proof.strategy, most_plies=most_plies, most_failures=3
    )


@pytest.mark.parametrize(("name", "text", "winner", "plies"), WINS)
def test_a_proof_is_written_read_and_accepted(name: str, text: str, winner: str, plies: int, tmp_path: Path) -> None:
    proof = certificate(name, text, winner, plies)
    target = tmp_path / "proof.jsonl"
    proof.write(target)
    again = read_certificate(str(target), target.read_text())
    assert again == proof
    checked = check(again)
    assert checked.failures == []
    assert checked.shorter is None
    assert checked.excluded >= 1
    assert checked.positions >= len(proof.strategy)
    assert checked.unused == 0
    assert game_of(str(target), again) == load_variant(name)
    assert again.plies_left == load_variant(name).rules.move_limit


def test_the_shortest_is_shown_where_it_is_cheap() -> None:
    checked = check(certificate(*WINS[0]))
    assert (checked.distance, checked.excluded) == ("exact", 2)


def test_a_longer_win_than_need_be_is_noticed() -> None:
    proof = certificate(*WINS[0][:3], plies=5)
    checked = check(replace(proof, plies=5))
    assert checked.failures == []
    assert (checked.distance, checked.shorter) == ("at most", 3)


@pytest.fixture(scope="module")
def proof() -> ProofCertificate:
    return certificate(*WINS[1])


def test_another_move_must_win_too(proof: ProofCertificate) -> None:
    """Every legal move instead of the right one: accepted only if it wins as fast, which the twin decides."""
    variant = load_variant(proof.variant)
    position, (plies, right) = next((p, e) for p, e in proof.strategy.items() if e[0] == 1)
    engine = engine_for(variant)
    parsed = Position.parse(position, variant.size)
    children = engine.expand(engine.words(engine.board(parsed.cells, parsed.side)))
    from tablut.position import Move

    for code, outcome in zip(children.moves.tolist(), children.outcomes.tolist(), strict=True):
        move = str(Move(code & 127, code >> 7, variant.size))
        altered = replace(proof, strategy={**proof.strategy, position: (plies, move)})
        assert (not check(altered).failures) == bool(outcome)
    assert right


def test_the_cost_of_a_check_grows_with_the_strategy_alone(
    proof: ProofCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each position is expanded once, whatever numbers stand in the file."""
    expanded: Counter[str] = Counter()
    moves_of = NaiveGame.legal_moves

    def legal_moves(game: NaiveGame, position, side=None):
        expanded[game.write(position)] += 1
        return moves_of(game, position, side)

    monkeypatch.setattr(NaiveGame, "legal_moves", legal_moves)
    random = Random(7)
    for _ in range(5):
        expanded.clear()
        found = check(proof, most_plies=0)
        del expanded[proof.position]  # from which shorter wins are looked for as well
        assert set(expanded.values()) == {1}
        assert len(expanded) < found.positions
        moved = {position: (plies + random.randrange(3), move) for position, (plies, move) in proof.strategy.items()}
        proof = replace(proof, strategy=moved, plies=proof.plies + 3)


def test_a_long_way_without_a_choice_is_no_recursion() -> None:
    """Both sides have one move each, for ever: the search for a shorter win goes as deep as it is asked to."""
    board = load_variant("brandubh-5-4v0")
    narrow = replace(board, name="narrow", terrain=("A..", "BCC", "T.."), start=("b..", ".K.", "..."))
    for plies in (1, 2, 999, 5000):
        for winner in ("white", "black"):
            assert not wins_within(narrow, "1K1/3/1b1 w", winner, plies)


def test_nothing_is_claimed_of_what_is_no_proof() -> None:
    proof = certificate(*WINS[0])
    checked = check(replace(proof, plies=MOST_PLIES, winner="black"), most_plies=10**9)
    assert checked.failures
    assert (checked.excluded, checked.shorter, checked.distance) == (-1, None, "at most")


def test_a_strategy_that_is_too_large_or_too_dear() -> None:
    with pytest.raises(TablutError, match="over 10 positions"):
        certificate(*WINS[1], most=10)
    variant = load_variant("brandubh-5-4v0")
    engine = engine_for(variant)
    search = WinSearch(engine, 0, 1 << 16, Budget(ProofLimits(nodes=5)))
    with pytest.raises(TablutError, match="limits ran out"):
        build_certificate(engine, search, engine.start(), 6, 1000)
