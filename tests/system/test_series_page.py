"""Classified and valued series as they are seen: the pages of `headway view`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from cli_workdir import commands_in
from labelled_series import RUNS, example, make_labelled_runs

import headway

FIRST = example(100)[0]
"""The first series of the test data."""
LEFT, RIGHT = 58, 12
"""Pixels beside a chart."""


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    with commands_in(folder):
        make_labelled_runs(folder)
        yield folder


@pytest.fixture
def page_of(browser, workdir, headway):
    """The page of a series by the command, which neither complains nor asks for anything."""
    pages = []

    def made(name, *options, **context):
        task = RUNS[name][0]
        code, _, error = headway("view", name, f"{task}-test.ts", "--out", "p.html", *options)
        assert code == 0, error
        page = browser.new_page(**{"viewport": {"width": 1300, "height": 1100}, **context})
        page.set_default_timeout(30_000)
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto((workdir / "p.html").resolve().as_uri())
        page.locator("html[data-ready]").wait_for()
        pages.append(page)
        return page

    yield made
    for page in pages:
        assert page.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in page.asked)


def readout(page):
    return page.locator(".series-readout").inner_text()


@pytest.mark.parametrize("name", RUNS)
def test_every_run_has_a_page(page_of, name):
    page = page_of(name)
    assert page.locator(".forecast .series-line.history").count() == 1
    assert page.locator(".series-line.foretold").count() == 0, "nothing is forecast"
    for tab in page.locator("#tabs button:visible").all():
        tab.click()
        page.wait_for_timeout(50)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#tab-series").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    if name == "recurrent":
        assert "no attention" in page.locator("#view .empty").inner_text()


def test_values_are_read_by_keys_and_gaps_are_gaps(page_of):
    page = page_of("classes")
    assert readout(page).startswith(f"{len(FIRST)} steps")
    chart = page.locator(".forecast")
    chart.focus()
    page.keyboard.press("End")
    assert f"step {len(FIRST)}" in readout(page)
    assert f"{FIRST[-1, 0]:.1f}".replace("-", "−") in readout(page)
    [missing] = np.flatnonzero(np.isnan(FIRST[:, 0]))
    page.keyboard.press("Home")
    for _ in range(missing):
        page.keyboard.press("ArrowRight")
    assert f"step {missing + 1}" in readout(page)
    assert "missing" in readout(page)
    assert page.locator(".gap title").text_content() == "1 missing"


def test_a_column_is_chosen(page_of):
    page = page_of("classes")
    page.locator("figcaption select").select_option("2")
    page.locator(".forecast").focus()
    page.keyboard.press("End")
    assert f"{FIRST[-1, 1]:.2f}" in readout(page)
    page.wait_for_function("() => location.hash.includes('channel=1')")


def test_labels_have_their_probabilities(page_of, workdir):
    page = page_of("classes")
    [best, other] = headway.load(workdir / "classes").inspect(FIRST).outputs
    lines = page.locator("aside .bars").first.locator("li").all_inner_texts()
    assert [line.split()[0] for line in lines] == [best.output.text, other.output.text]
    assert f"{100 * best.output.score:.1f}%" in lines[0]


def test_a_value_is_shown(page_of, workdir):
    page = page_of("values")
    [value] = headway.load(workdir / "values").predict([FIRST])
    assert f"{value:.4g}".replace("-", "−") in page.locator("aside .big").inner_text()


def test_strips_show_where_the_output_looks(page_of, workdir):
    """The mean of all patches, or the class vector if the output is computed from its state."""
    for name, row in (("classes", None), ("values", 0)):
        [*_, part] = headway.load(workdir / name).inspect(FIRST).encoder
        weights = part.weights[-1].mean(0) if row is None else part.weights[-1, row]
        page = page_of(name)
        words = "from all patches together" if row is None else "from the state that gives"
        assert words in page.locator("#view").inner_text()
        page.locator(".patch-strips").focus()
        for _ in range(20):  # to the last head of the last layer
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Home")
        got = []
        for _ in weights:
            got.append(float(page.locator("output").get_attribute("data-weight")))
            page.keyboard.press("ArrowRight")
        np.testing.assert_allclose(got, weights, atol=1e-5)


def test_a_click_on_a_patch_shows_where_it_looks(page_of, workdir):
    looked = headway.load(workdir / "classes").inspect(FIRST)
    page = page_of("classes")
    values = page.locator(".patch-strips svg").bounding_box()
    x = values["x"] + LEFT + 2.5 / len(FIRST) * (values["width"] - LEFT - RIGHT)
    page.mouse.click(x, values["y"] + 40)
    page.get_by_text("whole series").wait_for()
    assert "from step 3" in page.locator("#view").inner_text()
    assert looked.tokens[2] == "3"
    page.get_by_text("whole series").click()
    assert "from all patches together" in page.locator("#view").inner_text()


def test_a_series_is_chosen_by_its_number(headway, workdir):
    """Without a file it is one of the run's own data."""
    for options in (("classify-test.ts", "--series", "2"), ("--series", "2")):
        code, out, error = headway("view", "classes", *options, "--json")
        assert code == 0, error
        values = json.loads(out)["series"]["values"]
        expected = example(101)[0].T
        assert values == [[None if np.isnan(x) else x for x in column] for column in expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--series", "21"), "--series 21: classify-test.ts has 20 series without names; give a"),
        (("--series", "0"), "--series 0: classify-test.ts has 20 series"),
        (("--column", "1"), "--column has no meaning for classes"),
        (("--at", "3"), "--at has no meaning for classes"),
        (("--beam", "3"), "the search setting beam has no meaning for classes"),
        (("nothing.ts",), "nothing.ts"),
    ],
)
def test_what_view_refuses(headway, workdir, arguments, message):
    code, out, error = headway("view", "classes", *arguments, "--out", "none.html")
    assert (code, out) == (2 if "no meaning" in message else 1, "")
    assert message in error
    assert error.count("\n") == 1
    assert not (workdir / "none.html").exists()


# Server


@pytest.fixture(scope="module")
def address(workdir):
    command = [sys.executable, "-m", "headway", "serve", "--port", "0", "--json", "--workers", "1"]
    command += [str(workdir / name) for name in ("classes", "values")]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    yield json.loads(process.stdout.readline())["url"]
    process.kill()
    process.communicate()


def test_a_live_page_takes_files(browser, address, workdir):
    page = browser.new_page()
    page.set_default_timeout(30_000)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    answered = "() => document.querySelector('.status').textContent.endsWith('ms')"
    page.wait_for_function(answered)
    assert "An example. Drop a file of your own." in page.locator(".status").inner_text()
    assert readout(page).startswith(f"{len(FIRST)} steps")
    with page.expect_response(lambda response: response.url.endswith("/inspect")) as found:
        page.locator("#csv").fill("time,1,2\n0,1,2\n1,,3\n2,4,5\n")
    assert found.value.json()["series"]["values"] == [[1.0, None, 4.0], [2.0, 3.0, 5.0]]
    page.wait_for_function(answered)
    page.locator("#model").select_option("values")
    page.locator("aside .big").wait_for()
    assert complaints == []
