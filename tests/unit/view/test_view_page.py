import re

from hypothesis import given
from hypothesis import strategies as st

from headway.view.page import Section, page, text
from headway.view.style import STYLE


def test_text_escapes_what_html_gives_a_meaning():
    assert text("<b a=\"1\" b='2'>&") == "&lt;b a=&quot;1&quot; b=&#x27;2&#x27;&gt;&amp;"
    assert text(3.5) == "3.5"


def test_text_replaces_what_no_page_may_hold():
    assert text("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert text("a\tb\nc") == "a\tb\nc"


@given(st.text())
def test_text_never_breaks_out_and_can_be_saved(anything):
    escaped = text(anything)
    assert not set(escaped) & set("<>\"'")
    escaped.encode("utf-8")


def test_page_frames_its_sections_in_order(read):
    html = page("T & <x>", [Section("One", "<p>a</p>"), Section("", "<p>b</p>")], "sub <y>")
    found = read(html)
    assert found.words("title") == ["T & <x>"]
    assert found.words("h1") == ["T & <x>"]
    assert found.words("h2") == ["One"]
    assert found.words("p") == ["sub <y>", "a", "b"]
    assert html.startswith("<!DOCTYPE html>")


def test_page_asks_for_nothing(read):
    html = page("T", [])
    assert "http:" not in html
    assert "https:" not in html
    assert "url(" not in html
    assert "@import" not in html
    found = read(html)
    assert found.all("script") == []
    assert [link["href"] for link in found.all("link")] == ["data:,"]
    policy = next(m for m in found.all("meta") if "http-equiv" in m)
    assert "default-src 'none'" in policy["content"]


def test_every_colour_used_is_defined_for_light_dark_and_paper():
    used = set(re.findall(r"var\((--[\w-]+)\)", STYLE)) - {"--sans", "--mono", "--cell"}
    blocks = re.findall(r":root \{([^}]*)\}", STYLE)
    assert len(blocks) == 3
    for block in blocks:
        assert used <= set(re.findall(r"(--[\w-]+):", block))
