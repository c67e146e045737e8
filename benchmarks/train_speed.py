"""Training speed of headway beside Hugging Face's MarianMTModel: the same work, in one run.

Same weights to begin with, same padded batches in the same order, same optimiser, threads, places
of dropout, allocator and wait policy; rounds of the contestants take turns. What may differ is how
the work is done. Progress goes to standard error; the last line, on standard output, is JSON.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from alike import start_alike
from rounds import (
    DROPOUT,
    MAX_LENGTH,
    OURS,
    PLAIN,
    SEED,
    SMOOTHING,
    Contestant,
    Examples,
    Headway,
    Pairs,
    TorchLoop,
    check_same_model,
    figures,
    parse_rounds,
    rounds_parser,
    run_rounds,
    say,
    say_figures,
    synthetic,
    tokens_in,
    update_batches,
)
from torch import Tensor

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus
from headway.data.formats.read import read
from headway.errors import HeadwayError, MissingExtra
from headway.models import FAMILIES, SequenceModel, VocabularySizes
from headway.tasks.base import Batch
from headway.tasks.losses import SequenceLoss
from headway.tasks.translate import Translate
from headway.text import BOS, EOS, PAD

PEER = "huggingface"


@dataclass(frozen=True)
class Setting:
    """Sizes of the model, the batch and the round. `tokens` is per update, padding included."""

    name: str
    d_model: int
    d_ff: int
    n_heads: int
    layers: int
    vocabulary: int
    tokens: int
    updates: int


SIZES: dict[str, tuple[Setting, ...]] = {
    "tiny": (
        Setting("tiny", 128, 256, 4, 4, 8000, 4096, updates=5),
        Setting("tiny, recipe", 128, 256, 4, 4, 4000, 2048, updates=12),
    ),
    "base": (Setting("base", 512, 2048, 8, 6, 8000, 2048, updates=2),),
}


# Data


def from_files(source: str, target: str, vocabulary: int) -> Examples:
    """Lines of two files, cut by a shared vocabulary that is learnt from them."""
    corpus = Corpus(source=source, target=target)
    rows = [row.values for row in read(corpus, Translate.columns, Path())]
    task = Translate().fit_codecs(lambda: iter(rows), TextConfig(size=vocabulary))
    sources, targets = (task.source.encode_batch([row[i] for row in rows]) for i in (0, 1))
    return Pairs(sources, targets, task.source.tokenizer.size)


# Models


def headway_model(setting: Setting, vocabulary: int, dropout: float = DROPOUT) -> SequenceModel:
    """The post-norm Transformer, which is what Marian is."""
    family, sizes = FAMILIES["transformer"], VocabularySizes(vocabulary, vocabulary, shared=True)
    config = family.config(
        d_model=setting.d_model,
        d_ff=setting.d_ff,
        n_heads=setting.n_heads,
        encoder_layers=setting.layers,
        decoder_layers=setting.layers,
        dropout=dropout,
        residual="post",
    )
    torch.manual_seed(SEED)
    return family.build(config.resolve(0, sizes), sizes)


def marian_model(setting: Setting, vocabulary: int, dropout: float = DROPOUT) -> Any:
    """A `MarianMTModel` of the same size with dropout at the same places; nothing is loaded."""
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        raise MissingExtra("benchmarks/train_speed.py", "transformers", "test") from None
    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=setting.d_model,
        encoder_layers=setting.layers,
        decoder_layers=setting.layers,
        encoder_attention_heads=setting.n_heads,
        decoder_attention_heads=setting.n_heads,
        encoder_ffn_dim=setting.d_ff,
        decoder_ffn_dim=setting.d_ff,
        activation_function="relu",
        dropout=dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        max_position_embeddings=MAX_LENGTH,
        pad_token_id=PAD,
        decoder_start_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
    )
    return MarianMTModel(config)


def marian_channels(d_model: int) -> Tensor:
    """Our channel at each place of Marian's: it has the sines first, then the cosines.

    Ours alternate, as in the paper; in another order of channels it is the same model.
    """
    return torch.arange(d_model).view(-1, 2).T.flatten()


# Our part: Marian's parts, and the dimension of the weight that lies on the residual stream.
SAME_PARTS: dict[str, tuple[tuple[str, ...], int]] = {
    "attention.qkv": (("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), 1),
    "attention.out": (("self_attn.out_proj",), 0),
    "attention_residual.norm": (("self_attn_layer_norm",), 0),
    "cross.query": (("encoder_attn.q_proj",), 1),
    "cross.kv": (("encoder_attn.k_proj", "encoder_attn.v_proj"), 1),
    "cross.out": (("encoder_attn.out_proj",), 0),
    "cross_residual.norm": (("encoder_attn_layer_norm",), 0),
    "feed.inner": (("fc1",), 1),
    "feed.outer": (("fc2",), 0),
    "feed_residual.norm": (("final_layer_norm",), 0),
}


def marian_layout(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors by the names of our parameters (weights or their gradients), as Marian has them."""
    embedding = tensors["source_embedding"]
    order = marian_channels(embedding.size(1))
    result = {"model.shared.weight": embedding[:, order]}
    for name, tensor in tensors.items():
        if name == "source_embedding":
            continue
        side, number, rest = name.split(".", 2)
        part, kind = rest.rsplit(".", 1)  # kind: weight or bias
        theirs, dim = SAME_PARTS[part]
        for other, piece in zip(theirs, tensor.chunk(len(theirs)), strict=True):
            if dim < piece.ndim:  # the bias of a layer that reads the stream does not lie on it
                piece = piece.index_select(dim, order)
            result[f"model.{side}.layers.{number}.{other}.{kind}"] = piece
    return result


@torch.no_grad()
def copy_to_marian(ours: SequenceModel, theirs: Any) -> None:
    """Makes Marian the same function; every weight that learns is set."""
    weights = marian_layout(dict(ours.named_parameters()))
    learning = {name: p for name, p in theirs.named_parameters() if p.requires_grad}
    if learning.keys() != weights.keys():
        raise RuntimeError(f"not the same parts: {sorted(learning.keys() ^ weights.keys())}")
    for name, parameter in learning.items():
        parameter.copy_(weights[name])


# Contestants


def hugging_face(model: Any) -> TorchLoop:
    """Marian in the training loop that its users write."""

    def logits(batch: Batch) -> Tensor:
        # No mask for the decoder: causality hides the padding, and the kernel has a fast way then.
        found: Tensor = model(
            input_ids=batch["src"],
            attention_mask=batch["src_valid"],
            decoder_input_ids=batch["tgt_in"],
            use_cache=False,
        ).logits  # (B, T, V)
        return found

    return TorchLoop(model, logits)


def make_contestants(setting: Setting, vocabulary: int, threads: int) -> dict[str, Contestant]:
    """All with the same weights."""
    torch.set_num_threads(threads)  # what the updater divides among its workers
    marian = marian_model(setting, vocabulary)
    copy_to_marian(headway_model(setting, vocabulary), marian)
    ours, plain = (SequenceLoss(headway_model(setting, vocabulary), SMOOTHING) for _ in range(2))
    return {
        OURS: Headway(ours, workers=threads),
        PLAIN: Headway(plain, workers=1),
        PEER: hugging_face(marian),
    }


# Measuring


def matmul_flops(setting: Setting, vocabulary: int, batch: Batch) -> int:
    """Operations in the matrix products of one update: forward, and twice that backward.

    Only what the result needs: logits of padding are not counted, nor are scores that the fused
    attention computes a second time on its way back.
    """
    B, S = batch["src"].shape
    T = batch["tgt_in"].size(1)
    D, F = setting.d_model, setting.d_ff
    encoder = B * S * (4 * D * D + 2 * D * F) + 2 * B * S * S * D
    decoder = B * T * (6 * D * D + 2 * D * F) + B * S * 2 * D * D + 2 * B * T * (T + S) * D
    output = int(batch["tgt_valid"].sum()) * D * vocabulary
    return 3 * 2 * (setting.layers * (encoder + decoder) + output)


def compare(setting: Setting, examples: Examples, rounds: int, threads: int) -> dict[str, Any]:
    """What one setting gives."""
    batches = update_batches(examples, setting.tokens, rounds * setting.updates)
    contestants = make_contestants(setting, examples.vocabulary, threads)
    check_same_model(contestants, batches[0])
    say(
        f"{setting.name}: vocabulary {examples.vocabulary}, {rounds} rounds of {setting.updates} "
        f"updates of {setting.tokens} tokens, {threads} threads"
    )
    speeds, rates = run_rounds(contestants, batches, rounds, threads)
    flops = sum(matmul_flops(setting, examples.vocabulary, batch) for batch in batches)
    tokens = sum(map(tokens_in, batches))
    padded = sum(batch["tgt_valid"].numel() for batch in batches)
    result = {
        "setting": {**asdict(setting), "vocabulary": examples.vocabulary},
        "target_tokens": tokens,
        "target_padding": round(1 - tokens / padded, 3),
        **figures(speeds, rates, flops / tokens, PEER),
    }
    say_figures(result, PEER)
    return result


# The program


def report(
    results: Sequence[Mapping[str, Any]], rounds: int, threads: int, data: str
) -> dict[str, Any]:
    """The object of the last line; ratios after the first carry the name of their setting."""
    import transformers

    names = [f"{OURS}/{PEER}"] + [
        f"{OURS}/{PEER} ({result['setting']['name']})" for result in results[1:]
    ]
    return {
        "name": "train_speed",
        "ratios": {
            name: result[f"{OURS}/{PEER}"]["of_medians"]
            for name, result in zip(names, results, strict=True)
        },
        "measure": "target tokens per second in training, float32, ratio of medians over rounds",
        "compared": {
            OURS: "its update: batch divided by rows among one-thread workers, chunked loss",
            PLAIN: "the same with one worker and all threads in each operation",
            PEER: f"transformers {transformers.__version__} MarianMTModel, plain loop, all logits",
        },
        "same": "weights, batches, fused AdamW, clipping, dropout's rate and places, smoothing, "
        "post-norm, tied embeddings, threads, allocator, wait policy",
        "data": data,
        "rounds": rounds,
        "threads": threads,
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
        "results": list(results),
    }


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = rounds_parser(__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--source", help="file of source lines, .gz allowed; else synthetic")
    parser.add_argument("--target", help="file of target lines")
    given = parse_rounds(parser, arguments)
    if (given.source is None) != (given.target is None):
        parser.error("--source and --target go together; give both or neither")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is loaded: nothing is fetched

    def examples(vocabulary: int) -> Examples:
        if given.source is None:
            return synthetic(vocabulary)
        return from_files(given.source, given.target, vocabulary)

    try:
        results = []
        for setting in SIZES[given.size]:
            if given.updates is not None:
                setting = Setting(**{**asdict(setting), "updates": given.updates})
            results.append(
                compare(setting, examples(setting.vocabulary), given.rounds, given.threads)
            )
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    data = "synthetic" if given.source is None else f"{given.source} {given.target}"
    print(json.dumps(report(results, given.rounds, given.threads, data)))
    return 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())
