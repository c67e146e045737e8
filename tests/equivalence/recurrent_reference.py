"""Recurrent models from the formulas: one sentence, one word, one cell at a time.

They read the weights of a headway model and compute nothing with its code; cells are those of
`torch.nn`.
"""

import math

import torch

from headway.nn.scores import score_name

CELLS = {"rnn": torch.nn.RNNCell, "gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}


def units(score, q, h):
    """`tanh(W [q; h_i])`, whichever way the matrix is stored. Shape: (D,), (S, D) -> (S, A)."""
    if hasattr(score, "weight"):
        weight = score.weight[0]
    else:
        weight = torch.cat([score.query_weight[0], score.key_weight[0]], dim=1)
    both = torch.cat([q.expand_as(h), h], dim=1)  # (S, 2D)
    return torch.tanh(both @ weight.T)


SCORES = {
    "basic": lambda score, q, h: h @ q,
    "dot": lambda score, q, h: h @ q,
    "scaled_dot": lambda score, q, h: h @ q / math.sqrt(len(q)),
    "cosine": lambda score, q, h: torch.cosine_similarity(h, q[None], dim=1),
    "general": lambda score, q, h: torch.stack([q @ score.weight[0] @ item for item in h]),
    "low_rank": lambda score, q, h: (h @ score.key_weight[0].T) @ (score.query_weight[0] @ q),
    "concat": lambda score, q, h: units(score, q, h) @ score.v[0],
    "additive": lambda score, q, h: units(score, q, h) @ score.v[0],
    "location": lambda score, q, h: (score.weight[0] @ q)[: len(h)],
}


class Cell:
    """One direction of one layer; its state is (hidden,) or (hidden, cell), each (D,)."""

    def __init__(self, kind, layer, suffix):
        self.cell = CELLS[kind](layer.input_size, layer.hidden_size)
        tensors = layer.state_dict()
        self.cell.load_state_dict({n: tensors[n + suffix] for n in self.cell.state_dict()})
        self.zero = (torch.zeros(layer.hidden_size),) * (2 if kind == "lstm" else 1)

    def __call__(self, x, state):
        state = state if len(state) == 2 else state[0]
        found = self.cell(x, state)
        return found if isinstance(found, tuple) else (found,)

    def read(self, inputs):
        state, states = self.zero, []
        for x in inputs:
            state = self(x, state)
            states.append(state[0])
        return states, state


def encode(model, source):
    """States of the last layer (S, D), and the last state of each layer."""
    config = model.config
    inputs = list(model.source_embedding[source] * math.sqrt(config.d_model))
    ends = []
    for layer in model.encoder.layers:
        states, end = Cell(config.cell, layer, "_l0").read(inputs)
        if config.bidirectional:
            back, end_back = Cell(config.cell, layer, "_l0_reverse").read(inputs[::-1])
            states = [torch.cat(pair) for pair in zip(states, back[::-1], strict=True)]
            end = tuple(torch.cat(pair) for pair in zip(end, end_back, strict=True))
        inputs = states
        ends.append(end)
    return torch.stack(inputs), ends


@torch.inference_mode()
def logits_by_formula(model, source, target):
    """Logits after each target word (T, V)."""
    config, decoder = model.config, model.decoder
    memory, states = encode(model, source)
    cells = [Cell(config.cell, layer, "_l0") for layer in decoder.stack]
    fed, logits = torch.zeros(config.d_model), []

    def context(query):
        weights = SCORES[score_name(config.score)](decoder.attention.score, query, memory).softmax(
            0
        )
        return sum(weight * item for weight, item in zip(weights, memory, strict=True))

    def combined(*vectors):
        return torch.tanh(decoder.combine.weight @ torch.cat(vectors) + decoder.combine.bias)

    for token in target:
        y = model.target_embedding[token] * math.sqrt(config.d_model)
        x = y
        if config.attention == "bahdanau":
            c = context(states[0][0])
            x = torch.cat([y, c])
        elif config.input_feeding:
            x = torch.cat([y, fed])
        for number, cell in enumerate(cells):
            states[number] = cell(x, states[number])
            x = states[number][0]
        if config.attention == "bahdanau":
            hidden = combined(y, x, c)
        elif config.attention == "luong":
            hidden = fed = combined(x, context(x))
        else:
            hidden = x
        logits.append(model.output.weight @ hidden + model.output.bias)
    return torch.stack(logits)


@torch.inference_mode()
def language_logits_by_formula(model, tokens):
    """The same of a language model, which begins with zeros (T, V)."""
    config = model.config
    inputs = list(model.embedding[tokens] * math.sqrt(config.d_model))
    for layer in model.decoder.stack:
        inputs, _ = Cell(config.cell, layer, "_l0").read(inputs)
    return torch.stack([model.output.weight @ hidden + model.output.bias for hidden in inputs])
