"""Small models of the library with random weights, saved as it saves them."""

from pathlib import Path
from typing import Any

import torch
import transformers

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
