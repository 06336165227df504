"""Plan of a match: the contestants, the openings, and the pairing of games.

A contestant is a player with limits and options, such as ``alphabeta@nodes=5000``. Settings that are omitted are
inherited from the match.
"""

from __future__ import annotations

import hashlib
from functools import cache, partial
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tablut.board import Board
from tablut.errors import SIGNED, SOME, InputError, numbers, numbers_of, real_number, shown_value, whole_number
from tablut.play.book import BookOpenings
from tablut.play.bridges.factory import close_player, player_from_name, program_of
from tablut.play.players import Player, PlayerOptions
from tablut.play.players.registry import check_limits, number, once
from tablut.play.search.limits import RunningClock, SearchLimits, TimeControl, read_time_control
from tablut.variants import as_variant
from tablut.work.files import brief, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tablut.play.bridges.objects import PlayerLike
    from tablut.play.bridges.programs import IdlePrograms, Words
    from tablut.play.search.searcher import Searcher
    from tablut.position import Move, Position
    from tablut.variants import Variant, VariantLike

_LIMITS = {"movetime": float, "nodes": int, "depth": int, "playouts": int}
_OPTIONS = {"hash": "hash_mib", "table-memory": "table_mib", "tablebase": "tablebase", "threads": "threads"}
_CONTROL = "tc"
_SETTING = "option."
"""Prefix of a setting that is specific to the player, as in ``mcts@playouts=1000,option.depth=12``."""


class Contestant(NamedTuple):
    """Player in a match, together with its limits and options.

    - ``text``: Text that the contestant was parsed from. Results use it as the contestant's name.
    - ``player``: Name in the registry of players, or text such as ``program:COMMAND`` or ``MODULE:CLASS``.
    - ``limits``, ``options``: Limits for each move, and options. The seed is replaced in each game.
    - ``control``: Time control, or None if only the limits apply. In a game, the clock replaces ``limits.movetime``.
    - ``given``: Class, object or function that plays, if the contestant was not parsed from a text.
    """

    text: str
    player: str
    limits: SearchLimits
    options: PlayerOptions
    control: TimeControl | None = None
    given: Any = None

    @property
    def program(self) -> tuple[type[Words], str] | None:
        """Protocol and command of an external program, or None for any other player."""
        return None if self.given is not None else program_of(self.player)

    @property
    def grace(self) -> float:
        """Seconds allowed beyond the contestant's time, unless the match sets another value."""
        return 0.1 if self.program is None else 3.0

    def make(self, variant: Variant, seed: int, idle: IdlePrograms | None = None) -> Player:
        """Return a new player for a ``variant``, which the caller has to close with `close_player`.

        ``seed`` is the seed of its random numbers. An external program is taken from the pool ``idle``, or started for
        this player only.
        """
        name = self.player if self.given is None else self.text
        return player_from_name(name, variant, self.options._replace(seed=seed), idle, given=self.given)


def check_contestants(contestants: Iterable[Contestant], variant: Variant, start: Position | None = None) -> list[str]:
    """Check before the first game that all players exist, support the rules, and have a limit on each move.

    Return one line for each program whose protocol cannot express some of the rules, or the program's time control.
    """
    unsupported = []
    for one in contestants:
        try:
            check_limits(one.player, one.limits)
            one.options.checked()
            if (found := one.program) is not None:
                found[0].check(one.limits, elsewhere=start is not None and str(start) != variant.start_position)
        except InputError as error:
            raise InputError(str(error), subject=f"player {excerpt(one.text)}") from error
        close_player(player := one.make(variant, 1))
        if one.control is not None and found is not None and (gap := found[0].clock_gap(one.control)):
            unsupported.append(f"player {excerpt(one.text)}: its protocol does not support {gap}")
        if rules := getattr(player, "unsupported", ()):
            unsupported.append(
                f"player {excerpt(one.text)}: does not support {', '.join(rules)}; only the match enforces them"
            )
    return unsupported


def contestant(
    text: PlayerLike, limits: SearchLimits, options: PlayerOptions | None = None, control: TimeControl | None = None
) -> Contestant:
    """Return a contestant with checked limits, given as a text or as a Python object.

    Parameters
    ----------
    text : str, class, object or function
        A class or an object with a method ``choose(board, limits)``, a function with these parameters, or a text:
        ``NAME``, ``MODULE:CLASS``, or ``program:COMMAND`` with any of the `PROTOCOLS`, optionally followed by settings
        in the form ``@key=value,key=value…``. The keys are movetime, nodes, depth, playouts, tc (a time control), hash,
        table-memory, tablebase, threads, and ``option.NAME`` for a setting specific to the player. The settings of a
        program follow the last ``@``, so a command that contains an ``@`` must end with another ``@``.
    limits : SearchLimits
        Limits of the match. They apply if the text contains no limits.
    options : PlayerOptions, optional
        Options of the match. An option applies unless the text sets it.
    control : TimeControl, optional
        Time control of the match. It applies if the text contains neither limits nor a time control.

    Raises
    ------
    InputError
        If a key is unknown or given twice, a value is not a number, or an object is not a player.

    Examples
    --------
    >>> fast = contestant("alphabeta@nodes=500,hash=2", SearchLimits(movetime=1.0))
    >>> fast.player, fast.limits.nodes, fast.limits.movetime, fast.options.hash_mib
    ('alphabeta', 500, None, 2)
    """
    if not isinstance(text, str):
        from tablut.play.bridges.objects import chooser_of, title_of

        chooser_of(text)
        title, place = title_of(text)
        return contestant("", limits, options, control)._replace(text=title, player=place, given=text)
    program = program_of(text) is not None
    name, at, settings = text.rpartition("@") if program else text.partition("@")
    if not at and program:
        name, settings = text, ""
    own: dict[str, Any] = {}
    other: dict[str, Any] = {}
    own_settings: list[tuple[str, str]] = []
    clocked: TimeControl | None = None
    texts = list(filter(None, settings.split(",")))
    once(f"player {excerpt(text)}: setting", (setting.partition("=")[::2] for setting in texts))
    for setting in texts:
        key, equals, value = setting.partition("=")
        if equals and key.startswith(_SETTING):
            own_settings.append((key.removeprefix(_SETTING), value))
            continue
        if not equals or key not in {*_LIMITS, *_OPTIONS, _CONTROL}:
            raise InputError(
                f"{excerpt(setting)}: expected key=value with one of "
                f"{', '.join([*_LIMITS, _CONTROL, *_OPTIONS, _SETTING + 'NAME'])}",
                subject=f"player {excerpt(text)}",
            )
        if key == _CONTROL:
            clocked = read_time_control(value)
            continue
        try:
            if key in _LIMITS:
                own[key] = number(_LIMITS[key], value)
            else:
                other[_OPTIONS[key]] = value if key == "tablebase" else number(int, value)
        except ValueError as error:
            raise InputError(f"{key}={excerpt(value)}: expected a number", subject=f"player {excerpt(text)}") from error
    chosen = SearchLimits(**own) if own or clocked else limits
    control = clocked if own or clocked else control
    if control is not None:
        if chosen.movetime is not None:
            raise InputError(
                "has a time for a move and a time control", subject=f"player {excerpt(text)}", remedy="leave one out"
            )
        chosen = chosen.on_clock(RunningClock(control).reading())
    settled = (options or PlayerOptions())._replace(**other)
    # The player's own settings replace those of the match.
    settled = settled._replace(settings=tuple((dict(settled.settings) | dict(own_settings)).items()))
    return Contestant(text, name, chosen.checked(), settled, control)


def same_names(contestants: list[Contestant]) -> list[str]:
    """Return a distinct name for each contestant. If a text is repeated, a number is added to it."""
    seen: dict[str, int] = {}
    names = []
    for one in contestants:
        seen[one.text] = seen.get(one.text, 0) + 1
        names.append(one.text if seen[one.text] == 1 else f"{one.text} ({seen[one.text]})")
    return names


# -- openings of paired games --------------------------------------------------------------


# Both games of a pair begin with the same random moves, so that each player plays each side of the opening once. Games
# from a one-sided opening carry little information. Therefore several candidates are generated, and the match uses the
# candidate whose score in a short search is closest to even.


_NODES: Final = 2000
"""Node limit of the search that scores an opening. With a node limit, the score is reproducible."""
_ATTEMPTS: Final = 1000
"""Number of random openings that are tried before an error is raised, if each of them ends the game."""


class Openings(NamedTuple):
    """Random openings of a match.

    - ``plies``: Number of random moves at the start of a game, or 0 for no opening.
    - ``candidates``: Number of openings generated for each pair. The most balanced one is played.
    - ``seed``: Random seed. Each pair uses a separate stream of random numbers.
    """

    plies: int = 4
    candidates: int = 4
    seed: int = 1

    @numbers(number=whole_number)
    def of_pair(self, variant: Variant, number: int, start: Position | None = None) -> tuple[Move, ...]:
        """Return the opening for a pair of games, which consists of legal moves that do not end the game.

        ``number`` is the number of the pair, counted from 0. ``start`` is the first position of each game, by default
        that of the ``variant``.

        Raises
        ------
        InputError
            If every opening of this length that was tried ends the game.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> [str(move) for move in Openings(plies=2, candidates=1, seed=7).of_pair(load_variant("brandubh"), 0)]
        ['d6-c6', 'c4-c5']
        """
        self = numbers_of(self, plies=whole_number, candidates=SOME, seed=SIGNED)
        if self.plies == 0:
            return ()
        random = Random(f"opening {self.seed} {number}")
        drawn = [self._drawn(variant, random, start) for _ in range(self.candidates)]
        if len(drawn) == 1:
            return drawn[0]
        return min(drawn, key=lambda line: abs(_weight(variant, line, start)))

    def _drawn(self, variant: Variant, random: Random, start: Position | None) -> tuple[Move, ...]:
        for _ in range(_ATTEMPTS):
            board = Board(variant, start)
            while board.ply < self.plies and board.outcome() is None:
                board.push(random.choice(list(board.legal_moves)))
            if board.ply == self.plies and board.outcome() is None:
                return tuple(board.move_stack)
        why = "every random opening of this length ended the game"
        raise InputError(why, parameter="opening", value=self.plies)


def _weight(variant: Variant, line: tuple[Move, ...], start: Position | None) -> int:
    """Return the score of the position after an opening, for the side to move."""
    board = Board(variant, start)
    for move in line:
        board.push(move)
    with _SCORING:
        searcher = _searcher(variant)
        searcher.forget()
        return searcher.search(board, SearchLimits(nodes=_NODES)).score or 0


_SCORING: Final = Lock()
"""Held while an opening is scored, because games in all threads share one searcher for each rule set."""


@cache
def _searcher(variant: Variant) -> Searcher:
    from tablut.play.search.searcher import Searcher

    return Searcher(variant, hash_mib=1)


# -- the plan of a match -------------------------------------------------------------------


# A plan contains everything that the games depend on. With node limits, a match can therefore be reproduced at any time
# and with any number of threads. Every record contains the plan's digest.


class Adjudication(NamedTuple):
    """Rules for deciding the games of a match before their end.

    - ``tables``: Tablebase store whose values decide games, an empty string for the built-in tables, or None.
    - ``plies``: Number of consecutive plies for which both players' scores must show the same winner, or 0.
    - ``points``: Least expected points, from 0.5 to 1, that count as a win. Scores without a measured scale are
      converted by `tablut.play.search.limits.nominal_points`.
    """

    tables: str | None = None
    plies: int = 0
    points: float = 0


class Pairing(NamedTuple):
    """Conditions of a game: its number, its pair, the first player's colour, and the seeds of both players."""

    number: int
    pair: int
    first_is_white: bool
    seeds: tuple[int, int]


@brief
class MatchPlan(NamedTuple):
    """Plan of a match.

    - ``variant``, ``first``, ``second``: Rule set, and the two players.
    - ``games``, ``seed``: Number of games, and random seed of the players.
    - ``openings``: Source of the openings: random moves, or a book.
    - ``start``: First position of each game, or None for the variant's start position.
    - ``most_plies``: Number of plies after which a game is drawn, or None for no limit.
    - ``grace``: Seconds that a player may use beyond its limit without losing the game, by default `Contestant.grace`.
    - ``paired``: Whether two games share an opening, which is the fairest way to compare two players. To measure the
      game itself, all games have to be independent.
    - ``adjudication``: Rules for deciding games before their end. By default, every game is played to its end.
    """

    variant: Variant
    first: Contestant
    second: Contestant
    games: int
    seed: int = 1
    openings: Openings | BookOpenings = Openings()
    start: Position | None = None
    most_plies: int | None = None
    grace: float | None = None
    paired: bool = True
    adjudication: Adjudication = Adjudication()

    @numbers(number=whole_number)
    def pairing(self, number: int) -> Pairing:
        """Return the pair, colours and seeds of the game with the given ``number``, counted from 0."""
        random = Random(f"game {self.seed} {number}")
        seeds = random.getrandbits(32), random.getrandbits(32)
        return Pairing(number, number // 2 if self.paired else number, number % 2 == 0, seeds)

    def checked(self) -> MatchPlan:
        """Check the plan and return it, with plain Python numbers. Raise InputError if a part has the wrong type."""
        for name, one in (("first", self.first), ("second", self.second)):
            if not isinstance(one, Contestant):
                raise InputError("expected a Contestant", parameter=name, value=shown_value(one))
        return numbers_of(self, games=SOME, seed=SIGNED, most_plies=SOME, grace=partial(real_number, most=float("inf")))

    @property
    def digest(self) -> str:
        """SHA-256 digest of everything that the games depend on, except the number of games."""
        parts = [
            self.variant.digest,
            *(f"{one.player} {_limits_text(one)} {one.options}" for one in (self.first, self.second)),
            str(self.seed),
            str(self.openings),
            str(self.start),
            str(self.most_plies),
            str(self.first.grace if self.grace is None else self.grace),
            *([] if self.grace is not None or self.first.grace == self.second.grace else [str(self.second.grace)]),
            str(self.paired),
            *([] if self.adjudication == Adjudication() else [str(self.adjudication)]),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def plan_match(
    variant: VariantLike, first: Any, second: Any, games: int | None, limits: SearchLimits | None, seed: int | None
) -> MatchPlan:
    """Return the plan of a match between two players, with the defaults of `play_match`."""
    from tablut.play.bridges.objects import chooser_of

    for name, one in (("first", first), ("second", second)):
        if not isinstance(one, str):
            chooser_of(one, name)
    limits, seed = limits or SearchLimits(movetime=0.1), 1 if seed is None else seed
    players, games = [contestant(one, limits) for one in (first, second)], 2 if games is None else games
    return MatchPlan(as_variant(variant), players[0], players[1], games, seed, Openings(seed=seed))


def _limits_text(one: Contestant) -> str:
    """Return a contestant's limits and time control as text for a digest.

    Without a time control, the text has an older form, so that the digests of stored matches remain valid.
    """
    if one.control is not None:
        return f"{one.control} {one.limits._replace(movetime=None, clock=None)}"
    return f"SearchLimits({', '.join(f'{name}={getattr(one.limits, name)}' for name in _LIMITS)})"
