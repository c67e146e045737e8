"""The contract of model families: the row `Family`, and base classes of the models that it builds.

Also the output layer. The families themselves are one file each; their embeddings and inputs are in
`embeddings.py`, losses and search in other rooms.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn

from ..file_limits import MODEL_SIZE
from ..nn.cross_entropy import linear_cross_entropy, linear_log_prob
from ..nn.decoding import DecoderState
from ..nn.dropout import Dropout

Size = Annotated[int, Ge(1), Le(MODEL_SIZE)]
Head = Literal["linear", "words", "masked", "masked_next", "none"]
Ability = Literal["step", "score", "attend", "classify", "read", "vectors", "values", "forecast"]

BACKBONE = "backbone"
"""Attribute of encoder models that has all but the head."""


@dataclass(frozen=True)
class Vectors:
    """The vectors that a model reads in place of tokens.

    Attributes:
        features: numbers of a vector.
        size: `(length,)` if all inputs have one length, `(0,)` if lengths differ; `(height, width)`
            for a grid.
        future: steps at the end of a series that are to be forecast; only covariates are known.
        season: steps of a season of a series.
        targets: of a forecast, how many of the first features are forecast; 0 for other tasks.
        horizon: of a forecast, how many steps.
        patch: steps of a patch, unless the run file sets `model.input.patch`; 0 leaves it to the
            size.
        columns: of a forecast that reads one column of several, how many there are; a batch says
            which (`segment`).
    """

    features: int
    size: tuple[int, ...]
    future: int = 0
    season: int = 1
    targets: int = 0
    horizon: int = 0
    patch: int = 0
    columns: int = 1


@dataclass(frozen=True)
class VocabularySizes:
    """Sizes of a model's input and output vocabularies, and the head of an encoder.

    Attributes:
        head: `linear` gives logits of `target` labels; `masked` gives logits of the `source` tokens
            at each position; `masked_next` also predicts whether the second of two texts follows
            the first; `none` is the backbone alone; `words` builds a model that decodes, in
            families that do both.
        vectors: of the source, if it has no tokens; `source` is 0 then.
        target_features: numbers of a vector that a decoder reads in place of a token; 0 if it
            reads tokens.
        target_outputs: numbers that such a decoder writes at each step.
    """

    source: int
    target: int
    shared: bool
    head: Head = "linear"
    vectors: Vectors | None = None
    target_features: int = 0
    target_outputs: int = 0


def _nothing() -> None:
    """The requirement of most families."""


@dataclass(frozen=True)
class Family:
    """A row of the table `FAMILIES`.

    Attributes:
        config: a frozen dataclass with a field `family` and a method `resolve(n_examples,
            vocabularies)` that fills in open settings.
        build: makes the module from resolved settings.
        abilities: `step` (can be searched), `score` (teacher-forced log probabilities), `attend`
            (has attention weights to inspect), `classify` (predicts labels), `read` (is an
            `EncoderModel`: a state of each token and a vector of each text), `vectors` (its source
            may be vectors), `values` (its decoder may read and write vectors), `forecast`
            (predicts the numbers of a horizon).
        learns: by gradient, or by counting the training data once.
        source: whether a batch must have a source (`needed`), may have one (`optional`), or has
            none (`none`), as for a language model.
        count: makes a counting model from resolved settings and examples: token sequences that end
            with EOS, pairs of a sequence and a label index, or batches of windows to forecast. It
            may iterate over them several times. The model keeps its counts in buffers; `build`
            makes the same model with empty buffers, and loading replaces them, whatever their
            shapes.
        require: raises `MissingExtra` if training needs a package that is not installed.
        encoder: prefixes of the names of weights that are used for the source only.
    """

    name: str
    config: type[Any]
    build: Callable[[Any, VocabularySizes], Any]
    abilities: frozenset[Ability]
    learns: Literal["gradient", "counting"] = "gradient"
    source: Literal["needed", "optional", "none"] = "needed"
    count: Callable[[Any, VocabularySizes, Iterable[Any]], nn.Module] | None = None
    require: Callable[[], object] = _nothing
    encoder: tuple[str, ...] = ()


class SequenceModel(nn.Module):
    """A model that decodes sequences. Its output layer is separate, for losses without full logits.

    A batch has `src (B, S)`, `src_valid (B, S)` and, for teacher forcing, `tgt_in (B, T)`; vectors
    in place of tokens add an axis. A language model has no source and takes the batch size from any
    tensor of the batch. `start` and `step` are those of `nn.decoding.StepModel`.

    Attributes:
        is_one_stream: whether source and target form one sequence, the target after the source.
    """

    is_one_stream: ClassVar[bool] = False
    output: "OutputLayer"

    @abstractmethod
    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D) for `output`."""

    @abstractmethod
    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState: ...

    @abstractmethod
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]: ...


class EncoderModel(nn.Module):
    """An encoder with a linear head. All but the head is in the backbone.

    A batch has `src (B, S)` and `src_valid (B, S)`, each text with its EOS. For pairs of texts
    `segment (B, S)` is 0 in the first and 1 in the second. Counting models have `logits` only.

    Args:
        backbone: from a batch to a state of each token (B, S, D) and a vector of each text (B, D);
            its `width` is that of the vector.
        n_outputs: number of logits, such as one per label.
        dropout: rate before the output layer.
    """

    def __init__(self, backbone: nn.Module, n_outputs: int, dropout: float) -> None:
        super().__init__()
        self.backbone = backbone
        c: Any = backbone.config
        self.config = c
        self.dropout = Dropout(dropout)
        width: Any = backbone.width
        self.output = OutputLayer(make_embedding(n_outputs, width), bias=True)
        self.shortcut: nn.Module | None = None

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D) and a vector of each text (B, D), from the backbone."""
        states, pooled = self.backbone(batch)
        return states, pooled

    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Logits of each text (B, V)."""
        logits: Tensor = self.output(self.dropout(self(batch)[1]))
        if self.shortcut is None:
            return logits
        values: Tensor = self.shortcut(batch)
        # Of several quantiles of a value, each gets the same.
        return logits + values.repeat_interleave(logits.size(1) // values.size(1), dim=1)

    def token_logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Logits of each token (B, S, V)."""
        logits: Tensor = self.output(self.dropout(self(batch)[0]))
        return logits


class OutputLayer(nn.Module):
    """The final linear layer, `logits = hidden @ weight.T + bias`; the weight may be shared."""

    def __init__(self, weight: nn.Parameter, bias: bool) -> None:
        super().__init__()
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(weight.size(0))) if bias else None

    def forward(self, hidden: Tensor) -> Tensor:
        return nn.functional.linear(hidden, self.weight, self.bias)

    def cross_entropy(self, hidden: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
        """Sum of the cross-entropy over positions, without storing all logits.

        Shape: (n, D), (n,) -> scalar.
        """
        return linear_cross_entropy(hidden, self.weight, self.bias, targets, smoothing)

    def log_probs(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Log probability of each target. Shape: (n, D), (n,) -> (n,)."""
        return linear_log_prob(hidden, self.weight, self.bias, targets)


def make_embedding(size: int, d_model: int, std: float | None = None) -> nn.Parameter:
    """Normally distributed embeddings (size, D); by default `std` is `1/sqrt(D)`.

    Times `sqrt(D)` they then have unit variance.
    """
    return nn.Parameter(torch.randn(size, d_model) * (d_model**-0.5 if std is None else std))
