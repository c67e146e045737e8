"""A Transformer as a folder that Hugging Face's `from_pretrained` loads, without code of ours.

Three of its models are ours under other names: Marian has the norm after the residual sum, Pegasus
before it, both with fixed sinusoidal positions; Blenderbot has it before and stores its positions.
Their sines fill the first half of the channels and their cosines the second, where ours alternate:
the channels of the residual stream are written in their order, which makes the models equal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...models import Vocabularies
from ...models.transformer import Transformer, TransformerConfig
from ...text import Tokenizer
from ...text.specials import SPECIALS
from ..tensors import save_tensors
from .codec import write_tokenizer
from .obstacles import Obstacles

EPS, BASE = 1e-5, 10000.0  # what the layouts have built in
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "silu": "silu"}


@dataclass(frozen=True)
class Layout:
    """A model of the library.

    Attributes:
        architecture: the class that loads it.
        split_positions: sines in the first half of the channels, cosines in the second.
        stores_positions: the file holds them; otherwise they are made by the formula.
    """

    name: str
    architecture: str
    split_positions: bool
    stores_positions: bool

    @property
    def model_type(self) -> str:
        return self.name.lower()


MARIAN = Layout("Marian", "MarianMTModel", True, False)
PEGASUS = Layout("Pegasus", "PegasusForConditionalGeneration", True, True)
BLENDERBOT = Layout("Blenderbot", "BlenderbotForConditionalGeneration", False, True)


def layout_of(config: TransformerConfig) -> Layout:
    """The model that has this order of norm and sum, and these positions."""
    if config.residual == "post":
        return MARIAN
    return PEGASUS if _has_usual_positions(config) else BLENDERBOT


def obstacles(config: TransformerConfig, vocabularies: Vocabularies) -> list[str]:
    """The settings that none of the layouts can express."""
    c: Any = config
    found = Obstacles()
    if c.d_head * c.n_heads != c.d_model:
        found.add(
            "model.d_head", c.d_head, f"must be d_model / n_heads = {c.d_model / c.n_heads:g}"
        )
    if c.d_value != c.d_head:
        found.add("model.d_value", c.d_value, f"must be d_head = {c.d_head}")
    found.check_score(c.score)
    found.check_ends(c)
    if c.norm != "layer":
        found.add("model.norm", c.norm, "only layer normalisation")
    elif c.norm_eps != EPS:
        found.add("model.norm_eps", c.norm_eps, f"must be {EPS:g}")
    if c.gated:
        found.add("model.gated", c.gated, "no gates")
    if c.positions == "rotary":
        found.add("model.positions", c.positions, "positions are added to embeddings")
    if c.residual == "post":
        _post_norm(c, found)
    elif not vocabularies.shared:
        found.add("text.shared", False, "pre-norm layouts have one vocabulary")
    elif c.share != "all":
        found.add("model.share", c.share, "pre-norm layouts have one embedding matrix")
    return found.found


def _post_norm(c: Any, found: Obstacles) -> None:
    if c.share == "inputs":
        found.add("model.share", c.share, "an output layer of its own goes with share = none")
    # Marian would load a table, but leaves it out when somebody saves the model again.
    if c.positions in ("learned", "none"):
        found.add("model.positions", c.positions, "the post-norm layout has sinusoidal ones")
    elif c.positions == "sinusoidal" and c.position_base != BASE:
        found.add("model.position_base", c.position_base, f"must be {BASE:g} in post-norm")


def _has_usual_positions(config: TransformerConfig) -> bool:
    return config.positions == "sinusoidal" and config.position_base == BASE


def write_hugging_face(
    folder: Path,
    model: Transformer,
    source: Tokenizer,
    target: Tokenizer,
    n_positions: int,
    max_length: int,
    generation: Mapping[str, Any],
) -> None:
    """Fills an empty folder.

    Where source and target have vocabularies of their own, the tokenizer of the target goes to
    the subfolder `target`.

    Args:
        model: one without `obstacles`.
        n_positions: how many positions there are; learned ones have their own number.
        max_length: the longest input, in tokens, that the model was trained on.
        generation: settings of the search, as `generation_config.json` has them.
    """
    layout = layout_of(model.config)
    if model.config.positions == "learned":
        n_positions = model.config.max_positions
    tensors = _Writer(model, layout).tensors(n_positions)
    save_tensors(folder / "model.safetensors", tensors, {"format": "pt"})
    _write_json(folder / "config.json", _config(model, layout, source, target, n_positions))
    _write_json(folder / "generation_config.json", {**_ids(target), **generation})
    _write_tokenizer(folder, source, max_length)
    if target is not source:
        (folder / "target").mkdir()
        _write_tokenizer(folder / "target", target, max_length)


class _Writer:
    """Our weights under the names of the library, with the residual stream in its order."""

    def __init__(self, model: Transformer, layout: Layout) -> None:
        self.model, self.layout = model, layout
        channels = torch.arange(model.target_embedding.size(1))
        sines_first = torch.cat([channels[0::2], channels[1::2]])
        self.order = sines_first if layout.split_positions else channels
        self.found: dict[str, Tensor] = {}

    def tensors(self, n_positions: int) -> dict[str, Tensor]:
        model: Any = self.model
        for side in ("encoder", "decoder"):
            for i, layer in enumerate(getattr(model, side)):
                self._layer(f"model.{side}.layers.{i}", layer)
            if model.config.residual == "pre":
                self._norm(f"model.{side}.layer_norm", getattr(model, f"{side}_norm"))
        if self.layout.stores_positions:
            both = {"encoder": model.positions, "decoder": model.target_positions}
            for side, positions in both.items():
                table = position_table(positions, n_positions, model.config.d_model)
                self._reads(f"model.{side}.embed_positions", table)
        self._embeddings(model)
        return self.found

    def _embeddings(self, model: Any) -> None:
        share = model.config.share
        if share == "all":
            self._reads("model.shared", model.target_embedding)
        else:
            self._reads("model.encoder.embed_tokens", model.source_embedding)
            self._reads("model.decoder.embed_tokens", model.target_embedding)
        if share == "none":
            self._reads("lm_head", model.output.weight)
        bias = model.output.bias
        zeros = torch.zeros(model.output.weight.size(0))
        self.found["final_logits_bias"] = (zeros if bias is None else bias.detach().cpu())[None]

    def _layer(self, name: str, layer: Any) -> None:
        heads = layer.attention.out.in_features
        self._projections(f"{name}.self_attn", "qkv", layer.attention.qkv, heads)
        self._writes(f"{name}.self_attn.out_proj", layer.attention.out)
        self._norm(f"{name}.self_attn_layer_norm", layer.attention_residual.norm)
        if hasattr(layer, "cross"):
            self._projections(f"{name}.encoder_attn", "q", layer.cross.query, heads)
            self._projections(f"{name}.encoder_attn", "kv", layer.cross.kv, heads)
            self._writes(f"{name}.encoder_attn.out_proj", layer.cross.out)
            self._norm(f"{name}.encoder_attn_layer_norm", layer.cross_residual.norm)
        self._reads(f"{name}.fc1", layer.feed.inner.weight, _bias(layer.feed.inner))
        self._writes(f"{name}.fc2", layer.feed.outer)
        self._norm(f"{name}.final_layer_norm", layer.feed_residual.norm)

    def _projections(self, name: str, parts: str, packed: nn.Linear, width: int) -> None:
        weights, biases = packed.weight.split(width), _bias(packed).split(width)
        for part, weight, bias in zip(parts, weights, biases, strict=True):
            self._reads(f"{name}.{part}_proj", weight, bias)

    def _reads(self, name: str, weight: Tensor, bias: Tensor | None = None) -> None:
        """A matrix whose columns meet the residual stream."""
        self.found[f"{name}.weight"] = weight.detach().cpu()[:, self.order]
        if bias is not None:
            self.found[f"{name}.bias"] = bias.detach().cpu()

    def _writes(self, name: str, linear: nn.Linear) -> None:
        """A matrix whose rows meet the residual stream."""
        self.found[f"{name}.weight"] = linear.weight.detach().cpu()[self.order]
        self.found[f"{name}.bias"] = _bias(linear).detach().cpu()[self.order]

    def _norm(self, name: str, norm: nn.LayerNorm) -> None:
        for part in ("weight", "bias"):
            self.found[f"{name}.{part}"] = getattr(norm, part).detach().cpu()[self.order]


def _bias(linear: nn.Linear) -> Tensor:
    """Its bias; the layouts have one everywhere, so that none becomes zeros."""
    return torch.zeros(linear.out_features) if linear.bias is None else linear.bias


@torch.no_grad()
def position_table(positions: nn.Module, n_positions: int, d_model: int) -> Tensor:
    """What a module of positions adds at each of the first positions. Shape: (T, D)."""
    weight = getattr(positions, "weight", torch.empty(0))
    table: Tensor = positions(torch.zeros(n_positions, d_model, device=weight.device))
    return table.cpu().clone()


def _config(
    model: Transformer, layout: Layout, source: Tokenizer, target: Tokenizer, n_positions: int
) -> dict[str, Any]:
    c: Any = model.config
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in {
            "layers": getattr(c, f"{side}_layers"),
            "attention_heads": c.n_heads,
            "ffn_dim": c.d_ff,
        }.items()
    }
    marian = {
        "decoder_vocab_size": target.size,
        "share_encoder_decoder_embeddings": c.share == "all",
    }
    return {
        "architectures": [layout.architecture],
        "model_type": layout.model_type,
        "is_encoder_decoder": True,
        "vocab_size": source.size,
        **(marian if layout is MARIAN else {}),
        "d_model": c.d_model,
        **sides,
        "activation_function": ACTIVATIONS[c.activation],
        "dropout": c.dropout,
        "attention_dropout": c.attention_dropout,
        "activation_dropout": c.activation_dropout,
        "max_position_embeddings": n_positions,
        "scale_embedding": c.scale_embeddings,
        "tie_word_embeddings": c.share != "none",
        **_ids(target),
        # Habits of the original models that would change the search.
        "forced_eos_token_id": None,
        **({"encoder_no_repeat_ngram_size": 0} if layout is BLENDERBOT else {}),
    }


def _ids(target: Tokenizer) -> dict[str, int]:
    ids = target.specials
    # Marian starts from the padding token; any token will do, so ours is the begin mark.
    return {
        "pad_token_id": ids["pad"],
        "bos_token_id": ids["bos"],
        "eos_token_id": ids["eos"],
        "decoder_start_token_id": ids["bos"],
    }


def _write_tokenizer(folder: Path, tokenizer: Tokenizer, max_length: int) -> None:
    write_tokenizer(tokenizer, folder / "tokenizer.json")
    ids = tokenizer.specials
    names = {f"{special}_token": tokenizer.pieces[ids[special]] for special in SPECIALS}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **names,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # text that spells a control token is text
    }
    _write_json(folder / "tokenizer_config.json", settings)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
