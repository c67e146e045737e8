"""A one-layer GRU encoder-decoder with attention: the smallest recurrent family.

The decoder steps, then attends to the encoder's states with its new state (Luong et al. 2015), and
both make the hidden state for the output layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Lt
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..nn import masks
from ..nn.attend import attend
from ..nn.dropout import Dropout
from ..nn.step import Fixed, State
from .family import Family, Output, SequenceModel, Vocabularies, make_embeddings


@dataclass(frozen=True)
class GRUConfig:
    """Recurrent encoder-decoder with attention."""

    family: Literal["gru"] = "gru"
    """The model family."""
    d_model: Annotated[int, Ge(1)] = 256
    """Width of embeddings and states."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Rate of dropping in embeddings and before the output layer, in training."""
    share: Literal["auto", "all", "target", "none"] = "auto"
    """Which embeddings are one matrix; `auto` shares all when the vocabulary is shared."""

    def resolve(self, n_examples: int, vocabularies: Vocabularies) -> "GRUConfig":
        if self.share != "auto":
            return self
        return replace(self, share="all" if vocabularies.shared else "target")


class GRUModel(SequenceModel):
    """Encoder GRU, decoder GRU, one head of attention."""

    def __init__(self, config: GRUConfig, vocabularies: Vocabularies) -> None:
        super().__init__()
        D = config.d_model
        source, target, final = make_embeddings(config.share, vocabularies, D)
        self.source_embedding, self.target_embedding = source, target
        self.output = Output(final, bias=True)
        self.encoder = nn.GRU(D, D, batch_first=True)
        self.decoder = nn.GRU(D, D, batch_first=True)
        self.combine = nn.Linear(2 * D, D)
        self.dropout = Dropout(config.dropout)
        self.scale = D**0.5

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D): the whole decoder in two calls."""
        memory, last = self.encode(batch["src"], batch["src_valid"])
        states, _ = self.decoder(self._embed(batch["tgt_in"], self.target_embedding), last[None])
        return self._attend(states, memory, batch["src_valid"])

    def encode(self, src: Tensor, src_valid: Tensor) -> tuple[Tensor, Tensor]:
        """src (B, S) -> states (B, S, D) and each sentence's last one (B, D)."""
        lengths = src_valid.sum(1).clamp(min=1).cpu()
        embedded = self._embed(src, self.source_embedding)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        padded, _ = pad_packed_sequence(states, batch_first=True, total_length=src.size(1))
        return padded, last[0]

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        memory, last = self.encode(batch["src"], batch["src_valid"])
        state = State(
            {"states": memory, "valid": batch["src_valid"]}, {"hidden": Fixed(last[:, None])}
        )
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        B, N, _ = tokens.shape
        hidden: Any = state.cache["hidden"]
        embedded = self._embed(tokens.flatten(0, 1), self.target_embedding)
        states, last = self.decoder(embedded, hidden.value.reshape(1, B * N, -1).contiguous())
        newest = states[:, -1].unflatten(0, (B, N))  # (B, N, D): beams in the query axis
        attended = self._attend(newest, state.memory["states"], state.memory["valid"])
        return self.output(attended), state.successor(
            {"hidden": Fixed(last[0].unflatten(0, (B, N)))}
        )

    def _attend(self, states: Tensor, memory: Tensor, valid: Tensor) -> Tensor:
        """states (B, Q, D) attend to memory (B, S, D) -> (B, Q, D)."""
        keys = memory[:, None]
        context = attend(states[:, None], keys, keys, masks.padding(valid), owner=self)[:, 0]
        return self.dropout(torch.tanh(self.combine(torch.cat([states, context], dim=-1))))

    def _embed(self, tokens: Tensor, weight: Tensor) -> Tensor:
        return self.dropout(embedding(tokens, weight) * self.scale)


GRU = Family("gru", GRUConfig, GRUModel, frozenset({"step", "score", "attend"}))
