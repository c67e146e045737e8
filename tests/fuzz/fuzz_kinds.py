"""The kinds of fuzzed inputs: how one is made from a seed, and how headway reads it.

An input is a table of files, by name. Folders of transformers and HTTP requests are in modules of
their own; `fuzz_processes` runs inputs under limits.
"""

import gzip
import json
import os
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import tomli_w
from fuzz_mutations import TEXTS, damaged_bytes, damaged_json, damaged_toml, zipped

from headway import api, config
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.glossary import Glossary
from headway.data.leakage import LeakCheck
from headway.data.prepare import prepare
from headway.run_config import RunConfig, read_config

ROOT = Path(__file__).parents[2]
Files = dict[str, bytes]
TEXT = "the cat sat on the mat"


class Kind:
    """One kind of input; subclasses say how it is made and read."""

    name: str

    def prepare(self, folder: Path) -> None:
        """Makes what all inputs need, in `folder`; called once, before processes are forked."""

    def start(self) -> None:
        """Called in each process."""

    def make(self, rng: Random) -> Files:
        """A damaged input."""
        raise NotImplementedError

    def read(self, files: Files, folder: Path) -> None:
        """Has headway read the files, which are in `folder`.

        Raises:
            HeadwayError: the input is refused, as it may be.
            Exception: any other is a failure.
        """
        raise NotImplementedError


class RunFiles(Kind):
    """Run files, from the recipes."""

    name = "run-files"

    def prepare(self, folder: Path) -> None:
        self._texts = [path.read_bytes() for path in sorted((ROOT / "recipes").rglob("*.toml"))]
        self._tables: list[dict[str, Any]] = []
        for text in self._texts:
            tables = tomllib.loads(text.decode())
            for key in ("init", "tune"):  # of a run that is not there
                tables.pop(key, None)
            (folder / "recipe.toml").write_text(tomli_w.dumps(tables), "utf-8")
            # As it is, and with every setting.
            self._tables += [tables, config.to_dict(read_config(folder / "recipe.toml"))]

    def make(self, rng: Random) -> Files:
        if rng.random() < 0.3:
            content = damaged_bytes(rng, rng.choice(self._texts), self._texts)
        else:
            content = damaged_toml(rng, rng.choice(self._tables), self._tables)
            if rng.random() < 0.1:
                content = damaged_bytes(rng, content, self._texts)
        return {"run.toml": content}

    def read(self, files: Files, folder: Path) -> None:
        settings = read_config(folder / "run.toml")
        text = config.to_toml(settings)
        assert config.parse(tomllib.loads(text), RunConfig, "run.toml") == settings


class Glossaries(Kind):
    """Glossaries, used for a translation."""

    name = "glossaries"
    LINES = ("cat\tKatze", "the mat\tdie Matte | der Teppich", "dog\t!Hund", "# a comment", "")
    LINES += ("sat on\tsaß auf|!stand", "abc\tcba", "a\tb", "c\t!c", "ab\tba | !ab")

    def prepare(self, folder: Path) -> None:
        self._model = api.load(_one_run(folder))

    def make(self, rng: Random) -> Files:
        lines = rng.choices(self.LINES, k=rng.randint(1, 8))
        if rng.random() < 0.3:
            i = rng.randrange(len(lines))
            lines[i] = lines[i].replace(rng.choice("\tabc |!"), rng.choice(TEXTS))
        content = "\n".join(lines).encode("utf-8", "surrogatepass")
        if rng.random() < 0.8:
            content = damaged_bytes(rng, content, [line.encode() for line in self.LINES])
        if rng.random() < 0.1:
            content = zipped(rng, content)
        return {"terms.tsv": content}

    def read(self, files: Files, folder: Path) -> None:
        glossary = Glossary.read(folder / "terms.tsv")
        glossary.terms_for(TEXT, ignore_case=False)
        if any(glossary.terms_for("abc a c ab")):
            self._model.translate(["abc a c ab"], glossary=glossary, beam=2, max_length=6)


def _one_run(folder: Path) -> Path:
    """A small translator of letters."""
    from served_runs import SMALL, WORDS

    from headway.training.config import TrainConfig

    pairs = "".join(f"{word}\t{word[::-1]}\n" for word in WORDS)
    (folder / "pairs.tsv").write_text(pairs, encoding="utf-8")
    settings = api.RunConfig(
        data=DataConfig(train="pairs.tsv", root=str(folder), max_length=20),
        text=TextConfig(kind="characters"),
        model=SMALL,
        train=TrainConfig(steps=1),
    )
    api.train(settings, folder / "run")
    return folder / "run"


ANSWERS = [{"text": "Rome", "answer_start": 10}]
QUESTIONS = [
    {"question": "where ?", "context": "it sat in Rome", "answers": ANSWERS},
    {"question": "who ?", "context": "it sat", "answers": []},
]
QUESTION = {"id": "1", "question": "where ?", "answers": ANSWERS}
IMPOSSIBLE = {"id": "2", "question": "who ?", "is_impossible": True, "answers": []}
PARAGRAPH = {"context": "it sat in Rome", "qas": [QUESTION, IMPOSSIBLE]}
SQUAD = {"version": "2.0", "data": [{"title": "Towns", "paragraphs": [PARAGRAPH]}]}


def _json_lines(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


# A format, a task, the columns as the corpus names them, and a file or one for each column.
CORPORA: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    ("lines", "translate", {}, {"source": "a b\nc\n\nd e\n", "target": "b a\nc\n\ne d\n"}),
    ("lines", "language", {}, {"file": "the cat\n\nthe dog sees\n"}),
    ("text", "language", {}, {"file": "ROMEO:\nthe cat sat.\n\nJULIET:\nwhere?\n" * 3}),
    ("documents", "language", {}, {"file": " = Cats = \n\nthe cat\nsat\n\n = = Part = = \n\nno\n"}),
    ("documents", "pretrain", {}, {"file": "the cat sees. The dog sat.\nno\n\nthe dog\n"}),
    ("tsv", "translate", {}, {"file": "a b\tb a\nc d\td c\n"}),
    ("tsv", "translate", {"source": 2, "target": -1}, {"file": "1\ta b\tb a\n2\tc d\td c\n"}),
    ("tsv", "classify", {}, {"file": "text\tlabel\nso good\tyes\nbad\tno\n"}),
    ("tsv", "regress", {}, {"file": "so good\t2.5\nbad\t-1\ngood\t1e0\n"}),
    ("tsv", "tag", {}, {"file": "Ann saw Bob\tB-X O B-X\nit sat\tO O\n"}),
    ("csv", "classify", {}, {"file": 'text,label\n"so, ""good""",yes\n"a\nb",no\n'}),
    ("csv", "translate", {"source": "x", "target": "y"}, {"file": "x,y,z\na b,b a,1\nc,c,2\n"}),
    ("jsonl", "answer", {}, {"file": _json_lines(*QUESTIONS)}),
    ("jsonl", "regress", {"value": "v"}, {"file": _json_lines({"text": "good", "v": 2})}),
    ("jsonl", "translate", {}, {"file": _json_lines({"source": "a b", "target": "b a"})}),
    ("conll", "tag", {}, {"file": "-DOCSTART- O\n\nAnn NN B-X\nsaw VB O\n\nBob NN B-X\n"}),
    ("conll", "tag", {"words": 1, "tags": -1}, {"file": "Ann\tNN\tB-X\nsaw\tVB\tO\n\nBob\tN\tO\n"}),
    ("pronunciation", "translate", {}, {"file": ";;; no\nCAT  K AE1 T\nDOG  D AO1 G\n"}),
    ("squad", "answer", {}, {"file": json.dumps(SQUAD)}),
]


class DataFiles(Kind):
    """Data of every format, read, learned from and prepared as for training."""

    name = "data-files"

    def make(self, rng: Random) -> Files:
        number = rng.randrange(len(CORPORA))
        form, _, _, texts = CORPORA[number]
        others = [text.encode() for _, _, _, files in CORPORA for text in files.values()]
        files = {name: text.encode() for name, text in texts.items()}
        name = rng.choice(list(files))
        if form in ("jsonl", "squad") and rng.random() < 0.8:
            lines = files[name].splitlines(keepends=True)
            at = rng.randrange(len(lines))
            lines[at] = damaged_json(rng, json.loads(lines[at])) + b"\n"
            files[name] = b"".join(lines)
        else:
            files[name] = damaged_bytes(rng, files[name], others)
        if rng.random() < 0.02:  # a line without end
            files[name] += rng.choice((b"a", b"a ", b"[", b"\xc3\xa4", b'"')) * 400_000
        if rng.random() < 0.15:
            files[name] = zipped(rng, files[name])
        if rng.random() < 0.001:
            files[name] = gzip.compress(bytes(40 << 20), 1)
        files["corpus"] = str(number).encode()
        return files

    def read(self, files: Files, folder: Path) -> None:
        form, task_name, columns, texts = CORPORA[int(files["corpus"])]
        corpus = Corpus(**{**columns, **{name: name for name in texts}}, format=form)
        settings = RunConfig(
            data=DataConfig(train=corpus, root=str(folder), block=8, max_length=40),
            task=task_name,
            text=TextConfig(kind="words"),
        )
        corpora, task = [corpus], settings.make_task()
        used = task.columns_of(corpora, folder)

        def rows() -> Any:
            from headway.data.formats.read import read

            return (row.values for row in read(corpus, used, folder))

        task = task.fit_codecs(rows, settings.text)
        prepared = prepare(
            corpora,
            task.codecs,
            folder / "stores",
            root=folder,
            max_length=40,
            block=task.block(settings.data),
            sentences=task.in_sentences,
            leak_check=LeakCheck({"test": corpora}, task.codecs, folder),
            rules=task,
        )
        task.check(prepared.store)
        prepared.report()


FORECAST, CLASSES = ("target",), ("series", "label")
HOURS = "".join(f"2020-01-01 {hour:02}:00,{hour},{hour % 3}.5,a\n" for hour in range(12))
DAYS = "".join(f"{name},{day}/1/2020,{day},x\n" for name in "uv" for day in range(1, 15))
TS = "#\n@univariate false\n@classLabel true a b\n@data\n1,2,?:3,4,5:a\n6:7:b\n"

# Columns of a task, the fields of the corpus, and a file.
SERIES: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (FORECAST, {"file": "s.csv"}, "date,a,b,c\n" + HOURS),
    (FORECAST, {"file": "s.csv", "frequency": "D", "missing": "fill"}, "date,a,b,c\n" + HOURS),
    (("target", "past", "known"), {"file": "s.csv", "target": "a", "past": ["b", "c"],
     "known": "b", "repeated": "mean"}, "date,a,b,c\n" + HOURS + "2020-01-01 12:00,,1,b\n"),
    (("target", "static"), {"file": "s.csv", "static": "c"}, "unique_id,ds,y,c\n" + DAYS),
    (FORECAST, {"file": "s.csv", "repeated": "last"}, "year;month;a\n2019;11;1\n2020;2;4\n"),
    (FORECAST, {"file": "s.csv"}, '"V1","V2","V3"\n"H1","1","2"\n"H2","3",\n'),
    (FORECAST, {"file": "s.csv", "history": "s.csv"}, "V1,V2,V3\nH1,1,2\nH2,3,\n"),
    (CLASSES, {"file": "s.csv", "id": "i", "part": (0.0, 0.9)}, "i,v,label\n1,2,a\n1,3,a\n"),
    (CLASSES, {"file": "s.tsv"}, "1\t0.5\t-1\n2\t1e3\tNaN\n"),
    (CLASSES, {"file": "s.ts"}, TS),
]  # fmt: skip


class SeriesFiles(Kind):
    """Series of every format, read."""

    name = "series-files"

    def prepare(self, folder: Path) -> None:
        import numpy as np
        import pyarrow
        import pyarrow.parquet

        table = {"date": np.arange(5).astype("datetime64[h]").astype("datetime64[s]"), "a": [1] * 5}
        pyarrow.parquet.write_table(pyarrow.table(table), folder / "s.parquet")
        np.savez(folder / "s.npz", X=np.ones((3, 2, 4), np.float32), y=np.array(["a", "b", "a"]))
        self._inputs = [(columns, fields, text.encode()) for columns, fields, text in SERIES]
        for columns, name in ((FORECAST, "s.parquet"), (CLASSES, "s.npz")):
            self._inputs.append((columns, {"file": name}, (folder / name).read_bytes()))

    def make(self, rng: Random) -> Files:
        number = rng.randrange(len(self._inputs))
        _, fields, content = self._inputs[number]
        content = damaged_bytes(rng, content, [other for _, _, other in self._inputs[:-2]])
        if rng.random() < 0.1 and number < len(SERIES):
            content = zipped(rng, content)
        return {fields["file"]: content, "corpus": str(number).encode()}

    def read(self, files: Files, folder: Path) -> None:
        from headway.data.formats.read import read

        columns, fields, _ = self._inputs[int(files["corpus"])]
        for row in read(Corpus(**fields), columns, folder):
            series = row.values[0]
            assert len(series.times) == len(series)
            assert len(series.digest()) == 32
            assert series.values.shape[1] == len(series.columns)


def kinds() -> dict[str, Kind]:
    """All kinds by name."""
    from fuzz_folders import Folders
    from fuzz_requests import Requests

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    every: list[Kind] = [
        RunFiles(),
        DataFiles(),
        SeriesFiles(),
        Folders(),
        Glossaries(),
        Requests(),
    ]
    return {kind.name: kind for kind in every}
