"""Hypothesis strategies for what the toolkit is about; for tests of ours and of yours.

Needs hypothesis, which the ``test`` extra installs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from symmetry import Symmetry, dihedral
from tablut.errors import VariantError
from tablut.variants.schema import parse_variant

if TYPE_CHECKING:
    from tablut.variants import Variant

__all__ = ["rule_values", "small_variants", "squares", "symmetries"]


def squares(size: int) -> st.SearchStrategy[int]:
    """Draw the index of a square of a board."""
    return st.integers(0, size * size - 1)


def symmetries(size: int) -> st.SearchStrategy[Symmetry]:
    """Draw one of the eight symmetries of a board."""
    return st.sampled_from(dihedral(size))


def rule_values() -> st.SearchStrategy[dict[str, Any]]:
    """Draw the rule fields of a variant file as TOML would give them; all combinations are legal."""
    flag = st.booleans()
    return st.fixed_dictionaries(
        {
            "first": st.sampled_from(["white", "black"]),
            "no_moves": st.sampled_from(["side_to_move_loses", "either_after_ply"]),
            "repetition": st.sampled_from(["draw", "mover_loses", "none"]),
            "castle": st.fixed_dictionaries(
                {
                    "pass": st.sampled_from(["nobody", "king", "everyone"]),
                    "stop": st.sampled_from(["nobody", "king"]),
                    "hostile_to_white": st.sampled_from(["never", "empty", "empty_or_besieged", "always"]),
                    "hostile_to_black": st.sampled_from(["never", "empty", "always"]),
                }
            ),
            "camps": st.fixed_dictionaries({"hostile": flag, "shelter": flag}),
            "corners": st.fixed_dictionaries({"hostile": flag}),
            "king": st.fixed_dictionaries(
                {
                    "armed": flag,
                    "on_castle": st.sampled_from(["four", "two"]),
                    "beside_castle": st.sampled_from(["as_on_castle", "as_elsewhere"]),
                    "elsewhere": st.sampled_from(["two", "four"]),
                }
            ),
        }
    )


@st.composite
def small_variants(draw: st.DrawFn, size: int = 5, most_attackers: int = 2, most_defenders: int = 1) -> Variant:
    """Draw a rule set on a small board with any terrain, any rule fields and few soldiers.

    Parameters
    ----------
    size : int
        Side of the board.
    most_attackers, most_defenders : int
        Most soldiers at the start.
    """
    cells = size * size
    corners = {0, size - 1, cells - size, cells - 1}
    terrain = [draw(st.sampled_from("....*ABCD" + "+XX" * (cell in corners))) for cell in range(cells)]
    terrain[draw(squares(size).filter(lambda cell: cell not in corners))] = "T"
    start = ["."] * cells

    def put(piece: str, ground: str, least: int, most: int) -> None:
        open_cells = [cell for cell in range(cells) if start[cell] == "." and terrain[cell] in ground]
        count = min(len(open_cells), draw(st.integers(least, most)))
        for cell in draw(st.permutations(open_cells))[:count]:
            start[cell] = piece

    put("K", ".+T", 1, 1)
    put("b", ".*+ABCD", 1, most_attackers)
    put("w", ".*+", 0, most_defenders)

    def rows(diagram: list[str]) -> list[str]:
        return ["".join(diagram[row : row + size]) for row in range(cells - size, -1, -size)]

    fields = draw(rule_values()) | {"terrain": rows(terrain), "start": rows(start)}
    inert = [cell for cell in range(cells) if terrain[cell] in "ABCD" and draw(st.booleans())]
    fields["camps"] = fields["camps"] | {"inert": [f"{'abcdefghijk'[cell % size]}{cell // size + 1}" for cell in inert]}
    try:
        return parse_variant(_toml(fields), name="drawn", origin="drawn.toml")
    except VariantError as error:
        # Too little room for a king or an attacker; any other complaint is a fault of this strategy.
        if "kings (K)" not in str(error) and "no attacker" not in str(error):
            raise
        return draw(small_variants(size, most_attackers, most_defenders))


def _toml(fields: dict[str, Any]) -> str:
    """Write plain fields and one level of tables as TOML."""

    def value(item: Any) -> str:
        if isinstance(item, bool):
            return str(item).lower()
        return "[" + ", ".join(map(value, item)) + "]" if isinstance(item, list) else f'"{item}"'

    plain = [f"{key} = {value(item)}" for key, item in fields.items() if not isinstance(item, dict)]
    for table, content in fields.items():
        if isinstance(content, dict):
            plain += [f"[{table}]", *(f"{key} = {value(item)}" for key, item in content.items())]
    return "\n".join(plain)
