"""What the kernels of a census need for one game, and its start."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from counting.census.cell_images import cell_images
from counting.census.codes import position_codes
from counting.census.expansion_records import Expander
from counting.census.survey import Membership, membership
from tablut.engine import engine_for
from tablut.engine.canonical import image_tables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant


class Toolbox(NamedTuple):
    """What the kernels need for one variant and group; ``row_bytes`` is what a position takes for good."""

    expander: Expander
    space: Membership
    material: tuple[int, int, int]
    row_bytes: int
    codes: tuple[int, int, int] | None

    @property
    def tables(self) -> Tables:
        """The compiled rules."""
        return self.expander.tables

    @property
    def order(self) -> int:
        """Order of the group."""
        return self.expander.order


@lru_cache(maxsize=16)
def toolbox(variant: Variant, full: bool) -> Toolbox:
    """Return the tables of a variant and of its group."""
    engine = engine_for(variant)
    group = engine.group[:1] if full else engine.group
    images = image_tables(group, variant.size)
    material = (2, variant.attackers + 1, variant.defenders + 1)
    codes = (variant.size**2, variant.attackers, variant.defenders)
    coded = position_codes(*codes)[0]
    # A position of one word is short enough; taking codes apart would double the time of a small board.
    is_coded = coded.fits and engine.tables.words > 1
    return Toolbox(
        Expander(engine.tables, images, cell_images(images, variant.size), len(group)),
        membership(variant),
        material,
        coded.bytes if is_coded else 8 * engine.tables.words,
        codes if is_coded else None,
    )


def start_rows(variant: Variant, full: bool) -> NDArray[np.uint64]:
    """Return the start position in canonical form, shape (1, W)."""
    engine = engine_for(variant)
    return engine.canonical(engine.words(engine.start()), engine.group[:1] if full else engine.group)[0]
