"""Small models with random weights as Hugging Face's transformers saves them, to be imported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers
from tokenizers import pre_tokenizers as pre

ENCODER = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 40,
}
PAIR = {
    "d_model": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": 40,
}
SPANS = {"d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2}
DISTILLED = {"dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}
WRITER = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 40}
Made = tuple[Tokenizer, dict[str, str]]


def _pieces(texts: list[str]) -> Made:
    """BERT's word pieces."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=names, show_progress=False)
    made.train_from_iterator(texts, trainer)
    _frame(made, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return made, {name.strip("[]").lower(): name for name in names}


def _bytes(texts: list[str], names: list[str]) -> Tokenizer:
    """Pairs of bytes, as GPT-2 and BART have them."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=280,
        special_tokens=names,
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    return made


def _one_mark(texts: list[str]) -> Made:
    return _bytes(texts, ["<|endoftext|>"]), dict.fromkeys(("bos", "eos", "unk"), "<|endoftext|>")


def _framed_bytes(texts: list[str]) -> Made:
    made = _bytes(texts, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    _frame(made, "<s> $A </s>", "<s> $A </s> </s> $B </s>")
    names = {"pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    return made, names | {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>"}


def _letters(texts: list[str], names: list[str]) -> Made:
    """Letters with a sign for a space, as a unigram model: Marian's and T5's kind."""
    letters = sorted({letter for text in texts for letter in text if letter != " "})
    pieces = [(name, 0.0) for name in names] + [(one, -3.0) for one in ["▁", "▁the", *letters]]
    made = Tokenizer(models.Unigram(pieces, unk_id=names.index("<unk>")))
    made.pre_tokenizer = pre.Metaspace(prepend_scheme="always")
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    made.add_special_tokens(names)
    _frame(made, "$A </s>", "$A </s> $B </s>")
    return made, {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}


def _frame(made: Tokenizer, single: str, pair: str) -> None:
    used = {part.split(":")[0] for part in pair.split() if not part.startswith("$")}
    tokens = [(name, made.token_to_id(name)) for name in sorted(used)]
    made.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=tokens
    )


FOREIGN: dict[str, tuple[str, Callable[[list[str]], Made], dict[str, Any]]] = {
    "bert": ("BertForPreTraining", _pieces, ENCODER),
    "bert-bare": ("BertModel", _pieces, ENCODER),
    "bert-labels": (
        "BertForSequenceClassification",
        _pieces,
        {**ENCODER, "id2label": {0: "worse", 1: "same", 2: "better"}},
    ),
    "roberta": ("RobertaForMaskedLM", _framed_bytes, {**ENCODER, "type_vocab_size": 1}),
    "distilbert": (
        "DistilBertForMaskedLM",
        _pieces,
        {**DISTILLED, "max_position_embeddings": 40},
    ),
    "gpt2": ("GPT2LMHeadModel", _one_mark, WRITER),
    "t5": (
        "T5ForConditionalGeneration",
        lambda texts: _letters(texts, ["<pad>", "</s>", "<unk>"]),
        SPANS,
    ),
    "bart": ("BartForConditionalGeneration", _framed_bytes, PAIR),
    "marian": (
        "MarianMTModel",
        lambda texts: _letters(texts, ["</s>", "<unk>", "<pad>"]),
        PAIR,
    ),
}
"""Class, tokenizer and sizes of each."""


def make_foreign(name: str, folder: Path, texts: list[str]) -> None:
    """Writes one of `FOREIGN`, whose tokenizer was learned from `texts`."""
    kind, make_tokenizer, sizes = FOREIGN[name]
    tokenizer, names = make_tokenizer(texts)
    ids = {role: tokenizer.token_to_id(token) for role, token in names.items()}
    settings = {**sizes, "vocab_size": tokenizer.get_vocab_size()}
    settings |= {f"{role}_token_id": ids.get(role) for role in ("pad", "bos", "eos")}
    if name in ("marian", "bart", "t5"):
        start = ids["eos"] if name == "bart" else ids["pad"]
        settings |= {"decoder_start_token_id": start, "forced_eos_token_id": None}
    model_class = getattr(transformers, kind)
    torch.manual_seed(1)
    model = model_class(model_class.config_class(**settings))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # gains and biases begin where a mistake would not show
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.tie_weights()
    model.save_pretrained(folder)
    named = {f"{role}_token": token for role, token in names.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(
        folder
    )
