"""The openings, the claims about them, the proof results, and play that follows the certificates."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from pydantic import Field

from reports.rendering import STUDIES
from retrograde.proofs.certificate import read_certificate
from retrograde.proofs.strategy import PackedStrategy
from retrograde.proofs.strategy_checker import CheckedProof, StrategyCheck
from tablut.board import Board
from tablut.engine.engine import position_keys
from tablut.errors import InputError
from tablut.position import Move, Position, square_name
from tablut.provenance import Provenance
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import read_text
from tablut.work.run import LocalScheduler

if TYPE_CHECKING:
    from pathlib import Path

    from retrograde.proofs.certificate import ProofCertificate

FOLDER: Final = STUDIES / "openings"
DATA: Final = FOLDER / "data"
GAME: Final = "brandubh-federation"


class Source(Result):
    """A claim's source."""

    what: str
    link: str


class Opening(Result):
    """An opening: moves from the start, and the claim about the resulting position.

    If ``every`` is set, each possible next move also leads to an opening, for which ``listed`` is false. An opening may
    also be a board with fewer men, which has a name and a position instead of moves.
    """

    moves: str = ""
    board_name: str | None = None
    game: str = GAME
    start: str | None = None
    every: bool = False
    listed: bool = True
    source: str | None = None
    says: str | None = None

    @property
    def name(self) -> str:
        """Identifier used in the data files."""
        return self.board_name or self.moves

    @property
    def file(self) -> str:
        """File name of the certificate."""
        return f"{self.name.replace(' ', '_')}.jsonl.gz"

    def board(self) -> Board:
        """Return the board after the moves."""
        board = Board(self.game, self.start)
        for move in self.moves.split():
            board.push_text(move)
        return board


class Decided(Result):
    """The results from the search and the checker for an opening.

    Positions are counted up to symmetry, and ``seconds`` is the time of the last run. ``within`` is the search's upper
    bound on the length of the win, and ``counted`` is the length of the longest play under the certificate. An opening
    that is proved as part of another proof has no separate certificate.
    """

    status: str
    within: int | None = None
    not_within: int | None = None
    proof: int | None = None
    disproof: int | None = None
    nodes: int
    tasks: int
    seconds: float
    part_of: str | None = None
    certificate: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    line: list[str] = Field(default_factory=list)
    strategy: int | None = None
    checked: int | None = None
    checked_per_second: int | None = None
    counted: int | None = None

    @property
    def plies(self) -> int | None:
        """Length of the longest line in the certificate, or the search's bound if the lines were not counted."""
        return self.counted or self.within


class Findings(Result):
    """The study's data: the results, keyed by opening name."""

    provenance: Provenance
    decided: dict[str, Decided]


def openings() -> tuple[dict[str, Source], list[Opening]]:
    """Return the claims' sources, and the openings."""
    told = tomllib.loads((FOLDER / "claims.toml").read_text(encoding="utf-8"))
    sources = {name: Source.model_validate(one) for name, one in told["sources"].items()}
    listed = {one["moves"]: Opening.model_validate(one) for one in told["openings"]}
    for opening in [one for one in listed.values() if one.every]:
        board = opening.board()
        for move in board.legal_moves:
            moves = f"{opening.moves} {move}"
            listed.setdefault(moves, Opening(moves=moves, listed=False))
    return sources, [*listed.values(), *map(Opening.model_validate, told["boards"])]


def read_findings() -> dict[str, Decided]:
    """Return the results so far, keyed by opening name."""
    path = DATA / "openings.json"
    return Findings.model_validate_json(read_text(path, "data of the study")).decided if path.exists() else {}


@cache
def checked_strategy(path: Path, game: str, threads: int = 1) -> tuple[Strategy, CheckedProof]:
    """Check a certificate under the plain rules, and return its strategy and the result. Large ones take minutes."""
    proof, workers = read_certificate(path.name, path), LocalScheduler(threads, processes=threads > 1)
    check = StrategyCheck(game, proof, most_plies=0, scheduler=workers)
    checked = check.run()
    if not checked.proved:
        raise InputError(checked.failures[0], subject=f"{str(path)!r}")
    return Strategy(proof, check), checked


class _Packed:
    """A packed certificate that supports look-ups by position text, without a large dictionary."""

    def __init__(self, strategy: PackedStrategy) -> None:
        self._strategy, self._keys = strategy, position_keys(strategy.words)

    def get(self, text: str) -> tuple[int, str] | None:
        """Return the plies and the move for a position, or None if the certificate lacks the position."""
        engine = self._strategy.engine
        size, position = engine.variant.size, Position.parse(text, engine.variant.size)
        key = position_keys(engine.words(engine.board(position.cells, position.side)))
        at = int(np.searchsorted(self._keys, key)[0])
        if at == len(self._keys) or self._keys[at] != key[0]:
            return None
        return int(self._strategy.plies[at]), str(Move.from_code(int(self._strategy.moves[at]), size))


class Strategy:
    """The winner's moves in a certificate, and play that follows them.

    With a finished check of the certificate, numbers of plies are the lengths of the longest games under the strategy.
    Without it, they are the upper bounds that the certificate records, which may be far too large.
    """

    def __init__(self, proof: ProofCertificate, check: StrategyCheck | None = None) -> None:
        self._check = check
        self._symmetries, self._winner = load_variant(proof.variant or GAME).symmetries, proof.winner
        self._answers: _Packed | dict[str, tuple[int, str]]
        if isinstance(proof.strategy, PackedStrategy):
            self._answers = _Packed(proof.strategy)
        else:
            self._answers = {text: (plies, move) for text, plies, move in map(json.loads, proof.lines())}

    def answer(self, position: Position) -> tuple[int, Move] | None:
        """Return the number of plies to the win and the winning move, or None for an unknown position."""
        for symmetry in self._symmetries:
            image = position.transformed(symmetry)
            if (found := self._answers.get(str(image))) is not None:
                back = next(one for one in self._symmetries if image.transformed(one) == position)
                return found[0], Move.parse(found[1], position.size).transformed(back)
        return None

    def plies(self, board: Board) -> int:
        """Return the number of plies left in a position where the winner is to move or has already won."""
        if board.is_game_over():
            return 0
        check, longest = self._check, None
        if check is not None and check.counts:
            longest = check.longest.get(check.game.key(check.game.read(str(board.position))), 1)
        found = self.answer(board.position)
        return longest or (1 if found is None else found[0])

    def _plies_after(self, board: Board, move: Move) -> int:
        board.push(move)
        plies = self.plies(board)
        board.pop()
        return plies

    def move(self, board: Board) -> Move:
        """Return the winner's move.

        Certificates contain no line for a position with an immediate win. The winning move is then found by trying all
        legal moves.
        """
        if (found := self.answer(board.position)) is not None:
            return found[1]
        for move in list(board.legal_moves):
            board.push(move)
            outcome = board.outcome()
            board.pop()
            if outcome is not None and outcome.winner == self._winner:
                return move
        raise InputError(f"the certificate has no entry for '{board.position}', and no move wins there at once")

    def line(self, board: Board) -> list[str]:
        """Return a game where the winner follows the strategy and the other side holds out as long as possible."""
        board, played = board.copy(), list[str]()
        while board.outcome() is None:
            if board.turn == self._winner:
                move = self.move(board)
            else:
                move = max(board.legal_moves, key=lambda one: self._plies_after(board, one))
            board.push(move)
            taken = ",".join(square_name(cell, board.size) for cell in board.captured())
            played.append(f"{move}x{taken}" if taken else str(move))
        return played
