"""Pages that are played in the browser without a server: puzzles, and solved boards to explore.

The trees of puzzles and the walks take minutes to prove, so they are stored in ``reports/data`` by
`reports/studies/sources.py`. Tests compare them with the puzzles and with the solver. A page in this module is only a
title and a body; the site builder adds its own header and footer.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from reports.puzzles import results as solved
from reports.rendering import templates
from reports.stored import hold, read_stored
from retrograde.answers import TableWalk, WalkMove, WalkNode
from retrograde.puzzles.game import PuzzleTree, PuzzleTrees, TreeNode
from retrograde.puzzles.puzzle_file import COLLECTION, Puzzle, PuzzleFacts, facts_of, read_puzzles
from tablut import svg
from tablut.board import Board
from tablut.indexing.values import Verdict, a_ply_earlier, value_of
from tablut.notation import square_name
from tablut.variants import load_variant, shipped_variants

_PIXELS = 400


class PuzzleEntry(NamedTuple):
    """A puzzle as shown on its page: the puzzle itself, its facts, its solution and its solution tree."""

    puzzle: Puzzle
    facts: PuzzleFacts
    solution: dict[str, Any]
    tree: dict[str, Any]

    @property
    def id(self) -> str:
        """Name of the puzzle, and of its page."""
        return self.puzzle.id

    @property
    def kind(self) -> str:
        """Category by which the gallery can be filtered."""
        return "pattern" if "pattern" in self.puzzle.tags else self.facts.theme


class PlayPage(NamedTuple):
    """A page: its file name without extension, its title, and its body in HTML."""

    name: str
    title: str
    body: str


def trees() -> dict[str, dict[str, Any]]:
    """Return the stored solution trees by puzzle id."""
    stored = read_stored("puzzles", "trees", PuzzleTrees, _check)
    return {tree["id"]: tree for tree in stored["puzzles"]}


def _check(stored: PuzzleTrees, _name: str) -> None:
    """Compare the trees with the shipped puzzles."""
    shipped = {puzzle.id: puzzle for puzzle in read_puzzles(COLLECTION)}
    hold([tree.id for tree in stored.puzzles] == list(shipped), "puzzles: are not the shipped ones")
    if stored.interrupted or stored.nodes != sum(len(tree.nodes) for tree in stored.puzzles):
        raise ValueError("nodes: is not the sum of the trees")
    for tree in stored.puzzles:
        _check_tree(tree, shipped[tree.id])


def _check_tree(tree: PuzzleTree, puzzle: Puzzle) -> None:
    """Compare a tree with its puzzle, and replay every right move and its defence by the rules."""
    where = f"puzzle {tree.id!r}"
    hold((tree.variant, tree.position) == (puzzle.variant, str(puzzle.position)), f"{where}: has a wrong position")
    claim = puzzle.stipulation
    if claim is None or (tree.winner, tree.plies) != (claim.winner, claim.plies) or not tree.nodes:
        raise ValueError(f"{where}: does not match its claim")
    board = Board(load_variant(tree.variant), puzzle.position)
    if tree.opening is not None:
        _play(board, tree.opening, tree.opening_takes, where)
    first = tree.nodes[0]
    if first.position != str(board.position) or first.plies != tree.plies - (tree.opening is not None):
        raise ValueError(f"{where}: begins with a wrong position")
    if puzzle.first is not None and tree.opening is None and {*map(str, puzzle.first)} != {*first.right}:
        raise ValueError(f"{where}: its right moves are not the claimed ones")
    for node in tree.nodes:
        _check_node(tree, node, where)


def _check_node(tree: PuzzleTree, node: TreeNode, where: str) -> None:
    board = Board(load_variant(tree.variant), node.position)
    legal = sorted(map(str, board.legal_moves))
    if board.turn != tree.winner or not node.right or sorted([*node.right, *node.wrong]) != legal:
        raise ValueError(f"{where}: the moves of '{node.position}' are not the legal ones")
    for move, answer in node.right.items():
        _play(board, move, answer.takes, where)
        if answer.reply is not None:
            _play(board, answer.reply, answer.reply_takes, where)
        if answer.to is not None:
            hold(0 < answer.to < len(tree.nodes), f"{where}: {move} leads to a number that does not exist")
            after = tree.nodes[answer.to]
            if (after.position, after.plies) != (str(board.position), node.plies - 2):
                raise ValueError(f"{where}: {move} leads to a wrong position")
        outcome = board.outcome()
        if (outcome is None) != (answer.to is not None) or (outcome is not None and outcome.winner != tree.winner):
            raise ValueError(f"{where}: {move} does not end as claimed")
        for _ in range(board.ply):
            board.pop()
    hold(all(answer.to is None for answer in node.wrong.values()), f"{where}: a wrong move has a successor")


def _play(board: Board, move: str, takes: tuple[str, ...], where: str) -> None:
    """Make a move and check that it captures the pieces on the given squares."""
    board.push_text(move)
    if takes != tuple(square_name(square, board.size) for square in board.captured()):
        raise ValueError(f"{where}: {move} captures other pieces than claimed")


@cache
def entries() -> list[PuzzleEntry]:
    """Return the shipped puzzles, in the order of their files."""
    found, solutions = trees(), {one["id"]: one["solution"] for one in solved()["puzzles"]}
    return [PuzzleEntry(one, facts_of(one), solutions[one.id], found[one.id]) for one in read_puzzles(COLLECTION)]


def pages() -> list[PlayPage]:
    """Return all pages: the puzzle gallery, one page per puzzle, and one page per board to explore."""
    puzzles = entries()
    found = [
        _page(
            "play/index",
            "Puzzles",
            "puzzles.html.j2",
            puzzles=puzzles,
            rules=sorted({one.puzzle.variant for one in puzzles}),
            plies=sorted({one.tree["plies"] for one in puzzles}),
            themes=sorted({one.kind for one in puzzles}),
        )
    ]
    for place, one in enumerate(puzzles):
        values = {
            "one": one,
            "example": next(iter({**one.tree["nodes"][0]["wrong"], **one.tree["nodes"][0]["right"]})),
            "before": puzzles[place - 1].id if place else "",
            "after": puzzles[place + 1].id if place + 1 < len(puzzles) else "",
            "data": Markup(tree_data(one)),
        }
        found.append(_page(f"play/{one.id}", one.id, "puzzle.html.j2", **values))
    for name, stored in walks().items():
        values = {
            "board": name,
            "game": stored["variant"],
            "exact": name in WALKS,
            "stored": stored,
            "position": stored["nodes"][0]["position"],
            "moves": sum(len(node["moves"]) for node in stored["nodes"]),
            "data": Markup(walk_data(stored)),
        }
        title = f"Walk {name}" if name in WALKS else "Brandubh's openings"
        found.append(_page(f"walks/{name}", title, "walk.html.j2", **values))
    return found


def _page(name: str, title: str, template: str, **values: Any) -> PlayPage:
    return PlayPage(
        name,
        title,
        templates("site/templates", html=True).get_template(template).render(title=title, root="../", **values),
    )


def pictures() -> dict[str, str]:
    """Return the drawings used by the pages, by file name."""
    found = {"legend.svg": svg.legend(shipped_variants())}
    for one in entries():
        drawn = svg.board(one.puzzle.variant, one.puzzle.position, turn=True, pixels=_PIXELS)
        found[f"puzzle-board-{one.id}.svg"] = drawn
    return found | {
        f"board-{name}.svg": svg.board(load_variant(name)) for name in {one["variant"] for one in walks().values()}
    }


def tree_data(one: PuzzleEntry) -> str:
    """Return the JSON read by the script of a puzzle's page, escaped for embedding in a script element."""
    nodes = [{name: node[name] for name in ("plies", "right", "wrong")} for node in one.tree["nodes"]]
    data = {
        "id": one.id,
        "terrain": load_variant(one.puzzle.variant).terrain,
        "position": str(one.puzzle.position),
        "winner": one.tree["winner"],
        "opening": one.tree["opening"],
        "opening_takes": one.tree["opening_takes"],
        "nodes": nodes,
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


# -- solved boards to explore in the browser: positions near the start, every move with its value


WALKS: Final = ("ashton-5-4v0", "brandubh-5-4v0", "ashton-5-4v2")
"""The solved boards that can be explored, in the order of the pages."""
OPENINGS: Final = "brandubh-openings"
"""A walk that is only partly proved, so that its numbers are bounds."""


def walks() -> dict[str, dict[str, Any]]:
    """Return the stored walks by page name."""
    return {name: stored_walk(name) for name in (*WALKS, OPENINGS)}


def stored_walk(name: str) -> dict[str, Any]:
    """Read a stored walk and check every position against the rules. This is slow: do not call it for each request."""
    return read_stored("walks", name, TableWalk, _check_walk)


def _check_walk(stored: TableWalk, name: str) -> None:
    """Check a walk against its name and the rules, and check each value against the values to which its moves lead."""
    game, exact = (name, True) if name in WALKS else ("brandubh-federation", False)
    rules = load_variant(game)
    if stored.variant != game or not stored.nodes or stored.nodes[0].position != rules.start_position:
        raise ValueError("variant, nodes: do not match this board")
    for node in stored.nodes:
        if sorted(move.move for move in node.moves) != sorted(map(str, Board(rules, node.position).legal_moves)):
            raise ValueError(f"position {node.position!r}: has other moves than the legal ones")
        if exact and node.moves and _value(node.moves[0]) != _value(node):
            raise ValueError(f"position {node.position!r}: does not have the value of its best move")
        for move in node.moves:
            if move.to is None:
                continue
            if not 0 <= move.to < len(stored.nodes):
                raise ValueError(f"position {node.position!r}: {move.move} leads to a number that does not exist")
            if not (_follows if exact else _is_bounded)(move, stored.nodes[move.to]):
                raise ValueError(f"position {node.position!r}: {move.move} does not have the value of its target")


def _follows(move: WalkMove, to: WalkNode) -> bool:
    return _value(move) == a_ply_earlier(_value(to))


def _is_bounded(move: WalkMove, to: WalkNode) -> bool:
    """Return whether the value of a move is consistent with the bound of the position to which it leads."""
    if to.dtm is None or move.dtm is None:
        return move.dtm is to.dtm and move.wdl == to.wdl == "open"
    return (move.wdl, to.wdl) in (("win", "loss"), ("loss", "win")) and move.dtm > to.dtm


def _value(one: WalkNode | WalkMove) -> int:
    return value_of(Verdict(one.wdl, one.dtm))  # type: ignore[arg-type]


def walk_data(stored: dict[str, Any]) -> str:
    """Return the JSON read by the script of a walk, escaped for embedding in a script element."""
    exact = stored["variant"] in WALKS
    data = {"terrain": load_variant(stored["variant"]).terrain, "exact": exact, "nodes": stored["nodes"]}
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
