"""Small models to search: a Markov chain chosen by the source, and a recurrent one.

They live here as fixtures because several files of this folder search the same models.
"""

import pytest
import torch

from headway.nn.decoding import DecoderState, RecurrentCache

BOS, EOS = 0, 1


class Markov:
    """p(next | newest, first source token), with some continuations impossible; no cache at all."""

    def __init__(self, seed, n_vocab=6, n_sources=4, impossible=0.2):
        draw = torch.Generator().manual_seed(seed)
        shape = (n_sources, n_vocab, n_vocab)
        self.logits = 2 * torch.randn(shape, generator=draw)
        self.logits[torch.rand(shape, generator=draw) < impossible] = -torch.inf

    def start(self, batch, prefix=None):
        return DecoderState({"source": batch["src"][:, 0]}, {})

    def step(self, tokens, state):
        logits = self.logits[state.memory["source"][:, None], tokens[..., -1]]
        return logits, state.successor({})


class Recurrent:
    """A GRU cell whose first state is read from the source."""

    def __init__(self, seed, n_vocab=12, d=8):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.embedding = torch.nn.Embedding(n_vocab, d)
            self.cell = torch.nn.GRUCell(d, d)
            self.output = torch.nn.Linear(d, n_vocab)
            self.output.weight.data *= 6  # sharp enough for hypotheses to differ and to end
            self.output.bias.data[BOS] = -torch.inf

    def first(self, batch):
        vectors = self.embedding(batch["src"]) * batch["src_valid"][..., None]
        return torch.tanh(vectors.sum(dim=1))  # (B, D)

    def advance(self, tokens, hidden):
        """tokens (B, N), hidden (B, N, D) -> (B, N, D)"""
        flat = self.cell(self.embedding(tokens).flatten(0, 1), hidden.flatten(0, 1))
        return flat.view_as(hidden)

    def start(self, batch, prefix=None):
        return DecoderState({}, {"hidden": RecurrentCache(self.first(batch)[:, None])})

    def step(self, tokens, state):
        hidden = self.advance(tokens[..., 0], state.cache["hidden"].value)
        return self.output(hidden), state.successor({"hidden": RecurrentCache(hidden)})


class Scratch(Recurrent):
    """The same model without a recurrent cache: it keeps the tokens and starts over each time."""

    def start(self, batch, prefix=None):
        first = self.first(batch)
        tokens = torch.zeros(first.size(0), 1, 0, dtype=torch.long)
        return DecoderState({"first": first}, {"tokens": RecurrentCache(tokens)})

    def step(self, tokens, state):
        past = torch.cat([state.cache["tokens"].value, tokens], dim=-1)
        hidden = state.memory["first"][:, None].expand(-1, past.size(1), -1).contiguous()
        for newest in past.unbind(dim=-1):
            hidden = self.advance(newest, hidden)
        return self.output(hidden), state.successor({"tokens": RecurrentCache(past)})


@pytest.fixture
def markov():
    return Markov


@pytest.fixture
def recurrent():
    return Recurrent


@pytest.fixture
def scratch():
    return Scratch


def _make_batch(sources):
    width = max(len(source) for source in sources)
    src = torch.tensor([source + [0] * (width - len(source)) for source in sources])
    lengths = torch.tensor([len(source) for source in sources])
    return {"src": src, "src_valid": torch.arange(width)[None] < lengths[:, None]}


@pytest.fixture
def make_batch():
    """Lists of source tokens -> a padded batch."""
    return _make_batch


@pytest.fixture
def same():
    """Whether two lists of hypotheses agree: the scores to 1e-4, the tokens unless they tie."""

    def agree(ours, theirs):
        assert len(ours) == len(theirs)
        scores = [hypothesis.score for hypothesis in ours] + [-float("inf")]
        for i, (hyp, other) in enumerate(zip(ours, theirs, strict=True)):
            assert hyp.score == pytest.approx(other.score, abs=1e-4)
            assert hyp.finished == other.finished
            tied = min(scores[i] - scores[i + 1], scores[i - 1] - scores[i] if i else 1) < 1e-4
            if not tied:
                assert hyp.tokens == other.tokens
                assert hyp.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-4)

    return agree
