"""Saved strategies: built, read back, accepted by the checker; what says what is not so, and what is no proof, is not.

`pytest -m fuzz` forges many more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.proofs.certificate import ProofCertificate, build_certificate, certificate_of, game_of, read_certificate
from retrograde.proofs.strategy import needed, strategy_of
from retrograde.proofs.strategy_checker import CheckedProof, StrategyCheck, SymmetricGame
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from tablut.board import Board
from tablut.cli.shell import run
from tablut.engine import engine_for
from tablut.errors import InputError, TablutError
from tablut.position import Move, Position
from tablut.rules import NaiveGame
from tablut.variants import Variant, load_variant
from tests.support.effort import MORE, examples, slow_but
from tests.support.games import recurrence
from tests.support.strategies import placement, small_variants
from tests.twins.proof import wins_within

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "data"
# Name, position, winner, distance; with either side to move.
WINS = [
    ("ashton-5-4v0", "2b2/5/b1K1b/5/2b2 w", "white", 3),
    ("brandubh-5-4v0", "2b2/5/b1K1b/5/2b2 b", "white", 6),
    ("brandubh", "4b2/1b1b3/b1K4/2w4/2b4/7/3bb2 b", "black", 7),
    ("ashton", "2b6/4b4/4b1b1w/9/9/b3K1b1b/2b6/b8/b6b1 b", "black", 5),
    ("mcgill", "4bb3/3b1w3/9/b2w2bbb/bb1K5/2b4w1/9/3w1w1w1/9 w", "white", 3),
]


def searched(variant: Variant, winner: str) -> WinSearch:
    return WinSearch(engine_for(variant), int(winner == "black"), 1 << 22, ProofBudget(ProofLimits(nodes=300_000)))


def certificate(name: str, text: str, winner: str, plies: int, most: int = 100_000) -> ProofCertificate:
    variant = load_variant(name)
    engine, position = engine_for(variant), Position.parse(text, variant.size)
    board = engine.board(position.cells, position.side)
    return build_certificate(engine, searched(variant, winner), board, plies, most)


def check(proof: ProofCertificate, most_plies: int = 2_000, variant: Variant | None = None) -> CheckedProof:
    rules = game_of("proof", proof, variant)
    return StrategyCheck(rules, proof, most_plies=most_plies, most_failures=3).run()


def text_of(proof: ProofCertificate) -> str:
    return b"".join(proof.content()).decode()


def changed(proof: ProofCertificate, **fields: Any) -> ProofCertificate:
    return proof.model_copy(update=fields)


@pytest.mark.parametrize(("name", "text", "winner", "plies"), WINS)
def test_a_proof_is_written_read_and_accepted(name: str, text: str, winner: str, plies: int, tmp_path: Path) -> None:
    proof = certificate(name, text, winner, plies)
    proof.write(tmp_path / "proof.jsonl")
    again = read_certificate("proof", (tmp_path / "proof.jsonl").read_text())
    assert text_of(again) == text_of(proof)
    checked = check(again)
    assert (checked.failures, checked.shorter, checked.unused) == ([], None, 0)
    assert checked.excluded >= 1
    assert checked.positions >= len(proof.strategy)
    assert game_of("proof", again) == load_variant(name)
    assert again.plies_left == load_variant(name).rules.move_limit


@pytest.mark.parametrize(("name", "text", "winner", "plies"), WINS[1:4])
def test_a_strategy_is_read_out_of_the_table_whatever_the_image_of_its_root(
    name: str, text: str, winner: str, plies: int
) -> None:
    variant = load_variant(name)
    engine, root = engine_for(variant), Position.parse(text, variant.size)
    strategies = []
    for symmetry in variant.symmetries:
        position, search = root.transformed(symmetry), searched(variant, winner)
        board = engine.board(position.cells, position.side)
        assert search.wins(board)
        made = search.budget.nodes
        found = strategy_of(search, board, search.distance, 100_000)
        # A small table has lost none of it.
        assert search.budget.nodes == made
        strategy, _ = needed(found, search.prover, board)
        proof = certificate_of(engine, search.prover, board, search.distance, strategy)
        assert StrategyCheck(variant, proof, most_plies=0).run().proved
        strategies.append(strategy)
    assert all(len(strategy) for strategy in strategies)


def longest_play(proof: ProofCertificate, variant: Variant, board: Board) -> int:
    """Return the plies of the longest play by a strategy, every reply followed to the end of the game."""
    if board.outcome() is not None:
        return 0
    images = [board.position.transformed(symmetry) for symmetry in variant.symmetries]
    found = next(((image, proof.strategy[str(image)]) for image in images if str(image) in proof.strategy), None)
    moves = list(board.legal_moves)
    if board.turn == proof.winner:
        if found is None:
            # The strategy leaves out what a move wins at once.
            return 1
        image, (_, move) = found
        back = next(one for one in variant.symmetries if image.transformed(one) == board.position)
        moves = [Move.parse(move, variant.size).transformed(back)]
    lengths = []
    for move in moves:
        board.push(move)
        lengths.append(1 + longest_play(proof, variant, board))
        board.pop()
    return max(lengths)


@pytest.mark.parametrize(("name", "text", "winner", "plies"), WINS[:3])
def test_the_longest_play_is_counted_whatever_the_header_says(
    name: str, text: str, winner: str, plies: int, tmp_path: Path
) -> None:
    proof, variant = certificate(name, text, winner, plies), load_variant(name)
    longest = longest_play(proof, variant, Board(variant, text))
    assert longest <= plies
    slow = {position: (3 * takes, move) for position, (takes, move) in proof.strategy.items()}
    for lines, claimed in ((proof.strategy, plies), (proof.strategy, plies + 30), (slow, 3 * plies + 1)):
        checked = check(changed(proof, strategy=lines, plies=claimed), most_plies=0)
        assert (checked.proved, checked.within) == (True, longest)
    # Where the fewest plies do not come first, the header's bound stands.
    path = tmp_path / "proof.jsonl"
    header, *lines = text_of(changed(proof, strategy=slow, plies=3 * plies + 1)).splitlines()
    path.write_text("\n".join([header, *lines[::-1]]) + "\n")
    checked = check(read_certificate("proof", path), most_plies=0)
    assert (checked.proved, checked.within) == (True, longest if len(lines) == 1 else 3 * plies + 1)
    assert check(changed(proof, strategy={}), most_plies=0).within is None


@pytest.fixture(scope="module")
def proof() -> ProofCertificate:
    return certificate(*WINS[1])


def test_another_move_must_win_too(proof: ProofCertificate) -> None:
    """Every legal move instead of the right one: accepted only if it wins as fast, which the engine decides."""
    variant = load_variant(WINS[1][0])
    engine, search = engine_for(variant), searched(variant, "white")
    position = next(text for text, (plies, _) in proof.strategy.items() if plies == 3)
    found = Counter[bool]()
    for move in Board(variant, position).legal_moves:
        board = Board(variant, position)
        board.push(move)
        after = board.position
        wins = board.outcome() is None and bool(search.within(engine.board(after.cells, after.side), 2))
        altered = changed(proof, strategy={**proof.strategy, position: (3, str(move))})
        assert (not check(altered).failures) == wins
        found[wins] += 1
    assert found[True]
    assert found[False]


def test_the_cost_of_a_check_grows_with_the_strategy_alone(
    proof: ProofCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each position is expanded once, and once more if its number is too large: something may win at once there."""
    expanded: Counter[str] = Counter()
    moves_of = NaiveGame.legal_moves

    def legal_moves(game: NaiveGame, position: Any, side: Any = None) -> Any:
        expanded[game.write(position)] += 1
        return moves_of(game, position, side)

    monkeypatch.setattr(NaiveGame, "legal_moves", legal_moves)
    random = Random(7)
    for _ in range(5):
        expanded.clear()
        found = check(proof, most_plies=0)
        del expanded[proof.position]  # from which shorter wins are looked for as well
        assert set(expanded.values()) <= {1, 2}
        assert sum(expanded.values()) <= 2 * found.positions
        moved = {position: (plies + random.randrange(3), move) for position, (plies, move) in proof.strategy.items()}
        proof = changed(proof, strategy=moved, plies=proof.plies + 3)


def test_a_long_way_without_a_choice_is_no_recursion() -> None:
    """Both sides have one move each, for ever: the search for a shorter win goes as deep as it is asked to."""
    board = load_variant("brandubh-5-4v0")
    narrow = replace(board, name="narrow", terrain=("A..", "BCC", "T.."), start=("b..", ".K.", "..."))
    for winner in ("white", "black"):
        assert not wins_within(narrow, "1K1/3/1b1 w", winner, 5000)


def test_a_strategy_that_is_too_large_or_too_dear() -> None:
    with pytest.raises(TablutError):
        certificate(*WINS[1], most=1)
    engine = engine_for(load_variant("brandubh-5-4v0"))
    with pytest.raises(TablutError):
        build_certificate(
            engine, WinSearch(engine, 0, 1 << 16, ProofBudget(ProofLimits(nodes=5))), engine.start(), 6, 1000
        )


# -- false proofs --------------------------------------------------------------------------


def holds(rules: Variant, proof: ProofCertificate) -> bool:
    """Return whether a claim is so, by the compiled search and the plies that are left."""
    limit = rules.rules.move_limit
    left = limit if proof.plies_left is None else proof.plies_left
    if (limit is not None and (proof.plies_left is None or proof.plies_left > limit)) or proof.plies > (left or 10**9):
        return False
    position = Position.parse(proof.position, rules.size)
    over = Board(replace(rules, rules=rules.rules.model_copy(update={"move_limit": None})), position).outcome()
    if over is not None:
        stuck = over.termination == "no_moves" and rules.rules.no_moves == "side_to_move_loses"
        return stuck and over.winner == proof.winner
    board = engine_for(rules).board(position.cells, position.side)
    return searched(rules, proof.winner).within(board, min(proof.plies, 8)) is True


def accepted(rules: Variant, proof: ProofCertificate) -> bool:
    """Return whether reader and checker take a file for a proof."""
    try:
        again = read_certificate("forged", text_of(proof))
        return check(again, 0, rules).proved
    except InputError:
        return False


def random_proof(variant: Variant, random: Random) -> ProofCertificate | None:
    """Return a true proof about a random position; the move limit plays no part in the choice."""
    engine, game = engine_for(variant), NaiveGame(variant)
    for _ in range(40):
        text = game.write(placement(variant, random, soldiers=random.randrange(1, 7)))
        try:
            if Board(variant, text).outcome() is not None or not list(Board(variant, text).legal_moves):
                continue
        except InputError:
            continue
        position = Position.parse(text, variant.size)
        board = engine.board(position.cells, position.side)
        for winner in random.sample(("white", "black"), 2):
            search = searched(variant, winner)
            for plies in range(1, 5):
                if search.within(board, plies):
                    try:
                        proof = build_certificate(engine, search, board, plies, 60)
                    except TablutError:  # larger than wanted
                        break
                    # What wins at once needs no line, and leaves less to be forged.
                    if proof.strategy or random.random() < 0.5:
                        return proof
                    break
    return None


def forged(proof: ProofCertificate, variant: Variant, random: Random) -> Iterator[ProofCertificate]:
    """Yield altered proofs; some are still true."""
    game, limit = NaiveGame(variant), variant.rules.move_limit
    for plies in range(max(0, proof.plies - 2), proof.plies + 3):
        yield changed(proof, plies=plies)
    for left in (None, proof.plies - 1, proof.plies, limit, (limit or 0) + 1):
        yield changed(proof, plies_left=left)
    other = "black" if proof.winner == "white" else "white"
    yield changed(proof, winner=other)
    placed, _, side = proof.position.partition(" ")
    roots = [f"{placed} {'b' if side == 'w' else 'w'}", placed.replace("b", "1") + f" {side}"]
    roots += [game.write(placement(variant, random)) for _ in range(4)]
    for root in roots:
        yield changed(proof, position=root)
        yield changed(proof, position=root, winner=random.choice(("white", "black")), plies=0, strategy={})
    entries = list(proof.strategy.items())
    for _ in range(10 if entries else 0):
        place, (plies, move) = random.choice(entries)
        _, (others_plies, others_move) = random.choice(entries)
        moves = [game.move_name(one) for one in game.legal_moves(game.read(place))]
        without = {text: entry for text, entry in entries if text != place}
        yield changed(proof, strategy=without)
        for entry in (
            (plies, random.choice(moves)), (max(1, plies + random.choice((-2, -1, 1, 2))), move),
            (others_plies, others_move), (plies, "a1-a2"),
        ):  # fmt: skip
            yield changed(proof, strategy={**without, place: entry})
    same = random.choice((1, max(1, proof.plies)))
    yield changed(proof, strategy={text: (same, move) for text, (_, move) in entries})


def attack(variant: Variant, random: Random) -> Counter[str]:
    """Forge a proof in every way; nothing that is not so may be accepted."""
    counts: Counter[str] = Counter()
    proof = random_proof(variant, random)
    if proof is not None:
        limit = variant.rules.move_limit
        assert accepted(variant, proof) == (limit is None or proof.plies <= limit)
        for one in forged(proof, variant, random):
            counts["forged"] += 1
            if accepted(variant, one):
                counts["accepted"] += 1
                assert holds(variant, one), text_of(one)[:2000]
    return counts


def under(variant: Variant, random: Random) -> Variant:
    """The same board under other rules about history and immobility."""
    changes = {
        "repetition": recurrence(random.choice(("draw", "mover_loses", "none"))),
        "no_moves": random.choice(("side_to_move_loses", "either_after_ply")),
        "move_limit": random.choice((None, 1, 2, 3, 4, 5, 6, 20)),
    }
    return replace(variant, rules=variant.rules.model_copy(update=changes))


def test_forged_under_shipped_rules() -> None:
    counts: Counter[str] = Counter()
    for name in ("ashton", "brandubh", "leiden", "bologna"):
        counts += attack(load_variant(name), Random(name))
    assert counts["forged"] >= 120
    assert 0 < counts["accepted"] < counts["forged"] / 2


@settings(max_examples=examples(6, 2 * MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(later=True), seed=st.integers(0, 2**32))
def test_forged_under_random_rules(variant: Variant, seed: int) -> None:
    random = Random(seed)
    attack(under(variant, random), random)


@settings(max_examples=examples(20, 10 * MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(later=True), seed=st.integers(0, 2**32))
def test_a_move_that_stops_no_way_out_loses_at_once_under_random_rules(variant: Variant, seed: int) -> None:
    leave_a_way_out(under(variant, Random(seed)), Random(seed), 20)


@pytest.mark.parametrize("count", slow_but([400], [1500]))
@pytest.mark.parametrize("name", ["brandubh-federation", "brandubh-5-4v4", "bologna"])
def test_a_move_that_stops_no_way_out_loses_at_once(name: str, count: int) -> None:
    leave_a_way_out(load_variant(name), Random(name), count)


def test_a_king_with_a_way_to_an_exit_within_the_board_may_be_encircled() -> None:
    board = load_variant("brandubh-5-4v4")
    rules = board.rules.model_copy(update={"encirclement": "no_way_to_edge"})
    game = SymmetricGame(replace(board, terrain=("X...X", "..*..", "..T..", ".....", "X...X"), rules=rules))
    position, move = game.read("2bb1/1b1Kb/1b1b1/5/2b2 b"), game.parse_move("c1-c2")
    assert game.apply(position, move).outcome is not None
    assert move[1] in game.stops(position, "white")[1]


def leave_a_way_out(variant: Variant, random: Random, count: int) -> None:
    """Make the moves of black's that the checker does not look at, in random positions."""
    game = SymmetricGame(variant)
    for position in (placement(variant, random, soldiers=random.randrange(1, 9)) for _ in range(count)):
        position = position._replace(side="b")
        if game.fault(position) is not None:
            continue
        stops, looked_at = game.stops(position, "white")
        for move in (move for move in game.moves(position) if move[1] not in stops):
            after = game.apply(position, move)
            assert after.outcome is None or move[1] in looked_at, (game.write(position), move)
            if after.outcome is None:
                assert game.wins_at_once(game.key(after.position), "white"), (game.write(position), move)


@pytest.mark.parametrize("no_moves", ["side_to_move_loses", "either_after_ply"])
def test_what_a_ply_has_decided_proves_nothing(no_moves: str) -> None:
    board = load_variant("brandubh-5-4v0")
    rules = board.rules.model_copy(update={"no_moves": no_moves})
    tiny = replace(board, name="tiny", terrain=("X.X", ".T.", "X.X"), start=(".b.", ".K.", ".b."), rules=rules)
    # Nobody can move in the first three: that loses for the side to move, where it is asked on its turn.
    for root, winner in [
        ("1b1/bKb/1b1 b", "white"), ("1b1/bKb/1b1 w", "black"), ("1b1/bKb/1b1 b", "black"), ("K2/3/2b b", "white"),
        ("3/1K1/3 b", "white"), ("1b1/b1b/1b1 b", "white"), ("K2/1K1/2b b", "white"),
    ]:  # fmt: skip
        claim = ProofCertificate(
            variant=None, game=tiny.digest, position=root, winner=winner, plies=0, plies_left=None, strategy={}
        )
        lost = no_moves == "side_to_move_loses" and root.startswith("1b1/bKb") and winner[0] != root[-1]
        assert accepted(tiny, claim) == lost, root


@pytest.mark.parametrize(
    ("limit", "left", "fits"),
    [
        (None, None, True), (3, 3, True), (9, 3, True), (2, 2, False), (9, 2, False), (3, 4, False), (9, None, False),
        (None, 2, False), (None, 10**12, False),
    ],
)  # fmt: skip
def test_a_win_must_fit_into_the_plies_that_are_left(limit: int | None, left: int | None, fits: bool) -> None:
    board = load_variant("ashton-5-4v0")
    variant = replace(board, rules=board.rules.model_copy(update={"move_limit": limit}))
    engine = engine_for(variant)
    proof = build_certificate(engine, searched(variant, "white"), engine.start(), 3, 100)
    assert proof.plies_left == limit
    assert accepted(variant, changed(proof, plies_left=left)) == fits


# -- files that are no proof ---------------------------------------------------------------


SEEDS = [path.read_text() for path in sorted((DATA / "proofs").glob("*.jsonl"))]
PIECES = [*'\n[]{}",:;=/ 0²\0\ud7ffKbw', "9" * 400]


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """A proof with some of its text replaced, repeated or dropped."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        text = text[:start] + draw(st.sampled_from([*PIECES, text[start:end] * 2]) | st.text(max_size=5)) + text[end:]
    return text


@settings(max_examples=examples(25, 3 * MORE), deadline=None)
@given(text=spoilt() | st.text(max_size=200))
def test_no_text_crashes_the_reader_or_passes_for_a_proof(text: str) -> None:
    try:
        proof = read_certificate("spoilt", text)
        rules = game_of("spoilt", proof)
        checked = StrategyCheck(rules, proof, most_plies=0).run()
    except InputError:
        return  # the only thing that may be raised
    assert not checked.proved or holds(rules, proof)


def test_a_proof_that_was_kept_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    proof = read_certificate("kept", (DATA / "proofs" / "ashton-5-4v0-version-2.jsonl").read_text())
    checked = check(proof)
    # Ten of its lines are of positions from which the king escapes at once; no other version has such.
    assert (checked.failures, checked.distance, checked.excluded, checked.unused) == ([], "exact", 2, 10)
    own, rules = DATA / "proofs" / "own-version-2.jsonl", str(DATA / "proofs" / "own.toml")
    for path, options in ((DATA / "proofs" / "mcgill-version-2.jsonl", []), (own, ["-v", rules])):
        assert run(["puzzle", "check", str(path), *options]) == 0
        assert "plies left)" in capsys.readouterr().out
    # Rules of one's own are found by their digest alone.
    for options in ([], ["-v", "ashton-5-4v0"]):
        assert run(["puzzle", "check", str(own), *options]) == 2
    assert ".toml" not in own.read_text()
    unlimited = read_certificate("own", own.read_text().replace('"plies_left": 9', '"plies_left": null'))
    with pytest.raises(InputError):
        game_of("own", unlimited, load_variant(rules))
