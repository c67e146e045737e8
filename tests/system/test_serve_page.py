"""The page that `headway serve` gives out, in a browser, with a model behind it."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from cli_workdir import ENCODER, TRANSFORMER, commands_in, run_file, train_runs

import headway

EVIL = "<img src=x onerror=document.title='broken'>"
TRANSLATOR = run_file(
    {"train": "pairs.tsv", "valid": "pairs.tsv", "max_length": 60},
    TRANSFORMER | {"decoder_layers": 2},
    train={"steps": 60, "batch_tokens": 256, "lr": 1e-2, "evaluate_every": 30},
    search={"beam": 3, "max_length": 20},
)
QUESTION, CONTEXT = "which ?", "one two three four five"
NUMBERS = ["one", "two", "three", "four", "five"]
WORDS = dict(zip(NUMBERS, ["eins", "zwei", "drei", "vier", "fünf"], strict=True))
TEXT = "three one two"


def encoder_run(task, train):
    return run_file({"train": train}, ENCODER | {"segments": 2}, task=task, train={"steps": 5})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with the runs `mine`, `labels`, `tags`, `answers`, `values`, one of evil name, and
    `begun` without weights."""
    folder = tmp_path_factory.mktemp("page")
    lines = [[a, b, c] for a in NUMBERS for b in NUMBERS for c in NUMBERS]
    pairs = "".join(f"{' '.join(x)}\t{' '.join(WORDS[w] for w in x)}\n" for x in lines)
    (folder / "pairs.tsv").write_text(pairs)
    (folder / "labels.tsv").write_text("".join(f"{' '.join(x)}\t{x[0]}\n" for x in lines))
    (folder / "tags.tsv").write_text("".join(f"{' '.join(x)}\tB-X O O\n" for x in lines))
    (folder / "values.tsv").write_text("".join(f"{' '.join(x)}\t{len(x[0])}\n" for x in lines))
    example = {"question": QUESTION, "context": CONTEXT}
    example["answers"] = [{"text": "three", "answer_start": 8}]
    (folder / "answers.jsonl").write_text(f"{json.dumps(example)}\n" * 8)
    with commands_in(folder):
        train_runs(
            mine=TRANSLATOR,
            labels=encoder_run("classify", "labels.tsv"),
            tags=encoder_run("tag", "tags.tsv"),
            answers=encoder_run("answer", "answers.jsonl"),
            values=encoder_run("regress", "values.tsv"),
        )
    shutil.copytree(folder / "mine", folder / "begun")
    (folder / "begun" / "model.safetensors").unlink()
    shutil.copytree(folder / "mine", folder / EVIL)
    return folder


@pytest.fixture(scope="module")
def serve(runs):
    """Starts servers of some of the runs, which end with the tests."""
    started = []

    def start(*names, **more):
        command = [sys.executable, "-m", "headway", "serve", "--port", "0", "--json"]
        command += ["--workers", "1", *(str(runs / name) for name in names)]
        env = {**os.environ, "OMP_NUM_THREADS": "1", **more}
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return json.loads(process.stdout.readline())["url"]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def address(serve):
    return serve("mine", "labels", EVIL, "begun", "tags", "answers", "values")


@pytest.fixture
def visit(browser):
    """Opens a page that remembers what it said and whom it asked."""

    def open_page(url, **options):
        page = browser.new_page(viewport={"width": 1440, "height": 1000}, **options)
        page.set_default_timeout(60_000)
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url)
        page.locator("html[data-ready]").wait_for()
        return page

    return open_page


@pytest.fixture
def page(visit, address):
    page = visit(address)
    wait_for_answer(page)  # to the example
    yield page
    assert page.complaints == []
    assert all(url.startswith((address, "data:")) for url in page.asked)
    assert page.title() != "broken"
    assert page.locator("img").count() == 0


def wait_for_answer(page):
    page.wait_for_function("() => document.querySelector('.status').textContent.endsWith('ms')")


def answered(page, change):
    """Does something that makes the page ask, and gives the answer once it is shown."""
    with page.expect_response(lambda response: response.url.endswith("/inspect")) as found:
        change()
    wait_for_answer(page)
    return found.value.json()


def texts(page):
    return page.locator(".outputs .output .sentence").all_inner_texts()


def sample(run):
    """The source of the first sample of a run's last validation."""
    records = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [record["samples"] for record in records if "samples" in record][-1][0][0]


def test_the_page_begins_with_an_example_of_the_run(page, runs):
    text = sample(runs / "mine")
    assert page.locator("#text").input_value() == text
    found = headway.load(runs / "mine").inspect(text)
    assert texts(page) == [one.output.text for one in found.outputs]
    assert "An example. Type your own." in page.locator(".status").inner_text()
    page.locator("#tab-attention").click()
    page.locator(".viewport").wait_for()
    choose(page, "values")  # without validations: words of its vocabulary
    words = page.locator("#text").input_value().split()
    assert words
    assert set(words) <= set(NUMBERS)
    page.wait_for_function("() => location.hash.includes('model=')")
    assert "text=" not in page.url
    page.locator("#text").click()
    answered(page, lambda: page.keyboard.type(TEXT))
    assert page.locator("#text").input_value() == TEXT, "what is typed replaces the example"
    answered(page, lambda: page.locator("#model").select_option("mine"))
    assert page.locator("#text").input_value() == TEXT, "and stays when the model changes"


def test_a_link_has_its_own_text(visit, address):
    page = visit(f"{address}/#text=two+two")
    wait_for_answer(page)
    assert page.locator("#text").input_value() == "two two"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tabs_that_do_not_fit_fade(visit, address, scheme):
    page = visit(address, color_scheme=scheme)
    wait_for_answer(page)
    tabs = page.locator("#tabs")
    sides = "row => ['more-before', 'more-after'].filter((name) => row.classList.contains(name))"
    masked = "row => getComputedStyle(row).maskImage !== 'none'"
    assert (tabs.evaluate(sides), tabs.evaluate(masked)) == ([], False)
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#tabs.more-after").wait_for()
    assert (tabs.evaluate(sides), tabs.evaluate(masked)) == (["more-after"], True)
    tabs.evaluate("row => row.scrollTo(1e6, 0)")
    page.locator("#tabs.more-before").wait_for()
    page.locator("#tabs:not(.more-after)").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_type_and_see_what_the_model_says(page, runs):
    model = headway.load(runs / "mine")
    answered(page, lambda: page.locator("#text").fill(TEXT))
    assert page.locator("#beam").input_value() == "3"  # that of the run
    found = model.inspect(TEXT)
    assert texts(page) == [one.output.text for one in found.outputs]
    assert page.locator("#sentences .target .sentence").inner_text() == found.outputs[0].output.text
    assert page.locator("h1").inner_text() == "mine"
    page.locator("#tab-search").click()
    page.locator("#view .viewport, #view canvas").first.wait_for()


def test_change_the_search(page, runs):
    model = headway.load(runs / "mine")
    answered(page, lambda: page.locator("#text").fill(TEXT))
    answered(page, lambda: page.locator("#beam").fill("5"))
    assert texts(page) == [one.output.text for one in model.inspect(TEXT, beam=5).outputs]
    answered(page, lambda: page.locator("#beam").fill("1"))
    assert len(texts(page)) == 1
    asked = headway.TranslationRequest(TEXT, ["fünf"], ["drei"], "zwei")
    answered(page, lambda: page.locator("#prefix").fill("zwei"))
    answered(page, lambda: page.locator("#require").fill("fünf"))
    answered(page, lambda: page.locator("#forbid").fill("drei"))
    assert texts(page) == [one.output.text for one in model.inspect(asked, beam=1).outputs]


def weights_shown(page):
    """What the page says of the first row of the map, walked through with the keyboard."""
    page.locator(".viewport").focus()
    shown = []
    for _ in range(len(TEXT.split()) + 1):
        shown.append(float(page.locator("aside .big").get_attribute("data-weight")))
        page.keyboard.press("ArrowRight")
    return shown


def test_the_attention_of_another_output_is_fetched_and_right(page, runs):
    found = headway.load(runs / "mine").inspect(TEXT)
    first = answered(page, lambda: page.locator("#text").fill(TEXT))
    assert [one["attention"] is None for one in first["outputs"]] == [False, True, True]
    page.locator("#tab-attention").click()
    page.get_by_label("Layer").select_option(label="layer 2")
    page.get_by_label("Head").select_option(label="head 2")
    for output in (0, 1):
        if output:
            second = answered(page, lambda: page.locator("#which select").select_option("1"))
            assert [one["attention"] is None for one in second["outputs"]] == [True, False, True]
        expected = found.map("cross", layer=1, head=1, output=output).weights
        page.locator(".viewport").wait_for()
        np.testing.assert_allclose(weights_shown(page), expected[0], atol=1e-6)
        page.locator(".viewport").focus()
        for _ in expected[0]:
            page.keyboard.press("ArrowLeft")


def test_markup_shows_as_text(page, runs):
    page.locator("#model option").nth(2).wait_for(state="attached")
    assert page.locator("#model option").nth(2).inner_text() == f"{EVIL} (translate)"
    answered(page, lambda: page.locator("#model").select_option(EVIL))
    answered(page, lambda: page.locator("#beam").fill("2"))
    answered(page, lambda: page.locator("#require").fill(EVIL))
    answer = answered(page, lambda: page.locator("#text").fill(f"one {EVIL}"))
    assert answer["source"]["text"] == f"one {EVIL}"
    assert page.locator("h1").inner_text() == EVIL
    assert "onerror" in page.locator(".outputs li .bad").first.inner_text()
    for tab in page.locator("#tabs button:visible").all():
        tab.click()
        page.wait_for_timeout(100)


def test_a_model_that_labels_has_no_search(page, runs):
    choose(page, "labels")
    assert not page.locator("#beam").is_visible()
    assert not page.locator("#require").is_visible()
    answer = answered(page, lambda: page.locator("#text").fill(TEXT))
    assert texts(page) == list(headway.load(runs / "labels").predict([TEXT])[0].probabilities)
    assert answer["kind"] == "classify"
    page.locator("#model").select_option("mine")
    assert page.locator("#beam").is_visible()
    page.locator("#sentences .target .sentence", has_text="drei").wait_for()


def choose(page, name):
    page.locator("#model option", has_text=name).wait_for(state="attached")
    answered(page, lambda: page.locator("#model").select_option(name))


def test_tags_stand_under_their_words(page, runs):
    choose(page, "tags")
    answered(page, lambda: page.locator("#text").fill(TEXT))
    tagger = headway.load(runs / "tags")
    [expected] = tagger.predict([TEXT])
    assert texts(page) == [" ".join(expected.tags)]
    pieces = [piece.split("\n")[:2] for piece in page.locator(".piece").all_inner_texts()]
    assert pieces == [list(pair) for pair in zip(expected.words, expected.tags, strict=True)]
    page.locator(".piece").first.hover()
    assert page.locator("aside .bar").count() == len(tagger.tags)
    assert page.locator(".outputs button").count() == 0, "there is nothing to go on from"
    page.locator("#tab-attention").click()
    page.locator(".viewport").wait_for()


def test_a_question_has_a_field_of_its_own(page, runs, visit):
    assert not page.locator("#text2").is_visible()
    choose(page, "answers")
    page.locator("#text2").fill("")
    page.wait_for_timeout(1000)
    page.asked.clear()
    page.locator("#text").fill(QUESTION)
    page.wait_for_function("() => location.hash.includes('text=which+%3F')")
    assert not any(url.endswith("/inspect") for url in page.asked), "half of it was asked"
    answered(page, lambda: page.locator("#text2").fill(CONTEXT))
    found = headway.load(runs / "answers").inspect((QUESTION, CONTEXT))
    assert texts(page) == [one.output.text for one in found.outputs]
    assert page.locator("#text2").get_attribute("aria-label") == "context"
    first, last = found.outputs[0].span
    assert f"characters {first} to {last}" in page.locator(".figures").first.inner_text()
    page.wait_for_function(f"() => location.hash.includes('{CONTEXT.replace(' ', '+')}')")
    again = visit(page.url)
    again.locator(".outputs .output").first.wait_for()
    assert again.locator("#text2").input_value() == CONTEXT


def test_a_value_has_no_probability(page, runs):
    choose(page, "values")
    answered(page, lambda: page.locator("#text").fill(TEXT))
    assert texts(page) == [f"{headway.load(runs / 'values').predict([TEXT])[0]:.6g}"]
    assert page.locator(".figures").inner_text() == ""


def test_a_run_in_progress_is_watched(page, runs):
    page.locator("#model option").nth(3).wait_for(state="attached")
    page.locator("#model").select_option("begun")
    page.locator("figcaption strong", has_text="Loss").wait_for()
    assert page.locator("#tab-training").get_attribute("aria-selected") == "true"
    assert "no weights yet" in page.locator(".status").inner_text()
    with (runs / "begun" / "log.jsonl").open("a") as log:
        log.write(json.dumps({"step": 61, "minutes": 9.0, "loss": 123.5, "lr": 0.01}) + "\n")
    page.locator("#view .key b", has_text="123.5").wait_for()


def test_nothing_is_told_without_the_token(visit, serve):
    page = visit(serve("mine", HEADWAY_TOKEN="open sesame"))
    page.locator("#token").wait_for()
    assert page.locator("#model option").count() == 0
    page.locator("#token").fill("open sesame")
    page.locator("#token").press("Enter")
    page.locator("#model option").first.wait_for(state="attached")
    wait_for_answer(page)
    answered(page, lambda: page.locator("#text").fill(TEXT))
    assert page.locator("h1").inner_text() == "mine"
    assert not page.locator("#token").is_visible()
