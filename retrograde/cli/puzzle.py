"""``tablut puzzle``: list, show, play and check; `retrograde.cli.puzzle_solving` contains ``solve``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from retrograde.cli.puzzle_solving import (
    FileOption,
    NodesOption,
    StoreOption,
    puzzle_ids_from,
    read_one,
    solve_command,
)
from retrograde.proofs.checker import CheckedProof, StrategyCheck
from retrograde.puzzles.puzzle_file import (
    Filter,
    PuzzleFacts,
    choose,
    collection_names,
    facts_of,
    read_puzzles,
    rules_of,
)
from retrograde.tablebase.probing import prober_for
from tablut.cli.options import read_text, threads_option, variant_option, warn_if_impossible
from tablut.cli.people import Live, PeopleConsole, Table, draw_board, label, legend, number, prose
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, interruptible, tabular
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import IllegalMoveError, InputError, UnknownError, did_you_mean
from tablut.formats.reading import read_move
from tablut.notation import square_name
from tablut.play.terminal import LineReader
from tablut.position import Move, MoveText
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import excerpt
from tablut.work.progress import plural, rate_text
from tablut.work.run import LocalScheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.puzzles.game import PuzzleGame
    from retrograde.puzzles.puzzle_file import Puzzle

_LONG: Final = 20
"""Duration of a check, in seconds, from which on its speed is printed."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, help="Solve puzzles, and prove wins, losses and draws.")


class _Checked(CheckedProof):
    variant: str
    game: str
    file: str
    position: str
    winner: str
    plies: int | None
    plies_left: int | None
    strategy: int
    tables: dict[str, str]
    deep: bool
    interrupted: bool


@command
def check_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Proof file, written by --save-proof.")],
    variant: Annotated[
        str | None, variant_option("Name of a shipped rule set, or a TOML file. [default: as named in the proof]")
    ] = None,
    plies: Annotated[
        int,
        typer.Option(
            min=0, max=10**12, help="Number of plies to make in the search for a shorter win; 0 for no search."
        ),
    ] = 20_000,
    tablebase: StoreOption = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also play out the positions that the proof leaves to tablebases.")
    ] = False,
    threads: Annotated[int, threads_option("Number of processes that check in parallel.")] = 1,
) -> Reply:
    """Check a saved proof by the rules alone, in plain Python.

    docs/proofs.md describes proofs. Exit code 1: the proof is wrong, or there is a shorter win.
    """
    from retrograde.proofs.certificate import MOST_BYTES, game_of, read_certificate
    from tablut.position import Position

    named = f"proof {excerpt(file)}"
    proof = read_certificate(file, read_text(file, "proof", MOST_BYTES) if file == "-" else Path(file))
    rules = game_of(file, proof, None if variant is None else load_variant(variant))
    tables = prober_for(rules, tablebase) if proof.tables else None
    interrupted = False
    try:
        scheduler = LocalScheduler(threads, processes=threads > 1)
        check = StrategyCheck(rules, proof, most_plies=plies, scheduler=scheduler, tablebase=tables, deep=deep)
        warn_if_impossible(rules, Position.parse(proof.position, rules.size), named)
        checked = interruptible(check.run)
    except InputError as error:
        # Errors about the file itself already name it.
        if not error.subject.startswith(named):
            error.within(named)
        raise
    except KeyboardInterrupt:
        checked, interrupted = check.found(), True
    result = _Checked(
        variant=rules.name,
        game=rules.digest,
        file=file,
        position=proof.position,
        winner=proof.winner,
        plies=proof.plies,
        plies_left=proof.plies_left,
        strategy=len(proof.strategy),
        tables=proof.tables,
        deep=deep,
        interrupted=interrupted,
        **checked.model_dump(),
    )
    failed = bool(checked.failures) or checked.shorter is not None
    code = EXIT_NO if failed else EXIT_INTERRUPTED if interrupted else 0
    return Reply(result, lambda console: _show_checked(console, result), code)


def _show_checked(console: PeopleConsole, result: _Checked) -> None:
    from rich.text import Text

    def say(text: str, mark: str = "", style: str = "") -> None:
        # Text from the proof must not be interpreted as markup.
        console.print(Text(mark, style=style) + Text(text, style="not bold default"), soft_wrap=True)

    left = "" if result.plies_left is None else f"  ({plural(result.plies_left, 'ply')} left)"
    say(f"{result.variant}  {result.position}{left}")
    for failure in result.failures:
        say(f"  {failure}", "fails", "bold red")
    if result.failures:
        return
    if not result.proved:
        say(f"interrupted: {plural(result.positions, 'position')} checked, no error found")
        return
    replies = f"all replies to them in {result.positions - result.strategy:,}"
    does = "never loses" if result.within is None else f"wins within {plural(result.within, 'ply')}"
    if result.within != result.plies:
        does += f", {result.plies} according to the header"
    say(f": {result.winner} {does}; its moves in {plural(result.strategy, 'position')}, {replies}", "proved", "green")
    if result.unused:
        say(f"unused: {plural(result.unused, 'position')} of the file")
    if result.shorter is not None:
        say(f": {result.winner} wins within {result.shorter}", "not the shortest", "bold red")
    elif result.distance == "exact":
        say("there is no shorter win: all were tried")
    elif result.distance is not None:
        say(f"no shorter win within {plural(result.excluded, 'ply')}; longer ones are beyond the limit of this check")
    if result.in_tables:
        played = "played out by their moves" if result.deep else "with the values of the tables; --deep plays them out"
        say(f"{plural(result.in_tables, 'position')} in tables ({', '.join(result.tables)}), {played}")
    if result.seconds > _LONG:
        say(f"{result.positions:,} positions in {result.seconds:.0f} s, {rate_text(result.positions_per_second)}")


# -- list and show -----------------------------------------------------------------------


class _List(Result):
    file: str
    puzzles: list[PuzzleFacts]


class _Shown(PuzzleFacts):
    tempting: int | None
    source: str
    hint: str | None = None
    solution: list[str] | None = None


@tabular
def list_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A puzzle file, or a shipped one (ashton, endings, mcgill …).")
    ] = "collection",
    variant: Annotated[
        str | None, variant_option("Only puzzles of this rule set, given as a name or a TOML file.")
    ] = None,
    side: Annotated[Literal["white", "black"] | None, typer.Option(help="Side to move.")] = None,
    winner: Annotated[Literal["white", "black"] | None, typer.Option(help="Side that wins.")] = None,
    shortest: Annotated[
        int | None, typer.Option("--min-plies", min=1, max=1000, help="Minimum length of the win in plies.")
    ] = None,
    longest: Annotated[
        int | None, typer.Option("--max-plies", min=1, max=1000, help="Maximum length of the win in plies.")
    ] = None,
    grade: Annotated[
        list[int] | None, typer.Option(min=1, max=5, help="Grade, from 1 (easiest) to 5; may be repeated.")
    ] = None,
    theme: Annotated[
        str | None,
        typer.Option(
            help="Part of a theme's name: ending, middle game, shieldwall, exit fort, encirclement, or a pattern."
        ),
    ] = None,
) -> Reply:
    """List puzzles, without their solutions.

    With filters, only matching puzzles are listed; an empty list is no error.
    """
    if shortest is not None and longest is not None and shortest > longest:
        raise InputError(f"must not be greater than --max-plies {longest}", subject=f"--min-plies {shortest}")
    # Shipped files name their rules; other files need not.
    shipped = file.lower() in ("collection", *collection_names())
    puzzles = read_puzzles(file, None if shipped else variant)
    wanted = Filter(variant if shipped else None, side, winner, shortest, longest, tuple(grade or ()), theme)
    found = _List(file=file, puzzles=[facts_of(puzzle) for puzzle in choose(puzzles, wanted)])
    return Reply(found, lambda console: _show_list(console, found, len(puzzles)), table=(PuzzleFacts, found.puzzles))


def _show_list(console: PeopleConsole, found: _List, total: int) -> None:
    table = Table(
        label("puzzle"), label("rules"), label("to move"), label("claim"), number("grade"), prose("theme", least=12)
    )
    for one in found.puzzles:
        grade = "" if one.grade is None else str(one.grade)
        table.add(one.id, one.variant, one.side, one.claim, grade, one.theme)
    if found.puzzles:
        console.print(table)
    of = "" if total == len(found.puzzles) else f"{len(found.puzzles)} of "
    console.print(f"{of}{plural(total, 'puzzle')}; `tablut puzzle play ID` plays one", style="dim")


@command
def show_command(
    puzzle: Annotated[str, typer.Argument(metavar="ID", help="A puzzle's id.", autocompletion=puzzle_ids_from)],
    file: FileOption = "collection",
    variant: Annotated[str | None, variant_option("Rule set for files that do not name one.")] = None,
    hint: Annotated[bool, typer.Option("--hint", help="Name the square of the piece that moves.")] = False,
    solution: Annotated[bool, typer.Option("--solution", help="Print the solution as well.")] = False,
    nodes: NodesOption = 50_000_000,
) -> Reply:
    """Draw a puzzle with its task, without the solution."""
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.game import solve_puzzle

    one = read_one(puzzle, file, variant)
    tempting = one.tags.get("tempting", "")
    shown = _Shown(
        **facts_of(one).model_dump(),
        tempting=int(tempting) if tempting.isascii() and tempting.isdigit() else None,
        source=one.tags.get("source", ""),
    )
    if hint or solution:
        line = interruptible(partial(solve_puzzle, one, ProofLimits(nodes=nodes))).line
        start = square_name(line[0].start, rules_of(one).size) if hint and line else None
        shown = shown.model_copy(update={"hint": start, "solution": list(map(str, line)) if solution else None})
    return Reply(shown, lambda console: _show_puzzle(console, one, shown))


def _show_puzzle(console: PeopleConsole, puzzle: Puzzle, shown: _Shown) -> None:
    variant = rules_of(puzzle)
    console.print(draw_board(variant, puzzle.position.rows()))
    console.print(legend(variant))
    console.print(f"{shown.id}, {shown.variant}: {shown.side} to move", style="bold")
    if shown.claim:
        console.print(f"{shown.claim}{'' if shown.plies is None else ' plies'}")
    about = [f"grade {shown.grade}" if shown.grade else "", shown.theme, shown.source]
    console.print(", ".join(part for part in about if part), style="dim")
    if shown.hint:
        console.print(f"hint: look at {shown.hint}")
    if shown.solution:
        console.print("line: " + " ".join(shown.solution))


# -- play --------------------------------------------------------------------------------


_COMMANDS: Final = {
    "hint": "name the piece that moves; repeat it for the move",
    "reveal": "show the solution, and give the puzzle up",
    "moves": "list the legal moves",
    "board": "draw the board again",
    "help": "print this list",
    "quit": "leave",
}


class _Played(Result):
    id: str
    variant: str
    position: str
    side: str
    plies: int
    solved: bool
    line: list[str]
    wrong: list[str]
    hints: int
    revealed: bool
    unknown: bool


@command
def play_command(
    puzzle: Annotated[str, typer.Argument(metavar="ID", help="A puzzle's id.", autocompletion=puzzle_ids_from)],
    file: FileOption = "collection",
    variant: Annotated[str | None, variant_option("Rule set for files that do not name one.")] = None,
    moves: Annotated[
        list[str] | None,
        typer.Option(
            "--move", "-m", metavar="MOVE", help="Move to try first, before the program reads input; may be repeated."
        ),
    ] = None,
    nodes: NodesOption = 200_000_000,
) -> Reply:
    """Solve a puzzle interactively in the terminal.

    Type moves: the defence replies, and wrong moves are refuted. Exit code 1: the puzzle was left
    unsolved; 3: the limits were reached before a move was judged.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.game import open_puzzle

    one = read_one(puzzle, file, variant)
    live = Live()
    game = interruptible(partial(open_puzzle, one, ProofLimits(nodes=nodes)))
    table = _Table(one, game, live, _asking(live, list(moves or ())))
    played = table.run()
    code = EXIT_UNKNOWN if played.unknown else 0 if played.solved else EXIT_NO
    return Reply(played, lambda console: _show_played(console, played), code)


def _asking(live: Live, given: list[str]) -> Callable[[str], str | None]:
    """Return a function that supplies lines of input: first those given on the command line, then those typed."""
    reader = LineReader(live)

    def ask(prompt: str) -> str | None:
        if not given:
            return reader.ask(prompt)
        line = given.pop(0).strip()
        live.print(prompt + line, markup=False)
        return line

    return ask


class _Table:
    """An interactive session with a puzzle in the terminal."""

    def __init__(self, puzzle: Puzzle, game: PuzzleGame, live: Live, ask: Callable[[str], str | None]) -> None:
        self._puzzle, self._game, self._live, self._ask = puzzle, game, live, ask
        self._plies = game.plies
        self._wrong: list[str] = []
        self._hints = 0
        self._hinted: Move | None = None
        self._revealed = self._left = self._unknown = False

    def run(self) -> _Played:
        """Ask for moves until the puzzle is solved or left."""
        game = self._game
        self._live.print(draw_board(game.board.variant, game.board.position.rows()))
        self._live.print(
            f"{self._puzzle.id}, {game.board.variant.name}: {game.board.turn} to move, "
            f"{game.winner} wins in {game.plies}",
            style="bold",
        )
        self._live.print("type a move, or: " + ", ".join(_COMMANDS), style="dim")
        if not game.over and game.board.turn != game.winner:
            self._defend()
        while not (game.over or self._left or self._unknown):
            line = self._ask(f"{game.winner}, {game.plies} plies> ")
            if line is None:
                break
            word = line.lower()
            if word in _COMMANDS:
                self._obey(word)
            elif word:
                self._try(line)
        solved = game.over and not self._revealed
        if game.over:
            self._live.print("solved" if solved else "that was the solution", style="bold")
        return _Played(
            id=self._puzzle.id,
            variant=game.board.variant.name,
            position=str(self._puzzle.position),
            side=game.winner,
            plies=self._plies,
            solved=solved,
            line=[str(move) for move in game.board.move_stack],
            wrong=self._wrong,
            hints=self._hints,
            revealed=self._revealed,
            unknown=self._unknown,
        )

    def _defend(self) -> None:
        reply = interruptible(self._game.defence)
        if reply is None:
            raise UnknownError(
                "the limits were reached", subject=f"puzzle {excerpt(self._puzzle.id)}", remedy="increase --nodes"
            )
        self._game.defend(reply)
        self._draw()

    def _try(self, text: str) -> None:
        board = self._game.board
        try:
            move = read_move(text, board.size).said.move
        except InputError:
            hint = did_you_mean(text, [*_COMMANDS, *map(str, board.legal_moves)], "help lists the commands")
            self._live.print(f"{excerpt(text, 40)}: neither a move nor a command; {hint}")
            return
        try:
            board.push(move)
            board.pop()
        except IllegalMoveError as error:
            self._live.print(str(error))
            return
        answer = interruptible(partial(self._game.judge, move))
        if answer.right is None:
            self._live.print(f"{move}: the limits were reached before it was judged; allow more with --nodes")
            self._unknown = True
        elif answer.right:
            self._game.play(answer)
            self._hinted = None
            self._draw()
        else:
            self._wrong.append(str(move))
            self._refute(move, answer.reply, over=answer.over)

    def _refute(self, move: Move, reply: Move | None, *, over: bool) -> None:
        game = self._game
        if over:
            self._live.print(f"{move}: wrong, because it ends the game without a win for {game.winner}")
            return
        loser = "black" if game.winner == "white" else "white"
        cause = "it" if reply is None else f"{loser}'s reply {reply}"
        self._live.print(
            f"{move}: wrong, because {cause} leaves no win within {plural(game.plies, 'ply')}; it is taken back"
        )

    def _obey(self, word: str) -> None:
        game = self._game
        match word:
            case "help":
                for name, meaning in _COMMANDS.items():
                    self._live.print(f"{name:<8} {meaning}")
            case "board":
                self._draw()
            case "moves":
                self._live.print(" ".join(map(str, game.board.legal_moves)))
            case "hint":
                self._hint()
            case "reveal":
                self._revealed = True
                while not game.over:
                    move = self._right()
                    if move is None:
                        return
                    game.play(interruptible(partial(game.judge, move)))
                self._draw()
            case _:
                self._left = True

    def _hint(self) -> None:
        again = self._hinted is not None
        self._hinted = self._hinted or self._right()
        if self._hinted is not None:
            self._hints += 1
            piece = square_name(self._hinted.start, self._game.board.size)
            self._live.print(f"play {self._hinted}" if again else f"look at the piece on {piece}")

    def _right(self) -> Move | None:
        move = interruptible(lambda: next(self._game.right_moves(), None))
        if move is None:
            self._unknown = True
            self._live.print("the limits were reached; allow more with --nodes")
        return move

    def _draw(self) -> None:
        board = self._game.board
        moves = board.move_stack
        self._live.print()
        if moves:
            self._live.print(
                f"{' '.join(map(str, moves[:-1]))} {MoveText(moves[-1], frozenset(board.captured()) or None)}"
            )
        self._live.print(draw_board(board.variant, board.position.rows()))


def _show_played(console: PeopleConsole, played: _Played) -> None:
    outcome = "solved" if played.solved else "revealed" if played.revealed else "not solved"
    wrong, hints = plural(len(played.wrong), "wrong move"), plural(played.hints, "hint")
    console.print(f"{played.id}: {outcome}, {wrong}, {hints}; {played.side} wins in {played.plies}")


app.command("list")(list_command)
app.command("show")(show_command)
app.command("play")(play_command)
app.command("solve")(solve_command)
app.command("check")(check_command)
