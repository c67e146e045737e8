"""Speed of fine-tuning in headway beside a plain loop over Hugging Face's BERT: the same work.

A classifier of two labels, all of whose weights are trained. Same weights to begin with, same
padded batches in the same order, same optimiser, threads, places of dropout, allocator and wait
policy; rounds of the contestants take turns. Progress goes to standard error; the last line, on
standard output, is JSON.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from alike import start_alike
from rounds import (
    DROPOUT,
    OURS,
    PLAIN,
    SEED,
    Contestant,
    Examples,
    Headway,
    TorchLoop,
    check_same_model,
    draw_words,
    figures,
    parse_rounds,
    rounds_parser,
    run_rounds,
    say,
    say_figures,
    tokens_in,
    update_batches,
)
from torch import Tensor, nn

from headway.data.codecs.text import TextConfig
from headway.data.collate import source_batch
from headway.data.config import Corpus
from headway.data.formats.read import read
from headway.errors import ConfigError, HeadwayError, MissingExtra
from headway.inference.load import load
from headway.interop.hugging_face import ARCHITECTURES
from headway.interop.unsupported import UnsupportedSettings
from headway.models import FAMILIES, EncoderModel, VocabularySizes
from headway.tasks.base import Batch
from headway.tasks.classify import Classify, LabelLoss
from headway.text import BOS, EOS

PEER = "huggingface"
N_LABELS = 2
SENTENCES = 20_000
LONGEST = 64  # tokens of a synthetic text
NO_LABEL = -100  # nothing is left out of the loss


@dataclass(frozen=True)
class Setting:
    """What differs between two comparisons. `tokens` is per update, padding included."""

    name: str
    attention_dropout: float
    tokens: int
    updates: int


SETTINGS = (
    # What users of the library have: weights of attention are dropped, and no kernel is fused.
    Setting("attention dropout 0.1", 0.1, 512, updates=8),
    Setting("attention dropout 0", 0.0, 512, updates=8),
)


# The model that is tuned


@dataclass(frozen=True)
class Start:
    """What fine-tuning starts from.

    Attributes:
        config: resolved settings of an encoder.
        vocabulary: rows of its embeddings.
        backbone: its weights; those of a fresh model if None.
        codecs: the folder of its tokenizer.
    """

    config: Any
    vocabulary: int
    backbone: Mapping[str, Tensor] | None = None
    codecs: Path | None = None


def bert(layers: int = 6, d_model: int = 384, n_heads: int = 12, vocabulary: int = 30522) -> Start:
    """A BERT with random weights; by default of the size of MiniLM."""
    config = FAMILIES["encoder"].config(
        preset="bert-tiny", layers=layers, d_model=d_model, n_heads=n_heads, d_ff=4 * d_model
    )
    return Start(config.resolve(0, _sizes(vocabulary)), vocabulary)


def from_run(path: str) -> Start:
    """The encoder of a run, imported or trained here.

    Raises:
        ConfigError: it is none that Hugging Face's BERT can be.
    """
    run = load(path, device="cpu")
    config, backbone = run.config.model, getattr(run.model, "backbone", None)
    if config.family != "encoder" or backbone is None:
        raise ConfigError(f"{path} has model.family = {config.family!r}; expected an encoder")
    vocabulary = len(backbone.embedding)
    obstacles = UnsupportedSettings()
    for setting in ARCHITECTURES["bert"].settings:
        setting.check(config, obstacles)
    if obstacles.messages:
        reasons = ", ".join(obstacles.messages)
        raise ConfigError(f"{path} is no BERT: {reasons}; give another run")
    return Start(config, vocabulary, backbone.state_dict(), run.run.codecs)


def _sizes(vocabulary: int, head: Any = "linear") -> VocabularySizes:
    return VocabularySizes(vocabulary, N_LABELS, shared=True, head=head)


def headway_model(start: Start, attention_dropout: float, dropout: float = DROPOUT) -> EncoderModel:
    """The classifier, with a fresh head."""
    config = replace(start.config, dropout=dropout, attention_dropout=attention_dropout)
    torch.manual_seed(SEED)
    model: EncoderModel = FAMILIES["encoder"].build(config, _sizes(start.vocabulary))
    if start.backbone is not None:
        model.backbone.load_state_dict(start.backbone)
    return model


class Pooled(nn.Module):
    """The library's BERT without its pooler, as users write it for models of sentences."""

    def __init__(self, config: Any, pooling: str) -> None:
        super().__init__()
        from transformers import BertModel

        self.bert = BertModel(config, add_pooling_layer=False)
        self.pooling = pooling
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state  # (B, S, D)
        if self.pooling == "first":
            vector = states[:, 0]
        else:
            valid = attention_mask[:, :, None].to(states.dtype)
            vector = (states * valid).sum(1) / valid.sum(1)
        logits: Tensor = self.classifier(self.dropout(vector))
        return logits


def hugging_face_model(ours: EncoderModel, attention: str = "sdpa") -> nn.Module:
    """The library's model with the same settings and weights; nothing is loaded.

    Args:
        attention: which of the library's implementations; `sdpa` is its default.
    """
    try:
        from transformers import BertConfig, BertForSequenceClassification
    except ImportError:
        raise MissingExtra("benchmarks/tune_speed.py", "transformers", "test") from None
    size = ours.backbone.get_parameter("embedding").size(0)
    settings = ARCHITECTURES["bert"].write(ours.config, _sizes(size, "none"))
    settings |= {"num_labels": N_LABELS, "attn_implementation": attention}
    config = BertConfig(**settings)
    is_usual = ours.config.pooler
    theirs = (
        BertForSequenceClassification(config) if is_usual else Pooled(config, ours.config.pooling)
    )
    copy_weights(ours, theirs)
    return theirs


def hugging_face_layout(tensors: Mapping[str, Tensor], config: Any) -> dict[str, Tensor]:
    """Tensors by the names of our parameters (weights or their gradients), as the library has them.

    The table is that of `headway import` and `headway export`.
    """
    weights = ARCHITECTURES["bert"].weight_map(config, "none").to_hf(tensors)
    head = {f"classifier.{kind}": tensors[f"output.{kind}"] for kind in ("weight", "bias")}
    return {**weights, **head}


@torch.no_grad()
def copy_weights(ours: EncoderModel, theirs: nn.Module) -> None:
    """Makes the other model the same function; every weight is set."""
    weights = hugging_face_layout(dict(ours.named_parameters()), ours.config)
    learning = dict(theirs.named_parameters())
    if learning.keys() != weights.keys():
        raise RuntimeError(f"not the same parts: {sorted(learning.keys() ^ weights.keys())}")
    for name, parameter in learning.items():
        parameter.copy_(weights[name])


# Data


class Labelled(Examples):
    """Texts with their marks, and the number of the label of each, (1,)."""

    noun = "texts"
    sorted_by = ("text",)

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        texts, labels = self.columns["text"], self.columns["label"]
        label = torch.tensor([int(labels[i][0]) for i in indices])
        return {**source_batch([texts[i] for i in indices]), "label": label}


def synthetic(vocabulary: int, sentences: int = SENTENCES) -> Labelled:
    """Texts of the lengths of SST-2's in BERT's tokens (median 10 with marks, a long tail)."""
    rng = np.random.default_rng(SEED)
    lengths = np.exp(rng.normal(np.log(8), 0.85, sentences)).round().astype(int)
    texts = [
        np.concatenate([[BOS], words, [EOS]])
        for words in draw_words(rng, np.clip(lengths, 1, LONGEST - 2), vocabulary)
    ]
    labels = list(rng.integers(0, N_LABELS, (sentences, 1)))
    return Labelled({"text": texts, "label": labels}, vocabulary)


def from_table(file: str, start: Start, text: str, label: str) -> Labelled:
    """Texts of a table, by the tokenizer of the run, or one that is learnt from them.

    Raises:
        ConfigError: there are other than two labels, or more tokens than the model has.
    """
    corpus = Corpus(file=file, text=text, label=label)
    rows = [row.values for row in read(corpus, ("text", "label"), Path()) if row.values[0].strip()]
    if start.codecs is None:
        settings = TextConfig(kind="wordpiece", lowercase=True, begin=True)
        task = Classify().fit_codecs(lambda: iter(rows), settings)
    else:
        task = Classify().adopt_codecs(start.codecs, lambda: iter(rows))
    if len(task.labels) != N_LABELS:
        raise ConfigError(f"{file} has {len(task.labels)} labels; expected {N_LABELS}")
    if task.vocabularies.source > start.vocabulary:
        raise ConfigError(
            f"{file} gave {task.vocabularies.source} tokens and the model has {start.vocabulary}; "
            "give a run with its tokenizer (--run)"
        )
    texts, labels = zip(*rows, strict=True)
    encoded = {
        "text": task.codec.encode_batch(texts),
        "label": task.labels.encode_batch(labels),
    }
    return Labelled(encoded, start.vocabulary)


# Contestants


def hugging_face(model: nn.Module) -> TorchLoop:
    """The library's model in the training loop that its users write."""

    def logits(batch: Batch) -> Tensor:
        found = model(input_ids=batch["src"], attention_mask=batch["src_valid"].long())
        return found if isinstance(found, Tensor) else found.logits  # (B, V)

    return TorchLoop(model, logits, target="label", ignored=NO_LABEL, smoothing=0.0)


def make_contestants(start: Start, setting: Setting, threads: int) -> dict[str, Contestant]:
    """All with the same weights."""
    torch.set_num_threads(threads)  # what the updater divides among its workers
    ours, plain, other = (headway_model(start, setting.attention_dropout) for _ in range(3))
    return {
        OURS: Headway(LabelLoss(ours, 0.0), workers=threads),
        PLAIN: Headway(LabelLoss(plain, 0.0), workers=1),
        PEER: hugging_face(hugging_face_model(other)),
    }


# Measuring


def matmul_flops(config: Any, batch: Batch) -> int:
    """Operations in the matrix products of one update: forward, and twice that backward.

    Scores that the fused attention computes a second time on its way back are not counted.
    """
    B, S = batch["src"].shape
    D, F = config.d_model, config.d_ff
    layer = B * S * (4 * D * D + 2 * D * F) + 2 * B * S * S * D
    head = B * D * N_LABELS + (B * D * D if config.pooler else 0)
    return 3 * 2 * (config.layers * layer + head)


def compare(
    start: Start, setting: Setting, examples: Labelled, rounds: int, threads: int
) -> dict[str, Any]:
    """What one setting gives."""
    batches = update_batches(examples, setting.tokens, rounds * setting.updates)
    contestants = make_contestants(start, setting, threads)
    check_same_model(contestants, batches[0])
    say(
        f"{setting.name}: {rounds} rounds of {setting.updates} updates of {setting.tokens} "
        f"tokens, {threads} threads"
    )
    speeds, rates = run_rounds(contestants, batches, rounds, threads)
    flops = sum(matmul_flops(start.config, batch) for batch in batches)
    tokens = sum(map(tokens_in, batches))
    result = {
        "setting": vars(setting),
        "tokens": tokens,
        "texts": sum(len(batch["src"]) for batch in batches),
        "padding": round(1 - tokens / sum(batch["src"].numel() for batch in batches), 3),
        **figures(speeds, rates, flops / tokens, PEER),
    }
    say_figures(result, PEER)
    return result


# The program


def report(
    start: Start, results: Sequence[Mapping[str, Any]], given: argparse.Namespace
) -> dict[str, Any]:
    """The object of the last line."""
    import transformers

    c = start.config
    which = "BertForSequenceClassification" if c.pooler else f"BertModel, pooling {c.pooling}"
    return {
        "name": "tune_speed",
        "ratios": {
            f"{OURS}/{PEER} ({result['setting']['name']})": result[f"{OURS}/{PEER}"]["of_medians"]
            for result in results
        },
        "measure": "tokens read per second in fine-tuning all weights, float32, ratio of medians "
        "over rounds",
        "compared": {
            OURS: "its update: batch divided by rows among one-thread workers",
            PLAIN: "the same with one worker and all threads in each operation",
            PEER: f"transformers {transformers.__version__} {which}, plain loop, sdpa",
        },
        "same": "weights, batches, fused AdamW, clipping, learning rate, dropout's rates and "
        "places, threads, allocator, wait policy",
        "model": {
            **{name: getattr(c, name) for name in ("layers", "d_model", "n_heads", "d_ff")},
            "vocabulary": start.vocabulary,
            "weights": given.run or "random",
        },
        "data": given.data or "synthetic",
        "rounds": given.rounds,
        "threads": given.threads,
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
        "results": list(results),
    }


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = rounds_parser(__doc__)
    parser.add_argument("--run", help="a run with a BERT, such as `headway import` makes")
    parser.add_argument("--data", help="a table of texts and two labels; else synthetic")
    parser.add_argument("--text", default="sentence", help="the name of its column of texts")
    parser.add_argument("--label", default="label", help="and of labels")
    parser.add_argument("--tokens", type=int, help="tokens in an update, in place of the usual")
    return parse_rounds(parser, arguments)


def main(arguments: Sequence[str] | None = None, start: Start | None = None) -> int:
    """Runs the program; `start` is what is tuned if no run is named."""
    given = parse(arguments)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is loaded: nothing is fetched
    changes = {name: getattr(given, name) for name in ("tokens", "updates")}
    changes = {name: value for name, value in changes.items() if value is not None}
    try:
        start = from_run(given.run) if given.run else start or bert()
        examples = (
            from_table(given.data, start, given.text, given.label)
            if given.data
            else synthetic(start.vocabulary)
        )
        results = [
            compare(start, replace(setting, **changes), examples, given.rounds, given.threads)
            for setting in SETTINGS
        ]
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    print(json.dumps(report(start, results, given)))
    return 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())
