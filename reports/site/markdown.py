"""The report's Markdown as HTML: pictures become figures with captions, headings get anchors, tables scroll."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markdown_it.token import Token

_DIGITS: Final = re.compile(r"(?<![\w.,])\d{5,}(?![\w.,]\d)")
_PROSE: Final = 60
"""Characters beyond which the text of a cell is given room."""
_SHORT: Final = 20
"""Characters below which it stays on one line."""
_SLUG: Final = re.compile(r"[^a-z0-9]+")
_WIDE: Final = 8
"""Columns from which on a table is set in smaller type."""
_FORMULA: Final = re.compile(r"^\$\$(.+)\$\$$", re.DOTALL)


class Heading(NamedTuple):
    """A heading of a page: its depth, its anchor, its text."""

    level: int
    anchor: str
    text: str


class Converted(NamedTuple):
    """A page as HTML."""

    title: str
    body: str
    headings: tuple[Heading, ...]


def grouped(digits: str) -> str:
    """Return a long number as HTML in groups of three that are copied without gaps."""
    first = len(digits) % 3 or 3
    groups = [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
    return '<span class="num">' + "<wbr>".join(f"<span>{group}</span>" for group in groups) + "</span>"


def convert(text: str, pages: Iterable[str]) -> Converted:
    r"""Return a page of the report as HTML."""
    from markdown_it import MarkdownIt

    # What a template writes as HTML stays: the pages fold details by it.
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(text)
    known, anchors = set(pages), set[str]()
    headings: list[Heading] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            words = _text_of(tokens[place + 1].children or [])
            anchor = _anchor(words, anchors)
            token.attrSet("id", anchor)
            headings.append(Heading(int(token.tag[1]), anchor, words))
        elif token.type == "inline":
            _relink(token.children or [], known)
            _number(token.children or [])
    _name_columns(tokens)
    _frame_tables(tokens, headings[0].text if headings else "")
    tokens = _with_figures(tokens)
    title = headings[0].text if headings else ""
    return Converted(title, parser.renderer.render(tokens, parser.options, {}), tuple(headings[1:]))


def _text_of(children: Sequence[Token]) -> str:
    return "".join(child.content for child in children if child.type in ("text", "code_inline"))


def _anchor(words: str, taken: set[str]) -> str:
    plain = _SLUG.sub("-", words.lower()).strip("-") or "part"
    anchor, number = plain, 2
    while anchor in taken:
        anchor, number = f"{plain}-{number}", number + 1
    taken.add(anchor)
    return anchor


def _relink(children: list[Token], known: set[str]) -> None:
    """Lead links to pages of the site there; turn those to what the site has not into text."""
    dropped = False
    for child in children:
        if child.type == "link_open":
            target, _, part = str(child.attrGet("href") or "").partition("#")
            plain = target.removeprefix("../")
            page = re.sub(r"\.md$", ".html", plain)
            outside = "://" not in target and page not in known and f"solutions/{page}" not in known
            dropped = outside and bool(target)
            if dropped:
                child.type, child.tag, child.nesting, child.attrs = "text", "", 0, {}
            elif target:
                child.attrSet("href", re.sub(r"\.md$", ".html", target) + (f"#{part}" if part else ""))
        elif child.type == "link_close" and dropped:
            child.type, child.tag, child.nesting, dropped = "text", "", 0, False


def _number(children: list[Token]) -> None:
    """Group the digits of long numbers in running text and in tables."""
    for child in children:
        if child.type == "text" and _DIGITS.search(child.content):
            parts, at = [], 0
            for found in _DIGITS.finditer(child.content):
                parts += [escape(child.content[at : found.start()], quote=False), grouped(found[0])]
                at = found.end()
            child.type, child.content = "html_inline", "".join([*parts, escape(child.content[at:], quote=False)])


def _name_columns(tokens: list[Token]) -> None:
    for place, token in enumerate(tokens):
        if token.type == "th_open" and not tokens[place + 1].content:
            # A header cell without a word is none.
            token.tag = tokens[place + 2].tag = "td"
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif token.type == "td_open":
            length = len(_text_of(tokens[place + 1].children or []))
            if length > _PROSE or length < _SHORT:
                token.attrSet("class", "prose" if length > _PROSE else "short")


def _frame_tables(tokens: list[Token], title: str) -> None:
    """Let tables scroll within a region of their own, named after the heading above."""
    from markdown_it.token import Token

    name, place, used = title, 0, dict[str, int]()
    while place < len(tokens):
        token = tokens[place]
        if token.type == "heading_open":
            name = _text_of(tokens[place + 1].children or [])
        elif token.type == "table_open":
            used[name] = used.get(name, 0) + 1
            if _columns(tokens, place) >= _WIDE:
                token.attrSet("class", "wide")
            label = escape(f"Table: {name}" + (f", {used[name]}" if used[name] > 1 else ""))
            opened = f'<div class="table" role="region" tabindex="0" aria-label="{label}">\n'
            tokens.insert(place, Token("html_block", "", 0, content=opened))
            place += 1
        elif token.type == "table_close":
            tokens.insert(place + 1, Token("html_block", "", 0, content="</div>\n"))
            place += 1
        place += 1


def _columns(tokens: Sequence[Token], place: int) -> int:
    end = next(at for at in range(place, len(tokens)) if tokens[at].type == "thead_close")
    return sum(token.type == "th_open" for token in tokens[place:end])


def _with_figures(tokens: list[Token]) -> list[Token]:
    """Return the tokens with a figure for every paragraph that is a picture, and code for one that is a formula."""
    from markdown_it.token import Token

    found: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        inline = tokens[place + 1] if token.type == "paragraph_open" else None
        children = inline.children or [] if inline is not None else []
        formula = _FORMULA.match(inline.content.strip()) if inline is not None else None
        if len(children) == 1 and children[0].type == "image":
            found.append(Token("html_block", "", 0, content=_figure(children[0])))
            place += 3
        elif formula:
            content = f'<pre class="formula"><code>{escape(formula[1])}</code></pre>\n'
            found.append(Token("html_block", "", 0, content=content))
            place += 3
        else:
            found.append(token)
            place += 1
    return found


def _figure(image: Token) -> str:
    source, alt = escape(str(image.attrGet("src") or "")), escape(image.content)
    caption = escape(str(image.attrGet("title") or image.content), quote=False)
    return (
        f'<figure><a class="picture" href="{source}"><img src="{source}" alt="{alt}"></a>'
        f"<figcaption>{caption}</figcaption></figure>\n"
    )
