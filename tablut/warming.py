"""The game's own cases for `tablut warmup`: small ones that call every kernel with every kind of argument.

A package lists its cases in a tuple ``COMMANDS`` and registers that under the entry
point group ``tablut.warmup``. A case is a command line, or a function for what no
command calls; ``{folder}`` in a line is an empty folder that all cases of the run share.
There are boards of one word and of several.
"""

__all__ = ["COMMANDS", "changes_of_keys", "questions_of_players"]


def changes_of_keys() -> None:
    """Ask an engine what a move changes in a key: programs that use the packages may, and no command does."""
    from tablut.engine import engine_for
    from tablut.variants import load_variant

    engine = engine_for(load_variant("ashton-5-4v0"))
    board = engine.start()
    undo, _ = engine.make(board, int(engine.legal_moves(board)[0]))
    engine.key_change(board, undo)
    engine.unmake(board, undo)


def questions_of_players() -> None:
    """Ask the kernels of the players what no player asks: for a path alone, for worths without a search."""
    import numpy as np

    from tablut.engine import engine_for
    from tablut.play.players.kernels.minimax import PAYOFF, new_evaluation, values_of
    from tablut.play.players.kernels.paths import find_path, path_tables
    from tablut.variants import load_variant

    variant = load_variant("ashton-5-4v0")
    engine = engine_for(variant)
    board, values = engine.start(), np.zeros(1, dtype=np.int64)
    find_path(engine.tables, path_tables(variant), board)
    values_of(engine.tables, new_evaluation(variant, PAYOFF, (1, 1, 1, 1)), board[None], values - 1, 0, values)


COMMANDS = (
    changes_of_keys,
    questions_of_players,
    *(
        case.format(variant=variant, folder="{folder}")
        for variant in ("ashton", "ashton-5-4v0")
        for case in (
            "moves -v {variant}",
            "perft -d 2 -v {variant}",
            "perft -d 2 --applied -v {variant}",
            "perft -d 2 --cache 1 -v {variant}",
            "perft -d 2 --divide --threads 2 -v {variant}",
            "bestmove --nodes 1000 --hash 1 -v {variant}",
            "bestmove --player random -v {variant}",
            "bestmove --player greedy -v {variant}",
            "bestmove --player heuristic -v {variant}",
            "bestmove --player mcts-heuristic --playouts 20 --option margin=5000 --hash 1 -v {variant}",
            "bestmove --player payoff --depth 2 -v {variant}",
            "symmetry verify --samples 10 --most 100 -v {variant}",
            "rank -v {variant}",
            "unrank 0 -v {variant}",
        )
    ),
)
