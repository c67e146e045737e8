"""Small runs to serve, one of each task, what they are made of, and their limits."""

from pathlib import Path

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.models.decoder import DecoderConfig
from headway.models.encoder import EncoderConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.models.transformer import TransformerConfig
from headway.search import SearchConfig
from headway.serve.limits import Limits
from headway.training.config import TrainConfig

WORDS = ["abc", "cab", "bca", "bac", "acb", "cba", "aab", "bbc", "cca", "abab", "caca", "bb cc a"]
SMALL = TransformerConfig(d_model=16, d_ff=16, n_heads=2, encoder_layers=1, decoder_layers=2)
READER = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, segments=2)
INPUTS = {
    "labels": ["abc", "abab"],
    "tags": ["Ann saw Bob", "it"],
    "answers": [{"question": "where ?", "context": "it sat in Rome"}],
    "values": ["so good", "bad"],
    "pairs": [{"text": "so good", "text2": "bad"}, {"text": "a", "text2": ""}],
}
"""What may be asked of those that say something of texts."""
LIMITS = Limits(texts=8, characters=60, terms=3, glossary=5, beam=6, queue=32, seconds=20)
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


def make_served_runs(folder: Path, steps: int = 80) -> None:
    """Trains the runs `mine` (words backwards), `labels`, `lines` and others that read.

    Args:
        steps: of the run `mine`; the others are hardly trained.
    """
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
            train=TrainConfig(steps=steps, lr=1e-2, batch_tokens=128),
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
    for name, config in configs.items():
        api.train(config, folder / name)
