"""The inspection page as a document: what is embedded and what it may do."""

import base64
import hashlib
import json
import re

from headway.view.inspection import inspection_page, page_policy

NASTY = "</script><script>alert(1)</script><!-- \x00 \ud800 \u2028 &amp;"


def embedded(page):
    """What the page's own parser gives its script."""
    [words] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(words)


def policy_of(page):
    [words] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    return dict(part.split(" ", 1) for part in words.replace("&#39;", "'").split("; "))


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
    assert policy == dict(part.split(" ", 1) for part in page_policy(live=False).split("; "))


def test_it_asks_no_one_but_live_the_server_it_came_from():
    assert "connect-src" not in policy_of(inspection_page({}))
    assert policy_of(inspection_page({}, live=True))["connect-src"] == "'self'"
    assert 'id="live"' not in inspection_page({})


def test_the_title_is_text():
    assert "<title>&lt;b&gt;</title>" in inspection_page({"run": {"name": "<b>"}})
