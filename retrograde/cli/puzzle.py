"""The commands ``tablut puzzle list``, ``show`` and ``play``; `prove_commands` has ``solve`` and ``check``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from retrograde.cli.prove_commands import check_command, nodes_field, solve_command
from retrograde.puzzles.puzzle_file import (
    Filter,
    PuzzleFacts,
    choose,
    collection_names,
    facts_of,
    read_puzzles,
    rules_of,
    shipped_ids,
)
from tablut.cli.command import Group
from tablut.cli.options import check_range, variant_field
from tablut.cli.people import Live, PeopleConsole, Table, draw_board, label, legend, number, prose
from tablut.cli.requests import Argument, Option, Request, beginning
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, interruptible
from tablut.errors import IllegalMoveError, InputError, UnknownError, did_you_mean
from tablut.formats.reading import read_move
from tablut.play.terminal import LineReader, not_a_move
from tablut.position import Move, MoveText, SideName, square_name
from tablut.results import Result
from tablut.work.files import excerpt
from tablut.work.progress import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.puzzles.puzzle_file import Puzzle
    from retrograde.puzzles.puzzle_game import PuzzleGame

app = Group(help="Solve puzzles, and prove wins, losses and draws.")

_LISTED: Final = 20
"""Number of puzzles that are listed without ``--all``."""


# -- list and show -----------------------------------------------------------------------


class _List(Result):
    file: str
    puzzles: list[PuzzleFacts]


class _ShownPuzzle(PuzzleFacts):
    tempting: int | None
    source: str
    hint: str | None = None
    solution: list[str] | None = None


class ListPuzzlesRequest(Request):
    """The request of ``tablut puzzle list``."""

    file: str = Argument(
        "[FILE]", "Puzzle file, or a built-in one (ashton, mcgill …). [default: collection]", "collection"
    )
    variant: str | None = variant_field(help="Only puzzles of this rule set, given as a name or a TOML file.")
    side: SideName | None = Option(None, "Side to move.")
    winner: SideName | None = Option(None, "Side that wins.")
    shortest: int | None = Option(None, "Minimum length of the win, in plies.", "--min-plies", least=1, most=1000)
    longest: int | None = Option(None, "Maximum length of the win, in plies.", "--max-plies", least=1, most=1000)
    grade: tuple[Annotated[int, Field(ge=1, le=5)], ...] = Option((), "Grade, from 1 (easiest) to 5; may be repeated.")
    theme: str | None = Option(
        None, "Part of a theme's name, such as ending, middle game or shieldwall.", metavar="TEXT"
    )
    everything: bool = Option(
        False, f"List all matching puzzles. [default: the first {_LISTED}]", "--all", recorded=False
    )


@app.command("list", table=True)
def list_command(request: ListPuzzlesRequest) -> Reply:
    """List puzzles, without their solutions.

    With filters, only matching puzzles are listed. An empty list is not an error. JSON and CSV contain all of them.
    """
    check_range(request.shortest, request.longest)
    file, variant = request.file, request.variant
    # Built-in files name their rules; other files need not.
    shipped = file.lower() in ("collection", *collection_names())
    puzzles = read_puzzles(file, None if shipped else variant)
    wanted = request.among(["side", "winner", "shortest", "longest", "theme"])
    filters = Filter(variant if shipped else None, grades=request.grade, **wanted)
    found = _List(file=file, puzzles=[facts_of(puzzle) for puzzle in choose(puzzles, filters)])
    return Reply(
        found,
        lambda console: _show_list(console, found, puzzles, request.everything),
        table=(PuzzleFacts, found.puzzles),
    )


def _show_list(console: PeopleConsole, found: _List, puzzles: list[Puzzle], everything: bool) -> None:
    table = Table(
        label("puzzle"), label("rules"), label("to move"), label("claim"), number("grade"), prose("theme", least=12)
    )
    shown = found.puzzles if everything else found.puzzles[:_LISTED]
    for one in shown:
        grade = "" if one.grade is None else str(one.grade)
        table.add(one.id, one.variant, one.side, one.claim, grade, one.theme)
    named = ", ".join(sorted({one.variant for one in puzzles})) or "no rules"
    console.print(table if found.puzzles else f"There are puzzles for {named}.")
    of = "" if len(puzzles) == len(found.puzzles) else f"{len(found.puzzles)} of "
    more = len(found.puzzles) - len(shown)
    rest = f" {more} more: choose with --variant, --grade or --theme, or list all with --all." if more else ""
    console.print(f"{of}{plural(len(puzzles), 'puzzle')}; `tablut puzzle play ID` plays one.{rest}", style="dim")


class _PuzzleRequest(Request):
    puzzle: str = Argument("ID", "A puzzle's id.", complete=beginning(shipped_ids))
    file: str = Option("collection", "Puzzle file, or a built-in one.", "--file", "-f", metavar="FILE")
    variant: str | None = variant_field(help="Rule set for files that do not name one.")

    def chosen(self) -> Puzzle:
        """Return the puzzle with the given id from the file."""
        wanted, puzzles = self.puzzle, {one.id: one for one in read_puzzles(self.file, self.variant)}
        if wanted in puzzles or wanted.lower() in puzzles:
            return puzzles.get(wanted) or puzzles[wanted.lower()]
        hint = did_you_mean(wanted, puzzles, "list them with `tablut puzzle list`, or choose another file with --file")
        raise InputError(f"is not in {excerpt(self.file)}", subject=f"puzzle {excerpt(wanted)}", remedy=hint)


class ShowPuzzleRequest(_PuzzleRequest):
    """The request of ``tablut puzzle show``."""

    hint: bool = Option(False, "Name the cell of the piece that moves.")
    solution: bool = Option(False, "Print the solution as well.")
    nodes: int = nodes_field(50_000_000)


@app.command("show")
def show_command(request: ShowPuzzleRequest) -> Reply:
    """Draw a puzzle and state its task, without giving the solution."""
    from retrograde.proofs.win_search import ProofLimits
    from retrograde.puzzles.puzzle_game import solve_puzzle

    puzzle, hint, solution = request.chosen(), request.hint, request.solution
    tempting = puzzle.tags.get("tempting", "")
    shown = _ShownPuzzle(
        **facts_of(puzzle).model_dump(),
        tempting=int(tempting) if tempting.isascii() and tempting.isdigit() else None,
        source=puzzle.tags.get("source", ""),
    )
    if hint or solution:
        line = interruptible(partial(solve_puzzle, puzzle, ProofLimits(nodes=request.nodes))).line
        start = square_name(line[0].start, rules_of(puzzle).size) if hint and line else None
        shown = shown.model_copy(update={"hint": start, "solution": list(map(str, line)) if solution else None})
    return Reply(shown, lambda console: _show_puzzle(console, puzzle, shown))


def _show_puzzle(console: PeopleConsole, puzzle: Puzzle, shown: _ShownPuzzle) -> None:
    variant = rules_of(puzzle)
    console.board(variant, puzzle.position.rows())
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
    "hint": "name the piece to move; repeat the command to see the move",
    "reveal": "show the solution and give up",
    "moves": "list the legal moves",
    "board": "draw the board again",
    "help": "print this list",
    "quit": "leave",
}


class _PlayedPuzzle(Result):
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


class PlayPuzzleRequest(_PuzzleRequest):
    """The request of ``tablut puzzle play``."""

    moves: tuple[str, ...] = Option(
        (), "Move to try before any input is read; repeatable.", "--move", "-m", metavar="MOVE"
    )
    nodes: int = nodes_field(200_000_000)


@app.command("play")
def play_command(request: PlayPuzzleRequest) -> Reply:
    """Solve a puzzle interactively in the terminal.

    Type your moves. The defence replies to correct moves, and wrong moves are refuted. Exit code 1:
    the puzzle was left unsolved; 3: the limits were reached before a move was judged.
    """
    from retrograde.proofs.win_search import ProofLimits
    from retrograde.puzzles.puzzle_game import open_puzzle

    live, puzzle = Live(), request.chosen()
    game = interruptible(partial(open_puzzle, puzzle, ProofLimits(nodes=request.nodes)))
    table = _Table(puzzle, game, live, _asking(live, list(request.moves)))
    played = table.run()
    code = EXIT_UNKNOWN if played.unknown else 0 if played.solved else EXIT_NO
    return Reply(played, lambda console: _show_played(console, played), code)


def _asking(live: Live, given: list[str]) -> Callable[[str], str | None]:
    """Return a function that supplies lines of input, first from the command line and then from the keyboard."""
    reader = LineReader(live)

    def ask(prompt: str) -> str | None:
        if not given:
            return reader.ask(prompt)
        line = given.pop(0).strip()
        live.print(prompt + line)
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

    def run(self) -> _PlayedPuzzle:
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
        return _PlayedPuzzle(
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
            move = read_move(text, board.size).move
        except InputError as error:
            self._live.print(not_a_move(text, error, [*_COMMANDS, *map(str, board.legal_moves)]))
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


def _show_played(console: PeopleConsole, played: _PlayedPuzzle) -> None:
    outcome = "solved" if played.solved else "revealed" if played.revealed else "not solved"
    wrong, hints = plural(len(played.wrong), "wrong move"), plural(played.hints, "hint")
    console.print(f"{played.id}: {outcome}, {wrong}, {hints}; {played.side} wins in {played.plies}")


app.add_command(solve_command, "solve")
app.add_command(check_command, "check")
