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
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counting.complexity import bounds
from reports.studies.formal.generate import FOLDER, LIBRARY, claims, module_name, path_of, statements
from tablut.cli.runtime import EXIT_NO
from tablut.errors import InputError, TablutError
from tablut.results import Result
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counting.complexity import BoundsReport
    from tablut.variants import Variant, VariantLike

PAPER: Final = "paper"
_PACKAGES: Final = "install the packages coq (8.16) and libcoq-mathcomp-fingroup (1.15), for example on Debian 12"
_OPTIONS: Final = ("-Q", ".", "Tablut")
_WARNINGS: Final = ("-w", "-notation-overridden,-ambiguous-paths")
_CLOSED: Final = "Closed under the global context"
_NO_AXIOMS: Final = "* Axioms: <none>"
_SHOWN: Final = 6


class Compiled(Result):
    """A file of the proof, with the processor seconds that its compilation took."""

    file: str
    seconds: float


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
    failures: list[str]


class ProofError(TablutError):
    """A proof that does not hold. The message contains the last lines of the proof assistant."""

    exit_code = EXIT_NO


def check_installed() -> None:
    """Raise `InputError` if the proof assistant is not installed."""
    for program in ("coqc", "coqchk"):
        if shutil.which(program) is None:
            raise InputError("is not installed", subject=program, remedy=_PACKAGES)


def prove(sources: Sequence[VariantLike], advance: Callable[[], None] = lambda: None) -> Proof:
    """Compile and check the proof for some rule sets.

    Parameters
    ----------
    sources : sequence of Variant, str or path-like
        The rule sets.
    advance : callable
        Is called after each step; there is one step for each file, and two more.
    """
    check_installed()
    variants = [as_variant(source) for source in sources]
    texts = {module_name(variant): statements(variant) for variant in variants}
    failures = [
        f"{path.name} is not what the generator writes: run `generate`"
        for variant in variants
        if (path := path_of(variant)).exists() and path.read_text(encoding="utf-8") != texts[path.stem]
    ]
    with tempfile.TemporaryDirectory(prefix="tablut-formal-") as name:
        folder = Path(name)
        for file in (*LIBRARY, PAPER):
            shutil.copy(FOLDER / f"{file}.v", folder)
        for module, text in texts.items():
            (folder / f"{module}.v").write_text(text, encoding="utf-8")
        modules = [*texts, *([PAPER] if "ashton" in texts else [])]
        files = []
        for module in (*LIBRARY, *modules):
            files.append(_compile(folder, module))
            advance()
        theorems = _audit(folder, modules, _expected(variants))
        advance()
        began = _processor_seconds()
        checked = _run(folder, "coqchk", "-silent", "-o", "-bytecode-compiler", "yes", *_OPTIONS, *_named(modules))
        seconds = _processor_seconds() - began
        advance()
    lines = [line.strip() for line in (checked.stdout + checked.stderr).splitlines() if line.strip().startswith("*")]
    failures += [f"{one.theorem} depends on axioms" for one in theorems if not one.closed]
    failures += [f"{one.theorem} does not state {one.expected}" for one in theorems if one.agrees is False]
    if _NO_AXIOMS not in lines:
        failures.append("coqchk did not report that there are no axioms")
    version = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=True).stdout.split()[0]
    return Proof(
        version=version,
        files=files,
        theorems=theorems,
        checker=lines,
        checker_seconds=round(seconds, 1),
        failures=failures,
    )


def _named(modules: Sequence[str]) -> list[str]:
    return [f"Tablut.{module}" for module in modules]


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the proof assistant. If it fails, raise an error with the last lines of its output."""
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        lines = [line for line in (ran.stderr + ran.stdout).splitlines() if line.strip()]
        raise ProofError(" ".join(" ".join(lines[-_SHOWN:]).split()) or "failed", subject=f"{command[0]} {command[-1]}")
    return ran


def _processor_seconds() -> float:
    """Return the processor time of all programs that this process has run."""
    times = os.times()
    return times.children_user + times.children_system


def _compile(folder: Path, module: str) -> Compiled:
    began = _processor_seconds()
    _run(folder, "coqc", "-q", *_WARNINGS, *_OPTIONS, f"{module}.v")
    return Compiled(file=f"{module}.v", seconds=round(_processor_seconds() - began, 1))


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
    text = _run(folder, "coqc", "-q", *_WARNINGS, *_OPTIONS, "audit.v").stdout
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
        if module == "ashton":
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
