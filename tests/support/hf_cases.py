"""Small models of transformers with random weights, their outputs, and changed folders."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from headway.config import parse
from headway.errors import RunError
from headway.interop.hugging_face.architecture import Architecture
from headway.interop.hugging_face.config_map import ConfigReader
from headway.interop.hugging_face.folder import Folder
from headway.interop.hugging_face.model_files import HuggingFaceModel, read_model
from headway.models import FAMILIES

CLOSE = {"rtol": 0, "atol": 1e-4}
VOCABULARY = 30

SEQ2SEQ = {
    "vocab_size": 30,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 32,
    "pad_token_id": 29,
    "bos_token_id": 1,
    "eos_token_id": 0,
    "decoder_start_token_id": 29,
    "forced_eos_token_id": 0,
}
DECODER = {
    "vocab_size": 30,
    "n_embd": 16,
    "n_layer": 3,
    "n_head": 2,
    "n_positions": 32,
    "bos_token_id": 29,
    "eos_token_id": 29,
}
NEOX = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
    "use_parallel_residual": False,
    "rotary_pct": 1.0,
    "bos_token_id": 29,
    "eos_token_id": 29,
}
ENCODER = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 34,
    "type_vocab_size": 2,
}
DISTILLED = {
    "vocab_size": 30,
    "dim": 16,
    "n_layers": 3,
    "n_heads": 2,
    "hidden_dim": 24,
    "max_position_embeddings": 32,
}
SPANS = {
    "vocab_size": 30,
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 6,
    "decoder_start_token_id": 0,
}
SIZES = {
    "T5": SPANS,
    "GPT2": DECODER,
    "GPTNeoX": NEOX,
    "Bert": ENCODER,
    "Roberta": {**ENCODER, "type_vocab_size": 1, "pad_token_id": 1},
    "DistilBert": DISTILLED,
    "Bart": SEQ2SEQ,
    "Marian": SEQ2SEQ,
    "Pegasus": SEQ2SEQ,
    "Blenderbot": SEQ2SEQ,
}


def make(kind: str, **settings: Any) -> Any:
    """A model by the name of its class, with weights in which a mistake shows."""
    base = next(sizes for name, sizes in SIZES.items() if kind.startswith(name))
    model_class = getattr(transformers, kind)
    torch.manual_seed(1)
    model = model_class(model_class.config_class(**{**base, **settings}))
    with torch.no_grad():
        for parameter in model.parameters():
            # Gains and biases start at 1 and 0, and weights so small that activations are linear.
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn_like(parameter))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    model.tie_weights()
    return model.eval()


def save(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    return folder


def changed(
    folder: Path, out: Path, tensors: dict[str, Tensor | None] | None = None, **config: Any
) -> Path:
    """A copy with other tensors and other entries in config.json; None removes one."""
    out.mkdir()
    entries = {**json.loads((folder / "config.json").read_text()), **config}
    kept = {name: value for name, value in entries.items() if value is not None}
    (out / "config.json").write_text(json.dumps(kept))
    weights = {**load_file(folder / "model.safetensors"), **(tensors or {})}
    present = {name: tensor for name, tensor in weights.items() if tensor is not None}
    save_file(present, out / "model.safetensors", {"format": "pt"})
    return out


def refusal(folder: Path) -> str:
    """The message with which the import of a folder is refused; always one line."""
    with pytest.raises(RunError) as caught:
        read_model(Folder(folder))
    message = str(caught.value)
    assert "\n" not in message
    return message


def sequences(seed: int, *lengths: int) -> tuple[Tensor, Tensor]:
    """Random tokens and where they are valid, a row for each length. Shapes: (B, S)."""
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, VOCABULARY, (len(lengths), max(lengths)), generator=draw)
    return tokens, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def segments_of(src: Tensor) -> Tensor:
    return (torch.arange(src.size(1)) > 2).long().expand_as(src)


@torch.inference_mode()
def their_outputs(model: Any) -> dict[str, Tensor]:
    """All outputs of a model of transformers, without those of padding."""
    src, src_valid = sequences(1, 5, 1, 9)
    tgt, tgt_valid = sequences(2, 7, 4, 2)
    if model.config.is_encoder_decoder:
        outputs = model(input_ids=src, attention_mask=src_valid.long(), decoder_input_ids=tgt)
        return {"logits": outputs.logits[tgt_valid]}
    if model.config.model_type in ("gpt2", "gpt_neox"):
        return {"logits": model(input_ids=tgt, attention_mask=tgt_valid.long()).logits[tgt_valid]}
    pad = model.config.pad_token_id
    inputs = {"input_ids": src.where(src_valid, pad), "attention_mask": src_valid.long()}
    if getattr(model.config, "type_vocab_size", 1) == 2:
        inputs["token_type_ids"] = segments_of(src)
    outputs = model(**inputs, output_hidden_states=True)
    token_logits = outputs.get("prediction_logits", outputs.get("logits"))
    named = {
        "states": outputs.hidden_states[-1][src_valid],
        "logits": None if token_logits is None else token_logits[src_valid],
        "pooled": outputs.get("pooler_output"),
        "next": outputs.get("seq_relationship_logits"),
    }
    return {name: value for name, value in named.items() if value is not None}


@torch.inference_mode()
def our_outputs(model: Any, names: Iterable[str]) -> dict[str, Tensor]:
    """The outputs of a model of ours on the same inputs."""
    src, src_valid = sequences(1, 5, 1, 9)
    tgt, tgt_valid = sequences(2, 7, 4, 2)
    batch = {"src": src, "src_valid": src_valid, "tgt_in": tgt, "segment": segments_of(src)}
    if not hasattr(model, "backbone"):
        return {"logits": model.output(model(batch))[tgt_valid]}
    states, pooled = model(batch)
    ways = {
        "states": lambda: states[src_valid],
        "logits": lambda: model.token_logits(batch)[src_valid],
        "pooled": lambda: pooled,
        "next": lambda: model.logits(batch),
    }
    return {name: ways[name]() for name in names}


def our_logits(model: Any) -> Tensor:
    return our_outputs(model, ["logits"])["logits"]


def model_config(architecture: Architecture, names: Iterable[str] = (), **entries: Any) -> Any:
    """Our settings for a `config.json` with these entries, which all can be expressed.

    Args:
        names: of the tensors in the folder.
    """
    reader = ConfigReader(entries, frozenset(names))
    settings = architecture.read(reader)
    assert reader.obstacles.messages == []
    return parse(settings, FAMILIES[architecture.family].config, "config.json")


def read_folder(path: Path) -> HuggingFaceModel:
    return read_model(Folder(path))
