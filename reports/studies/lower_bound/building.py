"""Construction of games from the start to placements that the theorem covers, following the proof.

The plies are planned regardless of whose turn it is. If it is the wrong side's turn, this side loses a tempo: black by
a ply within the token camp, white by moving a piece away and back. The plan itself is not trusted: in the tests,
`counting.reachable.certificate_checker.Checker` replays each game under the plain rules and compares the final position
with the intended one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.studies.lower_bound.conditions import Parts, goes_up, parts_of, token_camp
from reports.studies.lower_bound.layout import CAMPS, MIDDLE, SIZE, UPPER, cell_of, mirrored
from reports.studies.lower_bound.middle import middle_tables
from reports.studies.lower_bound.plies import Region, find_path, oscillation, parked
from reports.studies.lower_bound.steps import CENTRE, GATE, TIP, Opening, opening_moves, with_piece
from reports.studies.lower_bound.summing import MOST_ATTACKERS, RegionMaterial
from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CAMP_OF: Final = (0, 3)
"""The camps of the upper and lower regions."""
_C, _D, _F, _G = 2, 3, 5, 6
"""Files without a door that are not at the edge. The same numbers denote their places on the lane."""


class ConstructionError(Exception):
    """Exception raised if no game is constructed: the theorem does not cover the placement, or the proof is wrong."""


def _material(region: Region) -> RegionMaterial:
    return RegionMaterial(region.black.bit_count(), region.soldiers.bit_count(), int(region.king >= 0))


class _Game:
    """A game under construction. Cells are given by their indices."""

    def __init__(self, opening: Opening) -> None:
        self.rules = NaiveGame(load_variant("ashton"))
        self.here = self.rules.start()
        self.moves: list[tuple[int, int]] = []
        self.camp = CAMPS[opening.camp]
        self.free = -1
        for start, target in opening_moves(opening):
            self._apply(start, target)

    def _apply(self, start: int, target: int) -> None:
        """Make a ply for the side to move."""
        move = (start % SIZE, start // SIZE), (target % SIZE, target // SIZE)
        if move not in self.rules.legal_moves(self.here):
            raise ConstructionError(f"{self.rules.move_name(move)} in {self.rules.write(self.here)}")
        result = self.rules.apply(self.here, move)
        if result.outcome is not None:
            raise ConstructionError(f"{self.rules.move_name(move)} decides {self.rules.write(self.here)}")
        self.here = result.position
        self.moves.append((start, target))

    def piece(self, cell: int) -> str:
        """Return the piece on a cell, or ``''`` if the cell is empty."""
        return self.here.piece((cell % SIZE, cell // SIZE))

    def parts(self) -> Parts:
        """Return the current placement, divided into outer regions and camps."""
        return parts_of(self.here.pieces)

    def token(self) -> None:
        """Let black lose a tempo in the token camp."""
        centre, tip = self.camp[0], self.camp[-1]
        self._apply(*((centre, tip) if self.piece(centre) else (tip, centre)))

    def white_tempo(self) -> tuple[int, int] | None:
        """Return a quiet white ply that can be taken back, or None if there is none."""
        for lower, region in enumerate(self.parts().regions):
            for free in {-1, self.free}:
                found = oscillation(region, free)
                if found is not None:
                    return _on_board(found.start, lower), _on_board(found.target, lower)
        return None

    def pass_turn(self) -> bool:
        """Pass the turn to the other side. Return False if white is to move and cannot lose a tempo."""
        if self.here.side == "b":
            self.token()
            return True
        tempo = self.white_tempo()
        if tempo is None:
            return False
        self._apply(*tempo)
        self.token()
        self._apply(*reversed(tempo))
        return True

    def play(self, start: int, target: int) -> None:
        """Make a ply. If it is the other side's turn, let that side lose a tempo first."""
        side = "b" if self.piece(start) == "b" else "w"
        if self.here.side != side and not self.pass_turn():
            raise ConstructionError(f"white is not mobile in {self.rules.write(self.here)}")
        self._apply(start, target)

    # -- outer regions -------------------------------------------------------------------

    def follow(self, lower: int, goal: Region) -> None:
        """Make plies within an outer region until its placement equals the goal."""
        for start, target in self.path(lower, goal):
            self.play(start, target)

    def path(self, lower: int, goal: Region) -> list[tuple[int, int]]:
        """Return plies within an outer region that lead to the goal."""
        root = self.parts().regions[lower]
        found = find_path(goal, root, own_tempo=bool(goal.white), free=self.free)
        if found is None and goal.white and self.parts().regions[1 - lower].white:
            found = find_path(goal, root, own_tempo=False, free=self.free)
        if found is None:
            raise ConstructionError(f"no path within a region to {goal} from {root}")
        return [(_on_board(ply.start, lower), _on_board(ply.target, lower)) for ply in found]

    def park(self, lower: int) -> None:
        """Move all pieces of an outer region to their parking places."""
        self.follow(lower, parked(_material(self.parts().regions[lower])))

    def leave(self, lower: int, piece: str, place: int) -> None:
        """Bring a parked piece to a place in the lane."""
        attackers, defenders, king = _material(self.parts().regions[lower])
        rest = RegionMaterial(attackers - (piece == "b"), defenders - (piece == "w"), king - (piece == "K"))
        self.free = place
        self.follow(lower, with_piece(parked(rest), piece, place))

    # -- across the board ----------------------------------------------------------------

    def transfer(self, lower: int, piece: str) -> None:
        """Bring a parked piece from one outer region to the other, across an empty middle."""
        self.leave(lower, piece, _C)
        self.play(_on_board(_C, lower), _on_board(_C, 1 - lower))
        self.park(1 - lower)
        self.free = -1

    def take_white(self) -> None:
        """Let a defender from the upper region be captured on c5."""
        self.leave(0, "w", _C)
        self.play(_on_board(_C, 0), cell_of("c5"))
        self.leave(0, "b", _D)
        self.play(_on_board(_D, 0), cell_of("d5"))
        self.play(cell_of("d5"), _on_board(_D, 0))
        self.park(0)
        self.free = -1

    def take_black(self) -> None:
        """Let a white piece from the upper region capture an attacker from this region on g5."""
        self.leave(0, "b", _G)
        self.play(_on_board(_G, 0), cell_of("g5"))
        self.leave(0, "w" if self.parts().regions[0].soldiers else "K", _F)
        self.play(_on_board(_F, 0), cell_of("f5"))
        self.play(cell_of("f5"), _on_board(_F, 0))
        self.park(0)
        self.free = -1

    # -- camps ---------------------------------------------------------------------------

    def arrange(self, camp: int, held: int) -> None:
        """Make plies within a camp until its attackers occupy the given cells."""
        for start, target in _camp_path(self.parts().held[camp], held):
            self.play(CAMPS[camp][start], CAMPS[camp][target])

    def fill_tip(self, camp: int) -> None:
        """Make plies within a camp until its tip is occupied."""
        held = self.parts().held[camp]
        if not held & TIP:
            others = [bit for bit in (CENTRE, 0b0010, 0b0100) if held & bit]
            self.arrange(camp, held ^ others[-1] | TIP)

    def sortie(self, camp: int, lower: int) -> None:
        """Bring an attacker from a camp to an outer region's park, across an empty middle."""
        self.fill_tip(camp)
        tip = CAMPS[camp][-1]
        if camp in _CAMP_OF:
            home = _CAMP_OF.index(camp)
            self.play(tip, _on_board(GATE, home))
            if home != lower:
                self.free = _C
                self.follow(home, with_piece(self._without_gate(home), "b", _C))
                self.play(_on_board(_C, home), _on_board(_C, lower))
        else:
            file = _C if camp == 1 else _G
            square = 4 * SIZE + file
            self.play(tip, square)
            self.free = file
            self.play(square, _on_board(file, lower))
        self.park(lower)
        self.free = -1

    def _without_gate(self, lower: int) -> Region:
        region = self.parts().regions[lower]
        return region._replace(black=region.black & ~(1 << GATE))

    def come_from_camp(self, lower: int, place: int) -> None:
        """Bring an attacker from an outer region's camp to a place in its lane while the park is full."""
        camp = _CAMP_OF[lower]
        self.fill_tip(camp)
        self.play(CAMPS[camp][-1], _on_board(GATE, lower))
        self.free = place
        self.follow(lower, with_piece(self._without_gate(lower), "b", place))


def _on_board(place: int, lower: int) -> int:
    """Return the cell at a place in an outer region."""
    return mirrored(UPPER[place]) if lower else UPPER[place]


def _camp_path(held: int, goal: int) -> list[tuple[int, int]]:
    """Return plies within a camp from one set of occupied cells to another. Cells are numbered within the camp."""
    paths: dict[int, list[tuple[int, int]]] = {held: []}
    for known in (open_sets := [held]):
        for leaf in range(1, 4):
            centre_bit, leaf_bit = known & 1, known >> leaf & 1
            moved = known ^ 1 ^ (1 << leaf)
            if centre_bit != leaf_bit and moved not in paths:
                paths[moved] = [*paths[known], (0, leaf) if centre_bit else (leaf, 0)]
                open_sets.append(moved)
    return paths[goal]


def _exits(parts: Parts) -> list[tuple[str, int, int]]:
    """Return the middle's pieces in an order that lets them leave it, with their cells and target regions."""
    t = middle_tables()
    left = {place: parts.pieces[cell] for place, cell in enumerate(MIDDLE) if cell in parts.pieces}
    order = []
    while left:
        taken = sum(1 << place for place in left)
        colours = {place: "b" if piece == "b" else "w" for place, piece in left.items()}
        masks = {side: sum(1 << p for p, other in colours.items() if other == side) for side in "bw"}
        for place, piece in left.items():
            own, enemies = masks[colours[place]] | 1 << len(MIDDLE), masks["w" if piece == "b" else "b"]
            active = any(
                enemies & int(v) and own & int(a) for v, a in zip(t.victims[place], t.anvils[place], strict=True)
            )
            if not active and not taken & int(t.ways[place]):
                order.append((piece, MIDDLE[place], int(not goes_up(MIDDLE[place]))))
                del left[place]
                break
        else:
            raise ConstructionError("the middle does not come apart")
    return order


def build_game(position: NaivePosition) -> list[tuple[int, int]]:
    """Build a game from the start to a position whose placement satisfies the theorem's conditions."""
    parts = parts_of(position.pieces)
    camp = token_camp(parts.held)
    if camp is None:
        raise ConstructionError("no token camp")
    held = parts.held[camp]
    # If centre and tip are both occupied, black's last ply in the camp goes from a leaf to the centre.
    leaf = 0
    if held & CENTRE and held & TIP:
        leaf = next(bit for bit in (0b0010, 0b0100) if not held & bit)
        held = held ^ CENTRE | leaf
    king = int(position.king() != (4, 4))
    wrong = ""
    for token in {held, held ^ CENTRE ^ TIP}:
        for side in "wb":
            game = _Game(Opening(camp, token, king, side))
            try:
                _Builder(game, position, parts, camp, leaf).run()
            except _WrongTurnError as error:
                wrong = str(error)
                continue
            return _without_loops(game)
    raise ConstructionError(f"no opening fits: {wrong}")


class _WrongTurnError(Exception):
    """Exception raised if a game ends with the wrong side to move or the token on the wrong cell."""


class _Builder:
    """Builder of a game that leads to a given position."""

    def __init__(self, game: _Game, position: NaivePosition, parts: Parts, camp: int, leaf: int) -> None:
        self.game, self.position, self.parts, self.camp, self.leaf = game, position, parts, camp, leaf
        self.exits = _exits(parts)
        self.materials = [_material(region) for region in parts.regions]
        self.held = [held.bit_count() for held in parts.held]
        # The pieces that are parked in each region, and the attackers that go into its camp, are planned backwards.
        self.stored = [0, 0]
        for lower in range(2):
            self._store(lower)
        self.plan = []
        for piece, cell, lower in self.exits:
            attackers, defenders, royal = self.materials[lower]
            self.materials[lower] = RegionMaterial(
                attackers + (piece == "b"), defenders + (piece == "w"), royal + (piece == "K")
            )
            self.plan.append((piece, cell, lower, self._store(lower)))

    def _store(self, lower: int) -> bool:
        """Plan to put attackers that do not fit into a region's park into its camp. Return whether there are any."""
        surplus = self.materials[lower].attackers - MOST_ATTACKERS
        if surplus <= 0:
            return False
        self.materials[lower] = self.materials[lower]._replace(attackers=MOST_ATTACKERS)
        self.held[_CAMP_OF[lower]] += surplus
        return True

    def run(self) -> None:
        """Make the plies from the opening to the position."""
        self._captures()
        self._parks()
        self._middle()
        order = (1, 0) if self.parts.regions[0].white else (0, 1)
        for lower in order:
            self._prepare(lower)
        self._arrange(_CAMP_OF)
        for lower in order:
            path = self.game.path(lower, self.parts.regions[lower])
            last = lower == order[1]
            for start, target in path[:-1]:
                self.game.play(start, target)
            if path and last:
                self._finish(path[-1])
            elif path:
                self.game.play(*path[-1])
            elif last:
                self._finish(None)

    def _captures(self) -> None:
        """Capture the pieces that are missing from the position.

        The pieces needed for a capture are first brought to the upper region.
        """
        game = self.game
        wanted = [material.defenders for material in self.materials]
        for _ in range(8 - sum(wanted)):
            if not game.parts().regions[0].soldiers:
                game.transfer(1, "w")
            game.take_white()
        missing = 16 - sum(self.held) - sum(material.attackers for material in self.materials)
        for _ in range(missing):
            if not game.parts().regions[0].black:
                game.sortie(self._source(), 0)
            if not game.parts().regions[0].white:
                game.transfer(1, "w")
            game.take_black()

    def _source(self) -> int:
        """Return a camp that at least one attacker still has to leave."""
        held = self.game.parts().held
        return next(c for c in range(4) if c != self.camp and held[c].bit_count() > self.held[c])

    def _parks(self) -> None:
        """Bring every piece to the region where it is to be parked."""
        game = self.game
        while (moves := list(self._white_transfers())) or game.parts().regions[0].black.bit_count() > (
            self.materials[0].attackers
        ):
            game.transfer(*(moves[0] if moves else (0, "b")))
        for camp in range(4):
            while camp != self.camp and game.parts().held[camp].bit_count() > self.held[camp]:
                full = game.parts().regions[0].black.bit_count() == self.materials[0].attackers
                game.sortie(camp, int(full))
        self._arrange(range(1, len(CAMPS) - 1))

    def _arrange(self, camps: Iterable[int]) -> None:
        """Arrange camps as in the position. Side camps must be arranged while the middle is empty."""
        for camp in camps:
            if camp != self.camp:
                self.game.arrange(camp, self.parts.held[camp])

    def _white_transfers(self) -> Iterator[tuple[int, str]]:
        here = [_material(region) for region in self.game.parts().regions]
        for lower in range(2):
            if here[lower].king > self.materials[lower].king:
                yield lower, "K"
            if here[lower].defenders > self.materials[lower].defenders:
                yield lower, "w"

    def _middle(self) -> None:
        """Bring the middle's pieces to their cells, in the reverse order of the exits."""
        for piece, cell, lower, stored in reversed(self.plan):
            place = cell % SIZE
            if stored:
                self.game.come_from_camp(lower, place)
            else:
                self.game.leave(lower, piece, place)
            self.game.play(_on_board(place, lower), cell)
            self.game.park(lower)
            self.game.free = -1

    def _prepare(self, lower: int) -> None:
        """Let an attacker leave the camp if the region needs one more attacker than can be parked."""
        wanted = _material(self.parts.regions[lower])
        game = self.game
        if game.parts().regions[lower].black.bit_count() < wanted.attackers:
            camp = _CAMP_OF[lower]
            game.fill_tip(camp)
            game.play(CAMPS[camp][-1], _on_board(GATE, lower))

    def _finish(self, last: tuple[int, int] | None) -> None:
        """Make the last plies in such a way that the side to move and the token match the position."""
        game, side = self.game, self.position.side
        if not self.leaf:
            if last is not None:
                game.play(*last)
            if game.here.side != side and not game.pass_turn():
                raise _WrongTurnError("white is not mobile at the end")
            if game.here != self.position:
                raise _WrongTurnError("the token is on the wrong cell")
            return
        centre, leaf_cell = game.camp[0], game.camp[self.leaf.bit_length() - 1]
        white_last = last is not None and game.piece(last[0]) != "b"
        if last is not None and not (white_last and side == "b"):
            game.play(*last)
            last = None
        tempo = None if last is not None else game.white_tempo()
        if side == "b" and last is None:
            # White moves away, black makes the last ply in the camp, and white moves back.
            if tempo is None or (game.here.side == "b" and not game.pass_turn()):
                raise _WrongTurnError("white is not mobile at the end")
            game._apply(*tempo)
        elif game.here.side == "w" and not game.pass_turn():
            raise _WrongTurnError("white is not mobile before the end")
        if game.piece(centre) or not game.piece(leaf_cell):
            raise _WrongTurnError("the token is on the wrong cell")
        game._apply(leaf_cell, centre)
        if last is not None:
            game._apply(*last)
        elif side == "b" and tempo is not None:
            game._apply(*reversed(tempo))
        if game.here != self.position:
            raise _WrongTurnError("the turn is the other side's")


def _without_loops(game: _Game) -> list[tuple[int, int]]:
    """Return a game's plies, leaving out those between two occurrences of the same position."""
    rules, here = game.rules, game.rules.start()
    seen = {(frozenset(here.pieces.items()), here.side): 0}
    kept: list[tuple[int, int]] = []
    for start, target in game.moves:
        here = rules.apply(here, ((start % SIZE, start // SIZE), (target % SIZE, target // SIZE))).position
        key = frozenset(here.pieces.items()), here.side
        if key in seen:
            del kept[seen[key] :]
            seen = {known: ply for known, ply in seen.items() if ply <= len(kept)}
        else:
            kept.append((start, target))
            seen[key] = len(kept)
    return kept
