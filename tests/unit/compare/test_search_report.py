"""The search report: causes of errors in hand-made cases, and the whole report of a tiny run."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from headway.api import train
from headway.compare.search_report import (
    BeamFigures,
    Blames,
    SearchedSentence,
    SearchReport,
    _figures,
    search_report,
)
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError, DataError
from headway.inference.translator import Translator
from headway.inspection.hypothesis import TextHypothesis
from headway.models.transformer import TransformerConfig
from headway.run_config import RunConfig
from headway.search import SearchConfig
from headway.training.config import TrainConfig

LONGEST = 4


def output(text: str, score: float, finished: bool = True) -> TextHypothesis:
    return TextHypothesis(text, 2 * score, score, list(text), [], finished)


def sentence(
    best: TextHypothesis, beam: TextHypothesis, answers: tuple[str, ...] = (), proven: bool = True
) -> SearchedSentence:
    return SearchedSentence("x", list(answers), best, proven, best.score, 7, {3: beam})


BEST = output("best", -1.0)


@pytest.mark.parametrize(
    ("beam", "proven", "expected"),
    [
        (BEST, True, True),
        (output("tie", -1.00005), True, True),
        (output("best", -1.5), True, True),  # the same text in other tokens
        (output("worse", -1.5), True, False),
        (output("bes", -0.9, finished=False), True, False),  # cut off: not among the outputs
        (BEST, False, None),
        (output("worse", -1.5), False, False),  # a better one is known, if not the best
    ],
)
def test_whether_a_beam_found_the_argmax(
    beam: TextHypothesis, proven: bool, expected: bool | None
) -> None:
    assert sentence(BEST, beam, proven=proven).found(3) is expected


@pytest.mark.parametrize(
    ("beam", "answers", "proven", "blame"),
    [
        ("best", ("best", "other"), True, "right"),
        ("other", ("best", "other"), True, "right"),
        ("best", ("third",), True, "model"),
        ("other", ("third",), True, "model"),
        ("other", ("best",), True, "search"),
        ("other", ("other",), True, "lucky"),
        ("other", ("other",), False, "right"),
        ("other", ("best",), False, "unclear"),
    ],
)
def test_whose_error_it_is(beam: str, answers: tuple[str, ...], proven: bool, blame: str) -> None:
    assert sentence(BEST, output(beam, -1.5), answers, proven).blame(3) == blame


def hand_made(has_references: bool = True) -> SearchReport:
    """Four inputs: found, missed to the better, missed to the worse, not proven."""
    sentences = [
        sentence(BEST, BEST, ("best",)),
        sentence(BEST, output("other", -1.4), ("other",)),
        sentence(BEST, output("other", -1.2), ("best",)),
        sentence(BEST, BEST, ("third",), proven=False),
    ]
    figures = [_figures(sentences, 3, has_references)]
    return SearchReport(0.6, 50, 2, sentences, figures, 2 if has_references else None)


def test_figures_by_hand() -> None:
    [figures] = hand_made().beams
    assert figures.blames == Blames(right=1, lucky=1, model=0, search=1, unclear=1)
    assert figures == BeamFigures(
        beam=3,
        found=1,
        missed=2,
        open=1,
        score_lost=pytest.approx(0.15),
        score_lost_most=pytest.approx(0.4),
        log_prob_lost=pytest.approx(0.3),
        blames=figures.blames,
    )


def test_the_table() -> None:
    report = hand_made()
    assert report.text().splitlines()[:5] == [
        "4 inputs (2 blank ones left out), alpha 0.6: the argmax is proven for 3 (75.0%), "
        "in 7 nodes (median), at most 50",
        "",
        "  beam  found  missed  open  score lost    most  log p lost  "
        "right  lucky  model's  search's  unclear",
        "     3      1       2     1      0.1500  0.4000      0.3000  "
        "    1      1        0         1        1",
        "argmax      3       0     1      0.0000  0.0000      0.0000  "
        "    2      0        1         0        1",
    ]
    assert report.markdown().splitlines()[2:5] == [
        "| beam | found | missed | open | score lost | most | log p lost | right | lucky "
        "| model's | search's | unclear |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 3 | 1 | 2 | 1 | 0.1500 | 0.4000 | 0.3000 | 1 | 1 | 0 | 1 | 1 |",
    ]


def test_without_references_nobody_is_blamed() -> None:
    report = hand_made(has_references=False)
    lines = report.text().splitlines()
    assert lines[2].split()[-3:] == ["log", "p", "lost"]
    assert not any(line.strip().startswith("argmax") for line in lines)
    assert "lucky" not in report.text()
    record = report.to_dict()
    assert record["argmax_right"] is None
    assert record["beams"][0]["blames"] is None
    assert "references" not in record["sentences"][0]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A run that copies letters badly, and writes at most three of them."""
    folder = tmp_path_factory.mktemp("tiny")
    texts = [f"{a}{b}" for a in "abcd" for b in "abcd"] + list("abcd")
    (folder / "train.tsv").write_text("".join(f"{text}\t{text}\n" for text in texts))
    characters = TextConfig(kind="characters")
    config = RunConfig(
        data=DataConfig(train="train.tsv", root=str(folder)),
        text=characters,
        model=TransformerConfig(
            d_model=16, d_ff=16, n_heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0
        ),
        train=TrainConfig(steps=12, batch_tokens=64, lr=1e-2, evaluate_every=12),
        search=SearchConfig(alpha=0.7, max_length=LONGEST, min_length=3, no_repeat=1),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        return train(config, folder / "run")


SOURCES = ["ab", "", "ca", "d", "bb"]
ANSWERS = [["ab"], ["x"], ["ca", "ac"], ["d"], ["b"]]


def test_the_argmax_is_that_of_a_beam_as_wide_as_the_space(tiny: Translator) -> None:
    report = search_report(tiny, SOURCES, ANSWERS, beams=(1, 2), alpha=0.5)
    assert (report.alpha, report.blank, report.proven) == (0.5, 1, 4)
    # Rules of the run are left off: they would make another space.
    plain = {"alpha": 0.5, "min_length": 0, "no_repeat": 0, "stop": "safe"}
    wide = tiny.translate([text for text in SOURCES if text], beam=1000, **plain)
    for sentence, translation in zip(report.sentences, wide, strict=True):
        assert sentence.source == translation.source
        assert sentence.best.score == pytest.approx(translation.outputs[0].score, abs=1e-4)
        assert sentence.bound == sentence.best.score
    assert [s.references for s in report.sentences] == [a for a in ANSWERS if a != ["x"]]
    for figures in report.beams:
        assert figures.found + figures.missed == 4
        assert figures.blames is not None
        assert sum(asdict(figures.blames).values()) == 4
    assert report.beams[0].score_lost >= report.beams[1].score_lost - 1e-6
    assert json.loads(json.dumps(report.to_dict()))["sentences"][0]["source"] == "ab"


def test_a_shorter_limit_holds_for_all_searches(tiny: Translator) -> None:
    report = search_report(tiny, ["abc", "ca"], beams=(2,), max_length=2)
    for sentence in report.sentences:
        assert sentence.proven
        assert len(sentence.best.tokens) <= 1
        assert len(sentence.outputs[2].token_log_probs) <= 2


def test_a_budget_too_small_claims_nothing(tiny: Translator) -> None:
    calls: list[tuple[int, int]] = []
    report = search_report(
        tiny,
        ["ab", "ca"],
        [["ab"], ["ca"]],
        beams=(1, 40),
        max_nodes=1,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls[-1] == (2, 2)
    assert report.proven == 0
    assert report.max_nodes == 1
    assert report.beams[1].found == 0
    assert report.beams[1].missed + report.beams[1].open == 2
    for sentence in report.sentences:
        # The best known is the best of all searches.
        assert sentence.best.score >= max(o.score for o in sentence.outputs.values()) - 1e-6
        assert sentence.bound > sentence.best.score
        assert sentence.blame(40) in ("right", "unclear")


def test_what_cannot_be_reported(tiny: Translator, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to search: got 1 sources, all of them blank"):
        search_report(tiny, [" "])
    with pytest.raises(DataError, match="2 sources but 1 lists of references; one list for each"):
        search_report(tiny, ["a", "b"], [["a"]])
    with pytest.raises(ConfigError, match=r"beams 1, 0: expected different whole numbers of at"):
        search_report(tiny, ["a"], beams=(1, 0))
    with pytest.raises(ConfigError, match="beams are none: expected"):
        search_report(tiny, ["a"], beams=())
    with pytest.raises(ConfigError, match="max_nodes"):
        search_report(tiny, ["a"], max_nodes=0)
    with pytest.raises(DataError, match=r"^f:9 has \d+ tokens"):
        search_report(tiny, ["a", "ab" * 200], places=["f:8", "f:9"])
