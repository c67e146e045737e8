"""Damaged folders of transformers and sentence-transformers, imported and used; own tokenizers."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from fuzz_kinds import TEXT, Files, Kind
from fuzz_mutations import NUMBERS, damaged_bytes, damaged_json

from headway import api
from headway.text import Tokenizer, train_tokenizer
from headway.text.config import TokenizerConfig

NAMES = ("gpt2", "marian", "bart", "t5", "bert", "sentences", "roberta-tags", "distilbert-labels")
NAMES += ("bert-answer", "bert-value")
OWN = "own"
WEIGHTS = "model.safetensors"
USES: Mapping[str, Callable[[Any], Any]] = {
    "Translator": lambda model: model.translate([TEXT], max_length=3),
    "LanguageModel": lambda model: model.generate([TEXT], max_length=3),
    "Pretrained": lambda model: api.Embedder(model).embed([TEXT]),
    "Classifier": lambda model: model.predict([TEXT]),
    "Regressor": lambda model: model.predict([TEXT]),
    "Tagger": lambda model: model.predict([TEXT]),
    "Answerer": lambda model: model.predict([("where ?", TEXT)]),
}
"""A short use of each class of trained models."""


class Folders(Kind):
    """Folders of other libraries, each imported into a run and used; tokenizers of our runs."""

    name = "folders"

    def prepare(self, folder: Path) -> None:
        import transformers
        from foreign_folders import make_folder

        transformers.utils.logging.disable_progress_bar()
        self._folders = {name: make_folder(name, folder / name) for name in NAMES}
        self._files = {
            name: {path.relative_to(saved).as_posix(): path.read_bytes() for path in _files(saved)}
            for name, saved in self._folders.items()
        }
        lines = [TEXT, "a dog, isn't it?", "12 men"]
        self._own = [
            train_tokenizer(lines, TokenizerConfig(kind=kind)).to_json().encode()
            for kind in ("bpe", "unigram", "words", "characters")
        ]
        self._parsed: dict[tuple[str, str], Any] = {}

    def make(self, rng: Random) -> Files:
        if rng.random() < 0.1:
            text = rng.choice(self._own)
            if rng.random() < 0.3:
                return {OWN: damaged_bytes(rng, text, self._own)}
            return {OWN: damaged_json(rng, json.loads(text))}
        name = rng.choice(NAMES)
        files = {"folder": name.encode()}
        for _ in range(rng.choice((1, 1, 1, 2))):
            changed = rng.choice(list(self._files[name]))
            files[changed] = self._damaged(rng, name, changed)
        return files

    def _damaged(self, rng: Random, name: str, file: str) -> bytes:
        content = self._files[name][file]
        others = [files[file] for files in self._files.values() if file in files]
        if rng.random() < 0.15:
            return damaged_bytes(rng, content, others)
        if file == WEIGHTS:
            return _damaged_header(rng, content)
        if not file.endswith(".json"):
            return damaged_bytes(rng, content, others)
        return damaged_json(rng, self._value(name, file), [self._value(name, file)])

    def _value(self, name: str, file: str) -> Any:
        if (name, file) not in self._parsed:
            self._parsed[name, file] = json.loads(self._files[name][file])
        return self._parsed[name, file]

    def read(self, files: Files, folder: Path) -> None:
        if OWN in files:
            tokenizer = Tokenizer.load(folder / OWN)
            tokenizer.decode(tokenizer.encode(TEXT))
            return
        saved = self._folders[files["folder"].decode()]
        for path in _files(saved):
            linked = folder / path.relative_to(saved)
            linked.parent.mkdir(exist_ok=True)
            if not linked.exists():
                linked.symlink_to(path)
        try:
            api.import_run(folder, folder / "run")
            model = api.load(folder / "run")
            USES[type(model).__name__](model)
        finally:
            shutil.rmtree(folder / "run", ignore_errors=True)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _damaged_header(rng: Random, content: bytes) -> bytes:
    """A safetensors file whose header, or its length, is damaged."""
    size = int.from_bytes(content[:8], "little")
    if rng.random() < 0.1:
        return (rng.choice(NUMBERS) % 2**64).to_bytes(8, "little") + content[8:]
    header = damaged_json(rng, json.loads(content[8 : 8 + size]))
    return len(header).to_bytes(8, "little") + header + content[8 + size :]
