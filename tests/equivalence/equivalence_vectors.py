"""Models of vectors, tried like those of tokens: each token is a vector from a fixed table.

A token of the source becomes as many steps as lie between two patches, so that patches and tokens
have the same numbers. Whatever is padding or noise as tokens is so as vectors.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from headway.models import EncoderModel, SequenceModel, VocabularySizes
from headway.models.family import Vectors
from headway.nn.inputs import VectorInputConfig

FEATURES = 3
LONGEST = 44
"""Tokens of the longest source that a model of fixed size reads."""

Variants = dict[str, dict[str, Any]]


def reading(**settings: Any) -> dict[str, Any]:
    """The settings of a model of vectors."""
    return {"input": VectorInputConfig(**settings)}


POSITIONS: Variants = {
    "learned": {"positions": "learned", "max_positions": 40},
    "rotary": {"positions": "rotary"},
    "relative": {"positions": "relative", "position_buckets": 8, "position_distance": 12},
    "none": {"positions": "none"},
}
ENCODERS: Variants = {
    "vectors": reading(),
    "vectors post-norm": reading(patch=3) | {"residual": "post"},
    "vectors learned": reading(patch=3, stride=2) | POSITIONS["learned"],
    "vectors rotary": reading(patch=2) | POSITIONS["rotary"],
    "vectors relative": reading(stem="convolution", stride=2) | POSITIONS["relative"],
    "vectors none": reading(stem="convolution") | POSITIONS["none"],
    "vectors class": reading(patch=2, class_vector=True) | {"pooling": "first"},
    "vectors all": reading(patch=2) | {"pooling": "all"},
    "vectors grid": reading(patch=2),
    "vectors grid learned": reading(patch=3, stride=2)
    | POSITIONS["learned"]
    | {"max_positions": 44},
    "vectors grid stem": reading(stem="convolution", stride=2, class_vector=True),
    "vectors bert": reading(patch=2) | {"preset": "bert-tiny", "max_positions": 40},
}
RECURRENT_ENCODERS: Variants = {
    "vectors": reading(),
    "vectors lstm": reading(patch=3, stride=2) | {"cell": "lstm", "layers": 2},
    "vectors rnn mean": reading(stem="convolution", stride=2) | {"cell": "rnn", "pooling": "mean"},
}
TRANSFORMERS: Variants = {
    "vectors": reading(patch=2),
    "vectors post-norm": reading(stem="convolution", stride=2) | {"residual": "post"},
    "vectors class": reading(patch=3, stride=2, class_vector=True) | POSITIONS["rotary"],
    "vectors grid": reading(patch=2),
}
RECURRENTS: Variants = {
    "vectors": reading(patch=2),
    "vectors bahdanau": reading(patch=3, stride=2) | {"attention": "bahdanau"},
    "vectors none": reading() | {"attention": "none", "layers": 2},
}
CONVOLUTIONALS: Variants = {
    "vectors": reading(patch=2),
    "vectors learned": reading(stem="convolution") | POSITIONS["learned"],
}
WRITING_TRANSFORMERS: Variants = {
    "values": reading(patch=2),
    "values post-norm": reading(patch=3, stride=2) | {"residual": "post"},
    **{f"values {name}": reading(patch=2) | given for name, given in POSITIONS.items()},
}
WRITING_RECURRENTS: Variants = {
    "values": reading(patch=2),
    "values lstm bahdanau": reading() | {"cell": "lstm", "attention": "bahdanau", "layers": 2},
    "values feeding": reading(patch=2) | {"input_feeding": True},
    "values rnn none": reading(patch=2) | {"cell": "rnn", "attention": "none"},
}
WRITING_CONVOLUTIONALS: Variants = {"values": reading(patch=2)}

VARIANTS: list[tuple[str, Variants]] = [
    ("encoder", ENCODERS),
    ("recurrent_encoder", RECURRENT_ENCODERS),
    ("transformer", TRANSFORMERS),
    ("recurrent", RECURRENTS),
    ("convolutional", CONVOLUTIONALS),
    ("transformer", WRITING_TRANSFORMERS),
    ("recurrent", WRITING_RECURRENTS),
    ("convolutional", WRITING_CONVOLUTIONALS),
]


def has_fixed_size(name: str) -> bool:
    """Whether a model reads inputs of one size, to which shorter ones are padded."""
    return "grid" in name or "all" in name.split()


def sizes_of_vectors(
    sizes: VocabularySizes, name: str, settings: Mapping[str, Any]
) -> VocabularySizes:
    """The sizes of a model of tokens as those of a model of vectors."""
    config = settings["input"]
    length = LONGEST * config.hop
    size = (length,) if has_fixed_size(name) else (0,)
    if "grid" in name:
        size = (config.hop, length)
    writes = FEATURES if "values" in name else 0
    vectors = Vectors(FEATURES, size)
    return replace(sizes, source=0, shared=False, vectors=vectors, target_features=writes)


class Dressing:
    """The tables of a vocabulary, and the batches that they make."""

    def __init__(self, vocabulary: int, sizes: VocabularySizes, config: VectorInputConfig) -> None:
        assert sizes.vectors is not None
        draw = torch.Generator().manual_seed(7)
        self.hop, self.is_grid = config.hop, len(sizes.vectors.size) == 2
        self.first = int(config.class_vector)
        area = self.hop**2 if self.is_grid else self.hop
        self.source = torch.randn(vocabulary, area, FEATURES, generator=draw)
        self.target = torch.randn(vocabulary, FEATURES, generator=draw)
        self.writes = sizes.target_features > 0

    def __call__(self, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        dressed = dict(batch)
        steps, valid = self.source[batch["src"]], batch["src_valid"]  # (B, S, area, F)
        dressed["src_valid"] = valid.repeat_interleave(self.hop, dim=1)
        dressed["src"] = steps.flatten(1, 2)
        if self.is_grid:  # one row of patches
            square = steps.unflatten(2, (self.hop, self.hop))  # (B, S, rows, columns, F)
            dressed["src"] = square.transpose(1, 2).flatten(2, 3)
            dressed["src_valid"] = dressed["src_valid"][:, None].expand(-1, self.hop, -1)
        if "tgt_in" in batch:
            dressed["tgt_in"] = self.tokens(batch["tgt_in"])
        return dressed

    def tokens(self, tokens: Tensor) -> Tensor:
        """Target tokens, or the vectors that a decoder reads in their place."""
        return self.target[tokens] if self.writes else tokens


class DressedSequenceModel(SequenceModel):
    """A model of vectors that takes batches of tokens; what it writes are logits to a search."""

    def __init__(self, inner: SequenceModel, dressing: Dressing) -> None:
        super().__init__()
        self.inner, self.dressing = inner, dressing
        self.config, self.output = inner.config, inner.output

    def forward(self, batch):
        return self.inner(self.dressing(batch))

    def start(self, batch, prefix=None):
        tokens = None if prefix is None else self.dressing.tokens(prefix)
        return self.inner.start(self.dressing(batch), tokens)

    def step(self, tokens, state):
        return self.inner.step(self.dressing.tokens(tokens), state)


class DressedEncoder(torch.nn.Module):
    """An encoder of vectors that takes batches of tokens, and has a state for each."""

    def __init__(self, inner: EncoderModel, dressing: Dressing) -> None:
        super().__init__()
        self.inner, self.dressing, self.config = inner, dressing, inner.config

    def forward(self, batch):
        states, pooled = self.inner(self.dressing(batch))
        return self._of_tokens(states, batch), pooled

    def logits(self, batch):
        return self.inner.logits(self.dressing(batch))

    def token_logits(self, batch):
        return self._of_tokens(self.inner.token_logits(self.dressing(batch)), batch)

    def _of_tokens(self, states, batch):
        first = self.dressing.first
        return states[:, first : first + batch["src"].size(1)]


def dressed(inner: Any, vocabulary: int, sizes: VocabularySizes, config: VectorInputConfig) -> Any:
    """The model of vectors behind the interface of a model of tokens."""
    dressing = Dressing(vocabulary, sizes, config)
    if isinstance(inner, SequenceModel):
        return DressedSequenceModel(inner, dressing)
    return DressedEncoder(inner, dressing)
