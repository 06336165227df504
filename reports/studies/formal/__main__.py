"""``python -m reports.studies.formal``: write the statements, check the proof, and render the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from reports.studies.formal.generate import FOLDER, PROVED, path_of, statements
from reports.studies.rendered import PageRequest, rendered
from tablut.cli.command import Group
from tablut.cli.options import complete_variant, threads_field
from tablut.cli.people import Table, label, number
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, progress, typed
from tablut.cli.shell import main
from tablut.provenance import commit, origin
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import write_text

if TYPE_CHECKING:
    from reports.studies.formal.proving import Proof
    from tablut.cli.people import PeopleConsole

app = Group(help="The corrected bound, proved in Rocq (Coq).")
NAME = "python -m reports.studies.formal"


class _Written(Result):
    files: list[str]


def _variants_field() -> Any:
    words = "Name of a shipped rule set, or a TOML file; may be repeated. [default: the rule sets of the study]"
    return Option((), words, "--variant", "-v", metavar="NAME|FILE", complete=complete_variant)


class GenerateRequest(Request):
    """The parameters of the command."""

    variants: tuple[str, ...] = _variants_field()
    out: Path | None = Option(None, "Output folder; by default, the folder of the study.", metavar="DIR")


@app.command("generate")
def generate_command(request: GenerateRequest) -> Reply:
    """Write the statements about rule sets: their cells and rules, and theorems with the numbers of `tablut bounds`."""
    texts = {
        (path_of(variant) if request.out is None else path_of(variant, request.out)): statements(variant)
        for variant in map(load_variant, request.variants or PROVED)
    }
    for path, text in texts.items():
        write_text(path, text)
    result = _Written(files=[str(path) for path in texts])
    return Reply(result, lambda console: console.print("\n".join(f"written: {path}" for path in texts)))


class ProveRequest(Request):
    """The parameters of the command."""

    variants: tuple[str, ...] = _variants_field()
    out: Path | None = Option(None, "JSON file for the result, from which the page is rendered.")
    threads: int = threads_field("Number of programs to run at the same time.")


@app.command("prove")
def prove_command(request: ProveRequest) -> Reply:
    """Check the proof with coqc and coqchk, and compare the proved numbers with those of `tablut bounds`.

    The command compiles everything in a temporary folder. Exit code 1: a proof fails or depends on axioms, or a number
    differs.
    """
    from reports.studies.formal.proving import prove, steps

    chosen = [load_variant(name) for name in request.variants or PROVED]
    with progress("formal") as observer:
        observer.begin("steps", steps(chosen))
        result = prove(chosen, request.threads, observer.advance)
    if request.out is not None:
        seconds = sum(file.seconds for file in result.files) + result.checker_seconds
        signed = {**result.model_dump(mode="json"), "provenance": origin(typed(), {}, None, seconds, commit=commit())}
        write_text(request.out, json.dumps(signed, indent=1, ensure_ascii=False) + "\n")
    return Reply(result, lambda console: _show(console, result), EXIT_NO if result.failures else 0)


def _show(console: PeopleConsole, result: Proof) -> None:
    table = Table(label("theorem"), label("statement"))
    for one in result.theorems:
        table.add(one.theorem, one.statement)
    console.print(table)
    closed = sum(one.closed for one in result.theorems)
    agree = sum(one.agrees is True for one in result.theorems)
    console.print(f"{len(result.theorems)} theorems, {closed} of them closed under the global context (no axioms).")
    console.print(f"{agree} of them state a number or answer that `tablut bounds` computes too, and it is the same.")
    used = Table(label("file"), number("processor seconds"), number("MiB"))
    for file in result.files:
        used.add(file.file, f"{file.seconds:.1f}", f"{file.mib:,}")
    used.add("coqchk", f"{result.checker_seconds:.1f}", f"{result.checker_mib:,}")
    console.print(used)
    console.print("\n".join(f"coqchk: {line.removeprefix('* ')}" for line in result.checker), style="dim")
    for line in result.failures:
        console.print(Text.assemble(("failed ", "bold red"), line))


@app.command("page")
def page_command(request: PageRequest) -> Reply:
    """Render the page from the stored result and the definitions."""
    from reports.studies.formal.page import artefacts

    return rendered(FOLDER, artefacts(), request.check)


if __name__ == "__main__":
    main(app, NAME)
