"""Templates: what is escaped, what a page may do, and that Python writes no markup."""

import ast
import json
import re
from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import view
from headway.view.bundle import asset
from headway.view.page import _environment, notebook_frame, render_page, text
from headway.view.report import ReportData, report

VIEW = Path(view.__file__).parent
NASTY = "</script><script>alert(1)</script><!-- \x00 \ud800 \u2028 &amp; \" '"


def test_text_escapes_what_html_gives_a_meaning():
    assert text("<b a=\"1\" b='2'>&") == "&lt;b a=&#34;1&#34; b=&#39;2&#39;&gt;&amp;"
    assert text(3.5) == "3.5"


def test_text_replaces_what_no_page_may_hold():
    assert text("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert text("a\tb\nc") == "a\tb\nc"


@given(st.text())
def test_text_never_breaks_out_and_can_be_saved(anything):
    escaped = text(anything)
    assert not set(escaped) & set("<>\"'")
    escaped.encode("utf-8")


@given(st.text())
def test_templates_never_let_text_break_out(anything):
    template = _environment().from_string('<a b="{{ value }}">{{ value }}</a>')
    html = template.render(value=anything)
    inner = html.removeprefix('<a b="').removesuffix("</a>").replace('">', "", 1)
    assert not set(inner) & set("<>\"'")
    html.encode("utf-8")


@pytest.mark.parametrize("name", sorted(_environment().list_templates()))
def test_templates_are_valid(name):
    _environment().get_template(name)


def test_templates_refuse_a_value_they_were_not_given():
    with pytest.raises(jinja2.UndefinedError, match="'title' is undefined"):
        render_page("report.html", "report_page", report=ReportData("T"))


def test_templates_mark_nothing_as_safe():
    for path in (VIEW / "templates").iterdir():
        assert not re.search(r"\|\s*safe\b|autoescape", path.read_text("utf-8")), path.name


@pytest.mark.parametrize("path", sorted(VIEW.glob("*.py")), ids=lambda path: path.name)
def test_python_writes_no_markup(path):
    tree = ast.parse(path.read_text("utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    markup = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and re.search(r"</?[a-zA-Z!]|/>", node.value)
    ]
    assert not markup


def test_data_arrive_as_they_are(read):
    data = {"nasty": NASTY, "words": ["猫", NASTY], "numbers": [float("nan"), 1.5, {"a": (1, 2)}]}
    html = render_page("inspection.html", "inspection_page", title="T", data=data)
    [words] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert json.loads(words) == data | {"numbers": [None, 1.5, {"a": [1, 2]}]}
    assert len(read(html).all("script")) == 2
    html.encode("utf-8")


@pytest.mark.parametrize("live", [False, True])
def test_a_page_asks_for_nothing(read, live):
    for html in (
        report(ReportData("T")),
        render_page("inspection.html", "inspection_page", live, title="T", data=None),
    ):
        assert html.startswith("<!DOCTYPE html>")
        links = re.findall(r"https?:[^\s\"']*", html)
        assert set(links) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
        assert "url(" not in html
        assert "@import" not in html
        found = read(html)
        assert all("src" not in script for script in found.all("script"))
        assert [link["href"] for link in found.all("link")] == ["data:,"]
        policy = next(m for m in found.all("meta") if "http-equiv" in m)
        assert "default-src 'none'" in policy["content"]


@pytest.mark.parametrize("own", ["report.css", "inspection.css"])
def test_every_colour_used_is_defined_for_light_dark_and_paper(own):
    style = "".join(map(asset, ("colours.css", "chart.css", "page.css", own)))
    not_colours = {"--sans", "--mono", "--mine", "--doubt", "--heads", "--before", "--after"}
    used = set(re.findall(r"var\((--[\w-]+)", style)) - not_colours
    schemes = {"light": "", "dark": "", "paper": ""}
    for block in re.finditer(r"(@media [^{]*\{\s*)?:root \{([^}]*)\}", style):
        media = block[1] or ""
        schemes["dark" if "dark" in media else "paper" if "print" in media else "light"] += block[2]
    for scheme, block in schemes.items():
        assert used <= set(re.findall(r"(--[\w-]+):", block)), scheme


def test_a_notebook_frame_holds_the_page_as_text(read):
    frame = read(notebook_frame('<p title="a">b</p>', 900)).all("iframe")
    assert [attributes["srcdoc"] for attributes in frame] == ['<p title="a">b</p>']
    assert frame[0]["sandbox"] == "allow-scripts allow-downloads"
