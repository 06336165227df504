"""The command ``tablut referee``, which runs a server for the competition's protocol."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal

from tablut.board import Board
from tablut.cli.command import command
from tablut.cli.options import variant_field, warn
from tablut.cli.people import Live, PeopleConsole
from tablut.cli.requests import Option
from tablut.cli.runtime import Interrupted, Reply
from tablut.errors import InputError, TablutError
from tablut.formats.bologna import PORTS
from tablut.play.bridges.factory import name_of, player_for
from tablut.play.competition.client import ClientSettings, Thinker, play_on_server, try_script
from tablut.play.competition.referee import NoPlayersError, Referee, RefereedGame, RefereeSettings
from tablut.play.player_requests import ControlRequest, complete_player, hash_field, nodes_field, settings_field
from tablut.play.players import Player, PlayerOptions, parse_settings
from tablut.play.search.limits import SearchLimits
from tablut.results import Result
from tablut.variants import Variant, load_variant
from tablut.work.files import FileKind, beginning, check_output, write_text
from tablut.work.progress import plural

_LOG_SIZES = (7, 9)
_PATIENCE = 2.0
"""Time in seconds allowed for the players of this command to receive the last game's result."""


class _RefereedGame(Result):
    white: str
    black: str
    result: str | None
    termination: str
    position: str
    moves: list[str]
    notes: list[str]
    log: str | None


class _Refereed(Result):
    """Result of the command: the last game's result, and a list of all games."""

    variant: str
    result: str | None
    termination: str | None
    moves: list[str]
    games: list[_RefereedGame]


def _own_player(side: str) -> Any:
    what = f"Built-in player for {side}, program:COMMAND for an external program, or MODULE:CLASS for a Python class."
    return Option(None, what, metavar="NAME", complete=complete_player)


class RefereeRequest(ControlRequest):
    """The request of ``tablut referee``."""

    variant: str = variant_field("bologna")
    games: int = Option(1, "Number of games to play, one after the other.", least=1)
    timeout: float = Option(60.0, "Time limit for a move, unless --tc is given.", "--timeout", "-t", metavar="SECONDS")
    repeats: int = Option(0, "Number of extra repetitions of a position allowed before a draw.", least=0)
    errors: int = Option(0, "Number of illegal moves that each player may make in a game.", least=0)
    logs: Path | None = Option(None, "Folder for the logs of the games, which `tablut replay` can read.", metavar="DIR")
    wait: float = Option(300.0, "Time to wait for both players of a game.", metavar="SECONDS")
    host: str = Option(
        "127.0.0.1", "Address to listen on. The default accepts only local connections.", metavar="ADDRESS"
    )
    port_white: int = Option(PORTS["w"], "Port for white; 0 for any free port.")
    port_black: int = Option(PORTS["b"], "Port for black; 0 for any free port.")
    white: str | None = _own_player("white")
    black: str | None = _own_player("black")
    nodes: int | None = nodes_field()
    option: tuple[str, ...] = settings_field()
    hash_mib: int = hash_field()
    seed: int = Option(0, "Random seed of the built-in players.")


@command()
def referee_command(request: RefereeRequest) -> Reply:
    """Run a server that referees games, using the Bologna competition's protocol.

    It is meant for tests, local tournaments and third-party clients. White connects to one port
    and black to the other. Both always receive the result of the game, even after a timeout.
    Invalid input from a client can end its game, but it never stops the server.
    """
    rules, games, seed, nodes = load_variant(request.variant), request.games, request.seed, request.nodes
    white, black = request.white, request.black
    if request.logs is not None and rules.size not in _LOG_SIZES:
        raise InputError(f"needs a board of side 7 or 9, but {rules.name} has side {rules.size}", subject="--logs")
    settings = RefereeSettings(**request.among(RefereeSettings._fields)).checked()
    if request.option and white is None and black is None:
        raise InputError("needs --white or --black", subject="--option")
    live = Live()
    options = PlayerOptions(seed=seed, hash_mib=request.hash_mib, settings=parse_settings(request.option))
    limits = SearchLimits(nodes=nodes) if nodes is None else SearchLimits(nodes=nodes).checked()
    ours: dict[Literal["w", "b"], tuple[str, Player]] = {}
    played: list[RefereedGame] = []
    with ExitStack() as held, Referee(rules, settings, lambda line: live.print(line, soft_wrap=True)) as referee:
        # Load, compile and start everything before a clock starts.
        if white is not None:
            ours["w"] = (white, held.enter_context(player_for(white, rules, options, ready=True)))
        if black is not None:
            other = options._replace(seed=seed + 1)
            ours["b"] = (black, held.enter_context(player_for(black, rules, other, ready=True)))
        Board(rules).outcome()
        _say_where(live, referee, settings, rules)
        seated = []
        for side, (name, player) in ours.items():
            there = referee.address(side)
            # A command may be longer than the maximum length of a name. If the server refused the name, the other side
            # would wait in vain.
            called = name_of(player, name)[:100]
            client = ClientSettings(
                there[0], side, settings.timeout, there[1], called, limits=limits, control=settings.control
            ).checked()
            seated.append(threading.Thread(target=_sit_down, args=(player, rules, client, games, live), daemon=True))
            seated[-1].start()
        try:
            # Finished games count, even if a later game is interrupted or fails.
            played.extend(referee.play(last=number == games - 1) for number in range(games))
        except KeyboardInterrupt as stop:
            if referee.match is not None and len(played) < games:
                played.append(referee.game())
            raise Interrupted(_reply(rules, played, seed)) from stop
        except (NoPlayersError, OSError) as error:
            if not played or not isinstance(error, TablutError):
                raise
            raise Interrupted(_reply(rules, played, seed), cause=error) from error
        for thread in seated:
            thread.join(_PATIENCE)
    return _reply(rules, played, seed)


def _sit_down(player: Player, rules: Variant, settings: ClientSettings, games: int, live: Live) -> None:
    """Play one side in all games, as an ordinary client of the server."""

    def complain(line: str) -> None:
        live.print(f"{settings.name}: {line}", soft_wrap=True)

    thinker = Thinker(player)
    try:
        for _ in range(games):
            play_on_server(thinker, rules, settings, complain=complain)
    except TablutError as error:
        complain(str(error))


def _say_where(live: Live, referee: Referee, settings: RefereeSettings, rules: Variant) -> None:
    for side, name in (("w", "white"), ("b", "black")):
        host, port = referee.address("w" if side == "w" else "b")
        live.print(f"{name}: {host} port {port}")
    times = f"{settings.timeout:g} s a move" if settings.control is None else f"clocks of {settings.control}"
    live.print(f"{rules.name}, {times}; waiting for the players", style="dim")
    host, _ = referee.address("w")
    if not ip_address(host).is_loopback:
        warn(f"--host {settings.host}: any machine that can reach this one can join without authentication")


def _reply(rules: Variant, played: list[RefereedGame], seed: int) -> Reply:
    games = [
        _RefereedGame(
            white=game.white,
            black=game.black,
            result=None if game.verdict is None else game.verdict.result,
            termination="interrupted" if game.verdict is None else game.verdict.termination,
            position=str(game.position),
            moves=[str(move) for move in game.moves],
            notes=list(game.notes),
            log=None if game.log is None else str(game.log),
        )
        for game in played
    ]
    last = games[-1] if games else None
    result = _Refereed(
        variant=rules.name,
        result=None if last is None else last.result,
        termination=None if last is None else last.termination,
        moves=[] if last is None else last.moves,
        games=games,
    )
    return Reply(result, lambda console: _show(console, result), seed=seed)


def _show(console: PeopleConsole, result: _Refereed) -> None:
    for number, game in enumerate(result.games, 1):
        how = f"{game.result or 'no result'} ({game.termination.replace('_', ' ')})"
        console.print(f"game {number}  {game.white} - {game.black}  {how}, {plural(len(game.moves), 'ply')}")
        if game.log is not None:
            console.print(f"log     {game.log}", soft_wrap=True)
    console.print(f"rules   {result.variant}", style="dim")


# ------------------------------------------------------------------------------------------
# ``runmyplayer.sh``: the script that the competition runs to start a player, adapted to this installation


SCRIPT_NAME: Final = "runmyplayer.sh"
SCRIPT: Final = FileKind("a script that tablut wrote", beginning(rb"#!/bin/sh\n.*Tablut competition"))
_TEMPLATE: Final = Path(__file__).with_name(SCRIPT_NAME)


def write_player_script(folder: Path, arguments: tuple[str, ...] = (), trial: Variant | None = None) -> Path:
    """Write the script that the competition runs to start a player.

    Wherever the script is started, relative paths and commands have the same meaning as in the current process.

    Parameters
    ----------
    folder : Path
        Folder for the script. It is created if necessary.
    arguments : tuple of str
        Further arguments for ``tablut play``, such as the player.
    trial : Variant, optional
        Rule set for a trial of the script, which has to make a move on a server. Without it, there is no trial.

    Returns
    -------
    Path
        Path of the executable script.

    Raises
    ------
    InputError
        If the script fails in the trial. It is not written then.
    OutputError
        If the script cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = write_player_script(Path(folder), ("--player", "random"))
    ...     script.name, script.read_text().splitlines()[-1].endswith('--wait 60 --player random "$@"')
    ('runmyplayer.sh', True)
    """
    text = _TEMPLATE.read_text(encoding="utf-8")
    values = {"PATH": os.defpath, "PYTHONPATH": "", **os.environ, "PYTHON": sys.executable, "FOLDER": str(Path.cwd())}
    more = shlex.join(arguments)
    text = re.sub("@([A-Z]+)@", lambda found: more if found[1] == "MORE" else shlex.quote(values[found[1]]), text)
    target = folder.absolute() / SCRIPT_NAME
    check_output(target, SCRIPT)
    if trial is not None:
        try_script(text, trial)
    write_text(target, text, kind=SCRIPT)
    target.chmod(0o755)
    return target
