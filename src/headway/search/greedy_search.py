"""Greedy search and sampling: hypotheses that go their way one token at a time, alone.

Both are one loop over N hypotheses per sentence, none of which is ever replaced by another; they
differ in how a token is chosen. Greedy search equals a beam of one with `stop = "finished"`,
without what a beam has to carry around. `stream` gives the tokens of one as they are chosen.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ..nn.decoding import StepModel
from .beam_search import LEAVE, first_tokens
from .candidates import check_numbers, log_normaliser
from .config import SearchConfig
from .length import length_limits, length_score
from .logits_rules import LogitsRules, make_logits_rules
from .result import Hypothesis

DEFAULT = SearchConfig()
DEFAULT_SAMPLE = SearchConfig(method="sample")

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""From logits (B', N, V), sentences (B',) and the number of tokens so far: the next (B', N)."""


@torch.inference_mode()
def greedy(
    model: StepModel,
    batch: Mapping[str, Tensor],
    *,
    bos: int,
    eos: int,
    config: SearchConfig = DEFAULT,
    limits: Tensor | None = None,
    normalise: bool = True,
    rules: LogitsRules | None = None,
    prefix: Tensor | None = None,
) -> list[Hypothesis]:
    """One hypothesis per sentence; unfinished at its length limit or where nothing can follow.

    Args:
        config: its lengths, alpha and rules; what concerns the beam has no meaning here.
        limits: largest `|y|` per sentence (B,), END counted; from the source when not given.
        normalise: False takes the logits as log probabilities.
        rules: what may not come next; by the settings when not given.
        prefix: tokens that every hypothesis goes on from (B, P), in no output.
    """
    limits = length_limits(batch, config) if limits is None else limits
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    walk = _IndependentDecoding(limits, 1, eos, normalise, rules, _likeliest)
    walk.go(model, batch, first_tokens(limits, bos, prefix))
    return [best for [best] in walk.hypotheses(config.alpha)]


@torch.inference_mode()
def sample(
    model: StepModel,
    batch: Mapping[str, Tensor],
    *,
    bos: int,
    eos: int,
    config: SearchConfig = DEFAULT_SAMPLE,
    limits: Tensor | None = None,
    normalise: bool = True,
    rules: LogitsRules | None = None,
    prefix: Tensor | None = None,
    ids: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """`n_best` independent draws for each sentence, ordered by score, best first.

    `temperature`, `top_k` and `top_p` change what is drawn, not what is reported: log probabilities
    are the model's own. A hypothesis is unfinished at its length limit or where nothing can follow.

    Args:
        limits: largest `|y|` per sentence (B,), END counted; from the source when not given.
        normalise: False takes the logits as log probabilities.
        rules: what may not come next; by the settings when not given.
        prefix: tokens that every hypothesis goes on from (B, P), in no output.
        ids: a number for each sentence. What is drawn depends on it and on the seed, not on the
            rest of the batch. The row in the batch when not given.
    """
    limits = length_limits(batch, config) if limits is None else limits
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    choose = _drawing(config, range(len(limits)) if ids is None else ids, limits)
    walk = _IndependentDecoding(limits, config.n_best, eos, normalise, rules, choose)
    walk.go(model, batch, first_tokens(limits, bos, prefix))
    return [sorted(found, key=lambda one: -one.score) for found in walk.hypotheses(config.alpha)]


@torch.inference_mode()
def stream(
    model: StepModel,
    batch: Mapping[str, Tensor],
    *,
    bos: int,
    eos: int,
    config: SearchConfig = DEFAULT_SAMPLE,
    limits: Tensor,
    normalise: bool = True,
    rules: LogitsRules | None = None,
    prefix: Tensor | None = None,
    ids: Sequence[int] = (0,),
) -> Generator[int, None, Hypothesis]:
    """The tokens of one sentence as they are chosen, without END; what they came to in the end.

    It is what `sample` draws first, or with another method what `greedy` finds.

    Args:
        batch: of one sentence, as `limits`, `prefix` and `ids`.
    """
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    choose = _drawing(config, ids, limits) if config.method == "sample" else _likeliest
    walk = _IndependentDecoding(limits, 1, eos, normalise, rules, choose)
    for token, counts in walk.steps(model, batch, first_tokens(limits, bos, prefix)):
        if counts and token != eos:
            yield int(token)
    [[found]] = walk.hypotheses(config.alpha)
    return found


def _likeliest(logits: Tensor, rows: Tensor, n_tokens: int) -> Tensor:
    return logits.argmax(dim=2)


def _drawing(config: SearchConfig, ids: Sequence[int], limits: Tensor) -> Choose:
    uniforms = _uniforms(config.seed, ids, config.n_best, limits)

    def choose(logits: Tensor, rows: Tensor, n_tokens: int) -> Tensor:
        return _draw(logits, uniforms[rows, :, n_tokens], config)

    return choose


class _IndependentDecoding:
    """N hypotheses per sentence and what they have written.

    Each (B, N, T) holds a step in its last dimension; `n_steps` says how many of them count.
    """

    def __init__(
        self,
        limits: Tensor,
        n: int,
        eos: int,
        normalise: bool,
        rules: LogitsRules | None,
        choose: Choose,
    ) -> None:
        shape = (len(limits), n, max(limits.tolist(), default=0))
        self.limits, self.eos, self.normalise = limits, eos, normalise
        self.rules, self.choose = rules, choose
        self.tokens = torch.zeros(shape, dtype=torch.long, device=limits.device)
        self.log_probs = torch.zeros(shape, device=limits.device)
        self.n_steps = torch.zeros(shape[:2], dtype=torch.long, device=limits.device)
        self.is_finished = torch.zeros(shape[:2], dtype=torch.bool, device=limits.device)

    def go(self, model: StepModel, batch: Mapping[str, Tensor], first: Tensor) -> None:
        """Walks to the end of every hypothesis."""
        for _ in self.steps(model, batch, first):
            pass

    def steps(
        self, model: StepModel, batch: Mapping[str, Tensor], first: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """The same step by step: the tokens of each and which of them count, (B', N) both.

        Args:
            first: what stands before the first token that is chosen (B, t).
        """
        n_sentences, n, longest = self.tokens.shape
        if not n_sentences:
            return
        rows = torch.arange(n_sentences, device=self.limits.device)
        is_live = torch.ones_like(self.is_finished)
        newest, state = first[:, None], model.start(batch)
        for n_tokens in range(longest):
            logits, state = model.step(newest, state)
            if logits.size(1) < n:  # what stands before is computed once for all of them
                logits = logits.expand(-1, n, -1).clone()
                state = state.reorder(torch.zeros_like(self.n_steps))
            chosen, log_prob = self._next(logits.float(), rows, n_tokens)
            is_live = is_live & (log_prob > -torch.inf)  # the others are stuck before this token
            self.tokens[rows, :, n_tokens] = chosen
            self.log_probs[rows, :, n_tokens] = log_prob.masked_fill(~is_live, 0.0)
            self.n_steps[rows] += is_live
            self.is_finished[rows] |= is_live & (chosen == self.eos)
            yield chosen, is_live
            is_live = is_live & (chosen != self.eos) & (n_tokens + 1 < self.limits[rows])[:, None]
            stays = is_live.any(dim=1)
            if not stays.any():
                break
            newest = chosen[..., None]
            if stays.float().mean() <= 1 - LEAVE:
                stay = stays.nonzero().squeeze(1)
                rows, newest, is_live = rows[stay], newest[stay], is_live[stay]
                state = state.keep(stay)

    def _next(self, logits: Tensor, rows: Tensor, n_tokens: int) -> tuple[Tensor, Tensor]:
        """The next tokens and their log probabilities, -inf where nothing can follow (B', N)."""
        largest = logits.amax(dim=2, keepdim=True)  # (B', N, 1)
        check_numbers(largest)
        normaliser = log_normaliser(logits, largest) if self.normalise else largest.new_zeros(())
        if self.rules is not None:
            self.rules.apply(logits, self.tokens[rows, :, :n_tokens], rows)
        tokens = self.choose(logits, rows, n_tokens)
        return tokens, (logits.gather(2, tokens[..., None]) - normaliser).squeeze(2)

    def hypotheses(self, alpha: float) -> list[list[Hypothesis]]:
        """What each sentence's hypotheses have come to, in order of place."""
        totals = self.log_probs.sum(dim=2)
        scores = length_score(totals, self.n_steps, alpha)
        places = zip(
            self.tokens.flatten(0, 1).tolist(),
            totals.flatten().tolist(),
            scores.flatten().tolist(),
            self.log_probs.flatten(0, 1).tolist(),
            self.is_finished.flatten().tolist(),
            self.n_steps.flatten().tolist(),
            strict=True,
        )
        flat = [
            Hypothesis(tokens[: n - finished], total, score, log_probs[:n], finished)
            for tokens, total, score, log_probs, finished, n in places
        ]
        n_places = self.tokens.size(1)
        return [flat[i : i + n_places] for i in range(0, len(flat), n_places)]


def _uniforms(seed: int, ids: Sequence[int], n: int, limits: Tensor) -> Tensor:
    """Numbers from [0, 1), each a function of seed, sentence, sample and step (B, N, T)."""
    drawn = np.zeros((len(ids), n, max(limits.tolist(), default=0)))
    for i, sentence in enumerate(ids):
        for j in range(n):
            seeds = np.random.SeedSequence(seed, spawn_key=(sentence, j))
            drawn[i, j] = np.random.Generator(np.random.Philox(seeds)).random(drawn.shape[2])
    wide = torch.float32 if limits.device.type == "mps" else torch.float64  # MPS has no float64
    return torch.from_numpy(drawn).to(limits.device, wide)


def _draw(logits: Tensor, uniforms: Tensor, config: SearchConfig) -> Tensor:
    """The token at which the cumulative distribution passes the uniform number.

    Shape: logits (B, N, V), uniforms (B, N) -> (B, N).
    """
    largest = logits.amax(dim=2, keepdim=True)
    shift = largest.masked_fill(largest == -torch.inf, 0.0)  # nothing can follow: no NaN
    weights = ((logits - shift).to(uniforms.dtype) / config.temperature).exp()
    cumulative = _truncate(weights, config.top_k, config.top_p).cumsum(dim=2)
    sought = uniforms[..., None] * cumulative[..., -1:]
    # Rounding may put it at the total itself; the first place of the total is the last token there.
    last = cumulative.argmax(dim=2, keepdim=True)
    return torch.searchsorted(cumulative, sought, right=True).minimum(last).squeeze(2)


def _truncate(weights: Tensor, top_k: int, top_p: float) -> Tensor:
    """Weights (..., V) with zeros outside the `top_k` likeliest and, of those, the nucleus.

    The nucleus is the smallest set whose share reaches `top_p` (Holtzman et al. 2020).
    """
    n_vocab = weights.size(-1)
    if top_k in range(1, n_vocab):
        width = top_k
    elif top_p < 1:
        width = n_vocab
    else:
        return weights
    best, tokens = weights.topk(width, dim=-1)
    likelier = best.cumsum(dim=-1) - best
    best = best.masked_fill(likelier >= top_p * best.sum(dim=-1, keepdim=True), 0.0)
    return torch.zeros_like(weights).scatter(-1, tokens, best)
