"""The commands ``games`` and ``book``: check game archives, collect games, and show the moves played in a position."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource
from rich.text import Text

from tablut.board import Board
from tablut.cli.command import Group, command
from tablut.cli.options import position_field, read_bytes, read_position, suggesting_rules, variant_field
from tablut.cli.people import PeopleConsole, Table, label, number
from tablut.cli.requests import Argument, Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, progress
from tablut.errors import InputError
from tablut.play.collection import (
    FILE_BYTES,
    PlayedMove,
    PositionGames,
    UnreadGame,
    open_collection,
    write_collection,
)
from tablut.play.collection_file import SHIPPED, is_sqlite
from tablut.records import ARCHIVE, decoded, kind_of, read_archive
from tablut.replay import ArchivedGameResult, ArchiveResult, archive_result, fitting_rules, replay_archive
from tablut.results import Result
from tablut.variants import Variant, load_variant
from tablut.work.files import excerpt
from tablut.work.progress import plural


class CollectedGames(Result):
    """A collection that was written: the number of games under each rule set, and the games that were not read."""

    collection: str
    bytes: int
    games: dict[str, int]
    unread: list[UnreadGame]


class AnsweredGames(PositionGames):
    """The moves played in a position, and the games in the given files that were not read."""

    unread: list[UnreadGame]


_RULES = "Rules to use instead of those that the games name. [default: their own, or those that fit them]"


class GamesRequest(Request):
    """The request of ``tablut games``."""

    sources: tuple[str, ...] = Argument(
        "[FILE]...",
        "Archives, records, collections and folders of these, or - for an archive on standard input. [default: the "
        "built-in collection, which is also named shipped]",
        (),
    )
    variant: str | None = variant_field(help=_RULES)
    repetition: Literal["judge", "ignore"] = Option("judge", "Apply the repetition rule, or ignore it.")
    into: Path | None = Option(
        None, "Collection to write: a single file with all games, which can be searched by position."
    )
    position: str | None = position_field()
    player: str | None = Option(None, "Count only this player's games.", metavar="NAME")
    most: int = Option(10, "Maximum number of games listed.", least=0, most=10_000)


@command(table=True)
def games_command(request: GamesRequest) -> Reply:
    """Check an archive of games against the rules, or show what was played in a position.

    A single CSV archive is checked. Each of its lines contains one game: its moves, the number of
    captures by each side, and the result. `tablut replay --game N` steps through one of the games.
    Exit code 1: a game could not be read, contains an illegal move, or has captures or a result that
    contradict the rules.

    For other files, and with --position or --player, the command shows which moves were played in a
    position, their results, and the games. Positions that differ only by a symmetry of the rules
    count as one. With --into, it writes all games to a collection, which makes such queries fast.
    Without a file, it shows games that the engine has played against itself.
    """
    sources, into, position, player = request.sources, request.into, request.position, request.player
    variant = request.variant if sources else request.variant or "ashton"
    sources = sources or (str(SHIPPED),)
    rules = None if variant is None else load_variant(variant)
    if into is not None:
        _refuse_given(("position", "player", "most", "repetition"), "has no effect on a collection that is written")
        return _collected(into, sources, rules, None)
    first, alone = Path(sources[0]), len(sources) == 1
    stored = alone and sources[0] != "-" and is_sqlite(first)
    if alone and position is player is None and not (stored or first.is_dir()):
        text = decoded(read_bytes(sources[0], "record", FILE_BYTES), sources[0])
        if kind_of(text) is ARCHIVE:
            return _checked(text, sources[0], rules, request.repetition)
    if "-" in sources:
        raise InputError(
            "can only be checked, and only if it is an archive", subject="file '-'", remedy="save it first"
        )
    _refuse_given(("repetition",), "applies only when an archive is checked")
    with tempfile.TemporaryDirectory() as folder:
        unread: list[UnreadGame] = []
        if not stored:
            first = Path(folder, "games")
            unread = _written(first, sources, rules, None)
        with open_collection(first, "" if stored else "the collection of the given files") as collection:
            if not stored and not collection.has():
                for game in unread:
                    raise InputError(game.why.removeprefix("record: "), subject=f"record {excerpt(game.file)}")
                raise InputError("contains no games", subject=f"folder {excerpt(sources[0])}")
            chosen = collection.rules(rules)
            board = Board(chosen, read_position(position, chosen))
            found = collection.answer(board, player=player, most=request.most)
    result = AnsweredGames(**found.model_dump(), unread=unread)
    code = _exit_code(unread)
    return Reply(result, lambda console: _show_played(console, board, result), code, table=(PlayedMove, result.moves))


def _refuse_given(names: tuple[str, ...], problem: str) -> None:
    """Refuse options that the user has given, but that would have no effect."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(problem, subject=f"--{name}", remedy="leave it out")


def _written(target: Path, sources: tuple[str, ...], rules: Variant | None, plies: int | None) -> list[UnreadGame]:
    with progress("games") as observer, suggesting_rules():
        return write_collection(target, list(map(Path, sources)), rules, observer, plies=plies)


def _exit_code(unread: list[UnreadGame]) -> int:
    """Return the exit code. Files in a folder that contain no game do not count."""
    return EXIT_NO if any(game.number for game in unread) else 0


book_app = Group(help="Make an opening book from games.")


class MakeBookRequest(Request):
    """The request of ``tablut book make``."""

    book: str = Argument("BOOK", "File to write.")
    sources: tuple[str, ...] = Argument("FILE...", "Records, archives, collections and folders.")
    variant: str | None = variant_field(help=_RULES)
    plies: int = Option(40, "Number of plies of each game to index.", least=1, most=1000)


@book_app.command()
def make(request: MakeBookRequest) -> Reply:
    """Make an opening book from game records, archives, collections and match folders.

    A book is a collection of games in which only the first plies are indexed. `bestmove`, `play`
    and `match` can play from it, and `games` shows what it contains.
    """
    rules = None if request.variant is None else load_variant(request.variant)
    return _collected(Path(request.book), request.sources, rules, request.plies)


def _collected(target: Path, sources: tuple[str, ...], rules: Variant | None, plies: int | None) -> Reply:
    """Write a collection of all games."""
    unread = _written(target, sources, rules, plies)
    with open_collection(target) as collection:
        games = collection.counts()
    result = CollectedGames(collection=str(target), bytes=target.stat().st_size, games=games, unread=unread)
    code = _exit_code(unread)
    return Reply(result, lambda console: _show_collected(console, result), code, table=(UnreadGame, unread))


def _checked(text: str, file: str, rules: Variant | None, repetition: str) -> Reply:
    """Check all games of an archive."""
    games, unread = read_archive(text)
    for line, why in unread.items() if not games else ():
        raise InputError(f"line {line}: {why}", subject=f"archive {excerpt(file)}")
    with suggesting_rules(file):
        rules = rules or fitting_rules(text)
    with progress("games") as observer:
        replayed, ranks = replay_archive(rules, games, observer, ignore_repetition=repetition == "ignore")
    result = archive_result(rules, ranks, replayed, unread)
    return Reply(
        result,
        lambda console: _show_archive(console, result),
        0 if result.holds else EXIT_NO,
        table=(ArchivedGameResult, result.games),
    )


def _show_archive(console: PeopleConsole, result: ArchiveResult) -> None:
    counted = {
        "bottom": "from the bottom",
        "top": "from the top",
        "either": "from the bottom or from the top, which fit equally well",
    }
    found = result.summary
    size = f"  {plural(found.games, 'game')}, {plural(found.plies, 'ply')}"
    console.print(Text.assemble((result.variant, "bold"), size))
    console.print(f"ranks are counted {counted[result.ranks]}", soft_wrap=True)
    console.print(f"completely legal: {plural(found.legal, 'game')}; captures agree in {found.captures_agree:,}")
    if found.ended:
        wrong = f"; in {found.contradicted:,} of these, the record has another result" * bool(found.contradicted)
        console.print(f"ended on the board: {plural(found.ended, 'game')}{wrong}")
    if found.repeated:
        console.print(f"a position was repeated in {plural(found.repeated, 'game')}")
    for line in result.unread:
        console.print(Text.assemble((f"line {line.line}  ", "bold red"), f"not read: {line.why}"), soft_wrap=True)
    for row in result.games:
        if row.illegal is not None:
            why = row.illegal.why.removeprefix(f"move {row.illegal.move!r}: ")
            told = f"ply {row.illegal.ply}, {row.illegal.move}: {why}"
        elif row.contradicted:
            told = f"{(row.termination or '').replace('_', ' ')}, {row.winner or 'draw'}; the record has {row.recorded}"
        elif not row.captures_agree:
            plies = ", ".join(map(str, row.captures_differ[:8])) + " ..." * (len(row.captures_differ) > 8)
            told = f"captures differ: plies {plies}" if plies else "the numbers of captures differ"
        else:
            continue
        console.print(Text.assemble((f"line {row.number}  ", "bold red"), told), soft_wrap=True)


def _show_collected(console: PeopleConsole, result: CollectedGames) -> None:
    console.print(f"{result.collection}: {plural(sum(result.games.values()), 'game')}, {result.bytes:,} bytes")
    for name, games in result.games.items():
        console.print(f"  {name}  {plural(games, 'game')}")
    _show_unread(console, result.unread)


def _show_unread(console: PeopleConsole, unread: list[UnreadGame]) -> None:
    for game in unread[:20]:
        place = f"{game.file}, game {game.number}  " if game.number else f"{game.file}  "
        console.print(Text.assemble((place, "bold red"), game.why), soft_wrap=True)
    if len(unread) > 20:
        console.print(f"{len(unread) - 20:,} more games were not read completely; --json lists them all")


def _show_played(console: PeopleConsole, board: Board, result: AnsweredGames) -> None:
    console.board(board.variant, board.position.rows())
    ended = f"; {result.ended:,} ended here" if result.ended else ""
    console.print(f"{result.variant}, {board.turn} to move: {plural(result.total, 'game')}{ended}", style="bold")
    if result.opening is not None:
        console.print(Text(f"{result.opening.name} ({result.opening.source})"), soft_wrap=True)
    table = Table(label("move"), *map(number, ("games", "white", "draw", "black", "score")), label("95 % interval"))
    for move in result.moves:
        counts = [f"{count:,}" for count in (move.games, move.white, move.draw, move.black)]
        score = "" if move.score is None else f"{100 * move.score:.1f} %"
        table.add(move.move, *counts, score, f"{100 * move.low:.1f} to {100 * move.high:.1f} %" if score else "")
    console.print(table)
    for game in result.games:
        players = " against ".join(filter(None, (game.white, game.black)))
        words = [f"{game.file}, game {game.number}", players, game.date, game.result or "", f"ply {game.ply}"]
        console.print("  ".join(filter(None, words)), style="dim", soft_wrap=True)
    _show_unread(console, result.unread)
