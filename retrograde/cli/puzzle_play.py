"""``tablut puzzle play``: a puzzle solved at the terminal, move by move."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from retrograde.cli.puzzle_options import FileOption, NodesOption, puzzle_ids_from, read_one
from tablut.cli.options import variant_option
from tablut.cli.people import Live, draw_board
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, interruptible
from tablut.errors import IllegalMoveError, InputError, UnknownError
from tablut.formats.reading import read_move
from tablut.notation import square_name
from tablut.play.terminal import LineReader, did_you_mean
from tablut.position import MoveText
from tablut.results import Result
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.puzzles.game import PuzzleGame
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.cli.people import PeopleConsole
    from tablut.position import Move

_COMMANDS: Final = {
    "hint": "name the piece that moves; asked again, the move",
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
    variant: Annotated[str | None, variant_option("The rule set of a file that names none.")] = None,
    moves: Annotated[
        list[str] | None,
        typer.Option(
            "--move", "-m", metavar="MOVE", help="A move of yours, tried before you are asked; may be repeated."
        ),
    ] = None,
    nodes: NodesOption = 200_000_000,
) -> Reply:
    """Solve a puzzle at the terminal: type moves; the defence answers, and wrong moves are refuted.

    Exit code 1: it was left unsolved; 3: the limits ran out before a move was judged.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.game import open_puzzle

    one = read_one(puzzle, file, variant)
    live = Live()
    game = interruptible(partial(open_puzzle, one, ProofLimits(nodes=nodes)))
    table = _Table(one, game, live, _asking(live, list(moves or ())))
    played = table.run()
    code = EXIT_UNKNOWN if played.unknown else 0 if played.solved else EXIT_NO
    return Reply(played, lambda console: _show(console, played), code)


def _asking(live: Live, given: list[str]) -> Callable[[str], str | None]:
    """Return what gives the next line: first those of the command line, then those that are typed."""
    reader = LineReader(live)

    def ask(prompt: str) -> str | None:
        if not given:
            return reader.ask(prompt)
        line = given.pop(0).strip()
        live.print(prompt + line, markup=False)
        return line

    return ask


class _Table:
    """A puzzle at the terminal."""

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
            raise UnknownError(f"puzzle {excerpt(self._puzzle.id)}: the limits ran out; give it more with --nodes")
        self._game.defend(reply)
        self._draw()

    def _try(self, text: str) -> None:
        board = self._game.board
        try:
            move = read_move(text, board.size).said.move
        except InputError:
            hint = did_you_mean(text, [*_COMMANDS, *map(str, board.legal_moves)])
            self._live.print(f"{excerpt(text, 40)}: no move and no command{hint or '; help lists the commands'}")
            return
        try:
            board.push(move)
            board.pop()
        except IllegalMoveError as error:
            self._live.print(str(error))
            return
        answer = interruptible(partial(self._game.judge, move))
        if answer.right is None:
            self._live.print(f"{move}: the limits ran out before it was judged; give it more with --nodes")
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
            self._live.print(f"{move}: wrong, it ends the game without a win for {game.winner}")
            return
        loser = "black" if game.winner == "white" else "white"
        answer = "" if reply is None else f": {loser} answers {reply}"
        self._live.print(f"{move}: wrong, no win within {game.plies} plies any more{answer}; it is taken back")

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
            self._live.print("the limits ran out; give it more with --nodes")
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


def _show(console: PeopleConsole, played: _Played) -> None:
    outcome = "solved" if played.solved else "revealed" if played.revealed else "not solved"
    wrong = f"{len(played.wrong)} wrong move{'s' * (len(played.wrong) != 1)}"
    hints = f"{played.hints} hint{'s' * (played.hints != 1)}"
    console.print(f"{played.id}: {outcome}, {wrong}, {hints}; {played.side} wins in {played.plies}")
