"""What families read: embeddings of tokens, or input modules of vectors, for source and target.

A family gets its source by `read_source` and its target by `embed`, and does not know which they
are. The input modules are in `nn/inputs.py`.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn.convolution import make_linear
from ..nn.inputs import VectorInput, VectorInputConfig, usual_patch
from .family import Vectors, VocabularySizes, make_embedding

Embedding = nn.Parameter | nn.Module
"""A matrix with a row for each token, or a module that projects vectors."""


def embed(inputs: Tensor, weight: Embedding, scale: float) -> Tensor:
    """Embeddings of tokens (...), times `scale`, or projections of vectors (..., F) -> (..., D)."""
    if isinstance(weight, Tensor):
        return embedding(inputs, weight) * scale
    projected: Tensor = weight(inputs)
    return projected


def read_source(
    batch: Mapping[str, Tensor], weight: Embedding, scale: float
) -> tuple[Tensor, Tensor]:
    """The source of a batch, without positions, and its mask. Shape: -> (B, S, D), (B, S)."""
    if isinstance(weight, VectorInput):
        x, valid = weight(batch["src"], batch["src_valid"])
        return x, valid
    return embed(batch["src"], weight, scale), batch["src_valid"]


def resolve_input(given: VectorInputConfig | None, vocabularies: VocabularySizes) -> Any:
    """The setting `input` with all values; None if the source is tokens.

    Raises:
        ValueError: it is set, and the source is tokens.
    """
    if vocabularies.vectors is None:
        if given is not None:
            raise ValueError(
                "model.input is for vectors, and this task reads tokens; leave [model.input] out"
            )
        return None
    vectors = vocabularies.vectors
    return (given or VectorInputConfig()).resolve(vectors.patch or usual_patch(vectors.size))


def resolve_share(share: Any, vocabularies: VocabularySizes) -> Any:
    """The setting `share` with `auto` resolved: `all` with a shared vocabulary, else `target`.

    It is `none` if the target is vectors.
    """
    if share != "auto":
        return share
    if vocabularies.target_features:
        return "none"
    return "all" if vocabularies.shared else "target"


def make_embeddings(
    config: Any, vocabularies: VocabularySizes, std: float | None = None
) -> tuple[Embedding, Embedding, nn.Parameter]:
    """Embeddings of source and target, and the output matrix, by the setting `share`.

    `all` shares one matrix, `inputs` shares source and target, `target` shares target and output,
    `none` shares nothing.

    Raises:
        ValueError: a matrix would be shared that does not exist, or without a shared vocabulary.
    """
    share, d_model = config.share, config.d_model
    _check_share(share, vocabularies)
    if vocabularies.target_features:
        target: Embedding = make_linear(vocabularies.target_features, d_model)
    else:
        target = make_embedding(vocabularies.target, d_model, std)
    source = make_source(config, vocabularies, std) if share in ("target", "none") else target
    if isinstance(target, nn.Parameter) and share in ("all", "target"):
        return source, target, target
    n_outputs = vocabularies.target_outputs or vocabularies.target
    return source, target, make_embedding(n_outputs, d_model)


def _check_share(share: str, vocabularies: VocabularySizes) -> None:
    if share in ("all", "inputs") and vocabularies.vectors is not None:
        raise ValueError(
            f'model.share = "{share}" shares the embeddings of the source, which is vectors; set '
            'model.share = "target" or "none"'
        )
    if share != "none" and vocabularies.target_features:
        raise ValueError(
            f'model.share = "{share}" shares the embeddings of the target, which is vectors; set '
            'model.share = "none"'
        )
    if share in ("all", "inputs") and not vocabularies.shared:
        raise ValueError(
            f'model.share = "{share}" needs one vocabulary for source and target; '
            'set text.shared = true or model.share = "target"'
        )


def make_source(config: Any, vocabularies: VocabularySizes, std: float | None = None) -> Embedding:
    """The embeddings of a source of tokens, or the input module of a source of vectors.

    Raises:
        ValueError: positions number the patches of a grid whose width is not fixed, or there are
            more patches than learned positions.
    """
    vectors = vocabularies.vectors
    if vectors is None:
        return make_embedding(vocabularies.source, config.d_model, std)
    positions = getattr(config, "positions", "none")
    if is_grid(vectors) and not vectors.size[1] and positions not in ("sinusoidal", "none"):
        raise ValueError(
            f'positions = "{positions}" numbers the patches of a grid, which needs grids of one '
            'width, and these have several; set positions = "sinusoidal"'
        )
    base = getattr(config, "position_base", 10000.0) if positions == "sinusoidal" else None
    made = VectorInput(vectors.features, vectors.size, config.d_model, config.input, base)
    if positions == "learned" and made.length > config.max_positions:
        raise ValueError(
            f"max_positions = {config.max_positions} is less than the {made.length} patches "
            f"of an input; raise it to {made.length}, or set a larger model.input.patch"
        )
    return made


def is_grid(vectors: Vectors | None) -> bool:
    """Whether the source has two axes; its input module then adds sinusoidal positions."""
    return vectors is not None and len(vectors.size) == 2
