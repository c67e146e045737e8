"""What a model family is: settings, a builder, how it learns, and what its models can do."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..nn.cross_entropy import linear_cross_entropy, linear_log_prob
from ..nn.dropout import Dropout
from ..nn.step import State

Head = Literal["linear", "words", "masked", "masked_next", "none"]
Ability = Literal["step", "score", "attend", "classify", "read"]

BACKBONE = "backbone"
"""Where a model that reads texts keeps all but its head."""


@dataclass(frozen=True)
class Vocabularies:
    """Sizes of the token sets a model reads and writes.

    Attributes:
        head: of a model that reads, what stands on its backbone: `linear` gives a logit for each of
            `target` labels, `masked` one for each of the `source` words in the place of a token,
            `masked_next` also tells whether the second of two texts follows the first, and with
            `none` there is the backbone alone; with `words` it writes, if it can do both.
    """

    source: int
    target: int
    shared: bool
    head: Head = "linear"


def _nothing() -> None:
    """What most families require."""


@dataclass(frozen=True)
class Family:
    """One line of the table in `models/__init__.py`.

    Attributes:
        config: a frozen dataclass with a field `family` and a method `resolve(n_examples,
            vocabularies)` that fills in whatever was left open.
        build: makes the module from resolved settings.
        abilities: `step` (can be searched), `score` (teacher-forced log probabilities), `attend`
            (has attention to look at), `classify` (gives a label), `read` (a `Reader`: it gives a
            state of each token and a vector of each text).
        learns: by gradient, or by counting the training data once.
        source: whether a batch must hold a source beside what is predicted (`needed`), may hold one
            (`optional`), or has none (`none`), as for a language model.
        count: of a family that learns by counting: the model of resolved settings and of what the
            task gives to count, which may be gone through several times: token sequences, each with
            its end mark, or pairs of one and the number of its label. All that was learned is in
            the model's buffers. `build` makes the same model with empty ones, and loading replaces
            them, whatever their shapes.
        require: raises `MissingExtra` where learning needs a package that is not there.
        encoder: how the names of weights begin that only serve to read a source.
    """

    name: str
    config: type[Any]
    build: Callable[[Any, Vocabularies], Any]
    abilities: frozenset[Ability]
    learns: Literal["gradient", "counting"] = "gradient"
    source: Literal["needed", "optional", "none"] = "needed"
    count: Callable[[Any, Vocabularies, Iterable[Any]], nn.Module] | None = None
    require: Callable[[], object] = _nothing
    encoder: tuple[str, ...] = ()


class SequenceModel(nn.Module):
    """A model that writes sequences, as tasks see it: hidden states and an output layer apart.

    A batch holds `src (B, S)`, `src_valid (B, S)` and, for teacher forcing, `tgt_in (B, T)`. A
    language model has no source: it takes the number of sentences from any tensor of the batch.
    `start` and `step` are those of `nn.step.StepModel`.
    """

    output: "Output"

    @abstractmethod
    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D) for `output`."""

    @abstractmethod
    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State: ...

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]: ...


class Reader(nn.Module):
    """A model that reads texts, as tasks see it: what it makes of them, and an output layer apart.

    All but `output` is in the backbone, which may be used with another head. A batch holds
    `src (B, S)` and `src_valid (B, S)`, each text with its end mark; where it holds pairs of texts,
    `segment (B, S)` tells the second (1) from the first (0). A family that learns by counting has
    `logits` alone.

    Args:
        backbone: from a batch to a state of each token (B, S, D) and a vector of each text (B, D).
        n_outputs: labels, or whatever else there is one logit of.
        dropout: rate before the output layer, in training.
    """

    def __init__(self, backbone: nn.Module, n_outputs: int, dropout: float) -> None:
        super().__init__()
        self.backbone = backbone
        c: Any = backbone.config
        self.config = c
        self.dropout = Dropout(dropout)
        self.output = Output(make_embedding(n_outputs, c.d_model), bias=True)

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What the backbone gives."""
        states, pooled = self.backbone(batch)
        return states, pooled

    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Of each text (B, V)."""
        found: Tensor = self.output(self.dropout(self(batch)[1]))
        return found

    def token_logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Of each token (B, S, V)."""
        found: Tensor = self.output(self.dropout(self(batch)[0]))
        return found


class Output(nn.Module):
    """The final linear layer, `logits = hidden @ weight.T + bias`; the weight may be shared."""

    def __init__(self, weight: nn.Parameter, bias: bool) -> None:
        super().__init__()
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(weight.size(0))) if bias else None

    def forward(self, hidden: Tensor) -> Tensor:
        return nn.functional.linear(hidden, self.weight, self.bias)

    def cross_entropy(self, hidden: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
        """Sum over positions, without ever holding all logits. (n, D), (n,) -> scalar."""
        return linear_cross_entropy(hidden, self.weight, self.bias, targets, smoothing)

    def log_probs(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Log probability of each target. (n, D), (n,) -> (n,)."""
        return linear_log_prob(hidden, self.weight, self.bias, targets)


def make_embeddings(
    share: str, vocabularies: Vocabularies, d_model: int, std: float | None = None
) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    """Weights of source, target and output: one matrix (`all`), two or three (`none`).

    With two it is source and target (`inputs`), or target and output (`target`), that share one.

    Raises:
        ValueError: one matrix for two vocabularies.
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
    """Normal with standard deviation `1/sqrt(D)`: times sqrt(D) they have unit variance."""
    return nn.Parameter(torch.randn(size, d_model) * (d_model**-0.5 if std is None else std))
