"""What a user may write; mypy must find the mistakes marked ``E``, each of the kind named, and nothing else."""

from counting import bounds
from counting.census import census
from retrograde import open_tablebase, solve_game
from retrograde.puzzles import solve
from tablut import Board, Move, Position, Variant, load_variant
from tablut import Bord as Misspelt  # E: attr-defined
from tablut.search import Searcher

board = Board("bologna")
board.psuh(Move(31, 32, 9))  # E: attr-defined
board.push_text("e4-f4")
board.push_text(44)  # E: arg-type
for move in board.legal_moves:
    square: int = move.start
    name: str = move.start  # E: assignment
outcome = board.outcome()
outcome.winner  # E: union-attr
if outcome is not None:
    winner: str | None = outcome.winner
variant: Variant = load_variant("ashton")
variant.size = 11  # E: misc
total: int = bounds(variant).corrected.total
total.bit_lenght()  # E: attr-defined
position: Position = board.position
position.cells[0] = "b"  # E: index
report = census(variant, plies=2)
report.plies[0].nwe  # E: attr-defined
solved = solve_game(variant)
solved.totl("white")  # E: attr-defined
wdl: str = open_tablebase("store").probe(board).wdl
solution = solve(load_variant("brandubh"), Position.parse("7/7/2bb3/b2Kw1w/6w/7/1b1b3 w", 7))
plies: int = solution.dtm  # E: assignment
result = Searcher(variant).search(board)  # E: call-arg
