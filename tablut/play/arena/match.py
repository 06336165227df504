"""A match: its games played, in parallel, kept as they end, and summed up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.arena.plan import Contestant, MatchPlan
from tablut.play.arena.statistics import Sprt, Tally, elo_of, interval_of_share, superiority, wilson
from tablut.play.bridges import close_player
from tablut.play.bridges.programs import IdlePrograms, UnreadableMoveError
from tablut.play.players import Player
from tablut.position import Move, MoveText, Position
from tablut.records import GameRecord, read_record, write_record
from tablut.replay import replay
from tablut.results import Result
from tablut.running.scheduling import LocalScheduler
from tablut.store.files import brief, child, excerpt, lock_folder, read_text, remove_temporaries, write_text
from tablut.store.folders import Kind, refuse_foreign
from tablut.store.records import digest_of
from tablut.variants import Variant

Number = TypeVar("Number", int, float)


@brief
class ScoredGame(NamedTuple):
    """A game of a match and the points that its first player made.

    Attributes
    ----------
    number : int
        Of the game.
    first_is_white : bool
        The first player's colour.
    game : PlayedGame
        The game.
    """

    number: int
    first_is_white: bool
    game: EndedGame

    @property
    def points(self) -> float:
        """The first player's: 1, ½ or 0."""
        if self.game.winner == "draw":
            return 0.5
        return float((self.game.winner == "white") == self.first_is_white)


class SprtSummary(Result):
    """Where a sequential test stands."""

    elo0: float
    elo1: float
    alpha: float
    beta: float
    ratio: float
    lower: float
    upper: float
    state: str


class MatchSummary(Result):
    """What a match says.

    Attributes
    ----------
    variant : str
        The rule set.
    a, b : str
        The players.
    games, a_wins, b_wins, draws : int
        Games, and how they ended.
    score, score_interval, score_wilson : float, list of float
        Points of the first player by game, with the interval that pairs show and with Wilson's, both of 95 %.
    elo, elo_interval : float or None, list of float or None
        The score as a difference in Elo; None where it is infinite.
    superiority : float
        The likelihood that the first player is the better one.
    by_colour : dict
        ``a_white`` and ``a_black``: the first player's wins, draws and losses.
    decisive_plies : dict of str to float or None
        Likewise, the mean length of the games that were not drawn.
    pairs : list of int
        See `Tally.pairs`.
    termination : dict of str to int
        How the games ended.
    plies : float
        Mean length of a game.
    faults : list of str
        Crashes, illegal moves and overrun clocks, the first ones in full.
    lost_by_fault : tuple of int
        Games that each player lost by a fault. They count in the score and in Elo like the others.
    slowest : list of float
        Seconds of the slowest move of each player.
    nodes_a_second : list of float or None
        Of each player, where it counts nodes.
    sprt : SprtSummary or None
        The sequential test, if there is one.
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
    slowest: list[float]
    nodes_a_second: list[float | None]
    sprt: SprtSummary | None


@brief
class MatchReport(NamedTuple):
    """A match that was played.

    Attributes
    ----------
    played : tuple of Played
        Its games in order, up to where the sequential test ended.
    tally : Tally
        Their results.
    summary : MatchSummary
        What they say.
    """

    played: tuple[ScoredGame, ...]
    tally: Tally
    summary: MatchSummary


def play_match(
    plan: MatchPlan,
    *,
    threads: int = 1,
    folder: Path | None = None,
    sprt: Sprt | None = None,
    watch: Callable[[ScoredGame], None] | None = None,
    on_interrupt: Callable[[MatchReport], BaseException] | None = None,
) -> MatchReport:
    """Play a match, or the games of it that a folder does not have yet.

    Parameters
    ----------
    plan : MatchPlan
        Who, how often and from where.
    threads : int
        Games at once. Under budgets of nodes the games do not depend on it.
    folder : Path, optional
        Where each game is kept as soon as it has ended, and found again.
    sprt : Sprt, optional
        A test that ends the match early. It looks at pairs in their order, so where it ends
        does not depend on the threads either.
    watch : callable, optional
        Told of each game.
    on_interrupt : callable, optional
        Makes of the games so far what is raised instead of `KeyboardInterrupt`.

    Returns
    -------
    MatchReport
        The games and what they say.

    Raises
    ------
    InputError
        If a kept game does not hold, or no such player exists.
    OutputError
        If a game cannot be kept.

    Examples
    --------
    >>> from tablut.play.arena import MatchPlan, contestant
    >>> from tablut.play.search.limits import SearchLimits
    >>> from tablut.variants import load_variant
    >>> one = contestant("random", SearchLimits(nodes=1))
    >>> summary = play_match(MatchPlan(load_variant("brandubh-5-4v0"), one, one, games=10)).summary
    >>> summary.games, summary.a_wins + summary.b_wins + summary.draws
    (10, 10)
    """
    if plan.games < 1:
        raise InputError(f"games {plan.games}: expected at least 1")
    played: dict[int, ScoredGame] = {}
    scheduler = LocalScheduler(threads)

    def _so_far() -> MatchReport:
        return _report(plan, played, sprt)

    with ExitStack() as stack:
        if folder is not None:
            refuse_foreign(folder, _KIND)
        idle = stack.enter_context(IdlePrograms())
        _warm_up(plan, idle)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock_folder(folder, "match"))
            remove_temporaries(folder)

        def play(number: int) -> dict[str, Any]:
            return {"played": _one_game(plan, number, folder, idle)}

        def done(answer: dict[str, Any]) -> None:
            one: ScoredGame = answer["played"]
            played[one.number] = one
            if watch is not None:
                watch(one)

        pairs = [range(first, min(first + 2, plan.games)) for first in range(0, plan.games, 2)]
        # A test is looked at between rounds; without one there is a single round.
        step = len(pairs) if sprt is None else max(1, threads)
        try:
            for first in range(0, len(pairs), step):
                numbers = [number for pair in pairs[first : first + step] for number in pair]
                scheduler.run(play, numbers, done)
                if sprt is not None and _end_of_test(played, sprt) is not None:
                    break
        except KeyboardInterrupt:
            if on_interrupt is None or not played:
                raise
            raise on_interrupt(_so_far()) from None
    return _so_far()


def _warm_up(plan: MatchPlan, idle: IdlePrograms) -> None:
    """Let each player choose once, unless no clock runs: what it compiles or loads at first must not cost it a game."""
    board = Board(plan.variant, plan.start)
    if board.outcome() is not None:
        raise InputError(f"position '{board.position}': the game is over; there is nothing to play")
    for one, seed in zip((plan.first, plan.second), plan.pairing(0).seeds, strict=True):
        if one.limits.movetime is not None:
            with suppress(Exception), ExitStack() as stack:
                # What a player does wrong here, it does wrong in its games, which say so.
                player = one.make(plan.variant, seed, idle)
                stack.callback(close_player, player)
                player.choose(board.copy(), one.limits)


def _one_game(plan: MatchPlan, number: int, folder: Path | None, idle: IdlePrograms) -> ScoredGame:
    """Return a game of a match, from the folder or played and kept."""
    pairing = plan.pairing(number)
    opening = plan.openings.of_pair(plan.variant, pairing.pair, plan.start)
    path = None if folder is None else child(folder, f"game-{number:06d}.txt", "match")
    game = None if path is None else read_game(path, plan, number, opening)
    if game is None:
        with ExitStack() as stack:
            seats = []
            for one, seed in zip((plan.first, plan.second), pairing.seeds, strict=True):
                seats.append(Seat(one, one.make(plan.variant, seed, idle)))
                stack.callback(close_player, seats[-1].player)
            white, black = seats if pairing.first_is_white else seats[::-1]
            game = play_game(
                plan.variant, white, black, opening, start=plan.start, most_plies=plan.most_plies, grace=plan.grace
            )
            for seat in seats:
                # A program may want to know.
                if (over := getattr(seat.player, "over", None)) is not None:
                    over(game.winner)
        if path is not None:
            write_text(path, record_text(plan, number, game))
    return ScoredGame(number, pairing.first_is_white, game)


def _complete_pairs(played: dict[int, ScoredGame]) -> list[tuple[float, float]]:
    """Return the points of the complete pairs from the first on, up to the first that is not."""
    pairs, number = [], 0
    while number in played and number + 1 in played:
        pairs.append((played[number].points, played[number + 1].points))
        number += 2
    return pairs


def _end_of_test(played: dict[int, ScoredGame], sprt: Sprt) -> int | None:
    """Return after how many pairs, in their order, a test has ended; None while it runs."""
    pairs = _complete_pairs(played)
    for count in range(1, len(pairs) + 1):
        if sprt.state(Tally.of([], pairs[:count]).pairs) != "running":
            return count
    return None


def _report(plan: MatchPlan, played: dict[int, ScoredGame], sprt: Sprt | None) -> MatchReport:
    ended = None if sprt is None else _end_of_test(played, sprt)
    counted = sorted(played) if ended is None else list(range(2 * ended))
    games = tuple(played[number] for number in counted)
    partners = [
        (played[number].points, played[number + 1].points)
        for number in counted
        if number % 2 == 0 and number + 1 in played
    ]
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
    # By the points that the first player made: it lost these games, or its opponent did.
    faulty = Counter(one.points for one in games if one.game.termination in FAULTS)
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
        slowest=[round(max(one.game.longest[_colour(one, place)] for one in games), 3) for place in (0, 1)],
        nodes_a_second=[_speed(games, place) for place in (0, 1)],
        sprt=None if sprt is None else _sprt_summary(sprt, tally),
    )


def _colour(one: ScoredGame, place: int) -> int:
    """Return which of the two of a game, white and black, a player was: the first for place 0."""
    return place if one.first_is_white else 1 - place


def _speed(games: Sequence[ScoredGame], place: int) -> float | None:
    seconds = sum(one.game.seconds[_colour(one, place)] for one in games)
    nodes = sum(one.game.nodes[_colour(one, place)] for one in games)
    return round(nodes / seconds) if nodes and seconds else None


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


# -- games of a match as records on a disk: written when a game has ended, checked when they are read ---


# A record is an ordinary game record that any reader of `tablut.formats` accepts. Its tags say which game of which
# match it is, and hold the digest of all that it says. What is read must be, letter for letter, what this match writes
# of such a game, and every claim must hold by the rules: a record of another match, or an edited one, is not counted.


_KIND: Final = Kind("match", "game-*.txt")
_BYTES: Final = 1 << 20
"""Most bytes of a record of one game."""


def record_text(plan: MatchPlan, number: int, game: EndedGame) -> str:
    """Return the record of a game."""
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
    if game.fault is not None:
        tags["Fault"] = game.fault
    tags["Digest"] = digest_of([tags, [str(move) for move in game.moves], game.winner])
    moves = tuple(MoveText(move, None) for move in game.moves)
    return write_record(GameRecord(tags, plan.variant, plan.start, moves, game.winner))


def read_game(path: Path, plan: MatchPlan, number: int, opening: Sequence[Move]) -> EndedGame | None:
    """Return a game that was played already, or None if it was not."""
    if not path.exists():
        return None
    try:
        return _held_to_plan(read_text(path, "game record", _BYTES), plan, number, opening)
    except InputError as error:
        raise InputError(f"game record '{path}': {error}; remove the file and the game is played again") from error


def _held_to_plan(text: str, plan: MatchPlan, number: int, opening: Sequence[Move]) -> EndedGame:
    record = read_record(text, plan.variant)
    tags = record.tags
    if tags.get("Match") != plan.digest:
        raise InputError("is of another match")
    if tags.get("Game") != str(number):
        raise InputError(f"says that it is game {tags.get('Game')}")
    try:
        seconds, longest = (_pair(tags[name], float) for name in ("Seconds", "Slowest"))
        nodes, moves = _pair(tags["Nodes"], int), tuple(said.move for said in record.moves)
        end, fault = tags["Termination"], tags.get("Fault")
        game = EndedGame(moves, record.result or "draw", end, fault, seconds, nodes, longest)
        whole = record_text(plan, number, game) == text
    except (KeyError, ValueError):
        whole = False
    if not whole:
        raise InputError("was changed after it was written")
    replayed = replay(record)
    if replayed.problems:
        raise InputError(replayed.problems[0])
    if moves[: len(opening)] != tuple(opening):
        raise InputError("does not begin with the opening of its pair")
    outcome = replayed.board.outcome()
    if end not in (ENDS if outcome is None else (outcome.termination,)):
        raise InputError(f"says that it ended by {excerpt(end)}, and it did not")
    return game


def _pair(text: str, read: Callable[[str], Number]) -> tuple[Number, Number]:
    first, second = text.split()
    return read(first), read(second)


# -- one game between two players: its moves, its end, and who is to blame for it --------


FAULTS: Final = ("crash", "illegal", "time")
"""Terminations by a fault of the loser."""
ENDS: Final = (*FAULTS, "ply_cap")
"""Terminations that are not by the rules."""

Winner = Literal["white", "black", "draw"]


class Seat(NamedTuple):
    """A player at the board."""

    contestant: Contestant
    player: Player


@brief
class EndedGame(NamedTuple):
    """A game that came to an end."""

    moves: tuple[Move, ...]
    winner: Winner
    termination: str
    fault: str | None
    seconds: tuple[float, float]
    nodes: tuple[int, int]
    longest: tuple[float, float]


_FAULTS: Final = ((TimeoutError, "time"), (UnreadableMoveError, "illegal"))
"""What a player that raises is blamed for; for all else, a crash."""


def play_game(
    variant: Variant,
    white: Seat,
    black: Seat,
    opening: Sequence[Move] = (),
    *,
    start: Position | None = None,
    most_plies: int | None = None,
    grace: float = 0.1,
) -> EndedGame:
    """Play a game."""
    board = Board(variant, start)
    for move in opening:
        board.push(move)
    seats = {"white": white, "black": black}
    seconds, nodes, longest = {"white": 0.0, "black": 0.0}, {"white": 0, "black": 0}, {"white": 0.0, "black": 0.0}
    winner: Winner
    termination, fault, blamed = "", None, ""
    while True:
        outcome = board.outcome()
        if outcome is not None:
            winner, termination = outcome.winner or "draw", outcome.termination
            break
        if most_plies is not None and board.ply >= most_plies:
            winner, termination = "draw", "ply_cap"
            break
        side = board.turn
        seat = seats[side]
        began = time.perf_counter()
        try:
            choice = seat.player.choose(board.copy(), seat.contestant.limits)
        except Exception as error:
            # Whatever a player does wrong ends its game, not the match.
            choice, fault = None, f"{seat.contestant.text}: {type(error).__name__}: {error}"
            blamed = next((name for kind, name in _FAULTS if isinstance(error, kind)), "crash")
        taken = round(time.perf_counter() - began, 6)
        seconds[side] += taken
        longest[side] = max(longest[side], taken)
        lost_to: Winner = "black" if side == "white" else "white"
        if choice is None:
            winner, termination = lost_to, blamed
            break
        nodes[side] += choice.nodes
        movetime = seat.contestant.limits.movetime
        if movetime is not None and taken > movetime + grace:
            fault = f"{seat.contestant.text}: {taken:.3f} s for a move of {movetime:g} s"
            winner, termination = lost_to, "time"
            break
        try:
            board.push(choice.move)
        except InputError as error:
            fault = f"{seat.contestant.text}: {error}"
            winner, termination = lost_to, "illegal"
            break
    return EndedGame(
        tuple(board.move_stack),
        winner,
        termination,
        None if fault is None else " ".join(fault.split()),
        (round(seconds["white"], 6), round(seconds["black"], 6)),
        (nodes["white"], nodes["black"]),
        (longest["white"], longest["black"]),
    )
