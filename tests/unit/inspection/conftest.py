"""A shared translator, its inspection of one text, and untrained models in its place."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from export_sources import SOURCES

import headway
from headway.inspection.inspection import Inspection
from headway.models import FAMILIES


@pytest.fixture(scope="module")
def translator(folder: Path) -> headway.Translator:
    return headway.load(folder / "pre")


@pytest.fixture(scope="module")
def inspected(translator: headway.Translator) -> Inspection:
    """The inspection of the fifth source."""
    return translator.inspect(SOURCES[4])


@pytest.fixture(scope="module")
def with_model(translator: headway.Translator) -> Callable[..., headway.Translator]:
    """Makes the translator anew with an untrained model of a family."""

    def make(family: str, **settings: Any) -> headway.Translator:
        torch.manual_seed(0)
        sizes = translator.task.vocabularies
        config = FAMILIES[family].config(**settings).resolve(10, sizes)
        model = FAMILIES[family].build(config, sizes).eval()
        args = (translator.run, replace(translator.config, model=config), translator.task, model)
        return headway.Translator(*args, translator.weights_info, max_length=translator.max_length)

    return make
