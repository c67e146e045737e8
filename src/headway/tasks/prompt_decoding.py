"""Decoding after prompts: searched or sampled continuations of a language model.

A prompt is computed in one pass, once for all of its continuations; prompts of equal length share a
batch. Outputs, their lengths and their scores do not include the prompt.
"""

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..data.codecs.text import TextCodec
from ..errors import batch_in_memory
from ..models.sliding_window import Sliding, needs_window
from ..nn.decoding import StepModel
from ..parallel import LARGE_SEARCH, decode_batches, map_batches, single_thread_if_small
from ..search import (
    Hypothesis,
    Prefix,
    SearchConfig,
    TokenBytes,
    beam,
    greedy,
    make_logits_rules,
    sample,
    stream,
)
from .base import device_of


class PromptDecoder:
    """A language model that continues prompts: tokens, and bytes that must follow them.

    Args:
        window: length of the training inputs in tokens. A model that attends to all past tokens
            never sees more of them; other models have no limit.

    Attributes:
        longest: length of the longest prompt, in tokens; None if there is no limit.
    """

    def __init__(self, model: StepModel, codec: TextCodec, window: int) -> None:
        self.model, self.codec = model, codec
        is_bounded = needs_window(model)
        self.longest = window - 1 if is_bounded else None  # BOS is the first token
        self._stepped = Sliding(model, window) if is_bounded else model

    def decode(
        self,
        prompts: Sequence[Prefix],
        config: SearchConfig,
        limits: Sequence[int],
        ids: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:
        """The n best or n sampled continuations of each prompt, in their order.

        Args:
            limits: largest number of tokens after each prompt, END counted.
            ids: seeds of the random draws. Default: the index in `prompts`.
        """

        def search(rows: list[int]) -> list[list[Hypothesis]]:
            longest = max(len(prompts[i].tokens) + limits[i] for i in rows)
            with batch_in_memory("a search", len(rows), longest, LARGE_SEARCH):
                arguments = self._search_arguments(
                    [prompts[i] for i in rows], config, [limits[i] for i in rows]
                )
                if config.method == "sample":
                    return sample(**arguments, ids=rows if ids is None else [ids[i] for i in rows])
                if config.beam == 1 and config.stop == "finished":
                    return [[best] for best in greedy(**arguments)]
                return beam(**arguments)

        width = config.n_best if config.method == "sample" else config.beam
        batches = []
        for length in sorted({len(prompt.tokens) for prompt in prompts}):
            indices = [i for i, prompt in enumerate(prompts) if len(prompt.tokens) == length]
            for rows in decode_batches([length + limits[i] for i in indices], width):
                batches.append([indices[i] for i in rows])
        with single_thread_if_small(self.model, max(map(len, batches), default=0) * width):
            return map_batches(search, batches)

    def stream(
        self, prompt: Prefix, config: SearchConfig, limit: int, number: int = 0
    ) -> Generator[int, None, Hypothesis]:
        """Yields the tokens after a prompt as they are chosen, greedily or by sampling.

        Args:
            number: seeds the random draws, together with the seed of `config`.
        """
        steps = stream(**self._search_arguments([prompt], config, [limit]), ids=[number])
        while True:
            try:
                with single_thread_if_small(self.model, 1):
                    token = next(steps)
            except StopIteration as end:
                hypothesis: Hypothesis = end.value
                return hypothesis
            yield token

    def _search_arguments(
        self, prompts: Sequence[Prefix], config: SearchConfig, limits: Sequence[int]
    ) -> dict[str, Any]:
        """The arguments of a search, for prompts of the same length."""
        device, eos = device_of(self.model), self.codec.eos
        tokens = np.array([prompt.tokens for prompt in prompts], dtype=np.int64)
        prefix = torch.from_numpy(tokens).view(len(prompts), -1).to(device)
        batch = {"tgt_in": prefix.new_full((len(prompts), 1), self.codec.bos)}
        longest = torch.tensor(limits, device=device)
        openings = [Prefix(opening=prompt.opening) for prompt in prompts]
        rules = make_logits_rules(
            batch,
            config,
            eos=eos,
            limits=longest,
            prefixes=openings,
            spellings=lambda: self._spellings,
            before=prefix,
        )
        special = {"bos": self.codec.bos, "eos": eos}
        others = {"config": config, "limits": longest, "rules": rules, "prefix": prefix}
        return {"model": self._stepped, "batch": batch, **special, **others}

    @cached_property
    def _spellings(self) -> TokenBytes:
        return TokenBytes(self.codec.tokenizer.spellings())
