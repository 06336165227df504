"""The site: documentation, results and playable pages, built by Sphinx as one folder that needs no server.

This module is also a Sphinx extension, loaded by ``docs/conf.py``. It adds the playable pages: puzzles, and solved
boards to explore. A *walk* is a graph of the positions near the start that includes each move's value. Walks and
puzzles' solution trees are stored in ``reports/data``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from reports.puzzles import results as solved
from reports.rendering import hold, read_stored, templates
from retrograde.answers import TableWalk, WalkMove, WalkNode
from retrograde.puzzles.puzzle_file import COLLECTION, Puzzle, PuzzleFacts, facts_of, read_puzzles
from retrograde.puzzles.puzzle_game import PuzzleTree, PuzzleTrees, TreeNode
from tablut import __version__, svg
from tablut.board import Board
from tablut.errors import InputError, MachineError, OutputError
from tablut.indexing.values import Verdict, a_ply_earlier, value_of
from tablut.position import square_name
from tablut.variants import load_variant, shipped_variants
from tablut.work.files import excerpt, read_text, write_bytes
from tablut.work.sealed_records import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

MARKER: Final = "site.json"
"""Name of the file that identifies a folder as a site."""
_MOST: Final = 1 << 20
_DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_NEEDED: Final = ("sphinx", "myst_parser", "furo", "numpydoc", "sphinx_copybutton", "latex2mathml")


# -- the extension ---------------------------------------------------------------------------------


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the playable pages, their scripts and their drawings with Sphinx."""
    app.connect(
        "config-inited", lambda _, config: config.html_static_path.append(str(Path(__file__).parent / "static"))
    )
    app.connect("html-collect-pages", _collect)
    app.add_css_file("play.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for name, text in pictures().items():
        write_bytes(Path(app.outdir) / "figures" / name, text.encode())
    for page in pages():
        yield page.name, {"title": page.title, "body": page.body}, "page.html"


# -- the folder ------------------------------------------------------------------------------------


def check_folder(folder: Path) -> bool:
    """Return whether a folder contains a site, or raise an error if it has any other content."""
    where = f"site folder {excerpt(str(folder))}"
    try:
        if folder.exists() and not folder.is_dir():
            raise OutputError("is not a folder", subject=where, remedy="choose another")
        if not folder.exists() or not any(folder.iterdir()):
            return False
    except PermissionError as error:
        raise MachineError(str(error.strerror), subject=where, remedy="choose another") from error
    marker = folder / MARKER
    try:
        sound = not marker.is_symlink() and read_json(read_text(marker, "site", _MOST))["format"] == "tablut-site"
    except (InputError, ValueError, RecursionError, KeyError, TypeError):
        sound = False
    if not sound:
        raise OutputError("is not empty and does not contain a site", subject=where, remedy="choose another")
    return True


def build_site(folder: Path, *, check: bool) -> dict[str, bool]:
    """Build the site, and return whether each file changed. If ``check`` is set, write nothing."""
    if not check_folder(folder) and check:
        raise InputError(
            "has no site", subject=f"site folder {str(folder)!r}", remedy="make one with `tablut report --site DIR`"
        )
    with tempfile.TemporaryDirectory() as place:
        files = _built(Path(place))
    content = {"format": "tablut-site", "version": 2, "program": __version__}
    # Write the marker first. The folder is then recognised as a site even if the run is interrupted.
    files = {MARKER: (json.dumps(content) + "\n").encode(), **files}
    there = {name: folder / name for name in files}
    changed = {name: not path.is_file() or path.read_bytes() != files[name] for name, path in there.items()}
    for name in files if not check else ():
        if changed[name]:
            write_bytes(folder / name, files[name], remedy="choose another folder with `site`")
    return changed


def _built(place: Path) -> dict[str, bytes]:
    """Build the documentation with Sphinx, and return the files' contents, keyed by path."""
    if not (_DOCS / "conf.py").is_file():
        raise InputError(
            "the site can only be built in a checkout with the documentation",
            remedy="write only the results with `tablut report --out DIR`",
        )
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise InputError(f"the site needs {', '.join(missing)}", remedy="install the extra: pip install 'tablut[docs]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-d", str(place / "trees"), str(_DOCS), str(place / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_DOCS.parent)
    if done.returncode:
        raise MachineError(" ".join(done.stderr.split())[-300:], subject="Sphinx failed")
    made = place / "html"
    return {
        path.relative_to(made).as_posix(): path.read_bytes()
        for path in sorted(made.rglob("*"))
        if path.is_file() and path.name != ".buildinfo"
    }


# -- puzzles to play -------------------------------------------------------------------------------

_PIXELS: Final = 400


class PuzzleEntry(NamedTuple):
    """A puzzle as shown on its page: the puzzle itself, its facts, its solution and its solution tree."""

    puzzle: Puzzle
    facts: PuzzleFacts
    solution: dict[str, Any]
    tree: dict[str, Any]

    @property
    def id(self) -> str:
        """Name of the puzzle and its page."""
        return self.puzzle.id

    @property
    def kind(self) -> str:
        """Category for filtering the gallery."""
        return "pattern" if "pattern" in self.puzzle.tags else self.facts.theme


class PlayPage(NamedTuple):
    """A page: its file name without extension, its title, and its body in HTML."""

    name: str
    title: str
    body: str


def trees() -> dict[str, dict[str, Any]]:
    """Return the stored solution trees, keyed by puzzle id."""
    stored = read_stored("puzzles", "trees", PuzzleTrees, _check)
    return {tree["id"]: tree for tree in stored["puzzles"]}


def _check(stored: PuzzleTrees, _name: str) -> None:
    """Compare the trees with the built-in puzzles."""
    shipped = {puzzle.id: puzzle for puzzle in read_puzzles(COLLECTION)}
    hold([tree.id for tree in stored.puzzles] == list(shipped), "puzzles: are not the built-in ones")
    if stored.interrupted or stored.nodes != sum(len(tree.nodes) for tree in stored.puzzles):
        raise ValueError("nodes: is not the sum of the trees")
    for tree in stored.puzzles:
        _check_tree(tree, shipped[tree.id])


def _check_tree(tree: PuzzleTree, puzzle: Puzzle) -> None:
    """Compare a tree with its puzzle, and replay every correct move and the reply to it under the rules."""
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
        raise ValueError(f"{where}: its correct moves are not the claimed ones")
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
    """Make a move, and check that it captures the pieces on the given squares."""
    board.push_text(move)
    if takes != tuple(square_name(square, board.size) for square in board.captured()):
        raise ValueError(f"{where}: {move} captures other pieces than claimed")


@cache
def entries() -> list[PuzzleEntry]:
    """Return the built-in puzzles, in file order."""
    found, solutions = trees(), {proved["id"]: proved["solution"] for proved in solved()["puzzles"]}
    return [
        PuzzleEntry(puzzle, facts_of(puzzle), solutions[puzzle.id], found[puzzle.id])
        for puzzle in read_puzzles(COLLECTION)
    ]


def pages() -> list[PlayPage]:
    """Return all playable pages: the puzzle gallery, one page per puzzle, and one page per board to explore."""
    puzzles = entries()
    found = [
        _page(
            "play/index",
            "Puzzles",
            "puzzles.html.j2",
            puzzles=puzzles,
            rules=sorted({entry.puzzle.variant for entry in puzzles}),
            plies=sorted({entry.tree["plies"] for entry in puzzles}),
            themes=sorted({entry.kind for entry in puzzles}),
        )
    ]
    for place, entry in enumerate(puzzles):
        values = {
            "one": entry,
            "example": next(iter({**entry.tree["nodes"][0]["wrong"], **entry.tree["nodes"][0]["right"]})),
            "before": puzzles[place - 1].id if place else "",
            "after": puzzles[place + 1].id if place + 1 < len(puzzles) else "",
            "data": Markup(tree_data(entry)),
        }
        found.append(_page(f"play/{entry.id}", entry.id, "puzzle.html.j2", **values))
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
    """Return the drawings used by the pages, keyed by file name."""
    found = {"legend.svg": svg.legend(shipped_variants())}
    for entry in entries():
        drawing = svg.board(entry.puzzle.variant, entry.puzzle.position, turn=True, pixels=_PIXELS)
        found[f"puzzle-board-{entry.id}.svg"] = drawing
    games = {stored["variant"] for stored in walks().values()}
    return found | {f"board-{name}.svg": svg.board(load_variant(name)) for name in games}


def tree_data(entry: PuzzleEntry) -> str:
    """Return the JSON for the script on a puzzle's page, escaped for embedding in a script element."""
    nodes = [{name: node[name] for name in ("plies", "right", "wrong")} for node in entry.tree["nodes"]]
    data = {
        "id": entry.id,
        "terrain": load_variant(entry.puzzle.variant).terrain,
        "position": str(entry.puzzle.position),
        "winner": entry.tree["winner"],
        "opening": entry.tree["opening"],
        "opening_takes": entry.tree["opening_takes"],
        "nodes": nodes,
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


# -- solved boards to explore: the positions near the start, and the value of every move ----------


WALKS: Final = ("ashton-5-4v0", "brandubh-5-4v0", "ashton-5-4v2")
"""The solved boards that can be explored, in page order."""
OPENINGS: Final = "brandubh-openings"
"""A walk whose values are only partly proved. Its numbers of plies are therefore bounds."""


def walks() -> dict[str, dict[str, Any]]:
    """Return the stored walks, keyed by page name."""
    return {name: stored_walk(name) for name in (*WALKS, OPENINGS)}


def stored_walk(name: str) -> dict[str, Any]:
    """Read a stored walk, and check every position against the rules. This is too slow to do for each request."""
    return read_stored("walks", name, TableWalk, _check_walk)


def _check_walk(stored: TableWalk, name: str) -> None:
    """Check that a walk matches its name and the rules, and that the values of positions and moves are consistent."""
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
    """Return whether a move's value is consistent with the bound for the resulting position."""
    if to.dtm is None or move.dtm is None:
        return move.dtm is to.dtm and move.wdl == to.wdl == "open"
    return (move.wdl, to.wdl) in (("win", "loss"), ("loss", "win")) and move.dtm > to.dtm


def _value(rated: WalkNode | WalkMove) -> int:
    return value_of(Verdict(rated.wdl, rated.dtm))  # type: ignore[arg-type]


def walk_data(stored: dict[str, Any]) -> str:
    """Return the JSON for a walk's script, escaped for embedding in a script element."""
    exact = stored["variant"] in WALKS
    data = {"terrain": load_variant(stored["variant"]).terrain, "exact": exact, "nodes": stored["nodes"]}
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
