"""The comparison table: order, sources, and the one figure that a closed form gives."""

from math import comb

from counting import bounds
from counting.findings import published_games
from tablut.variants import load_variant


def test_english_draughts_in_closed_form() -> None:
    """Placements of up to 12 men and kings a side on 32 squares, no man on its last row."""
    total = 0
    for black_men in range(13):
        for white_men in range(13):
            # f black men on their own first row, which white men cannot hold.
            men = sum(
                comb(4, f) * comb(24, black_men - f) * comb(28 - (black_men - f), white_men)
                for f in range(min(4, black_men) + 1)
            )
            open_squares = 32 - black_men - white_men
            for black_kings in range(13 - black_men):
                for white_kings in range(13 - white_men):
                    total += men * comb(open_squares, black_kings) * comb(open_squares - black_kings, white_kings)
    draughts = next(game for game in published_games() if game.name == "English draughts")
    assert draughts.today == str(total - 1)  # the empty board is no placement


def test_tablut_in_its_place() -> None:
    report = bounds(load_variant("ashton"))
    names = [game.name for game in report.comparison]
    place = names.index("Tablut")
    assert names[place - 1] == "English draughts"
    assert names[place + 1] == "Othello"
    assert report.comparison[place].today == str(report.corrected.total)
    assert all(game.source for game in report.comparison)
