"""The commands ``convert`` and ``replay``: convert positions and moves, and check records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from rich.text import Text

from tablut.board import Board
from tablut.cli.command import command
from tablut.cli.options import (
    AnimatedRequest,
    PictureFoldersRequest,
    RulesRequest,
    position_field,
    read_bytes,
    read_game_record,
    read_position,
    save_record,
    suggesting_rules,
    variant_field,
    warn,
    warn_if_impossible,
)
from tablut.cli.people import PeopleConsole
from tablut.cli.requests import Argument, Option
from tablut.cli.runtime import EXIT_NO, Reply, typed
from tablut.errors import InputError
from tablut.formats import bologna, opentafl
from tablut.formats.game_text import RECORD_BYTES
from tablut.formats.native import write_pgn
from tablut.formats.opentafl import write_game, write_rules
from tablut.formats.reading import write_berkeley, write_fen, write_mcgill
from tablut.position import MoveText, Side
from tablut.records import (
    ARCHIVE,
    NATIVE,
    GameRecord,
    decoded,
    kind_of,
    record_file,
    write_line,
)
from tablut.replay import (
    ReplayedRecord,
    ReplayResult,
    read_games,
    replay,
    replay_result,
)
from tablut.results import MoveResult, Result, ending
from tablut.variants import load_variant
from tablut.work.files import check_output, excerpt
from tablut.work.progress import plural

Format = Literal["tablut", "grid", "opentafl", "bologna", "berkeley", "mcgill", "fen", "otg", "pgn", "rules", "archive"]
_WRITERS: Final[dict[str, Callable[[Board], str]]] = {
    "tablut": lambda board: str(board.position),
    "grid": lambda board: board.position.grid(),
    "opentafl": lambda board: opentafl.write_position(board.position),
    "bologna": lambda board: bologna.write_state(board.position),
    "fen": lambda board: write_fen(board.position),
    "otg": lambda board: write_game(board.record()).rstrip(),
    "pgn": lambda board: write_pgn(board.record()).rstrip(),
    "rules": lambda board: write_rules(board.variant),
    "archive": lambda board: write_line(board.record(), board.variant),
}
"""Functions that `convert` uses to write a board. Berkeley and McGill have a notation only for moves."""


class _Converted(Result):
    variant: str
    position: str
    format: str
    text: str
    moves: list[str]


class ConvertRequest(RulesRequest):
    """The request of ``tablut convert``."""

    to: Format = Option(
        ...,
        "Target format. tablut and grid are the toolkit's own; berkeley and mcgill are notations of moves; "
        "otg is OpenTafl's game record, rules its rules string; pgn is a PGN record; archive is a line of an archive.",
    )
    moves: tuple[str, ...] = Argument("[MOVES]...", "Legal moves from the position, in any notation.", ())
    position: str | None = position_field()
    side: Side | None = Option(None, "Side to move, if the input does not specify it.")


@command()
def convert_command(request: ConvertRequest) -> Reply:
    """Convert a position, or moves made from it, to the format of another program.

    The position may be given in any of the formats. If MOVES are given, a format for moves writes
    one move on each line, and a format for positions writes the position after the moves.
    """
    rules, moves, to = request.rules, request.moves, request.to
    for file in (text for text in moves if "." in text and Path(text).is_file()):
        raise InputError(
            "is a file, not a move",
            subject=excerpt(file),
            remedy=f"convert a game with `tablut replay {excerpt(file)} --save FILE`",
        )
    # A position without a king can be converted, but no move can be made in it.
    board = Board(rules, read_position(request.position, rules, side=request.side, judged=bool(moves)))
    if not moves:
        warn_if_impossible(rules, board.position)
    made = []
    for text in moves:
        mover = board.position.side
        move = board.push_text(text)
        made.append((MoveText(move, frozenset(board.captured()) or None), mover))
    if to == "berkeley":
        lines = [write_berkeley(said.move) for said, _ in made]
    elif to == "mcgill":
        lines = [write_mcgill(said.move, mover) for said, mover in made]
    else:
        lines = [_WRITERS[to](board)]
    if not lines:
        raise InputError(
            "writes moves, but none are given",
            subject=f"--to {to}",
            remedy=f"add the moves: `{typed()} MOVE`",
        )
    result = _Converted(
        variant=rules.name,
        position=str(board.position),
        format=to,
        text="\n".join(lines),
        moves=[str(said) for said, _ in made],
    )
    return Reply(result, lambda console: console.out(result.text, highlight=False))


class ReplayRequest(PictureFoldersRequest, AnimatedRequest):
    """The request of ``tablut replay``."""

    file: str = Argument("FILE", "Game record, or - for standard input; an archive with --game.")
    variant: str | None = variant_field(help="Rules to use instead of the record's own.")
    ply: int | None = Option(None, "Ply after which to draw the position. [default: the last]", least=0)
    every: bool = Option(False, "Draw the position after every ply.", "--all")
    svg: Path | None = Option(None, "Folder for SVG drawings of all positions.", metavar="DIR")
    gif: Path | None = Option(None, "File for an animated picture of the game.")
    save: Path | None = Option(
        None,
        "File to save the record to: FILE.otg in OpenTafl's format, FILE.pgn as PGN, FILE.csv as a line of an "
        "archive, any other in the toolkit's own format.",
    )
    game: int | None = Option(
        None, "Number of the game to replay. In an archive, its line number. [default: the first]", least=1
    )


@command(table=True)
def replay_command(request: ReplayRequest) -> Reply:
    """Check a game record against the rules, move by move.

    The file may be a record in the toolkit's own format, a PGN file, an OpenTafl record, a log from the
    Bologna server, JSON from a web site, a trial of Ludii, or an archive with --game. Exit code 1: the
    record is wrong, because a move is illegal, or a capture, a position or the result contradicts the
    rules.
    """
    file, variant, ply, save = request.file, request.variant, request.ply, request.save
    check_output(save, record_file(save, variant))
    text = decoded(read_bytes(file, "record", RECORD_BYTES), file)
    kind = kind_of(text) or NATIVE
    if request.game is not None:
        record = _game_of(text, file, variant, request.game)
    elif kind is ARCHIVE:
        remedy = f"check all games with `tablut games {excerpt(file)} -v RULES`, or choose one with --game N"
        raise InputError("is an archive", subject=excerpt(file), remedy=remedy)
    else:
        record = read_game_record(text, variant, file)
    for warning in record.warnings:
        warn(warning)
    # An OpenTafl record may consist only of a puzzle's rules and position.
    others = [note for note in record.notes if note.startswith("the file contains")]
    if not record.moves and record.result is None and record.notes == (*others,) and "Rules" not in record.tags:
        problem = "has no moves and no result, so there is nothing to check"
        remedy = "choose another game of the file with --game N" if others else ""
        raise InputError(problem, subject=f"{kind.name} {excerpt(file)}", remedy=remedy)
    replayed = replay(record)
    if ply is not None and ply > len(replayed.plies):
        raise InputError(f"the record has only {plural(len(replayed.plies), 'legal ply')}", subject=f"--ply {ply}")
    if save is not None:
        save_record(record, save, file)
    if request.draws:
        _draw_all(replayed, request)
    result = replay_result(record, replayed)
    drawn = range(len(replayed.plies) + 1) if request.every else [len(replayed.plies) if ply is None else ply]
    return Reply(
        result,
        lambda console: _show(console, replayed, result, list(drawn)),
        EXIT_NO if replayed.problems else 0,
        table=(MoveResult, result.moves),
    )


def _game_of(text: str, file: str, variant: str | None, number: int) -> GameRecord:
    """Return the record of one game in a file. In an archive, a game's number is its line number."""
    rules = None if variant is None else load_variant(variant)
    with suggesting_rules(file):
        games = list(read_games(text, rules))
    record = dict(games).get(number, InputError("the file has no game with this number"))
    if isinstance(record, InputError):
        raise InputError(f"--game {number}: {record}", subject=f"{(kind_of(text) or NATIVE).name} {excerpt(file)}")
    others = f"the file contains {plural(len(games) - 1, 'other game')}"
    return replace(record, notes=(*record.notes, others)) if len(games) > 1 else record


def _draw_all(game: ReplayedRecord, request: ReplayRequest) -> None:
    from tablut.pictures import check_frames

    width = len(str(len(game.plies) + 1))
    if request.gif is not None:
        check_frames(len(game.plies) + 1)
        request.animate([_drawing(game, number) for number in range(len(game.plies) + 1)])
    for number in range(len(game.plies) + 1) if request.svg or request.png else ():
        request.write_drawing(_drawing(game, number), f"ply-{number:0{width}}")


def _drawing(game: ReplayedRecord, number: int) -> str:
    """Return a drawing of the position after a ply. The cells of the pieces captured by the ply are marked."""
    from tablut import svg

    variant = game.board.variant
    if not number:
        return svg.board(variant, game.start, caption="start")
    ply = game.plies[number - 1]
    caption = f"{number}. {ply.move}" + (f": {ply.outcome.how}" if ply.outcome else "")
    taken = ply.move.captures or ()
    return svg.board(variant, ply.position, last_move=ply.move.move, highlights=taken, caption=caption)


def _show(console: PeopleConsole, game: ReplayedRecord, result: ReplayResult, drawn: list[int]) -> None:
    players = " against ".join(result.tags[name] for name in ("White", "Black") if name in result.tags)
    console.print(Text.assemble((result.variant, "bold"), "  ", players))
    for number in drawn:
        position = game.plies[number - 1].position if number else game.start
        console.print(f"\n{number}. {game.plies[number - 1].move}" if number else "\nstart")
        console.board(game.board.variant, position.rows())
    console.print()
    for first in range(0, len(game.plies), 2):
        pair = "  ".join(str(step.move) for step in game.plies[first : first + 2])
        console.print(f"{first // 2 + 1:>3}. {pair}")
    console.print(ending(result.outcome) or f"{game.board.turn} to move")
    for ply in sorted({*result.comments, *result.marks}):
        said = " ".join(filter(None, [result.marks.get(ply), result.comments.get(ply)]))
        console.print(f"ply {ply}: {said}", style="dim", soft_wrap=True)
    for note in result.notes:
        console.print(note, style="dim", soft_wrap=True)
    for problem in result.problems:
        console.print(problem, style="bold red", soft_wrap=True)
    if not result.problems:
        console.print(f"{plural(len(result.moves), 'move')}; no errors found in the record")
