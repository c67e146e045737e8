"""Pairs, tags, answers and values from the command line: trained, used, and what is refused."""

import json
import random

import pytest
from cli_workdir import ENCODER, commands_in, run_file, train_runs

from headway import api
from headway.serve.limits import Limits
from headway.serve.validate import RequestValidator

PEOPLE, TOWNS = ["Ann", "Bob", "Eve"], ["Rome", "Oslo", "New York"]


def tagged(n, seed):
    """CoNLL's columns with IOB1 tags: people, and towns of one or two words."""
    draw = random.Random(seed)
    lines = ["-DOCSTART- -X- O", ""]
    for _ in range(n):
        person, town = draw.choice(PEOPLE), draw.choice(TOWNS)
        words = [(person, "I-PER"), ("saw", "O"), *((word, "I-LOC") for word in town.split())]
        if draw.random() < 0.5:
            words += [(draw.choice(PEOPLE), "I-PER"), (draw.choice(PEOPLE), "B-PER")]
        lines += [f"{word} X {tag}" for word, tag in [*words, (".", "O")]] + [""]
    return "\n".join(lines)


def asked(n, seed):
    """SQuAD's JSON: the town in a text, if there is one."""
    draw = random.Random(seed)
    articles = []
    for i in range(n):
        words = draw.choices(["it", "was", "a", "day", "in", "spring"], k=draw.randint(8, 30))
        answers = []
        if draw.random() < 0.7:
            town = draw.choice(TOWNS)
            before = draw.randint(0, len(words))
            words.insert(before, town)
            start = len(" ".join(words[:before])) + (before > 0)
            answers = [{"text": town, "answer_start": start}]
        question = {"question": "where ?", "id": str(i), "answers": answers}
        articles.append({"paragraphs": [{"context": " ".join(words), "qas": [question]}]})
    return json.dumps({"data": articles})


def pairs(n, seed, header):
    """How warm and how long it is tells the value; two texts of the same word are the same."""
    draw = random.Random(seed)
    lines = ["\t".join(["first", "second", header])]
    for _ in range(n):
        warm, more = draw.randint(0, 3), draw.randint(0, 1)
        first, second = ["a", "day", *["warm"] * warm], ["so", *["very"] * more]
        value = "yes" if more else "no"
        lines.append("\t".join([" ".join(first), " ".join(second), value]))
        if header == "score":
            lines[-1] = "\t".join([" ".join(first), " ".join(second), str(10 + 2 * warm + more)])
    return "\n".join(lines) + "\n"


PAIR = {"text": "first", "text2": "second"}
CORPORA = {
    "tag": {"file": "tag.{}", "format": "conll"},
    "answer": {"file": "answer.{}.json", "format": "squad"},
    "classify": {"file": "classify.{}.tsv", **PAIR, "label": "same"},
    "regress": {"file": "regress.{}.tsv", **PAIR, "value": "score"},
}
STEPS = {"tag": 100, "answer": 200, "classify": 50, "regress": 150}


def run_file_of(task):
    corpus = CORPORA[task]
    sets = {
        name: corpus | {"file": corpus["file"].format(name)} for name in ("train", "valid", "test")
    }
    return run_file(
        {**sets, "max_length": 16 if task == "answer" else 20},
        ENCODER | {"d_ff": 32, "dropout": 0.0, "segments": 2},
        task=task,
        train={"steps": STEPS[task], "evaluate_every": 50, "lr": 0.01, "batch_tokens": 512},
    )


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A run for each task, in folders of their names."""
    folder = tmp_path_factory.mktemp("reading")
    for seed, name in enumerate(("train", "valid", "test")):
        n = 300 if name == "train" else 60
        (folder / f"tag.{name}").write_text(tagged(n, seed), "utf-8")
        (folder / f"answer.{name}.json").write_text(asked(n, seed), "utf-8")
        (folder / f"classify.{name}.tsv").write_text(pairs(n, seed, "same"), "utf-8")
        (folder / f"regress.{name}.tsv").write_text(pairs(n, seed, "score"), "utf-8")
    with commands_in(folder):
        train_runs(**{task: run_file_of(task) for task in CORPORA})
        yield folder


@pytest.mark.parametrize(
    ("task", "metric", "least"),
    [
        ("tag", "entity_f1", 95),
        ("answer", "f1", 85),
        ("classify", "accuracy", 95),
        ("regress", "spearman", 0.95),
    ],
)
def test_they_learn_and_say_how_well(task, metric, least, headway):
    code, stdout, _ = headway("evaluate", task, "--json")
    assert code == 0
    record = json.loads(stdout)
    assert record["n"] == 60
    for score in record["metrics"].values():
        assert set(score) == {"value", "low", "high", "signature"}
        assert score["low"] <= score["value"] <= score["high"]
    assert record["metrics"][metric]["value"] > least


def test_the_tables_for_people(headway):
    ends = {
        "tag": "60 sentences, 5 tags, iob1; weights: best by entity_f1, step ",
        "answer": "60 questions, may say that there is none; weights: best by f1, step ",
        "classify": "60 texts, 2 labels; weights: best by accuracy, step ",
        "regress": "60 texts, mean in training ",
    }
    for task, end in ends.items():
        _, stdout, _ = headway("evaluate", task)
        lines = stdout.splitlines()
        assert lines[0].split() == ["metric", "value", "95%", "interval", "signature"]
        assert lines[-1].startswith(end)


def test_the_parts_of_questions_are_told_apart(headway):
    record = json.loads(headway("evaluate", "answer", "--json")[1])
    assert set(record["metrics"]) == {
        *("f1", "exact"),
        *("answered_f1", "answered_exact", "unanswered_exact"),
    }
    assert record["answers_may_lack"]


def test_tags_of_lines(headway, workdir):
    (workdir / "lines.txt").write_text("Ann saw  New York .\n\nBob Eve saw Rome\n", "utf-8")
    code, stdout, _ = headway("predict", "tag", "lines.txt")
    assert code == 0
    assert stdout == "I-PER O I-LOC I-LOC O\n\nI-PER B-PER O I-LOC\n"
    first = json.loads(headway("predict", "tag", "lines.txt", "--json")[1].splitlines()[0])
    assert first["words"] == ["Ann", "saw", "New", "York", "."]
    assert first["tags"] == ["I-PER", "O", "I-LOC", "I-LOC", "O"]
    town = first["entities"][1]
    assert (town["type"], town["text"]) == ("LOC", "New York")
    assert (town["start"], town["end"]) == (2, 4)
    assert town["probability"] == min(first["probabilities"][2:4])


def test_answers_of_lines_and_of_files(headway):
    text = "it was a day in Oslo it was a day " + "in spring " * 9
    typed = f"where ?\t{text}\nwhere ?\tit was a day\n"
    code, stdout, _ = headway("predict", "answer", "--json", typed=typed)
    assert code == 0
    first, second = map(json.loads, stdout.splitlines())
    assert (first["question"], first["context"]) == ("where ?", text)
    assert first["answer"]["text"] == text[first["answer"]["start"] : first["answer"]["end"]]
    assert first["answer"]["text"] == "Oslo"
    assert first["answer"]["probability"] == first["answer"]["candidates"][0]["probability"]
    assert (second["answer"]["text"], second["answer"]["start"]) == ("", None)
    assert second["answer"]["none"] > 0.5
    code, stdout, _ = headway("predict", "answer", "answer.test.json", "--format", "squad")
    assert (code, len(stdout.splitlines())) == (0, 60)


def test_labels_and_values_of_pairs(headway, workdir):
    (workdir / "pairs.txt").write_text("a day\tso very\na day warm\tso\n", "utf-8")
    _, stdout, _ = headway("predict", "classify", "pairs.txt")
    assert [line.split("\t")[0] for line in stdout.splitlines()] == ["yes", "no"]
    record = json.loads(headway("predict", "classify", "pairs.txt", "--json")[1].splitlines()[0])
    assert (record["text"], record["text2"], record["label"]) == ("a day", "so very", "yes")
    _, stdout, _ = headway("predict", "regress", "pairs.txt")
    assert [float(line) for line in stdout.splitlines()] == pytest.approx([11, 12], abs=1)
    record = json.loads(headway("predict", "regress", "pairs.txt", "--json")[1].splitlines()[1])
    assert set(record) == {"text", "text2", "value"}
    _, stdout, _ = headway("predict", "classify", "classify.test.tsv", "--format", "tsv")
    assert len(stdout.splitlines()) == 60


def test_data_of_ones_own(headway, workdir):
    lines = [line.split() for line in (workdir / "tag.test").read_text("utf-8").splitlines()[2:]]
    sentences = "\n".join(word[0] if word else "" for word in lines)
    assert sentences
    code, stdout, stderr = headway("evaluate", "tag", "--data", "tag.test", "--json")
    assert code == 0, stderr
    assert json.loads(stdout)["metrics"]["entity_f1"]["value"] > 95
    (workdir / "w").write_text("Ann saw Rome\n", "utf-8")
    (workdir / "t").write_text("I-PER O I-LOC\n", "utf-8")
    given = ["--source", "w", "--target", "t", "--outputs", "out"]
    assert headway("evaluate", "tag", *given)[0] == 0
    assert (workdir / "out").read_text("utf-8") == "I-PER O I-LOC\n"
    for task, file in (("classify", "classify.test.tsv"), ("answer", "answer.test.json")):
        code, stdout, stderr = headway("evaluate", task, "--data", file, "--json")
        assert code == 0, stderr
        assert json.loads(stdout)["n"] == 60


def test_long_sentences_are_refused_or_cut(headway, fails, workdir):
    (workdir / "long.txt").write_text("Ann\n" + "saw Rome Bob " * 20 + "\n", "utf-8")
    assert fails(1, "predict", "tag", "long.txt") == (
        "long.txt:2 has 61 tokens and the model was trained with at most 20; shorten it, or have "
        "it cut into parts (--cut); --on-error keep leaves such lines out"
    )
    code, stdout, _ = headway("predict", "tag", "long.txt", "--cut")
    assert code == 0
    assert stdout.splitlines()[1].split() == ["O", "I-LOC", "I-PER"] * 20
    (workdir / "asked.txt").write_text("where ? " * 9 + "\tin Rome\n", "utf-8")
    assert fails(1, "predict", "answer", "asked.txt") == (
        "asked.txt:1 has 18 tokens, and of the 16 that the model reads at once half are for the "
        "text; shorten it, or have it cut off (--cut); --on-error keep leaves such lines out"
    )
    assert headway("predict", "answer", "asked.txt", "--cut")[0] == 0


def test_lines_that_are_no_pairs(fails, workdir):
    (workdir / "bad.txt").write_text("a day\tso\na day\n", "utf-8")
    assert fails(1, "predict", "classify", "bad.txt") == (
        "bad.txt:2: 1 field where text and text2 were expected, with a tab between them; or read "
        "the file as a table with --format; --on-error keep leaves such lines out"
    )
    assert fails(1, "predict", "answer", "bad.txt").startswith("bad.txt:2: 1 field where question")


def test_bad_data(fails, workdir):
    def trained(task, name, text):
        (workdir / name).write_text(text, "utf-8")
        arguments = [f"data.valid.file={name}", "--out", "no"]
        message = fails(1, "train", f"{task}.toml", *arguments)
        assert not (workdir / "no").exists()
        return message

    assert trained("tag", "bad.conll", "Ann X I-PER\nsaw X O\n\nit X I-ORG\n") == (
        "bad.conll:4: the training data have no tag 'I-ORG'; expected one of O, B-LOC, I-LOC, "
        "B-PER, I-PER"
    )
    bad = asked(3, 1).replace('"answer_start": ', '"answer_start": 9')
    assert "is outside its document, which has" in trained("answer", "bad.json", bad)
    assert trained("classify", "bad.tsv", "first\tsecond\tsame\na\tb\tmaybe\n") == (
        "bad.tsv:2: the training data have no label 'maybe'; expected one of no, yes"
    )
    assert trained("regress", "bad.tsv", "first\tsecond\tscore\na\tb\t3,5\n") == (
        "bad.tsv:2: the value '3,5' is no number; expected one such as 3.5"
    )
    (workdir / "w").write_text("Ann\nAnn saw Rome\n", "utf-8")
    (workdir / "t").write_text("I-PER\nI-PER O\n", "utf-8")
    assert fails(1, "evaluate", "tag", "--source", "w", "--target", "t") == (
        "w:2: 3 words and 2 tags; expected a tag for each word"
    )


def test_sections_and_options_that_do_not_fit(fails):
    assert fails(2, "train", "tag.toml", "answer.longest=3", "--out", "no").endswith(
        '[answer] is for task = "answer", and this run file has task = "tag"; leave it out'
    )
    assert fails(2, "evaluate", "answer", "--source", "a", "--target", "b") == (
        "--source and --target are for tasks with two columns, and this run has question, context, "
        "answers; use --data"
    )
    assert fails(2, "evaluate", "regress", "--metric", "bleu") == (
        "no metric 'bleu' for task 'regress'; expected one of spearman, pearson, mse, rmse, mae"
    )
    for verb in (["score", "regress"], ["translate", "answer"]):
        assert "try headway predict" in fails(2, *verb)


def test_they_can_be_looked_into(headway, fails, workdir):
    code, stdout, _ = headway("view", "tag", "Ann saw Rome .", "--json", "--out", "tag.html")
    [output] = json.loads(stdout)["outputs"]
    assert (code, output["text"], output["words"]) == (
        0,
        "B-PER O B-LOC O",
        ["Ann", "saw", "Rome", "."],
    )
    assert (workdir / "tag.html").exists()
    _, stdout, _ = headway("view", "answer", "where ?\tit was in Oslo in spring", "--json")
    best = json.loads(stdout)["outputs"][0]
    assert (best["text"], best["span"]) == ("Oslo", [10, 14])
    _, stdout, _ = headway("view", "regress", "a day\tso very", "--json", "--png", "value.png")
    [output] = json.loads(stdout)["outputs"]
    assert output["text"] == f"{output['value']:.6g}"
    assert [part["kind"] for part in json.loads(stdout)["encoder"]] == ["encoder"]
    assert fails(1, "view", "answer", "where ?", "--json") == (
        "the text: expected a question and a text, got ('where ?',)"
    )
    assert fails(2, "view", "tag", "a", "--json", "--beam", "2").startswith(
        "the search setting beam has no meaning for tag"
    )


def test_a_classifier_of_pairs_can_be_looked_into(headway, fails):
    code, stdout, _ = headway("view", "classify", "a day\tso very", "--json")
    assert code == 0
    assert json.loads(stdout)["outputs"][0]["text"] == "yes"
    assert fails(1, "view", "classify", "a day", "--json") == (
        "the text: got a single text, expected a pair of texts, as the training data have"
    )


def test_they_can_be_served(workdir):
    for task in CORPORA:
        validator = RequestValidator(task, api.load(workdir / task), Limits())
        assert validator.verbs == ("predict", "embed", "inspect")


def test_info_and_reports(headway, workdir):
    shown = {"tag": "words, 5 tags", "answer": " words", "classify": "2 labels"}
    for task, text in shown.items():
        assert text in headway("info", task)[1]
    for task, metric in (("tag", "Entity F1"), ("answer", "F1"), ("regress", "Spearman")):
        page = (workdir / task / "report.html").read_text("utf-8")
        assert metric in page
        assert "headway predict" in page
    record = json.loads(headway("info", "tag", "--json")[1])
    assert record["data"]["train"]["files"] == ["tag.train"]


def test_ensembles(headway):
    for task in CORPORA:
        code, stdout, _ = headway("evaluate", task, "--with", task, "--json")
        assert code == 0
        alone = json.loads(headway("evaluate", task, "--json")[1])["metrics"]
        for name, score in json.loads(stdout)["metrics"].items():
            assert score["value"] == pytest.approx(alone[name]["value"])
