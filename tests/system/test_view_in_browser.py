"""`headway view` on real models, in a real browser: the page shows the models' own numbers."""

import inspections
import numpy as np
import pytest
from test_inspection_page import GO, MODES, READY, VIEWS

import headway
from headway import api
from headway.cli import main
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.models.encoder import EncoderConfig
from headway.models.recurrent import RecurrentConfig
from headway.models.transformer import TransformerConfig
from headway.search import SearchConfig
from headway.training.config import TrainConfig

WORDS = ["red", "green", "blue", "one", "two", "three", "Кот", "水", "مارس"]
TEXT = "one red مارس 水"
LONG = " ".join(WORDS[i * i % len(WORDS)] for i in range(511))
MODELS = {
    "transformer": TransformerConfig(
        d_model=32, d_ff=32, n_heads=4, encoder_layers=2, decoder_layers=2
    ),
    "rotary": TransformerConfig(
        d_model=32, d_ff=32, n_heads=4, encoder_layers=1, decoder_layers=1, positions="rotary"
    ),
    "gru": RecurrentConfig(d_model=16, attention="bahdanau"),
    "luong": RecurrentConfig(d_model=16),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run for each of `MODELS`, hardly trained: its numbers are as good as any."""
    folder = tmp_path_factory.mktemp("seen")
    lines = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))]
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in lines), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        for name, model in MODELS.items():
            config = api.RunConfig(
                data=DataConfig(
                    train="pairs.tsv", test="pairs.tsv", root=str(folder), max_length=512
                ),
                text=TextConfig(kind="words"),
                model=model,
                train=TrainConfig(steps=2, batch_tokens=128),
                search=SearchConfig(beam=3, n_best=3, max_length=12),
            )
            api.train(config, folder / name)
        yield folder


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page from a file; at the end it must not have complained or asked for anything."""
    path = tmp_path / "page.html"
    complaints, requests = [], []

    def open_page(*arguments):
        assert main(["view", *map(str, arguments), "--out", str(path)]) == 0
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function(READY)
        return page

    yield open_page
    assert complaints == []
    assert {url.partition("#")[0] for url in requests} <= {path.as_uri(), "data:,"}


def check_weights(page, found, output=0):
    """A few cells of every attention map, against the model's own weights."""
    draw = np.random.default_rng(0)
    kinds = {part.kind for part in [*found.encoder, *found.outputs[output].parts]}
    for kind in sorted(kinds):
        heads = found.map(kind, 0, output=output), found.map(kind, "mean", output=output)
        for layer, head, map in [
            (0, 0, found.map(kind, 0, 0, output)),
            (0, "mean", heads[0]),
            ("mean", "mean", heads[1]),
        ]:
            row, column = (int(draw.integers(n)) for n in map.weights.shape)
            place = f"view=attention&output={output}&kind={kind}&layer={layer}&head={head}"
            page.evaluate(GO, f"{place}&row={row}&column={column}")
            shown = float(page.locator("output.big").get_attribute("data-weight"))
            assert shown == pytest.approx(map.weights[row, column], abs=2e-5), (kind, layer, head)
            pair = page.locator("aside .pair .token").all_inner_texts()
            assert pair == [map.rows[row], map.columns[column]]
    return kinds


@pytest.mark.parametrize("name", MODELS)
def test_the_page_shows_the_models_own_numbers(folder, open_page, name):
    found = headway.load(folder / name).inspect(TEXT)
    page = open_page(folder / name, TEXT)
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.locator("#view").inner_text().strip()
    for mode in MODES:
        page.evaluate(GO, f"view=attention&mode={mode}")
    for stage in range(7):
        page.evaluate(GO, f"view=steps&stage={stage}")
    kinds = check_weights(page, found)
    assert kinds == ({"cross"} if name in ("gru", "luong") else {"cross", "encoder", "decoder"})
    assert check_weights(page, found, output=2) == kinds  # of any output, not only the best
    assert page.locator("#sentences .source").inner_text() == TEXT


def test_a_page_of_512_words(folder, open_page):
    text, search = LONG, {"beam": 1, "max_length": 512, "n_best": 1}
    found = headway.load(folder / "transformer").inspect(text, **search)
    assert len(found.tokens) == 512
    page = open_page(folder / "transformer", text, "--beam", 1, "--nbest", 1, "--max-length", 512)
    assert check_weights(page, found) == {"cross", "encoder", "decoder"}
    page.evaluate(GO, "view=attention&mode=all")
    page.locator(".thumb").nth(7).wait_for()
    assert inspections.END not in page.title()


def test_a_model_that_only_reads_has_no_tabs_for_outputs_and_search(folder, open_page):
    (folder / "text.txt").write_text("\n".join(" ".join(WORDS) for _ in range(9)), "utf-8")
    config = api.RunConfig(
        task="pretrain",
        data=DataConfig(train="text.txt", root=str(folder), max_length=32),
        text=TextConfig(kind="words"),
        model=EncoderConfig(d_model=24, d_ff=24, n_heads=12, layers=2),
        train=TrainConfig(steps=2, batch_tokens=128),
    )
    api.train(config, folder / "reader")
    page = open_page(folder / "reader", TEXT)
    tabs = page.locator("#tabs > :visible").all_inner_texts()
    assert tabs == ["Attention", "Step by step", "Positions", "Training"]
    assert page.locator("#tab-attention").get_attribute("aria-selected") == "true"
    page.evaluate(GO, "view=search")  # an address of another page
    assert page.locator("#tab-attention").get_attribute("aria-selected") == "true"
    page.locator("#tab-training").press("ArrowRight")  # round to the first that is shown
    assert page.locator("#tab-attention").get_attribute("aria-selected") == "true"
    page.evaluate(GO, "view=attention&mode=all")
    tops = [thumb.bounding_box()["y"] for thumb in page.locator(".thumb").all()]
    assert len(tops) == 24
    assert len(set(tops)) == 2  # the twelve heads of a layer side by side
