"""The forms of a study's result: record, terminal text, Markdown."""

from headway.studies.finding import Finding, FindingTable

ROWS = [["model", "BLEU"], ["a|b", "7.5"]]
FINDING = Finding(
    study="recall",
    claim="Attention remembers.",
    tables=(FindingTable(ROWS, "Near:"), FindingTable(ROWS)),
    notes=("First note.", "Second note."),
    picture="<svg/>",
    figures={"seed": 3, "rows": [{"name": "a"}]},
)


def test_the_record_names_the_study_beside_its_figures():
    assert FINDING.to_dict() == {"study": "recall", "seed": 3, "rows": [{"name": "a"}]}


def test_the_text_for_a_terminal():
    assert FINDING.text() == (
        "Attention remembers.\n\n"
        "Near:\nmodel  BLEU\na|b     7.5\n\n"
        "model  BLEU\na|b     7.5\n\n"
        "First note.\nSecond note."
    )


def test_the_page_shows_the_picture_beside_it():
    table = "| model | BLEU |\n| --- | ---: |\n| a\\|b | 7.5 |"
    assert FINDING.markdown() == (
        "Attention remembers.\n\n"
        "![Attention remembers.](recall.svg)\n\n"
        f"Near:\n\n{table}\n\n"
        f"{table}\n\n"
        "- First note.\n- Second note.\n"
    )
