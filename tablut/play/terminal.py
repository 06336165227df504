"""A game in the terminal. Moves and commands are entered by a person or read from a pipe."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tablut.cli.options import save_record
from tablut.cli.people import Live, draw_board
from tablut.cli.runtime import interruptible
from tablut.cli.streams import read_line
from tablut.errors import IllegalMoveError, InputError, TablutError, did_you_mean
from tablut.formats.reading import read_move
from tablut.indexing.values import unforced
from tablut.play.bridges.objects import PlayerError
from tablut.play.bridges.programs import UnreadableMoveError
from tablut.play.search.limits import PROVEN, TABLEBASE, SearchLimits, mate_in, said_plies, score_in_words
from tablut.position import MoveText, SideName, square_name
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.board import Board
    from tablut.play.players import Choice, Player
    from tablut.prober import Prober
    from tablut.rules.outcome import GameResult

_LONGEST: Final = 10_000


def not_a_move(text: str, error: InputError, words: list[str]) -> str:
    """Return the message for a line that is neither a move nor one of the words that a person may type."""
    if ": square '" in str(error):  # a move to or from a cell that this board does not have
        return str(error)
    return f"{excerpt(text, 40)}: neither a move nor a command; {did_you_mean(text, words, 'help lists the commands')}"


class LineReader:
    """Reader that prompts for lines and reads them from standard input."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._typed = sys.stdin.isatty() and sys.stdout.isatty() and live.watched
        if self._typed:
            # Importing this module gives `input` line editing and a history on systems that support them.
            with suppress(ImportError):
                import readline  # noqa: F401

    def ask(self, prompt: str) -> str | None:
        """Prompt for a line and return it without its line ending, or return None when the input ends."""
        try:
            if self._typed:
                return input(prompt).strip()
            line = read_line(_LONGEST)
        except EOFError:
            self._live.print()
            return None
        if not line:
            return None
        if len(line) > _LONGEST:
            raise InputError(f"has a line of more than {_LONGEST:,} characters", subject="standard input")
        # Print the line, because it was not typed on the screen.
        self._live.print(prompt + line.strip())
        return line.strip()


# -- the game ------------------------------------------------------------------------------


# Each line is a command, or a move in any notation that the toolkit reads. If the line is neither, or if the move is
# illegal, the response is one line that explains what is possible.


COMMANDS: Final = {
    "moves": "list the legal moves",
    "undo": "take back your last move",
    "hint": "have the engine suggest a move",
    "eval": "have the engine evaluate the position",
    "table": "show the tablebase values of the position and its moves",
    "board": "draw the board again",
    "position": "print the position as text",
    "save FILE": "write the game as a record",
    "resign": "give up the game",
    "help": "print this list",
    "quit": "leave",
}
_WORDS: Final = [name.split()[0] for name in COMMANDS]
_SHOWN_MOVES: Final = 8


class TerminalSettings(NamedTuple):
    """Players of a game in the terminal, their limits, and the sources of advice.

    - ``players``, ``name``: Players by colour, None for a person, and the name displayed for players that are programs.
    - ``limits``, ``advice``: Limits of the players for each move, and limits for hints and evaluations.
    - ``adviser``, ``prober``: Functions that create the player for hints, and find the tablebase, when first needed.
    """

    players: dict[SideName, Player | None]
    name: str
    limits: SearchLimits
    advice: SearchLimits
    adviser: Callable[[], Player]
    prober: Callable[[], Prober | None]


class GameEnd(NamedTuple):
    """Ending of a game in the terminal: the winner, ``draw`` or None, and the termination."""

    result: GameResult | None
    termination: str | None


def ending_in_words(ending: GameEnd) -> str:
    """Return an ending as text, for example ``white wins (resigned)``."""
    if ending.result is None:
        return "the game is not over"
    how = f" ({ending.termination.replace('_', ' ')})" if ending.termination else ""
    return ("a draw" if ending.result == "draw" else f"{ending.result} wins") + how


class TerminalGame:
    """Game in the terminal, which starts from the position of a board."""

    def __init__(self, board: Board, settings: TerminalSettings, live: Live, ask: Callable[[str], str | None]) -> None:
        self.board = board
        self._settings = settings
        self._live = live
        self._ask = ask
        self._resigned: SideName | None = None
        self._left = False
        self._adviser: Player | None = None

    @property
    def ending(self) -> GameEnd:
        """Ending of the game. Its result is None while the game is in progress."""
        if self._resigned is not None:
            return GameEnd("black" if self._resigned == "white" else "white", "resigned")
        outcome = self.board.outcome()
        return GameEnd(None, None) if outcome is None else GameEnd(outcome.winner or "draw", outcome.termination)

    def tags(self) -> dict[str, str]:
        """Return the tags of the game's record, which name both players."""
        players = self._settings.players
        return {
            colour.capitalize(): "a person" if players[colour] is None else self._settings.name
            for colour in ("white", "black")
        }

    def save(self, file: Path) -> None:
        """Write the game as a record."""
        save_record(self.board.record(self.tags(), self.ending.result), file)

    def run(self) -> GameEnd:
        """Play until the person leaves the game or, if there is no person, until the game is over."""
        people = None in self._settings.players.values()
        self._draw()
        if people and (move := next(iter(self.board.legal_moves), None)) is not None:
            self._live.print(f"enter a move such as {move}, or: " + ", ".join(_WORDS), style="dim")
        while not self._left:
            ending = self.ending
            if ending.result is not None:
                self._live.print(ending_in_words(ending), style="bold")
                if not people or not self._after():
                    break
            elif (player := self._settings.players[self.board.turn]) is not None:
                self._reply(player)
            elif not self._person():
                break
        return self.ending

    def _after(self) -> bool:
        """Read commands after the end of the game, and return whether the game continues."""
        while (line := self._ask("over> ")) is not None:
            word = line.split(maxsplit=1)[0].lower() if line else ""
            if word in ("resign", "hint", "eval", "table", "moves") or (word and word not in _WORDS):
                self._live.print("the game is over: undo, save FILE, board, position or quit")
            elif word:
                self._obey(word, line)
            if self._left or self.ending.result is None:
                return not self._left
        return False

    # -- moves -------------------------------------------------------------------------

    def _person(self) -> bool:
        """Read a line from the person and execute it as a command or a move. Return False when the input ends."""
        line = self._ask(f"{self.board.turn}> ")
        if line is None:
            return False
        word = line.split(maxsplit=1)[0].lower() if line else ""
        if word in _WORDS:
            try:
                self._obey(word, line)
            except TablutError as error:
                # For example, the kernels cannot be compiled, or a table is damaged. The game continues without hints.
                self._live.print(str(error))
        elif word:
            self._try_move(line)
        return True

    def _try_move(self, text: str) -> None:
        board = self.board
        try:
            move = read_move(text, board.size).move
        except InputError as error:
            self._live.print(not_a_move(text, error, [*_WORDS, *map(str, board.legal_moves)]))
            return
        if move not in board.legal_moves:
            self._live.print(f"{move}: is not legal: {self._why_not(move.start)}")
            return
        try:
            board.push_text(text)
        except IllegalMoveError as error:
            # The move is legal, but the text names the wrong side or the wrong captures.
            self._live.print(str(error))
            return
        self._draw()

    def _why_not(self, start: int) -> str:
        board = self.board
        piece, name = board.piece_at(start), square_name(start, board.size)
        if piece is None:
            return f"there is no piece on {name}"
        if (piece == "b") != (board.turn == "black"):
            return f"the piece on {name} is not {board.turn}'s"
        targets = [square_name(move.target, board.size) for move in board.legal_moves if move.start == start]
        return f"the piece on {name} can move to {' '.join(targets)}" if targets else f"the piece on {name} cannot move"

    def _reply(self, player: Player) -> None:
        board, colour = self.board, self.board.turn
        if self._live.watched:
            self._live.print(f"{self._settings.name} thinks …", style="dim")
        try:
            choice = interruptible(lambda: player.choose(board.copy(), self._settings.limits))
            for note in choice.notes:
                self._live.print(note)
            board.push(choice.move)
        except (PlayerError, UnreadableMoveError, IllegalMoveError) as error:
            self._live.print(f"{self._settings.name} has lost by a fault: {error}")
            self._resigned = colour
            return
        self._draw(f"{self._settings.name} ({colour}) plays {self._last_move()}")

    def _last_move(self) -> str:
        return str(MoveText(self.board.peek(), frozenset(self.board.captured()) or None))

    def _draw(self, line: str | None = None) -> None:
        board = self.board
        self._live.print()
        if line is not None:
            self._live.print(line)
        elif board.ply:
            self._live.print(f"{board.ply}. {self._last_move()}")
        self._live.print(draw_board(board.variant, board.position.rows()))
        if self.ending.result is None:
            self._live.print(f"{board.turn} to move, {board.variant.name}", style="dim")

    # -- commands ----------------------------------------------------------------------

    def _obey(self, word: str, line: str) -> None:
        match word:
            case "help":
                for name, meaning in COMMANDS.items():
                    self._live.print(f"{name:<10} {meaning}")
            case "board":
                self._draw()
            case "position":
                self._live.print(str(self.board.position), soft_wrap=True)
            case "moves":
                self._live.print(" ".join(str(move) for move in self.board.legal_moves))
            case "undo":
                self._undo()
            case "hint":
                choice = self._advice()
                self._live.print(f"{choice.move}  ({_judgement(choice, self.board.turn)})")
            case "eval":
                choice = self._advice()
                self._live.print(_judgement(choice, self.board.turn))
                self._live.print("line: " + " ".join(str(move) for move in choice.pv))
            case "table":
                self._table()
            case "save":
                self._save(line)
            case "resign":
                self._resigned = self.board.turn
            case _:
                self._left = True

    def _undo(self) -> None:
        board = self.board
        if self._resigned is not None:
            self._resigned = None
            self._draw()
            return
        players = self._settings.players
        # Go back to the person's last turn. This also takes back the player's reply.
        back = 1
        turn: SideName = "black" if board.turn == "white" else "white"
        while back < board.ply and players[turn] is not None:
            back += 1
            turn = "black" if turn == "white" else "white"
        if board.ply == 0 or players[turn] is not None:
            self._live.print("you have no move to take back")
            return
        for _ in range(back):
            board.pop()
        self._draw()

    def _advice(self) -> Choice:
        if self._adviser is None:
            self._adviser = self._settings.adviser()
        adviser, board = self._adviser, self.board.copy()
        return interruptible(lambda: adviser.choose(board, self._settings.advice))

    def _table(self) -> None:
        from tablut.play.search.table_probing import probe_moves

        prober = self._settings.prober()
        if prober is None:
            self._live.print(
                f"no tablebase of {(name := self.board.variant.name)} is built in; build one with "
                f"`tablut tablebase build -v {name} --men 4`, and start with --tablebase STORE"
            )
            return
        rated = probe_moves(self.board.copy(), prober)
        if rated is None:
            attackers, defenders = self.board.position.material
            self._live.print(f"the tablebase does not include positions with {attackers}v{defenders} men")
            return
        otherwise = unforced(self.board.variant)
        self._live.print(f"{self.board.turn} to move: {_value(rated[0].score, otherwise)}")
        for move, score in rated[:_SHOWN_MOVES]:
            self._live.print(f"{move!s:<8} {_value(score, otherwise)}")
        if len(rated) > _SHOWN_MOVES:
            self._live.print(f"and {len(rated) - _SHOWN_MOVES} more moves, none of them better")

    def _save(self, line: str) -> None:
        name = line[4:].strip()
        if not name:
            self._live.print("save: give a file name, such as save game.txt")
            return
        try:
            self.save(Path(name))
        except TablutError as error:
            self._live.print(str(error))
            return
        self._live.print(f"saved to {name}; read it with `tablut replay {name!r}`")


def _judgement(choice: Choice, turn: SideName) -> str:
    text = score_in_words(choice.score, choice.mate, choice.points, turn) or "no score"
    return text if choice.score is None or choice.mate is not None else f"{text}, depth {choice.depth}"


def _value(score: int, unforced: str) -> str:
    """Return a score computed by `probe_moves` as text, for example ``win in 3 plies``."""
    if score == 0:
        return unforced
    mate = mate_in(score) if abs(score) >= PROVEN else None
    plies = abs(mate) if mate is not None else TABLEBASE - abs(score)
    return f"{'win' if score > 0 else 'loss'} in {said_plies(plies)}"
