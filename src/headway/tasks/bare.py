"""A model that reads and is asked for nothing: the backbone of one that came without a head.

Such runs are imported (`api/importing.py`). Other tasks start from them, with heads of their own.
"""

from typing import Any, NoReturn

import numpy as np
from torch import Tensor

from ..data.codecs import TextConfig
from ..data.store import Store
from ..errors import ConfigError
from ..models import Output, Vocabularies
from ..search import SearchConfig
from .loss import Batch
from .pretrain import Asked, Pretrain, RestoringLoss
from .task import Rows

NOTHING = (
    'pretrain.objective = "none" asks nothing of a model, as of one that was imported without a '
    "head; train another task from it with init, or choose another objective"
)


class Bare(Pretrain):
    """Nothing is asked, so that nothing is learned or judged."""

    needs = frozenset({"read"})
    begins = True
    family = "encoder"
    parts = ()
    metrics = ()
    validated = ("loss",)

    @classmethod
    def extra_specials(cls) -> tuple[str, ...]:
        return ()

    @classmethod
    def learn(cls, rows: Rows, text: TextConfig) -> NoReturn:  # type: ignore[override]
        raise ConfigError(NOTHING)

    @property
    def vocabularies(self) -> Vocabularies:
        size = self.codec.tokenizer.size
        return Vocabularies(size, size, shared=True, head="none")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        raise ConfigError(NOTHING)

    def asked(self, batch: Batch) -> dict[str, Asked]:
        return {}

    def told(self, model: Any, batch: Batch) -> dict[str, tuple[Output, Tensor]]:
        return {}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        return []

    def check(self, store: Store) -> None:
        raise ConfigError(NOTHING)

    def objective(self, model: Any, label_smoothing: float) -> RestoringLoss:
        raise ConfigError(NOTHING)
