"""The inspection page from a file, in a real browser: every view, its numbers, keys and links."""

import html
import re

import inspections
import numpy as np
import pytest

from headway.view.inspection import inspection_page

VIEWS = ["outputs", "search", "attention", "steps", "positions", "training"]
MODES = ["map", "lines", "all", "pair"]
# The page's policy forbids to run text as a script, so what is waited for is a function.
READY = "() => document.documentElement.dataset.ready"
GO = """place => {
  history.replaceState(null, "", `#${place}`);
  dispatchEvent(new HashChangeEvent("hashchange", { newURL: location.href }));
}"""
EVIL = "<img src=x onerror=\"document.title='broken'\"></script><script>document.title='!'</script>"


class Visit:
    """A page from a file, and what it complained about or asked for."""

    def __init__(self, browser, folder, data, place="", **options):
        path = folder / "page.html"
        path.write_text(inspection_page(data), encoding="utf-8")
        self.address = path.as_uri()
        self.page = browser.new_page(**{"viewport": {"width": 1440, "height": 900}, **options})
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{self.address}#{place}")
        self.page.wait_for_function(READY)

    def go(self, place):
        self.page.evaluate(GO, place)

    def text(self, selector="#view"):
        return self.page.locator(selector).inner_text()

    def number(self, selector, name="weight"):
        return float(self.page.locator(selector).get_attribute(f"data-{name}"))

    def is_content(self):
        """Nothing was complained about and nothing asked for, but the file itself."""
        asked = {url.partition("#")[0] for url in self.requests if not url.startswith("data:")}
        assert self.complaints == []
        assert asked == {self.address}
        return True


@pytest.fixture(scope="module")
def data():
    return inspections.inspection()


@pytest.fixture(scope="module")
def visit(chromium, tmp_path_factory, data):
    """One page for the tests that only look."""
    visit = Visit(chromium, tmp_path_factory.mktemp("inspection"), data)
    yield visit
    assert visit.is_content()
    visit.page.context.close()


def figure(value, digits=4):
    return f"{value:.{digits}f}".replace("-", "−")


@pytest.mark.parametrize("family", ["transformer", "gru", "plain", "language", "labels"])
def test_every_view_of_every_family(browser, tmp_path, family):
    visit = Visit(browser, tmp_path, inspections.inspection(family=family))
    seen = {}
    searched = family not in ("language", "labels")
    assert visit.page.locator("#tab-search").is_visible() == searched
    for view in [view for view in VIEWS if searched or view != "search"]:
        visit.page.locator(f"#tab-{view}").click()
        seen[view] = visit.text()
        assert seen[view].strip(), view
    for mode in MODES:
        visit.go(f"view=attention&mode={mode}")
        seen[mode] = visit.text()
    assert ("has no attention" in seen["attention"]) == (family == "plain")
    assert ("another way" in seen["pair"]) == (family == "gru")
    assert ("no positional encoding" in seen["positions"]) == (family != "transformer")
    assert ("probability\u00a091.0%" in seen["outputs"].replace(" ", "\u00a0")) == (
        family == "labels"
    )
    assert visit.is_content()


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_weights_are_those_of_the_model(visit, data, kind):
    parts = data["encoder"] if kind == "encoder" else data["outputs"][0]["attention"]
    parts = [part for part in parts if part["kind"] == kind]
    own = [inspections.weights_of(part, data["memory"].get(part["name"])) for part in parts]
    for layer, head, row, column in [(0, 1, 2, 1), (2, 3, 4, 0), (1, 0, 1, 3)]:
        visit.go(f"view=attention&kind={kind}&layer={layer}&head={head}&row={row}&column={column}")
        shown = visit.number("output.big")
        assert shown == pytest.approx(own[layer][head, row, column], abs=1e-6)
        assert visit.text("output.big") == figure(own[layer][head, row, column])
    visit.go(f"view=attention&kind={kind}&layer=1&head=mean&row=3&column=2")
    assert visit.number("output.big") == pytest.approx(own[1].mean(0)[3, 2], abs=1e-6)
    visit.go(f"view=attention&kind={kind}&layer=mean&head=2&row=3&column=2")
    assert visit.number("output.big") == pytest.approx(np.mean(own, 0)[2, 3, 2], abs=1e-6)


def test_the_picture_has_the_weights_as_colours(visit, data):
    part = data["encoder"][0]
    own = inspections.weights_of(part)[2]
    visit.go("view=attention&kind=encoder&layer=0&head=2")
    row, column = np.unravel_index(own.argmax(), own.shape)
    least = np.unravel_index(own.argmin(), own.shape)
    box = visit.page.locator(".viewport").bounding_box()
    seen = []
    for i, j in [(row, column), least]:
        cell = visit.page.evaluate(
            """([i, j, n]) => {
              const canvas = document.querySelector(".viewport canvas");
              const side = 44, ratio = devicePixelRatio;
              const copy = new OffscreenCanvas(canvas.width, canvas.height)
                .getContext("2d", { willReadFrequently: true });
              copy.drawImage(canvas, 0, 0);
              const bottom = canvas.height / ratio - 2 - n * side;
              const left = [...Array(canvas.width)].findIndex((_, x) => x > 20 &&
                copy.getImageData(x * ratio, (bottom + 4) * ratio, 1, 1).data[3] === 255);
              const at = [left + j * side + 5, bottom + i * side + 5];
              return [...copy.getImageData(at[0] * ratio, at[1] * ratio, 1, 1).data];
            }""",
            [int(i), int(j), len(own)],
        )
        seen.append(sum(cell[:3]))
    assert box["width"] > 300
    assert seen[0] < seen[1] - 100  # light scheme: the strongest is the darkest


def test_arrow_keys_walk_through_the_map_and_say_it(visit, data):
    own = inspections.weights_of(data["encoder"][1])[0]
    visit.go("view=attention&kind=encoder&layer=1&head=0&row=0&column=0")
    visit.page.locator(".viewport").focus()
    for key in ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"]:
        visit.page.keyboard.press(key)
    assert visit.text("output.big") == figure(own[1, 1])
    source = data["source"]["tokens"]
    said = visit.page.locator("#said").text_content()
    assert said == f"\u2068{source[1]}\u2069 to \u2068{source[1]}\u2069: {figure(own[1, 1])}"
    visit.page.wait_for_function("() => location.hash.includes('row=1')")


def test_pointing_shows_a_weight_and_leaving_takes_it_back(visit, data):
    own = inspections.weights_of(data["encoder"][1])[0]
    visit.go("view=attention&kind=encoder&layer=1&head=0&row=3&column=3")
    map = visit.page.locator(".viewport")
    box = map.bounding_box()
    n = len(data["source"]["tokens"])
    bottom = box["y"] + box["height"] - 2 - 44 * n
    map.hover(position={"x": 150, "y": bottom - box["y"] + 44 * 1.5})
    row = data["source"]["tokens"][1]
    assert visit.text("aside .pair").startswith(row)
    assert np.abs(own[1] - visit.number("output.big")).min() < 1e-6
    visit.page.mouse.move(5, 5)
    assert visit.number("output.big") == pytest.approx(own[3, 3], abs=1e-6)


def test_a_thumbnail_opens_its_head(visit):
    visit.go("view=attention&mode=all&kind=cross")
    assert visit.page.locator(".thumb").count() == 3 * 4
    visit.page.get_by_label("layer 2, head 3").click()
    assert visit.text("figcaption strong") == "Cross, layer 2, head 3"


def test_lines_lead_from_a_word_and_heads_can_be_left_out(visit, data):
    visit.go("view=attention&mode=lines&kind=encoder&layer=0&row=1")
    words = visit.page.locator(".words [role=option]")
    assert words.count() == len(data["source"]["tokens"])
    words.nth(3).click()
    assert (
        visit.page.locator(".words [aria-selected=true]").inner_text()
        == data["source"]["tokens"][3]
    )
    visit.page.keyboard.press("ArrowUp")
    assert (
        visit.page.locator(".words [aria-selected=true]").inner_text()
        == data["source"]["tokens"][2]
    )
    visit.page.get_by_label("head 2", exact=True).click()
    assert visit.page.locator(".boxes").first.locator("i").count() == 3
    own = inspections.weights_of(data["encoder"][0])[:, 2]
    visit.page.locator(".word").nth(4).hover()
    shown = visit.page.locator("aside .number").all_inner_texts()
    assert shown == [figure(own[head, 4]) for head in (0, 2, 3)]


def test_query_and_key_add_up_to_the_score(visit, data):
    part = data["encoder"][2]
    query, key = (inspections.unpack(part[name])[1] for name in ("query", "key"))
    visit.go("view=attention&mode=pair&kind=encoder&layer=2&head=1&row=3&column=1")
    score = query[3] @ key[1] * part["scale"]
    assert visit.number(".sum [data-score]", "score") == pytest.approx(score, rel=1e-5)
    weight = inspections.weights_of(part)[1, 3, 1]
    assert visit.number(".sum [data-weight]") == pytest.approx(weight, abs=1e-6)
    visit.page.locator(".strip[aria-label^='query,']").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.locator("#said").text_content() == f"query, 1: {figure(query[3, 1])}"


def test_seven_steps_with_the_models_numbers(visit, data):
    part = next(p for p in data["outputs"][0]["attention"] if p["name"] == "decoder.1.cross")
    memory = data["memory"]["decoder.1.cross"]
    weights = inspections.weights_of(part, memory)[2, 1]
    visit.go("view=steps&kind=cross&layer=1&head=2&row=1&column=0")
    page = visit.page
    for stage in range(1, 8):
        assert page.locator(".stage").get_attribute("data-stage") == str(stage)
        if stage == 1:
            page.locator(".strip[aria-label^='sum,']").first.focus()
            page.keyboard.press("ArrowRight")
            entry = data["outputs"][0]["inputs"]
            first = sum(inspections.unpack(entry[k])[1, 0] for k in ("embedding", "position"))
            assert page.locator("#said").text_content() == f"sum, 0: {figure(first)}"
        elif stage == 4:
            assert page.locator(".bar .number").all_inner_texts() == [
                figure(w) for w in sorted(weights, reverse=True)
            ]
        elif stage == 6:
            mixed = weights @ inspections.unpack(memory["value"])[2]
            out = inspections.unpack(memory["out"])[:, 16:24]
            page.locator(".strip[aria-label^='added,']").focus()
            page.keyboard.press("ArrowRight")
            assert page.locator("#said").text_content() == f"added, 0: {figure((out @ mixed)[0])}"
        elif stage == 7:
            top = data["outputs"][0]["top"][1]
            assert page.locator(".bar .token").all_inner_texts() == [word for word, _ in top]
            page.get_by_role("button", name="on to").click()
            break
        page.get_by_role("button", name="next →").click()
    assert page.locator(".stage").get_attribute("data-stage") == "1"
    page.wait_for_function("() => location.hash.includes('row=2')")


def test_the_search_can_be_followed(visit, data):
    trace = data["trace"]
    visit.go("view=search&step=0")
    page = visit.page
    last = len(trace["steps"])
    assert f"step 1 of {last}" in visit.text(".controls")
    page.get_by_label("one step on").click()
    page.get_by_label("one step on").click()
    assert f"step 3 of {last}" in visit.text(".controls")
    page.locator(".viewport").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    step = trace["steps"][0]
    details = visit.text("aside")
    assert trace["steps"][0]["text"][1] in details
    for number in (step["log_prob"][1], step["score"][1]):
        assert figure(number) in details
    assert "2 of 10" in details
    page.get_by_role("button", name="play").click()
    page.wait_for_function(
        "words => document.querySelector('.controls').innerText.includes(words)",
        arg=f"step 5 of {last}",
    )
    page.get_by_role("button", name="pause").click()
    page.keyboard.press("End")


def test_the_path_is_that_of_the_chosen_output(visit, data):
    for place, output in enumerate(data["outputs"][:3]):
        visit.go(f"view=search&output={place}")
        shown = visit.page.locator("aside p.quiet .token").all_inner_texts()
        assert shown == output["tokens"]


def test_pruned_candidates_can_be_hidden(visit, data):
    visit.go("view=search")
    for is_shown, rank in [(True, "9 of 10"), (False, "5 of 10")]:
        visit.page.get_by_label("pruned ones").set_checked(is_shown)
        visit.page.locator(".viewport").focus()
        visit.page.keyboard.press("Home")
        for _ in range(8):
            visit.page.keyboard.press("ArrowDown")
        assert rank in visit.text("aside")
    assert data["trace"]["steps"][0]["fate"].count("kept") == 5


def test_the_chosen_output_drives_all_views(visit, data):
    visit.go("view=outputs")
    page = visit.page
    page.locator("[role=radio]").nth(2).click()
    page.locator("#tab-attention").click()
    part = next(p for p in data["outputs"][2]["attention"] if p["name"] == "decoder.2.cross")
    own = inspections.weights_of(part, data["memory"][part["name"]]).mean(0)
    assert visit.number("output.big") == pytest.approx(own[0, 0], abs=1e-6)
    assert visit.text("#sentences .target .sentence") == data["outputs"][2]["text"]
    page.locator("#which select").select_option("0")
    assert visit.text("#sentences .target .sentence") == data["outputs"][0]["text"]


def test_a_token_shows_what_could_have_stood_there(visit, data):
    visit.go("view=outputs")
    pieces = visit.page.locator(".tokens").first.locator(".piece")
    shares = np.exp(data["outputs"][0]["token_log_probs"])
    shown = [piece.split("\n")[-1] for piece in pieces.all_inner_texts()]
    assert shown == [f"{100 * share:.1f}%" for share in shares]
    pieces.nth(0).focus()
    visit.page.keyboard.press("ArrowRight")
    words = visit.page.locator("aside .token").all_inner_texts()[1:]
    assert words == [word for word, _ in data["outputs"][0]["top"][1]]


def test_positions_are_drawn_and_their_diagonal_is_half_the_width(visit, data):
    visit.go("view=positions")
    assert "diagonal 16.00 (d/2 = 16)" in visit.text()
    visit.page.locator(".viewport").nth(1).focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowRight"]:
        visit.page.keyboard.press(key)
    codes = inspections.unpack(data["positions"]["table"])
    said = visit.page.locator("#said").text_content()
    assert said == f"place 2 · place 1 = {figure(codes[2] @ codes[1])}"
    assert "How alike place 2 is" in visit.text()


def test_training_shows_curves_and_answers_over_time(visit):
    visit.go("view=training")
    titles = visit.page.locator("figcaption strong").all_inner_texts()
    assert titles == ["Loss", "Exact match on validation data", "Learning rate", "Speed"]
    assert visit.page.locator("svg.chart path.line").count() == 5
    table = visit.page.locator(".rows")
    assert "2016-01-14" in table.locator("tr").nth(1).locator("td").nth(1).inner_text()
    visit.page.get_by_label("moment of the training").focus()
    visit.page.keyboard.press("Home")
    assert "2000-06-16" in table.locator("tr").nth(1).locator("td").nth(1).inner_text()


def test_tabs_by_keyboard_alone(visit):
    visit.go("view=outputs")
    page = visit.page
    page.locator("#tab-outputs").focus()
    for view in ["search", "attention", "steps"]:
        page.keyboard.press("ArrowRight")
        assert page.locator(f"#tab-{view}").get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "tab-steps"
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.activeElement.id") != "tab-steps"
    assert outline == "solid"


def test_controls_keep_the_focus_while_they_are_used(visit):
    page = visit.page
    visit.go("view=attention&kind=encoder&layer=0&head=0")
    page.get_by_label("Head").focus()
    for name in ["head 2", "head 3"]:
        page.keyboard.press("ArrowDown")
        assert visit.text("figcaption strong") == f"Encoder, layer 1, {name}"
    page.get_by_role("radio", name="Encoder").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert visit.text("figcaption strong") == "Cross, layer 1, head 3"
    visit.go("view=steps")
    page.get_by_role("button", name="next").focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    assert page.locator(".stage").get_attribute("data-stage") == "4"
    page.locator("#which select").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#which select").input_value() == "2"


def test_an_address_leads_back_to_what_was_looked_at(browser, tmp_path, data):
    visit = Visit(browser, tmp_path, data)
    page = visit.page
    page.locator("#tab-attention").click()
    page.get_by_role("radio", name="Decoder").click()
    page.get_by_label("Layer").select_option("1")
    page.get_by_label("Head").select_option("2")
    page.locator(".viewport").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => location.hash.includes('row=1')")
    before, address = visit.text(), page.url
    again = browser.new_page(viewport={"width": 1440, "height": 900})
    again.goto(address)
    assert again.locator("#view").inner_text() == before
    assert "Decoder, layer 2, head 3" in before


def test_nonsense_in_the_address_is_borne(browser, tmp_path, data):
    place = "view=nothing&output=99&layer=77&head=x&row=1000&column=5&step=900&node=a.b&kind=no"
    place += "&stage=-4"
    visit = Visit(browser, tmp_path, data, place)
    for view in VIEWS:
        visit.page.locator(f"#tab-{view}").click()
    assert visit.is_content()


def test_foreign_markup_is_text(browser, tmp_path):
    made = inspections.inspection(([EVIL, "b"], [EVIL, "d"]), name=EVIL)
    made["run"]["facts"] = [[EVIL, EVIL]]
    made["left_out"] = [EVIL]
    made["outputs"][0]["unmet"] = [EVIL]
    made["training"]["rows"][-1]["samples"] = [[EVIL, EVIL, EVIL]]
    visit = Visit(browser, tmp_path, made)
    assert visit.text("h1") == EVIL
    for view in VIEWS:
        visit.go(f"view={view}")
    for mode in MODES:
        visit.go(f"view=attention&mode={mode}")
    assert visit.page.title() == EVIL
    assert visit.page.locator("img").count() == 0
    assert visit.text("#sentences .source") == f"{EVIL} b"
    assert visit.is_content()


def test_directions_follow_the_text(browser, tmp_path):
    visit = Visit(browser, tmp_path, inspections.inspection(inspections.ARABIC))
    direction = "e => getComputedStyle(e).direction"
    assert visit.page.locator("#sentences .source .sentence").evaluate(direction) == "rtl"
    assert visit.page.locator("#sentences .target .sentence").evaluate(direction) == "ltr"
    visit.go("view=attention&mode=lines&kind=encoder")
    word = visit.page.locator(".words .token", has_text="مارس").first
    assert word.evaluate(direction) == "rtl"
    assert visit.is_content()


@pytest.mark.parametrize("pair", [inspections.CAT, inspections.ARABIC], ids=["cat", "arabic"])
def test_any_script_reaches_the_page_whole(browser, tmp_path, pair):
    made = inspections.inspection(pair)
    visit = Visit(browser, tmp_path, made)
    assert visit.text("#sentences .source") == " ".join(pair[0])
    assert visit.text("#sentences .target .sentence") == " ".join(pair[1])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_a_telephone(browser, tmp_path, scheme):
    pair = (inspections.long_words(39), inspections.long_words(39, 1))
    visit = Visit(
        browser,
        tmp_path,
        inspections.inspection(pair, heads=8, width=64),
        viewport={"width": 390, "height": 844},
        color_scheme=scheme,
    )
    places = [f"view={view}" for view in VIEWS] + [f"view=attention&mode={mode}" for mode in MODES]
    for place in [*places, *(f"view=steps&stage={stage}" for stage in range(7))]:
        visit.go(place)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390, place
    ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    shade = sum(map(int, re.findall(r"\d+", ground)[:3]))
    assert (shade < 200) == (scheme == "dark")
    assert visit.is_content()


def test_it_prints_on_white(browser, tmp_path, data):
    visit = Visit(browser, tmp_path, data, "view=attention", color_scheme="dark")
    visit.page.emulate_media(media="print")
    assert (
        visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    visit.page.wait_for_function(  # the picture as well
        """() => {
          const canvas = document.querySelector(".viewport canvas");
          const copy = new OffscreenCanvas(canvas.width, canvas.height)
            .getContext("2d", { willReadFrequently: true });
          copy.drawImage(canvas, 0, 0);
          const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
          let [sum, n] = [0, 0];
          for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) { sum += data[i]; n++; }
          return sum / n > 128;
        }"""
    )
    assert visit.page.pdf(format="A4").startswith(b"%PDF")


def test_it_works_inside_a_notebook(browser, data):
    """A frame without an address or an origin of its own, from which nothing can be stored."""
    page = browser.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    frame = html.escape(inspection_page(data), quote=True)
    page.set_content(f'<iframe sandbox="allow-scripts" width="900" height="600" srcdoc="{frame}">')
    inside = page.frame_locator("iframe")
    inside.locator("#tab-attention").click()
    inside.get_by_label("Head").select_option("1")
    inside.locator("figcaption strong", has_text="Cross, layer 3, head 2").wait_for()
    page.wait_for_timeout(300)  # the address is written a moment later, which is not allowed here
    assert complaints == []


def test_half_precision_is_told_and_computed(browser, tmp_path):
    made = inspections.inspection(dtype="float16")
    visit = Visit(
        browser, tmp_path, made, "view=attention&kind=encoder&layer=0&head=1&row=2&column=3"
    )
    assert "half precision" in visit.text("header")
    own = inspections.weights_of(made["encoder"][0])[1, 2, 3]
    assert visit.number("output.big") == pytest.approx(own, abs=1e-6)


def test_what_was_left_out_is_said(browser, tmp_path):
    made = inspections.inspection()
    made["left_out"] = ["attention of all outputs but the best", "values and inputs (the steps)"]
    for output in made["outputs"][1:]:
        output["attention"] = output["inputs"] = None
    made["inputs"] = made["outputs"][0]["inputs"] = None
    for part in [*made["encoder"], *made["memory"].values()]:
        part["value"] = None
    visit = Visit(browser, tmp_path, made, "view=attention&output=1&kind=cross")
    assert "Left out to keep this page small: attention of all outputs" in visit.text("#missing")
    assert "encoder" in visit.text("figcaption").lower()  # what there still is
    visit.go("view=steps&stage=0")
    assert "not recorded" in visit.text()
    visit.go("view=steps&stage=4")
    assert "not recorded" in visit.text()
    assert visit.is_content()
