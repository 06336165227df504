"""Saved proofs: the winner's strategy, which has one move for every position that the winner may have to face.

A proof that a side wins within n plies is a tree where the winner has one move in each position and the loser has all
legal moves. Many positions occur in the tree repeatedly, directly or as images under the rules' symmetries. Therefore
only the strategy is saved. For each position in the tree with the winner to move, up to symmetry, the strategy contains
the move and the number of plies within which the winner wins. Most of these positions have a move that wins
immediately, and are left out. The rest of the tree follows from the rules, and the checker
(`retrograde.proofs.strategy_checker`) regenerates it.

A proof that a side never loses is saved in the same way. It has a move for each position with that side to move. The
number of plies is then 0 for each position, and null in the header.

The file consists of JSON lines: a header, followed by one array ``[position, plies, move]`` for each position. The
header states the claim: the game, the position, the plies left, the winner and the number of plies within which it
wins, and the digests of any tables that the strategy relies on. docs/proofs.md explains the fields. A file is
compressed if its name ends in ``.gz``. Files are written and read in blocks, so memory does not limit their length.

A file identifies its game by a built-in name and `Variant.digest`, or by the digest alone if the rules are custom. A
file never contains a path.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from retrograde.proofs.proof_numbers import MOST_PLIES
from retrograde.proofs.strategy import needed, strategy_of, text_of
from tablut.errors import InputError, fault_of
from tablut.position import SideName
from tablut.variants import Variant, load_variant, shipped_name, variant_names
from tablut.work.files import FileKind, beginning, excerpt, read_lines, write_bytes
from tablut.work.sealed_records import Digest, Part, fields_of, read_model

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.proofs.win_search import WinSearch
    from tablut.engine import Engine


FORMAT: Final = "tablut-proof"
VERSION: Final = 3
HELD: Final = 4
"""Version number of a file that claims that a side never loses."""
MOST_POSITIONS: Final = 100_000_000
"""Maximum number of positions in a strategy that is read from a file."""
MOST_BYTES: Final = 512 << 20
"""Maximum number of bytes to read from standard input."""
_READ: Final = (2, VERSION, HELD)
_READS = " to ".join((str(min(_READ)), str(max(_READ))))
_LINE: Final = 512
_BLOCK: Final = 4096
"""Number of lines that are written or checked together."""
PROOF_FILE: Final = FileKind("a proof file", beginning(rb'\{"format": "tablut-proof"'))
_AGAIN = "make it again with `tablut puzzle solve --save-proof FILE`"

_Plies = Annotated[int, Field(ge=0, le=MOST_PLIES)]
_Text = Annotated[str, Field(max_length=300)]


class _Kind(BaseModel):
    """Fields of the first line that are common to all versions."""

    model_config = ConfigDict(strict=True)

    format: Literal["tablut-proof"]
    version: int


class _Claim(Part):
    format: Literal["tablut-proof"] = FORMAT
    version: int = VERSION
    variant: _Text | None
    game: Digest
    position: _Text
    winner: SideName
    plies: _Plies | None
    plies_left: Annotated[int, Field(ge=0, le=10**9)] | None
    tables: dict[Annotated[str, Field(pattern="^[0-9]{1,3}v[0-9]{1,3}$")], Digest] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.plies is None) != (self.version == HELD):
            raise ValueError(f"plies must be null in version {HELD}, and only in that version")
        return self


class _Header(_Claim):
    positions: Annotated[int, Field(ge=0, le=MOST_POSITIONS)]


Entry = tuple[str, int, str]
_ENTRY: TypeAdapter[Entry] = TypeAdapter(
    tuple[_Text, _Plies, Annotated[str, Field(max_length=7)]], config=ConfigDict(strict=True)
)


class ProofCertificate(_Claim):
    """A strategy that makes a side win, or that keeps it from losing.

    The strategy is a mapping, a `PackedStrategy`, or the lines of a file.
    """

    strategy: Any = Field(exclude=True)

    def lines(self) -> Iterator[str]:
        """Yield the strategy's lines, without line endings."""
        if not isinstance(self.strategy, dict):
            return iter(self.strategy.lines())
        entries = sorted((plies, position, move) for position, (plies, move) in self.strategy.items())
        return (json.dumps([position, plies, move]) for plies, position, move in entries)

    def blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the strategy's lines in blocks, and the number of each block's first line."""
        lines, number = self.lines(), 2
        while block := list(islice(lines, _BLOCK)):
            yield number, block
            number += len(block)

    def content(self) -> Iterator[bytes]:
        """Yield the file's uncompressed content in blocks."""
        yield json.dumps({**fields_of(self, without={"strategy"}), "positions": len(self.strategy)}).encode() + b"\n"
        for _, block in self.blocks():
            yield "".join(line + "\n" for line in block).encode()

    def write(self, target: Path, remedy: str = "") -> None:
        """Write the file atomically. If this fails, ``remedy`` is the advice in the error message."""
        content = self.content()
        packed = _packed(content) if target.name.endswith(".gz") else content
        write_bytes(target, packed, remedy, kind=PROOF_FILE)


def _packed(content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the compressed content. No time stamp is included, so the same proof always produces the same bytes."""
    packer = zlib.compressobj(9, wbits=31)
    for piece in content:
        yield packer.compress(piece)
    yield packer.flush()


# -- making ----------------------------------------------------------------------------


def certificate_of(
    engine: Engine,
    prover: int,
    board: NDArray[Any],
    plies: int | None,
    strategy: Any,
    *,
    plies_left: int | None = None,
    tables: Mapping[str, str] | None = None,
) -> ProofCertificate:
    """Return the certificate for a strategy. ``plies`` is None if the strategy shows that a side never loses."""
    variant = engine.variant
    return ProofCertificate(
        version=HELD if plies is None else VERSION,
        variant=shipped_name(variant),
        game=variant.digest,
        position=text_of(engine, board),
        winner="black" if prover else "white",
        plies=plies,
        plies_left=variant.rules.move_limit if plies_left is None else plies_left,
        tables=dict(tables or {}),
        strategy=strategy,
    )


def build_certificate(
    engine: Engine, search: WinSearch, board: NDArray[Any], plies: int, most: int, *, plies_left: int | None = None
) -> ProofCertificate:
    """Return a proof's certificate. The strategy maps each position, as text, to a number of plies and a move."""
    strategy, _ = needed(strategy_of(search, board, plies, most), search.prover, board)
    entries = {position: (plies, move) for position, plies, move in map(json.loads, strategy.lines())}
    return certificate_of(engine, search.prover, board, plies, entries, plies_left=plies_left)


# -- reading ---------------------------------------------------------------------------


class _FileLines:
    """The lines of a proof file after the header. ``source`` is the file's path or content."""

    def __init__(self, what: str, source: str | Path, positions: int = 0) -> None:
        self._what, self._source, self._positions = what, source, positions

    def __len__(self) -> int:
        return self._positions

    def all_lines(self) -> Iterator[str]:
        """Yield all lines; a line that is too long is yielded in pieces."""
        if isinstance(self._source, str):
            return iter(self._source.rstrip().split("\n"))
        return (line.removesuffix("\n") for line in read_lines(self._source, self._what, _LINE))

    def lines(self) -> Iterator[str]:
        """Yield the strategy's lines. Raise `InputError` if there are not as many as the header states."""
        count = 0
        for count, line in enumerate(self.all_lines()):
            if count > self._positions:
                break
            if count:
                yield line
        if count != self._positions:
            has = f"{count:,}" if count < self._positions else f"over {self._positions:,}"
            raise InputError(f"has {has} positions, but its header gives {self._positions:,}", subject=self._what)


def read_certificate(name: str, source: str | Path) -> ProofCertificate:
    """Read a certificate from a file or a file's content. The lines are parsed later, by `entries_of`."""
    what = f"proof {excerpt(name)}"
    first = next(_FileLines(what, source).all_lines(), "")
    if not first.strip():
        raise InputError("is empty", subject=what, remedy="give a saved proof")
    claim = _header(what, first)
    strategy = _FileLines(what, source, claim.positions)
    return ProofCertificate(**claim.model_dump(exclude={"positions"}), strategy=strategy)


def entries_of(number: int, block: Iterable[str], *, falls: bool) -> Iterator[Entry]:
    """Yield the entries in a block of lines. ``number`` is the first line's number.

    In a proof of a win, ``falls`` is true and the numbers of plies must be positive. In any other proof, all numbers of
    plies must be 0.
    """
    for at, line in enumerate(block, number):
        try:
            entry = _ENTRY.validate_json(_bounded(line))
            if (entry[1] > 0) != falls:
                raise ValueError(f"the number of plies is {entry[1]}")
            yield entry
        except ValueError as error:
            raise InputError(f"expected [position, plies, move]; {_problem(error)}", subject=f"line {at}") from error


def game_of(name: str, proof: ProofCertificate, given: Variant | None = None) -> Variant:
    """Return a certificate's rule set: the built-in one that it names, or the given one.

    Raise `InputError` if the rule set's digest differs from the one in the certificate.
    """
    what = f"proof {excerpt(name)}"
    named = None
    if proof.variant is not None:
        if proof.variant not in variant_names():
            raise InputError(f"names the rule set {excerpt(proof.variant)}, which is not built in", subject=what)
        named = load_variant(proof.variant)
        if proof.game != named.digest:
            raise InputError(f"names {named.name}, but was made under other rules", subject=what, remedy=_AGAIN)
    rules = given or named
    if rules is None:
        remedy = "give the file of its rules as `variant`"
        raise InputError("was made under rules that are not built in", subject=what, remedy=remedy)
    if proof.game != rules.digest:
        remedy = f"use {named.name}, which it names" if named is not None else "give the rules of the proof"
        raise InputError(f"was made under other rules than {excerpt(rules.name)}", subject=what, remedy=remedy)
    limit = rules.rules.move_limit
    if limit is not None and proof.plies_left is None:
        plies = f"{limit} plies of a game of {rules.name}"
        raise InputError(f"does not state how many of the {plies} are left", subject=what, remedy=_AGAIN)
    return rules


def _header(what: str, line: str) -> _Header:
    """Parse a file's header."""
    try:
        version = read_model(_Kind, _bounded(line)).version
    except ValueError as error:
        raise InputError(f"is not a saved proof; line 1: {_problem(error)}", subject=what) from error
    if version not in _READ:
        raise InputError(f"has format version {version}, but this program reads {_READS}", subject=what, remedy=_AGAIN)
    try:
        return read_model(_Header, line)
    except ValidationError as error:
        raise InputError(_problem(error), subject=f"{what}, line 1", remedy=_AGAIN) from error


def _bounded(line: str) -> str:
    if len(line) > _LINE:
        raise ValueError(f"it has {len(line):,} characters, but at most {_LINE} are allowed")
    return line


def _problem(error: ValueError) -> str:
    """Return a short description of the first error."""
    return fault_of(error.errors()) if isinstance(error, ValidationError) else str(error)
