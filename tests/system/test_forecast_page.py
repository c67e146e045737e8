"""Forecasts as they are seen: the pages of `headway view` and of `headway serve`, the report."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from cli_workdir import commands_in
from viewed_series import FILE, HISTORY, HORIZON, PATCH, make_forecast_runs

import headway
from headway.inference.series_files import corpora_of, read_series

NAMES = ("plain", "power", "steps", "still")


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasts")
    with commands_in(folder):
        make_forecast_runs(folder)
        yield folder


def looked_at(workdir, name, column=None, at=-HORIZON):
    model = headway.load(workdir / name)
    [corpus, *_], root = corpora_of(model.config.data, None)
    rows = read_series(corpus, model.task.codecs, root).rows
    return model.inspect(rows[0], column, at)


# Commands


def test_view_writes_page_picture_and_data(headway, workdir):
    arguments = ("view", "plain", "--column", "sun", "--json")
    code, out, _ = headway(*arguments, "--out", "page.html", "--png", "picture.png")
    assert code == 0
    tree = json.loads(out)
    window = looked_at(workdir, "plain", "sun").window
    assert tree["forecast"]["truth"] == window.truth, "the last window of the run's own data"
    np.testing.assert_allclose(tree["forecast"]["forecast"], window.forecast, rtol=1e-5)
    assert (workdir / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert '"column":"sun"' in (workdir / "page.html").read_text()
    code, out, _ = headway("view", "plain", FILE, "--json")
    assert json.loads(out)["forecast"]["truth"] is None, "of a file what comes after it"
    code, out, _ = headway("view", "plain", FILE, "--at", "2024-01-08 12:00", "--json")
    assert json.loads(out)["forecast"]["times"][HISTORY] == "2024-01-08 12:00:00"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--beam", "3"), "the search setting beam has no meaning for plain"),
        (("--target", "x"), "--target has no meaning for plain"),
        (("--png", "p.png", "--layer", "1"), "--layer has no meaning for plain"),
        (("--column", "rain"), "no column 'rain' is forecast; expected one of load, sun"),
        (("--series", "shop"), "--series shop: power.csv has one series without a name"),
        (("--at", "soon"), "'soon' is no time"),
        ((FILE, "--at", "1999-01-01"), "cannot begin at 1999-01-01"),
        ((FILE, "--at", "5"), "or a negative number of steps from the end, such as -1"),
        (("blank.csv",), "blank.csv:2: target has no values"),
        (("nothing.csv",), "nothing.csv"),
    ],
)
def test_what_view_refuses(headway, workdir, arguments, message):
    (workdir / "blank.csv").write_text("date,load,sun\n2024-01-01,,\n2024-01-02,,\n")
    code, out, error = headway("view", "plain", *arguments, "--out", "none.html")
    assert (code, out) == (2 if "no meaning" in message else 1, "")
    assert message in error
    assert not (workdir / "none.html").exists()


# Pages


@pytest.fixture
def visit(browser):
    """Opens a page that remembers its complaints and whom it asked."""

    def open_page(url, **options):
        page = browser.new_page(**{"viewport": {"width": 1300, "height": 1000}, **options})
        page.set_default_timeout(30_000)
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url)
        page.locator("html[data-ready]").wait_for()
        return page

    return open_page


@pytest.fixture
def page_of(visit, workdir):
    """The page of a run's last window, which neither complains nor asks for anything."""
    pages = []

    def made(name, column=None, **options):
        path = looked_at(workdir, name, column).view().save(workdir / f"{name}.html")
        pages.append(visit(path.resolve().as_uri(), **options))
        return pages[-1]

    yield made
    for page in pages:
        assert page.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in page.asked)


def readout(page):
    return page.locator(".series-readout").inner_text()


def at_step(page, step, first):
    """Points at a step of the chart of recent steps."""
    box = page.locator(".forecast").bounding_box()
    left, right = 58, 12
    share = (step - first + 0.5) / (HISTORY + HORIZON - first)
    x = box["x"] + left + share * (box["width"] - left - right)
    page.mouse.move(x, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("name", NAMES)
def test_every_family_has_a_page(page_of, name):
    page = page_of(name)
    assert page.locator(".series-line.foretold").count() >= 1
    for tab in page.locator("#tabs button:visible").all():
        tab.click()
        page.wait_for_timeout(50)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    if name == "still":
        page.locator("#tab-forecast").click()
        assert "no attention" in page.locator("#view .empty").inner_text()


def test_values_are_read_by_pointer_and_keys(page_of, workdir):
    window = looked_at(workdir, "plain", "sun").window
    page = page_of("plain", "sun")
    first = HISTORY - 3 * HORIZON
    at_step(page, HISTORY + 2, first)
    text = readout(page)
    for value in (window.truth[2], window.forecast[2], window.bands[0].low[2]):
        assert f"{value:.1f}".replace("-", "−") in text
    day, clock = window.times[HISTORY + 2].split(" ")
    assert f"{int(day[-2:])} Jan 2024, {clock[:5]}" in text
    page.mouse.move(1, 1)
    assert "mean error" in readout(page)
    page.locator(".forecast").focus()
    page.keyboard.press("End")
    assert f"{window.forecast[-1]:.1f}" in readout(page)
    assert "forecast" in page.locator("#said").inner_text()
    page.keyboard.press("Home")
    assert f"{window.history[first]:.1f}" in readout(page)


def test_gaps_are_gaps(page_of, workdir):
    history = looked_at(workdir, "plain").window.history
    page = page_of("plain")
    missing = [i for i, value in enumerate(history) if value is None]
    assert page.locator(".gap title").text_content() == f"{len(missing)} missing"
    strokes = page.locator(".forecast .series-line.history").get_attribute("d").count("M")
    assert strokes == 2, "one before the gap and one after it"
    at_step(page, missing[0], HISTORY - 3 * HORIZON)
    assert "missing" in readout(page)


def test_lines_can_be_switched(page_of, workdir):
    window = looked_at(workdir, "power").window
    page = page_of("power")
    drawn = page.locator(".forecast .series-line")
    usual = drawn.count()
    page.locator(".switch", has_text="heat").click()
    assert drawn.count() == usual + 1
    at_step(page, HISTORY, HISTORY - 3 * HORIZON)
    assert f"heat held {window.held['heat'][0]:.1f}" in readout(page)
    page.locator(".switch", has_text="last season").click()
    page.locator(".switch", has_text="heat").click()
    assert drawn.count() == usual - 1
    assert page.locator(".switch[aria-pressed=true]").count() == 0
    page.get_by_text("all it reads").click()
    page.wait_for_function("() => location.hash.includes('zoom=all')")


def test_a_click_on_a_patch_shows_where_it_looks(page_of, workdir):
    looked = looked_at(workdir, "plain")
    page = page_of("plain")
    columns = len(looked.patches)
    best = float(np.max(looked.rollout().mean(0)))
    assert f"{best:.3f}" in page.locator(".bars.patches").inner_text()
    values = page.locator(".patch-strips svg").bounding_box()
    x = values["x"] + 58 + (2.5 * PATCH / (HISTORY + HORIZON)) * (values["width"] - 70)
    page.mouse.click(x, values["y"] + 40)
    page.get_by_text("whole forecast").wait_for()
    strips = page.locator(".patch-strips")
    strips.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")  # all layers, layer 1, head 1, head 2
    page.keyboard.press("Home")
    expected = looked.encoder[0].weights[1, 2]
    got = []
    for _ in range(columns):
        got.append(float(page.locator("output").get_attribute("data-weight")))
        page.keyboard.press("ArrowRight")
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert "Layer 1, head 2 looks most at" in page.locator("aside").inner_text()
    page.locator("#tab-attention").click()
    shown = page.locator("aside .big").get_attribute("data-weight")
    assert float(shown) == pytest.approx(expected[0], abs=1e-5), "the other tab has the same row"
    page.locator("#tab-forecast").click()
    page.get_by_text("whole forecast").click()
    assert "from all patches together" in page.locator("#view").inner_text()


def test_a_written_patch_looks_at_the_history(page_of, workdir):
    looked = looked_at(workdir, "steps")
    [cross] = [part for part in looked.decoder if part.kind == "cross"]
    page = page_of("steps")
    assert "from all patches that are written" in page.locator("#view").inner_text()
    at_step(page, HISTORY + 5, HISTORY - 3 * HORIZON)
    page.mouse.down()
    page.mouse.up()
    page.locator(".patch-strips").focus()
    page.keyboard.press("Home")
    weight = float(page.locator("output").get_attribute("data-weight"))
    assert weight == pytest.approx(cross.weights[:, 1, 0].mean(), abs=1e-5)


def test_the_report_draws_a_forecast(visit, workdir):
    page = visit((workdir / "plain" / "report.html").as_uri())
    assert page.locator("h2", has_text="A forecast").is_visible()
    page.locator(".forecast .series-line.foretold").wait_for()
    assert "mean error" in readout(page)
    assert page.complaints == []


# Server


@pytest.fixture(scope="module")
def address(workdir):
    command = [sys.executable, "-m", "headway", "serve", "--port", "0", "--json", "--workers", "1"]
    command += [str(workdir / name) for name in ("plain", "power")]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    yield json.loads(process.stdout.readline())["url"]
    process.kill()
    process.communicate()


def answered(page):
    page.wait_for_function("() => document.querySelector('.status').textContent.endsWith('ms')")


def test_a_dropped_file_gives_a_forecast(visit, address, workdir):
    page = visit(address)
    answered(page)
    assert "An example. Drop a file of your own." in page.locator(".status").inner_text()
    page.locator(".forecast .series-line.foretold").wait_for()
    assert page.locator("#csv").input_value().startswith("date,load,sun\n")
    content = (workdir / FILE).read_text()
    drop = "content => { const data = new DataTransfer(); "
    drop += "data.items.add(new File([content], 'mine.csv', {type: 'text/csv'})); return data; }"
    data = page.evaluate_handle(drop, content)
    with page.expect_response(lambda response: response.url.endswith("/inspect")) as found:
        page.dispatch_event(".drop", "drop", {"dataTransfer": data})
    expected = json.loads(looked_at(workdir, "plain", at=None).to_json())["forecast"]
    got = found.value.json()["forecast"]
    assert got["times"] == expected["times"]
    np.testing.assert_allclose(got["forecast"], expected["forecast"], rtol=1e-5)
    answered(page)
    assert "mine.csv, 240 rows" in page.locator(".drop").inner_text()
    with page.expect_response(lambda response: response.url.endswith("/inspect")) as found:
        page.locator(".live label", has_text="Column").locator("select").select_option("sun")
    assert found.value.json()["forecast"]["column"] == "sun"
    answered(page)
    assert "sun" in page.locator("figcaption strong").first.inner_text()
    assert page.complaints == []
    assert all(url.startswith((address, "data:")) for url in page.asked)


def test_what_is_missing_is_said(visit, address):
    page = visit(address)
    answered(page)
    page.locator("#model").select_option("power")
    answered(page)
    page.get_by_label("Forecast", exact=False).and_(
        page.locator("select:not(#model)")
    ).select_option("")
    page.locator(".status.bad", has_text="heat, open must be known for 12 steps").wait_for()
    page.locator("#csv").fill("date,load\n2024-01-01,<img src=x>\n")
    page.locator(".status.bad", has_text="no column").wait_for()
    assert page.locator("img").count() == 0


def test_what_was_found_in_a_file_is_said(visit, address):
    page = visit(address)
    answered(page)
    page.get_by_label("Forecast", exact=False).and_(
        page.locator("select:not(#model)")
    ).select_option("")
    answered(page)
    hours = [f"2024-01-01 {hour:02}:00,1,2\n" for hour in (0, 1, 2, 4, 5)]
    page.locator("#csv").fill("date,load,sun\n" + "".join(hours))
    page.locator(".warnings", has_text="Warning: 1 time without a row, after (csv:4)").wait_for()
    page.locator("#csv").fill("date,load\n2024-01-01,1\n")
    page.locator(".status.bad", has_text="no column").wait_for()
    assert page.locator(".warnings").inner_text() == ""
