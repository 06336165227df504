"""The site, rendered once for all tests of a process."""

from dataclasses import replace
from functools import cache

from reports.rendering import Artefact
from reports.site import site_files


@cache
def made() -> list[Artefact]:
    """Return the files of the site as they are made: each is rendered whenever it is asked to."""
    return site_files()


@cache
def files() -> dict[str, Artefact]:
    """Return the files by path, each rendered once."""
    return {artefact.path: replace(artefact, render=cache(artefact.render)) for artefact in made()}
