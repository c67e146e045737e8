"""The small data that runs of each format are made from: toy sentences, the same every time."""

import json
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

NOUNS = {
    "man": ("der", "den", "Mann"),
    "woman": ("die", "die", "Frau"),
    "child": ("das", "das", "Kind"),
    "dog": ("der", "den", "Hund"),
    "cat": ("die", "die", "Katze"),
    "horse": ("das", "das", "Pferd"),
}
VERBS = {"sees": "sieht", "hears": "hört", "likes": "mag", "finds": "findet"}
ADJECTIVES = {"": "", "old ": "alte ", "small ": "kleine "}
PLACES = {"": "", " here": " hier", " today": " heute"}
GOOD, BAD = ("lovely", "bright", "sweet"), ("dull", "broken", "sour")
THINGS = ("song", "lamp", "soup", "story", "garden", "chair")
PLURALS = ("songs", "lamps", "soups", "gardens", "chairs", "boats")
COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
PEOPLE = ("Anna", "Karl", "Mia Berg", "Otto")
TOWNS = ("Rome", "Paris", "Oslo", "Bad Ems")
SOUNDS = {"A": "AH", "B": "B", "E": "EH", "G": "G", "I": "IH", "K": "K", "O": "OW", "T": "T"}

Row = Sequence[str]


def write_data(folder: Path) -> None:
    """All files: of each kind one to learn from, one to validate with and one to test with."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in {"pairs": _pairs(), "couples": _couples(), "alike": _alike()}.items():
        _split(folder, name, "tsv", rows, lambda row: "\t".join(row) + "\n")
    for name, rows in {"labels": _labels(), "numbers": _numbers()}.items():
        _split(folder, name, "csv", rows, lambda row: ",".join(row) + "\n")
    _split(folder, "english", "txt", _pairs(), lambda row: f"{row[0]}\n")
    _split(folder, "german", "txt", _pairs(), lambda row: f"{row[1]}\n")
    _split(folder, "entities", "conll", _entities(), _conll)
    _split(folder, "inside", "conll", _entities(), lambda row: _conll(row).replace("B-", "I-"))
    _split(folder, "questions", "jsonl", _questions(), _object)
    _split(folder, "sounds", "dict", _sounds(), lambda row: "  ".join(row) + "\n")
    _split(folder, "documents", "txt", _documents(), lambda row: f"{row[0]}\n\n")
    write_squad(folder)
    english = [row[0] for row in _held_out(_pairs())]
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in english[:4]), "utf-8")
    for name, rows in {"text-pairs": _couples(), "asked": _questions()}.items():
        lines = [f"{row[0]}\t{row[1]}\n" for row in _held_out(rows)[:4]]
        (folder / f"{name}.txt").write_text("".join(lines), "utf-8")


def write_squad(folder: Path) -> None:
    """The questions in SQuAD's layout, a part of them without an answer."""
    articles = []
    for number, row in enumerate(_questions()):
        asked = {
            "id": str(number),
            "question": row[0],
            "answers": json.loads(row[2]),
            "is_impossible": row[2] == "[]",
        }
        paragraphs = [{"context": row[1], "qas": [asked]}]
        articles.append({"title": f"Article {number}", "paragraphs": paragraphs})
    content = {"version": "v2.0", "data": articles}
    (folder / "squad.json").write_text(json.dumps(content) + "\n", "utf-8")


def _split(folder: Path, name: str, extension: str, rows: Sequence[Row], write) -> None:
    """Every tenth row is for validation, the one behind it for tests."""
    header, body = "", rows
    if extension == "csv" or name in ("couples", "alike"):
        header, body = write(rows[0]), rows[1:]
    parts = {"": [], "-valid": [], "-test": []}
    for number, row in enumerate(body):
        parts[{3: "-valid", 7: "-test"}.get(number % 10, "")].append(write(row))
    for part, lines in parts.items():
        (folder / f"{name}{part}.{extension}").write_text(header + "".join(lines), "utf-8")


def _held_out(rows: Sequence[Row]) -> list[Row]:
    return [row for number, row in enumerate(rows) if number % 10 == 7]


def _some(rows: Iterable[Row], step: int) -> list[Row]:
    """Every so many of them, so that all words come and not all sentences."""
    return list(rows)[::step]


def _pairs() -> list[Row]:
    """English and German."""
    return _some(
        (
            (
                f"the {adjective}{one} {verb} the {other}{place}",
                f"{NOUNS[one][0]} {ADJECTIVES[adjective]}{NOUNS[one][2]} {VERBS[verb]} "
                f"{NOUNS[other][1]} {NOUNS[other][2]}{PLACES[place]}",
            )
            for one, verb, other, adjective, place in product(
                NOUNS, VERBS, NOUNS, ADJECTIVES, PLACES
            )
            if one != other
        ),
        17,
    )


def _labels() -> list[Row]:
    rows = [
        (f"{start} {word} {thing}", "good" if word in GOOD else "bad")
        for start, thing, word in product(
            ("what a", "it is a", "I have a very"), THINGS, GOOD + BAD
        )
    ]
    return [("text", "label"), *_some(rows, 2)]


def _couples() -> list[Row]:
    """Two texts, and whether they are about the same thing."""
    rows = [
        (f"a {word} {one}", f"this {other} is {word}", "yes" if one == other else "no")
        for one, other, word in product(THINGS, THINGS, (GOOD[0], BAD[0]))
        if one == other or (THINGS.index(one) + THINGS.index(other)) % 3 == 0
    ]
    return [("first", "second", "same"), *rows]


def _numbers() -> list[Row]:
    rows = [
        (f"{start} {word} {things}", str(float(number)))
        for start, things, (word, number) in product(
            ("I see", "there are"), PLURALS, COUNTS.items()
        )
    ]
    return [("text", "value"), *rows]


def _alike() -> list[Row]:
    """Two texts, and the difference of what they count."""
    rows = [
        (f"{one} {things}", f"{other} {things}", str(float(COUNTS[other] - COUNTS[one])))
        for things, one, other in product(PLURALS[:3], COUNTS, COUNTS)
    ]
    return [("first", "second", "difference"), *_some(rows, 2)]


def _entities() -> list[Row]:
    """Words, parts of speech and entities, each with spaces between them."""
    rows = []
    for person, town, verb, time in product(
        PEOPLE, TOWNS, ("lives in", "comes from"), ("", " now")
    ):
        words = f"{person} {verb} {town}{time}".split()
        names, towns = person.split(), town.split()
        kinds = ["NN"] * len(names) + ["VB", "IN"] + ["NN"] * len(towns)
        tags = [*_tags(names, "PER"), "O", "O", *_tags(towns, "LOC")]
        end = 1 if time else 0
        rows.append((" ".join(words), " ".join(kinds + ["RB"] * end), " ".join(tags + ["O"] * end)))
    return rows


def _tags(words: list[str], kind: str) -> list[str]:
    return [f"B-{kind}"] + [f"I-{kind}"] * (len(words) - 1)


def _conll(row: Row) -> str:
    columns = zip(*(column.split() for column in row), strict=True)
    return "".join(" ".join(line) + "\n" for line in columns) + "\n"


def _questions() -> list[Row]:
    """Question, text and answers; every fifth question is about somebody else."""
    rows = []
    for number, (one, other, here, there) in enumerate(
        product(("Anna", "Karl"), ("Mia", "Otto"), TOWNS, TOWNS)
    ):
        if here == there:
            continue
        text = f"{one} lives in {here} and {other} lives in {there}"
        who, town = ((one, here), (other, there))[number % 2]
        answers = [{"text": town, "answer_start": text.index(f"{who} lives in {town}") + len(who)}]
        answers[0]["answer_start"] += len(" lives in ")
        if number % 5 == 4:
            who, answers = "Eva", []
        rows.append((f"where does {who} live", text, json.dumps(answers)))
    return rows


def _object(row: Row) -> str:
    question, context, answers = row
    record = {"question": question, "context": context, "answers": json.loads(answers)}
    return json.dumps(record) + "\n"


def _sounds() -> list[Row]:
    """Made-up words and how they are spoken."""
    words = ["".join(letters) for letters in product("BGKT", "AEIO", "BGKT", ("", "A", "O"))]
    return [(word, " ".join(SOUNDS[letter] for letter in word)) for word in words[::3]]


def _documents() -> list[Row]:
    """Three sentences each about one animal or person, which stays the same."""
    rows = []
    for number, (noun, other) in enumerate(product(NOUNS, NOUNS)):
        if noun != other:
            verbs = [*VERBS, *VERBS][number % 4 :]
            lines = [
                f"the old {noun} {verbs[0]} the {other} .",
                f"then the {noun} {verbs[1]} the {other} .",
                f"at last the {noun} sleeps here .",
            ]
            rows.append(("\n".join(lines),))
    return rows
