"""The contract of model families: the row `Family`, and base classes of the models that it builds.

Also the output layer and the embeddings that most families use. The families themselves are one
file each; losses and search are in other rooms.
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
Ability = Literal["step", "score", "attend", "classify", "read"]

BACKBONE = "backbone"
"""Attribute of encoder models that has all but the head."""


@dataclass(frozen=True)
class VocabularySizes:
    """Sizes of a model's input and output vocabularies, and the head of an encoder.

    Attributes:
        head: `linear` gives logits of `target` labels; `masked` gives logits of the `source` tokens
            at each position; `masked_next` also predicts whether the second of two texts follows
            the first; `none` is the backbone alone; `words` builds a model that decodes, in
            families that do both.
    """

    source: int
    target: int
    shared: bool
    head: Head = "linear"


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
            `EncoderModel`: a state of each token and a vector of each text).
        learns: by gradient, or by counting the training data once.
        source: whether a batch must have a source (`needed`), may have one (`optional`), or has
            none (`none`), as for a language model.
        count: makes a counting model from resolved settings and examples: token sequences that end
            with EOS, or pairs of a sequence and a label index. It may iterate over them several
            times. The model keeps its counts in buffers; `build` makes the same model with empty
            buffers, and loading replaces them, whatever their shapes.
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

    A batch has `src (B, S)`, `src_valid (B, S)` and, for teacher forcing, `tgt_in (B, T)`. A
    language model has no source and takes the batch size from any tensor of the batch. `start` and
    `step` are those of `nn.decoding.StepModel`.

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
        backbone: from a batch to a state of each token (B, S, D) and a vector of each text (B, D).
        n_outputs: number of logits, such as one per label.
        dropout: rate before the output layer.
    """

    def __init__(self, backbone: nn.Module, n_outputs: int, dropout: float) -> None:
        super().__init__()
        self.backbone = backbone
        c: Any = backbone.config
        self.config = c
        self.dropout = Dropout(dropout)
        self.output = OutputLayer(make_embedding(n_outputs, c.d_model), bias=True)

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D) and a vector of each text (B, D), from the backbone."""
        states, pooled = self.backbone(batch)
        return states, pooled

    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Logits of each text (B, V)."""
        logits: Tensor = self.output(self.dropout(self(batch)[1]))
        return logits

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


def resolve_share(share: Any, vocabularies: VocabularySizes) -> Any:
    """The setting `share` with `auto` resolved: `all` with a shared vocabulary, else `target`."""
    if share != "auto":
        return share
    return "all" if vocabularies.shared else "target"


def make_embeddings(
    share: str, vocabularies: VocabularySizes, d_model: int, std: float | None = None
) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    """Embeddings of source and target, and the output matrix.

    `all` shares one matrix, `inputs` shares source and target, `target` shares target and output,
    `none` shares nothing.

    Raises:
        ValueError: source and target share a matrix but no vocabulary.
    """
    if share in ("all", "inputs") and not vocabularies.shared:
        raise ValueError(
            f'model.share = "{share}" needs one vocabulary for source and target; '
            'set text.shared = true or model.share = "target"'
        )
    source = target = output = make_embedding(vocabularies.target, d_model, std)
    if share in ("target", "none"):
        source = make_embedding(vocabularies.source, d_model, std)
    if share in ("inputs", "none"):
        output = make_embedding(vocabularies.target, d_model)
    return source, target, output


def make_embedding(size: int, d_model: int, std: float | None = None) -> nn.Parameter:
    """Normally distributed embeddings (size, D); by default `std` is `1/sqrt(D)`.

    Times `sqrt(D)` they then have unit variance.
    """
    return nn.Parameter(torch.randn(size, d_model) * (d_model**-0.5 if std is None else std))
