"""Recurrent encoder-decoders: RNN, GRU or LSTM, with and without attention.

This file has the settings and the model; the layers are in `nn/recurrent.py`. Without attention the
decoder knows the source only by the encoder's last state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt
from torch import Tensor

from ..nn.decoding import DecoderState, RecurrentCache
from ..nn.dropout import Dropout
from ..nn.inputs import VectorInputConfig
from ..nn.recurrent import Bahdanau, Bottleneck, Encoder, InputFeeding, Luong, Stack, StateAttention
from ..nn.scores import make_score, score_name, with_score_settings
from .embeddings import embed, make_embeddings, read_source, resolve_input, resolve_share
from .family import Family, OutputLayer, SequenceModel, Size, VocabularySizes
from .score_setting import ScoreOrAuto

USUAL = {"bahdanau": "additive", "luong": "general"}
"""The default score of each form of attention: that of its paper."""


@dataclass(frozen=True)
class RecurrentConfig:
    """Recurrent encoder-decoder, with or without attention."""

    family: Literal["recurrent"] = "recurrent"
    """The model family."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """The recurrent cell of the layers."""
    layers: Size = 1
    """Number of encoder layers, and of decoder layers."""
    bidirectional: bool = True
    """Whether the encoder reads in both directions, each with half the width. The decoder cannot,
    since later tokens do not exist yet."""
    attention: Literal["none", "bahdanau", "luong"] = "luong"
    """`bahdanau` attends with the previous state, then steps; `luong` steps, then attends, which
    needs no loop and is faster; with `none` the decoder knows the source only by the encoder's last
    state."""
    score: ScoreOrAuto = "auto"
    """The score between decoder states and encoder states; `auto` is `additive` with `bahdanau` and
    `general` with `luong`. `basic` and `dot` are equal here, since states are both keys and values.
    A score with settings is set by name or as a table: `{ name = "low_rank", rank = 16 }`."""
    input_feeding: bool = False
    """With `luong`: the last attentional state is an input of the next step, which needs a loop."""
    max_positions: Size = 1024
    """Number of source positions of the score `location`; it never attends beyond them."""
    d_model: Size = 256
    """Width of embeddings and states."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Dropout rate of embeddings, between layers and before the output layer."""
    share: Literal["auto", "all", "target", "none"] = "auto"
    """Which embeddings are one matrix; `auto` shares all when the vocabulary is shared."""
    input: VectorInputConfig | None = None
    """For vectors in place of tokens: how the encoder reads them."""

    def __post_init__(self) -> None:
        if self.bidirectional and self.d_model % 2:
            raise ValueError(
                f"d_model={self.d_model} is odd and cannot be halved for two directions; "
                f"try d_model={self.d_model + 1}, or bidirectional = false"
            )
        if self.input_feeding and self.attention != "luong":
            raise ValueError(
                f'input_feeding needs attention = "luong", and attention is "{self.attention}"; '
                "leave one of them out"
            )
        if self.attention == "none" and self.score != "auto":
            raise ValueError(
                f'score = "{score_name(self.score)}" has nothing to score with attention = "none"; '
                'leave it out, or set attention = "bahdanau" or "luong"'
            )

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "RecurrentConfig":
        """The settings with those left open filled in; without attention there is no score."""
        score = self.score
        if score == "auto":
            score = USUAL.get(self.attention, "auto")
        if score != "auto":
            score = with_score_settings(score)
        share = resolve_share(self.share, vocabularies)
        given = resolve_input(self.input, vocabularies)
        return replace(self, share=share, score=score, input=given)


class Recurrent(SequenceModel):
    """Encoder, decoder and output layer, from resolved settings."""

    def __init__(self, config: RecurrentConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        c = self.config = config
        self.embed_scale = c.d_model**0.5
        source, target, final = make_embeddings(c, vocabularies)
        self.source_embedding: Any = source  # (V, D), or a module that reads vectors
        self.target_embedding: Any = target
        self.output = OutputLayer(final, bias=True)
        self.dropout = Dropout(c.dropout)
        self.encoder = Encoder(c.cell, c.d_model, c.layers, c.bidirectional, c.dropout)
        self.decoder = self._make_decoder()

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D)."""
        memory, carry = self.encode(batch)
        x = self._embed(batch["tgt_in"])[:, None]  # one hypothesis
        hidden, _ = self.decoder(x, memory, carry)
        return self.dropout(hidden[:, 0])

    def encode(self, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
        """The memory for attention, and the decoder's carry (B, 1, C, D)."""
        x, valid = read_source(batch, self.source_embedding, self.embed_scale)
        states, last = self.encoder(self.dropout(x), valid)
        carry = self.decoder.begin(last)
        if self.config.attention == "none":
            return {}, carry
        return self.decoder.attention.prepare(states, valid), carry

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """Encodes the source and computes its side of the score, once per sentence."""
        memory, carry = self.encode(batch)
        state = DecoderState(memory, {"carry": RecurrentCache(carry)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        carry: Any = state.cache["carry"]
        x = self._embed(tokens)  # (B, N, t, D)
        hidden, after = self.decoder(x, state.memory, carry.value)
        return self.output(hidden[:, :, -1]), state.successor({"carry": RecurrentCache(after)})

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(embed(tokens, self.target_embedding, self.embed_scale))

    def _make_decoder(self) -> Any:
        c = self.config
        is_fed = c.attention == "bahdanau" or c.input_feeding  # input: embedding and context
        d_input = 2 * c.d_model if is_fed else c.d_model
        stack = Stack(c.cell, d_input, c.d_model, c.layers, c.dropout)
        if c.attention == "none":
            return Bottleneck(stack)
        attention = StateAttention(make_score(c.score, c.d_model, n_positions=c.max_positions))
        if c.attention == "bahdanau":
            return Bahdanau(stack, attention, c.d_model)
        return (InputFeeding if c.input_feeding else Luong)(stack, attention, c.d_model)


RECURRENT = Family(
    "recurrent",
    RecurrentConfig,
    Recurrent,
    frozenset({"step", "score", "attend", "vectors", "values"}),
    encoder=("encoder.", "source_embedding"),
)
"""With attention = "none" there are no attention weights: `capture` records nothing."""
