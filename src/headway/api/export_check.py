"""The proof that another library computes with an export what the run computes.

The export is loaded with the library it is for, and both are put to the same sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..data.collate import pair_batch, text_batch
from ..data.corpora import as_corpora
from ..data.read import read
from ..errors import HeadwayError, RunError
from .peers import load_ctranslate2, load_hugging_face
from .trained import Trained
from .translator import Translator

SENTENCES = 20  # compared with the run
LOGITS, LOG_PROBS = 1e-4, 1e-3  # what rounding may differ by

Example = tuple[np.ndarray, ...]
"""One encoded sequence for each column of the task."""


@dataclass(frozen=True)
class Check:
    """A comparison of the run with its export.

    Attributes:
        difference: the largest one found.
        what: the numbers that were compared.
        sentences: how many examples.
        origin: where those are from.
    """

    difference: float
    what: str
    sentences: int
    origin: str


@torch.inference_mode()
def check_hugging_face(trained: Trained, folder: Path) -> Check | None:
    """The logits of given outputs, and the tokens of their inputs; None without the library."""
    is_pair = isinstance(trained, Translator)
    loaded = load_hugging_face(
        folder, "AutoModelForSeq2SeqLM" if is_pair else "AutoModelForCausalLM"
    )
    if loaded is None:
        return None
    theirs, tokenizer = loaded
    examples, texts, origin = _examples(trained)
    *_, target = trained.task.codecs.values()
    for text, (first, *_) in zip(texts, examples, strict=False):
        # A language model goes on with a text, behind the begin mark.
        expected = first.tolist() if is_pair else [target.bos, *first.tolist()[:-1]]
        _compare_tokens(text, tokenizer(text)["input_ids"], expected)
    batch, inputs = (_pair_inputs if is_pair else _text_inputs)(examples, target.bos)
    model = trained.only_model("an export")
    expected = model.output(model(trained.to_device(batch))).cpu()[batch["tgt_valid"]]
    logits = theirs(**inputs).logits[batch["tgt_valid"]]
    check = Check(float((logits - expected).abs().max()), "logits", len(examples), origin)
    # Rounding grows with the numbers themselves.
    _require(check, LOGITS * max(1.0, float(expected.abs().max())), "transformers")
    return check


def _compare_tokens(text: str, found: list[int], expected: list[int]) -> None:
    if found != expected:
        raise RunError(
            f"the exported tokenizer reads {text!r} as {found}, and headway as {expected}; nothing "
            "was exported: please report this with the version of transformers"
        )


Inputs = tuple[dict[str, Tensor], dict[str, Tensor]]
"""A batch of ours, and the same as the library takes it."""


def _pair_inputs(examples: Sequence[Example], bos: int) -> Inputs:
    batch = pair_batch([source for source, _ in examples], [target for _, target in examples], bos)
    return batch, {
        "input_ids": batch["src"],
        "attention_mask": batch["src_valid"].long(),
        "decoder_input_ids": batch["tgt_in"],
    }


def _text_inputs(examples: Sequence[Example], bos: int) -> Inputs:
    batch = text_batch([text for (text,) in examples], bos)
    return batch, {
        "input_ids": batch["tgt_in"],
        "attention_mask": batch["tgt_valid"].long(),
    }


@torch.inference_mode()
def check_ctranslate2(translator: Translator, folder: Path, quantization: str) -> Check:
    """The log probabilities of given outputs; of quantised weights they are only reported."""
    theirs = load_ctranslate2(folder, threads=torch.get_num_threads())
    pairs, _, origin = _examples(translator)
    source, target = (codec.tokenizer.pieces for codec in translator.task.codecs.values())
    found = theirs.score_batch(
        [[source[i] for i in src] for src, _ in pairs],
        [[target[i] for i in tgt[:-1]] for _, tgt in pairs],  # the engine adds the end mark
        max_input_length=0,
    )
    scores = np.concatenate([result.log_probs for result in found])
    expected = translator.forced([source for source, _ in pairs], [target for _, target in pairs])
    difference = float(np.abs(scores - np.concatenate(expected)).max())
    check = Check(difference, "log probabilities", len(pairs), origin)
    if quantization == "float32":
        _require(check, LOG_PROBS, "ctranslate2")
    return check


def _require(check: Check, tolerance: float, package: str) -> None:
    if not check.difference <= tolerance:  # NaN is no agreement either
        raise RunError(
            f"the export computes something else than the run: the largest difference of "
            f"{check.what} is {check.difference:.2g} and rounding explains {tolerance:.2g}; "
            f"nothing was exported: please report this with the version of {package}"
        )


def _examples(trained: Trained) -> tuple[list[Example], list[str], str]:
    """Encoded examples to compare on, the texts of their first columns if any, and their origin.

    The first of the run's test set; where that cannot be read, made-up sequences.
    """
    task, limit = trained.task, trained.config.data.max_length
    rows = _test_rows(trained)
    if rows:
        columns = zip(*rows, strict=True)
        encoded = [
            codec.encode_batch(list(texts))
            for codec, texts in zip(task.codecs.values(), columns, strict=True)
        ]
        short = [
            (row[0], example)
            for row, example in zip(rows, zip(*encoded, strict=True), strict=True)
            if max(map(len, example)) <= limit
        ]
        if short:
            return [example for _, example in short], [text for text, _ in short], "the test set"
    return _made_up(trained), [], "made-up sequences"


def _test_rows(trained: Trained) -> list[Sequence[str]]:
    data = trained.config.data
    try:
        corpora = as_corpora(data.test, "data.test")
        rows = (
            row.values
            for corpus in corpora
            for row in read(corpus, trained.task.columns, Path(data.root or "."))
        )
        return list(islice(rows, SENTENCES))
    except (HeadwayError, OSError):
        return []  # the run may have come here without its data


def _made_up(trained: Trained) -> list[Example]:
    """Random sequences of ordinary tokens, of lengths from none to 20, always the same."""
    rng = np.random.default_rng(0)
    longest = min(20, trained.config.data.max_length - 1)

    def sequence(column: str) -> np.ndarray:
        tokenizer = trained.task.codecs[column].tokenizer
        ordinary = np.setdiff1d(np.arange(tokenizer.size), list(tokenizer.specials.values()))
        length = int(rng.integers(longest + 1)) if len(ordinary) else 0
        drawn = ordinary[rng.integers(max(len(ordinary), 1), size=length)]
        return np.append(drawn, tokenizer.specials["eos"])

    return [tuple(sequence(name) for name in trained.task.columns) for _ in range(SENTENCES)]
