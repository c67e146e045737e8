"""Glossaries: what a file says, what it may not say, and which terms occur in a text."""

import gzip

import pytest

from headway.data.glossary import Entry, Glossary
from headway.errors import DataError


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(text, name="terms.tsv"):
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return name

    return written


FILE = """\
# animals
dog\tHund | Köter
hot dog\tHotdog

cat\t!Mieze
dog\t!Töle
big  dog\t großer   Hund
"""


@pytest.mark.parametrize("name", ["terms.tsv", "terms.tsv.gz"])
def test_a_file(write, name):
    assert Glossary.read(write(FILE, name)).entries == {
        "dog": Entry(("Hund", "Köter"), ("Töle",)),
        "hot dog": Entry(("Hotdog",)),
        "cat": Entry((), ("Mieze",)),
        "big dog": Entry(("großer Hund",)),
    }


def test_lines_with_the_same_source_term_are_one_entry(write):
    glossary = Glossary.read(write("dog\tHund\ndog\tKöter|Hund\ndog\t!Töle | Rüde\n"))
    assert glossary.entries == {"dog": Entry(("Hund", "Köter", "Rüde"), ("Töle",))}


def test_an_empty_file(write):
    assert Glossary.read(write("")).terms_for("a dog") == ([], [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "dog",
            "terms.tsv:2: 'dog' has no target term; "
            "expected 'source term<TAB>target term', with a tab between them",
        ),
        (
            "dog\t ",
            "terms.tsv:2: 'dog' has no target term; "
            "expected 'source term<TAB>target term', with a tab between them",
        ),
        (
            " \tHund",
            "terms.tsv:2: the source term is empty; expected 'source term<TAB>target term'",
        ),
        (
            "dog\tHund\tnoun",
            "terms.tsv:2: 3 columns, expected 2; several target terms go into one column with "
            "'|' between them",
        ),
        (
            "dog\tHund | ",
            "terms.tsv:2: one of the target terms of 'dog' is empty; write a term between '|' "
            "and after '!'",
        ),
        (
            "dog\t! ",
            "terms.tsv:2: one of the target terms of 'dog' is empty; write a term between '|' "
            "and after '!'",
        ),
        (
            "cat\tKatze | !Katze",
            "terms.tsv:2: 'cat' requires 'Katze' and forbids it; take one of them away",
        ),
        (
            "man\t!Mann",
            "terms.tsv:2: 'man' requires 'Mann' and forbids it; take one of them away",
        ),
    ],
)
def test_a_bad_line_is_named(write, line, message):
    with pytest.raises(DataError) as caught:
        Glossary.read(write(f"man\tMann\n{line}\n"))
    assert str(caught.value) == message


def test_a_missing_file(write):
    with pytest.raises(DataError, match=r"cannot read no\.tsv"):
        Glossary.read("no.tsv")


GLOSSARY = Glossary(
    {
        "dog": Entry(("Hund", "Köter"), ("Töle",)),
        "hot dog": Entry(("Hotdog",)),
        "hot": Entry(("heiß",)),
        "cat": Entry((), ("Mieze",)),
        "dog house": Entry(("Hundehütte",)),
    }
)


@pytest.mark.parametrize(
    ("text", "require", "forbid"),
    [
        ("a dog", [("Hund", "Köter")], ["Töle"]),
        ("A DOG, a dog!", [("Hund", "Köter")], ["Töle"]),
        ("dogs and watchdog", [], []),
        ("a hot  dog", [("Hotdog",)], []),
        ("a hot dog for the dog", [("Hotdog",), ("Hund", "Köter")], ["Töle"]),
        ("the cat is hot", [("heiß",)], ["Mieze"]),
        ("a hot dog house", [("heiß",), ("Hundehütte",)], []),  # the longer of two that overlap
        ("", [], []),
    ],
)
def test_terms_that_occur(text, require, forbid):
    assert GLOSSARY.terms_for(text) == (require, forbid)


def test_case_can_matter():
    assert GLOSSARY.terms_for("a Dog", ignore_case=False) == ([], [])
    glossary = Glossary({"polish": Entry(("polieren",)), "Polish": Entry(("polnisch",))})
    assert glossary.terms_for("a Polish plate") == ([("polnisch",)], [])
    assert glossary.terms_for("polish it") == ([("polieren",)], [])
    both = [("polnisch",), ("polieren",)]
    assert glossary.terms_for("Polish workers polish the floor") == (both, [])
    assert glossary.terms_for("Große STRAẞE: Polish workers polish it") == (both, [])
    assert glossary.terms_for("they polish Polish plates") == (both[::-1], [])
    assert glossary.terms_for("POLISH")[0] in ([both[0]], [both[1]]), "one of them, not both"
    assert Glossary({"Straße": Entry(("street",))}).terms_for("STRASSE 5") == ([("street",)], [])


def test_chinese_needs_no_spaces():
    assert Glossary({"猫": Entry(("cat",))}).terms_for("他喜欢猫吗") == ([("cat",)], [])
