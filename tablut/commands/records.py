"""``tablut convert`` and ``replay``: convert positions and moves between formats, and check game records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.text import Text

from tablut.answers import MoveResult, OutcomeResult, ending, outcome_result
from tablut.board import Board
from tablut.cli.options import (
    PositionOption,
    VariantOption,
    check_folder,
    read_bytes,
    read_game_record,
    read_position,
    save_record,
    variant_option,
    warn,
    warn_if_impossible,
)
from tablut.cli.people import PeopleConsole, draw_board
from tablut.cli.runtime import EXIT_NO, Reply, command, progress, tabular
from tablut.errors import InputError
from tablut.formats import berkeley, bologna, fen, mcgill, opentafl
from tablut.notation import square_name
from tablut.position import MoveText
from tablut.records.archive import ArchivedGame, read_archive, record_of, write_line
from tablut.records.game import RECORD_BYTES
from tablut.records.kinds import ARCHIVE, NATIVE, decoded, kind_of
from tablut.records.opentafl import write_game, write_rules
from tablut.replay import Ranks, Replay, replay, replay_archive, same_upside_down
from tablut.results import Result
from tablut.variants import Variant, load_variant
from tablut.work.files import check_output, excerpt, write_text
from tablut.work.progress import plural

Format = Literal["tablut", "grid", "opentafl", "bologna", "berkeley", "mcgill", "fen", "otg", "rules", "archive"]
_WRITERS: Final[dict[str, Callable[[Board], str]]] = {
    "tablut": lambda board: str(board.position),
    "grid": lambda board: board.position.grid(),
    "opentafl": lambda board: opentafl.write_position(board.position),
    "bologna": lambda board: bologna.write_state(board.position),
    "fen": lambda board: fen.write_position(board.position),
    "otg": lambda board: write_game(board.record()).rstrip(),
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


@command
def convert_command(
    to: Annotated[
        Format,
        typer.Option(
            "--to",
            help="Target format. tablut and grid are the toolkit's own; berkeley and mcgill are notations of moves; "
            "otg is OpenTafl's game record, rules its rules string; archive is a line of an archive.",
        ),
    ],
    moves: Annotated[
        list[str] | None,
        typer.Argument(metavar="MOVES", help="Legal moves to make from the position, in any notation."),
    ] = None,
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    side: Annotated[
        str | None, typer.Option(metavar="w|b", help="Side to move, if the input does not specify it.")
    ] = None,
) -> Reply:
    """Convert a position, or moves made from it, to the format of another program.

    The position may be given in any of the formats. With MOVES, a format of moves writes them one
    on each line; a format of positions writes the position after them.
    """
    for file in (text for text in moves or [] if "." in text and Path(text).is_file()):
        raise InputError(
            "is a file, not a move",
            subject=excerpt(file),
            remedy=f"convert a game with `tablut replay {excerpt(file)} --save FILE`",
        )
    rules = load_variant(variant)
    # A position without a king can be converted, but no move can be made in it.
    board = Board(rules, read_position(position, rules, side=side, judged=bool(moves)))
    if not moves:
        warn_if_impossible(rules, board.position)
    made = []
    for text in moves or []:
        mover = board.position.side
        move = board.push_text(text)
        made.append((MoveText(move, frozenset(board.captured()) or None), mover))
    if to == "berkeley":
        lines = [berkeley.write_move(said.move) for said, _ in made]
    elif to == "mcgill":
        lines = [mcgill.write_move(said.move, mover) for said, mover in made]
    else:
        lines = [_WRITERS[to](board)]
    if not lines:
        raise InputError(
            "writes moves, but none are given",
            subject=f"--to {to}",
            remedy=f"add the moves, such as `tablut convert --to {to} e4-e3`",
        )
    result = _Converted(
        variant=rules.name,
        position=str(board.position),
        format=to,
        text="\n".join(lines),
        moves=[str(said) for said, _ in made],
    )
    return Reply(result, lambda console: console.out(result.text, highlight=False))


class _IllegalPly(Result):
    ply: int
    move: str
    why: str


class _ArchivedGame(Result):
    number: int
    plies: int
    illegal: _IllegalPly | None
    captures_agree: bool
    captures_differ: list[int]
    termination: str | None
    winner: str | None
    recorded: str
    contradicted: bool
    repeated: int | None


class _Summary(Result):
    games: int
    plies: int
    legal: int
    captures_agree: int
    ended: int
    contradicted: int
    repeated: int


class _Unread(Result):
    line: int
    why: str


class _Archive(Result):
    variant: str
    ranks: Ranks
    games: list[_ArchivedGame]
    unread: list[_Unread]
    summary: _Summary


class _Replayed(Result):
    variant: str
    tags: dict[str, str]
    start: str
    position: str
    moves: list[MoveResult]
    positions: list[str]
    outcome: OutcomeResult | None
    result: str | None
    notes: list[str]
    comments: dict[int, str]
    marks: dict[int, str]
    problems: list[str]


@tabular
def replay_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Game record or archive of games, or - for standard input.")
    ],
    variant: Annotated[
        str | None,
        variant_option("Rules to use instead of the record's own."),
    ] = None,
    ply: Annotated[
        int | None, typer.Option(min=0, help="Ply after which to draw the position. [default: the last]")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Draw the position after every ply.")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for SVG drawings of all positions.")] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="File to save the record to: FILE.otg in OpenTafl's format, FILE.csv as a line of an archive, any "
            "other in the toolkit's own format."
        ),
    ] = None,
    game: Annotated[int | None, typer.Option(min=1, help="Line of an archive whose game is replayed.")] = None,
    repetition: Annotated[
        Literal["judge", "ignore"],
        typer.Option(help="Treatment of repetitions in an archive: apply the repetition rule, or ignore it."),
    ] = "judge",
) -> Reply:
    """Check a game record, or an archive of games, against the rules, move by move.

    Supported are the toolkit's own records, PGN, OpenTafl's records, the logs of the Bologna
    server, and archives with one game on each line: its moves, the captures by attackers and by
    defenders, the result. Exit code 1: a record is wrong, because a move is illegal, or a capture,
    a position or the result contradicts the rules.
    """
    if svg is not None:
        check_folder(svg, "--svg")
    if save is not None:
        check_output(save)
    text = decoded(read_bytes(file, "record", RECORD_BYTES), file)
    kind = kind_of(text) or NATIVE
    if kind is ARCHIVE:
        if variant is None:
            raise InputError("does not name a rule set", subject=f"archive {excerpt(file)}", remedy="add --variant")
        (games, unread), rules = read_archive(text), load_variant(variant)
        for line, why in unread.items() if not games else ():
            raise InputError(f"line {line}: {why}", subject=f"archive {excerpt(file)}")
        stepping = {"--ply": ply is not None, "--all": every, "--svg": svg is not None, "--save": save is not None}
        if game is None:
            for option in (name for name, given in stepping.items() if given):
                raise InputError("applies to one game of an archive", subject=option, remedy="choose it with --game N")
            return _replay_archive(rules, games, unread, ignore_repetition=repetition == "ignore")
        if repetition != "judge":
            raise InputError(
                "applies to all games of an archive", subject="--repetition", remedy="leave it out with --game N"
            )
        if not same_upside_down(rules):
            with progress("replay") as observer:
                games = [one.game for one in replay_archive(rules, games, observer)[0]]
        if not (found := [one for one in games if one.number == game]):
            why = unread.get(game, "the archive has no game on this line")
            raise InputError(f"--game {game}: {why}", subject=f"archive {excerpt(file)}")
        record = record_of(found[0], rules, len(games) + len(unread) - 1)
    elif game is not None or repetition != "judge":
        raise InputError(
            "is not an archive", subject=f"{kind.name} {excerpt(file)}", remedy="leave out --game and --repetition"
        )
    else:
        record = read_game_record(text, variant, file)
    for warning in record.warnings:
        warn(warning)
    if not record.moves and record.result is None and not record.notes:
        raise InputError(
            "has no moves and no result, so there is nothing to check", subject=f"{kind.name} {excerpt(file)}"
        )
    replayed = replay(record)
    if ply is not None and ply > len(replayed.plies):
        raise InputError(f"the record has only {plural(len(replayed.plies), 'legal ply')}", subject=f"--ply {ply}")
    if save is not None:
        save_record(record, save, file)
    if svg is not None:
        _draw_all(replayed, svg)
    result = _Replayed(
        variant=replayed.board.variant.name,
        tags=dict(record.tags),
        start=str(replayed.start),
        position=str(replayed.board.position),
        moves=[
            MoveResult(
                move=str(step.move.move),
                captures=[square_name(square, replayed.board.size) for square in sorted(step.move.captures or ())],
                outcome=outcome_result(step.outcome),
            )
            for step in replayed.plies
        ],
        positions=[str(step.position) for step in replayed.plies],
        outcome=outcome_result(replayed.board.outcome()),
        result=record.result,
        notes=list(replayed.notes),
        comments=dict(record.comments),
        marks=dict(record.marks),
        problems=list(replayed.problems),
    )
    drawn = range(len(replayed.plies) + 1) if every else [len(replayed.plies) if ply is None else ply]
    return Reply(
        result,
        lambda console: _show(console, replayed, result, list(drawn)),
        EXIT_NO if replayed.problems else 0,
        table=(MoveResult, result.moves),
    )


def _replay_archive(
    variant: Variant, games: list[ArchivedGame], unread: dict[int, str], *, ignore_repetition: bool
) -> Reply:
    with progress("replay") as observer:
        replayed, ranks = replay_archive(variant, games, observer, ignore_repetition=ignore_repetition)
    rows = [
        _ArchivedGame(
            number=one.game.number,
            plies=one.plies,
            illegal=None if one.illegal is None else _IllegalPly(**one.illegal._asdict()),
            captures_agree=one.captures_agree,
            captures_differ=list(one.differing),
            termination=one.outcome and one.outcome.termination,
            winner=one.outcome and one.outcome.winner,
            recorded=one.game.result,
            contradicted=one.contradicted,
            repeated=one.repeated,
        )
        for one in replayed
    ]
    summary = _Summary(
        games=len(rows),
        plies=sum(row.plies for row in rows),
        legal=sum(row.illegal is None for row in rows),
        captures_agree=sum(row.captures_agree for row in rows),
        ended=sum(row.termination is not None for row in rows),
        contradicted=sum(row.contradicted for row in rows),
        repeated=sum(row.repeated is not None for row in rows),
    )
    missing = [_Unread(line=line, why=why) for line, why in unread.items()]
    result = _Archive(variant=variant.name, ranks=ranks, games=rows, unread=missing, summary=summary)
    holds = not missing and summary.legal == summary.captures_agree == summary.games and not summary.contradicted
    return Reply(
        result, lambda console: _show_archive(console, result), 0 if holds else EXIT_NO, table=(_ArchivedGame, rows)
    )


def _show_archive(console: PeopleConsole, result: _Archive) -> None:
    counted = {
        "bottom": "from the bottom",
        "top": "from the top",
        "either": "from the bottom or from the top: both fit equally well",
    }
    found = result.summary
    size = f"  {plural(found.games, 'game')}, {plural(found.plies, 'ply')}"
    console.print(Text.assemble((result.variant, "bold"), size))
    console.print(f"ranks are counted {counted[result.ranks]}", soft_wrap=True)
    console.print(f"completely legal: {plural(found.legal, 'game')}; captures agree in {found.captures_agree:,}")
    console.print(f"{found.ended:,} end on the board; {found.contradicted:,} of these contradict the recorded result")
    console.print(f"the repetition rule applies in {found.repeated:,}")
    for line in result.unread:
        console.print(Text.assemble((f"line {line.line}  ", "bold red"), f"not read: {line.why}"), soft_wrap=True)
    for row in result.games:
        if row.illegal is not None:
            told = f"ply {row.illegal.ply}, {row.illegal.move}: {row.illegal.why}"
        elif row.contradicted:
            told = f"{(row.termination or '').replace('_', ' ')}, {row.winner or 'draw'}; the record has {row.recorded}"
        elif not row.captures_agree:
            plies = ", ".join(map(str, row.captures_differ[:8])) + " ..." * (len(row.captures_differ) > 8)
            told = f"captures differ: plies {plies}" if plies else "the numbers of captures differ"
        else:
            continue
        console.print(Text.assemble((f"line {row.number}  ", "bold red"), told), soft_wrap=True)


def _draw_all(game: Replay, folder: Path) -> None:
    from tablut import svg

    positions = [game.start, *(step.position for step in game.plies)]
    width = len(str(len(positions)))
    for number, position in enumerate(positions):
        ply = game.plies[number - 1] if number else None
        caption = f"{number}. {ply.move}" if ply else "start"
        if ply and ply.outcome:
            caption += f": {ply.outcome.how}"
        drawing = svg.board(game.board.variant, position, last_move=ply.move.move if ply else None, caption=caption)
        write_text(folder / f"ply-{number:0{width}}.svg", drawing)


def _show(console: PeopleConsole, game: Replay, result: _Replayed, drawn: list[int]) -> None:
    players = " against ".join(result.tags[name] for name in ("White", "Black") if name in result.tags)
    console.print(Text.assemble((result.variant, "bold"), "  ", players))
    for number in drawn:
        position = game.plies[number - 1].position if number else game.start
        console.print(f"\n{number}. {game.plies[number - 1].move}" if number else "\nstart")
        console.print(draw_board(game.board.variant, position.rows()))
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
        console.print(f"{plural(len(result.moves), 'move')}, and everything in the record is correct")
