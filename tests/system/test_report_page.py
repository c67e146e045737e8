"""The report page in a real browser: what a reader sees, in both colour schemes and on paper."""

import math
import random
import re
from types import SimpleNamespace

import pytest

from headway.view.report import Command, History, Moment, Picture, ReportData, Sample, report

pytestmark = pytest.mark.slow

READY = "() => document.documentElement.dataset.ready"
# Where words are written on a canvas, in CSS pixels of the canvas.
RECORD_LABELS = """() => {
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {
    const at = this.getTransform().transformPoint(new DOMPoint(x, y));
    const ratio = devicePixelRatio || 1;
    (this.canvas.labels ??= []).push([words, at.x / ratio, at.y / ratio]);
    return write.call(this, words, x, y);
  };
}"""


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


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a report from a file; at the end it must not have complained or asked for anything."""
    path = tmp_path / "report.html"
    complaints, requests = [], []

    def visit(data, **options):
        path.write_text(report(data), encoding="utf-8")
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 800}} | options)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.add_init_script(f"({RECORD_LABELS})()")
        page.goto(path.as_uri())
        page.wait_for_function(READY)
        return page

    yield visit
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {path.as_uri()}


def test_page_asks_for_nothing_and_runs_only_its_own_script(visit):
    page = visit(sample_report())
    assert page.title() == "Dates to ISO form"  # a sample would change it
    types = [script.get_attribute("type") for script in page.locator("script").all()]
    assert types == ["application/json", "module"]


def test_without_javascript_all_text_is_there(browser, address):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    words = page.locator("body").inner_text()
    data = sample_report()
    expected = [data.title, data.subtitle, *data.facts.values(), *data.machine.values()]
    expected += [word for sample in data.samples for word in (sample.source, sample.output)]
    expected += [line for lines in data.notes.values() for line in lines]
    expected += [command.line for command in data.commands]
    expected += ["99.40", "95% interval 98.69 to 99.73", "These charts need JavaScript"]
    for word in [*expected, "Attention maps need JavaScript"]:
        assert word in words


def chart(page, title):
    return page.locator("#charts figure", has=page.get_by_text(title, exact=True))


def keys(figure):
    """The words of the legend, without breaks."""
    return [" ".join(words.split()) for words in figure.locator(".key").all_inner_texts()]


def test_curves_with_their_last_values(visit):
    page = visit(sample_report())
    titles = page.locator("#charts strong").all_inner_texts()
    assert titles == ["Loss", "Exact match on validation data", "Learning rate", "Speed"]
    loss = chart(page, "Loss")
    assert loss.locator("svg.chart path.line").count() == 2
    last = list(log_records())[-1]
    shown = [float(words.split()[1]) for words in keys(loss)]
    assert shown == pytest.approx([last["loss"], last["valid_loss"]], rel=1e-3)
    assert loss.locator("svg.chart text").last.text_content() == "minutes of training"


def test_curves_without_minutes_go_by_step(visit):
    page = visit(ReportData("T", records=[{"step": 1, "loss": 1.0}, {"step": 2, "loss": 2.0}]))
    assert chart(page, "Loss").locator("svg.chart text").last.text_content() == "step"


def test_pointing_at_a_curve_tells_value_step_and_minutes(visit):
    records = [{"step": i, "minutes": i / 2, "loss": 4.0 - i} for i in range(4)]
    records[3]["valid_loss"] = 1.5
    page = visit(ReportData("T", records=records))
    figure = chart(page, "Loss")
    assert keys(figure) == ["training 1", "validation 1.5"]
    assert figure.locator("svg.chart path.line").count() == 1  # validation has one point
    assert figure.locator("svg.chart circle.dot").count() == 5
    box = figure.locator("svg.chart").bounding_box()
    page.mouse.move(box["x"] + 56, box["y"] + 100)
    assert keys(figure) == ["training 4 at step 0, 0.0 min", "validation 1.5 at step 3, 1.5 min"]
    page.mouse.move(box["x"] + 56, box["y"] - 100)
    assert keys(figure) == ["training 1", "validation 1.5"]


def test_a_line_reaches_the_corners_of_its_axes(visit):
    page = visit(ReportData("T", records=[{"step": 0, "loss": 0.0}, {"step": 10, "loss": 1.0}]))
    drawing = chart(page, "Loss").locator("svg.chart")
    width = float(drawing.get_attribute("width"))
    path = drawing.locator("path.line").get_attribute("d")
    assert [float(x) for x in re.findall(r"[\d.]+", path)] == pytest.approx(
        [54, 182, width - 12, 10], abs=0.1
    )


def test_one_point_is_in_the_middle(visit):
    page = visit(ReportData("T", records=[{"step": 100, "loss": 2.0}]))
    drawing = chart(page, "Loss").locator("svg.chart")
    dot, width = drawing.locator("circle.dot"), float(drawing.get_attribute("width"))
    assert float(dot.get_attribute("cx")) == pytest.approx((54 + width - 12) / 2)
    assert float(dot.get_attribute("cy")) == pytest.approx((10 + 182) / 2)


def test_missing_values_are_bridged_and_not_finite_ones_are_gaps(visit):
    records = [{"step": i, "loss": 1.0} for i in range(9)]
    del records[2]["loss"]
    records[4]["loss"] = None
    page = visit(ReportData("T", records=records))
    assert chart(page, "Loss").locator("svg.chart path.line").count() == 1
    assert keys(chart(page, "Loss")) == ["training 1"]
    records[5]["loss"], records[7]["loss"] = math.nan, math.inf
    page = visit(ReportData("T", records=records))
    figure = chart(page, "Loss")
    assert figure.locator("svg.chart path.line").count() == 1  # 0 to 3; 6 and 8 are alone
    assert keys(figure) == ["training 1", "2 not finite, left out"]
    assert "nan" not in figure.inner_html().lower()


def test_curves_of_nothing_and_of_anything(visit):
    page = visit(ReportData("T", records=[{"step": 1, "loss": math.nan}]))
    assert "Nothing was logged." in chart(page, "Loss").inner_text()
    values = [1e308, -1e308, 0.0, 5, -1e290, 1e290, math.inf, 1e-300]
    page = visit(ReportData("T", records=[{"step": i, "loss": v} for i, v in enumerate(values)]))
    dots = chart(page, "Loss").locator("svg.chart circle.dot").all()
    assert len(dots) == 5
    assert all(10 <= float(dot.get_attribute("cy")) <= 182 for dot in dots)
    assert keys(chart(page, "Loss"))[1] == "3 not finite, left out"


def test_names_on_drawings_are_text(visit):
    bad = "<img src=x onerror=\"document.title='broken'\">"
    picture = Picture(bad, [[1.0]], [bad], [bad])
    records = [{"step": 1, "loss": 1.0, "m": 2.0}]
    page = visit(ReportData("T", records=records, metrics={"m": bad}, pictures=[picture]))
    page.locator(".viewport").press("ArrowRight")
    assert page.locator("#pictures strong").inner_text() == bad
    assert page.locator("#charts strong").nth(1).inner_text() == f"{bad} on validation data"
    assert page.locator(".pair .token").all_inner_texts() == [bad, bad]
    assert page.locator("img").count() == 0


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


def attention_map(page, picture):
    """The figure of a picture, its canvas, and where the labels of rows and columns are on it."""
    title = page.get_by_text(picture.title, exact=True)
    figure = page.locator("#pictures figure", has=title)
    figure.scroll_into_view_if_needed()
    canvas = figure.locator("canvas")
    written = canvas.evaluate("node => node.labels")[-len(picture.rows + picture.columns) :]
    n = len(picture.rows)
    return figure, canvas.bounding_box(), written[:n], written[n:]


def pointed(figure):
    """What the line under a map tells: the two tokens and the weight."""
    weight = float(figure.locator("output").get_attribute("data-weight"))
    return *figure.locator(".pair .token").all_inner_texts(), weight


def visible(token):
    return token.replace(" ", "␣").replace("\n", "⏎")


def test_attention_labels_stand_beside_their_cells(visit):
    data = sample_report()
    page = visit(data)
    assert page.locator("#pictures figure").count() == 3
    for picture in data.pictures[:2]:
        figure, box, rows, columns = attention_map(page, picture)
        assert [words for words, *_ in rows] == [visible(token) for token in picture.rows]
        assert [words for words, *_ in columns] == [visible(token) for token in picture.columns]
        side = columns[1][1] - columns[0][1]
        assert rows[1][2] - rows[0][2] == pytest.approx(side)  # cells are square
        for i, (row, _, y) in enumerate(rows):
            for j, (column, x, _) in enumerate(columns):
                for aside in (2 - side / 2, side / 2 - 2) if i == 0 else (0,):
                    page.mouse.move(box["x"] + x + aside, box["y"] + y)
                    *tokens, weight = pointed(figure)
                    assert tokens == [row, column]
                    assert weight == pytest.approx(picture.weights[i][j], abs=1e-6)


def test_attention_by_keyboard(visit):
    data = sample_report()
    page = visit(data)
    picture = data.pictures[0]
    figure, *_ = attention_map(page, picture)
    assert figure.locator("output").count() == 0  # nothing is chosen at first
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        figure.locator(".viewport").press(key)
    assert pointed(figure)[:2] == (picture.rows[1], picture.columns[1])
    said = page.locator("#said").text_content()
    assert said == f"\u2068-\u2069 to \u2068day\u2069: {picture.weights[1][1]:.4f}"


def test_the_scale_names_the_largest_weight(visit):
    picture = Picture("P", [[0.25, 0.75, 0], [0.1, 0.2, 0.7]], ["y1", "y2"], ["a", "b", "c"])
    page = visit(ReportData("T", pictures=[picture]))
    assert page.locator(".tools .key").inner_text() == "00.75"  # the scale is between them


# The colour of a canvas at a place in CSS pixels.
PIXELS = """(node, [x, y, side]) => {
  const ratio = devicePixelRatio || 1;
  const at = [x - side / 2, y - side / 2, side, side].map((value) => Math.round(value * ratio));
  const copy = new OffscreenCanvas(node.width, node.height).getContext("2d");
  copy.drawImage(node, 0, 0);
  const { data } = copy.getImageData(...at);
  const colours = [];
  for (let i = 0; i < data.length; i += 4) colours.push(data.slice(i, i + 3).join(","));
  return colours;
}"""


def test_weights_that_are_no_shares_have_colours_too(visit):
    weights = [[math.nan, -0.5, 2.0, math.inf, 0.0]]
    picture = Picture("P", weights, ["r"], list("abcde"))
    page = visit(ReportData("T", pictures=[picture]), color_scheme="light")
    figure, _, [(_, _, y)], columns = attention_map(page, picture)
    canvas, side = figure.locator("canvas"), columns[1][1] - columns[0][1]
    corner = [  # away from the figures in the cells
        canvas.evaluate(PIXELS, [x, y - side / 3, 6]) for _, x, _ in columns
    ]
    empty, full = "240,238,233", "27,90,150"
    assert set(corner[1]) == set(corner[4]) == {empty}
    assert set(corner[2]) == {full}
    assert page.locator(".tools .key").inner_text() == "02.00"
    for j in (0, 3):  # hatched
        cell = set(canvas.evaluate(PIXELS, [columns[j][1], y, side - 4]))
        assert {empty, "179,50,31"} <= cell
    figure.locator(".viewport").press("ArrowRight")
    assert figure.locator("output").inner_text() == "–"
    figure.locator(".viewport").press("ArrowRight")
    assert figure.locator("output").inner_text() == "−0.5000"


def test_no_tokens_and_many_tokens(visit):
    many = Picture("many", [[0.01] * 120] * 3, list("xyz"), [str(i) for i in range(120)])
    for width in (390, 1280):
        pictures = [Picture("none", [], [], []), many]
        page = visit(ReportData("T", pictures=pictures), viewport={"width": width, "height": 800})
        assert page.locator("#pictures strong").all_inner_texts() == ["none", "many"]
        assert page.locator("#pictures figure").first.inner_text().endswith("No tokens.")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_drawings_follow_the_colour_scheme(visit):
    page = visit(sample_report(), color_scheme="light")
    canvas = page.locator("canvas").first
    before = canvas.evaluate("node => node.toDataURL()")
    page.emulate_media(color_scheme="dark")
    assert canvas.evaluate("node => node.toDataURL()") != before


def test_page_prints(browser, address):
    page = browser.new_page(color_scheme="dark")
    page.goto(address)
    page.emulate_media(media="print")
    assert color(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
