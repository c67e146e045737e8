"""The objective `none`: an encoder without a head, which is neither trained nor evaluated.

Such runs are imported (`interop/import_model.py`); other tasks start from them with new heads.
"""

from typing import Any, NoReturn

import numpy as np
from torch import Tensor

from ...data.codecs.text import TextConfig
from ...data.store import Store
from ...errors import ConfigError
from ...models import OutputLayer, VocabularySizes
from ...search import SearchConfig
from ..base import Batch, Rows
from .base import Labels, Pretrain, PretrainLoss
from .config import NoneConfig

NOTHING = (
    'pretrain.objective = "none" has no loss and no metrics, as for a model imported without a '
    "head; train another task from it with init, or choose another objective"
)


class Headless(Pretrain):
    """No objective: such a task can be loaded, and neither trained nor evaluated."""

    config_class = NoneConfig
    needs = frozenset({"read"})
    starts_with_bos = True
    family = "encoder"
    parts = ()
    validated = ("loss",)

    @property
    def extra_specials(self) -> tuple[str, ...]:
        return ()

    def fit_codecs(self, rows: Rows, text: TextConfig) -> NoReturn:
        raise ConfigError(NOTHING)

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="none")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        raise ConfigError(NOTHING)

    def labels(self, batch: Batch) -> dict[str, Labels]:
        return {}

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        return {}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        return []

    def check(self, store: Store) -> None:
        raise ConfigError(NOTHING)

    def objective(self, model: Any, label_smoothing: float) -> PretrainLoss:
        raise ConfigError(NOTHING)
