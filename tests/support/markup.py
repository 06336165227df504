"""Pages of HTML, read strictly."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input", "wbr", "circle", "path"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed where it should be; collects what tests look at."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.forbidden: list[str] = []
        """What a strict policy refuses: scripts and styles in the page itself, but for data."""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"{tag}: an attribute twice"
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [value for name in ("src", "href") if (value := given.get(name))]
        self.forbidden += [name for name in given if name.startswith("on") or name == "style"]
        assert tag != "img" or given.get("alt") is not None, "an image without alt"
        assert tag != "th" or "scope" in given, "a column without a scope"
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append("data" if given.get("type") == "application/json" else tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style") and data.strip():
            self.forbidden.append(data[:40])

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open, f"</{tag}> without a beginning"
            assert self.open.pop() in (tag, "data"), f"</{tag}> closes another element"
