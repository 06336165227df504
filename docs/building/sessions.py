"""Generation of the pictures and notebooks of the tutorials from the tutorials' pages.

The Python blocks of a tutorial form one session, which the tests run like the blocks of any page. A comment above each
picture contains the expression that the picture shows::

    <!-- picture: EXPRESSION -->
    ![what is to be seen](../figures/tutorial-NAME-1.svg)

EXPRESSION is evaluated at this point of the session and must return a board or the text of an SVG. In the notebook, the
expression itself replaces the picture. ``python -m docs.building.sessions`` redraws all pictures and reruns all
notebooks.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from docs.building.doors import ROOT
from tests.support.pages import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode

    from tests.support.pages import Block

DOCS = ROOT / "docs"
TUTORIALS = tuple(sorted((DOCS / "tutorials").glob("*.md")))
NOTEBOOKS = DOCS / "notebooks"
SECONDS = 120
"""Time limit for a cell of a notebook, in seconds."""
_MUST_SUCCEED = "\nassert _exit_code == 0"
"""Code appended to shell commands while a notebook runs, because failed commands would otherwise be ignored."""
_PICTURE = re.compile(r"<!-- picture: (.*?) -->\n!\[[^\]]*\]\(\.\./figures/([\w-]+\.svg)\)\n")


class Picture(NamedTuple):
    """A picture in a tutorial: the expression that it shows, and its file name."""

    expression: str
    file: str


class Cell(NamedTuple):
    """A cell of a notebook: its kind and text, the file name of its picture, and whether it shows an error."""

    kind: Literal["markdown", "code"]
    source: str
    picture: str = ""
    fails: bool = False


def parts(text: str) -> Iterator[str | Block | Picture]:
    """Yield the texts, code blocks and pictures of a page in order."""
    lines = text.splitlines(keepends=True)
    at = 0
    for block in [*blocks_of(text), None]:
        prose = "".join(lines[at : block.line - 2 if block else len(lines)])
        between = _PICTURE.split(prose)
        for i in range(0, len(between), 3):
            said = re.sub(r"<!--.*?-->\n?", "", between[i], flags=re.DOTALL).strip()
            if said:
                yield said
            if i + 2 < len(between):
                yield Picture(between[i + 1], between[i + 2])
        if block:
            yield block
            at = block.line + len(block.text.splitlines())


def _examples(block: Block) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(block.text + "\n")


def cells(text: str) -> Iterator[Cell]:
    """Yield the cells of a tutorial's notebook."""
    for part in parts(text):
        if isinstance(part, str):
            yield Cell("markdown", re.sub(r"\n\n\*.*a notebook\]\(.*?\n(?=\n|$)", "\n", part, count=1, flags=re.DOTALL))
        elif isinstance(part, Picture):
            drawn = re.match(r"[\w.]+\(", part.expression) and not part.expression.startswith("Board(")
            shown = f"from IPython.display import SVG\n\nSVG({part.expression})" if drawn else part.expression
            yield Cell("code", shown, picture=part.file)
        elif "file" in part.marks:
            yield Cell("code", f"%%writefile {part.marks['file']}\n{part.text}")
        elif part.is_python:
            source = ""
            for example in _examples(part):
                source += example.source
                if example.want:
                    yield Cell("code", source.rstrip(), fails=example.exc_msg is not None)
                    source = ""
            if source:
                yield Cell("code", source.rstrip())
        elif "not run" in part.marks:
            yield Cell("markdown", f"```sh\n{part.text}\n```")
        else:
            for command in part.commands:
                yield Cell("code", f"!{command.text}")


def notebook(page: Path) -> NotebookNode:
    """Return the notebook of a tutorial, without outputs."""
    from nbformat import v4

    made = []
    for number, cell in enumerate(cells(page.read_text(encoding="utf-8"))):
        new = v4.new_code_cell if cell.kind == "code" else v4.new_markdown_cell
        notes = {"tags": ["raises-exception"]} if cell.fails else {"picture": cell.picture} if cell.picture else {}
        made.append(new(cell.source, id=f"{page.stem}-{number}", metadata=notes))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=made, metadata={"kernelspec": kernel})


def run(notebook: NotebookNode) -> NotebookNode:
    """Run a notebook in an empty folder, and return it with its outputs."""
    from nbclient import NotebookClient

    commands = [cell for cell in notebook.cells if cell.source.startswith("!")]
    before = os.environ["PATH"]
    os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + before  # so that `!tablut` is found
    try:
        for cell in commands:
            cell.source += _MUST_SUCCEED
        with tempfile.TemporaryDirectory() as folder:
            resources = {"metadata": {"path": folder}}
            NotebookClient(notebook, timeout=SECONDS, record_timing=False, resources=resources).execute()
    finally:
        os.environ["PATH"] = before
        for cell in commands:
            cell.source = cell.source.removesuffix(_MUST_SUCCEED)
    return notebook


def _settle(done: NotebookNode) -> None:
    """Clean the outputs: keep only what remains visible on a terminal, and remove local paths from tracebacks."""
    for cell in done.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [line.replace(f"{ROOT}/", "") for line in output.traceback]
        streams = [output for output in cell.get("outputs", []) if output.output_type == "stream"]
        if not streams:
            continue
        printed = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "".join(output.text for output in streams))
        lines = [line.rpartition("\r")[2] for line in printed.replace("\r\n", "\n").split("\n")]
        # Even a finished progress bar ends with a line that the terminal then erases.
        kept = [line.rstrip() for line in lines if "━━━" not in line and not line.startswith("tablut: compiling")]
        streams[0].text = "\n".join(kept).strip("\n") + "\n"
        cell.outputs = [output for output in cell.outputs if output not in streams[1:]]


def pictures(done: NotebookNode) -> dict[str, str]:
    """Return the pictures of a notebook that has been run, keyed by file name."""
    return {
        cell.metadata["picture"]: cell.outputs[0].data["image/svg+xml"].rstrip() + "\n"
        for cell in done.cells
        if "picture" in cell.metadata
    }


def stale(page: Path) -> list[str]:
    """Run the notebook of a tutorial, and return the names of its stored files that are out of date."""
    import nbformat

    kept = NOTEBOOKS / f"{page.stem}.ipynb"
    made = notebook(page)
    wanted = [(cell.cell_type, cell.source, cell.metadata) for cell in made.cells]
    found = nbformat.read(kept, as_version=4).cells if kept.exists() else []
    names = [] if [(cell.cell_type, cell.source, cell.metadata) for cell in found] == wanted else [kept.name]
    for name, text in pictures(run(made)).items():
        figure = DOCS / "figures" / name
        if not figure.exists() or figure.read_text(encoding="utf-8") != text:
            names.append(name)
    return names


def write(page: Path) -> None:
    """Rerun the notebook of a tutorial, and save it with its pictures."""
    import nbformat

    done = run(notebook(page))
    for name, text in pictures(done).items():
        (DOCS / "figures" / name).write_text(text, encoding="utf-8")
    _settle(done)
    done.metadata.pop("language_info", None)
    nbformat.write(done, NOTEBOOKS / f"{page.stem}.ipynb")


def main(arguments: list[str]) -> int:
    """Write the notebooks and return 0. With ``--check``, only compare them, and return 1 if any is out of date."""
    names = [argument for argument in arguments if argument != "--check"]
    bad = []
    for page in TUTORIALS:
        if names and page.stem not in names:
            continue
        if "--check" in arguments:
            bad += stale(page)
        else:
            write(page)
    if bad:
        print(f"not current: {', '.join(bad)}; run: python -m docs.building.sessions")  # noqa: T201
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
