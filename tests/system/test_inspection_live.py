"""The live page before a small server: what is typed is asked, what is answered is shown."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import inspections
import pytest

from headway.view.inspection import inspection_page

EVIL = "<img src=x onerror=document.title='broken'>"


class Desk:
    """A server that upper-cases; it remembers what it was asked and can be told to be slow."""

    def __init__(self):
        self.asked, self.paths = [], []
        self.rows = inspections.training_rows(200)
        self.token = None
        outer = self

        self.may_answer = threading.Event()  # for which slow questions wait

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.get(self)

            def do_POST(self):
                outer.post(self)

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, request):
        path = urlparse(request.path)
        self.paths.append(request.path)
        if path.path == "/":
            self.answer(request, 200, inspection_page(None, live=True), "text/html; charset=utf-8")
        elif not self.is_allowed(request):
            self.answer(request, 401, {"error": {"message": "a token is needed"}})
        elif path.path == "/models":
            models = [{"name": "shout", "task": "translate"}, {"name": EVIL, "task": "classify"}]
            self.answer(request, 200, {"models": models})
        elif path.path == "/training":
            assert parse_qs(path.query)["model"] == ["shout"]
            self.answer(request, 200, {"rows": self.rows})
        else:
            self.answer(request, 404, {"error": {"message": f"no {path.path}"}})

    def is_allowed(self, request):
        return self.token in (
            None,
            (request.headers["Authorization"] or "").removeprefix("Bearer "),
        )

    def post(self, request):
        question = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.asked.append(question)
        self.paths.append(request.path)
        if "slow" in question["text"]:
            assert self.may_answer.wait(60)
        if "wrong" in question["text"]:
            message = f"the text is too long: {EVIL}"
            return self.answer(request, 422, {"error": {"message": message}})
        words = question["text"].split()
        prefix = question["prefix"].split()
        upper = [*prefix, *(word.upper() for word in words[len(prefix) :])]
        made = inspections.inspection((words, upper), name=question["model"])
        for place, output in enumerate(made["outputs"]):
            if place != question["output"]:
                output["attention"], output["top"], output["inputs"] = None, [], None
        made["training"] = None
        return self.answer(request, 200, made)

    def answer(self, request, status, body, kind="application/json"):
        payload = (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            request.send_response(status)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(payload)))
            request.end_headers()
            request.wfile.write(payload)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page has asked something newer


@pytest.fixture
def desk():
    desk = Desk()
    yield desk
    desk.server.shutdown()
    desk.server.server_close()


@pytest.fixture
def page(browser, desk):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(desk.address)
    return page


def shown(page, text):
    page.locator("#sentences .target .sentence", has_text=text).wait_for()


def test_type_and_see(page, desk):
    assert "Type a sentence" in page.locator("#view").inner_text()
    typed = "a small cat"
    page.locator("#text").press_sequentially(typed, delay=15)
    shown(page, "A SMALL CAT")
    assert len(desk.asked) < len(typed)  # a question after a rest, not for every key
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.locator(".outputs > li").count() == 5
    assert page.complaints == []
    assert all(url.startswith((desk.address, "data:")) for url in page.requests)


def test_every_setting_is_asked_with(page, desk):
    page.locator("#text").fill("a small cat")
    settings = {"beam": "3", "alpha": "0.5", "n_best": "2", "max_length": "30"}
    for name, value in settings.items():
        page.locator(f"#{name}").fill(value)
    page.locator("#require").fill("CAT; DOG")
    page.locator("#forbid").fill("MOUSE")
    page.locator("#prefix").fill("One")
    shown(page, "One SMALL CAT")
    assert desk.asked[-1] == {
        "model": "shout",
        "text": "a small cat",
        "beam": 3,
        "alpha": 0.5,
        "n_best": 2,
        "max_length": 30,
        "require": ["CAT", "DOG"],
        "forbid": ["MOUSE"],
        "prefix": "One",
        "output": 0,
    }


def test_an_output_is_edited_and_gone_on_from(page, desk):
    page.locator("#text").fill("one two three four")
    shown(page, "ONE TWO THREE FOUR")
    page.get_by_role("button", name="edit").first.click()
    assert page.locator("#prefix").input_value() == "ONE TWO THREE FOUR"
    page.keyboard.press("End")
    for _ in range(len("TWO THREE FOUR")):
        page.keyboard.press("Backspace")
    page.keyboard.type("deux")
    shown(page, "ONE deux THREE FOUR")
    assert desk.asked[-1]["prefix"] == "ONE deux"


def test_it_fits_a_telephone(browser, desk):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(desk.address)
    edge = page.locator(".live").bounding_box()
    fields = page.locator(".live :is(input, textarea, select):visible")
    for field in fields.all():
        box = field.bounding_box()
        assert box["x"] + box["width"] <= edge["x"] + edge["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_answer_that_was_overtaken_is_dropped(page, desk):
    with page.expect_request("**/inspect"):
        page.locator("#text").fill("slow one")
    with page.expect_event("requestfailed") as dropped:
        page.locator("#text").fill("quick two")
    desk.may_answer.set()
    shown(page, "QUICK TWO")
    assert dropped.value.post_data_json["text"] == "slow one"
    assert page.locator("#sentences .target .sentence").inner_text() == "QUICK TWO"
    assert [question["text"] for question in desk.asked] == ["slow one", "quick two"]
    assert page.complaints == []


def test_mistakes_come_in_words_and_pass(page, desk):
    page.locator("#text").fill("wrong")
    status = page.locator(".status.bad")
    status.wait_for()
    assert status.inner_text() == f"the text is too long: {EVIL}"
    page.locator("#text").fill("right again")
    shown(page, "RIGHT AGAIN")
    assert page.locator(".status.bad").count() == 0
    assert page.title() != "broken"
    assert page.locator("img").count() == 0


def test_a_model_may_have_any_name(page, desk):
    page.locator("#model option").nth(1).wait_for(state="attached")
    assert page.locator("#model option").nth(1).inner_text() == f"{EVIL} (classify)"
    page.locator("#text").fill("one two")
    page.locator("#model").select_option(EVIL)
    page.locator("h1", has_text="onerror").wait_for()
    assert desk.asked[-1]["model"] == EVIL
    assert page.locator("h1").inner_text() == EVIL
    assert page.title() != "broken"


def test_the_attention_of_another_output_is_fetched(page, desk):
    page.locator("#text").fill("one two")
    shown(page, "ONE TWO")
    page.locator("#tab-attention").click()
    page.get_by_role("radio", name="Cross").wait_for()
    page.locator("#which select").select_option("2")
    page.wait_for_function("() => document.querySelector('.status').textContent.endsWith('ms')")
    page.get_by_role("radio", name="Cross").wait_for()
    assert desk.asked[-1]["output"] == 2
    assert page.locator(".viewport").count() == 1


def test_a_run_in_progress_is_followed(page, desk):
    page.locator("#text").fill("one two")
    shown(page, "ONE TWO")
    page.locator("#tab-training").click()
    page.locator("figcaption strong", has_text="Loss").wait_for()
    page.wait_for_function("() => document.querySelector('#view .key b')")
    before = page.locator("#view .key b").first.inner_text()
    desk.rows = inspections.training_rows(600)
    page.wait_for_function(
        "before => document.querySelector('#view .key b').textContent !== before", arg=before
    )


def test_a_token_is_asked_for_when_it_is_needed(browser, desk):
    desk.token = "secret"
    page = browser.new_page()
    page.goto(desk.address)
    page.locator("#token").wait_for()
    assert page.locator(".status").inner_text() == "a token is needed"
    page.locator("#token").fill("secret")
    page.locator("#token").press("Enter")
    page.locator("#model option").first.wait_for(state="attached")
    assert not page.locator("#token").is_visible()


def test_a_link_asks_the_same_again(browser, desk, page):
    page.locator("#text").fill("one two three")
    shown(page, "ONE TWO THREE")
    page.locator("#tab-search").click()
    page.wait_for_function(
        "() => location.hash.includes('view=search') && location.hash.includes('text=')"
    )
    again = browser.new_page()
    again.goto(page.url)
    again.locator("#sentences .target .sentence", has_text="ONE TWO THREE").wait_for()
    assert again.locator("#tab-search").get_attribute("aria-selected") == "true"


def test_without_a_server_it_says_so(page, desk):
    page.locator("#model option").first.wait_for(state="attached")
    desk.server.shutdown()
    desk.server.server_close()
    page.locator("#text").fill("anyone there")
    page.locator(".status.bad").wait_for()
    assert page.locator(".status").inner_text() == "The server does not answer."
