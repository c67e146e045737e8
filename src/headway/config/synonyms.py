"""Other toolkits' names for settings and values of headway, for messages about unknown names.

Only names that are not alike: similar names are found without this table.
"""

OTHER_NAMES = {
    # Data and text
    "file": ("path",),
    "root": ("path",),
    "source": ("src",),
    "target": ("tgt", "trg"),
    "block": ("block_size", "context_length"),
    "valid": ("dev", "validation"),
    "day_first": ("dayfirst",),
    "text": ("sentence", "sentence1", "premise"),
    "text2": ("sentence2", "hypothesis"),
    "words": ("tokens",),
    "kind": ("tokenizer", "type"),
    "size": ("num_merges", "vocab_size", "vocabulary_size"),
    "device": ("cuda", "gpu", "use_cuda"),
    # Models
    "family": ("arch", "architecture", "model_type", "name", "type"),
    "d_model": ("embed_dim", "embedding_dim", "hidden_dim", "hidden_size", "n_embd", "rnn_size"),
    "d_ff": ("ff_size", "ffn_dim", "intermediate_size", "transformer_ff"),
    "layers": ("n_layer", "num_hidden_layers", "num_layers"),
    "encoder_layers": ("layers", "n_layer", "num_hidden_layers", "num_layers"),
    "n_heads": ("n_head", "num_attention_heads"),
    "score": ("attention",),
    "max_positions": ("n_ctx", "n_positions"),
    # Training
    "batch_tokens": ("batch_size", "max_tokens", "per_device_train_batch_size"),
    "steps": ("max_update", "num_steps", "updates"),
    "epochs": ("num_train_epochs",),
    "accumulate": ("accum_count", "gradient_accumulation_steps", "update_freq"),
    "clip": ("grad_clip", "max_grad_norm"),
    "patience": ("early_stopping",),
    "precision": ("amp", "bf16", "fp16", "mixed_precision"),
    "evaluate_every": ("eval_steps", "save_steps", "valid_steps", "validation_freq"),
    "inverse_sqrt": ("noam",),
    # Search
    "search": ("decode", "decoding", "testing"),
    "beam": ("num_beams",),
    "alpha": ("lenpen", "length_penalty"),
    "method": ("do_sample",),
    "max_length": ("max_new_tokens", "max_output_length"),
    # Tasks, families and tokenizers
    "language": ("lm",),
    "tag": ("ner",),
    "translate": ("mt",),
    "recurrent": ("gru", "lstm", "rnn"),
    "decoder": ("gpt", "gpt2"),
    "encoder": ("bert",),
    "unigram": ("sentencepiece",),
}
"""Names of other toolkits, by headway's name."""


def is_other_name(name: str, own: str) -> bool:
    """Whether other toolkits have `name` for what is `own` here."""
    return name in OTHER_NAMES.get(own, ())
