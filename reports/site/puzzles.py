"""The puzzles of the site: each with its picture, its solution and the tree that it is played from.

Proving the trees takes minutes, so they are kept in ``reports/data/puzzles`` as ``python -m reports.sources trees``
gave them. A test compares them with the puzzles, and with the solver.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from reports.puzzles import results as solved
from reports.stored import Provenance, read_stored
from retrograde.puzzles.game import PuzzleTree, PuzzleTrees, TreeNode
from retrograde.puzzles.puzzle_file import COLLECTION, facts_of, read_puzzles
from tablut import svg
from tablut.board import Board
from tablut.notation import square_name
from tablut.variants import load_variant

if TYPE_CHECKING:
    from retrograde.puzzles.puzzle_file import Puzzle

_PIXELS = 400


class Entry(NamedTuple):
    """A puzzle as its page shows it."""

    id: str
    variant: str
    position: str
    side: str
    claim: str
    theme: str
    source: str
    kind: str
    plies: int
    grade: int | None
    line: list[str]
    nodes: int
    tree: dict[str, Any]
    path: str
    picture: str
    drawn: str


class _Stored(PuzzleTrees):
    provenance: Provenance


def trees() -> dict[str, dict[str, Any]]:
    """Return the stored trees by the ids of their puzzles."""
    stored = read_stored("puzzles", "trees", _Stored, _check)
    return {tree["id"]: tree for tree in stored["puzzles"]}


def _check(stored: _Stored, _name: str) -> None:
    """Compare the trees with the puzzles that ship."""
    shipped = {puzzle.id: puzzle for puzzle in read_puzzles(COLLECTION)}
    if [tree.id for tree in stored.puzzles] != list(shipped):
        raise ValueError("puzzles: are not those that ship")
    if stored.interrupted or stored.nodes != sum(len(tree.nodes) for tree in stored.puzzles):
        raise ValueError("nodes: is not the sum of the trees")
    for tree in stored.puzzles:
        _check_tree(tree, shipped[tree.id])


def _check_tree(tree: PuzzleTree, puzzle: Puzzle) -> None:
    """Compare a tree with its puzzle, and play every right move with its defence by the rules."""
    where = f"puzzle {tree.id!r}"
    if (tree.variant, tree.position) != (puzzle.variant, str(puzzle.position)):
        raise ValueError(f"{where}: is another position")
    claim = puzzle.stipulation
    if claim is None or (tree.winner, tree.plies) != (claim.winner, claim.plies) or not tree.nodes:
        raise ValueError(f"{where}: is not as it is claimed")
    board = Board(load_variant(tree.variant), puzzle.position)
    if tree.opening is not None:
        _play(board, tree.opening, tree.opening_takes, where)
    first = tree.nodes[0]
    if first.position != str(board.position) or first.plies != tree.plies - (tree.opening is not None):
        raise ValueError(f"{where}: begins with another position")
    if puzzle.first is not None and tree.opening is None and {*map(str, puzzle.first)} != {*first.right}:
        raise ValueError(f"{where}: its right moves are not those that are claimed")
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
            if not 0 < answer.to < len(tree.nodes):
                raise ValueError(f"{where}: {move} leads to a number that is not there")
            after = tree.nodes[answer.to]
            if (after.position, after.plies) != (str(board.position), node.plies - 2):
                raise ValueError(f"{where}: {move} leads to another position")
        outcome = board.outcome()
        if (outcome is None) != (answer.to is not None) or (outcome is not None and outcome.winner != tree.winner):
            raise ValueError(f"{where}: {move} does not end as it should")
        for _ in range(board.ply):
            board.pop()
    if any(answer.to is not None for answer in node.wrong.values()):
        raise ValueError(f"{where}: a wrong move leads on")


def _play(board: Board, move: str, takes: tuple[str, ...], where: str) -> None:
    """Make a move, which takes the pieces on these squares."""
    board.push_text(move)
    if takes != tuple(square_name(square, board.size) for square in board.captured()):
        raise ValueError(f"{where}: {move} captures elsewhere")


def entries() -> list[Entry]:
    """Return the puzzles that ship, in the order of their files."""
    found, solutions = trees(), {one["id"]: one["solution"] for one in solved()["puzzles"]}
    return [_entry(puzzle, found[puzzle.id], solutions[puzzle.id]) for puzzle in read_puzzles(COLLECTION)]


def _entry(puzzle: Puzzle, tree: dict[str, Any], solution: dict[str, Any]) -> Entry:
    facts = facts_of(puzzle)
    variant = load_variant(puzzle.variant)
    drawn = svg.board(variant, puzzle.position, turn=True, pixels=_PIXELS)
    return Entry(
        id=puzzle.id,
        variant=puzzle.variant,
        position=str(puzzle.position),
        side=facts.side,
        claim=str(puzzle.stipulation),
        theme=facts.theme,
        source=puzzle.tags.get("source", ""),
        kind="pattern" if "pattern" in puzzle.tags else facts.theme,
        plies=tree["plies"],
        grade=facts.grade,
        line=solution["line"],
        nodes=solution["nodes"],
        tree=tree,
        path=f"puzzles/{puzzle.id}.html",
        picture=f"figures/puzzle-board-{puzzle.id}.svg",
        drawn=drawn,
    )


def tree_data(one: Entry) -> str:
    """Return what the script of a puzzle's page reads, safe within a script element."""
    nodes = [{name: node[name] for name in ("plies", "right", "wrong")} for node in one.tree["nodes"]]
    data = {
        "id": one.id,
        "terrain": load_variant(one.variant).terrain,
        "position": one.position,
        "winner": one.tree["winner"],
        "opening": one.tree["opening"],
        "opening_takes": one.tree["opening_takes"],
        "nodes": nodes,
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
