"""The puzzles of the site: each with its picture, its solution and the tree that it is played from.

Proving the trees takes minutes, so they are kept in ``reports/data/puzzles`` as ``tablut puzzle tree --json`` gave
them. A test compares them with the puzzles, and with the solver.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from reports.puzzles import results as solved
from reports.stored import Provenance, read_stored
from retrograde.cli.puzzle_tree import PuzzleTrees
from retrograde.puzzles.collection import COLLECTION, read_puzzles
from retrograde.puzzles.facts import facts_of
from tablut import svg
from tablut.board import Board
from tablut.variants import load_variant

if TYPE_CHECKING:
    from retrograde.puzzles.puzzle_file import Puzzle
    from retrograde.puzzles.tree import PuzzleTree

__all__ = ["Entry", "entries", "tree_data", "trees"]

_PIXELS = 400


class Entry(NamedTuple):
    """A puzzle as its page shows it.

    Attributes
    ----------
    id, variant, position, side, claim, theme, source : str
        The puzzle, and what is said of it.
    kind : str
        Its theme in one word or two, for the filter.
    plies : int
        The shortest distance.
    grade : int or None
        1 to 5.
    line : list of str
        The solution as it was proved.
    nodes : int
        Moves that the proof looked at.
    tree : dict
        See `retrograde.puzzles.tree.PuzzleTree`.
    path, picture : str
        Where the page and the drawing go.
    drawn : str
        The drawing.
    """

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
    """Return the stored trees by the ids of their puzzles.

    Returns
    -------
    dict of str to dict
        Compared with the puzzles that ship, and walked through by the rules.

    Raises
    ------
    InputError
        If the file is damaged.
    """
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
    """Compare a tree with its puzzle and with itself; the moves of its first node are played by the rules."""
    where = f"puzzle {tree.id!r}"
    if (tree.variant, tree.position) != (puzzle.variant, str(puzzle.position)):
        raise ValueError(f"{where}: is another position")
    claim = puzzle.stipulation
    if claim is None or (tree.winner, tree.plies) != (claim.winner, claim.plies):
        raise ValueError(f"{where}: is not as it is claimed")
    for node in tree.nodes:
        for answer in (*node.right.values(), *node.wrong.values()):
            if answer.to is not None and not 0 < answer.to < len(tree.nodes):
                raise ValueError(f"{where}: leads to a node that is not there")
        if not node.right:
            raise ValueError(f"{where}: a node has no right move")
    board = Board(load_variant(tree.variant), puzzle.position)
    if tree.opening is not None:
        board.push_text(tree.opening)
    first = tree.nodes[0]
    if first.position != str(board.position) or sorted({*first.right, *first.wrong}) != sorted(
        map(str, board.legal_moves)
    ):
        raise ValueError(f"{where}: its first moves are not the legal ones")
    if puzzle.first is not None and tree.opening is None and {*map(str, puzzle.first)} != {*first.right}:
        raise ValueError(f"{where}: its right moves are not those that are claimed")


def entries() -> list[Entry]:
    """Return the puzzles that ship, in the order of their files.

    Returns
    -------
    list of Entry
        All of them.
    """
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
    """Return what the script of a puzzle's page reads, safe within a script element.

    Parameters
    ----------
    one : Entry
        The puzzle.

    Returns
    -------
    str
        JSON in ASCII without an opening angle bracket.
    """
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
