"""What a user may write, with mistakes: `mypy` fails if it finds another mistake, or not one of these."""

from counting import bounds
from counting.census import census
from retrograde import open_tablebase, solve_game
from retrograde.proofs import solve
from tablut import Board, Move, Position, Variant, load_variant
from tablut import Bord as Misspelt  # type: ignore[attr-defined]
from tablut.env import Batch
from tablut.play.arena import Tournament, play_match
from tablut.play.search import Searcher, SearchLimits

board = Board("bologna")
board.psuh(Move(31, 32, 9))  # type: ignore[attr-defined]
board.push_text("e4-f4")
board.push_text(44)  # type: ignore[arg-type]
for move in board.legal_moves:
    square: int = move.start
    name: str = move.start  # type: ignore[assignment]
outcome = board.outcome()
outcome.winner  # type: ignore[union-attr]
if outcome is not None:
    winner: str | None = outcome.winner
variant: Variant = load_variant("ashton")
variant.size = 11  # type: ignore[misc]
total: int = bounds(variant).corrected.total
total.bit_lenght()  # type: ignore[attr-defined]
position: Position = board.position
position.cells[0] = "b"  # type: ignore[index]
report = census(variant, plies=2)
report.plies[0].nwe  # type: ignore[attr-defined]
solved = solve_game(variant)
solved.totl("white")  # type: ignore[attr-defined]
wdl: str = open_tablebase("store").probe(board).wdl
solution = solve(load_variant("brandubh"), Position.parse("7/7/2bb3/b2Kw1w/6w/7/1b1b3 w", 7))
plies: int = solution.dtm  # type: ignore[assignment]
result = Searcher(variant).search(board)  # type: ignore[call-arg]


class Bot:
    def choose(self, board: Board, limits: SearchLimits) -> Move:
        return next(iter(board.legal_moves))


class Wrong:
    def choose(self, board: Board) -> Move:
        return next(iter(board.legal_moves))


def bot(board: Board, limits: SearchLimits) -> str:
    return str(next(iter(board.legal_moves)))


elo: float | None = play_match(variant, Bot(), "greedy", games=20).summary.elo
play_match("brandubh", Bot, bot)
play_match("brandubh", Wrong(), bot)  # type: ignore[arg-type]
rating: float = Tournament([Bot(), Bot, bot, "random"], "brandubh").play().summary.table[0].elo
children = Batch(variant, positions=[board, "4K4/9/9/9/9/9/9/9/b8 w"]).children()
children.batch.set(0, children.batch.words()[0])
known: bool = bool(children.batch.values("store").known.all())
children.prents  # type: ignore[attr-defined]
formula: str = str(bounds(variant).term("corrected.distinct").formula.doit())
bounds(variant).term("eq12").latx  # type: ignore[attr-defined]
