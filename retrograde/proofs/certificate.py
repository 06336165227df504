"""Saved proofs: the winner's strategy, with one move for every position that it may have to face.

A proof that a side wins within n plies is a tree in which the winner has one move and
the loser all legal moves. Positions recur in it, directly or as images under the
symmetries of the rules. Therefore only the strategy is saved: for each position of the tree with the
winner to move, up to symmetry, the move and the number of plies
within which it wins. Positions with a move that wins immediately, which are the majority, are left out.
The rest of the tree follows from the rules, from which the checker
(`retrograde.proofs.checker`) regenerates it.

A proof that a side never loses is saved in the same way: the move for each position in which that side is to move, and
0 for the plies, which are null in the header.

The file consists of JSON lines: a header, then one array ``[position, plies, move]`` for each
position. The header states the claim: the game, the position, the plies left,
which side wins and within how many plies, and the digests of the tables in which the strategy
may end. docs/proofs.md explains its fields. A file whose name ends in ``.gz``
is compressed. Files are written and read in blocks, so their length is not limited by memory.

A file identifies its game by a shipped name and `Variant.digest`, or by the digest alone if the rules are custom. It
never contains a path.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from retrograde.proofs.proof_numbers import MOST_PLIES
from retrograde.proofs.solution import NotWonError, keys_of
from retrograde.proofs.table import LONGEST
from tablut.engine.layout import ATTACKERS_AT, DEFENDERS_AT, SIDE_AT, head
from tablut.errors import InputError, TablutError, fault_of, input_failure
from tablut.indexing.values import MISSING
from tablut.position import Move, Position, SideName
from tablut.variants import Variant, load_variant, shipped_name, variant_names
from tablut.work.files import excerpt, write_bytes
from tablut.work.records import Digest, Part, fields_of, read_model

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.proofs.win_search import WinSearch
    from symmetry import Symmetry
    from tablut.engine import Engine
    from tablut.prober import Prober

    Group = Sequence[Symmetry]
    Parts = Sequence["PackedStrategy"]

FORMAT: Final = "tablut-proof"
VERSION: Final = 3
HELD: Final = 4
"""Version of a file that claims that a side never loses."""
MOST_POSITIONS: Final = 100_000_000
"""Maximum number of positions in a strategy that is read."""
MOST_BYTES: Final = 512 << 20
"""Maximum number of bytes read from standard input."""
_READ: Final = (2, VERSION, HELD)
_READS = " to ".join((str(min(_READ)), str(max(_READ))))
_LINE: Final = 512
_BLOCK: Final = 4096
"""Number of lines that are written or checked together."""
_BATCH: Final = 1 << 16
"""Number of positions that are expanded together."""
_AGAIN = "make it again with `tablut puzzle solve --save-proof`"

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
    """A strategy by which a side wins or never loses, given as a mapping, a `PackedStrategy` or the lines of a file."""

    strategy: Any = Field(exclude=True)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the strategy, without line ends."""
        if not isinstance(self.strategy, dict):
            return iter(self.strategy.lines())
        entries = sorted((plies, position, move) for position, (plies, move) in self.strategy.items())
        return (json.dumps([position, plies, move]) for plies, position, move in entries)

    def blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines of the strategy in blocks, each with the number of its first line."""
        lines, number = self.lines(), 2
        while block := list(islice(lines, _BLOCK)):
            yield number, block
            number += len(block)

    def text(self) -> str:
        """Return the content of the file."""
        return "".join(map(bytes.decode, self._content()))

    def _content(self) -> Iterator[bytes]:
        yield json.dumps({**fields_of(self, without={"strategy"}), "positions": len(self.strategy)}).encode() + b"\n"
        for _, block in self.blocks():
            yield "".join(line + "\n" for line in block).encode()

    def write(self, target: Path, remedy: str = "") -> None:
        """Write the file atomically; ``remedy`` is the advice in the error message if this fails."""
        content = self._content()
        write_bytes(target, _packed(content) if target.name.endswith(".gz") else content, remedy)


def _packed(content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield compressed content. It has no time stamp, so that the same proof gives the same bytes."""
    packer = zlib.compressobj(9, wbits=31)
    for piece in content:
        yield packer.compress(piece)
    yield packer.flush()


# -- making ----------------------------------------------------------------------------


class PackedStrategy(NamedTuple):
    """Strategy as arrays: positions with the winner to move as words in ascending order, plies and move codes.

    The winner wins within the given plies. In a strategy by which a side never loses, they are 0.
    """

    engine: Engine
    words: NDArray[np.uint64]
    plies: NDArray[np.int64]
    moves: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.plies)

    def chosen(self, which: Any) -> PackedStrategy:
        """Return the strategy for some of the positions."""
        return PackedStrategy(self.engine, self.words[which], self.plies[which], self.moves[which])

    def lines(self) -> Iterator[str]:
        """Yield the lines of a proof file, fewest plies first."""
        size = self.engine.variant.size
        order = np.argsort(self.plies, kind="stable")
        for start in range(0, len(self), _BLOCK):
            chosen = order[start : start + _BLOCK]
            boards = self.engine.boards(self.words[chosen])
            for board, plies, code in zip(
                boards, self.plies[chosen].tolist(), self.moves[chosen].tolist(), strict=True
            ):
                yield json.dumps([text_of(self.engine, board), plies, str(Move.from_code(code, size))])


def text_of(engine: Engine, board: NDArray[Any]) -> str:
    """Return the one-line text of a board array."""
    cells, side = engine.cells(board)
    return str(Position(cells, side))  # type: ignore[arg-type]


def joined(engine: Engine, parts: Parts) -> PackedStrategy:
    """Join several strategies of one winner, keeping the fewest plies for each position."""
    words, plies, moves = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    order = np.lexsort((plies, *words.T[::-1]))
    fresh = np.ones(len(words), dtype=bool)
    fresh[1:] = (words[order][1:] != words[order][:-1]).any(axis=1)
    first = order[fresh]
    return PackedStrategy(engine, words[first], plies[first], moves[first])


def _turned(strategy: PackedStrategy) -> PackedStrategy:
    """Return a strategy with its positions and moves in canonical form."""
    engine, group = strategy.engine, strategy.engine.variant.symmetries
    words, elements = engine.canonical(strategy.words, group)
    pairs, place = np.unique(np.column_stack([elements, strategy.moves]), axis=0, return_inverse=True)
    images = [Move.from_code(code, engine.variant.size).transformed(group[at]).code for at, code in pairs.tolist()]
    moves = np.array(images, dtype=np.int32)[place]
    return joined(engine, [PackedStrategy(engine, words, strategy.plies, moves)])


def _replies(engine: Engine, words: NDArray[np.uint64], left: NDArray[np.int64], group: Group) -> PackedStrategy:
    """Return the undecided positions to which the loser's moves lead, each with the fewest plies left there."""
    children = engine.expand(words)
    on = children.outcomes == 0
    found, _ = engine.canonical(children.words[on], group)
    return joined(engine, [PackedStrategy(engine, found, left[children.parents[on]] - 1, children.moves[on])])


def after_moves(engine: Engine, strategy: PackedStrategy) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield batches of the undecided positions to which a strategy's moves lead, with the plies left there.

    Positions that are won within three plies are skipped, because after each reply a move wins immediately.
    """
    strategy = strategy.chosen((strategy.plies < 1) | (strategy.plies > 3))
    for start in range(0, len(strategy), _BATCH):
        part = strategy.chosen(slice(start, start + _BATCH))
        children = engine.expand(part.words)
        made = (children.moves == part.moves[children.parents]) & (children.outcomes == 0)
        yield children.words[made], part.plies[children.parents[made]] - 1


def after_replies(engine: Engine, strategy: PackedStrategy, group: Group) -> Iterator[PackedStrategy]:
    """Yield batches of the positions two plies after those of a strategy, with the fewest plies left there."""
    return (_replies(engine, words, left, group) for words, left in after_moves(engine, strategy))


def first_positions(engine: Engine, prover: int, board: NDArray[Any], plies: int, group: Group) -> PackedStrategy:
    """Return the first positions of a strategy with the winner to move, up to the symmetries of a group."""
    words = engine.words(board)
    if int(head(board)[SIDE_AT]) != prover:
        return _replies(engine, words, np.array([plies]), group)
    found, _ = engine.canonical(words, group)
    return PackedStrategy(engine, found, np.array([plies]), np.zeros(1, dtype=np.int32))


class _Known(NamedTuple):
    """Lookup table of a strategy: the sorted keys of its positions, and the plies of each."""

    keys: NDArray[Any]
    plies: NDArray[np.int64]

    def find(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of positions in the strategy and their plies (`LONGEST` for missing positions)."""
        wanted = keys_of(words)
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        if not len(self.keys):
            return places, np.full(len(words), LONGEST)
        return places, np.where(self.keys[places] == wanted, self.plies[places], LONGEST)


def strategy_of(search: WinSearch, board: NDArray[Any], plies: int, most: int, others: Parts = ()) -> PackedStrategy:
    """Return the strategy behind a proof. It may contain positions that are not needed.

    Positions that a tablebase or another strategy covers are left out, and so are positions with a move that wins
    immediately. Raise `TablutError` if there are more than ``most`` positions.
    """
    engine, beyond = search.engine, [_Known(keys_of(part.words), part.plies) for part in others]
    # The table of the search contains the positions that were reached, not their canonical images.
    as_met = engine.variant.symmetries[:1]
    first = first_positions(engine, search.prover, board, plies, as_met)
    found = recent = first.chosen(slice(0))
    waiting: Iterable[PackedStrategy] = [first]
    while True:
        known = [_Known(keys_of(part.words), part.plies) for part in (found, recent)]
        # Most of the next positions are won immediately, so look them up before expanding further.
        fresh = joined(engine, [found.chosen(slice(0)), *(_read(search, part, known, beyond) for part in waiting)])
        if not len(fresh):
            return _turned(joined(engine, [found, recent]))
        recent = joined(engine, [recent, fresh])
        if len(found) < 4 * len(recent):
            found, recent = joined(engine, [found, recent]), recent.chosen(slice(0))
        if len(found) + len(recent) > most:
            where = text_of(engine, board)
            raise TablutError(
                f"has more than {most:,} positions",
                subject=f"proof of '{where}'",
                remedy="allow more positions or fewer nodes",
            )
        waiting = after_replies(engine, fresh, as_met)


def _read(search: WinSearch, fresh: PackedStrategy, known: list[_Known], beyond: list[_Known]) -> PackedStrategy:
    """Return the positions that a strategy needs but does not contain yet, with their moves.

    ``known`` is the strategy so far; ``beyond`` are other strategies in canonical form, whose positions need not be
    repeated.
    """
    for part in known:
        fresh = fresh.chosen(part.find(fresh.words)[1] > fresh.plies)
    images = fresh.engine.canonical(fresh.words, fresh.engine.variant.symmetries)[0] if beyond else fresh.words
    for part in beyond:
        unknown = part.find(images)[1] > fresh.plies
        fresh, images = fresh.chosen(unknown), images[unknown]
    if search.prober is not None:
        fresh = fresh.chosen(search.prober.probe_words(fresh.words) == MISSING)
    kept, engine = search.answers(fresh.words, fresh.plies), fresh.engine
    for at in np.flatnonzero(kept[:, 1] < 0):
        one = engine.boards(fresh.words[at : at + 1])[0]
        plies = int(fresh.plies[at])
        if not (won := search.wins(one, plies=plies)):
            if won is False:
                raise NotWonError(f"there is no win within {plies} plies from '{text_of(engine, one)}'")
            where = f"proof of '{text_of(engine, one)}'"
            raise TablutError("the limits were reached", subject=where, remedy="allow more `nodes` or `seconds`")
        kept[at] = search.move, search.distance
    fresh = PackedStrategy(engine, fresh.words, kept[:, 1], kept[:, 0].astype(np.int32))
    return fresh.chosen(fresh.plies > 1)


def needed(
    strategy: PackedStrategy, prover: int, board: NDArray[Any], prober: Prober | None = None
) -> tuple[PackedStrategy, set[tuple[int, int]]]:
    """Return the part of a strategy that play from a position can reach.

    Also return the materials of the tables in which this play ends.
    """
    engine, leaves = strategy.engine, set()
    kept, known = np.zeros(len(strategy), dtype=bool), _Known(keys_of(strategy.words), strategy.plies)
    group = engine.variant.symmetries
    waiting: Iterable[PackedStrategy] = [first_positions(engine, prover, board, LONGEST, group)]
    while True:
        before = kept.copy()
        for fresh in waiting:
            places, plies = known.find(fresh.words)
            kept[places[plies < LONGEST]] = True
            if prober is not None:
                beyond = fresh.words[plies == LONGEST]
                values = prober.probe_words(beyond)
                tabled = engine.boards(beyond[(values >= 0) & (values != 1)])
                leaves |= {(int(head(one)[ATTACKERS_AT]), int(head(one)[DEFENDERS_AT])) for one in tabled}
        if (before == kept).all():
            return strategy.chosen(kept), leaves
        waiting = after_replies(engine, strategy.chosen(kept & ~before), group)


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
    """Return a strategy as a certificate. ``plies`` is None if it shows that a side never loses."""
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
    """Return the certificate of a proof, with a strategy that maps texts of positions to plies and moves."""
    strategy, _ = needed(strategy_of(search, board, plies, most), search.prover, board)
    entries = {position: (plies, move) for position, plies, move in map(json.loads, strategy.lines())}
    return certificate_of(engine, search.prover, board, plies, entries, plies_left=plies_left)


# -- reading ---------------------------------------------------------------------------


class _FileLines:
    """The lines of a proof file after the header. ``source`` is its path or its content."""

    def __init__(self, what: str, source: str | Path, positions: int = 0) -> None:
        self._what, self._source, self._positions = what, source, positions

    def __len__(self) -> int:
        return self._positions

    def all_lines(self) -> Iterator[str]:
        """Yield all lines; a line that is too long is yielded in pieces."""
        if isinstance(self._source, str):
            yield from self._source.removesuffix("\n").split("\n")
            return
        try:
            if self._source.exists() and not self._source.is_file():
                raise InputError("is not a regular file", subject=self._what)
            with self._source.open("rb") as file:
                opener: Any = gzip.open if file.read(2) == b"\x1f\x8b" else open
            with opener(self._source, "rt", encoding="utf-8-sig") as lines:
                while line := lines.readline(_LINE + 2):
                    yield line.removesuffix("\n")
        except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
            said = "is not a UTF-8 text file" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {error}"
            raise error if isinstance(error, InputError) else InputError(said, subject=self._what) from error
        except OSError as error:
            raise input_failure(self._what, error) from error

    def lines(self) -> Iterator[str]:
        """Yield the lines of the strategy; raise `InputError` if their number differs from the header's."""
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
    """Read the certificate in a file, or in its content. Its lines are read later, by `entries_of`."""
    what = f"proof {excerpt(name)}"
    first = next(_FileLines(what, source).all_lines(), "")
    if not first.strip():
        raise InputError("is empty", subject=what, remedy="give a saved proof")
    claim = _header(what, first)
    strategy = _FileLines(what, source, claim.positions)
    return ProofCertificate(**claim.model_dump(exclude={"positions"}), strategy=strategy)


def entries_of(number: int, block: Iterable[str], *, falls: bool) -> Iterator[Entry]:
    """Yield the entries of some lines. ``number`` is the number of the first one.

    The plies must be positive if ``falls`` is true, as in a proof of a win, and 0 otherwise.
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
    """Return the rule set of a certificate: the shipped one with its name, or the given one. Its digest must match."""
    what = f"proof {excerpt(name)}"
    ships = proof.variant in variant_names()
    if proof.variant is not None and not ships:
        raise InputError(f"names the rule set {excerpt(proof.variant)}, which is not shipped", subject=what)
    if given is None and not ships:
        remedy = "give the file of its rules as `variant`"
        raise InputError("was made under rules that are not shipped", subject=what, remedy=remedy)
    named = load_variant(proof.variant) if ships and proof.variant is not None else None
    if named is not None and proof.game != named.digest:
        raise InputError(f"names the rules {named.name}, but was made under others", subject=what, remedy=_AGAIN)
    rules = given or named
    assert rules is not None
    if proof.game != rules.digest:
        says = f"use {named.name}, which it names" if named is not None else "give the rules of the proof"
        raise InputError(f"was made under other rules than {excerpt(rules.name)}", subject=what, remedy=says)
    limit = rules.rules.move_limit
    if limit is not None and proof.plies_left is None:
        raise InputError(
            f"does not state how many of the {limit} plies of a game of {rules.name} are left",
            subject=what,
            remedy=_AGAIN,
        )
    return rules


def _header(what: str, line: str) -> _Header:
    """Parse the header of a file."""
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
