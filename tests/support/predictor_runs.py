"""Small runs of a tagger, an answerer and a regressor that know their training data by heart."""

import json
from pathlib import Path
from typing import Any

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.training.config import TrainConfig

TAGGED = [("Ann saw Bob", "B-X O B-X"), ("it sat", "O O"), ("Bob Ann sat", "B-X B-X O")]
QUESTIONS = [("where ?", "it sat in Rome", [("Rome", 10)]), ("where ?", "it sat", [])]
VALUED = [("so good", "2"), ("bad", "-1"), ("good", "1"), ("so bad", "-2")]
FILES = {"tag": "tag.tsv", "answer": "answer.jsonl", "regress": "value.tsv"}
# By rank alone, values would stay where their order was right for the first time.
METRICS = {"tag": "auto", "answer": "auto", "regress": "mse"}


def config_of(
    folder: Path, task: str, corpus: str | Corpus, max_length: int = 12, **settings: Any
) -> api.RunConfig:
    """The run file of a small model for a task."""
    return api.RunConfig(
        data=DataConfig(train=corpus, valid=corpus, root=str(folder), max_length=max_length),
        task=task,
        text=TextConfig(kind="words"),
        model=RecurrentEncoderConfig(d_model=16, dropout=0.0),
        train=TrainConfig(steps=100, lr=1e-2, batch_tokens=64, metric=METRICS[task]),
        **settings,
    )


def train_predictors(folder: Path) -> None:
    """Writes the data and trains a run for each task, in a folder of its name."""
    for task, rows in (("tag", TAGGED), ("regress", VALUED)):
        lines = ["\t".join(row) + "\n" for row in rows]
        (folder / FILES[task]).write_text("".join(lines), "utf-8")
    entries = [
        {
            "question": question,
            "context": context,
            "answers": [{"text": text, "answer_start": start} for text, start in answers],
        }
        for question, context, answers in QUESTIONS
    ]
    lines = [json.dumps(entry) + "\n" for entry in entries]
    (folder / FILES["answer"]).write_text("".join(lines), "utf-8")
    for task, file in FILES.items():
        api.train(config_of(folder, task, file), folder / task)
