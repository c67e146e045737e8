"""Folders as transformers writes them: small random models, each with a tokenizer of its kind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers
from tokenizers import pre_tokenizers as pre

TEXTS = [
    "the cat sat on the mat",
    "a dog, isn't it?",
    "Кот сел на коврик",
    "ein Hund läuft über die Straße",
    "12 men in 3 boats!",
]
SEQ2SEQ = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
}
ENCODER = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 66,
}


def _bytes(names: list[str]) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS * 3,
        trainers.BpeTrainer(
            vocab_size=300, special_tokens=names, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return made


def _spaces(names: list[str]) -> Tokenizer:
    """Characters with ▁ for a space, as a unigram model."""
    characters = sorted({character for text in TEXTS for character in text if character != " "})
    pieces = [(name, 0.0) for name in names] + [(c, -3.0) for c in ["▁", "▁the", *characters]]
    made = Tokenizer(models.Unigram(pieces, unk_id=names.index("<unk>")))
    made.pre_tokenizer = pre.Metaspace(prepend_scheme="always")
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    made.add_special_tokens(names)
    return made


def _framed(made: Tokenizer, single: str, pair: str) -> Tokenizer:
    used = {part.split(":")[0] for part in pair.split() if not part.startswith("$")}
    tokens = [(name, made.token_to_id(name)) for name in sorted(used)]
    made.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=tokens
    )
    return made


def gpt2() -> tuple[Tokenizer, dict[str, str]]:
    return _bytes(["<|endoftext|>"]), dict.fromkeys(("bos", "eos", "unk"), "<|endoftext|>")


def bart() -> tuple[Tokenizer, dict[str, str]]:
    made = _bytes(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    names = {"pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    names |= {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>"}
    return _framed(made, "<s> $A </s>", "<s> $A </s> </s> $B </s>"), names


def bert() -> tuple[Tokenizer, dict[str, str]]:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=tokens, show_progress=False)
    made.train_from_iterator(TEXTS * 3, trainer)
    names = {name.strip("[]").lower(): name for name in tokens}
    return _framed(made, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"), names


def marian() -> tuple[Tokenizer, dict[str, str]]:
    made = _spaces(["</s>", "<unk>"])
    made.add_special_tokens(["<pad>"])
    return _framed(made, "$A </s>", "$A </s> $B </s>"), {
        "pad": "<pad>",
        "eos": "</s>",
        "unk": "<unk>",
    }


def t5() -> tuple[Tokenizer, dict[str, str]]:
    made = _spaces(["<pad>", "</s>", "<unk>"])
    made.add_special_tokens(["<extra_id_1>", "<extra_id_0>"])
    return _framed(made, "$A </s>", "$A </s> $B </s>"), {
        "pad": "<pad>",
        "eos": "</s>",
        "unk": "<unk>",
    }


KINDS: dict[str, tuple[str, Callable[[], tuple[Tokenizer, dict[str, str]]], dict[str, Any]]] = {
    "gpt2": (
        "GPT2LMHeadModel",
        gpt2,
        {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    ),
    "marian": ("MarianMTModel", marian, SEQ2SEQ),
    "bart": ("BartForConditionalGeneration", bart, SEQ2SEQ),
    "t5": (
        "T5ForConditionalGeneration",
        t5,
        {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2},
    ),
    "bert": ("BertForPreTraining", bert, ENCODER),
    "sentences": ("BertModel", bert, ENCODER),
    "distilbert": (
        "DistilBertForMaskedLM",
        bert,
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 66},
    ),
    "roberta": ("RobertaForMaskedLM", bart, {**ENCODER, "type_vocab_size": 1}),
}
HEADS = {
    "labels": ("SequenceClassification", {"id2label": {0: "worse", 1: "same", 2: "better"}}),
    "value": ("SequenceClassification", {"id2label": {0: "LABEL_0"}}),
    "tags": ("TokenClassification", {"id2label": {0: "B-X", 1: "O", 2: "I-X"}}),
    "answer": ("QuestionAnswering", {}),
}
"""What models that read are trained further for."""
for _name in ("bert", "roberta", "distilbert"):
    _kind, _make_tokenizer, _sizes = KINDS[_name]
    for _head, (_class, _names) in HEADS.items():
        KINDS[f"{_name}-{_head}"] = (
            f"{_kind.partition('For')[0]}For{_class}",
            _make_tokenizer,
            {**_sizes, **_names},
        )


def make_folder(name: str, folder: Path, extra_rows: int = 0, **changes: Any) -> Path:
    """Writes one of `PREDICTORS`.

    Args:
        extra_rows: of the embeddings, beyond what the tokenizer has.
        changes: other sizes.
    """
    kind, make_tokenizer, sizes = KINDS[name]
    tokenizer, names = make_tokenizer()
    ids = {role: tokenizer.token_to_id(token) for role, token in names.items()}
    known = {f"{role}_token_id": ids.get(role) for role in ("pad", "bos", "eos")}
    start = {"bart": ids.get("eos")}.get(name, ids.get("pad"))
    settings = {**sizes, **known, "vocab_size": tokenizer.get_vocab_size() + extra_rows}
    settings |= changes
    if name in ("marian", "bart", "t5"):
        settings |= {"decoder_start_token_id": start, "forced_eos_token_id": None}
    model_class = getattr(transformers, kind)
    torch.manual_seed(1)
    model = model_class(model_class.config_class(**settings))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # positions that a formula gives do not
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.tie_weights()
    model.save_pretrained(folder)
    named = {f"{role}_token": token for role, token in names.items()}
    saved = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
    saved.save_pretrained(folder)
    if name == "sentences":
        _lay_beside(folder)
    return folder


def _lay_beside(folder: Path) -> None:
    """What sentence-transformers adds."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 40}))
    (folder / "1_Pooling").mkdir()
    pooling = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
