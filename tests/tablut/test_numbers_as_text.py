"""Numbers as people read them: things, sizes, rates and times."""

from __future__ import annotations

import pytest

from tablut.work.progress import plural, rate_text, seconds_text, size_text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (1, "task", "1 task"),
        (0, "task", "0 tasks"),
        (1, "ply", "1 ply"),
        (2, "class", "2 classes"),
        (4875, "node", "4,875 nodes"),
        (12, "symmetry", "12 symmetries"),
    ],
)
def test_one_thing_is_not_many(count: int, noun: str, text: str) -> None:
    assert plural(count, noun) == text


@pytest.mark.parametrize("power", range(16))
def test_a_size_is_below_a_thousand_of_its_unit(power: int) -> None:
    units = ["byte", "bytes", "kB", "MB", "GB", "TB"]
    for count in (10**power - 1, 10**power, 10**power + 1):
        number, unit = size_text(count).split()
        value = float(number)
        assert unit in units
        assert value < 1000 or "e" in number
        exact = value * 1000 ** max(0, units.index(unit) - 1)
        assert exact == pytest.approx(count, rel=0.06, abs=0.05)


def test_small_numbers_are_not_shown_as_none() -> None:
    assert rate_text(0.2e6) == "200,000 a second"
    assert rate_text(2.3e6) == "2.3 million a second"
    assert "0.0" not in seconds_text(0.001)
    assert seconds_text(0.2) == "0.2 s"
