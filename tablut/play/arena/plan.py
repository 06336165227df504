"""Who plays in a match: a player with a budget and options, said in one word.

``alphabeta@nodes=5000`` is a player of `tablut.play.players` with a budget of its own;
what is not said is the match's.
"""

from __future__ import annotations

import hashlib
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.bridges import close_player, make_any, program_of
from tablut.play.players import Player, PlayerOptions
from tablut.play.players.registry import check_limits, number, once
from tablut.play.search.limits import SearchLimits
from tablut.store.files import brief, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tablut.play.bridges.programs import IdlePrograms
    from tablut.play.search.searcher import Searcher
    from tablut.position import Move, Position
    from tablut.variants import Variant

_LIMITS = {"movetime": float, "nodes": int, "depth": int, "playouts": int}
_OPTIONS = {"hash": "hash_mib", "table-memory": "table_mib", "tablebase": "tablebase", "threads": "threads"}
_SETTING = "option."
"""Before the name of a setting that only the player knows: ``mcts@playouts=1000,option.depth=12``."""


class Contestant(NamedTuple):
    """A player and what it plays with.

    Attributes
    ----------
    text : str
        As it was said; what results call it.
    player : str
        A name of the registry.
    limits : SearchLimits
        For each move.
    options : PlayerOptions
        All but the seed.
    """

    text: str
    player: str
    limits: SearchLimits
    options: PlayerOptions

    def make(self, variant: Variant, seed: int, idle: IdlePrograms | None = None) -> Player:
        """Return a new player, to be closed by `close_player`.

        Parameters
        ----------
        variant : Variant
            The rule set.
        seed : int
            Of everything random in it.
        idle : IdlePrograms, optional
            Where a program comes from; by default it is started for this player alone.

        Returns
        -------
        Player
            Which knows nothing of earlier games.
        """
        return make_any(self.player, variant, self.options._replace(seed=seed), idle)


def check_contestants(contestants: Iterable[Contestant], variant: Variant, start: Position | None = None) -> list[str]:
    """Refuse players that do not exist, do not play these rules, or would never end a move, before any game.

    What a program is not told of the rules is returned, a line each.
    """
    unsaid = []
    for one in contestants:
        try:
            check_limits(one.player, one.limits)
            one.options.checked()
            if (found := program_of(one.player)) is not None:
                found[0].check(one.limits, elsewhere=start is not None and str(start) != variant.start_position)
        except InputError as error:
            raise InputError(f"player {excerpt(one.text)}: {error}") from error
        close_player(player := one.make(variant, 1))
        if rules := getattr(player, "unsaid", ()):
            unsaid.append(f"player {excerpt(one.text)}: is not told {', '.join(rules)}; the match judges it")
    return unsaid


def contestant(text: str, limits: SearchLimits, options: PlayerOptions | None = None) -> Contestant:
    """Return the contestant that a text names.

    Parameters
    ----------
    text : str
        ``NAME`` or ``program:COMMAND`` (or another of `PROTOCOLS`), each also with settings,
        ``NAME@key=value,key=value…``: movetime, nodes, depth, playouts, hash, table-memory, tablebase, threads,
        and ``option.NAME`` for a setting of the player's own. Settings follow the last ``@``, so a command
        that contains one ends with another.
    limits : SearchLimits
        The match's, for a text that names none of its own.
    options : PlayerOptions, optional
        Likewise.

    Returns
    -------
    Contestant
        With limits that have been checked.

    Raises
    ------
    InputError
        If a key is unknown or given twice, or its value is no number.

    Examples
    --------
    >>> fast = contestant("alphabeta@nodes=500,hash=2", SearchLimits(movetime=1.0))
    >>> fast.player, fast.limits.nodes, fast.limits.movetime, fast.options.hash_mib
    ('alphabeta', 500, None, 2)
    """
    program = program_of(text) is not None
    name, at, settings = text.rpartition("@") if program else text.partition("@")
    if not at and program:
        name, settings = text, ""
    own: dict[str, Any] = {}
    other: dict[str, Any] = {}
    own_settings: list[tuple[str, str]] = []
    texts = list(filter(None, settings.split(",")))
    once(f"player {excerpt(text)}: setting", (setting.partition("=")[0] for setting in texts))
    for setting in texts:
        key, equals, value = setting.partition("=")
        if equals and key.startswith(_SETTING):
            own_settings.append((key.removeprefix(_SETTING), value))
            continue
        if not equals or key not in {*_LIMITS, *_OPTIONS}:
            raise InputError(
                f"player {excerpt(text)}: {excerpt(setting)}: expected key=value with one of "
                f"{', '.join([*_LIMITS, *_OPTIONS, _SETTING + 'NAME'])}"
            )
        try:
            if key in _LIMITS:
                own[key] = number(_LIMITS[key], value)
            else:
                other[_OPTIONS[key]] = value if key == "tablebase" else number(int, value)
        except ValueError as error:
            raise InputError(f"player {excerpt(text)}: {key}={excerpt(value)}: expected a number") from error
    chosen = SearchLimits(**own) if own else limits
    settled = (options or PlayerOptions())._replace(**other)
    # The player's own settings replace those of the match.
    settled = settled._replace(settings=tuple((dict(settled.settings) | dict(own_settings)).items()))
    return Contestant(text, name, chosen.checked(), settled)


def same_names(contestants: list[Contestant]) -> list[str]:
    """Return names that tell contestants apart, also where two are said alike."""
    seen: dict[str, int] = {}
    names = []
    for one in contestants:
        seen[one.text] = seen.get(one.text, 0) + 1
        names.append(one.text if seen[one.text] == 1 else f"{one.text} ({seen[one.text]})")
    return names


# -- openings of paired games: random moves from the start, the most balanced of a few -----


# Both games of a pair begin with the same moves, so what an opening is worth falls on both
# players. Openings that are decided already tell nothing, so of several drawn ones the one
# is taken that a short search calls closest to even.


_NODES: Final = 2000
"""Of the search that weighs an opening; repeatable."""
_ATTEMPTS: Final = 1000
"""Draws of an undecided opening before the wish is refused."""


class Openings(NamedTuple):
    """How the openings of a match are drawn.

    Attributes
    ----------
    plies : int
        Random moves at the start; 0 to begin every game at the start.
    candidates : int
        Openings that are drawn for each pair; the most balanced is played. One is not weighed.
    seed : int
        Of the draws; each pair has its own stream.
    """

    plies: int = 4
    candidates: int = 4
    seed: int = 1

    def of_pair(self, variant: Variant, number: int, start: Position | None = None) -> tuple[Move, ...]:
        """Return the opening of a pair.

        Parameters
        ----------
        variant : Variant
            The rule set.
        number : int
            Of the pair, from 0.
        start : Position, optional
            Where games begin; by default at the start of the variant.

        Returns
        -------
        tuple of Move
            Legal from there, the game not over after them; the same for the same seed and number.

        Raises
        ------
        InputError
            If every line of so many plies ends the game.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> [str(move) for move in Openings(plies=2, candidates=1, seed=7).of_pair(load_variant("brandubh"), 0)]
        ['d6-c6', 'c4-c5']
        """
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
        why = "every line of this many plies that was tried ends the game"
        raise InputError(why, parameter="opening", value=self.plies)


def _weight(variant: Variant, line: tuple[Move, ...], start: Position | None) -> int:
    """Return the score of the position after an opening, for the side to move."""
    board = Board(variant, start)
    for move in line:
        board.push(move)
    searcher = _searcher(variant)
    searcher.forget()
    return searcher.search(board, SearchLimits(nodes=_NODES)).score or 0


@cache
def _searcher(variant: Variant) -> Searcher:
    from tablut.play.search.searcher import Searcher

    return Searcher(variant, hash_mib=1)


# -- what a match is: who plays whom, how often, from which openings, by which rules -------


# A plan says everything that its games depend on, so that under budgets of nodes a match is
# the same whenever and however it is played; its digest names it in every record.


class Pairing(NamedTuple):
    """One game of a match."""

    number: int
    pair: int
    first_is_white: bool
    seeds: tuple[int, int]


@brief
class MatchPlan(NamedTuple):
    """A match before it is played.

    Attributes
    ----------
    variant : Variant
        The rule set.
    first, second : Contestant
        Who play.
    games : int
        How many; the last of an odd number has no partner.
    seed : int
        Of openings and players.
    openings : Openings
        How openings are drawn.
    start : Position or None
        Where games begin; None for the start of the variant.
    most_plies : int or None
        See `tablut.play.arena.match.play_game`.
    grace : float
        Likewise, in seconds.
    paired : bool
        Whether two games share an opening, which is fairest between two players. Without it
        all games are independent, as measures of the game itself want them.
    """

    variant: Variant
    first: Contestant
    second: Contestant
    games: int
    seed: int = 1
    openings: Openings = Openings()
    start: Position | None = None
    most_plies: int | None = None
    grace: float = 0.1
    paired: bool = True

    def pairing(self, number: int) -> Pairing:
        """Return who has which colour and which seeds in a game.

        Parameters
        ----------
        number : int
            Of the game, from 0.

        Returns
        -------
        Pairing
            The same for the same plan, whatever was played before.
        """
        random = Random(f"game {self.seed} {number}")
        return Pairing(
            number,
            number // 2 if self.paired else number,
            number % 2 == 0,
            (random.getrandbits(32), random.getrandbits(32)),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of all that its games depend on but their number, so that a match may be made longer."""
        parts = [
            self.variant.digest,
            *(f"{one.player} {one.limits} {one.options}" for one in (self.first, self.second)),
            str(self.seed),
            str(self.openings),
            str(self.start),
            str(self.most_plies),
            str(self.grace),
            str(self.paired),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
