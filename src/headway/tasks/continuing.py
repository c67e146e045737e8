"""How a language model goes on with texts: what is searched and drawn after prompts.

A prompt is computed in one pass, once for all that is written after it; prompts of one length go
together. Outputs are what follows the prompt, and their lengths and scores are of that alone.
"""

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..data.codecs import TextCodec
from ..models.sliding import Sliding, keeps_past
from ..search import (
    Hypothesis,
    Prefix,
    SearchConfig,
    Spellings,
    StepModel,
    beam,
    greedy,
    make_rules,
    sample,
    stream,
)
from .decoding import decode_batches, fitting_threads, side_by_side
from .validation import device_of


class Continuing:
    """A language model that is given prompts: tokens, and bytes that must come next.

    Args:
        window: tokens that the model was trained on at once. One that looks back at all of them
            sees no more than that; others go on for ever.

    Attributes:
        longest: of a prompt, in tokens; None if it may be of any length.
    """

    def __init__(self, model: StepModel, codec: TextCodec, window: int) -> None:
        self.model, self.codec = model, codec
        is_bounded = keeps_past(model)
        self.longest = window - 1 if is_bounded else None  # the begin mark is the first
        self._stepped = Sliding(model, window) if is_bounded else model

    def find(
        self,
        prompts: Sequence[Prefix],
        config: SearchConfig,
        limits: Sequence[int],
        ids: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:
        """The n best or n drawn continuations of each prompt, in the order given.

        Args:
            limits: largest number of tokens after each prompt, END counted.
            ids: what random draws depend on; the place in `prompts` when not given.
        """

        def search(rows: list[int]) -> list[list[Hypothesis]]:
            asked = self._asked([prompts[i] for i in rows], config, [limits[i] for i in rows])
            if config.method == "sample":
                return sample(**asked, ids=rows if ids is None else [ids[i] for i in rows])
            if config.beam == 1 and config.stop == "finished":
                return [[best] for best in greedy(**asked)]
            return beam(**asked)

        width = config.n_best if config.method == "sample" else config.beam
        batches = []
        for length in sorted({len(prompt.tokens) for prompt in prompts}):
            alike = [i for i, prompt in enumerate(prompts) if len(prompt.tokens) == length]
            for rows in decode_batches([length + limits[i] for i in alike], width):
                batches.append([alike[i] for i in rows])
        with fitting_threads(self.model, max(map(len, batches), default=0) * width):
            return side_by_side(search, batches)

    def stream(
        self, prompt: Prefix, config: SearchConfig, limit: int, number: int = 0
    ) -> Generator[int, None, Hypothesis]:
        """The tokens after a prompt as they are chosen: the likeliest each time, or drawn.

        Args:
            number: what random draws depend on beside the seed.
        """
        steps = stream(**self._asked([prompt], config, [limit]), ids=[number])
        while True:
            try:
                with fitting_threads(self.model, 1):
                    token = next(steps)
            except StopIteration as end:
                found: Hypothesis = end.value
                return found
            yield token

    def _asked(
        self, prompts: Sequence[Prefix], config: SearchConfig, limits: Sequence[int]
    ) -> dict[str, Any]:
        """What a search is given, for prompts of one length."""
        device, eos = device_of(self.model), self.codec.eos
        tokens = np.array([prompt.tokens for prompt in prompts], dtype=np.int64)
        prefix = torch.from_numpy(tokens).view(len(prompts), -1).to(device)
        batch = {"tgt_in": prefix.new_full((len(prompts), 1), self.codec.bos)}
        longest = torch.tensor(limits, device=device)
        openings = [Prefix(opening=prompt.opening) for prompt in prompts]
        rules = make_rules(
            batch,
            config,
            eos=eos,
            limits=longest,
            prefixes=openings,
            spellings=self._spellings if any(prompt.opening for prompt in prompts) else None,
            before=prefix,
        )
        marks = {"bos": self.codec.bos, "eos": eos}
        given = {"config": config, "limits": longest, "rules": rules, "prefix": prefix}
        return {"model": self._stepped, "batch": batch, **marks, **given}

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self.codec.tokenizer.spellings())
