"""Proof trees that can be saved: the winner's strategy, one move for every position it may have to face.

A proof that a side wins within n plies is a tree in which the winner has one move and
the loser all of theirs. Positions recur in it, so what is saved is the strategy: for each
position with the winner to move that the tree meets, the move and the number of plies
within which it wins. That is the whole tree, because what the loser may do follows from
the rules; the checker (`retrograde.proofs.checker`) regenerates it from them.

The file is JSON lines: a header, then one array ``[position, plies, move]`` for each
position, in ascending order of plies. The header is the claim: under which game, from
which position, with how many plies left, who wins within how many. docs/puzzles.md says
what each of its fields means.

A file names its game by a shipped name and `Variant.digest`, or under rules of one's own
by the digest alone. It never names a path.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from retrograde.proofs.proof_numbers import MOST_PLIES
from tablut.engine.layout import SIDE_AT, head
from tablut.errors import InputError, TablutError, fault_of
from tablut.position import SideName
from tablut.store.files import excerpt, write_text
from tablut.store.records import Part
from tablut.variants import load_variant, shipped_name, variant_names

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.proofs.win_search import WinSearch
    from tablut.engine import Engine
    from tablut.variants import Variant

FORMAT: Final = "tablut-proof"
VERSION: Final = 2
MOST_POSITIONS: Final = 4_000_000
"""Most positions of a strategy, written or read."""
MOST_BYTES: Final = 512 << 20
"""Most bytes of a file that is read."""
_LINE: Final = 512
_AGAIN = "make it again with `tablut puzzle solve --save-proof`"

_Plies = Annotated[int, Field(ge=0, le=MOST_PLIES)]
_Text = Annotated[str, Field(max_length=300)]


class _Kind(BaseModel):
    """What the first line of every version says."""

    model_config = ConfigDict(strict=True)

    format: Literal["tablut-proof"]
    version: int


class _Claim(Part):
    format: Literal["tablut-proof"] = FORMAT
    version: int = VERSION
    variant: _Text | None
    game: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    position: _Text
    winner: SideName
    plies: _Plies
    plies_left: Annotated[int, Field(ge=0, le=10**9)] | None


class _Header(_Claim):
    positions: Annotated[int, Field(ge=0, le=MOST_POSITIONS)]


_ENTRY: TypeAdapter[tuple[str, int, str]] = TypeAdapter(
    tuple[_Text, Annotated[int, Field(ge=1, le=MOST_PLIES)], Annotated[str, Field(max_length=7)]],
    config=ConfigDict(strict=True),
)


class ProofCertificate(_Claim):
    """A winning strategy from a position."""

    strategy: dict[str, tuple[int, str]] = Field(exclude=True)

    def text(self) -> str:
        """Return the content of the file."""
        header = {**self.model_dump(), "positions": len(self.strategy)}
        entries = sorted((plies, position, move) for position, (plies, move) in self.strategy.items())
        lines = [json.dumps(header), *(json.dumps([position, plies, move]) for plies, position, move in entries)]
        return "\n".join(lines) + "\n"

    def write(self, target: Path) -> None:
        """Write the file, all of it or nothing."""
        write_text(target, self.text(), hint="; choose another file with --save-proof")


def build_certificate(
    engine: Engine, search: WinSearch, board: NDArray[Any], plies: int, most: int, *, plies_left: int | None = None
) -> ProofCertificate:
    """Return the strategy behind a proof."""
    variant = engine.variant
    strategies = _Strategies(engine, search)
    found = strategies.found(board, plies, most)
    return ProofCertificate(
        variant=shipped_name(variant),
        game=variant.digest,
        position=strategies.text(board),
        winner="white" if search.prover == 0 else "black",
        plies=plies,
        plies_left=variant.rules.move_limit if plies_left is None else plies_left,
        strategy=strategies.needed(board, found),
    )


class _Strategies:
    """Strategies of a winner, taken out of the search that proved the win; positions are board arrays."""

    def __init__(self, engine: Engine, search: WinSearch) -> None:
        self._engine, self._search = engine, search
        self._winner = ("white", "black")[search.prover]

    def text(self, position: NDArray[Any]) -> str:
        """Return the one-line text of a position."""
        from tablut.position import Position

        cells, side = self._engine.cells(position)
        return str(Position(cells, side))  # type: ignore[arg-type]

    def found(self, board: NDArray[Any], plies: int, most: int) -> dict[str, tuple[int, int]]:
        """Return plies and move, as the engine writes it, by the text of every position that the search came to."""
        found: dict[str, tuple[int, int]] = {}
        # Positions to be covered, each with the plies that are left.
        waiting = [(board, plies)]
        while waiting:
            position, left = waiting.pop()
            code = None
            if self._is_winners(position):
                name = self.text(position)
                if name in found and found[name][0] <= left:
                    continue
                if not self._search.within(position, left):
                    raise TablutError(f"proof of '{name}': the limits ran out; raise --nodes or --seconds")
                if len(found) >= most and name not in found:
                    where = self.text(board)
                    raise TablutError(f"proof of '{where}': has over {most:,} positions; raise --proof-positions")
                left, code = self._search.distance, self._search.move
                found[name] = left, code
                left -= 1
            waiting += [(child, left - 1) for child in self._after(position, code)]
        return found

    def needed(self, board: NDArray[Any], found: dict[str, tuple[int, int]]) -> dict[str, tuple[int, str]]:
        """Return what the strategy comes to: where a faster move was found, not what only the slower one led to."""
        from tablut.position import Move

        size = self._engine.variant.size
        strategy: dict[str, tuple[int, str]] = {}
        uncovered = [board]
        while uncovered:
            position, code = uncovered.pop(), None
            if self._is_winners(position):
                name = self.text(position)
                if name in strategy:
                    continue
                left, code = found[name]
                strategy[name] = left, str(Move.from_code(code, size))
            uncovered += self._after(position, code)
        return strategy

    def _is_winners(self, position: NDArray[Any]) -> bool:
        """Return whether it is the winner's turn."""
        return int(head(position)[SIDE_AT]) == self._search.prover

    def _after(self, position: NDArray[Any], code: int | None) -> list[NDArray[Any]]:
        """Return the positions that the loser's moves lead to, after the winner's move if it is the winner's turn."""
        from tablut.rules.outcome import OUTCOMES

        engine = self._engine
        if code is not None:
            position = position.copy()
            _, outcome = engine.make(position, code)
            if outcome:
                return []
        children = engine.expand(engine.words(position))
        decided = [OUTCOMES[number] for number in children.outcomes.tolist()]
        assert all(outcome is None or outcome.winner == self._winner for outcome in decided), self.text(position)
        return [child for child, end in zip(engine.boards(children.words), decided, strict=True) if end is None]


# -- reading ---------------------------------------------------------------------------


def read_certificate(name: str, content: str) -> ProofCertificate:
    """Return the certificate of a file's content."""
    what = f"proof {excerpt(name)}"
    if not content.strip():
        raise InputError(f"{what}: is empty; there is nothing to check")
    count = content.count("\n")
    if count > MOST_POSITIONS + 1:
        raise InputError(f"{what}: has {count:,} lines; a proof has {MOST_POSITIONS + 1:,} at most")
    first, *lines = content.removesuffix("\n").split("\n")
    claim = _header(what, first)
    if len(lines) != claim.positions:
        raise InputError(f"{what}: has {len(lines):,} positions, its header says {claim.positions:,}")
    strategy: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines, 2):
        try:
            position, plies, move = _ENTRY.validate_json(_bounded(line))
        except ValueError as error:
            raise InputError(f"{what}, line {number}: expected [position, plies, move]; {_problem(error)}") from error
        if position in strategy:
            raise InputError(f"{what}, line {number}: the position {excerpt(position)} occurs twice")
        strategy[position] = plies, move
    return ProofCertificate(**claim.model_dump(exclude={"positions"}), strategy=strategy)


def game_of(name: str, proof: ProofCertificate, given: Variant | None = None) -> Variant:
    """Return the rule set of a certificate: the one that ships under its name, or the one that is given."""
    what = f"proof {excerpt(name)}"
    ships = proof.variant in variant_names()
    if proof.variant is not None and not ships:
        raise InputError(f"{what}: names the rule set {excerpt(proof.variant)}, which does not ship")
    if given is None and not ships:
        raise InputError(f"{what}: was made under rules that do not ship; name their file with --variant")
    named = load_variant(proof.variant) if ships and proof.variant is not None else None
    if named is not None and proof.game != named.digest:
        raise InputError(f"{what}: was made under other rules than {named.name}, which it names; {_AGAIN}")
    rules = given or named
    assert rules is not None
    if proof.game != rules.digest:
        says = f"it names {named.name}" if named is not None else "name them with --variant"
        raise InputError(f"{what}: was made under other rules than {excerpt(rules.name)}; {says}")
    limit = rules.rules.move_limit
    if limit is not None and proof.plies_left is None:
        raise InputError(
            f"{what}: does not say how many plies are left of the {limit} of a game of {rules.name}; {_AGAIN}"
        )
    return rules


def _header(what: str, line: str) -> _Header:
    """Return the header of a file."""
    try:
        version = _Kind.model_validate_json(_bounded(line)).version
    except ValueError as error:
        raise InputError(f"{what}: is no file that --save-proof wrote; line 1: {_problem(error)}") from error
    if version != VERSION:
        raise InputError(f"{what}: has format version {version}; this program reads {VERSION}; {_AGAIN}")
    try:
        return _Header.model_validate_json(line)
    except ValidationError as error:
        raise InputError(f"{what}, line 1: {_problem(error)}; {_AGAIN}") from error


def _bounded(line: str) -> str:
    if len(line) > _LINE:
        raise ValueError(f"it has {len(line):,} characters, and {_LINE} are the most")
    return line


def _problem(error: ValueError) -> str:
    """Return the first thing that is wrong, in a few words."""
    return fault_of(error.errors()) if isinstance(error, ValidationError) else str(error)
