"""Training speed of headway beside Hugging Face's MarianMTModel: the same work, in one run.

Same weights to begin with, same padded batches in the same order, same optimiser, threads, places
of dropout, allocator and wait policy; rounds of the contestants take turns. What may differ is how
the work is done. Progress goes to standard error; the last line, on standard output, is JSON.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
import torch
from alike import start_alike
from torch import Tensor
from torch.nn.functional import cross_entropy

from headway.data.batches import Batches
from headway.data.collate import pair_batch
from headway.data.corpora import Corpus
from headway.data.read import read
from headway.errors import DataError, HeadwayError, MissingExtra
from headway.models import FAMILIES, SequenceModel, Vocabularies
from headway.tasks.loss import Batch
from headway.tasks.sequence_loss import SequenceLoss
from headway.tasks.translate import TextConfig, Translate
from headway.text import BOS, EOS, PAD, UNK
from headway.training.optimiser import make_optimizer
from headway.training.processes import Processes
from headway.training.settings import TrainConfig
from headway.training.update import Updater

OURS, PLAIN, PEER = "headway", "headway plain", "huggingface"
DROPOUT, SMOOTHING, CLIP, SEED = 0.1, 0.1, 1.0, 1
LEARNING_RATE = 1e-4  # low: post-norm without a warm-up must not run into infinities
MAX_LENGTH = 256  # tokens of an example; longer ones are left out, as `headway train` does
SENTENCES = 20_000
WARMING = 2  # updates before the clock runs


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


class Examples:
    """Encoded pairs in memory, each side with its end mark."""

    def __init__(
        self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], vocabulary: int
    ) -> None:
        pairs = list(zip(sources, targets, strict=True))
        kept = [pair for pair in pairs if max(map(len, pair)) <= MAX_LENGTH]
        if not kept:
            raise DataError(
                f"none of {len(pairs)} pairs has at most {MAX_LENGTH} tokens on each side; "
                "give files with shorter lines"
            )
        if len(kept) < len(pairs):
            say(f"left out {len(pairs) - len(kept)} pairs of more than {MAX_LENGTH} tokens")
        self.columns = {"source": [s for s, _ in kept], "target": [t for _, t in kept]}
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.columns["source"])

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        return np.array([len(values) for values in self.columns[column][start:stop]])

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        source, target = self.columns["source"], self.columns["target"]
        return pair_batch([source[i] for i in indices], [target[i] for i in indices])


def synthetic(vocabulary: int, sentences: int = SENTENCES) -> Examples:
    """Sentences of captions' lengths (median 14 tokens, a long tail) and Zipf's frequencies.

    A target is about as long as its source, give or take a fifth.
    """
    rng = np.random.default_rng(SEED)
    words = np.arange(UNK + 1, vocabulary)
    chances = 1.0 / np.arange(1, len(words) + 1)
    chances /= chances.sum()

    def side(lengths: np.ndarray) -> list[np.ndarray]:
        ends = np.cumsum(np.clip(lengths.round().astype(int), 2, MAX_LENGTH))
        drawn = rng.choice(words, ends[-1], p=chances)
        drawn[ends - 1] = EOS
        return np.split(drawn, ends[:-1])

    sources = np.exp(rng.normal(np.log(14), 0.35, sentences))
    targets = sources * np.exp(rng.normal(0.0, 0.2, sentences))
    return Examples(side(sources), side(targets), vocabulary)


def from_files(source: str, target: str, vocabulary: int) -> Examples:
    """Lines of two files, cut by a shared vocabulary that is learnt from them."""
    corpus = Corpus(source=source, target=target)
    rows = [row.values for row in read(corpus, Translate.columns, Path())]
    task = Translate.learn(lambda: iter(rows), TextConfig(size=vocabulary))
    sources, targets = (task.source.encode_batch([row[i] for row in rows]) for i in (0, 1))
    return Examples(sources, targets, task.source.tokenizer.size)


def update_batches(examples: Examples, tokens: int, number: int) -> list[dict[str, Tensor]]:
    """The batches of the first updates, in headway's order; epochs follow each other."""
    batches = Batches(examples, ("target", "source"), tokens, SEED)
    order: Iterator[np.ndarray] = (indices for e in count() for indices in batches.epoch(e))
    return [examples.batch(indices) for indices in islice(order, number)]


def split_rows(batch: Batch, parts: int) -> list[dict[str, Tensor]]:
    """The batch as micro-batches, padded as before: together the same rows and columns."""
    pieces = {name: value.tensor_split(parts) for name, value in batch.items()}
    split = [{name: piece[i] for name, piece in pieces.items()} for i in range(parts)]
    return [part for part in split if len(part["src"])]


# Models


def headway_model(setting: Setting, vocabulary: int, dropout: float = DROPOUT) -> SequenceModel:
    """The post-norm Transformer, which is what Marian is."""
    family, sizes = FAMILIES["transformer"], Vocabularies(vocabulary, vocabulary, shared=True)
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


class Contestant(Protocol):
    """Something that trains."""

    def loss(self, batch: Batch) -> float:
        """Mean over target tokens, without dropout and smoothing."""
        ...

    def update(self, batch: Batch, number: int) -> int:
        """One update; returns how many target tokens it has counted."""
        ...


class Headway:
    """headway's own update. With several workers the batch is divided among them, by rows."""

    def __init__(self, model: SequenceModel, workers: int) -> None:
        self.workers = workers
        self.objective = SequenceLoss(model, SMOOTHING).train()
        optimizer = make_optimizer(model, TrainConfig(), LEARNING_RATE)
        self.updater = Updater(self.objective, optimizer, SEED, CLIP, Processes(), workers=workers)

    @torch.inference_mode()
    def loss(self, batch: Batch) -> float:
        total = self.objective.eval()(batch)["loss"].item()
        self.objective.train()
        return total / self.objective.counts(batch)["loss"]

    def update(self, batch: Batch, number: int) -> int:
        parts = split_rows(batch, self.workers)
        return self.updater(list(enumerate(parts)), number, LEARNING_RATE).tokens


class HuggingFace:
    """Marian in the training loop that its users write, without mistakes that cost time."""

    def __init__(self, model: Any) -> None:
        self.model = model.train()
        self.optimizer = make_optimizer(model, TrainConfig(), LEARNING_RATE)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        torch.manual_seed(SEED)

    @torch.inference_mode()
    def loss(self, batch: Batch) -> float:
        self.model.eval()
        value = self.forward(batch, smoothing=0.0).item()
        self.model.train()
        return value

    def forward(self, batch: Batch, smoothing: float = SMOOTHING) -> Tensor:
        # No mask for the decoder: causality hides the padding, and the kernel has a fast way then.
        logits = self.model(
            input_ids=batch["src"],
            attention_mask=batch["src_valid"],
            decoder_input_ids=batch["tgt_in"],
            use_cache=False,
        ).logits  # (B, T, V)
        return cross_entropy(
            logits.flatten(0, 1),
            batch["tgt_out"].flatten(),
            ignore_index=PAD,
            label_smoothing=smoothing,
        )

    def update(self, batch: Batch, number: int) -> int:
        self.optimizer.zero_grad(set_to_none=True)
        self.forward(batch).backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, CLIP)
        self.optimizer.step()
        return int((batch["tgt_out"] != PAD).sum())


def make_contestants(setting: Setting, vocabulary: int, threads: int) -> dict[str, Contestant]:
    """All with the same weights."""
    torch.set_num_threads(threads)  # what the updater divides among its workers
    marian = marian_model(setting, vocabulary)
    copy_to_marian(headway_model(setting, vocabulary), marian)
    return {
        OURS: Headway(headway_model(setting, vocabulary), workers=threads),
        PLAIN: Headway(headway_model(setting, vocabulary), workers=1),
        PEER: HuggingFace(marian),
    }


def check_same_model(contestants: Mapping[str, Contestant], batch: Batch) -> None:
    losses = {name: contestant.loss(batch) for name, contestant in contestants.items()}
    if max(losses.values()) - min(losses.values()) > 1e-4 * max(losses.values()):
        raise RuntimeError(f"not the same model: losses {losses}")


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


def matmul_rate(threads: int, seconds: float = 0.5, size: int = 1024) -> float:
    """Operations per second of large float32 matrix products."""
    torch.set_num_threads(threads)
    a, b, out = (torch.randn(size, size) for _ in range(3))
    torch.mm(a, b, out=out)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        torch.mm(a, b, out=out)
        done += 1
    return done * 2 * size**3 / (time.perf_counter() - start)


def speed(contestant: Contestant, batches: Sequence[Batch], first: int, threads: int) -> float:
    """Target tokens per second over some updates, the first of them number `first`."""
    torch.set_num_threads(threads)
    gc.collect()
    start = time.perf_counter()
    tokens = sum(contestant.update(batch, n) for n, batch in enumerate(batches, first))
    seconds = time.perf_counter() - start
    expected = sum(int(batch["tgt_valid"].sum()) for batch in batches)
    if tokens != expected:
        raise RuntimeError(f"not the same work: {tokens} target tokens instead of {expected}")
    return tokens / seconds


def run_rounds(
    contestants: Mapping[str, Contestant], batches: Sequence[Batch], rounds: int, threads: int
) -> tuple[dict[str, list[float]], list[float]]:
    """Speeds of each contestant, and the rate of matrix products, in every round.

    Each round begins with another contestant, so that nobody always comes after the same one.
    """
    for contestant in contestants.values():
        speed(contestant, batches[:WARMING], 1, threads)
    updates = len(batches) // rounds
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    rates = []
    names = list(contestants)
    for i in range(rounds):
        rates.append(matmul_rate(threads))
        part = batches[i * updates : (i + 1) * updates]
        for name in names[i % len(names) :] + names[: i % len(names)]:
            found = speed(contestants[name], part, WARMING + 1 + i * updates, threads)
            speeds[name].append(found)
        shown = ", ".join(f"{name} {speeds[name][-1]:,.0f}" for name in names)
        say(f"  round {i + 1}/{rounds}: {shown} tokens/s; {rates[-1] / 1e9:.0f} GFLOP/s")
    return speeds, rates


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """Of the medians; and of each round, with the least and the greatest."""
    each = [one / other for one, other in zip(ours, theirs, strict=True)]
    return {
        "of_medians": round(median(ours) / median(theirs), 3),
        "of_rounds": [round(value, 3) for value in each],
        "least": round(min(each), 3),
        "greatest": round(max(each), 3),
    }


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
    tokens = sum(int(batch["tgt_valid"].sum()) for batch in batches)
    padded = sum(batch["tgt_valid"].numel() for batch in batches)
    shares = {
        name: round(median(values) * flops / tokens / median(rates), 3)
        for name, values in speeds.items()
    }
    result = {
        "setting": {**asdict(setting), "vocabulary": examples.vocabulary},
        "target_tokens": tokens,
        "target_padding": round(1 - tokens / padded, 3),
        "tokens_per_second": {n: [round(v, 1) for v in values] for n, values in speeds.items()},
        "medians": {name: round(median(values), 1) for name, values in speeds.items()},
        f"{OURS}/{PEER}": ratio(speeds[OURS], speeds[PEER]),
        f"{PLAIN}/{PEER}": ratio(speeds[PLAIN], speeds[PEER]),
        "matmul_gflops": round(median(rates) / 1e9, 1),
        "mflop_per_target_token": round(flops / tokens / 1e6, 2),
        "share_of_matmul_rate": shares,
    }
    say_result(result)
    return result


# The program


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def say_result(result: Mapping[str, Any]) -> None:
    for name in (f"{OURS}/{PEER}", f"{PLAIN}/{PEER}"):
        found = result[name]
        say(
            f"  {name}: {found['of_medians']:.2f} (rounds {found['least']:.2f} to "
            f"{found['greatest']:.2f})"
        )
    share, rate = result["share_of_matmul_rate"][OURS], result["matmul_gflops"]
    say(f"  {OURS}: {share:.0%} of the {rate:.0f} GFLOP/s that matrix products reach here")


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, help="updates in a round, in place of the size's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--source", help="file of source lines, .gz allowed; else synthetic")
    parser.add_argument("--target", help="file of target lines")
    given = parser.parse_args(arguments)
    for name in ("rounds", "updates", "threads"):
        value = getattr(given, name)
        if value is not None and value < 1:
            parser.error(f"--{name} is {value}; expected 1 or more")
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
