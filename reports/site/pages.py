"""Every file of the site: the report's pages as HTML, the first page, the puzzles that are played in the browser."""

from __future__ import annotations

import json
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counting.complexity import bounds
from reports.catalogue import GENERATORS
from reports.rendering import Artefact, drawing
from reports.site.headlines import STATUSES, headlines
from reports.site.markdown import convert, grouped
from reports.site.puzzles import Entry, entries, tree_data
from reports.site.walks import WALKS, walk_data, walks
from tablut import __version__

if TYPE_CHECKING:
    import jinja2

__all__ = ["MARKER", "NAV", "site_files"]

MARKER: Final = "site.json"
"""The file by which a folder is known to hold a site."""

_NAME: Final = "Tablut"
_ASSETS: Final = ("site.css", "board.js", "puzzle.js", "gallery.js", "walk.js")


class _Link(NamedTuple):
    """An entry of the navigation, and what the first page says of it."""

    path: str
    name: str
    about: str
    picture: str


NAV: Final = (
    _Link(
        "bounds.html",
        "Bounds",
        "Every equation of the paper, exact; what is wrong, and better bounds.",
        "bounds-spaces",
    ),
    _Link("symmetry.html", "Symmetry", "Eight pictures of one position, and what they save.", "symmetry-orbit"),
    _Link("census.html", "Census", "The positions that games come to, ply by ply, against the bound.", "census-growth"),
    _Link(
        "reachable.html", "Reachable", "Which share of the counted positions a game can come to.", "reachable-corridor"
    ),
    _Link("solutions.html", "Solved boards", "Who wins seven reduced boards, and how.", "board-ashton-7-4v1"),
    _Link("endings.html", "Endings", "The longest wins of few men, and mutual zugzwang.", "ending-ashton-longest"),
    _Link("puzzles.html", "Puzzles", "Forced wins to be solved here, each proved.", "puzzle-board-brandubh-16"),
    _Link("players.html", "Players", "The tables of the McGill paper, played again.", "players-tables"),
    _Link("measures.html", "Measures", "How large and how fair the games are.", "measures"),
    _Link("variants.html", "Rules", "The rule sets, drawn, every disputed point a field.", "board-leiden"),
)
"""The pages that every page leads to."""


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("reports.site"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=jinja2.select_autoescape(default=True, default_for_string=True),
    )


def site_files() -> list[Artefact]:
    """Return every file of the site, in the order of their paths.

    Returns
    -------
    list of Artefact
        Ready to be rendered; the last one is the marker that lists the others.

    Raises
    ------
    InputError
        If a stored result is damaged.
    """
    made = [artefact for generate in GENERATORS.values() for artefact in generate()]
    sources = {artefact.path: artefact for artefact in made if artefact.path.endswith(".md")}
    puzzles = entries()
    converted = {_page_path(path): artefact for path, artefact in sources.items()}
    paths = ["index.html", "puzzles.html", *converted, *(one.path for one in puzzles)]
    paths += [f"walks/{name}.html" for name in WALKS]
    files = [artefact for artefact in made if artefact.path not in sources]
    paths += [artefact.path for artefact in files]
    files += [_from_markdown(path, artefact, paths) for path, artefact in converted.items()]
    files += [_index(), _gallery(puzzles)]
    files += [_puzzle(puzzles, place) for place in range(len(puzzles))]
    files += [_walk(name, stored) for name, stored in walks().items()]
    files += [drawing(one.picture, one.drawn) for one in puzzles]
    files += [Artefact(f"assets/{name}", partial(_asset, name)) for name in _ASSETS]
    files.sort(key=lambda artefact: artefact.path)
    return [*files, _marker(files)]


def _page_path(path: str) -> str:
    """Return where a page of the report stands in the site: that of the puzzles is beside the one to play on."""
    return "puzzles-solved.html" if path == "puzzles.md" else path.removesuffix(".md") + ".html"


def _marker(files: list[Artefact]) -> Artefact:
    content = {
        "format": "tablut-site",
        "version": 1,
        "program": __version__,
        "pages": [file.path for file in files if file.path.endswith(".html")],
    }
    return Artefact(MARKER, lambda: (json.dumps(content, indent=1) + "\n").encode())


def _asset(name: str) -> bytes:
    return (resources.files("reports.site") / "assets" / name).read_bytes()


def _html(template: str, path: str, here: str, **values: Any) -> Artefact:
    def render() -> bytes:
        import markupsafe

        shared = {
            "root": "../" * path.count("/"),
            "name": _NAME,
            "nav": NAV,
            "here": here,
            "version": __version__,
            "mark": markupsafe.Markup(_MARK),
        }
        return _templates().get_template(template).render(**shared, **values).encode()

    return Artefact(path, render)


_MARK: Final = (
    '<svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><circle cx="10" cy="10" r="9" fill="#fdfbf5" '
    'stroke="#3b342b" stroke-width="1.5"/><path d="M10 4.5v11M4.5 10h11" stroke="#b3261e" stroke-width="2.6"/></svg>'
)


_OTHER_WALKS: Final = (
    '</p>\n<p class="note">The other boards are too large for a page. To walk one: '
    "<code>tablut solve -v ashton-5-4v4 --store solved</code>, then <code>tablut serve --tablebase solved</code>."
)


def _from_markdown(path: str, artefact: Artefact, paths: list[str]) -> Artefact:
    def render() -> bytes:
        import markupsafe

        text = artefact.render().decode()
        if path == "puzzles-solved.html":
            text = text.replace("# Puzzles\n", "# Puzzles, with their solutions\n", 1)
        page = convert(text, paths)
        parent = (
            "solutions.html"
            if path.startswith("solutions/")
            else "puzzles.html"
            if path.startswith("puzzles")
            else path
        )
        first, _, rest = page.body.partition("</h1>\n")
        board = path.removeprefix("solutions/").removesuffix(".html")
        links = [board] if board in WALKS else list(WALKS) if path == "solutions.html" else []
        buttons = "".join(
            f'<a class="button quiet" href="{"../" * path.count("/")}walks/{name}.html">Walk {name}</a> '
            for name in links
        )
        if path == "solutions.html":
            buttons += _OTHER_WALKS
        values = {
            "title": page.title,
            "before": markupsafe.Markup(f"{first}</h1>\n" + (f"<p>{buttons}</p>\n" if buttons else "")),
            "headings": page.headings,
            "body": markupsafe.Markup(rest),
        }
        return _html("page.html.j2", path, parent, **values).render()

    return Artefact(path, render)


def _index() -> Artefact:
    import markupsafe

    report = bounds("ashton")
    tiles = [
        {"path": link.path, "name": link.name, "about": link.about, "picture": f"figures/{link.picture}.svg"}
        for link in NAV
    ]
    return _html(
        "index.html.j2",
        "index.html",
        "index.html",
        title=_NAME,
        bound=markupsafe.Markup(grouped(str(report.corrected.distinct))),
        printed=report.term("eq14").published,
        statuses=STATUSES,
        ladder=[rung._asdict() | {"number": markupsafe.Markup(grouped(str(rung.number)))} for rung in report.ladder()],
        headlines=[one._replace(value=markupsafe.Markup(one.value)) for one in headlines()],
        tiles=tiles,
    )


def _gallery(puzzles: list[Entry]) -> Artefact:
    return _html(
        "puzzles.html.j2",
        "puzzles.html",
        "puzzles.html",
        title="Puzzles",
        puzzles=puzzles,
        rules=sorted({one.variant for one in puzzles}),
        plies=sorted({one.plies for one in puzzles}),
        themes=sorted({one.kind for one in puzzles}),
    )


def _walk(name: str, stored: dict[str, Any]) -> Artefact:
    import markupsafe

    first = stored["nodes"][0]
    return _html(
        "walk.html.j2",
        f"walks/{name}.html",
        "solutions.html",
        title=f"Walk {name}",
        board=name,
        stored=stored,
        position=first["position"],
        moves=sum(len(node["moves"]) for node in stored["nodes"]),
        data=markupsafe.Markup(walk_data(name, stored)),
    )


def _puzzle(puzzles: list[Entry], place: int) -> Artefact:
    import markupsafe

    one = puzzles[place]
    return _html(
        "puzzle.html.j2",
        one.path,
        "puzzles.html",
        title=one.id,
        one=one,
        line=one.line,
        nodes=f"{one.nodes:,}",
        example=next(iter({**one.tree["nodes"][0]["wrong"], **one.tree["nodes"][0]["right"]})),
        before=puzzles[place - 1].id if place else "",
        after=puzzles[place + 1].id if place + 1 < len(puzzles) else "",
        data=markupsafe.Markup(tree_data(one)),
    )
