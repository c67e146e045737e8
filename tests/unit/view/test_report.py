"""The report as a document: its text, and the data that its script draws."""

import base64
import hashlib
import json
import math
import re
from types import SimpleNamespace

import pytest

from headway.errors import DataError
from headway.view.report import Command, History, Moment, Picture, ReportData, Sample, report

BAD = "<script>alert(1)</script>"


def score(**changes):
    fields = {"name": "BLEU", "value": 41.0249, "low": 39.9, "high": 42.1, "signature": "tok:13a"}
    return SimpleNamespace(**fields | changes)


def drawn(html):
    """What the page gives its script."""
    [words] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(words)


def test_an_empty_report_is_a_page_without_sections(read):
    found = read(report(ReportData("Nothing yet")))
    assert found.words("h1") == ["Nothing yet"]
    assert found.all("section") == []


def test_parts_stand_in_order(read):
    data = ReportData(
        "T",
        facts={"Seed": "1"},
        scores={"Test": [score()]},
        records=[{"step": 1, "loss": 2.0, "lr": 0.1, "bleu": 3.0}],
        metrics={"bleu": "BLEU"},
        samples=[Sample("a", "b")],
        histories=[History("a", [Moment(1, "b")])],
        pictures=[Picture("P", [[1.0]], ["r"], ["c"])],
        notes={"Data": ["dropped 3"], "Nothing": []},
        commands=[Command("headway info runs/demo", "facts")],
    )
    found = read(report(data))
    assert found.words("h2") == [
        "Scores",
        "This run",
        "Samples",
        "Training",
        "Outputs while it learned",
        "Attention",
        "Notes",
        "What to type next",
    ]
    assert drawn(report(data)) == {
        "rows": [{"step": 1, "loss": 2.0, "lr": 0.1, "bleu": 3.0}],
        "metrics": {"bleu": "BLEU"},
        "pictures": [{"title": "P", "weights": [[1.0]], "rows": ["r"], "columns": ["c"]}],
        "forecasts": [],
    }
    assert len(found.all("noscript")) == 2
    assert found.words("h3") == ["Test", "Data"]
    assert found.words("code") == ["headway info runs/demo"]
    assert found.words("dt")[0] == "Seed"
    assert found.words("li") == ["dropped 3"]


def test_scores_carry_interval_and_signature(read):
    plain = score(name="perplexity", low=None, high=None, signature="s2")
    html = report(ReportData("T", scores={"Test": [score(), plain], "Empty": []}))
    words = read(html).words("div")
    assert words == [
        "BLEU",
        "41.02",
        "95% interval 39.90 to 42.10",
        "tok:13a",
        "perplexity",
        "41.02",
        "no interval",
        "s2",
    ]
    assert "Empty" not in html


def test_samples_show_only_the_columns_that_are_known(read):
    found = read(report(ReportData("T", samples=[Sample("a", "b")])))
    assert found.words("th") == ["Input", "Output"]
    samples = [Sample("a", "b", "c", 0.51234, False), Sample("d", "e", is_right=True)]
    found = read(report(ReportData("T", samples=samples)))
    assert found.words("th") == ["Input", "Output", "Expected", "Confidence"]
    assert len(found.all("td")) == 10
    assert found.words("span") == ["51.2%", "✗ wrong", "✓ right"]


@pytest.mark.parametrize(("confidence", "width"), [(-0.5, "0.0"), (7.0, "100.0")])
def test_confidence_beyond_a_probability_stays_in_its_bar(confidence, width):
    html = report(ReportData("T", samples=[Sample("a", "b", confidence=confidence)]))
    assert f'style="width:{width}%"' in html


def test_rows_have_only_what_the_curves_show():
    records = [
        {"step": 0, "notes": {"a": ["b"]}},
        {"step": 1, "minutes": 0.1, "loss": math.nan, "norm": 3.0},
        {"step": 2, "valid_loss": 1.0, "bleu": 5.0, "chrf": 6.0, "samples": [["a", "b", "c"]]},
        {"step": 3, "finished": True},
    ]
    found = drawn(report(ReportData("T", records=records, metrics={"bleu": "BLEU"})))
    assert found["rows"] == [
        {"step": 1, "minutes": 0.1, "loss": None},
        {"step": 2, "valid_loss": 1.0, "bleu": 5.0},
    ]


@pytest.mark.parametrize("records", [[], [{"step": 1}], [{"step": 1, "loss": "x"}]])
def test_without_values_there_is_no_training_section(read, records):
    assert read(report(ReportData("T", records=records))).all("section") == []


def test_a_hundred_thousand_records_make_a_small_page():
    records = [{"step": i, "loss": math.exp(-i / 1e4)} for i in range(100_000)]
    assert len(report(ReportData("T", records=records))) < 100_000


def test_labels_have_to_fit_their_weights():
    with pytest.raises(DataError, match="the heat map has 1 rows of weights but 2 row labels"):
        report(ReportData("T", pictures=[Picture("P", [[1.0]], ["a", "b"], ["c"])]))


def test_only_its_own_script_may_run():
    page = report(ReportData("T"))
    [script] = re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert f"script-src &#39;sha256-{digest}&#39;;" in policy
    assert "connect-src" not in policy


def test_history_ends_with_what_was_expected(read):
    history = History("src", [Moment(100, "x", 0.5), Moment(2000, "y")], expected="z")
    found = read(report(ReportData("T", histories=[history])))
    assert found.words("td") == ["100", "0.5", "x", "2,000", "y", "expected", "z"]


def test_foreign_text_is_escaped_everywhere(read):
    data = ReportData(
        BAD,
        BAD,
        facts={BAD: BAD},
        machine={BAD: BAD},
        scores={BAD: [score(name=BAD, signature=BAD)]},
        records=[{"step": 1, "loss": 1.0, "m": 2.0}],
        metrics={"m": BAD},
        samples=[Sample(BAD, BAD, BAD, 0.5, True)],
        histories=[History(BAD, [Moment(1, BAD)], BAD)],
        pictures=[Picture(BAD, [[1.0]], [BAD], [BAD])],
        notes={BAD: [BAD]},
        commands=[Command(BAD, BAD)],
    )
    html = report(data)
    found = read(html)
    assert [script.get("type") for script in found.all("script")] == ["application/json", "module"]
    assert BAD not in html
    assert sum(BAD in words for _, words in found.texts) >= 20
    assert drawn(html)["metrics"] == {"m": BAD}
    assert drawn(html)["pictures"][0] == {
        "title": BAD,
        "weights": [[1.0]],
        "rows": [BAD],
        "columns": [BAD],
    }


def test_samples_keep_their_own_direction(read):
    html = report(ReportData("T", samples=[Sample("٣ مارس", "2021年")]))
    assert [cell.get("dir") for cell in read(html).all("td")] == ["auto", "auto"]
