"""Drawings of a beam search: boxes, figures, and the path of the best hypothesis."""

from xml.etree import ElementTree

import pytest

from headway.teaching.search_tree import search_tree

SVG = "{http://www.w3.org/2000/svg}"
WORDS = [["a", "b", "c"], ["END", "d", "e"], ["END"]]
TRACE = {
    "steps": [
        {
            "token": [2, 3, 4],
            "parent": [0, 0, 0],
            "log_prob": [-0.5, -1.0, -3.0],
            "score": [-0.5, -1.0, -3.0],
            "fate": ["kept", "kept", "pruned"],
        },
        {  # the parents are counted among the hypotheses that were kept
            "token": [1, 5, 6],
            "parent": [0, 1, 1],
            "log_prob": [-1.5, -2.0, -4.0],
            "score": [-0.75, -1.0, -2.0],
            "fate": ["ended", "kept", "pruned"],
        },
        {
            "token": [1],
            "parent": [0],
            "log_prob": [-2.1],
            "score": [-0.7],
            "fate": ["ended"],
        },
    ]
}


def elements(trace, name, words=WORDS, title="A search"):
    root = ElementTree.fromstring(search_tree(trace, words, title))
    return root.findall(f"{SVG}{name}")


def heavy(trace):
    """Words in boxes with heavy edges, and the number of heavy lines."""
    _, *boxes = elements(trace, "rect")  # the first is the background
    edges = [box.get("stroke-width") for box in boxes]
    flat = [word for column in WORDS for word in column]
    names = [word for word, edge in zip(flat, edges, strict=False) if edge == "2.5"]
    lines = elements(trace, "path")
    return names, sum(line.get("stroke-width") == "2.5" for line in lines)


def test_a_box_and_a_line_for_each_candidate_and_a_box_for_the_start():
    assert len(elements(TRACE, "path")) == 7
    assert len(elements(TRACE, "rect")) == 1 + 7 + 1
    texts = [element.text for element in elements(TRACE, "text")]
    assert texts[:4] == ["a", "-0.5", "b", "-1.0"]
    assert texts[-1] == "START"


def test_a_candidate_that_ended_carries_its_score():
    texts = [element.text for element in elements(TRACE, "text")]
    assert [text for text in texts if "→" in text] == ["-1.5  →  -0.75", "-2.1  →  -0.70"]


def test_the_best_score_wins_and_its_path_leads_back_to_the_start():
    assert heavy(TRACE) == (["b", "d", "END"], 3)


def test_nothing_is_heavy_while_no_hypothesis_has_ended():
    running = [{**step, "fate": ["kept"] * len(step["fate"])} for step in TRACE["steps"]]
    assert heavy({"steps": running}) == ([], 0)


def test_lines_begin_at_the_box_of_the_parent():
    _, *boxes = elements(TRACE, "rect")
    middle = {i: float(box.get("y")) + float(box.get("height")) / 2 for i, box in enumerate(boxes)}
    starts = [line.get("d").partition("C")[0].split()[1] for line in elements(TRACE, "path")]
    assert [float(y) for y in starts[3:6]] == [middle[0], middle[1], middle[1]]  # a, b, b


@pytest.mark.parametrize(("fate", "fill"), [(0, "#dbeafe"), (2, "#ffffff"), (3, "#dcfce7")])
def test_fates_have_colours(fate, fill):
    _, *boxes = elements(TRACE, "rect")
    assert boxes[fate].get("fill") == fill


def test_words_and_title_are_escaped_and_long_words_widen_their_column():
    words = [["<b>", "&", "c" * 40], *WORDS[1:]]
    [title] = elements(TRACE, "title", words, "a < b & c")
    assert title.text == "a < b & c"
    assert elements(TRACE, "text", words)[0].text == "<b>"
    _, first, *_ = elements(TRACE, "rect", words)
    _, usual, *_ = elements(TRACE, "rect")
    assert float(first.get("width")) > float(usual.get("width")) + 200
