"""Training speed of headway's GRU with attention beside a plain loop over `torch.nn`.

Same weights to begin with, same padded batches in the same order, same optimiser, threads, places
of dropout, allocator and wait policy; rounds of the contestants take turns. Then what each score
costs beside `dot`. Progress goes to standard error; the last line, on standard output, is JSON.
"""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch
from alike import start_alike
from rounds import (
    DROPOUT,
    OURS,
    PLAIN,
    SEED,
    SMOOTHING,
    Contestant,
    Headway,
    TorchLoop,
    check_same_model,
    parse_rounds,
    ratio,
    rounds_parser,
    run_rounds,
    say,
    synthetic,
    update_batches,
)
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, linear

from headway.models import FAMILIES, SequenceModel, VocabularySizes
from headway.nn.scores import SCORES
from headway.tasks.base import Batch
from headway.tasks.losses import SequenceLoss

PEER = "torch.nn"
FORMS = {"bahdanau": "additive", "luong": "general"}


@dataclass(frozen=True)
class Setting:
    """Sizes of the model, the batch and the round. `tokens` is per update, padding included."""

    d_model: int = 256
    vocabulary: int = 8000
    tokens: int = 2048
    updates: int = 4
    sentences: int = 20_000


def headway_model(setting: Setting, form: str, score: str, rate: float = DROPOUT) -> SequenceModel:
    """One layer, two directions, one shared embedding matrix."""
    family = FAMILIES["recurrent"]
    sizes = VocabularySizes(setting.vocabulary, setting.vocabulary, shared=True)
    config = family.config(d_model=setting.d_model, attention=form, score=score, dropout=rate)
    torch.manual_seed(SEED)
    return family.build(config.resolve(0, sizes), sizes)


class PlainModel(nn.Module):
    """The same function as a user of `torch.nn` writes it, without mistakes that cost time.

    The source is packed, its side of the score is computed once, Luong's decoder is one call,
    and the output layer sees all positions at once.
    """

    def __init__(self, setting: Setting, form: str, rate: float) -> None:
        super().__init__()
        D = setting.d_model
        self.form, self.rate, self.scale = form, rate, math.sqrt(D)
        self.embedding = nn.Parameter(torch.empty(setting.vocabulary, D))
        self.output_bias = nn.Parameter(torch.empty(setting.vocabulary))
        self.encoder = nn.GRU(D, D // 2, batch_first=True, bidirectional=True)
        self.keys = nn.Linear(D, D, bias=False)
        if form == "bahdanau":
            self.query, self.v = nn.Linear(D, D, bias=False), nn.Linear(D, 1, bias=False)
            self.cell = nn.GRUCell(2 * D, D)
            self.combine = nn.Linear(3 * D, D)
        else:
            self.decoder = nn.GRU(D, D, batch_first=True)
            self.combine = nn.Linear(2 * D, D)

    def forward(self, batch: Batch) -> Tensor:
        """Logits (B, T, V)."""
        source, target = self._embed(batch["src"]), self._embed(batch["tgt_in"])
        lengths = batch["src_valid"].sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            source, lengths, batch_first=True, enforce_sorted=False
        )
        packed, last = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        state, hidden = last.transpose(0, 1).flatten(1), ~batch["src_valid"]
        decode = self._bahdanau if self.form == "bahdanau" else self._luong
        found = self._drop(decode(target, state, memory, hidden))
        return linear(found, self.embedding, self.output_bias)

    def _bahdanau(self, target: Tensor, state: Tensor, memory: Tensor, hidden: Tensor) -> Tensor:
        keys, states, contexts = self.keys(memory), [], []
        for x in target.unbind(1):
            scores = self.v(torch.tanh(self.query(state)[:, None] + keys)).squeeze(-1)  # (B, S)
            weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
            context = torch.bmm(weights[:, None], memory).squeeze(1)
            state = self.cell(torch.cat([x, context], dim=1), state)
            states.append(state)
            contexts.append(context)
        joined = [target, torch.stack(states, dim=1), torch.stack(contexts, dim=1)]
        return self.combine(torch.cat(joined, dim=-1)).tanh()

    def _luong(self, target: Tensor, state: Tensor, memory: Tensor, hidden: Tensor) -> Tensor:
        states, _ = self.decoder(target, state[None].contiguous())
        scores = torch.bmm(states, self.keys(memory).mT)  # (B, T, S)
        weights = scores.masked_fill(hidden[:, None], -math.inf).softmax(-1)
        context = torch.bmm(weights, memory)
        return self.combine(torch.cat([states, context], dim=-1)).tanh()

    def _embed(self, tokens: Tensor) -> Tensor:
        return self._drop(embedding(tokens, self.embedding) * self.scale)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate, self.training)


@torch.no_grad()
def copy_weights(ours: SequenceModel, theirs: PlainModel) -> None:
    """Makes the plain model the same function; every weight is set."""
    encoder: Any = ours.encoder
    decoder: Any = ours.decoder
    score, layer = decoder.attention.score, decoder.stack.layers[0]
    found = {"embedding": ours.source_embedding, "output_bias": ours.output.bias}
    found |= {f"encoder.{n}": p for n, p in encoder.layers[0].named_parameters()}
    found |= {f"combine.{n}": p for n, p in decoder.combine.named_parameters()}
    if theirs.form == "bahdanau":
        found |= {"keys.weight": score.key_weight[0], "query.weight": score.query_weight[0]}
        found |= {"v.weight": score.v}
        found |= {f"cell.{n.removesuffix('_l0')}": p for n, p in layer.named_parameters()}
    else:
        found |= {"keys.weight": score.weight[0]}
        found |= {f"decoder.{n}": p for n, p in layer.named_parameters()}
    theirs.load_state_dict(found)


def contestant(setting: Setting, form: str, score: str, workers: int) -> Headway:
    """headway's model and update."""
    return Headway(SequenceLoss(headway_model(setting, form, score), SMOOTHING), workers)


def make_contestants(setting: Setting, form: str, threads: int) -> dict[str, Contestant]:
    """All with the same weights."""
    torch.set_num_threads(threads)  # what the updater divides among its workers
    plain = PlainModel(setting, form, DROPOUT)
    copy_weights(headway_model(setting, form, FORMS[form]), plain)
    return {
        OURS: contestant(setting, form, FORMS[form], workers=threads),
        PLAIN: contestant(setting, form, FORMS[form], workers=1),
        PEER: TorchLoop(plain, logits=plain),
    }


def compare(
    setting: Setting, form: str, batches: Sequence[Batch], rounds: int, threads: int
) -> dict[str, Any]:
    """headway and the plain loop, in one form."""
    say(f"{form}, score {FORMS[form]}:")
    contestants = make_contestants(setting, form, threads)
    check_same_model(contestants, batches[0])
    speeds, _ = run_rounds(contestants, batches, rounds, threads)
    ratios = {f"{name}/{PEER}": ratio(speeds[name], speeds[PEER]) for name in (OURS, PLAIN)}
    for name, found in ratios.items():
        say(f"  {name}: {found['of_medians']} (rounds {found['least']} to {found['greatest']})")
    return {"form": form, "score": FORMS[form], "tokens_per_second": _medians(speeds), **ratios}


def costs(
    setting: Setting, form: str, batches: Sequence[Batch], rounds: int, threads: int
) -> dict[str, float]:
    """Time of an update with each score over that with `dot`."""
    say(f"{form}, every score:")
    contestants = {name: contestant(setting, form, name, workers=threads) for name in SCORES}
    speeds, _ = run_rounds(contestants, batches, rounds, threads)
    times = {
        name: round(median(speeds["dot"]) / median(found), 3) for name, found in speeds.items()
    }
    say("  " + ", ".join(f"{name} {time}" for name, time in times.items()))
    return times


def _medians(speeds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: round(median(values), 1) for name, values in speeds.items()}


def report(
    results: Sequence[Mapping[str, Any]],
    times: Mapping[str, Mapping[str, float]],
    setting: Setting,
    rounds: int,
    threads: int,
) -> dict[str, Any]:
    """The object of the last line."""
    return {
        "name": "recurrent_speed",
        "ratios": {
            f"{name} ({result['form']})": result[name]["of_medians"]
            for result in results
            for name in (f"{OURS}/{PEER}", f"{PLAIN}/{PEER}")
        },
        "time_over_dot": times,
        "measure": "target tokens per second in training, float32, ratio of medians over rounds; "
        "time of an update with a score over that with dot",
        "compared": {
            OURS: "its update: batch divided by rows among one-thread workers, chunked loss",
            PLAIN: "the same with one worker and all threads in each operation",
            PEER: "nn.GRU encoder, nn.GRUCell loop (bahdanau) or nn.GRU (luong), all logits",
        },
        "same": "weights, batches, fused AdamW, clipping, dropout's rate and places, smoothing, "
        "tied embeddings, threads, allocator, wait policy",
        "setting": vars(setting),
        "rounds": rounds,
        "threads": threads,
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
        "results": list(results),
    }


def main(arguments: Sequence[str] | None = None, setting: Setting | None = None) -> int:
    given = parse_rounds(rounds_parser(__doc__), arguments)
    setting = setting or Setting()
    if given.updates is not None:
        setting = replace(setting, updates=given.updates)
    examples = synthetic(setting.vocabulary, setting.sentences)
    batches = update_batches(examples, setting.tokens, given.rounds * setting.updates)
    work = batches, given.rounds, given.threads
    results = [compare(setting, form, *work) for form in FORMS]
    times = {form: costs(setting, form, *work) for form in FORMS}
    print(json.dumps(report(results, times, setting, given.rounds, given.threads)))
    return 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())
