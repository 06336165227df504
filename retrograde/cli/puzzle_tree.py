"""``tablut puzzle tree``: the whole solution of puzzles, for programs that let people solve them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from retrograde.cli.puzzle_options import MemoryOption, NodesOption
from retrograde.puzzles.tree import MOST_NODES, PuzzleTree
from tablut.cli.options import variant_option
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.results import Result
from tablut.running.machine import check_memory

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole


class PuzzleTrees(Result):
    """The trees of a file's puzzles, as ``tablut puzzle tree`` answers them."""

    file: str
    nodes: int
    interrupted: bool = False
    puzzles: list[PuzzleTree]


@command
def tree_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A puzzle file, or one that ships, or a puzzle's id.")
    ] = "collection",
    variant: Annotated[str | None, variant_option("The rule set of a file that names none.")] = None,
    nodes: NodesOption = 200_000_000,
    memory: MemoryOption = 256,
    most: Annotated[
        int, typer.Option("--most", min=1, max=10**6, help="Most positions of a tree, with the winner to move.")
    ] = MOST_NODES,
) -> Reply:
    """Prove every move of the winner that can come up in a puzzle: right with its defence, or wrong with a refutation.

    With --json the whole trees. A program that has them plays the puzzles without knowing the rules.
    """
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.collection import read_puzzles
    from retrograde.puzzles.tree import puzzle_tree

    check_memory("--memory", memory)
    limits = ProofLimits(nodes=nodes, memory_bytes=memory << 20)
    puzzles = read_puzzles(file, variant)
    trees: list[PuzzleTree] = []
    interrupted = False
    with progress("puzzles") as display:
        task = display.add_task("", total=len(puzzles))
        try:
            for puzzle in puzzles:
                trees.append(interruptible(partial(puzzle_tree, puzzle, limits, most)))
                display.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    found = PuzzleTrees(file=file, nodes=sum(len(tree.nodes) for tree in trees), interrupted=interrupted, puzzles=trees)
    return Reply(found, lambda console: _show(console, found), EXIT_INTERRUPTED if interrupted else 0)


def _show(console: PeopleConsole, found: PuzzleTrees) -> None:
    for tree in found.puzzles:
        console.print(f"{tree.id}, {tree.variant}: {tree.winner} wins in {tree.plies}", style="bold", soft_wrap=True)
        if tree.opening is not None:
            console.print(f"  {tree.opening} is the longest defence")
        for number, node in enumerate(tree.nodes):
            for move, answer in node.right.items():
                then = "" if answer.reply is None else f"  {answer.reply}"
                onward = "" if answer.to is None else f"  → {answer.to}"
                console.print(f"  {number}: {move}{then}{onward}")
    moves = sum(len(node.right) + len(node.wrong) for tree in found.puzzles for node in tree.nodes)
    console.print(
        f"{len(found.puzzles)} puzzles, {found.nodes:,} positions, {moves:,} moves, each of them proved", style="dim"
    )
