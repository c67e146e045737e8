"""The inspection page as a document: what is embedded, what it may do, how modules are joined."""

import base64
import hashlib
import json
import re
from importlib import resources

import pytest

from headway.view import inspection
from headway.view.inspection import inspection_page, script_of

ASSETS = resources.files("headway.view").joinpath("assets")
MODULES = sorted(
    path.name.removesuffix(".js") for path in ASSETS.iterdir() if path.name[-3:] == ".js"
)
NASTY = "</script><script>alert(1)</script><!-- \x00 \ud800 \u2028 &amp;"


def embedded(page):
    """What the page's own parser gives its script."""
    [words] = re.findall(
        r'<script type="application/json" id="inspection">(.*?)</script>', page, re.S
    )
    return json.loads(words)


def policy_of(page):
    [words] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    return dict(part.split(" ", 1) for part in words.replace("&#x27;", "'").split("; "))


def test_data_arrive_as_they_are(read):
    data = {"run": {"name": NASTY}, "source": {"text": NASTY, "tokens": ["猫", NASTY]}}
    page = inspection_page(data)
    assert embedded(page) == data
    assert len(read(page).all("script")) == 2
    page.encode()


def test_nothing_asked_yet():
    assert embedded(inspection_page(None, live=True)) is None


def test_numbers_json_has_no_word_for_become_null():
    rows = [
        {"loss": float("nan"), "lr": 0.1},
        {"loss": float("inf")},
        {"loss": [1.0, -float("inf")]},
    ]
    found = embedded(inspection_page({"training": {"rows": rows}}))
    assert found["training"]["rows"] == [
        {"loss": None, "lr": 0.1},
        {"loss": None},
        {"loss": [1.0, None]},
    ]


def test_only_its_own_script_may_run():
    page = inspection_page({})
    [script] = re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = policy_of(page)
    assert policy["script-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"


def test_it_asks_no_one_but_live_the_server_it_came_from():
    assert "connect-src" not in policy_of(inspection_page({}))
    assert policy_of(inspection_page({}, live=True))["connect-src"] == "'self'"
    assert 'id="live"' not in inspection_page({})


def test_the_title_is_text():
    assert "<title>&lt;b&gt;</title>" in inspection_page({"run": {"name": "<b>"}})


def test_every_module_is_in_the_page_once():
    script = script_of("main")
    assert re.findall(r"^const \$(\w+) = \(\(\) => \{$", script, re.M).count("dom") == 1
    assert sorted(re.findall(r"^const \$(\w+) = \(\(\) => \{$", script, re.M)) == MODULES
    assert not re.search(r"^(import|export) ", script, re.M)


@pytest.mark.parametrize("name", MODULES)
def test_modules_import_what_others_export(name):
    source = inspection.asset(f"{name}.js")
    for names, other in inspection._IMPORT.findall(source):
        exported = inspection._EXPORT.findall(inspection.asset(f"{other}.js"))
        wanted = {word.strip() for word in names.split(",") if word.strip()}
        assert wanted <= set(exported), other
        for word in wanted:
            assert len(re.findall(rf"\b{re.escape(word)}\b", source)) > 1, f"{word} is not used"


@pytest.mark.parametrize("name", MODULES)
def test_modules_never_write_markup_or_look_elsewhere(name):
    source = inspection.asset(f"{name}.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source
    )
    assert set(re.findall(r"https?://[^\"' ]+", source)) <= {"http://www.w3.org/2000/svg"}
    assert len(source.splitlines()) < 360
    assert source.startswith("/**")


def test_modules_that_import_each_other_are_refused(monkeypatch):
    sources = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    monkeypatch.setattr(inspection, "asset", sources.__getitem__)
    with pytest.raises(ValueError, match=r"a\.js imports itself through a and b"):
        script_of.__wrapped__("a")


def test_modules_are_joined_in_order_of_need(monkeypatch):
    sources = {
        "a.js": 'import { b, c } from "./b.js";\nexport function a() {\n  return b;\n}\n',
        "b.js": "export const b = 1;\nexport class c {}\n",
    }
    monkeypatch.setattr(inspection, "asset", sources.__getitem__)
    assert script_of.__wrapped__("a") == (
        "const $b = (() => {\nconst b = 1;\nclass c {}\nreturn { b, c };\n})();\n"
        "const $a = (() => {\nconst { b, c } = $b;\n"
        "function a() {\n  return b;\n}\nreturn { a };\n})();\n"
    )
