"""The site of `make site` in a real browser, from its files: pages, search, samples, requests."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from headway import api
from headway.cli import main

ROOT = Path(__file__).parents[2]
REFERENCE = 'h3[id^="headway.api."]'  # headings of the API reference


def load(name):
    specification = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


make_site = load("make_site")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A sample page of a small run under every name that the site needs."""
    folder = tmp_path_factory.mktemp("samples")
    (folder / "pairs.tsv").write_text("one red\tred one\ntwo blue\tblue two\n" * 9)
    (folder / "run.toml").write_text('[data]\ntrain = "pairs.tsv"\n')
    small = ["model.d_model=16", "model.d_ff=16", "model.n_heads=2", "train.steps=2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        assert main(["train", "run.toml", "--out", "run", *small]) == 0
        assert main(["view", "run", "one red", "--out", "page.html"]) == 0
    for name in make_site.SAMPLES:
        shutil.copy(folder / "page.html", folder / name)
    return folder


@pytest.fixture(scope="module")
def site(samples, tmp_path_factory):
    """The site, built strictly."""
    folder = tmp_path_factory.mktemp("site")
    assert make_site.make_site(samples, folder / "site", folder / "work") == 0
    return folder / "site"


@pytest.fixture
def visit(site, browser):
    """Opens a page of the site; at the end nothing has complained or come from another host."""
    complaints, requests = [], []

    def visit(name, scheme="light"):
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / name).as_uri())
        return page

    yield visit
    assert complaints == []
    home = site.as_uri()
    assert [url for url in requests if not url.startswith((home, "data:", "blob:"))] == []


def test_every_page_of_the_docs_is_there(site):
    for path in (ROOT / "docs").glob("*.md"):
        name = "pages" if path.name == "README.md" else path.stem
        assert (site / f"{name}.html").is_file(), path.name


@pytest.mark.parametrize("name", ["index.html", "run-file.html", "ladder.html"])
def test_no_other_host_is_asked(visit, name):
    """All pages have the same scripts; `find_faults` has read what each of them names."""
    visit(name).wait_for_load_state("networkidle")


def test_the_reference_has_every_public_name(visit):
    ids = visit("api.html").eval_on_selector_all(REFERENCE, "all => all.map(one => one.id)")
    assert {name.removeprefix("headway.api.") for name in ids} == set(api.__all__)


def test_search_finds_a_page_without_a_server(visit):
    page = visit("licence.html")  # which has no link to the page but in the menu
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Control+k")
    page.keyboard.type("glossary", delay=50)
    page.locator("h2", has_text="Glossaries: required and forbidden words").click()
    page.wait_for_url("**/glossary.html*")


def test_dark_follows_the_system(visit):
    colours = [
        visit("index.html", scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    levels = [sum(map(int, colour.strip("rgba()").split(",")[:3])) for colour in colours]
    assert levels[0] > 600
    assert levels[1] < 150


def test_the_live_samples_are_alive(visit):
    page = visit("samples.html")
    assert page.locator("iframe.sample").count() == 2
    frame = page.frame_locator("iframe.sample").first
    frame.locator("#tab-attention").click()
    assert frame.locator("#view").inner_text().strip()


# What stops it


def test_faults_of_a_built_site(tmp_path):
    (tmp_path / "here.png").touch()
    (tmp_path / "page.html").write_text(
        '<img src="here.png"><img src="gone.png"><a href="gone.html#x">x</a><a href="#y">y</a>'
        '<a href="https://example.org">fine</a><script src="https://example.org/x.js"></script>'
        '<link rel="stylesheet" href="//example.org/x.css">'
    )
    assert sorted(make_site.find_faults(tmp_path)) == [
        "page.html loads //example.org/x.css from another host",
        "page.html loads https://example.org/x.js from another host",
        "page.html names gone.html#x, which is not there",
        "page.html names gone.png, which is not there",
    ]


@pytest.mark.parametrize(
    ("link", "site_link"),
    [
        ("view.md#pictures", "view.md#pictures"),
        ("../README.md", "index.md"),
        ("../recipes/", "recipes.md"),
        ("../recipes/tune/sst2-lora.toml", "recipes.md#tune-sst2-lora"),
        ("https://example.org/x.md", "https://example.org/x.md"),
        ("#here", "#here"),
    ],
)
def test_links_out_of_the_docs_lead_to_pages(link, site_link):
    assert make_site.moved(link, ROOT / "docs" / "view.md") == site_link


def test_a_link_to_a_file_that_is_not_shown_stops_it():
    with pytest.raises(SystemExit, match=r"docs/view\.md: \.\./Makefile leads to a file that"):
        make_site.moved("../Makefile", ROOT / "docs" / "view.md")


def test_a_page_that_is_not_in_the_menu_stops_it():
    nav = [{"Start": [{"Home": "index.md"}]}, "more.md"]
    make_site.require_all_in_nav(nav, {"index.md", "more.md"})
    with pytest.raises(SystemExit, match=r"not in `nav` of docs/zensical\.toml: new\.md"):
        make_site.require_all_in_nav(nav, {"index.md", "more.md", "new.md"})
    with pytest.raises(SystemExit, match=r"but no page: more\.md"):
        make_site.require_all_in_nav(nav, {"index.md"})


def test_missing_samples_stop_it(tmp_path):
    with pytest.raises(SystemExit, match=r"demo\.html is missing; `make samples` writes it"):
        make_site.lay_samples(tmp_path, tmp_path / "new")


def test_broken_links_stop_it(samples, tmp_path, monkeypatch, capfd):
    write_pages = make_site.write_pages

    def write_broken(folder):
        write_pages(folder)
        with (folder / "install.md").open("a", encoding="utf-8") as page:
            page.write("\n[no page](nowhere.md), [no heading](view.md#nothing)\n")

    monkeypatch.setattr(make_site, "write_pages", write_broken)
    assert make_site.make_site(samples, tmp_path / "site", tmp_path / "work") != 0
    said = "".join(capfd.readouterr())
    assert "page does not exist" in said
    assert "anchor does not exist" in said
    assert not (tmp_path / "site").exists()
