"""The commands ``tablut bestmove``, ``play`` and ``engine``.

The first chooses a single move, the second plays a game, and the third runs the engine with a line protocol.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from tablut.board import Board
from tablut.cli.command import command
from tablut.cli.options import BoardRequest, position_field, read_position, save_record, variant_field
from tablut.cli.requests import Option
from tablut.cli.runtime import EXIT_UNKNOWN, Interrupted, Reply, interruptible
from tablut.cli.streams import AS_JSON, complain, read_line, write_output
from tablut.errors import InputError, MachineError
from tablut.play.bridges.factory import front_of, name_of, names_object, player_for, player_from_name
from tablut.play.player_requests import (
    BudgetRequest,
    ControlRequest,
    LinesRequest,
    PlayerRequest,
    PlayerSettingsRequest,
)
from tablut.play.players import Choice, Player, make_player, player_names
from tablut.play.players.registry import BestMoveResult, bestmove_result, check_lines
from tablut.play.search.limits import SearchLimits, format_score, score_in_words
from tablut.prober import find_prober
from tablut.results import Result
from tablut.variants import Variant, load_variant, variant_names
from tablut.work.files import check_output
from tablut.work.progress import plural

# The modules for the protocol, the server, the terminal and its screen are imported only where they are used, because
# choosing a single move does not need them.
if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole
    from tablut.play.bridges.uci import Front
    from tablut.play.competition import ClientSettings
    from tablut.play.protocol import EngineSession


class BestMoveRequest(BoardRequest, PlayerRequest, BudgetRequest, LinesRequest, PlayerSettingsRequest):
    """The request of ``tablut bestmove``."""

    moves: tuple[str, ...] = Option(
        (), "Move to play first; can be given several times.", "--move", "-m", metavar="MOVE"
    )
    verbose: bool = Option(False, "Print the score in centi-logits, too.")


@command()
def bestmove_command(request: BestMoveRequest) -> Reply:
    """Choose one move, and show its score and the expected line of play.

    The score is the share of the points that the side to move would get if the engine played both
    sides from here, with as many nodes a move as in this search. A proven win or loss is shown as a
    number of plies instead. --verbose adds the score in centi-logits.
    """
    options, board, player, lines = request.player_options(), request.board, request.player, request.lines
    for text in request.moves:
        board.push_text(text)
    limits = request.limits()
    check_lines(player, lines)
    with player_for(player, board.variant, options) as chooser:
        choose: Callable[..., Choice] = chooser.choose
        choice = interruptible(lambda: choose(board, limits, **({"lines": lines} if lines > 1 else {})))
    result = bestmove_result(board, player, choice)
    for note in choice.notes:
        complain(note)
    show = partial(_show_choice, board=board, result=result, verbose=request.verbose)
    return Reply(result, show, seed=request.seed)


def _show_choice(console: PeopleConsole, *, board: Board, result: BestMoveResult, verbose: bool) -> None:
    from tablut.cli.people import Table, label, number, prose

    console.board(board.variant, board.position.rows())
    console.print(f"{board.turn} to move, {result.variant}, {result.player}", style="dim")
    console.print(f"move   {result.move}", style="bold")
    if result.source == "book":
        console.print("source  opening book")
    if score := score_in_words(result.score, result.mate, result.points, board.turn):
        console.print(f"score  {score}")
    if verbose and result.score is not None:
        console.print(f"       {result.score:+d} centi-logits for {board.turn}")
    if result.depth:
        hits = f", {result.tbhits:,} in a tablebase" if result.tbhits else ""
        played = f", {plural(result.playouts, 'playout')}" if result.playouts else ""
        console.print(f"depth  {result.depth}, {plural(result.nodes, 'node')}{hits}{played}")
    if len(result.lines) > 1:
        table = Table(number("rank"), number("depth"), label("score"), prose("line"))
        for rank, line in enumerate(result.lines, 1):
            table.add(str(rank), str(line.depth), format_score(line.score, line.mate, line.points), " ".join(line.pv))
        console.print(table)
    elif len(result.pv) > 1:
        console.print(f"line   {' '.join(result.pv)}")


# -- ``tablut play``: a game in the terminal or on a competition server ------------------


_ROLES: Final[dict[str, Literal["w", "b"]]] = {"white": "w", "black": "b"}


PlayedSide = Literal["white", "black", "both", "none"]
"""Side or sides played by the user."""


class _PlayedGame(Result):
    variant: str
    position: str
    player: str
    side: str
    result: str | None
    termination: str | None
    moves: list[str]


def _played(board: Board, player: str, side: str, result: str | None, termination: str | None) -> _PlayedGame:
    return _PlayedGame(
        variant=board.variant.name,
        position=str(board.position),
        player=player,
        side=side,
        result=result,
        termination=termination,
        moves=[str(move) for move in board.move_stack],
    )


class PlayRequest(PlayerRequest, BudgetRequest, PlayerSettingsRequest, ControlRequest):
    """The request of ``tablut play``."""

    variant: str | None = variant_field(
        help="Built-in rule set, or a TOML file. [default: ashton; bologna on a server]"
    )
    position: str | None = position_field()
    side: PlayedSide = Option("white", "Side that you play. With none, the player plays itself.")
    save: Path | None = Option(None, "File for the record of the game. It is written when you leave.")
    server: str | None = Option(None, "Host of a competition server to play on.", metavar="HOST")
    role: str | None = Option(None, "The player's side on a server.", metavar="white|black")
    timeout: float | None = Option(
        None, "Time limit for a move, which the server enforces strictly.", metavar="SECONDS"
    )
    port: int | None = Option(None, "Port of the server. [default: 5800 white, 5801 black]")
    name: str = Option("tablut", "Player's name on the server, whose logs shorten it to ten letters.", metavar="TEXT")
    wait: float = Option(5.0, "Time limit for connecting.", metavar="SECONDS")
    write_script: Path | None = Option(
        None, "Write the competition's runmyplayer.sh to this folder and exit.", metavar="DIR"
    )

    def client_settings(self) -> ClientSettings:
        """Check the options for a game on a server, and return them as client settings."""
        from tablut.play.competition import ClientSettings

        if self.role is None or self.role.lower() not in _ROLES:
            problem = "expected white or black, the side to play on the server"
            raise InputError(problem, subject=f"--role {self.role or '(none)'}")
        timeout = self.timeout if self.control is None else self.control.base
        if timeout is None:
            remedy = "give the server's time limit in seconds, such as --timeout 60, or its time control with --tc"
            raise InputError("is required with --server", subject="--timeout", remedy=remedy)
        side, host = _ROLES[self.role.lower()], self.server or ""
        limits = self.given or SearchLimits()
        return ClientSettings(host, side, timeout, self.port, self.name, self.wait, limits, self.control).checked()


@command()
def play_command(request: PlayRequest) -> Reply:
    """Play a game in the terminal, or let a player play on a competition server.

    In the terminal, enter a move (e4-f4) or a command on each line; `help` lists the commands.
    Piped input is read in the same way. On a server, the exit code is 3 if the game ends without
    a result.
    """
    from tablut.records import record_file

    on_server = request.server is not None or request.write_script is not None
    rules = load_variant(request.variant or ("bologna" if on_server else "ashton"))
    check_output(request.save, record_file(request.save, rules))
    if not on_server:
        for name, given in request.among(["role", "timeout", "port", "control"]).items():
            if given is not None:
                raise InputError(
                    "applies only to a game on a server",
                    subject=f"--{name.replace('control', 'tc')}",
                    remedy="add --server HOST, or leave it out",
                )
        return _in_terminal(rules, request)
    if request.server is not None and request.write_script is not None:
        raise InputError(
            "only writes the script",
            subject="--write-script",
            remedy="leave out --server; give the server to the script",
        )
    if request.position is not None:
        raise InputError("is not possible, because the server sets it", subject="--position", remedy="leave it out")
    if request.write_script is not None:
        return _script(rules, request, request.write_script)
    return _on_server(rules, request)


# -- in the terminal ----------------------------------------------------------------------------


def _in_terminal(rules: Variant, request: PlayRequest) -> Reply:
    from tablut.cli.people import Live
    from tablut.play.terminal import LineReader, TerminalGame, TerminalSettings

    player, options, side, save = request.player, request.player_options(), request.side, request.save
    if request.position == "-" and side != "none":
        raise InputError(
            "standard input is already used for the moves",
            subject="--position -",
            remedy="give a file or the text itself",
        )
    board = Board(rules, read_position(request.position, rules))
    board.outcome()  # rejects invalid positions
    limits = request.limits()
    live = Live()
    with ExitStack() as seats:
        players: dict[Literal["white", "black"], Player | None] = {"white": None, "black": None}
        for number, colour in enumerate(players):
            if side not in (colour, "both"):
                own = options._replace(seed=options.seed + number)
                players[colour] = seats.enter_context(player_for(player, rules, own, ready=True))
        settings = TerminalSettings(
            players=players,
            name=next((name_of(one, player) for one in players.values() if one is not None), player),
            limits=limits,
            advice=request.model_copy(update={"playouts": None}).limits(),
            adviser=lambda: make_player("alphabeta", rules, options._replace(settings=(), threads=1)),
            prober=lambda: find_prober(rules, options.tablebase),
        )
        game = TerminalGame(board, settings, live, LineReader(live).ask)

        def reply() -> Reply:
            if save is not None:
                game.save(save)
            ending = game.ending
            result = _played(board, player, side, ending.result, ending.termination)
            return Reply(result, lambda console: _show_left(console, result, save), seed=options.seed)

        try:
            game.run()
        except KeyboardInterrupt as stop:
            on = ["tablut", "play", "-v", request.variant or rules.name, "--side", side, "-p", str(board.position)]
            raise Interrupted(reply(), "" if game.ending.result else shlex.join(on)) from stop
        return reply()


def _show_left(console: PeopleConsole, result: _PlayedGame, save: Path | None) -> None:
    if result.result is None:
        console.print(f"\n{result.variant} after {plural(len(result.moves), 'ply')}: {result.position}", soft_wrap=True)
    if save is not None:
        console.print(f"record  {save}")


# -- on a server --------------------------------------------------------------------------------


def _on_server(rules: Variant, request: PlayRequest) -> Reply:
    from tablut.cli.people import Live
    from tablut.play.competition import play_on_server

    settings = request.client_settings()
    live, player, options, save = Live(), request.player, request.player_options(), request.save
    with player_for(player, rules, options, ready=True) as chooser:
        game = play_on_server(chooser, rules, settings, live.print)
    own, other = ("White", "Black") if settings.role == "w" else ("Black", "White")
    if save is not None:
        record = game.board.record({own: settings.name, other: "the opponent"}, game.result)
        save_record(record, save)
    outcome = None
    with suppress(InputError):  # the captured king may be missing from the server's last state
        outcome = game.board.outcome()
    ended = None if outcome is None or game.result is None else outcome.termination
    result = _played(game.board, player, own.lower(), game.result, ended)
    reply = Reply(
        result,
        lambda console: _show_served(console, result, save),
        0 if game.result is not None else EXIT_UNKNOWN,
        seed=options.seed,
    )
    if game.interrupted:
        raise Interrupted(reply)
    if game.problem is not None:
        raise Interrupted(reply, cause=MachineError(game.problem))
    return reply


def _show_served(console: PeopleConsole, result: _PlayedGame, save: Path | None) -> None:
    console.print(f"result  {result.result or 'unknown, because the connection ended first'}", style="bold")
    console.print(f"played  {result.side}, {result.player}, {result.variant}, {plural(len(result.moves), 'ply')}")
    if save is not None:
        console.print(f"record  {save}")


class _Script(Result):
    variant: str
    player: str
    script: str


def _script(rules: Variant, request: PlayRequest, folder: Path) -> Reply:
    from tablut.play.competition.cli import SCRIPT, SCRIPT_NAME, write_player_script

    player, options = request.player, request.player_options()
    named = rules.name if rules.name in variant_names() else str(Path(request.variant or "").resolve())
    check_output(folder / SCRIPT_NAME, SCRIPT)
    board = Board(rules)
    with player_for(player, rules, options, ready=True) as chooser:
        # Report a wrong name or option, or a player that does not move, now and not on the day of the competition.
        bestmove_result(board, player, chooser.choose(board, SearchLimits(movetime=2.0)))
    more = ["--player", player, "--variant", named, "--name", request.name, "--hash", str(options.hash_mib)]
    more += ["--seed", str(options.seed), "--table-memory", str(options.table_mib)]
    if options.threads != 1:
        more += ["--threads", str(options.threads)]
    for setting, value in options.settings:
        more += ["--option", f"{setting}={value}"]
    if options.tablebase is not None:
        more += ["--tablebase", str(Path(options.tablebase).resolve())]
    script = write_player_script(folder, tuple(more), rules if Path("/bin/sh").exists() else None)
    result = _Script(variant=rules.name, player=player, script=str(script))
    return Reply(
        result, lambda console: console.print(f"{script}  ({result.player}, {result.variant})", soft_wrap=True)
    )


# -- ``tablut engine``: a line protocol on standard input and output ---------------------------


class _Option(Result):
    name: str
    default: str | int | bool


class _Engine(Result):
    variant: str
    commands: list[str]
    options: list[_Option]
    players: list[str]


class EngineRequest(PlayerRequest, BudgetRequest, PlayerSettingsRequest):
    """The request of ``tablut engine``."""

    variant: str = variant_field("ashton")
    protocol: Literal["uci", "otep", "taflzero", "htp"] = Option(
        "uci", "Protocol: one similar to UCI, or the one used by OpenTafl, TaflZero or hnefatafl.org."
    )
    line: tuple[str, ...] = Option(
        (),
        "Line to execute instead of standard input; can be given several times.",
        "--line",
        "-l",
        metavar="TEXT",
    )


@command()
def engine_command(request: EngineRequest) -> Reply:
    """Run the engine with a line protocol until the client sends `quit` or the input ends.

    The engine keeps running between moves, so rules and tables are loaded only once. With
    --json, it lists its commands, options and players, and reads no input. Limits such as
    --movetime apply only to otep and htp, where they replace the protocol's clocks.
    """
    from tablut.play.protocol import COMMANDS, OPTIONS, EngineOptions, EngineSession

    options = EngineOptions(
        request.variant,
        request.player,
        request.hash_mib,
        request.tablebase or "",
        request.table_mib,
        request.threads,
        request.seed,
        shlex.join(request.all_settings),
    )
    limits, protocol = request.given, request.protocol
    if limits is not None and protocol not in ("otep", "htp"):
        raise InputError(
            "sets the limits of each move itself", subject=f"--protocol {protocol}", remedy="leave the limits out"
        )
    own = None
    if names_object(request.player):
        from tablut.play.bridges.objects import chooser_of, named_object

        chooser_of(named_object(request.player))  # reports a wrong class now
        own = partial(player_from_name, request.player)
    engine = EngineSession(_print, options, own)
    result = _Engine(
        variant=engine.variant,
        commands=list(COMMANDS),
        options=[_Option(name=name, default=getattr(options, name)) for name in OPTIONS],
        players=list(player_names()),
    )
    reply = Reply(result, lambda _: None, seed=request.seed)
    if not AS_JSON.get():
        front = None if protocol == "uci" else front_of(protocol)(_print, options, limits, own)
        _obey(front or engine, request.line or _lines())
    return reply


def _print(line: str) -> None:
    write_output(line + "\n")


def _obey(engine: EngineSession | Front, lines: Iterable[str]) -> None:
    for line in lines:
        if not engine.handle(line):
            engine.leave()
            return
    engine.finish()


def _lines() -> Iterator[str]:
    """Yield the lines of standard input.

    If a line is longer than allowed, yield only a part of it that is long enough for the engine to refuse it.
    """
    from tablut.play.protocol import LONGEST_LINE

    while True:
        line = read_line(LONGEST_LINE + 1)
        if not line:
            return
        yield line.rstrip("\r\n")
        while len(line) == LONGEST_LINE + 2 and not line.endswith("\n"):
            line = read_line(LONGEST_LINE + 1)
