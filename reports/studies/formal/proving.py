"""Compilation of the proof, an independent check of the compiled files, and a comparison with `tablut bounds`.

All files are compiled in a temporary folder. ``coqc`` checks every proof, ``coqchk`` checks the compiled files and the
libraries again, and ``Print Assumptions`` lists what a theorem depends on besides the rules of logic: nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from counting.complexity import bounds
from reports.studies.formal.generate import FOLDER, LIBRARY, PROVED, claims, module_name, path_of, statements
from tablut.cli.runtime import EXIT_NO
from tablut.errors import InputError, TablutError
from tablut.results import Result
from tablut.variants import as_variant, load_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counting.complexity import BoundsReport
    from tablut.variants import Variant, VariantLike

PAPER: Final = "paper"
_PACKAGES: Final = "install the packages coq (8.16) and libcoq-mathcomp-fingroup (1.15), for example on Debian 12"
_COMPILER: Final = ("coqc", "-q", "-w", "none", "-Q", ".", "Tablut")
_CHECKER: Final = ("coqchk", "-silent", "-o", "-bytecode-compiler", "yes", "-Q", ".", "Tablut")
_CLOSED: Final = "Closed under the global context"
_NO_AXIOMS: Final = "* Axioms: <none>"
_SHOWN: Final = 6


class Compiled(Result):
    """A file of the proof, with the processor seconds and the memory that its compilation took."""

    file: str
    seconds: float
    mib: int


class Proved(Result):
    """A theorem as Rocq prints it.

    Attributes
    ----------
    closed : bool
        Whether the proof uses no axioms.
    expected : str or None
        The number or answer of `tablut bounds`, if it computes one for this theorem.
    agrees : bool or None
        Whether the theorem states the same.
    """

    theorem: str
    statement: str
    closed: bool
    expected: str | None
    agrees: bool | None


class Proof(Result):
    """Result of compiling and checking the proof."""

    version: str
    files: list[Compiled]
    theorems: list[Proved]
    checker: list[str]
    checker_seconds: float
    checker_mib: int
    failures: list[str]


class ProofError(TablutError):
    """A proof that does not hold. The message contains the last lines of the proof assistant."""

    exit_code = EXIT_NO


def check_installed() -> None:
    """Raise `InputError` if the proof assistant is not installed."""
    for program in ("coqc", "coqchk"):
        if shutil.which(program) is None:
            raise InputError("is not installed", subject=program, remedy=_PACKAGES)


def prove(sources: Sequence[VariantLike], threads: int = 1, advance: Callable[[], None] = lambda: None) -> Proof:
    """Compile and check the proof for some rule sets.

    Parameters
    ----------
    sources : sequence of Variant, str or path-like
        The rule sets.
    threads : int
        Number of programs to run at the same time. With more than one, the libraries are checked more than once.
    advance : callable
        Called after each of the `steps`.
    """
    check_installed()
    variants = [as_variant(source) for source in sources]
    texts = {module_name(variant): statements(variant) for variant in variants}
    failures = [
        f"{path_of(name).name} is not what the generator writes: run `generate`"
        for name in PROVED
        if any(variant.same_game(load_variant(name)) for variant in variants)
        and path_of(name).read_text(encoding="utf-8") != statements(name)
    ]
    with tempfile.TemporaryDirectory(prefix="tablut-formal-") as place, ThreadPoolExecutor(threads) as pool:
        folder = Path(place)
        for file in (*LIBRARY, PAPER):
            shutil.copy(FOLDER / f"{file}.v", folder)
        for module, text in texts.items():
            (folder / f"{module}.v").write_text(text, encoding="utf-8")

        def compile_all(modules: Sequence[str]) -> Iterator[Compiled]:
            for answer in pool.map(lambda module: _compile(folder, module), modules):
                advance()
                yield answer

        files = [answer for module in LIBRARY for answer in compile_all([module])]
        files += compile_all(list(texts))
        papers = [PAPER] if any(map(_is_the_papers, variants)) else []
        files += compile_all(papers)
        modules = [*texts, *papers]
        theorems = _audit(folder, modules, _expected(variants))
        advance()
        # Each run checks the libraries too, so one run for all files needs the least time.
        groups = [modules[first::threads] for first in range(min(threads, len(modules)))]
        checks = list(pool.map(lambda group: _run(folder, *_CHECKER, *map(_named, group)), groups))
        advance()
    reports = [[line.strip() for line in check.output.splitlines() if line.strip().startswith("*")] for check in checks]
    failures += [f"{one.theorem} depends on axioms" for one in theorems if not one.closed]
    failures += [f"{one.theorem} does not state {one.expected}" for one in theorems if one.agrees is False]
    if not all(_NO_AXIOMS in report for report in reports):
        failures.append("coqchk did not report that there are no axioms")
    version = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=True).stdout.split()[0]
    return Proof(
        version=version,
        files=files,
        theorems=theorems,
        checker=reports[0],
        checker_seconds=round(sum(check.seconds for check in checks), 1),
        checker_mib=max(check.mib for check in checks),
        failures=failures,
    )


def steps(sources: Sequence[VariantLike]) -> int:
    """Return the number of steps of a proof, for a progress bar."""
    return len(LIBRARY) + len(sources) + any(_is_the_papers(as_variant(source)) for source in sources) + 2


def _is_the_papers(variant: Variant) -> bool:
    """Return whether a rule set is the one to which the file about the paper refers."""
    return variant.name == "ashton" and variant.same_game(load_variant("ashton"))


def _named(module: str) -> str:
    return f"Tablut.{module}"


class _Ran(NamedTuple):
    """What a program has printed, and what it has used."""

    output: str
    seconds: float
    mib: int


def _run(folder: Path, *command: str) -> _Ran:
    """Run a program of the proof assistant. If it fails, raise an error with the last lines of its output."""
    with tempfile.TemporaryFile(dir=folder) as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode:
        lines = [line for line in text.splitlines() if line.strip()]
        raise ProofError(" ".join(" ".join(lines[-_SHOWN:]).split()) or "failed", subject=f"{command[0]} {command[-1]}")
    return _Ran(text, round(usage.ru_utime + usage.ru_stime, 1), usage.ru_maxrss >> 10)


def _compile(folder: Path, module: str) -> Compiled:
    ran = _run(folder, *_COMPILER, f"{module}.v")
    return Compiled(file=f"{module}.v", seconds=ran.seconds, mib=ran.mib)


def theorem_names(text: str) -> list[str]:
    """Return the names of the theorems of a Rocq file."""
    return re.findall(r"^Theorem (\w+)", text, flags=re.MULTILINE)


def _audit(folder: Path, modules: Sequence[str], expected: dict[str, str]) -> list[Proved]:
    """Let Rocq print every theorem of some files and its assumptions."""
    names = [
        f"{module}.{name}" for module in modules for name in theorem_names((folder / f"{module}.v").read_text("utf-8"))
    ]
    lines = [
        "From mathcomp Require Import all_ssreflect.",
        "From Coq Require Import NArith.",
        "From Tablut Require Import definitions binomials.",
        f"From Tablut Require {' '.join(modules)}.",
        # A rule set has the same name as its module; it is printed once.
        *(f"Notation \"'{module}'\" := {module}.{module} (only printing)." for module in modules if module != PAPER),
        "Set Printing Width 100.",
        "Set Printing Depth 1000.",
        *(f"Check {name}.\nPrint Assumptions {name}." for name in names),
    ]
    (folder / "audit.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = _run(folder, *_COMPILER, "audit.v").output
    found = []
    for name, following in zip(names, (*names[1:], None), strict=True):
        _, _, text = text.partition(f"{name}\n")
        part = text if following is None else text.partition(f"{following}\n")[0]
        statement, _, assumed = part.partition(_CLOSED)
        statement = " ".join(statement.strip().removeprefix(":").split())
        stated = re.search(r"= (\d+|true|false)(?:%\w+)?$", statement)
        answer = expected.get(name)
        found.append(
            Proved(
                theorem=name,
                statement=statement,
                closed=_CLOSED in part and not assumed.strip(),
                expected=answer,
                agrees=None if answer is None else stated is not None and stated[1] == answer,
            )
        )
    return found


def _expected(variants: Sequence[Variant]) -> dict[str, str]:
    """Return what `tablut bounds` computes, by the name of the theorem that states it."""
    answers: dict[str, str] = {}
    for variant in variants:
        report, module = bounds(variant), module_name(variant)
        answers |= {f"{module}.{claim.theorem}": str(claim.number(report)) for claim in claims()}
        if _is_the_papers(variant):
            answers |= {f"{PAPER}.{theorem}": answer for theorem, answer in _about_the_paper(report).items()}
    return answers


def _about_the_paper(report: BoundsReport) -> dict[str, str]:
    """Return the values of the paper's equations, whether its figures agree, and the evidence for its errors."""
    answers: dict[str, str] = {}
    for term in report.terms:
        number = term.id.removeprefix("eq")
        answers |= {f"equation_{number}": str(term.exact), f"figure_{number}": str(term.agrees).lower()}
    evidence = {finding.id: finding.evidence for finding in report.findings}
    totals = evidence["eq13-eq14-totals"]
    return answers | {
        "omitted": str(evidence["camp-front-two-soldiers"]["missing_term"]),
        "misprint_12": str(evidence["eq12-upper-limit"]["with_limit_15"]),
        "misprint_13": str(totals["eq13_with_limit_15_in_eq12"]),
        "misprint_14": str(totals["eq14_with_limit_15_in_eq12"]),
    }
