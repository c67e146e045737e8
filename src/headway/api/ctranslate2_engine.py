"""Beam search by CTranslate2 in place of headway's own, with the same settings and results.

Its search is ours: 2k candidates, an END counts among the k best, done when k have ended, lengths
that count the end mark. Only its length limit is one for all inputs of a call, where ours follows
each input: inputs with about the same limit go together under the loosest, and those whose answer
that could have changed are searched again under their own.
"""

import hashlib
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from ..data.collate import pad
from ..data.corpora import default_cache
from ..errors import ConfigError, MissingExtra, RunError
from ..runs.directory import WEIGHTS
from ..search import Hypothesis, SearchConfig, length_limits
from .export import export
from .peers import load_ctranslate2

if TYPE_CHECKING:
    from .translator import Translator

ComputeType = Literal["default", "float32", "int8"]

MATCHED = {"beam", "alpha", "n_best", "max_length", "max_ratio", "max_extra"}
BATCH_TOKENS = 2048  # of the sources in one batch, padding included
LIMIT_STEP = 16  # limits that differ by less are searched in one call
NO_PENALTY = 1e-9  # at 0 the engine would take a stop rule of its own; this ranks the same


class CTranslate2Engine:
    """CTranslate2 with an exported model.

    Args:
        folder: made by `headway export DIR --to ctranslate2`.
        compute_type: `int8` computes in whole numbers, faster and a little less exactly;
            `default` is as the weights are stored.
        threads: as many as torch has, unless given.

    Raises:
        ConfigError: there is no such compute type.
        MissingExtra: the package is not installed.
        RunError: the folder holds no export, or a damaged one.
    """

    def __init__(
        self,
        folder: str | Path,
        compute_type: ComputeType = "default",
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        _check_compute_type(compute_type)
        folder = Path(folder)
        n_threads = threads or torch.get_num_threads()
        self._translator = load_ctranslate2(folder, compute_type, n_threads, device)
        self._source, self._target = _vocabularies(folder)
        self._ids = {token: index for index, token in enumerate(self._target)}
        self._end = _end_mark(folder)

    @classmethod
    def of_run(
        cls,
        translator: "Translator",
        compute_type: ComputeType = "default",
        threads: int | None = None,
        device: str = "cpu",
    ) -> "CTranslate2Engine":
        """The engine with the model of a run, which is exported into headway's cache once.

        Raises:
            ConfigError: the engine cannot compute the model, and the settings are named; or there
                is no such compute type.
            MissingExtra: the package is not installed.
        """
        _check_compute_type(compute_type)  # before an export, which takes time
        return cls(cached_export(translator), compute_type, threads, device)

    def predict(
        self,
        sources: Sequence[np.ndarray],
        config: SearchConfig,
        limits: Sequence[int] | None = None,
        token_scores: bool = False,
    ) -> list[list[Hypothesis]]:
        """The n best outputs of each encoded source, in the order given, as `Translate.predict`.

        Args:
            sources: ids, the end mark last.
            limits: largest output length of each, in place of the settings' rule.
            token_scores: also find the log probabilities of single tokens, which takes a second
                pass (about a fifth of the time); left out, `token_log_probs` are empty.

        Raises:
            ConfigError: a setting of the search that the engine does not have.
        """
        require_matched(config)
        bounds = _limits(sources, config) if limits is None else [max(1, n) for n in limits]
        found: dict[int, list[Hypothesis]] = {}
        for loosest, rows in _groups(range(len(sources)), sources, bounds, LIMIT_STEP):
            found |= self._search(sources, rows, loosest, config)
        cut = [row for row in found if _exceeds(found[row], bounds[row], config.n_best)]
        for limit, rows in _groups(cut, sources, bounds, 1):
            found |= self._search(sources, rows, limit, config, is_cut=True)
        best = [found[row][: config.n_best] for row in range(len(sources))]
        return self._with_token_scores(sources, best) if token_scores else best

    def _with_token_scores(
        self, sources: Sequence[np.ndarray], found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        pairs = [(row, h) for row, hypotheses in enumerate(found) for h in hypotheses]
        results = self._translator.score_batch(
            [[self._source[i] for i in sources[row]] for row, _ in pairs],
            [[self._target[i] for i in h.tokens] for _, h in pairs],
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
            max_input_length=0,
        )
        scored: list[list[Hypothesis]] = [[] for _ in found]
        for (row, h), result in zip(pairs, results, strict=True):
            # The engine scores an end after every output; an unfinished one has none.
            n_scores = len(h.tokens) + h.finished
            scored[row].append(replace(h, token_log_probs=result.log_probs[:n_scores]))
        return scored

    def _search(
        self,
        sources: Sequence[np.ndarray],
        rows: list[int],
        limit: int,
        config: SearchConfig,
        is_cut: bool = False,
    ) -> dict[int, list[Hypothesis]]:
        """The hypotheses of some sources under one limit, finished ones first.

        Args:
            is_cut: these searches are known to reach the limit. What is alive there is ranked
                among the finished by the engine: with room for all of them none gets lost, and
                patience, which makes the room, has no other effect.
        """
        inputs = [[self._source[i] for i in sources[row]] for row in rows]
        patience = 2 if is_cut and config.beam > 1 else 1
        found = {}
        for row, result in zip(rows, self._answers(inputs, limit, config, patience), strict=True):
            hypotheses = [
                self._hypothesis(tokens, score, config.alpha)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            found[row] = sorted(hypotheses, key=lambda h: (not h.finished, -h.score))
        return found

    def _answers(
        self, inputs: list[list[str]], limit: int, config: SearchConfig, patience: int
    ) -> list[Any]:
        """What the library says to inputs that are all blank or all not."""
        is_blank = len(inputs[0]) == 1
        if is_blank:
            # The engine answers nothing to an end mark alone, without asking the model; two of
            # them, cut to one, get through.
            inputs = [source * 2 for source in inputs]
        try:
            answers: list[Any] = self._translator.translate_batch(
                inputs,
                max_batch_size=BATCH_TOKENS,
                batch_type="tokens",
                beam_size=config.beam,
                patience=patience,
                num_hypotheses=patience * config.beam,  # so that finished ones can be put first
                length_penalty=config.alpha or NO_PENALTY,
                max_input_length=1 if is_blank else 0,
                max_decoding_length=limit,
                min_decoding_length=0,
                return_scores=True,
                return_end_token=True,
            )
        except (RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise RunError(
                f"CTranslate2 failed ({reason}); shorten the input, or translate without "
                "--engine ctranslate2"
            ) from error
        return answers

    def _hypothesis(self, tokens: list[str], score: float, alpha: float) -> Hypothesis:
        ids = [self._ids[token] for token in tokens]
        is_finished = tokens[-1:] == [self._end]
        log_prob = score * max(1, len(ids)) ** alpha
        return Hypothesis(ids[:-1] if is_finished else ids, log_prob, score, [], is_finished)


def require_matched(config: SearchConfig) -> None:
    """Refuses settings that the engine does not have, or not in the same sense.

    Raises:
        ConfigError: naming them all.
    """
    usual = SearchConfig()
    changed = [
        f"search.{field.name} = {json.dumps(getattr(config, field.name))}"
        for field in fields(config)
        if field.name not in MATCHED and getattr(config, field.name) != getattr(usual, field.name)
    ]
    if changed:
        raise ConfigError(
            f"the engine CTranslate2 cannot search with {', '.join(changed)}; "
            f"leave {'it' if len(changed) == 1 else 'them'} out, or use headway's own engine"
        )


def _check_compute_type(given: str) -> None:
    known = get_args(ComputeType)
    if given not in known:
        raise ConfigError(f"--compute-type {given}: expected one of {', '.join(known)}")


def cached_export(translator: "Translator") -> Path:
    """The run's export in headway's cache, written (and checked) if it is not there yet.

    It is named after the content of the run, so that other weights have another export.
    """
    target = default_cache() / "ctranslate2" / _fingerprint(translator)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # A folder of its own, because another process may do the same at this moment.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as place:
        made = export(translator, "ctranslate2", Path(place) / "model").folder
        try:
            made.rename(target)
        except OSError:
            if not target.exists():
                raise
            shutil.rmtree(made)  # the other one was faster
    return target


def _fingerprint(translator: "Translator") -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        engine = version("ctranslate2")
    except PackageNotFoundError:
        raise MissingExtra("the engine CTranslate2", "ctranslate2", "ctranslate2") from None
    digest = hashlib.blake2b(digest_size=16)
    run = translator.run
    for path in [run.path / WEIGHTS, *sorted(run.codecs.iterdir())]:
        digest.update(f"{path.name}\0".encode())
        digest.update(hashlib.blake2b(path.read_bytes()).digest())
    settings = [repr(translator.config.model), version("headway"), engine]
    digest.update("\0".join(settings).encode())
    return digest.hexdigest()


def _vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """The tokens of source and target, in the order of their ids."""
    shared = folder / "shared_vocabulary.json"
    files = (
        [shared, shared]
        if shared.exists()
        else [folder / f"{side}_vocabulary.json" for side in ("source", "target")]
    )
    source, target = (_read(file, "vocabulary") for file in files)
    return source, target


def _end_mark(folder: Path) -> str:
    """The token that ends an output."""
    mark: str = _read(folder / "config.json", "configuration")["eos_token"]
    return mark


def _read(file: Path, what: str) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            f"{file.parent} has no readable {what} ({error}); export the run again"
        ) from error


def _limits(sources: Sequence[np.ndarray], config: SearchConfig) -> list[int]:
    valid = torch.from_numpy(pad(sources)[1])
    limits: list[int] = length_limits({"src_valid": valid}, config).tolist()
    return limits


def _groups(
    rows: Iterable[int], sources: Sequence[np.ndarray], limits: Sequence[int], step: int
) -> Iterator[tuple[int, list[int]]]:
    """Rows with about the same limit, and the loosest of theirs; blank sources go apart."""
    near: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for row in rows:
        near[len(sources[row]) == 1, limits[row] // step].append(row)
    for together in near.values():
        yield max(limits[row] for row in together), together


def _exceeds(hypotheses: list[Hypothesis], limit: int, n_best: int) -> bool:
    """Whether the search went beyond this limit, or to it, and that shows among the n best.

    A tighter limit takes away longer outputs only: if all of the n best ended in time, they are
    the n best under the limit too.
    """
    best = hypotheses[:n_best]
    return any(not h.finished or len(h.tokens) >= limit for h in best)
