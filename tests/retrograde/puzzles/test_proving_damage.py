"""`tablut prove` on folders that were damaged, or edited and sealed again: no false claim, and no defect.

For a longer campaign with another seed:
``python -m tests.retrograde.puzzles.test_proving_damage SEED COUNT``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from retrograde.proofs.proof_tree import FIRST_PART, KIND, AnswerStats, SearchRecord, row_type
from retrograde.proofs.table import INFINITE
from tablut.cli.shell import run
from tablut.work.parts import Owner, PartWriter, open_part
from tablut.work.sealed_records import digest_of, read_record
from tests.support.effort import slow_but
from tests.support.waiting import PATIENCE, at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

SEED = 48
NUMBERS = (0, 1, -1, 2, 3, 9, INFINITE - 1, INFINITE, INFINITE + 1, 4094, 4095, 1 << 40, 1 << 62, -(1 << 63))
FIELDS = ("kind", "proof", "disproof", "plies", "nodes")


class Case(NamedTuple):
    """A claim about a small position, and whether it is true."""

    variant: str
    position: str
    claim: str
    true: bool
    nodes: int
    hours: float | None = None

    def command(self, store: Path) -> list[str]:
        """Return what asks for it."""
        asked = ["prove", "-v", self.variant, "-p", self.position, "--claim", self.claim, "--store", str(store)]
        limit = [] if self.hours is None else ["--hours", str(self.hours)]
        return [*asked, "--memory", "1", "--nodes", str(self.nodes), *limit, "--json"]


SMALL = "2b2/5/b1K1b/5/2b2 b"
CASES = (
    Case("brandubh-5-4v0", SMALL, "white", true=True, nodes=20),
    Case("brandubh-5-4v0", SMALL, "black", true=False, nodes=20),
    Case("brandubh-5-4v0", SMALL, "not-white", true=False, nodes=20),
    Case("ashton-5-4v2", "5/b4/5/b1K1b/ww2b w", "not-black", true=True, nodes=2_000),
    Case("ashton-5-4v2", "5/b4/5/b1K1b/ww2b w", "white", true=False, nodes=100),
    # Nothing is searched: what the folder says is all there is.
    Case("brandubh-5-4v0", SMALL, "black", true=False, nodes=20, hours=0),
    Case("brandubh-5-4v0", SMALL, "white", true=True, nodes=20, hours=0),
)  # fmt: skip


def asked(case: Case, store: Path) -> tuple[int, str, str]:
    """Return the exit code, what was printed, and what was complained of."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(case.command(store))
    return code, out.getvalue(), err.getvalue()


def sealed(store: Path, rows: NDArray[Any] | bytes) -> None:
    """Write the rows of the only part, with fitting digests."""
    content = np.frombuffer(rows if isinstance(rows, bytes) else rows.tobytes(), dtype=np.uint8)
    head = read_record(store / KIND.head, SearchRecord, "head", "")
    assert head is not None
    with PartWriter(store / FIRST_PART) as writer:
        writer.put("rows", content)
        count = len(content) // row_type(1).itemsize
        writer.finish(Owner(plan=digest_of(head), step=0, number=0), AnswerStats(rows=count))


def number_changed(rows: NDArray[Any], random: Random) -> NDArray[Any]:
    name = random.choice(FIELDS)
    rows[name][random.randrange(len(rows))] = random.choice((*NUMBERS, *rows[name][:9].tolist()))
    return rows


def position_changed(rows: NDArray[Any], random: Random) -> NDArray[Any]:
    words = rows["words"]
    at, word = random.randrange(len(rows)), random.randrange(words.shape[1])
    other = int(words[random.randrange(len(rows)), word])
    words[at, word] = random.choice((int(words[at, word]) ^ (1 << random.randrange(64)), other, 0, (1 << 64) - 1))
    return rows


def settled_so(rows: NDArray[Any], random: Random) -> NDArray[Any]:
    """Have the first answers, or all of them, say that their positions are proved, or disproved."""
    heads = np.flatnonzero(rows["kind"] % 2 == 0)[: random.choice((1, 2, len(rows)))]
    proof, disproof = random.choice(((0, INFINITE), (INFINITE, 0)))
    which = random.choice((heads, np.arange(len(rows))))
    rows["proof"][which], rows["disproof"][which] = proof, disproof
    rows["plies"][which] = random.choice((-1, 0, 1, 2, 4, 6, 1001))
    alone = random.random() < 0.5
    return rows[heads] if alone else rows


def rows_moved(rows: NDArray[Any], random: Random) -> NDArray[Any]:
    one, two = sorted(random.randrange(len(rows) + 1) for _ in range(2))
    ways = (rows[:one], rows[one:], np.delete(rows, slice(one, two)), rows[::-1], np.concatenate([rows, rows[one:two]]))
    return random.choice(ways).copy()


def bytes_cut(rows: NDArray[Any], random: Random) -> bytes:
    content = rows.tobytes()
    return random.choice((content[: random.randrange(len(content))], b"", content + b"\0"))


EDITS: tuple[Callable[[NDArray[Any], Random], NDArray[Any] | bytes], ...] = (
    number_changed, number_changed, position_changed, settled_so, settled_so, rows_moved, bytes_cut,
)  # fmt: skip


def edited(store: Path, random: Random) -> str:
    """Damage a folder, most often with the seals made right again; return how."""
    way = random.random()
    if way < 0.15:
        path = random.choice([path for path in store.iterdir() if path.stat().st_size])
        content = bytearray(path.read_bytes())
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        path.write_bytes(content)
        return f"a bit of {path.name}"
    if way < 0.2:
        shutil.copy(store / FIRST_PART, store / FIRST_PART.replace("1", "2"))
        return "a part twice"
    # Positions of these boards have one word.
    rows = open_part(store / FIRST_PART, AnswerStats).array("rows").view(row_type(1)).copy()
    done = []
    for _ in range(random.choice((1, 1, 2, 3))):
        edit = random.choice(EDITS)
        done.append(edit.__name__)
        changed = edit(rows, random) if len(rows) else b""
        if isinstance(changed, bytes):
            sealed(store, changed)
            return " ".join(done)
        rows = changed
    sealed(store, rows)
    return " ".join(done)


def campaign(stores: list[tuple[Case, Path]], seed: int, count: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what came of each trial, and a fault or an empty text."""
    for number in range(count):
        random = Random(f"{seed} {number}")
        case, sound = random.choice(stores)
        store = folder / "edited"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(sound, store)
        how = f"{number}: {case.claim} of {case.variant}, {edited(store, random)}"
        code, out, err = asked(case, store)
        fault = ""
        if code in (0, 1):
            told = json.loads(out)
            if (code == 0) != case.true or not told["checked"] or told["status"] != ("refuted", "proved")[code == 0]:
                fault = f"{how}: a false claim: {out[:300]}"
            if case.true and run(["puzzle", "check", told["certificate"], "--plies", "0"]) != 0:
                fault = f"{how}: its certificate is refused"
        elif code == 2:
            last = err.splitlines()[-1]
            if (
                not any(name in last for name in (str(store), case.position))
                or sum("edited" in line for line in err.splitlines()) != 1
            ):
                fault = f"{how}: names nothing: {err}"
        elif code != 3:
            fault = f"{how}: exit code {code}: {err[-1500:]}"
        yield str(code), fault


def made(folder: Path) -> list[tuple[Case, Path]]:
    """Return a sound folder for each case."""
    found = []
    for number, case in enumerate(CASES):
        store = folder / f"sound-{number}"
        code, out, _ = asked(case._replace(hours=None), store)
        assert (code == 0) == case.true, out
        assert json.loads(out)["checked"], out
        found.append((case, store))
    return found


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, Path]]:
    return made(tmp_path_factory.mktemp("stores"))


@pytest.mark.parametrize("count", slow_but([20], [200]))
def test_an_edited_folder_makes_no_false_claim_and_ends_in_no_defect(
    count: int, stores: list[tuple[Case, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = Counter[str]()
    for code, fault in campaign(stores, SEED, count, tmp_path):
        assert not fault
        codes[code] += 1
    capsys.readouterr()
    assert min(codes["0"], codes["1"], codes["2"]) > count // 14, codes


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_place_of_the_certificate_does_not_make_the_search_wait(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.jsonl.gz"
    assert asked(CASES[0], tmp_path)[0] == 0
    written = certificate.read_bytes()
    certificate.unlink()
    os.mkfifo(certificate)
    with at_most(PATIENCE):
        assert asked(CASES[0], tmp_path)[0] == 0
    assert certificate.read_bytes() == written


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        results = list(campaign(made(Path(place)), int(sys.argv[1]), int(sys.argv[2]), Path(place)))
    faults = [fault for _, fault in results if fault]
    counts = Counter(code for code, _ in results)
    sys.stderr.write("\n".join([*faults, f"exit codes {dict(counts)}, {len(faults)} faults"]) + "\n")
