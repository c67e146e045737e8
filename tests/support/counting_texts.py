"""Small texts to count, with their words as a vocabulary."""

from dataclasses import dataclass

import numpy as np
import torch

from headway.models import VocabularySizes
from headway.models.counting.markov import MarkovConfig, MarkovModel, count
from headway.text import BOS, EOS

SPECIALS = ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨unk⟩"]

ORDERS = ["show me my directories please"] * 2 + ["show me my files please"] * 3
ORDERS += ["show me my photos please"] * 5
CHECKS = ["check whether the battery ran down please"] * 4
CHECKS += ["check whether the program ran please"] * 6
LOGS = [
    "check the program log and find out whether it ran please",
    "check the battery log and find out whether it ran down please",
]


@dataclass
class Text:
    """Sentences as token ids with end marks."""

    sentences: list[str]

    def __post_init__(self):
        words = sorted({word for line in self.sentences for word in line.split()})
        self.words = [*SPECIALS, *words]
        self.sizes = VocabularySizes(len(self.words), len(self.words), True)
        self.sequences = [np.array([*self.ids(line), EOS]) for line in self.sentences]

    def ids(self, words: str) -> list[int]:
        return [self.words.index(word) for word in words.split()]

    def count(self, order: int, smoothing: str = "none", **settings) -> MarkovModel:
        config = MarkovConfig(order=order, smoothing=smoothing, **settings)
        return count(config, self.sizes, self.sequences)

    def after(self, model: MarkovModel, words: str) -> dict[str, float]:
        """What may follow the beginning of a sequence, through `step`."""
        tokens = torch.tensor([[[BOS, *self.ids(words)]]])
        log_probs, _ = model.step(tokens, model.start({"x": torch.zeros(1)}))
        probs = log_probs[0, 0].exp().tolist()
        return {word: p for word, p in zip(self.words, probs, strict=True) if p > 0}


def random_sequences(seed: int, n: int, size: int, longest: int = 12) -> list[np.ndarray]:
    """Sequences over tokens 3 to size - 1 with ends, frequent tokens more often than rare ones."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, size - 2)
    return [
        np.append(
            draw.choice(size - 3, draw.integers(0, longest + 1), p=weights / weights.sum()) + 3, EOS
        )
        for _ in range(n)
    ]


def as_batch(sequences: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """What stands before each token, and the tokens, padded (B, T) each."""
    T = max(map(len, sequences))
    targets = torch.zeros(len(sequences), T, dtype=torch.int64)
    for row, sequence in zip(targets, sequences, strict=True):
        row[: len(sequence)] = torch.from_numpy(np.asarray(sequence, np.int64))
    inputs = torch.cat([torch.full((len(sequences), 1), BOS), targets[:, :-1]], 1)
    return inputs, targets
