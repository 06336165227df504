"""Checks in environments of their own: other versions of Python and of the dependencies, and the built packages.

`nox --list` lists the sessions, and `nox -s wheel` runs one. A session is skipped if its interpreter is missing.
"""

from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "tests-3.11", "wheel"]

_PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
_TESTS = ("python", "-m", "pytest", "-n", "2", "--dist", "worksteal")


@nox.session(python=_PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with the newest versions of the dependencies."""
    session.install("-e", ".[test]")
    session.run(*_TESTS, *session.posargs)


@nox.session(python="3.11", venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml admits."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    session.run(*_TESTS, *session.posargs)


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
def wheel(session: nox.Session) -> None:
    """Build the wheel and the source distribution, and use each from an empty environment outside the checkout."""
    session.install("build", "twine")
    made = Path(session.create_tmp()) / "dist"
    session.run("python", "-m", "build", "--outdir", str(made))
    packages = sorted(map(str, made.iterdir()))
    session.run("twine", "check", "--strict", *packages)
    for package in packages:
        session.install("--force-reinstall", package)
        with session.chdir(session.create_tmp()):
            session.run("tablut", "bounds", "--json", silent=True)
            session.run("tablut", "perft", "-v", "brandubh", "-d", "3")
            session.run("tablut", "bestmove", "-v", "brandubh", "--nodes", "1000")
            session.run("tablut", "puzzle", "list")
