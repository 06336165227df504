"""A game, ply by ply: what each move cost, who erred first, how well both sides played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from tablut.errors import InputError
from tablut.formats.replay import replay
from tablut.play.analysis.insight import Insight
from tablut.play.search.scores import MATE
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.board import Board
    from tablut.formats import GameRecord
    from tablut.play.analysis.insight import Analyst
    from tablut.prober import Wdl
    from tablut.rules import Outcome

__all__ = ["GRADES", "AnalysedPly", "DecisiveError", "GameAnalysis", "SideReport", "analyse"]

Grade = Literal["", "inaccuracy", "mistake", "blunder"]

GRADES: Final[tuple[tuple[float, Grade], ...]] = ((0.3, "blunder"), (0.15, "mistake"), (0.07, "inaccuracy"))
"""From how many points lost on a move has its grade."""


class AnalysedPly(Result):
    """One move of a game.

    Attributes
    ----------
    ply : int
        From 1.
    side, move, position : str
        Who moved, what, and from which position.
    score : int
        Before the move, for the side that made it; see `tablut.play.search.scores`.
    wdl, dtm, source : str or None, int or None, str
        What is known before the move, for that side; see `Insight`.
    best : list of str
        The moves that were best.
    line : list of str
        The play that was expected.
    loss : float
        Expected points that the move gave away, 0 to 1.
    grade : str
        ``inaccuracy``, ``mistake``, ``blunder`` or empty.
    missed_win : bool
        A win was there, by table or proof, and after the move there was none.
    """

    ply: int
    side: Literal["white", "black"]
    move: str
    position: str
    score: int
    wdl: str | None
    dtm: int | None
    source: str
    best: list[str]
    line: list[str]
    loss: float
    grade: Grade
    missed_win: bool


class DecisiveError(Result):
    """The move that first lost the game, as far as is known.

    Attributes
    ----------
    ply, side, move : int, str, str
        Which move.
    certain : bool
        Whether it is known that the game was not lost before it; else it only was not proved lost.
    """

    ply: int
    side: Literal["white", "black"]
    move: str
    certain: bool


class SideReport(Result):
    """How one side played.

    Attributes
    ----------
    moves : int
        How many it made.
    accuracy : float or None
        100 times the mean share of expected points that its moves kept; None without moves.
    inaccuracies, mistakes, blunders, missed_wins : int
        Moves by grade.
    """

    moves: int
    accuracy: float | None
    inaccuracies: int
    mistakes: int
    blunders: int
    missed_wins: int


class GameAnalysis(Result):
    """A game that was analysed.

    Attributes
    ----------
    variant, start : str
        The rule set and the first position.
    players : dict of str to str or None
        ``white`` and ``black``, as the record names them.
    result : str or None
        As the record claims it.
    outcome : str or None
        As the rules have it; None if the moves do not end the game.
    plies : list of AnalysedPly
        The moves.
    first_decisive_error : DecisiveError or None
        None if nobody is known to have lost by a move.
    white, black : SideReport
        How they played.
    problems : list of str
        Claims of the record that do not hold.
    """

    variant: str
    start: str
    players: dict[str, str | None]
    result: str | None
    outcome: str | None
    plies: list[AnalysedPly]
    first_decisive_error: DecisiveError | None
    white: SideReport
    black: SideReport
    problems: list[str]


def analyse(record: GameRecord, analyst: Analyst, watch: Callable[[int], None] | None = None) -> GameAnalysis:
    """Analyse a game.

    Parameters
    ----------
    record : GameRecord
        With the rules of the analyst.
    analyst : Analyst
        Who looks at the positions.
    watch : callable, optional
        Told the number of each position that was looked at.

    Returns
    -------
    GameAnalysis
        Up to the first move that the rules do not allow, if there is one; ``problems`` name it.

    Raises
    ------
    InputError
        If the record has no legal move, or is of other rules.

    Examples
    --------
    >>> from tablut.formats import read_record
    >>> from tablut.play.analysis import Analyst
    >>> from tablut.play.search.limits import SearchLimits
    >>> from tablut.variants import load_variant
    >>> analyst = Analyst(load_variant("ashton-5-4v0"), SearchLimits(nodes=500), hash_mib=1)
    >>> found = analyse(read_record('[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 2. b3-b4'), analyst)
    >>> [(ply.move, ply.wdl, ply.dtm) for ply in found.plies]
    [('c3-b3', 'win', 3), ('c1-b1', 'loss', 2), ('b3-b4', 'win', 1)]
    """
    game = replay(record)
    if not game.plies:
        raise InputError("record: has no legal move; there is nothing to analyse")
    if game.board.variant != analyst.variant:
        raise InputError(f"record: is of {game.board.variant.name}, not of {analyst.variant.name}")
    insights, board = [], _first(game.board)
    moves = game.board.move_stack
    for number in range(len(moves) + 1):
        insights.append(_look(board, analyst))
        if watch is not None:
            watch(number)
        if number < len(moves):
            board.push(moves[number])
    plies = [
        _analysed(number, str(moves[number]), game_position, insights[number], insights[number + 1])
        for number, game_position in enumerate([game.start, *(ply.position for ply in game.plies[:-1])])
    ]
    outcome = board.outcome()
    return GameAnalysis(
        variant=analyst.variant.name,
        start=str(game.start),
        players={side: record.tags.get(side.capitalize()) for side in ("white", "black")},
        result=record.result,
        outcome=None if outcome is None else f"{outcome.winner or 'draw'} by {outcome.termination.replace('_', ' ')}",
        plies=plies,
        first_decisive_error=_first_decisive_error(plies, insights),
        white=_side_report([ply for ply in plies if ply.side == "white"]),
        black=_side_report([ply for ply in plies if ply.side == "black"]),
        problems=list(game.problems),
    )


def _first(board: Board) -> Board:
    """Return a board at the first position of a game."""
    first = board.copy()
    while first.ply:
        first.pop()
    return first


def _look(board: Board, analyst: Analyst) -> Insight:
    outcome = board.outcome()
    return analyst.look(board) if outcome is None else _ended(board, outcome)


def _ended(board: Board, outcome: Outcome) -> Insight:
    """Return what the rules say of the position that ended a game, for the side that would be to move."""
    if outcome.winner is None:
        return Insight(0, "draw", None, (), (), "rules")
    wdl: Wdl = "win" if outcome.winner == board.turn else "loss"
    return Insight(MATE if wdl == "win" else -MATE, wdl, 0, (), (), "rules")


def _analysed(number: int, move: str, position: object, before: Insight, after: Insight) -> AnalysedPly:
    best = [str(one) for one in before.best]
    # A move that search itself chose costs nothing; what is left of a difference is the search's own doubt.
    lost = 0.0 if move in best else max(0.0, before.chance - (1 - after.chance))
    known = before.wdl == "win" and after.wdl is not None
    return AnalysedPly(
        ply=number + 1,
        side="white" if str(position).endswith("w") else "black",
        move=move,
        position=str(position),
        score=before.score,
        wdl=before.wdl,
        dtm=before.dtm,
        source=before.source,
        best=best,
        line=[str(one) for one in before.line],
        loss=round(lost, 4),
        grade=next((grade for least, grade in GRADES if lost >= least), ""),
        missed_win=known and after.wdl != "loss",
    )


def _first_decisive_error(plies: list[AnalysedPly], insights: list[Insight]) -> DecisiveError | None:
    for number, ply in enumerate(plies):
        before, after = insights[number], insights[number + 1]
        if before.wdl != "loss" and after.wdl == "win":
            return DecisiveError(ply=ply.ply, side=ply.side, move=ply.move, certain=before.wdl is not None)
    return None


def _side_report(plies: list[AnalysedPly]) -> SideReport:
    grades = [ply.grade for ply in plies]
    kept = [1 - ply.loss for ply in plies]
    return SideReport(
        moves=len(plies),
        accuracy=round(100 * sum(kept) / len(kept), 1) if kept else None,
        inaccuracies=grades.count("inaccuracy"),
        mistakes=grades.count("mistake"),
        blunders=grades.count("blunder"),
        missed_wins=sum(ply.missed_win for ply in plies),
    )
