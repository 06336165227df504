"""Models of requests about a rule set, a position and moves.

A valid request becomes a `Board`, and an invalid request is refused with a one-line message. A request never opens a
file: a rule set is given as text or by a built-in rule set's name, and positions and records are given as text.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticKnownError
from starlette.requests import Request

from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, VariantError
from tablut.formats.game_text import NoRulesError
from tablut.formats.opentafl import write_game
from tablut.formats.reading import read_position
from tablut.play.collection import open_collection
from tablut.play.collection_file import SHIPPED, is_sqlite
from tablut.play.player_requests import BudgetRequest, LinesRequest
from tablut.play.players import PLAYERS, player_names
from tablut.records import ARCHIVE, GameRecord, decoded, kind_of, plain_text, write_pgn, write_record
from tablut.replay import fitting_rules, read_fitting_record
from tablut.variants import Variant, as_variant, shipped_variant
from tablut.variants.library import FILE_BYTES, is_own_name
from tablut.variants.schema import parse_variant
from tablut.work.files import excerpt
from tablut.work.progress import plural
from tablut.work.sealed_records import TwiceError, read_json

MOST_MOVES: Final = 1000
_LISTED_GAMES: Final = 500
_LONGEST_POSITION: Final = 8000
_LONGEST_MOVE: Final = 80


@lru_cache(maxsize=32)
def rules_of_text(text: str) -> Variant:
    """Parse a rule set from a variant file's text."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES:
        raise VariantError(f"have {size:,} bytes, but at most {FILE_BYTES:,} are allowed", subject="your rules")
    variant = parse_variant(text, name="my rules", origin="your rules")
    if not is_own_name(variant):
        raise VariantError(
            f"field 'name': {variant.name!r} is the name of a built-in rule set",
            subject="your rules",
            remedy="choose another name",
        )
    return variant


def known_players(own: tuple[str, ...]) -> dict[str, str]:
    """Return the available players with their descriptions, including ``own`` Python classes."""
    return {name: PLAYERS[name].help for name in player_names()} | dict.fromkeys(own, "a class of this server's owner")


_LISTS: Final = ("moves",)
"""Query fields that may occur more than once, because their values are lists."""


async def refuse_repeated_fields(request: Request) -> None:
    """Refuse a request with a repeated field in its query or its JSON, since only one value would be used."""
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if names.count(name) > 1 and name not in _LISTS:
            raise InputError(f"field {excerpt(name)} is given twice")
    try:
        read_json(await request.body())
    except TwiceError as error:
        raise InputError(error.msg) from error
    except (ValueError, RecursionError):
        pass  # validation of the request model reports the error


class ApiRequest(BaseModel):
    """Base class of the request models, which refuses unknown fields, and booleans where a number is expected."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_boolean_as_number(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and (numbers := {int, float}.intersection(get_args(kind) or [kind])):
            raise PydanticKnownError("int_type" if int in numbers else "float_type")
        return value


class GameRequest(ApiRequest):
    """A request about a game, which is given by a built-in rule set's name or by another rule set's text."""

    variant: Annotated[
        str, Field(max_length=80, description="Built-in rule set; ignored if `rules` is given.", examples=["ashton"])
    ] = "ashton"
    rules: Annotated[
        str | None,
        Field(max_length=FILE_BYTES, description="Your own rules, as the text of a variant file (docs/variants.md)."),
    ] = None

    def game(self) -> Variant:
        """Return the rule set."""
        return shipped_variant(self.variant) if self.rules is None else rules_of_text(self.rules)


class PositionRequest(GameRequest):
    """A request about a position in a game."""

    position: Annotated[
        str | None,
        Field(
            max_length=_LONGEST_POSITION,
            description="Position as text, OpenTafl text or JSON of the Bologna server; by default the start.",
            examples=["9/9/9/4w4/2K6/9/9/9/4b4 b"],
        ),
    ] = None
    side: Annotated[
        Literal["w", "b"] | None, Field(description="Side to move, for positions that do not contain it.")
    ] = None

    def board(self) -> Board:
        """Return a board with the position, even if the game cannot continue from it."""
        variant = self.game()
        if self.position is None:
            return Board(variant)
        return Board(variant, read_position(self.position, variant.size, self.side))

    def search_board(self) -> Board:
        """Return the board for a search.

        Rules that the compiled engine does not support are refused here, before the request is queued for a worker.
        """
        board = self.board()
        engine_for(board.variant)
        return board


class MovesRequest(PositionRequest):
    """A request about a position and the moves made from it."""

    moves: Annotated[
        list[Annotated[str, Field(max_length=_LONGEST_MOVE)]],
        Field(max_length=MOST_MOVES, description="Moves made from the position, in any notation."),
    ] = []

    def board(self) -> Board:
        """Return the board after the moves, including its history."""
        board = super().board()
        for number, text in enumerate(self.moves, 1):
            try:
                board.push_text(text)
            except InputError as error:
                error.within(f"move {number}")
                raise
        return board


class PictureRequest(MovesRequest):
    """A request for a picture of a position, or for an animation of the game that led to it."""

    animated: Annotated[bool, Field(description="Whether to show all positions of the game, as a GIF.")] = False


class SaveRequest(MovesRequest):
    """A request to write a game as a record."""

    tags: Annotated[
        dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=40, description="Tags of the record.")
    ] = {}
    result: Annotated[
        Literal["white", "black", "draw"] | None, Field(description="Result, if the board does not show it.")
    ] = None

    form: Annotated[Literal["tablut", "opentafl", "pgn"], Field(description="Format of the record.")] = "tablut"

    def text(self) -> str:
        """Return the game record as text."""
        record = self.board().record(self.tags, self.result)
        return {"tablut": write_record, "opentafl": write_game, "pgn": write_pgn}[self.form](record)


class BestMoveRequest(MovesRequest, BudgetRequest, LinesRequest):
    """A request for a player's move in a position, with the same limits as ``tablut bestmove``."""

    player: Annotated[str, Field(max_length=80, description="A name from /api/players.")] = "alphabeta"
    seed: Annotated[int, Field(ge=0, lt=1 << 32, description="Seed for players that use random numbers.")] = 0


class SolveRequest(PositionRequest):
    """A request to prove a position, or to solve a whole board if no position is given."""

    plies_left: Annotated[int | None, Field(ge=0, le=10**6, description="Number of plies before a draw.")] = None
    all_wins: Annotated[bool, Field(description="Whether to find slower winning moves too.")] = False
    seconds: Annotated[float | None, Field(gt=0, description="Time limit in seconds.")] = None


class PerftRequest(PositionRequest):
    """A request to count the move sequences from a position."""

    depth: Annotated[int, Field(ge=1, le=20, description="Number of plies.")] = 3
    divide: Annotated[bool, Field(description="Whether to count each first move separately too.")] = False


class ThinkRequest(MovesRequest):
    """A request to search a position and report progress."""

    movetime: float = Field(5.0, gt=0, description="Time limit in seconds.")


class EndingsRequest(ApiRequest):
    """A request to list positions of a tablebase. Filters that are omitted do not apply."""

    wdl: Literal["win", "draw", "loss", "unresolved"] | None = None
    side: Literal["white", "black"] | None = None
    material: Annotated[
        str | None, Field(pattern=r"^[0-9]{1,3}v[0-9]{1,3}$", description="Attackers and defenders, such as 2v1.")
    ] = None
    zugzwang: Literal["full", "half", "any"] | None = None
    min_plies: Annotated[int | None, Field(ge=0, le=20_000)] = None
    max_plies: Annotated[int | None, Field(ge=0, le=20_000)] = None
    order: Literal["index", "longest", "shortest"] = "longest"
    most: Annotated[int, Field(ge=1, le=200)] = 24
    skip: Annotated[int, Field(ge=0, le=100_000, description="Number of positions to skip.")] = 0


class TryRequest(ApiRequest):
    """The moves made so far in a puzzle: the user's moves and the replies."""

    moves: Annotated[list[Annotated[str, Field(max_length=80)]], Field(max_length=100)] = []


class RecordRequest(GameRequest):
    """A request about a game: a record in any format that the toolkit reads, or a game of a collection."""

    variant: Annotated[str, Field(max_length=80, description="Rule set; by default that of the record.")] = ""
    record: Annotated[str | None, Field(max_length=2 << 20, description="Record as text.")] = None
    record_base64: Annotated[
        str | None,
        Field(max_length=11 << 20, description="Record encoded as UTF-8 or Latin-1, or collection, in Base64."),
    ] = None
    shipped: Annotated[bool, Field(description="Whether to read the built-in collection instead of a record.")] = False
    number: Annotated[
        int | None, Field(ge=1, description="Number of the game in a file of several games; by default the first.")
    ] = None

    def _content(self) -> bytes | None:
        """Return the file in the request, or None if it contains none."""
        try:
            return None if self.record_base64 is None else base64.b64decode(self.record_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError("is not valid Base64", subject="field 'record_base64'") from error

    def _text(self) -> str:
        content = self._content()
        if content is None and self.record is None:
            raise InputError("give the record as 'record' or as 'record_base64'")
        return plain_text(self.record or "") if content is None else decoded(content)

    def _stored(self, chosen: Variant | None) -> Iterator[tuple[int, GameRecord]] | None:
        """Return the numbered games of a collection, or None if the request contains a record."""
        source = SHIPPED if self.shipped else self._content()
        return None if source is None or not is_sqlite(source) else _games_of(source, chosen)

    def _chosen(self) -> Variant | None:
        return self.game() if self.rules is not None or self.variant else None

    def games(self) -> dict[int, str]:
        """Return the names of the first games of a file with several games, keyed by their numbers."""
        chosen = self._chosen()
        games: Iterable[tuple[int, GameRecord | InputError]] | None = self._stored(chosen)
        if games is None:
            kind = kind_of(text := self._text(), ruled=chosen is not None)
            games = () if kind is None else kind.games(text, chosen)
        found = dict(islice(games, _LISTED_GAMES))
        return {number: _name_of(game) for number, game in found.items()} if len(found) > 1 else {}

    def record_and_rules(self) -> tuple[GameRecord, Variant]:
        """Return the record and its rules. Rules given in the request take precedence over those of a record.

        In a collection, they select the games.
        """
        chosen = self._chosen()
        if (stored := self._stored(chosen)) is not None:
            record = self._found(stored)
        else:
            record = self._read(self._text(), chosen)
        if len(record.moves) > MOST_MOVES:
            raise InputError(f"the record has {len(record.moves):,} moves, but at most {MOST_MOVES:,} are shown")
        return record, as_variant(record.variant or "")

    def _read(self, text: str, chosen: Variant | None) -> GameRecord:
        kind = kind_of(text, ruled=chosen is not None)
        try:
            if kind is None or (self.number is None and kind is not ARCHIVE):
                return read_fitting_record(text, chosen, "")
            try:
                return self._found(kind.games(text, chosen))
            except NoRulesError:
                return self._found(kind.games(text, chosen or fitting_rules(text)))
        except NoRulesError as error:
            raise InputError(str(error), remedy="choose one above the record") from error

    def _found(self, games: Iterable[tuple[int, GameRecord | InputError]]) -> GameRecord:
        found = next((game for number, game in games if self.number in (None, number)), None)
        if found is None:
            raise InputError(f"contains no game {self.number or 'under these rules'}", subject="record")
        if isinstance(found, InputError):
            raise found
        return found


def _games_of(source: Path | bytes, only: Variant | None) -> Iterator[tuple[int, GameRecord]]:
    with open_collection(source, "the collection") as collection:
        for number, (_, _, game) in enumerate(collection.games(only=only), 1):
            yield number, game


def _name_of(game: GameRecord | InputError) -> str:
    if isinstance(game, InputError):
        return "unreadable" if not isinstance(game, NoRulesError) else ""
    players = " – ".join(game.tags[side][:60] for side in ("White", "Black") if side in game.tags)
    return ", ".join(filter(None, [players, plural(len(game.moves), "ply"), game.result]))


class AnalysisRequest(RecordRequest):
    """A request to analyse a game."""

    movetime: Annotated[float, Field(gt=0, le=5, description="Time for each position in seconds.")] = 0.2
