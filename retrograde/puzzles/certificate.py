"""Proof trees that can be saved: the winner's strategy, one move for every position it may have to face.

A proof that a side wins within n plies is a tree in which the winner has one move and
the loser all of theirs. Positions recur in it, so what is saved is the strategy: for each
position with the winner to move that the tree meets, the move and the number of plies
within which it wins. That is the whole tree, because what the loser may do follows from
the rules; the checker (`retrograde.puzzles.checker`) regenerates it from them.

The file is JSON lines: a header, then one array ``[position, plies, move]`` for each
position, in ascending order of plies.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tablut.engine.layout import SIDE_AT, head
from tablut.errors import InputError, TablutError
from tablut.files import write_text
from tablut.position import Move, Position

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.puzzles.win_search import WinSearch
    from tablut.engine import Engine
    from tablut.variants import Variant

__all__ = ["FORMAT", "VERSION", "Certificate", "build_certificate", "read_certificate", "rules_digest"]

FORMAT: Final = "tablut-proof"
VERSION: Final = 1


@dataclass(frozen=True)
class Certificate:
    """A winning strategy from a position.

    Attributes
    ----------
    variant : str
        Name of the rule set.
    rules : str
        Its `rules_digest`.
    position : str
        One-line text of the root, the side to move included.
    winner : {'white', 'black'}
        Who wins.
    plies : int
        Within how many plies.
    strategy : dict
        By the text of a position with the winner to move: plies and move.
    """

    variant: str
    rules: str
    position: str
    winner: Literal["white", "black"]
    plies: int
    strategy: dict[str, tuple[int, str]]

    def write(self, target: Path) -> None:
        """Write the file, all of it or nothing."""
        header = {
            "format": FORMAT,
            "version": VERSION,
            "variant": self.variant,
            "rules": self.rules,
            "position": self.position,
            "winner": self.winner,
            "plies": self.plies,
            "positions": len(self.strategy),
        }
        entries = sorted((plies, position, move) for position, (plies, move) in self.strategy.items())
        lines = [json.dumps(header), *(json.dumps([position, plies, move]) for plies, position, move in entries)]
        write_text(target, "\n".join(lines) + "\n", hint="; choose another file with --save-proof")


def rules_digest(variant: Variant) -> str:
    """Return a digest of everything that a proof depends on: terrain and rule fields.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> rules_digest(load_variant("ashton")) == rules_digest(load_variant("bologna"))
    False
    """
    content = {"terrain": variant.terrain, "rules": variant.rules.model_dump(mode="json", by_alias=True)}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def build_certificate(engine: Engine, search: WinSearch, board: NDArray[Any], plies: int, most: int) -> Certificate:
    """Return the strategy behind a proof.

    Parameters
    ----------
    engine : Engine
        Of the variant.
    search : WinSearch
        Of the winner, without a tablebase; what its table has lost is proved again.
    board : ndarray of uint32, shape (2N + 4,)
        The root.
    plies : int
        Within which the winner wins.
    most : int
        Most positions of a strategy.

    Raises
    ------
    TablutError
        If the strategy is larger, or the limits of the search run out.
    """
    from tablut.rules.outcome import OUTCOMES

    size = engine.variant.size
    winner: Literal["white", "black"] = "white" if search.prover == 0 else "black"
    strategy: dict[str, tuple[int, str]] = {}

    def prove(position: NDArray[Any], within: int) -> None:
        if not search.within(position, within):
            raise TablutError(f"proof of '{text(position)}': the limits ran out; raise --nodes or --seconds")

    def text(position: NDArray[Any]) -> str:
        cells, side = engine.cells(position)
        return str(Position(cells, side))  # type: ignore[arg-type]

    # Positions to be covered, each with the plies that are left.
    waiting = [(board, plies)]
    while waiting:
        position, left = waiting.pop()
        if int(head(position)[SIDE_AT]) == search.prover:
            name = text(position)
            if name in strategy and strategy[name][0] <= left:
                continue
            prove(position, left)
            left, code = search.distance, search.move
            if len(strategy) >= most:
                raise TablutError(f"proof of '{text(board)}': has over {most:,} positions; raise --proof-positions")
            strategy[name] = left, str(Move.from_code(code, size))
            position = position.copy()
            _, outcome = engine.make(position, code)
            if outcome:
                continue
            left -= 1
        children = engine.expand(engine.words(position))
        decided = [OUTCOMES[number] for number in children.outcomes.tolist()]
        assert all(outcome is None or outcome.winner == winner for outcome in decided), text(position)
        for child, outcome in zip(engine.boards(children.words), decided, strict=True):
            if outcome is None:
                waiting.append((child, left - 1))
    return Certificate(engine.variant.name, rules_digest(engine.variant), text(board), winner, plies, strategy)


def read_certificate(name: str, content: str) -> Certificate:
    """Return the certificate of a file's content.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    content : str
        Its text.

    Raises
    ------
    InputError
        Naming file and line, if it is no proof, damaged or of another format version.
    """
    lines = content.splitlines()
    header = _parsed(name, 1, lines[0] if lines else "")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"proof {name!r}: is no file that --save-proof wrote")
    if header.get("version") != VERSION:
        raise InputError(f"proof {name!r}: has format version {header.get('version')}; this program reads {VERSION}")
    expected = {"variant": str, "rules": str, "position": str, "winner": str, "plies": int, "positions": int}
    for key, kind in expected.items():
        if not isinstance(header.get(key), kind):
            raise InputError(f"proof {name!r}, line 1: lacks {key!r}")
    if header["winner"] not in ("white", "black"):
        raise InputError(f"proof {name!r}, line 1: the winner is white or black, not {header['winner']!r}")
    if len(lines) - 1 != header["positions"]:
        raise InputError(f"proof {name!r}: has {len(lines) - 1} positions, its header says {header['positions']}")
    strategy = {}
    for number, line in enumerate(lines[1:], 2):
        entry = _parsed(name, number, line)
        match entry:
            case [str(position), int(plies), str(move)] if plies > 0:
                strategy[position] = plies, move
            case _:
                raise InputError(f"proof {name!r}, line {number}: expected [position, plies, move]")
    return Certificate(
        header["variant"], header["rules"], header["position"], header["winner"], header["plies"], strategy
    )


def _parsed(name: str, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InputError(f"proof {name!r}, line {number}: is damaged, not JSON") from error
