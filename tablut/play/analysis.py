"""Analysis of games by search, tablebases and proof search, with grades of moves, comments and diagrams."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tablut import svg
from tablut.board import Board
from tablut.cli.command import command
from tablut.cli.options import (
    PicturesRequest,
    read_bytes,
    read_game_record,
    save_record,
    tablebase_field,
    variant_field,
    warn,
)
from tablut.cli.people import PeopleConsole, Table, label, number, prose
from tablut.cli.requests import Argument, Option
from tablut.cli.runtime import Reply, interruptible, progress
from tablut.errors import InputError
from tablut.formats.game_text import RECORD_BYTES
from tablut.indexing.values import Wdl, value_of, verdict_of, within_limit
from tablut.play.bridges.factory import player_for
from tablut.play.collection import UnreadGame, read_sources
from tablut.play.player_requests import (
    LinesRequest,
    complete_player,
    depth_field,
    hash_field,
    nodes_field,
    settings_field,
)
from tablut.play.players import PlayerOptions, parse_settings
from tablut.play.players.registry import BestLine, BestMoveResult, best_lines, bestmove_result
from tablut.play.search.limits import MATE, SearchLimits, format_score, worth_of
from tablut.play.search.searcher import Searcher
from tablut.position import Move, Position
from tablut.prober import Prober, Prover, find_prober, find_prover
from tablut.records import GameRecord, decoded, record_file, record_text
from tablut.replay import replay
from tablut.results import Result
from tablut.rules import Outcome
from tablut.strip import draw_sheet
from tablut.variants import Variant, as_variant
from tablut.work.files import brief, check_output, excerpt
from tablut.work.progress import Observer, plural

__all__ = ["AnalysedPly", "Analyst", "DecisiveError", "GameAnalysis", "SideReport"]
__all__ += ["analyse", "annotated", "draw_errors"]

ValueSource = Literal["rules", "tablebase", "proof", "search"]


@brief
class Insight(NamedTuple):
    """Result of analysing a position, from the side to move's point of view.

    - ``score``: Score in centi-logits, or the score of a proven win or loss; see `tablut.play.search.limits`.
    - ``wdl``, ``dtm``: Proven value, and plies to the end under best play, or None if they are not known.
    - ``best``, ``line``: All moves that attain ``dtm``, or the move that the search chose, and its principal variation.
    - ``source``: ``rules``, ``tablebase``, ``proof`` or ``search``, which is the source of an estimate.
    - ``lines``: Best lines of the search, if several were requested.
    - ``points``: Expected points according to the search, or None if they were not measured for these rules.
    """

    score: int
    wdl: Wdl | None
    dtm: int | None
    best: tuple[Move, ...]
    line: tuple[Move, ...]
    source: ValueSource
    lines: tuple[BestLine, ...] = ()
    points: float | None = None

    @property
    def expected(self) -> float | None:
        """Expected points of the side to move, from 0 to 1, or None if they were not measured for these rules."""
        return self.points if self.wdl is None else {"win": 1.0, "loss": 0.0}.get(self.wdl, 0.5)

    @property
    def worth(self) -> float:
        """Expected points of the side to move, or the nominal worth of the score if they were not measured."""
        return worth_of(self.score, self.expected)


class Analyst:
    """Analyser that examines the positions of one variant with a search, a tablebase and a proof search.

    - ``limits``, ``proof_nodes``: Limits for the search and for the proof search (0 for none) of each position.
    - ``tablebase``: Tablebase to probe. By default, the built-in tables are probed.
    - ``hash_mib``, ``table_mib``: Memory in MiB for the transposition table and for tablebases probed in the search.
    - ``lines``: Number of best lines that the search finds in each position.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.search import SearchLimits
    >>> board = Board("ashton-5-4v0")
    >>> found = Analyst(board.variant, SearchLimits(nodes=500), hash_mib=1).look(board)
    >>> found.wdl, found.dtm, found.source
    ('win', 3, 'tablebase')
    """

    def __init__(
        self,
        variant: Variant,
        limits: SearchLimits,
        *,
        proof_nodes: int = 100_000,
        tablebase: Path | str | None = None,
        hash_mib: int = 16,
        table_mib: int = 512,
        lines: int = 1,
    ) -> None:
        self.variant, self._lines = variant, lines
        self._limits = limits.checked()
        self._prober: Prober | None = find_prober(variant, tablebase)
        self._prover: Prover | None = find_prover(variant, proof_nodes) if proof_nodes else None
        self._searcher = Searcher(variant, hash_mib=hash_mib, prober=self._prober, table_mib=table_mib)

    def look(self, board: Board) -> Insight:
        """Analyse the current position of a game that is not over. The board is not changed.

        The value comes from a tablebase if possible, otherwise from the proof search, and otherwise from the search.
        """
        found = self._searcher.search(board, self._limits, lines=self._lines)
        limit = self.variant.rules.move_limit
        left = None if limit is None else limit - board.ply
        wdl: Wdl | None = None
        dtm: int | None = None
        best: tuple[Move, ...] = (found.move,)
        source: ValueSource = "search"
        tabled = self._tabled(board, left)
        if tabled is not None:
            wdl, dtm, source = *tabled, "tablebase"
        elif self._prover is not None and (proved := self._prover.solve(board.position, plies_left=left)).wdl:
            wdl, dtm, source = proved.wdl, proved.dtm, "proof"
            best = proved.winning_moves or best
        elif found.mate is not None:
            # A win found by the search is proven, but a shorter win may exist. Therefore the win's length is not
            # reported as ``dtm``.
            wdl = "win" if found.mate > 0 else "loss"
        lines = best_lines(found) if self._lines > 1 else ()
        return Insight(found.score or 0, wdl, dtm, best, found.pv, source, lines, found.points)

    def _tabled(self, board: Board, left: int | None) -> tuple[Wdl, int | None] | None:
        """Return the tablebase value of a position, or None if no table contains it.

        ``left`` is the number of plies left until the move limit, or None if there is no limit.
        """
        if self._prober is None or not self._prober.covers(*board.position.material):
            return None
        verdict = self._prober.probe(board.position)
        value = within_limit(value_of(verdict), left)
        found = verdict_of(value, unforced="draw" if left is not None else verdict.wdl if not value else "draw")
        return found.wdl, found.dtm


# -- analysis of a game, ply by ply: cost of each move, decisive error, accuracy of each side ---


Grade = Literal["", "inaccuracy", "mistake", "blunder"]

GRADES: Final[tuple[tuple[float, Grade], ...]] = ((0.3, "blunder"), (0.2, "mistake"), (0.1, "inaccuracy"))
"""Grades of moves, each with the smallest loss of expected points that earns it (`benchmarks.tuning.grading`)."""

OPEN: Final = GRADES[0][0]
"""Minimum number of expected points for a game to count as still open for a side.

It equals the smallest loss that makes a move a blunder.
"""


class AnalysedPly(Result):
    """Analysed move in a game. Values are those before the move, for the side that made it; see `Insight`.

    - ``ply``, ``side``, ``move``, ``position``: Number of the move from 1, its side, the move, and the position before
      it.
    - ``points``: Expected points before the move, from 0 to 1, or None if they were not measured for these rules.
    - ``loss``: Expected points that the move lost, between 0 and 1, or None if they were not measured.
    - ``grade``: ``inaccuracy``, ``mistake``, ``blunder`` or an empty string.
    - ``missed_win``: Whether a win was proved before the move but not after it.
    - ``choice``: Move that another player chose in the same position, or None if no player was given.
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
    points: float | None
    loss: float | None
    grade: Grade
    missed_win: bool
    choice: BestMoveResult | None = None
    lines: tuple[BestLine, ...] = ()


class DecisiveError(Result):
    """Move that lost the game for good. The error is certain if the values before and after the move are proven."""

    ply: int
    side: Literal["white", "black"]
    move: str
    certain: bool


class SideReport(Result):
    """Summary of one side's moves."""

    moves: int
    accuracy: float | None
    inaccuracies: int
    mistakes: int
    blunders: int
    missed_wins: int


class GameAnalysis(Result):
    """Analysis of a game.

    - ``variant``, ``start``: Rule set and start position.
    - ``players``: Names of the players in the record, keyed by ``white`` and ``black``.
    - ``result``, ``outcome``: Result claimed by the record, and outcome under the rules, or None.
    - ``plies``, ``white``, ``black``: Analysed moves, and a summary of each side's moves.
    - ``first_decisive_error``: The loser's last move from a position that was not lost, or None.
    - ``problems``: Claims in the record that contradict the moves or the rules.
    - ``file``, ``number``: File of the game and its number in this file, if a folder of games was analysed.
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
    file: str | None = None
    number: int | None = None


def analyse(
    record: GameRecord,
    analyst: Analyst,
    watch: Callable[[int], None] | None = None,
    ask: Callable[[Board], BestMoveResult] | None = None,
) -> GameAnalysis:
    """Return the analysis of a recorded game. It ends before an illegal move, which it reports as a problem.

    ``watch`` is called with the number of each ply that has been analysed. ``ask`` returns another player's choice in a
    position, which is reported next to the move that was played.

    Raises
    ------
    InputError
        If the record has no legal move, or its rules differ from the analyst's.

    Examples
    --------
    >>> from tablut.records import read_record
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
        raise InputError("has no legal move to analyse", subject="record")
    if not game.board.variant.same_game(analyst.variant):
        raise InputError(
            f"uses the rules of {game.board.variant.name}, not those of {analyst.variant.name}", subject="record"
        )
    insights, choices, board = [], [], Board(game.board.variant, game.start)
    moves = game.board.move_stack
    for place in range(len(moves) + 1):
        insights.append(_look(board, analyst))
        if watch is not None and place:
            watch(place)
        if place < len(moves):
            choices.append(None if ask is None else ask(board))
            board.push(moves[place])
    for place in reversed(range(len(moves))):
        # If a move leads to a position that is lost for the opponent, the position before the move is proved to be won.
        # This does not show how many plies the win takes.
        if insights[place].wdl is None and insights[place + 1].wdl == "loss":
            source = insights[place + 1].source
            insights[place] = insights[place]._replace(wdl="win", best=(moves[place],), source=source)
    plies = [
        _analysed(place, str(moves[place]), game_position, insights[place : place + 2], choices[place])
        for place, game_position in enumerate([game.start, *(ply.position for ply in game.plies[:-1])])
    ]
    outcome = board.outcome()
    winner = _winner(outcome, insights[-1], board.turn, record.result if len(moves) == len(record.moves) else None)
    return GameAnalysis(
        variant=analyst.variant.name,
        start=str(game.start),
        players={side: record.tags.get(side.capitalize()) for side in ("white", "black")},
        result=record.result,
        outcome=None if outcome is None else f"{outcome.winner or 'draw'} by {outcome.how}",
        plies=plies,
        first_decisive_error=_decisive_error(plies, insights, winner),
        white=_side_report([ply for ply in plies if ply.side == "white"]),
        black=_side_report([ply for ply in plies if ply.side == "black"]),
        problems=list(game.problems),
    )


def _look(board: Board, analyst: Analyst) -> Insight:
    outcome = board.outcome()
    return analyst.look(board) if outcome is None else _ended(board, outcome)


def _ended(board: Board, outcome: Outcome) -> Insight:
    """Return the `Insight` for a position where the game is over, from the side to move's point of view."""
    if outcome.winner is None:
        return Insight(0, "draw", None, (), (), "rules")
    wdl: Wdl = "win" if outcome.winner == board.turn else "loss"
    return Insight(MATE if wdl == "win" else -MATE, wdl, 0, (), (), "rules")


def _analysed(
    place: int, move: str, position: object, around: list[Insight], choice: BestMoveResult | None
) -> AnalysedPly:
    before, after = around
    best = [str(one) for one in before.best]
    # A best move costs nothing. If the scores before and after it differ, the difference is a search error.
    lost = 0.0 if move in best else max(0.0, before.worth - (1 - after.worth))
    measured = None not in (before.expected, after.expected)
    kept = after.wdl == "loss" or (after.wdl is None and move in best)
    return AnalysedPly(
        ply=place + 1,
        side="white" if str(position).endswith("w") else "black",
        move=move,
        position=str(position),
        score=before.score,
        wdl=before.wdl,
        dtm=before.dtm,
        source=before.source,
        best=best,
        line=[str(one) for one in before.line],
        points=before.expected,
        loss=round(lost, 4) if measured else None,
        grade=next((grade for least, grade in GRADES if lost >= least), ""),
        missed_win=before.wdl == "win" and not kept,
        choice=choice,
        lines=before.lines,
    )


def _winner(outcome: Outcome | None, last: Insight, turn: str, claimed: str | None) -> str | None:
    """Return the winner of a game, or None if there is none.

    The winner is determined by the rules if they ended the game, otherwise by the result claimed in the record, and
    otherwise by the proven value of the last position.
    """
    if outcome is not None:
        return outcome.winner
    if claimed is not None:
        return claimed
    return {"win": turn, "loss": "black" if turn == "white" else "white"}.get(last.wdl or "")


def _decisive_error(plies: list[AnalysedPly], insights: list[Insight], winner: str | None) -> DecisiveError | None:
    """Return the last move that the loser made while the game was still open for that side.

    With the winner to move, only a proven value counts, because the estimate after the winner's move is the better one.
    """
    if winner not in ("white", "black"):
        return None
    movers = [*(ply.side for ply in plies), "white" if plies[-1].side == "black" else "black"]
    for place in reversed(range(len(insights))):
        found, loser_moves = insights[place], movers[place] != winner
        if found.worth >= OPEN if loser_moves else found.wdl not in (None, "win"):
            # If the winner had no win here, the winner's move cannot have won the game. The error is then the loser's
            # next move.
            erred = place if loser_moves else place + 1
            if erred >= len(plies):
                return None
            ply = plies[erred]
            certain = found.wdl is not None and insights[erred + 1].wdl == "win"
            return DecisiveError(ply=ply.ply, side=ply.side, move=ply.move, certain=certain)
    return None


def _side_report(plies: list[AnalysedPly]) -> SideReport:
    grades = [ply.grade for ply in plies]
    kept = [1 - ply.loss for ply in plies if ply.loss is not None]
    return SideReport(
        moves=len(plies),
        accuracy=round(100 * sum(kept) / len(kept), 1) if plies and len(kept) == len(plies) else None,
        inaccuracies=grades.count("inaccuracy"),
        mistakes=grades.count("mistake"),
        blunders=grades.count("blunder"),
        missed_wins=sum(ply.missed_win for ply in plies),
    )


# -- an analysed game as an annotated record and as diagrams -----------------------------


def known_before(ply: AnalysedPly) -> str:
    """Return the value of the position before a move as text, for example ``win in 3``."""
    if ply.wdl in ("win", "loss"):
        return ply.wdl if ply.dtm is None else f"{ply.wdl} in {ply.dtm}"
    return ply.wdl or format_score(ply.score, None, ply.points)


def comment(ply: AnalysedPly) -> str:
    """Return a one-line comment on a move: the value before it, its grade, and better moves."""
    parts = [known_before(ply)]
    if ply.missed_win:
        parts.append("misses a win")
    if ply.grade:
        parts.append(ply.grade + ("" if ply.loss is None else f", {100 * ply.loss:.0f} points of 100 lost"))
    if (ply.grade or ply.missed_win) and ply.best:
        parts.append("better " + " or ".join(ply.best[:3]))
    return "; ".join(parts)


def annotated(record: GameRecord, analysis: GameAnalysis) -> GameRecord:
    """Return a copy of a record whose comments include the analysis of each move."""
    comments = dict(record.comments)
    for ply in analysis.plies:
        own, added = comments.get(ply.ply, ""), comment(ply)
        comments[ply.ply] = own if own.endswith(added) else f"{own}; {added}" if own else added
    return replace(record, comments=comments)


def draw_errors(variant: Variant, analysis: GameAnalysis, *, columns: int = 3, pixels: int = 260) -> str | None:
    """Return an SVG sheet of the positions with errors, or None if no move was an error.

    Each picture shows the move that was played and a better move.
    """
    shown = [ply for ply in analysis.plies if ply.grade or ply.missed_win]
    if not shown:
        return None
    boards = []
    for ply in shown:
        played = Move.parse(ply.move, variant.size)
        better = [Move.parse(text, variant.size) for text in ply.best[:1]]
        boards.append(
            svg.board(
                variant,
                Position.parse(ply.position, variant.size),
                last_move=played,
                arrows=better,
                caption=f"{ply.ply}. {ply.side} {ply.move}: {ply.grade or 'misses a win'}",
                pixels=pixels,
            )
        )
    return draw_sheet(boards, columns, pixels)


# -- the command ``tablut analyse`` --------------------------------------------------------


class AnalyseRequest(LinesRequest, PicturesRequest):
    """The request of ``tablut analyse``."""

    record: str = Argument("RECORD", "Game record or log; - for standard input; or a folder of stored games.")
    variant: str | None = variant_field(help="Rule set. [default: the rule set named in the record]")
    movetime: float | None = Option(
        None, "Time for each ply. [default: 0.5, unless there is another limit]", metavar="SECONDS"
    )
    nodes: int | None = nodes_field()
    depth: int | None = depth_field()
    proof_nodes: int = Option(
        100_000, "Node limit for the proof search of each position; 0 for no proof search.", least=0
    )
    tablebase: str | None = tablebase_field()
    hash_mib: int = hash_field()
    player: str | None = Option(
        None,
        "Player, or program:COMMAND, whose choices are also shown. The grades do not depend on them.",
        metavar="NAME",
        complete=complete_player,
    )
    option: tuple[str, ...] = settings_field()
    annotate: str | None = Option(None, "File for the record with a comment on each move.", metavar="FILE")
    svg: Path | None = Option(None, "File for an SVG drawing of the positions with errors.")


@command(table=True)
def analyse_command(request: AnalyseRequest) -> Reply:
    """Analyse a game, and show the cost of each move, missed wins, the losing move, and accuracy.

    A position is shown with its expected points: the share of the points that the side to move would get if the engine
    played both sides from there. Wins and losses are shown only if a tablebase, the proof search or the game-tree
    search proves them. Accuracy is the mean share of the expected points that a side's moves preserved. All games in a
    folder are analysed one after another.
    """
    record, variant, annotate, player = request.record, request.variant, request.annotate, request.player
    if request.option and player is None:
        raise InputError("needs --player", subject="--option")
    limits = SearchLimits(request.movetime, request.nodes, request.depth)
    limits = (SearchLimits(movetime=0.5) if limits == SearchLimits() else limits).checked()
    how = request.among(["proof_nodes", "tablebase", "hash_mib", "lines"])

    def analysed(game: GameRecord, origin: str, observer: Observer) -> GameAnalysis:
        rules, ask = as_variant(game.variant or ""), None
        analyst = Analyst(rules, limits, **how)
        with ExitStack() as held:
            if player is not None:
                made = PlayerOptions(0, request.hash_mib, request.tablebase, settings=parse_settings(request.option))
                chooser = held.enter_context(player_for(player, rules, made))

                def ask(board: Board) -> BestMoveResult:
                    return bestmove_result(board, player, chooser.choose(board, limits))

            found = interruptible(lambda: analyse(game, analyst, lambda _number: observer.advance(), ask))
        for problem in found.problems:
            warn(f"{origin}: {problem}")
        return found

    if record != "-" and Path(record).is_dir():
        if annotate is not None or request.draws:
            raise InputError("is a folder", subject=excerpt(record), remedy="name one of its records to write a file")
        return _analyse_folder(Path(record), None if variant is None else as_variant(variant), analysed)
    check_output(annotate, record_file(annotate, variant))
    game = read_game_record(decoded(read_bytes(record, "record", RECORD_BYTES), record), variant, record)
    if annotate is not None:
        record_text(game, Path(annotate), record)  # reject a format that cannot be written now, not after the analysis
    with progress("analyse") as observer:
        observer.begin("plies", len(game.moves))
        found = analysed(game, "record", observer)
    if annotate is not None:
        save_record(annotated(game, found), Path(annotate), record)
    if request.draws:
        drawing = draw_errors(as_variant(game.variant or ""), found)
        if drawing is None:
            warn("no picture was written, because no move was an error")
        else:
            request.write_drawing(drawing)
    return Reply(found, lambda console: _show(console, found), table=(AnalysedPly, found.plies))


class FolderAnalysis(Result):
    """Analyses of the games in a folder, and the games that could not be analysed."""

    games: list[GameAnalysis]
    unread: list[UnreadGame]


def _analyse_folder(folder: Path, variant: Variant | None, analysed: Callable[..., GameAnalysis]) -> Reply:
    found = FolderAnalysis(games=[], unread=[])
    if not (games := [*read_sources([folder], variant, found.unread)]):
        raise InputError("contains no games", subject=f"folder {excerpt(str(folder))}")
    with progress("analyse") as observer:
        observer.begin("plies", sum(len(game.record.moves) for game in games))
        for file, number, record in games:
            place = {"file": file, "number": number}
            try:
                found.games.append(analysed(record, file, observer).model_copy(update=place))
            except InputError as error:
                found.unread.append(UnreadGame(file=file, number=number, why=str(error)))
    for lost in found.unread:
        warn(f"{lost.file}{f', game {lost.number}' * bool(lost.number)}: {lost.why}")
    code, plies = any(lost.number for lost in found.unread), [ply for game in found.games for ply in game.plies]

    def show(console: PeopleConsole) -> None:
        for game in found.games:
            _show(console, game)

    return Reply(found, show, int(code), table=(AnalysedPly, plies))


def _show(console: PeopleConsole, found: GameAnalysis) -> None:
    names = " against ".join(f"{found.players[side] or 'unknown'} ({side})" for side in ("white", "black"))
    place = "" if found.file is None else f"{found.file}, game {found.number}: "
    console.print(f"{place}{names}, {found.variant}", style="bold")
    choices = [ply.choice for ply in found.plies if ply.choice is not None]
    extra = [label("choice")] if choices else []
    judged = label("before it"), label("by"), number("lost"), prose()
    table = Table(number("ply"), label("side"), label("move"), *extra, *judged)
    for ply in found.plies:
        graded = "; ".join(filter(None, [ply.grade, "misses a win" if ply.missed_win else ""]))
        better = f" (better {' or '.join(ply.best[:3])})" if graded and ply.best else ""
        style = {"blunder": "bold red", "mistake": "red", "inaccuracy": "yellow"}.get(ply.grade, "")
        lost = f"{100 * ply.loss:.0f} %" if ply.loss is not None and ply.loss >= 0.005 else ""
        choice = ply.choice
        chosen = [] if choice is None else [f"{choice.move}  {format_score(choice.score, choice.mate, choice.points)}"]
        cells = (*chosen, known_before(ply), ply.source, lost, graded + better)
        table.add(str(ply.ply), ply.side, ply.move, *cells, style=style)
        for rank, line in enumerate(ply.lines, 1):
            said = format_score(line.score, line.mate, line.points)
            table.add("", f"line {rank}", line.move, *[""] * len(extra), said, "", "", " ".join(line.pv), style="dim")
    console.print(table)
    console.print("before it: share of the points that the side to move is expected to score", style="dim")
    if any(ply.points is None for ply in found.plies):
        console.print(
            "Expected points were not measured for these rules: scores are in centi-logits, and the grades only"
        )
        console.print("compare them, without percentages and accuracy.")
    if choices:
        same = sum(choice.move == ply.move for choice, ply in zip(choices, found.plies, strict=True))
        silent = "" if any(choice.score is not None for choice in choices) else "; it reports no scores"
        console.print(f"choice: {choices[0].player} agrees with {same} of {plural(len(choices), 'move')}{silent}")
    for side, report in (("white", found.white), ("black", found.black)):
        console.print(f"{side}  {_accuracy_text(report)}")
    if (error := found.first_decisive_error) is not None:
        sure = "the game was not lost before it" if error.certain else "according to estimates"
        console.print(f"the losing move: ply {error.ply}, {error.side} {error.move} ({sure})")
    console.print(f"the game: {found.outcome or 'not finished on the board'}")


def _accuracy_text(report: SideReport) -> str:
    if not report.moves:
        return "no move"
    errors = (
        (report.blunders, "blunder", "blunders"),
        (report.mistakes, "mistake", "mistakes"),
        (report.inaccuracies, "inaccuracy", "inaccuracies"),
        (report.missed_wins, "missed win", "missed wins"),
    )
    counts = [f"{count} {one if count == 1 else many}" for count, one, many in errors if count]
    accuracy = [] if report.accuracy is None else [f"accuracy {report.accuracy:.1f} %"]
    return "; ".join([*accuracy, ", ".join(counts) or "no errors"])
