"""A model of the library: its names, its settings and its weights, each beside ours."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ...models import Vocabularies
from ...models.family import Head
from ...text import Frame
from ..obstacles import Obstacles
from .pooling import Pooling
from .purposes import TOLD, Form, Purpose
from .rows import Rows, reads
from .settings import Reading, Setting
from .table import Table


@dataclass(frozen=True)
class Layout:
    """One line of the table in `layouts.py`.

    Attributes:
        architectures: the classes whose folders are read, each with what it is for; the first that
            is for the same as a model of ours loads what is written.
        n_tokens: the usual size of the vocabulary.
        family, task: ours; a model that was trained further has the task of its purpose.
        roles: what the library calls the tokens that have a role with us; of several names the
            first counts that is there.
        usual_ids: of those tokens, where `config.json` says nothing.
        frame: the marks around texts that are only read, where the tokenizer tells nothing of them.
        settings: those of `config.json` and of our family.
        rows: the weights of a model of given settings and form, without those of the next two.
        pooling: of a model that reads, the vector of a text.
        outputs: by form, what the layer is called that tells what a model was trained further for.
        prefix: what names of weights begin with, except in folders that were saved from the class
            without a head.
        unprefixed: beginnings of the names that never have the prefix.
        signs: of a model that reads, heads of pre-training by the beginning of a name that tells
            them; the first that a file holds counts, and without any there is no head.
        skipped: patterns of names that hold nothing learned.
        spellings: endings of names in older files, with what they are called now.
        splits_positions: the channels of sinusoidal positions are all sines, then all cosines,
            where ours alternate.
        pad: the id that padding must have, where positions depend on it.
        has_two_vocabularies: source and target may have one each.
        habits: further entries of `config.json`, which switch off what would change the search.
    """

    name: str
    model_type: str
    architectures: Mapping[str, Form]
    n_tokens: int
    family: str
    task: str
    roles: Mapping[str, tuple[str, ...]]
    settings: tuple[Setting, ...]
    rows: Callable[[Any, Form], Rows]
    usual_ids: Mapping[str, int] = field(default_factory=dict)
    frame: Frame = field(default_factory=Frame)
    pooling: Pooling | None = None
    outputs: Mapping[Form, str] = field(default_factory=dict)
    prefix: str = ""
    unprefixed: tuple[str, ...] = ()
    signs: Mapping[str, Head] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)
    splits_positions: bool = False
    pad: int | None = None
    has_two_vocabularies: bool = False
    habits: Mapping[str, Any] = field(default_factory=dict)

    def form(self, given: Reading) -> Form:
        """What a folder's class is for; of those for pre-training, what the file is enough for."""
        for name in given.get("architectures", ()):
            if (form := self.architectures[name]) in self.outputs:
                return form
        return self._head(given)

    def read(self, given: Reading) -> dict[str, Any]:
        """Settings of ours; what cannot be expressed is noted in `given`."""
        read = {
            key: value for setting in self.settings for key, value in setting.read(given).items()
        }
        if self.pooling is not None:
            read |= self.pooling.read(given, self.form(given))
        return {"family": self.family, **read}

    def read_vocabularies(self, given: Reading, purpose: Purpose | None = None) -> Vocabularies:
        """The sizes of the token sets, and of what a model was trained further for."""
        size = given.get("vocab_size", self.n_tokens)
        if not isinstance(size, int) or size < 1:
            given.obstacles.add("vocab_size", size, "the number of tokens")
            size = 1
        if purpose is not None:
            return Vocabularies(size, purpose.n_outputs, shared=False)
        target = given.get("decoder_vocab_size", size) if self.has_two_vocabularies else size
        is_apart = given.get("share_encoder_decoder_embeddings", True) is False
        is_shared = not (self.has_two_vocabularies and is_apart)
        return Vocabularies(size, target, is_shared, self._head(given))

    def _head(self, given: Reading) -> Head:
        if not self.signs:
            return "words"
        return next((head for sign, head in self.signs.items() if given.holds(sign)), "none")

    def obstacles(
        self, model: Any, vocabularies: Vocabularies, ids: Mapping[str, int], task: str | None
    ) -> list[str]:
        """The settings of a model of ours that the library has no place for.

        Args:
            ids: those of the control tokens.
            task: what it was trained further for, if it was.
        """
        found = Obstacles()
        form = vocabularies.head if task is None else TOLD[task]
        for setting in self.settings:
            setting.check(model, found)
        if self.pooling is not None:
            self.pooling.check(model, form, found)
        if task is None and not vocabularies.shared and not self.has_two_vocabularies:
            found.add("text.shared", False, f"{self.name} has one vocabulary")
        if self.pad is not None and ids["pad"] != self.pad:
            found.add("pad", ids["pad"], f"{self.name} pads with {self.pad}")
        if form not in self.architectures.values():
            found.add("task" if task else "head", task or form, f"{self.name} has no such head")
        return found.found

    def write(
        self, model: Any, vocabularies: Vocabularies, purpose: Purpose | None = None
    ) -> dict[str, Any]:
        """`config.json`, without the ids of control tokens."""
        form = vocabularies.head if purpose is None else purpose.form
        written = [setting.write(model) for setting in self.settings]
        apart = {"decoder_vocab_size": vocabularies.target} if self.has_two_vocabularies else {}
        return {
            "architectures": [self.architecture(form)],
            "model_type": self.model_type,
            "vocab_size": vocabularies.source,
            **apart,
            **{key: value for entries in written for key, value in entries.items()},
            **self.habits,
            **({} if purpose is None else purpose.write()),
        }

    def architecture(self, form: Form) -> str:
        """The class that loads a model of this form."""
        return next(name for name, other in self.architectures.items() if other == form)

    def table(self, model: Any, form: Form) -> Table:
        """The weights of a model of these settings."""
        order = None
        if self.splits_positions:
            channels = torch.arange(model.d_model)
            order = torch.cat([channels[0::2], channels[1::2]])
        return Table(self._rows(model, form), order)

    def _rows(self, model: Any, form: Form) -> Rows:
        yield from self.rows(model, form)
        if self.pooling is not None:
            yield from self.pooling.rows(model, form)
        if form in self.outputs:
            yield from reads(self.outputs[form], "output")

    def canonical(self, names: Iterable[str]) -> dict[str, str]:
        """The names in a file, without those that are skipped, by what the table calls them."""
        names = list(names)
        prefix = self._left_out(names)
        found = {}
        for name in names:
            full = name if self._is_head(name) else f"{prefix}{name}"
            for old, new in self.spellings.items():
                if full.endswith(old):
                    full = full.removesuffix(old) + new
            if not any(re.fullmatch(pattern, full) for pattern in self.skipped):
                found[full] = name
        return found

    def spell(self, name: str, names: Mapping[str, str]) -> str:
        """What a file calls a name of the table, or would call it.

        Args:
            names: what `canonical` gave.
        """
        return names.get(name) or name.removeprefix(self._left_out(names.values()))

    def _left_out(self, names: Iterable[str]) -> str:
        """The prefix, if a file does without."""
        return "" if any(name.startswith(self.prefix) for name in names) else self.prefix

    def _is_head(self, name: str) -> bool:
        return any(name.startswith(start) for start in self.unprefixed)
