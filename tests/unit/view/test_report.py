from types import SimpleNamespace

import pytest

from headway.view.report import Command, History, Moment, Picture, ReportData, Sample, report

BAD = "<script>alert(1)</script>"


def score(**changes):
    fields = {"name": "BLEU", "value": 41.0249, "low": 39.9, "high": 42.1, "signature": "tok:13a"}
    return SimpleNamespace(**fields | changes)


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
    assert found.words("strong") == ["Loss", "BLEU on validation data", "Learning rate", "P"]
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


def test_curves_go_by_minutes_where_they_are_known():
    by_step = report(ReportData("T", records=[{"step": 1, "loss": 1.0}]))
    by_minutes = report(ReportData("T", records=[{"step": 1, "minutes": 0.1, "loss": 1.0}]))
    assert ">step</text>" in by_step
    assert ">minutes of training</text>" in by_minutes


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
    assert found.all("script") == []
    assert sum(BAD in words for _, words in found.texts) >= 24
    assert "http:" not in html
    assert "https:" not in html


def test_samples_keep_their_own_direction(read):
    html = report(ReportData("T", samples=[Sample("٣ مارس", "2021年")]))
    assert [cell.get("dir") for cell in read(html).all("td")] == ["auto", "auto"]
