"""The report page in a real browser: what a reader sees, in both colour schemes and on paper."""

import math
import random
from types import SimpleNamespace

import pytest

from headway.view.report import Command, History, Moment, Picture, ReportData, Sample, report

pytestmark = pytest.mark.slow


def attention(rows, columns, sharpness=6.0):
    weights = []
    for i in range(len(rows)):
        centre = i * (len(columns) - 1) / max(len(rows) - 1, 1)
        raw = [math.exp(-sharpness * abs(j - centre) / len(columns)) for j in range(len(columns))]
        weights.append([value / sum(raw) for value in raw])
    return weights


def picture(title, rows, columns):
    return Picture(title, attention(rows, columns, 18), rows, columns)


def log_records(n=1500):
    draw = random.Random(0)
    for step in range(0, n + 1, 10):
        record = {
            "step": step,
            "minutes": step / n * 2.7,
            "loss": 0.12 + 3.4 * math.exp(-step / 180) + draw.random() * 0.08,
            "lr": 2e-3 * min(step / 150, math.sqrt(150 / max(step, 1))),
            "tokens_per_second": 11800 + draw.gauss(0, 350),
        }
        if step % 150 == 0:
            record["valid_loss"] = 0.1 + 3.1 * math.exp(-step / 170)
            record["exact"] = 100 * (1 - math.exp(-step / 210))
        yield record


def sample_report():
    score = SimpleNamespace
    return ReportData(
        title="Dates to ISO form",
        subtitle="Dates as people write them in 24 languages, rewritten as YYYY-MM-DD.",
        facts={
            "Task": "translate",
            "Model": "transformer tiny",
            "Parameters": "1,128,448",
            "Training examples": "48,000",
            "Validation examples": "1,000",
            "Seed": "1",
            "Training time": "2 min 41 s",
            "Best step": "1,350",
        },
        machine={"Processor": "2 cores, x86_64", "Python": "3.11.9", "PyTorch": "2.13.0"},
        scores={
            "Test set: 1,000 dates that are not in the training data": [
                score(
                    name="Exact match",
                    value=99.4,
                    low=98.69,
                    high=99.73,
                    signature="exact|n:1000|interval:wilson95",
                ),
                score(
                    name="chrF",
                    value=99.81,
                    low=99.62,
                    high=99.95,
                    signature="nrefs:1|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no"
                    "|version:2.6.0",
                ),
                score(
                    name="Perplexity",
                    value=1.02,
                    low=None,
                    high=None,
                    signature="perplexity|per:token|n:11000",
                ),
            ],
            "Languages never seen in training": [
                score(
                    name="Exact match",
                    value=41.2,
                    low=38.2,
                    high=44.28,
                    signature="exact|n:1000|interval:wilson95",
                )
            ],
        },
        records=list(log_records()),
        metrics={"exact": "Exact match"},
        samples=[
            Sample("3. März 2021", "2021-03-03", "2021-03-03", 0.998, True),
            Sample("le 14 juillet 1789", "1789-07-14", "1789-07-14", 0.991, True),
            Sample("2021年3月3日", "2021-03-03", "2021-03-03", 0.999, True),
            Sample("٣ مارس ٢٠٢١", "2021-03-03", "2021-03-03", 0.964, True),
            Sample("יום רביעי, 3 במרץ 2021", "2021-03-08", "2021-03-03", 0.512, False),
            Sample("Wednesday, March 3, 2021", "2021-03-03", "2021-03-03", 0.997, True),
            Sample("<script>document.title = 'broken'</script>", "0000-00-00", None, 0.02, None),
        ],
        histories=[
            History(
                "mercredi 3 mars 2021",
                [
                    Moment(150, "2011-11-11", 0.3),
                    Moment(450, "2021-05-03", 0.8),
                    Moment(1350, "2021-03-03", 2.4),
                ],
                "2021-03-03",
            ),
            History(
                "٣ مارس ٢٠٢١", [Moment(150, "2000-00-01", 0.3), Moment(1350, "2021-03-03", 2.4)]
            ),
        ],
        pictures=[
            picture(
                "Cross-attention, last layer, mean of heads",
                ["2021", "-", "03", "-", "03", "</s>"],
                ["Wednes", "day", ",", " March", " 3", ",", " 2021", "</s>"],
            ),
            picture(
                "Another script on each axis",
                ["二〇二一年", "三月", "三日", "</s>"],
                ["٣", " مارس", " ٢٠٢١", "水曜日", "\n", "</s>"],
            ),
            picture("A longer pair", [f"y{i}" for i in range(45)], [f"x{i}" for i in range(52)]),
        ],
        notes={
            "Data": [
                "48,213 pairs read, 213 dropped: 201 empty, 12 longer than 128 tokens.",
                "No training pair stands in the validation or test data.",
            ],
            "Chosen automatically": [
                "Vocabulary of 512 pieces, from 1.4 MB of text.",
                "Batches of 8,192 tokens; 1,500 steps fit into 3 minutes.",
            ],
        },
        commands=[
            Command('echo "5 octobre 1999" | headway translate runs/demo', "Try your own dates."),
            Command("headway evaluate runs/demo --data more.tsv", "Score it on other data."),
            Command('headway view runs/demo "3. März 2021" --out page.html', "Look inside."),
        ],
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report(sample_report()), encoding="utf-8")
    return path.as_uri()


def luminance(color):
    channels = [int(c) / 255 for c in color.strip("rgb()").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def color(page, selector, name="color"):
    return page.eval_on_selector(selector, f"e => getComputedStyle(e)['{name}']")


def test_page_asks_for_nothing_and_runs_nothing(browser, address):
    page = browser.new_page()
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(address)
    assert [url for url in requests if not url.startswith("data:")] == [address]
    assert complaints == []
    assert page.title() == "Dates to ISO form"
    assert page.locator("script").count() == 0
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(browser, address, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(address)
    ground, card = (color(page, s, "backgroundColor") for s in ("body", ".card"))
    assert (luminance(ground) < 0.2) == (scheme == "dark")
    for selector, behind in [
        ("h1", ground),
        (".subtitle", ground),
        (".facts dt", card),
        (".signature", card),
        (".mark.good", card),
        (".mark.bad", card),
        (".rows td", card),
    ]:
        assert contrast(color(page, selector), behind) >= 4.5, selector
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows_the_window(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_directions_follow_the_text(browser, address):
    page = browser.new_page()
    page.goto(address)
    cell = page.locator("td", has_text="במרץ").first
    assert cell.evaluate("e => getComputedStyle(e).direction") == "rtl"
    cell = page.locator("td", has_text="juillet").first
    assert cell.evaluate("e => getComputedStyle(e).direction") == "ltr"
    page.close()


def test_attention_labels_stand_over_their_columns(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    for table in page.locator("table.heat").all():
        heads = table.locator("thead th").all()
        cells = table.locator("tbody tr").first.locator("td").all()
        assert len(heads) == len(cells)
        for head, cell in list(zip(heads, cells, strict=True))[:8]:
            label, box = head.locator("span").bounding_box(), cell.bounding_box()
            middle = box["x"] + box["width"] / 2
            assert abs(label["x"] + label["width"] / 2 - middle) <= 1.5
            assert box["width"] == pytest.approx(box["height"], abs=1)
    page.close()


def test_page_prints(browser, address):
    page = browser.new_page(color_scheme="dark")
    page.goto(address)
    page.emulate_media(media="print")
    assert color(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
