"""A page as a browser's parser sees it, for tests: elements, ids, what is left open, what it would load."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}
"""Elements of HTML without an end."""


class HtmlPage(HTMLParser):
    """One page, read at once. Raises AssertionError where elements do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.outline: list[str] = []
        self.drawings = 0
        self.titles_of_drawings = 0
        self.classes: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._element(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._element(tag, attrs)

    def _element(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert not any(name.startswith("on") or name == "style" for name in given), (tag, given)
        self.ids += [given["id"]] if "id" in given else []
        self.classes |= set(given.get("class", "").split())
        self.links += [given["href"]] if tag == "a" and "href" in given else []
        self.loads += [given[name] for name in ("src", "srcset", "data", "xlink:href") if name in given]
        self.loads += [given["href"]] if tag != "a" and "href" in given else []
        self.drawings += tag == "svg"
        self.titles_of_drawings += tag == "title" and self.open[-1:] == ["svg"]
        if tag in ("section", "h1", "h2", "h3", "h4", "details", "table", "svg", "ol"):
            self.outline.append(f"{'  ' * sum(element in ('section', 'details') for element in self.open)}{tag}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
