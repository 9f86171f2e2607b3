"""What tests of pages look at: their elements, ids and references."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Collects ids, references and attributes, and checks that every element is closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.references, self.attributes, self.tags, self._open = [], [], [], set(), []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        self.references += [value[1:] for name, value in attrs if name == "href"]
        self.references += [found for _, value in attrs for found in re.findall(r"url\(#(.*?)\)", value or "")]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
