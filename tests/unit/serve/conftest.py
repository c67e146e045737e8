"""Small trained runs to serve, one of each task, and applications around them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_runs import LIMITS, READER, SMALL, WORDS
from starlette.testclient import TestClient

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.models.decoder import DecoderConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.search import SearchConfig
from headway.serve.app import make_app
from headway.serve.engine import Engine
from headway.serve.validate import RequestValidator
from headway.serve.workers import ThreadWorker
from headway.training.config import TrainConfig

OTHERS = {
    "tags.tsv": "Ann saw Bob\tB-X O B-X\nit sat\tO O\n",
    "values.tsv": "so good\t2\nbad\t-1\ngood\t1\nso bad\t-2\n",
    "both.tsv": "text\ttext2\tlabel\nso good\tbad\tno\nbad\tbad\tyes\n",
    "answers.jsonl": '{"question": "where ?", "context": "it sat in Rome", '
    '"answers": [{"text": "Rome", "answer_start": 10}]}\n'
    '{"question": "where ?", "context": "it sat", "answers": []}\n',
    "hidden.txt": "the cat sees the dog\n\nthe dog sees the cat\n",
}
READING: dict[str, tuple[str, str | Corpus]] = {
    "tags": ("tag", "tags.tsv"),
    "answers": ("answer", "answers.jsonl"),
    "values": ("regress", "values.tsv"),
    "pairs": ("classify", Corpus(file="both.tsv", text="text", text2="text2", label="label")),
    "hidden": ("pretrain", Corpus(file="hidden.txt", format="documents")),
}


def _reading(folder: Path, task: str, corpus: str | Corpus) -> api.RunConfig:
    return api.RunConfig(
        data=DataConfig(train=corpus, root=str(folder), max_length=20, block=16),
        task=task,
        text=TextConfig(kind="words"),
        model=READER,
        train=TrainConfig(steps=3, batch_tokens=64),
    )


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `mine` (words backwards), `labels`, `lines` and others that read."""
    folder = tmp_path_factory.mktemp("served")
    pairs = "".join(f"{word}\t{word[::-1]}\n" for word in WORDS * 3)
    labelled = "".join(f"{word}\t{'long' if len(word) > 3 else 'short'}\n" for word in WORDS)
    lines = "".join(f"{word}\n" for word in WORDS)
    files = {"pairs.tsv": pairs, "labelled.tsv": labelled, "lines.txt": lines, **OTHERS}
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    characters = TextConfig(kind="characters")
    configs = {
        "mine": api.RunConfig(
            data=DataConfig(train="pairs.tsv", root=str(folder), max_length=20),
            text=characters,
            model=SMALL,
            train=TrainConfig(steps=80, lr=1e-2, batch_tokens=128),
            search=SearchConfig(beam=3, max_length=24),
        ),
        "labels": api.RunConfig(
            data=DataConfig(train="labelled.tsv", root=str(folder), max_length=20),
            task="classify",
            text=characters,
            model=RecurrentEncoderConfig(d_model=8),
            train=TrainConfig(steps=5),
        ),
        "lines": api.RunConfig(
            data=DataConfig(
                train=Corpus(file="lines.txt", format="lines"), root=str(folder), block=8
            ),
            task="language",
            text=characters,
            model=DecoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1),
            train=TrainConfig(steps=3),
        ),
    }
    configs |= {name: _reading(folder, *how) for name, how in READING.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        for name, config in configs.items():
            api.train(config, folder / name)
    return folder


@pytest.fixture(scope="session")
def trained(runs: Path) -> dict[str, api.Translator]:
    """The runs, loaded."""
    return {name: api.load(runs / name) for name in ("mine", "labels", "lines", *READING)}


@pytest.fixture(scope="session")
def validators(trained) -> dict[str, RequestValidator]:
    return {name: RequestValidator(name, one, LIMITS) for name, one in trained.items()}


@pytest.fixture(scope="session")
def engines(trained) -> dict[str, Engine]:
    return {name: Engine(one) for name, one in trained.items()}


@pytest.fixture
def make(validators, engines):
    """Makes applications, which end with the test."""
    pools = []

    def made(limits=LIMITS, token=None, only=None, work=None, **options):
        chosen = {
            name: RequestValidator(name, validator.trained, limits)
            for name, validator in validators.items()
            if only is None or name in only
        }
        pool = ThreadWorker(engines)
        if work is not None:
            pool.answer = work
        pools.append(pool)
        return make_app(chosen, pool, limits, token, **options)

    yield made
    for pool in pools:
        pool.close()


@pytest.fixture
def client(make) -> Iterator[TestClient]:
    """Asks an application with all the runs."""
    with TestClient(make()[0], raise_server_exceptions=True) as asking:
        yield asking
