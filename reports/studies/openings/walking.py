"""The openings as a graph to explore: all openings, and the first plies of each proved win's strategy."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from reports.studies.openings.deciding import DATA, GAME, Strategy, checked_strategy, openings, read_findings
from retrograde.answers import TableWalk, WalkMove, WalkNode
from tablut.board import Board
from tablut.position import square_name

if TYPE_CHECKING:
    from tablut.position import Move

PLIES: Final = 3
"""Number of plies to follow from a won position: the strategy's move, every reply, and the strategy's next move."""
_ORDER: Final = ("win", "open", "loss")


class _Place(NamedTuple):
    """A position in the graph: the moves to it, white's strategy, the plies to follow, and the bound on the win."""

    path: tuple[str, ...]
    strategy: Strategy | None = None
    left: int = 0
    within: int | None = None


def walk() -> TableWalk:
    """Return the graph. Wins and losses have bounds, and positions without a proof are open.

    The certificates are checked, so this takes minutes.
    """
    found = read_findings()
    bounds = {one.board().canonical().position: found[one.name].plies for one in openings()[1] if one.name in found}
    named = {tuple(one.moves.split()[:n]) for one in openings()[1] for n in range(len(one.moves.split()) + 1)}
    numbers, nodes, waiting = dict[str, int](), list[WalkNode](), deque[_Place]()

    def number(place: _Place, board: Board) -> int:
        text = str(board.position)
        if text not in numbers:
            numbers[text] = len(numbers)
            waiting.append(place)
        return numbers[text]

    def known(path: tuple[str, ...]) -> _Place:
        """Return a named opening, with its strategy if the certificate is stored."""
        one = found.get(" ".join(path))
        if one is None or one.within is None:
            return _Place(path)
        kept = None if one.certificate is None else checked_strategy(DATA / one.certificate, GAME)[0]
        return _Place(path, kept, PLIES, one.plies)

    def after(place: _Place, move: Move, answer: Move | None, board: Board) -> tuple[_Place, bool]:
        """Return the position after a move, and whether it is part of the graph."""
        path = (*place.path, str(move))
        if path in named:
            return known(path), True
        if place.strategy is None or place.within is None or answer not in (None, move):
            return _Place(path, within=bounds.get(board.canonical().position)), False
        within = place.within - 1 if answer is not None else place.strategy.plies(board)
        return _Place(path, place.strategy, place.left - 1, within), place.left > 0 and within > 1

    number(known(()), Board(GAME))
    while waiting:
        place, board = waiting.popleft(), Board(GAME)
        for text in place.path:
            board.push_text(text)
        white, moves, position = board.turn == "white", list[WalkMove](), str(board.position)
        answer = place.strategy.move(board) if white and place.strategy is not None else None
        for move in list(board.legal_moves):
            board.push(move)
            ended = board.outcome()
            there, leads = after(place, move, answer, board)
            within = 0 if ended is not None and ended.winner == "white" else there.within
            wdl = "open" if within is None else "win" if white else "loss"
            takes = tuple(square_name(cell, board.size) for cell in board.captured())
            to = number(there, board) if leads and ended is None else None
            board.pop()
            dtm = None if within is None else within + 1
            moves.append(WalkMove(move=str(move), takes=takes, wdl=wdl, dtm=dtm, to=to))
        moves.sort(key=lambda one: (one.to is None, _ORDER.index(one.wdl), -(one.dtm or 0), one.move))
        wdl = "open" if place.within is None else "win" if white else "loss"
        nodes.append(WalkNode(position=position, wdl=wdl, dtm=place.within, moves=moves))
    return TableWalk(variant=GAME, store="openings", plies=PLIES, nodes=nodes)
