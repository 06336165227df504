"""Checks in environments of their own: other versions of Python and of the dependencies, and the built packages.

`nox --list` lists the sessions, and `nox -s wheel` runs one. A session is skipped if its interpreter is missing.
"""

import re
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "tests-3.11", "wheel"]

_PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
_TESTS = ("python", "-m", "pytest", "-n", "2", "--dist", "worksteal")
_PROJECT = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text(encoding="utf-8"))["project"]
_EXTRAS: dict[str, list[str]] = _PROJECT["optional-dependencies"]
_TYPED = re.compile("mypy|types-")
"""Pattern of the requirements that check types."""


@nox.session(python=_PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with the newest versions of the dependencies."""
    session.install("-e", ".[test]")
    session.run(*_TESTS, *session.posargs)


@nox.session(python="3.11", venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Run the tests, the linter and the documentation with the lowest versions that pyproject.toml admits.

    All extras are installed. Later versions of libraries describe their types more exactly, so the lowest type checker
    is run beside the newest libraries.
    """
    session.install("--resolution", "lowest-direct", "-e", f".[{','.join(_EXTRAS)}]")
    session.run(*_TESTS, *session.posargs)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("python", "-m", "sphinx", "-q", "docs", session.create_tmp())
    tools = [requirement.replace(">=", "==") for requirement in _EXTRAS["test"] if _TYPED.match(requirement)]
    session.install("--upgrade", "-e", ".[test]", *tools)
    session.run("mypy")


@nox.session(python="3.11")
@nox.parametrize("numba", ["0.63.0", "0.64.0", "0.65.1", "0.66.0", "0.67.0", "0.68.0"])
def numbas(session: nox.Session, numba: str) -> None:
    """Compare compiled code with plain Python under another version of numba."""
    session.install("-e", ".[test]", f"numba=={numba}")
    modules = ("jit", "twin", "neighbours")
    session.run("python", "-m", "pytest", *(f"tests/tablut/test_engine_{name}.py" for name in modules))


@nox.session(python="3.11")
def coverage(session: nox.Session) -> None:
    """Run the tests, and report which branches of the packages they cover, without studies and compiled functions."""
    session.install("-e", ".[test]", "pytest-cov")
    packages = [f"--cov={name}" for name in ("symmetry", "tablut", "counting", "retrograde", "reports")]
    session.run(*_TESTS, *packages, "--cov-branch", "--cov-report=term:skip-covered", *session.posargs)


@nox.session(python="3.11")
def benchmarks(session: nox.Session) -> None:
    """Measure the speed, store the result in .benchmarks, and compare it with the stored results."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", "benchmarks", "--benchmark-autosave", "--benchmark-compare", *session.posargs)


@nox.session(python="3.11")
def mutation(session: nox.Session) -> None:
    """Change the sources at random, and list the changes that the tests do not notice; takes hours."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "benchmarks.mutation", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and types, and that the stored reports are up to date."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("tablut", "report", "--check")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install("-e", ".[test,docs]")
    session.run(
        "python",
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-n",
        "docs",
        session.posargs[0] if session.posargs else "docs/_build",
    )


@nox.session
def paper(session: nox.Session) -> None:
    """Typeset docs/paper/paper.md as docs/_build/paper.pdf with pandoc and typst."""
    session.install("pypandoc_binary", "typst")
    source, folder = Path("docs/paper").absolute(), Path("docs/_build")
    folder.mkdir(exist_ok=True)
    text, target = Path(session.create_tmp()).absolute() / "paper.typ", (folder / "paper.pdf").absolute()
    convert = (
        f"import pypandoc; pypandoc.convert_file({str(source / 'paper.md')!r}, 'typst', outputfile={str(text)!r}, "
        f"extra_args=['--standalone', '--citeproc', {'--bibliography=' + str(source / 'paper.bib')!r}])"
    )
    session.run("python", "-c", convert)
    session.run("python", "-c", f"import typst; typst.compile({str(text)!r}, output={str(target)!r})")


@nox.session(python="3.11")
def formal(session: nox.Session) -> None:
    """Check the proof in Rocq, which needs the packages coq 8.16 and libcoq-mathcomp-fingroup 1.15 of Debian 12."""
    session.install("-e", ".")
    session.run("python", "-m", "reports.studies.formal", "prove", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the source distribution and both kinds of wheel, and test each in an environment outside the checkout."""
    session.install("build", "twine")
    folder = Path(session.create_tmp()).absolute()
    session.run("python", "-m", "build", "--outdir", str(folder / "dist"))
    for package in sorted(folder.glob("dist/*")):
        _try_package(session, package)
    # The kernels come from the installed wheel, whose sources they have to match.
    kernels = folder / "kernels"
    with session.chdir(folder):
        session.run("tablut", "warmup", "--into", str(kernels))
    session.run(
        "python", "-m", "build", "--wheel", "--outdir", str(folder / "platform"), env={"TABLUT_KERNELS": str(kernels)}
    )
    for package in sorted(folder.glob("platform/*")):
        _try_package(session, package)


def _try_package(session: nox.Session, package: Path) -> None:
    """Check a built package, install it, and run its self-test outside the checkout."""
    session.run("twine", "check", "--strict", str(package))
    session.install("--force-reinstall", str(package))
    with session.chdir(session.create_tmp()):
        session.run("python", "-m", "tablut.selftest")
