"""Each finding's evidence, derived again by other means than the package's."""

from math import comb

import pytest

from counting import bounds
from counting.complexity import BoundsReport
from counting.exclusions.counts import published_exclusions
from counting.findings import Finding, find, published_estimates, published_games
from counting.paper import PaperEquations, is_rounded
from tablut.variants import load_variant
from tests.support.games import OLDER_NAMES


def sigma(camp: int, free: int, least: int, most: int, white: range = range(9)) -> int:
    """Placements of ``least`` to ``most`` attackers and some defenders, defenders placed first."""
    return sum(comb(free, w) * comb(camp + free - w, b) for b in range(least, most + 1) for w in white)


@pytest.fixture(scope="module")
def report() -> BoundsReport:
    return bounds(load_variant("ashton"))


@pytest.fixture(scope="module")
def findings(report: BoundsReport) -> dict[str, Finding]:
    return {finding.id: finding for finding in report.findings}


EQ6 = sigma(16, 64, 1, 16) + 44 * sigma(16, 63, 1, 16)
EQ7 = sum(comb(64, w) + 44 * comb(63, w) for w in range(9))
EQ8 = 16 * sigma(16, 62, 1, 16)
LAST = 16 * sum(comb(62, w) for w in range(9))


def test_every_finding_is_checked_here(findings: dict[str, Finding]) -> None:
    assert set(findings) == set(CHECKS)


def check_eq12(evidence: dict) -> None:
    assert evidence["printed_formula"] == str(56 * sigma(16, 61, 0, 14))
    assert evidence["with_limit_15"] == str(56 * sigma(16, 61, 0, 15))
    assert evidence["changes_of_one_number_that_give_the_published_value"] == ["upper limit of b 15"]


def check_totals(evidence: dict) -> None:
    captured = sigma(16, 60, 0, 12) + 4 * sigma(16, 60, 0, 13) + 20 * sigma(16, 62, 0, 15)
    for limit, suffix in ((14, ""), (15, "_with_limit_15_in_eq12")):
        end = EQ7 + EQ8 + captured + 56 * sigma(16, 61, 0, limit)
        assert evidence["eq13" + suffix] == str(end)
        assert evidence["eq14" + suffix] == str(EQ6 + end)


def check_camp_front(evidence: dict) -> None:
    assert sorted(evidence["king_cells"]) == ["c5", "e3", "e7", "g5"]
    assert sorted(evidence["attackers"]) == ["c4 c6", "d3 f3", "d7 f7", "g4 g6"]
    assert evidence["missing_term"] == str(4 * sigma(16, 61, 0, 14))


def captured_by_hand() -> int:
    """Captured kings cell class by cell class, two ways of capture by inclusion and exclusion."""
    castle = sigma(16, 60, 0, 12)
    beside = 4 * sigma(16, 60, 0, 13)
    # Beside a camp's arm (d2): either of two single soldiers.
    arms = 8 * (2 * sigma(16, 62, 0, 15) - sigma(16, 61, 0, 14))
    # Before its tip (e3): the soldier opposite, or the two across, or all three.
    tips = 4 * (sigma(16, 62, 0, 15) + sigma(16, 61, 0, 14) - sigma(16, 60, 0, 13))
    elsewhere = 28 * (2 * sigma(16, 61, 0, 14) - sigma(16, 59, 0, 12))
    return castle + beside + arms + tips + elsewhere


def check_twice(evidence: dict) -> None:
    by_pattern = sigma(16, 60, 0, 12) + 4 * sigma(16, 60, 0, 13) + 20 * sigma(16, 62, 0, 15) + 56 * sigma(16, 61, 0, 14)
    complete = by_pattern + 4 * sigma(16, 61, 0, 14)
    assert evidence["eq9_to_eq12"] == str(by_pattern)
    assert evidence["with_the_missing_patterns"] == str(complete)
    assert evidence["each_placement_once"] == str(captured_by_hand())
    assert evidence["counted_too_often"] == str(complete - captured_by_hand())


def check_labels(evidence: dict) -> None:
    assert evidence["labelled"] == str(EQ6 + EQ7 + EQ8 + LAST + captured_by_hand())
    assert evidence["distinct"] == str(EQ6 + EQ7 + EQ8 + LAST)


def check_camp_ends(evidence: dict) -> None:
    # The southern camp by hand: d1 e1 f1 e2 as bits 1 2 4 8, who is next to whom, and who has a way out.
    inside = [(1, 2), (2, 4), (2, 8)]
    outlets = (1, 4, 8)  # d1 to c1 or d2, f1 to g1 or f2, e2 to d2, f2 or e3; e1 is walled in
    seen, frontier = {15}, [15]
    while frontier:
        filling = frontier.pop()
        following = [filling & ~cell for cell in outlets if filling & cell]
        for one, other in inside:
            following += [filling ^ one ^ other for cell in (one,) if bool(filling & one) != bool(filling & other)]
        for target in following:
            if target not in seen:
                seen.add(target)
                frontier.append(target)
    assert len(seen) == 16
    assert evidence["fillings"] == ["16 of 16"] * 4
    assert evidence["to_three_ends_without_the_middle"] == ["e2 leaves", "e1-e2"]


def check_escape_last(evidence: dict) -> None:
    assert evidence["missing_term"] == str(LAST)
    # King on b1 and the like: the attacker stood on c1. On c1 and the like: on b1, a defender on a1.
    possible = 8 * sum(comb(61, w) for w in range(9)) + 8 * sum(comb(60, w - 1) for w in range(1, 9))
    assert evidence["of_these_some_arrival_captures"] == str(possible)


def check_escape_capture(evidence: dict) -> None:
    impossible = 8 * sigma(16, 61, 0, 15) + 8 * sigma(16, 60, 0, 15, range(8))
    assert evidence["eq8"] == str(EQ8)
    assert evidence["impossible"] == str(impossible)
    assert evidence["possible"] == str(EQ8 - impossible)


def check_besieged(evidence: dict) -> None:
    assert evidence["counted_in_eq4"] == evidence["eq9"] == str(sigma(16, 60, 0, 12))


def check_alone(evidence: dict) -> None:
    assert evidence == {"eq7": str(EQ7), "impossible": "1"}


def without_corridors() -> int:
    """Undecided placements in which no corridor between castle and camp holds an attacker and a defender."""
    total = 0
    for corridors, free in ((4, 56), (4, 55), (3, 57)):  # the king on the castle, elsewhere, or in a corridor
        # A corridor holds nothing (1), one soldier (2 ways each), or two of a side.
        ways = {(0, 0): 1}
        for _ in range(corridors):
            filled: dict[tuple[int, int], int] = {}
            for (a, d), count in ways.items():
                for more_a, more_d, more in ((0, 0, 1), (1, 0, 2), (0, 1, 2), (2, 0, 1), (0, 2, 1)):
                    key = a + more_a, d + more_d
                    filled[key] = filled.get(key, 0) + count * more
            ways = filled
        kings = {56: 1, 55: 36, 57: 8}[free]
        for (a, d), count in ways.items():
            for w in range(9 - d):
                for b in range(max(0, 1 - a), 17 - a):
                    total += kings * count * comb(free, w) * comb(16 + free - w, b)
    return total


def check_locked(evidence: dict) -> None:
    besieged = sigma(16, 60, 0, 12)
    assert int(evidence["eq6"]) == EQ6 == int(evidence["with_a_locked_set"]) + int(evidence["left"]) + besieged
    assert int(evidence["left"]) < without_corridors() < 0.83 * EQ6


def check_side(evidence: dict) -> None:
    end = EQ7 + EQ8 + LAST + captured_by_hand()
    assert evidence["labelled_with_side_to_move"] == str(2 * EQ6 + end)
    assert evidence["labelled_without"] == str(EQ6 + end)


def check_naive(evidence: dict) -> None:
    assert evidence["eq1"] == str(2**105 * 3**20)
    assert evidence["exactly_one_king"] == str(2**16 * 3**20 * (3**44 + 44 * 3**43))


def check_groups(evidence: dict) -> None:
    assert evidence == {"camps": 4, "camp_cells": 16}


def check_morris(evidence: dict) -> None:
    assert evidence["3^24"] == "282429536481"
    assert round(int(evidence["3^24"]) / 10**11) == 3


def check_chess(evidence: dict) -> None:
    assert evidence["lowest_over_1e43"] == "47.9"  # (4.82 - 0.03) · 10^44 / 10^43
    assert evidence["published"] == ["1e43", "1e50"]


CHECKS = {
    "eq12-upper-limit": check_eq12,
    "eq13-eq14-totals": check_totals,
    "camp-front-two-soldiers": check_camp_front,
    "captures-counted-twice": check_twice,
    "captured-kings-are-in-eq6": check_labels,
    "camp-ends-remark": check_camp_ends,
    "escape-takes-the-last-attacker": check_escape_last,
    "escape-beside-a-doomed-attacker": check_escape_capture,
    "besieged-on-the-castle": check_besieged,
    "king-alone-on-the-castle": check_alone,
    "locked-sets": check_locked,
    "no-side-to-move": check_side,
    "naive-bound-has-many-kings": check_naive,
    "four-groups-in-all": check_groups,
    "morris-is-naive": check_morris,
    "chess-1e43-is-no-bound": check_chess,
}


@pytest.mark.parametrize("id_", CHECKS)
def test_evidence(id_: str, findings: dict[str, Finding]) -> None:
    CHECKS[id_](findings[id_].evidence)


def test_counts_of_the_report(report: BoundsReport) -> None:
    corrected, tightened = report.corrected, report.tightened
    assert corrected.no_end == EQ6
    assert corrected.end == EQ7 + EQ8 + LAST + captured_by_hand()
    assert corrected.total == EQ6 + corrected.end == 1293874976310946438745768012
    assert corrected.distinct == EQ6 + EQ7 + EQ8 + LAST == 1176096256374262136181970612
    assert report.with_side_to_move["corrected_distinct"] == 2 * EQ6 + EQ7 + EQ8 + LAST
    assert tightened.total < corrected.total
    assert sum(space.exact for space in report.excluded) == corrected.total - tightened.total
    # What is undecided no more (a king besieged at home) is still the placement of a captured king.
    besieged = next(space.exact for space in report.excluded if space.id == "excluded_no_end")
    left = published_exclusions(load_variant("ashton").digest)
    assert left is not None
    both = left.of("king_captured_undecided").placements
    assert both + besieged < corrected.king_captured
    assert tightened.total - tightened.distinct == both


def test_shares_add_up(report: BoundsReport) -> None:
    assert sum(pair.total for pair in report.material) == report.corrected.total
    assert sum(pair.no_end for pair in report.material) == report.corrected.no_end
    full = next(pair for pair in report.material if (pair.attackers, pair.defenders) == (16, 8))
    assert full.share == "59.5163"


def test_findings_belong_to_the_papers_rules_alone() -> None:
    assert not any(find(PaperEquations(load_variant(name)), {}) for name in OLDER_NAMES if name != "ashton")


# -- tablut among other games ----------------------------------------------------------------


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
    assert report.comparison[place].today == str(report.corrected.distinct)
    assert all(game.source for game in report.comparison)


def test_figures_of_others_follow_from_what_they_count() -> None:
    """Any number of the men is white: at least one, and not all of them."""
    men = sum(comb(121, men) * sum(white * comb(men, white) for white in range(1, men)) for men in range(3, 38))
    for one, exact in zip(published_estimates(), (4**121, men // 4), strict=True):
        assert is_rounded(exact, one.figure), one
