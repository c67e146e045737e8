"""Converts a Transformer to a folder that CTranslate2 loads.

CTranslate2's own converters read the files of other toolkits. This file fills the library's model
specification itself, which keeps every vocabulary row and every variant that the engine has.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import MissingExtra
from ...models.transformer import Transformer, TransformerConfig
from ...text import Tokenizer
from ..hugging_face.config_map import check_value_width
from ..hugging_face.tokenizer_files import write_tokenizer
from ..hugging_face.weight_map import position_table
from ..unsupported import UnsupportedSettings

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


def obstacles(config: TransformerConfig) -> list[str]:
    """The settings that the engine cannot compute, each with the reason."""
    unsupported = UnsupportedSettings()
    check_value_width(config, unsupported)
    if config.score != "scaled_dot":
        unsupported.add("model.score", config.score, "only scaled dot products")
    if config.embedding_norm:
        unsupported.add("model.embedding_norm", True, "no norm after the embeddings")
    if config.positions == "relative":
        unsupported.add("model.positions", "relative", "positions are added to embeddings")
    if config.scale_output:
        reason = "hidden states go as they are to the output layer"
        unsupported.add("model.scale_output", True, reason)
    return unsupported.messages


def write_ctranslate2(
    folder: Path,
    model: Transformer,
    source: Tokenizer,
    target: Tokenizer,
    n_positions: int,
    quantization: str,
) -> None:
    """Writes model, vocabularies and tokenizers into an empty folder.

    Args:
        model: one without `obstacles`.
        n_positions: length of the position table; learned positions keep their own.
        quantization: how weights are stored, in the engine's words.

    Raises:
        MissingExtra: the package is not installed.
    """
    if model.config.positions == "learned":
        n_positions = model.config.max_positions
    spec = _spec(model, n_positions)
    spec.register_source_vocabulary(source.pieces)
    spec.register_target_vocabulary(target.pieces)
    names = {name: target.pieces[index] for name, index in target.specials.items()}
    spec.config.bos_token = spec.config.decoder_start_token = names["bos"]
    spec.config.eos_token, spec.config.unk_token = names["eos"], names["unk"]
    spec.config.layer_norm_epsilon = model.config.norm_eps
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))
    if source is target:
        write_tokenizer(source, folder / "tokenizer.json")
    else:
        write_tokenizer(source, folder / "source.tokenizer.json")
        write_tokenizer(target, folder / "target.tokenizer.json")


def _spec(model: Transformer, n_positions: int) -> Any:
    """The filled specification of the model."""
    try:
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError:
        raise MissingExtra("writing a CTranslate2 model", "ctranslate2", "ctranslate2") from None
    c: Any = model.config
    common = {
        "num_heads": c.n_heads,
        "pre_norm": c.residual == "pre",
        "activation": common_spec.Activation[ACTIVATIONS[c.activation]],
        "ffn_glu": c.gated,
        "rms_norm": c.norm == "rms",
    }
    if c.d_head * c.n_heads != c.d_model:
        common["head_dim"] = c.d_head
    if c.positions == "rotary":
        common |= {"rotary_dim": 0, "rotary_interleave": True, "rotary_base": c.position_base}
    encoder = transformer_spec.TransformerEncoderSpec(c.encoder_layers, **common)
    decoder = transformer_spec.TransformerDecoderSpec(c.decoder_layers, **common)
    _fill_side(encoder, model.encoder, model.encoder_norm, c)
    _fill_side(decoder, model.decoder, model.decoder_norm, c)
    encoder.embeddings[0].weight = _plain(model.source_embedding)
    decoder.embeddings.weight = _plain(model.target_embedding)
    decoder.projection.weight = _plain(model.output.weight)
    if model.output.bias is not None:
        decoder.projection.bias = _plain(model.output.bias)
    if c.positions != "rotary":
        for side, positions in ((encoder, model.positions), (decoder, model.target_positions)):
            side.position_encodings.encodings = position_table(positions, n_positions, c.d_model)
    return transformer_spec.TransformerSpec(encoder, decoder)


def _fill_side(spec: Any, layers: nn.ModuleList, last_norm: nn.Module, c: Any) -> None:
    spec.scale_embeddings = c.scale_embeddings
    if c.residual == "pre":
        _fill_norm(spec.layer_norm, last_norm)
    for part, layer in zip(spec.layer, layers, strict=True):
        _fill_layer(part, layer)


def _fill_layer(spec: Any, layer: Any) -> None:
    _fill_linear(spec.self_attention.linear[0], layer.attention.qkv)
    _fill_linear(spec.self_attention.linear[1], layer.attention.out)
    _fill_norm(spec.self_attention.layer_norm, layer.attention_residual.norm)
    if hasattr(layer, "cross"):
        linears = (layer.cross.query, layer.cross.kv, layer.cross.out)
        for part, linear in zip(spec.attention.linear, linears, strict=True):
            _fill_linear(part, linear)
        _fill_norm(spec.attention.layer_norm, layer.cross_residual.norm)
    if layer.feed.gate is None:
        _fill_linear(spec.ffn.linear_0, layer.feed.inner)
    else:
        _fill_linear(spec.ffn.linear_0, layer.feed.gate)
        _fill_linear(spec.ffn.linear_0_noact, layer.feed.inner)
    _fill_linear(spec.ffn.linear_1, layer.feed.outer)
    _fill_norm(spec.ffn.layer_norm, layer.feed_residual.norm)


def _fill_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _plain(linear.weight)
    if linear.bias is not None:
        spec.bias = _plain(linear.bias)


def _fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma = _plain(norm.weight)
    if hasattr(spec, "beta"):
        spec.beta = _plain(norm.bias)


def _plain(tensor: Tensor) -> Tensor:
    """A float32 copy on the CPU; the library quantises in place."""
    return tensor.detach().cpu().to(torch.float32, copy=True)
