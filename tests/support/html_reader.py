"""A small reader of HTML for tests of pages and drawings."""

from html.parser import HTMLParser

VOID = {"meta", "link", "wbr"}


class Reader(HTMLParser):
    """Collects tags with attributes and text, and insists that every tag is closed in order."""

    def __init__(self, source):
        super().__init__()
        self.found, self.texts, self.open = [], [], []
        self.feed(source)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag, css_class=None):
        """Attributes of every such tag."""
        return [
            attrs
            for name, attrs in self.found
            if name == tag and (css_class is None or css_class in attrs.get("class", "").split())
        ]

    def words(self, tag):
        """Texts that stand directly in such a tag."""
        return [data for name, data in self.texts if name == tag]
