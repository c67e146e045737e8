"""The description of one transformers architecture: class names, settings and weights beside ours.

The architectures themselves are in `bert.py`, `bart.py`, `gpt2.py` and `t5.py`. `__init__.py` lists
them and chooses the one that an export uses.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ...file_limits import VOCABULARY_SIZE
from ...models import VocabularySizes
from ...models.family import Head
from ...text import SpecialTokenTemplate
from ..unsupported import UnsupportedSettings
from .config_map import ConfigMapping, ConfigReader
from .pooling import Pooling
from .task_heads import HEADS, Form, TaskHead
from .weight_map import Rows, WeightMap, reads


@dataclass(frozen=True)
class Architecture:
    """One row of `ARCHITECTURES`.

    Attributes:
        name: for messages.
        classes: the library's class names with the form of each head. An export of a form names the
            first class that has it.
        default_vocab_size: for a `config.json` without `vocab_size`.
        family, task: ours; a fine-tuned model has the task of its head.
        roles: our special tokens with their names in the library; the first name that a folder
            defines counts.
        settings: the mappings between `config.json` and our family's settings.
        rows: the weights for given settings and form, without pooler and output layer of a
            fine-tuned model.
        default_ids: ids of special tokens by the library's names, for folders that define none.
        frame: special tokens around an encoder's input, if `tokenizer.json` does not say.
        pooling: the pooler of an encoder.
        output_layers: names of the output layers of fine-tuned models, by form.
        prefix: prefix of the weights; folders saved from the class without a head lack it.
        unprefixed: beginnings of the names that never have the prefix.
        head_prefixes: prefix of a pre-training head's weights -> head, for encoders. The first one
            that a file contains counts; a file without any has no head.
        ignored: patterns of the names of tensors that were not learned.
        old_suffixes: endings of names in old files -> the current ones.
        splits_positions: sinusoidal channels are all sines, then all cosines; ours alternate.
        pad_id: required id of the padding token, where positions depend on it.
        has_two_vocabularies: source and target may have different vocabularies.
        extra_config: entries of `config.json` that switch off defaults which change the search.
    """

    name: str
    model_type: str
    classes: Mapping[str, Form]
    default_vocab_size: int
    family: str
    task: str
    roles: Mapping[str, tuple[str, ...]]
    settings: tuple[ConfigMapping, ...]
    rows: Callable[[Any, Form], Rows]
    default_ids: Mapping[str, int] = field(default_factory=dict)
    frame: SpecialTokenTemplate = field(default_factory=SpecialTokenTemplate)
    pooling: Pooling | None = None
    output_layers: Mapping[Form, str] = field(default_factory=dict)
    prefix: str = ""
    unprefixed: tuple[str, ...] = ()
    head_prefixes: Mapping[str, Head] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    old_suffixes: Mapping[str, str] = field(default_factory=dict)
    splits_positions: bool = False
    pad_id: int | None = None
    has_two_vocabularies: bool = False
    extra_config: Mapping[str, Any] = field(default_factory=dict)

    def form(self, reader: ConfigReader) -> Form:
        """The form of a folder's head: that of its class if fine-tuned, else by its weights."""
        for name in reader.get("architectures", ()):
            if (form := self.classes[name]) in self.output_layers:
                return form
        return self._pretraining_head(reader)

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        """Our settings; entries that we cannot express are added to `reader.obstacles`."""
        settings = {
            key: value for setting in self.settings for key, value in setting.read(reader).items()
        }
        if self.pooling is not None:
            settings |= self.pooling.read(reader, self.form(reader))
        return {"family": self.family, **settings}

    def read_vocabularies(
        self, reader: ConfigReader, task_head: TaskHead | None = None
    ) -> VocabularySizes:
        """The vocabulary sizes; for a fine-tuned model, its vocabulary and number of outputs."""
        size = _read_size(reader, "vocab_size", self.default_vocab_size)
        if task_head is not None:
            return VocabularySizes(size, task_head.n_outputs, shared=False)
        target = size
        if self.has_two_vocabularies:
            target = _read_size(reader, "decoder_vocab_size", size)
        is_separate = reader.get("share_encoder_decoder_embeddings", True) is False
        is_shared = not (self.has_two_vocabularies and is_separate)
        return VocabularySizes(size, target, is_shared, self._pretraining_head(reader))

    def _pretraining_head(self, reader: ConfigReader) -> Head:
        if not self.head_prefixes:
            return "words"
        heads = (head for prefix, head in self.head_prefixes.items() if reader.has_tensor(prefix))
        return next(heads, "none")

    def obstacles(
        self, model: Any, vocabularies: VocabularySizes, ids: Mapping[str, int], task: str | None
    ) -> list[str]:
        """Our settings that this architecture cannot express, each with the reason.

        Args:
            ids: ids of the special tokens.
            task: of a fine-tuned model, else None.
        """
        unsupported = UnsupportedSettings()
        form = vocabularies.head if task is None else HEADS[task].form
        for setting in self.settings:
            setting.check(model, unsupported)
        if self.pooling is not None:
            self.pooling.check(model, form, unsupported)
        if task is None and not vocabularies.shared and not self.has_two_vocabularies:
            unsupported.add("text.shared", False, f"{self.name} has one vocabulary")
        if self.pad_id is not None and ids["pad"] != self.pad_id:
            unsupported.add("pad", ids["pad"], f"{self.name} pads with {self.pad_id}")
        if form not in self.classes.values():
            key = "task" if task else "head"
            unsupported.add(key, task or form, f"{self.name} has no such head")
        return unsupported.messages

    def write(
        self, model: Any, vocabularies: VocabularySizes, task_head: TaskHead | None = None
    ) -> dict[str, Any]:
        """The entries of `config.json`, except for the ids of special tokens."""
        form = vocabularies.head if task_head is None else task_head.form
        target = {"decoder_vocab_size": vocabularies.target} if self.has_two_vocabularies else {}
        entries = {
            "architectures": [self.class_name(form)],
            "model_type": self.model_type,
            "vocab_size": vocabularies.source,
            **target,
        }
        for setting in self.settings:
            entries |= setting.write(model)
        return {**entries, **self.extra_config, **({} if task_head is None else task_head.write())}

    def class_name(self, form: Form) -> str:
        """The class that loads a model whose head has this form."""
        return next(name for name, other in self.classes.items() if other == form)

    def weight_map(self, model: Any, form: Form) -> WeightMap:
        """The weights of a model with these settings."""
        order = None
        if self.splits_positions:
            channels = torch.arange(model.d_model)
            order = torch.cat([channels[0::2], channels[1::2]])
        return WeightMap(self._all_rows(model, form), order)

    def _all_rows(self, model: Any, form: Form) -> Rows:
        yield from self.rows(model, form)
        if self.pooling is not None:
            yield from self.pooling.rows(model, form)
        if form in self.output_layers:
            yield from reads(self.output_layers[form], "output")

    def canonical_names(self, names: Iterable[str]) -> dict[str, str]:
        """Maps the weight map's names to a file's names; ignored tensors are left out."""
        names = list(names)
        prefix = self._missing_prefix(names)
        canonical = {}
        for name in names:
            full = name if name.startswith(self.unprefixed) else f"{prefix}{name}"
            for old, new in self.old_suffixes.items():
                if full.endswith(old):
                    full = full.removesuffix(old) + new
            if not any(re.fullmatch(pattern, full) for pattern in self.ignored):
                canonical[full] = name
        return canonical

    def name_in_file(self, name: str, canonical: Mapping[str, str]) -> str:
        """The name that a file has, or would have, for a tensor of the weight map.

        Args:
            canonical: the result of `canonical_names`.
        """
        return canonical.get(name) or name.removeprefix(self._missing_prefix(canonical.values()))

    def _missing_prefix(self, names: Iterable[str]) -> str:
        """The prefix if a file lacks it, else nothing."""
        return "" if any(name.startswith(self.prefix) for name in names) else self.prefix


def _read_size(reader: ConfigReader, name: str, default: int) -> int:
    """The size of a vocabulary; 1 and an obstacle if the entry is no number of tokens."""
    size = reader.get(name, default)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        reader.obstacles.add(name, size, "the number of tokens")
        return 1
    if size > VOCABULARY_SIZE:
        reader.obstacles.add(name, size, f"at most {VOCABULARY_SIZE} tokens")
        return 1
    return size


SEQ2SEQ_ROLES = {
    "pad": ("pad",),
    "bos": ("decoder_start", "pad"),  # outputs begin with the token that the decoder starts from
    "eos": ("eos",),
    "unk": ("unk",),
}
"""Roles of special tokens in most encoder-decoder architectures."""
