"""Matches between two players. The games are played in parallel, stored when they end, and summarised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple, TypeVar

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.arena.game import ADJUDICATED, BY_TABLES, FAULTS, Adjudicator, EndedGame, Seat, play_game
from tablut.play.arena.plan import Adjudication, Contestant, MatchPlan, plan_match
from tablut.play.arena.statistics import Sprt, Tally, elo_of, interval_of_share, superiority, wilson
from tablut.play.bridges.factory import close_player
from tablut.play.bridges.objects import PlayerLike
from tablut.play.bridges.programs import IdlePrograms
from tablut.play.search.limits import SearchLimits
from tablut.position import Move, MoveText
from tablut.records import GameRecord, read_record, write_record
from tablut.replay import replay
from tablut.results import Result
from tablut.variants import VariantLike
from tablut.work.files import brief, child, excerpt, lock_folder, read_text, remove_temporaries, write_text
from tablut.work.ledger import Kind, refuse_foreign
from tablut.work.run import LocalScheduler
from tablut.work.sealed_records import digest_of

Number = TypeVar("Number", int, float)


@brief
class ScoredGame(NamedTuple):
    """Game of a match together with the first player's points.

    - ``number``: Number of the game in the match, counted from 0.
    - ``first_is_white``, ``game``: Whether the first player plays white, and the game.
    """

    number: int
    first_is_white: bool
    game: EndedGame

    @property
    def points(self) -> float:
        """Points of the first player: 1, ½ or 0."""
        if self.game.winner == "draw":
            return 0.5
        return float((self.game.winner == "white") == self.first_is_white)


class SprtSummary(Result):
    """State of a sequential test."""

    elo0: float
    elo1: float
    alpha: float
    beta: float
    ratio: float
    lower: float
    upper: float
    state: str


class MatchSummary(Result):
    """Summary of a match between the players ``a`` and ``b``. Pairs of values belong to these two players in order.

    - ``variant``, ``games``, ``a_wins``, ``b_wins``, ``draws``: Rule set, and numbers of games.
    - ``score``, ``score_interval``, ``score_wilson``: Mean points of the first player per game, the 95 % interval
      computed from the pairs, and the 95 % interval computed by Wilson's method.
    - ``elo``, ``elo_interval``: Score converted to a difference in Elo, with its interval. Infinite values are None.
    - ``superiority``: Likelihood that the first player is the stronger player.
    - ``by_colour``: Wins, draws and losses of the first player with each colour (``a_white`` and ``a_black``).
    - ``decisive_plies``: Mean length in plies of the decisive games, keyed like ``by_colour``.
    - ``pairs``: Results of pairs; see `Tally.pairs`.
    - ``termination``, ``plies``: Number of games with each termination, and mean length of a game in plies.
    - ``faults``, ``lost_by_fault``: Descriptions of the first 20 faults, and the number of games lost through faults.
    - ``adjudicated``: Number of games that were decided before their end; ``termination`` shows by which rule.
    - ``time_controls``: Time control of each player, or None for a player without a clock.
    - ``seconds_a_game``, ``slowest``: Mean time that each player used in a game, and its slowest move, in seconds.
    - ``moves_over_time``, ``worst_excess``: Number of late moves, and their largest excess in seconds. Within the grace
      of the match, a late move does not lose the game.
    - ``nodes_a_second``: Nodes per second, or None for a player that does not count nodes.
    - ``sprt``: State of the sequential test, or None if the match has no test.
    """

    variant: str
    a: str
    b: str
    games: int
    a_wins: int
    b_wins: int
    draws: int
    score: float
    score_interval: list[float]
    score_wilson: list[float]
    elo: float | None
    elo_interval: list[float | None]
    superiority: float
    by_colour: dict[str, dict[str, int]]
    decisive_plies: dict[str, float | None]
    pairs: list[int]
    termination: dict[str, int]
    plies: float
    faults: list[str]
    lost_by_fault: tuple[int, int] = (0, 0)
    adjudicated: int = 0
    time_controls: tuple[str | None, str | None] = (None, None)
    seconds_a_game: tuple[float, float] = (0.0, 0.0)
    slowest: list[float]
    moves_over_time: list[int]
    worst_excess: list[float]
    nodes_a_second: list[float | None]
    sprt: SprtSummary | None


@brief
class MatchReport(NamedTuple):
    """Games and results of a match.

    ``played`` contains the games in order, up to the end of the sequential test, ``tally`` the counts of their results,
    and ``summary`` everything else.
    """

    played: tuple[ScoredGame, ...]
    tally: Tally
    summary: MatchSummary


def play_match(
    plan: MatchPlan | VariantLike,
    first: PlayerLike | None = None,
    second: PlayerLike | None = None,
    *,
    games: int | None = None,
    limits: SearchLimits | None = None,
    seed: int | None = None,
    threads: int = 1,
    folder: Path | None = None,
    sprt: Sprt | None = None,
    watch: Callable[[ScoredGame], None] | None = None,
    on_interrupt: Callable[[MatchReport], BaseException] | None = None,
) -> MatchReport:
    """Play a match, and return its games and results. Games that are already stored are not played again.

    Parameters
    ----------
    plan : MatchPlan, or Variant, str or path-like
        Players, number of games, and openings. With a rule set instead of a plan, the next parameters describe the
        match.
    first, second : str, class, object or function
        The two players, in any form that `contestant` accepts.
    games : int
        Number of games. The default is 2.
    limits : SearchLimits, optional
        Limits for each move of players without limits of their own. The default is 0.1 seconds.
    seed : int
        Random seed of the openings and the players. The default is 1.
    threads : int
        Number of games played simultaneously. If the players have node limits, the games do not depend on this number.
    folder : Path, optional
        Folder where each game is stored when it ends.
    sprt : Sprt, optional
        Sequential test that can end the match early. It takes the pairs in order, for any number of threads.
    watch : callable, optional
        Function called with each game when it has ended.
    on_interrupt : callable, optional
        Function that takes a report of the games so far and returns the exception to raise instead of
        `KeyboardInterrupt`.

    Raises
    ------
    InputError
        If the plan or a stored game is not valid, or a player does not exist.
    OutputError
        If a game cannot be stored.

    Examples
    --------
    >>> from tablut.play.arena import MatchPlan, contestant
    >>> from tablut.play.search.limits import SearchLimits
    >>> from tablut.variants import load_variant
    >>> one = contestant("random", SearchLimits(nodes=1))
    >>> summary = play_match(MatchPlan(load_variant("brandubh-5-4v0"), one, one, games=10)).summary
    >>> summary.games, summary.a_wins + summary.b_wins + summary.draws
    (10, 10)
    >>> def last_move(board, limits):
    ...     return list(board.legal_moves)[-1]
    >>> play_match("brandubh-5-4v0", last_move, "random", games=4).summary.a
    'last_move'
    """
    if not isinstance(plan, MatchPlan):
        plan = plan_match(plan, first, second, games, limits, seed)
    elif any(one is not None for one in (first, second, games, limits, seed)):
        raise InputError("contains the players, games, limits and seed", subject="plan", remedy="use its _replace()")
    plan = plan.checked()
    played: dict[int, ScoredGame] = {}
    scheduler = LocalScheduler(threads)

    def _so_far() -> MatchReport:
        return _report(plan, played, sprt)

    with ExitStack() as stack:
        if folder is not None:
            refuse_foreign(folder, _KIND)
        idle = stack.enter_context(IdlePrograms())
        _warm_up(plan, idle)
        judge = None if plan.adjudication == Adjudication() else Adjudicator(plan.adjudication, plan.variant)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock_folder(folder, "match"))
            remove_temporaries(folder)

        def play(number: int) -> ScoredGame:
            return _one_game(plan, number, folder, idle, judge)

        def done(one: ScoredGame) -> None:
            played[one.number] = one
            if watch is not None:
                watch(one)

        pairs = [range(first, min(first + 2, plan.games)) for first in range(0, plan.games, 2)]
        # A sequential test is evaluated between rounds. Without a test, there is a single round.
        step = len(pairs) if sprt is None else max(1, threads)
        try:
            for done_pairs in range(0, len(pairs), step):
                numbers = [number for pair in pairs[done_pairs : done_pairs + step] for number in pair]
                scheduler.run(play, numbers, done)
                if sprt is not None and _end_of_test(played, sprt) is not None:
                    break
        except KeyboardInterrupt:
            if on_interrupt is None or not played:
                raise
            raise on_interrupt(_so_far()) from None
    return _so_far()


_WARM_UP: Final = SearchLimits(movetime=0.1)
"""Limits for the trial move that a player with a clock makes before the games."""


def _warm_up(plan: MatchPlan, idle: IdlePrograms) -> None:
    """Let each player with a time limit choose one move, so that its kernels are compiled or loaded before a game."""
    board = Board(plan.variant, plan.start)
    if board.outcome() is not None:
        raise InputError("is already decided, so there is no game to play", subject=f"position '{board.position}'")
    for one, seed in zip((plan.first, plan.second), plan.pairing(0).seeds, strict=True):
        if one.limits.movetime is not None:
            with suppress(Exception), ExitStack() as stack:
                # Errors are ignored here. They will occur again in the games, where they are reported.
                player = one.make(plan.variant, seed, idle)
                stack.callback(close_player, player)
                player.choose(board.copy(), one.limits if one.control is None else _WARM_UP)


def _one_game(
    plan: MatchPlan, number: int, folder: Path | None, idle: IdlePrograms, judge: Adjudicator | None
) -> ScoredGame:
    """Return a game from a match. If it is not in the folder yet, play it and store it."""
    pairing = plan.pairing(number)
    opening = plan.openings.of_pair(plan.variant, pairing.pair, plan.start)
    path = None if folder is None else child(folder, f"game-{number:06d}.txt", "match")
    game = None if path is None else read_game(path, plan, number, opening, judge)
    if game is None:
        with ExitStack() as stack:
            seats = []
            for one, seed in zip((plan.first, plan.second), pairing.seeds, strict=True):
                seats.append(Seat(one, one.make(plan.variant, seed, idle)))
                stack.callback(close_player, seats[-1].player)
            white, black = seats if pairing.first_is_white else seats[::-1]
            game = play_game(
                plan.variant,
                white,
                black,
                opening,
                start=plan.start,
                most_plies=plan.most_plies,
                grace=plan.grace,
                judge=judge,
            )
            for seat in seats:
                # Only external programs have this method. Some of their protocols announce the result.
                if (over := getattr(seat.player, "over", None)) is not None:
                    over(game.winner)
        if path is not None:
            write_text(path, record_text(plan, number, game))
    return ScoredGame(number, pairing.first_is_white, game)


def _end_of_test(played: dict[int, ScoredGame], sprt: Sprt) -> int | None:
    """Return the number of pairs after which the test ended, or None if the test is still running."""
    pairs: list[tuple[float, float]] = []
    while (number := 2 * len(pairs)) in played and number + 1 in played:
        pairs.append((played[number].points, played[number + 1].points))
        if sprt.state(Tally.of([], pairs).pairs) != "running":
            return len(pairs)
    return None


def _report(plan: MatchPlan, played: dict[int, ScoredGame], sprt: Sprt | None) -> MatchReport:
    ended = None if sprt is None else _end_of_test(played, sprt)
    counted = sorted(played) if ended is None else list(range(2 * ended))
    games = tuple(played[number] for number in counted)
    pairs = ((one, one + 1) for one in counted if one % 2 == 0 and one + 1 in played)
    partners = [(played[one].points, played[other].points) for one, other in pairs]
    tally = Tally.of([one.points for one in games], partners)
    return MatchReport(games, tally, _summary(plan, games, tally, sprt))


def _summary(plan: MatchPlan, games: Sequence[ScoredGame], tally: Tally, sprt: Sprt | None) -> MatchSummary:
    low, high = interval_of_share(tally)
    by_colour, decisive = {}, {}
    for name, white in (("a_white", True), ("a_black", False)):
        own = [one for one in games if one.first_is_white == white]
        found = Tally.of([one.points for one in own])
        decided = [len(one.game.moves) for one in own if one.game.winner != "draw"]
        decisive[name] = round(sum(decided) / len(decided), 2) if decided else None
        by_colour[name] = {"wins": found.wins, "draws": found.draws, "losses": found.losses}
    # The first player's points show which player lost the game through a fault.
    faulty = Counter(one.points for one in games if one.game.termination in FAULTS)
    names = ("seconds", "longest", "nodes", "over", "excess")
    seconds, longest, nodes, over, excess = ([_values(games, name, place) for place in (0, 1)] for name in names)
    elos = [elo_of(share) for share in (tally.share, low, high)]
    return MatchSummary(
        variant=plan.variant.name,
        a=plan.first.text,
        b=plan.second.text,
        games=tally.games,
        a_wins=tally.wins,
        b_wins=tally.losses,
        draws=tally.draws,
        score=round(tally.share, 6),
        score_interval=[round(low, 6), round(high, 6)],
        score_wilson=[round(end, 6) for end in wilson(tally.wins + tally.draws / 2, tally.games)],
        elo=_rounded(elos[0]),
        elo_interval=[_rounded(elos[1]), _rounded(elos[2])],
        superiority=round(superiority(tally), 6),
        by_colour=by_colour,
        decisive_plies=decisive,
        pairs=list(tally.pairs),
        termination=dict(Counter(one.game.termination for one in games).most_common()),
        plies=round(sum(len(one.game.moves) for one in games) / len(games), 2),
        faults=[one.game.fault for one in games if one.game.fault is not None][:20],
        lost_by_fault=(faulty[0], faulty[1]),
        adjudicated=sum(one.game.termination in ADJUDICATED for one in games),
        time_controls=(_control(plan.first), _control(plan.second)),
        seconds_a_game=(round(fmean(seconds[0]), 3), round(fmean(seconds[1]), 3)),
        slowest=[round(max(found), 3) for found in longest],
        moves_over_time=[sum(found) for found in over],
        worst_excess=[round(max(found), 3) for found in excess],
        nodes_a_second=[
            round(sum(made) / sum(spent)) if sum(made) and sum(spent) else None
            for made, spent in zip(nodes, seconds, strict=True)
        ],
        sprt=None if sprt is None else _sprt_summary(sprt, tally),
    )


def _values(games: Sequence[ScoredGame], name: str, place: int) -> list[Any]:
    """Return a value of each game for the first player (place 0) or the second (place 1)."""
    return [getattr(one.game, name)[place if one.first_is_white else 1 - place] for one in games]


def _control(one: Contestant) -> str | None:
    return None if one.control is None else str(one.control)


def _rounded(elo: float | None) -> float | None:
    return None if elo is None else round(elo, 1)


def _sprt_summary(sprt: Sprt, tally: Tally) -> SprtSummary:
    lower, upper = sprt.bounds
    return SprtSummary(
        **sprt._asdict(),
        ratio=round(sprt.ratio(tally.pairs), 4),
        lower=round(lower, 4),
        upper=round(upper, 4),
        state=sprt.state(tally.pairs),
    )


# -- records of the games on disk, written when a game ends and checked when they are read ---


# A record is an ordinary game record that any reader of `tablut.formats` accepts. The record's tags identify the
# match and the game, and contain a digest of the record's content. A record is accepted only if it equals, character
# for character, the record that this match would write, and if its game follows the rules. Edited records and records
# from other matches are rejected.


_KIND: Final = Kind("match", "game-*.txt")
ENDS: Final = (*FAULTS, "ply_cap")
"""Terminations that neither the rules of the game nor adjudication define."""
_BYTES: Final = 1 << 20
"""Maximum size of a game's record in bytes."""


def record_text(plan: MatchPlan, number: int, game: EndedGame) -> str:
    """Return a game's record as text."""
    first, second = plan.first.text, plan.second.text
    white_first = plan.pairing(number).first_is_white
    tags = {
        "White": first if white_first else second,
        "Black": second if white_first else first,
        "Match": plan.digest,
        "Game": str(number),
        "Termination": game.termination,
        "Seconds": " ".join(f"{value:.6f}" for value in game.seconds),
        "Slowest": " ".join(f"{value:.6f}" for value in game.longest),
        "Nodes": " ".join(str(value) for value in game.nodes),
    }
    if plan.first.control is not None or plan.second.control is not None:
        controls = [_control(one) or "-" for one in (plan.first, plan.second)]
        tags["TimeControls"] = " ".join(controls if white_first else controls[::-1])
    if any(game.over):
        tags["MovesOverTime"] = " ".join(map(str, game.over))
        tags["Excess"] = " ".join(f"{value:.6f}" for value in game.excess)
    if game.scores:
        tags["Scores"] = " ".join("-" if score is None else str(score) for score in game.scores)
    if game.fault is not None:
        tags["Fault"] = game.fault
    tags["Digest"] = digest_of([tags, [str(move) for move in game.moves], game.winner])
    moves = tuple(MoveText(move, None) for move in game.moves)
    return write_record(GameRecord(tags, plan.variant, plan.start, moves, game.winner))


def read_game(
    path: Path, plan: MatchPlan, number: int, opening: Sequence[Move], judge: Adjudicator | None = None
) -> EndedGame | None:
    """Return a stored game, or None if it has not been played yet."""
    if not path.exists():
        return None
    try:
        return _held_to_plan(read_text(path, "game record", _BYTES), plan, number, opening, judge)
    except InputError as error:
        remedy = error.remedy or "remove the file to play the game again"
        raise InputError(error.problem, subject=f"game record '{path}'", remedy=remedy) from error


def match_faults(folder: Path) -> list[str]:
    """Return a list of the faults in the game records in a match or tournament folder."""
    faults = []
    for path in sorted(folder.rglob("game-*.txt")):
        try:
            record = read_record(read_text(path, "game record", _BYTES))
            tags = {name: record.tags[name] for name in record.tags if name != "Digest"}
            digest = digest_of([tags, [str(said.move) for said in record.moves], record.result or "draw"])
            problems = replay(record).problems
            if digest != record.tags.get("Digest"):
                faults.append(f"game record '{path}': has been changed since it was written")
            elif problems:
                faults.append(f"game record '{path}': {problems[0]}")
        except InputError as error:
            faults.append(f"game record '{path}': {error}")
    return faults


def _held_to_plan(
    text: str, plan: MatchPlan, number: int, opening: Sequence[Move], judge: Adjudicator | None
) -> EndedGame:
    record = read_record(text, plan.variant)
    tags = record.tags
    if "Match" not in tags:
        raise InputError("does not say which match it belongs to")
    if tags["Match"] != plan.digest:
        remedy = "choose another folder, or repeat the options of that match"
        raise InputError("belongs to another match", remedy=remedy)
    if tags.get("Game") != str(number):
        raise InputError(f"belongs to game {tags.get('Game')}")
    try:
        seconds, longest = (_pair(tags[name], float) for name in ("Seconds", "Slowest"))
        nodes, moves = _pair(tags["Nodes"], int), tuple(said.move for said in record.moves)
        end, fault = tags["Termination"], tags.get("Fault")
        late = _pair(tags.get("MovesOverTime", "0 0"), int), _pair(tags.get("Excess", "0 0"), float)
        scores = tuple(None if score == "-" else int(score) for score in tags.get("Scores", "").split())
        game = EndedGame(moves, record.result or "draw", end, fault, seconds, nodes, longest, *late, scores)
        whole = record_text(plan, number, game) == text
    except (KeyError, ValueError):
        whole = False
    if not whole:
        raise InputError("has been changed since it was written")
    replayed = replay(record)
    if replayed.problems:
        raise InputError(replayed.problems[0])
    if moves[: len(opening)] != tuple(opening):
        raise InputError("does not begin with the opening of its pair")
    outcome = replayed.board.outcome()
    known = ENDS if judge is None else (*ENDS, *ADJUDICATED)
    wrong = end not in (known if outcome is None else (outcome.termination,))
    if wrong or (judge is not None and end == BY_TABLES and judge.by_tables(replayed.board) != game.winner):
        raise InputError(f"gives the termination {excerpt(end)}, which is wrong")
    return game


def _pair(text: str, read: Callable[[str], Number]) -> tuple[Number, Number]:
    first, second = text.split()
    return read(first), read(second)
