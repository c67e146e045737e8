"""Greedy search and sampling: hypotheses that are decoded independently of each other.

Both are a loop over N hypotheses per sentence, none of which ever replaces another; they differ in
how a token is chosen. Greedy search equals a beam of one with `stop = "finished"`, without the cost
of a beam. `stream` yields the tokens of a hypothesis as they are chosen.
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
    """A hypothesis per sentence; unfinished if the length limit or a dead end came before END.

    Args:
        config: only its lengths, alpha and rules are used.
        limits: largest `|y|` per sentence (B,), END counted; by default from the source.
        normalise: False takes the logits as log probabilities.
        rules: rules for forbidden tokens; by default those of the settings.
        prefix: tokens that every hypothesis continues (B, P); outputs omit them.
    """
    limits = length_limits(batch, config) if limits is None else limits
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    decoding = _IndependentDecoding(limits, 1, eos, normalise, rules, _likeliest)
    decoding.run(model, batch, first_tokens(limits, bos, prefix))
    return [best for [best] in decoding.hypotheses(config.alpha)]


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

    `temperature`, `top_k` and `top_p` change the draws, not the reported log probabilities, which
    are the model's. A hypothesis is unfinished if the length limit or a dead end came before END.

    Args:
        limits: largest `|y|` per sentence (B,), END counted; by default from the source.
        normalise: False takes the logits as log probabilities.
        rules: rules for forbidden tokens; by default those of the settings.
        prefix: tokens that every hypothesis continues (B, P); outputs omit them.
        ids: a number for each sentence, by default its row in the batch. Draws depend on it and on
            the seed, not on the rest of the batch.
    """
    limits = length_limits(batch, config) if limits is None else limits
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    choose = _sampler(config, range(len(limits)) if ids is None else ids, limits)
    decoding = _IndependentDecoding(limits, config.n_best, eos, normalise, rules, choose)
    decoding.run(model, batch, first_tokens(limits, bos, prefix))
    drawn = decoding.hypotheses(config.alpha)
    return [sorted(draws, key=lambda draw: -draw.score) for draws in drawn]


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
    """Yields the tokens of a sentence as they are chosen, without END; returns its hypothesis.

    It is the first draw of `sample`, or with another method the result of `greedy`.

    Args:
        batch: one sentence, as are `limits`, `prefix` and `ids`.
    """
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    choose = _sampler(config, ids, limits) if config.method == "sample" else _likeliest
    decoding = _IndependentDecoding(limits, 1, eos, normalise, rules, choose)
    for token, is_live in decoding.steps(model, batch, first_tokens(limits, bos, prefix)):
        if is_live and token != eos:
            yield int(token)
    [[hypothesis]] = decoding.hypotheses(config.alpha)
    return hypothesis


def _likeliest(logits: Tensor, rows: Tensor, n_tokens: int) -> Tensor:
    return logits.argmax(dim=2)


def _sampler(config: SearchConfig, ids: Sequence[int], limits: Tensor) -> Choose:
    uniforms = _uniforms(config.seed, ids, config.n_best, limits)

    def choose(logits: Tensor, rows: Tensor, n_tokens: int) -> Tensor:
        return _draw(logits, uniforms[rows, :, n_tokens], config)

    return choose


class _IndependentDecoding:
    """N hypotheses per sentence, and their tokens so far.

    Tensors (B, N, T) have the steps in the last dimension; the first `n_steps` of them are valid.
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

    def run(self, model: StepModel, batch: Mapping[str, Tensor], first: Tensor) -> None:
        """Decodes every hypothesis to its end."""
        for _ in self.steps(model, batch, first):
            pass

    def steps(
        self, model: StepModel, batch: Mapping[str, Tensor], first: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Decodes step by step; yields the tokens and which of them are valid, (B', N) both.

        Args:
            first: tokens before the first chosen one (B, t).
        """
        n_sentences, n, longest = self.tokens.shape
        if not n_sentences:
            return
        rows = torch.arange(n_sentences, device=self.limits.device)
        is_live = torch.ones_like(self.is_finished)
        newest, state = first[:, None], model.start(batch)
        for n_tokens in range(longest):
            logits, state = model.step(newest, state)
            if logits.size(1) < n:  # the first tokens are computed once for all of them
                logits = logits.expand(-1, n, -1).clone()
                state = state.reorder(torch.zeros_like(self.n_steps))
            chosen, log_prob = self._next(logits.float(), rows, n_tokens)
            is_live = is_live & (log_prob > -torch.inf)  # the others are at a dead end
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
        """The next tokens and their log probabilities, -inf at a dead end (B', N)."""
        largest = logits.amax(dim=2, keepdim=True)  # (B', N, 1)
        check_numbers(largest)
        normaliser = log_normaliser(logits, largest) if self.normalise else largest.new_zeros(())
        if self.rules is not None:
            self.rules.apply(logits, self.tokens[rows, :, :n_tokens], rows)
        tokens = self.choose(logits, rows, n_tokens)
        return tokens, (logits.gather(2, tokens[..., None]) - normaliser).squeeze(2)

    def hypotheses(self, alpha: float) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, in order of their slots."""
        totals = self.log_probs.sum(dim=2)
        scores = length_score(totals, self.n_steps, alpha)
        fields = zip(
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
            for tokens, total, score, log_probs, finished, n in fields
        ]
        n_slots = self.tokens.size(1)
        return [flat[i : i + n_slots] for i in range(0, len(flat), n_slots)]


def _uniforms(seed: int, ids: Sequence[int], n: int, limits: Tensor) -> Tensor:
    """Uniform numbers in [0, 1), each a function of seed, sentence, sample and step (B, N, T)."""
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
    shift = largest.masked_fill(largest == -torch.inf, 0.0)  # at a dead end: no NaN
    weights = ((logits - shift).to(uniforms.dtype) / config.temperature).exp()
    cumulative = _truncate(weights, config.top_k, config.top_p).cumsum(dim=2)
    target = uniforms[..., None] * cumulative[..., -1:]
    # Rounding may make the target the total; the first index of the total is the last token.
    last = cumulative.argmax(dim=2, keepdim=True)
    return torch.searchsorted(cumulative, target, right=True).minimum(last).squeeze(2)


def _truncate(weights: Tensor, top_k: int, top_p: float) -> Tensor:
    """Weights (..., V) with zeros outside the nucleus of the `top_k` likeliest.

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
