"""CTranslate2 as a search engine, with headway's search settings and results.

Its beam search is ours: 2k candidates, finished hypotheses compete for the k best, the search stops
when k are finished, lengths count the end token. But CTranslate2 has one length limit per call,
headway one per input. So inputs with similar limits are searched together under the largest, and
those whose result that may have changed are searched again under their own.
"""

import hashlib
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from ...data.collate import pad
from ...data.config import default_cache
from ...errors import ConfigError, MissingExtra, RunError, own_version
from ...runs.directory import WEIGHTS
from ...search import SETTINGS, Hypothesis, SearchConfig, length_limits
from ..export import export
from ..libraries import load_ctranslate2

if TYPE_CHECKING:
    from ...inference.translator import Translator

ComputeType = Literal["default", "float32", "int8"]
COMPUTE_TYPES: tuple[str, ...] = get_args(ComputeType)

BATCH_TOKENS = 2048  # source tokens of one batch, padding included
LIMIT_STEP = 16  # width of the ranges of limits that are searched in one call
NO_PENALTY = 1e-9  # ranks as 0 does, for which the engine has another stop rule


class CTranslate2Engine:
    """CTranslate2 with an exported model.

    Args:
        folder: made by `headway export DIR --to ctranslate2`.
        compute_type: `int8` is faster and slightly less exact; `default` computes as the weights
            are stored.
        threads: by default as many as torch uses.

    Raises:
        ConfigError: the compute type is unknown.
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
        self._end = _end_token(folder)

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
            ConfigError: the engine cannot compute the model (the message names the settings), or
                the compute type is unknown.
            MissingExtra: the package is not installed.
        """
        _check_compute_type(compute_type)  # before the export, which takes time
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
            sources: ids, the end token last.
            limits: largest output length of each source; by default that of the settings.
            token_scores: fill `token_log_probs`, which takes a second pass (about a fifth of the
                time); otherwise they are empty.

        Raises:
            ConfigError: the engine does not support a search setting.
        """
        require_supported(config)
        bounds = _limits(sources, config) if limits is None else [max(1, n) for n in limits]
        hypotheses: dict[int, list[Hypothesis]] = {}
        for limit, rows in _groups(range(len(sources)), sources, bounds, LIMIT_STEP):
            hypotheses |= self._search(sources, rows, limit, config)
        cut = [row for row, h in hypotheses.items() if _exceeds(h, bounds[row], config.n_best)]
        for limit, rows in _groups(cut, sources, bounds, 1):
            hypotheses |= self._search(sources, rows, limit, config, is_cut=True)
        best = [hypotheses[row][: config.n_best] for row in range(len(sources))]
        return self._with_token_scores(sources, best) if token_scores else best

    def _with_token_scores(
        self, sources: Sequence[np.ndarray], best: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        pairs = [(row, h) for row, hypotheses in enumerate(best) for h in hypotheses]
        results = self._translator.score_batch(
            [[self._source[i] for i in sources[row]] for row, _ in pairs],
            [[self._target[i] for i in h.tokens] for _, h in pairs],
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
            max_input_length=0,
        )
        scored: list[list[Hypothesis]] = [[] for _ in best]
        for (row, h), result in zip(pairs, results, strict=True):
            # The engine scores an end token after every output; an unfinished one has none.
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
            is_cut: these searches are known to reach the limit. The engine ranks unfinished
                hypotheses among the finished ones; patience makes room for all of them, so that
                none is lost, and has no other effect.
        """
        inputs = [[self._source[i] for i in sources[row]] for row in rows]
        patience = 2 if is_cut and config.beam > 1 else 1
        results = self._translate(inputs, limit, config, patience)
        by_row = {}
        for row, result in zip(rows, results, strict=True):
            hypotheses = [
                self._hypothesis(tokens, score, config.alpha)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            by_row[row] = sorted(hypotheses, key=lambda h: (not h.finished, -h.score))
        return by_row

    def _translate(
        self, inputs: list[list[str]], limit: int, config: SearchConfig, patience: int
    ) -> list[Any]:
        """The library's results for inputs that are all blank or all not blank."""
        is_blank = len(inputs[0]) == 1
        if is_blank:
            # The engine gives an empty output for a single end token without computing it. Two end
            # tokens, truncated to one, are computed.
            inputs = [source * 2 for source in inputs]
        try:
            results: list[Any] = self._translator.translate_batch(
                inputs,
                max_batch_size=BATCH_TOKENS,
                batch_type="tokens",
                beam_size=config.beam,
                patience=patience,
                num_hypotheses=patience * config.beam,  # all, to sort finished ones first
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
                '`engine="ctranslate2"`'
            ) from error
        return results

    def _hypothesis(self, tokens: list[str], score: float, alpha: float) -> Hypothesis:
        ids = [self._ids[token] for token in tokens]
        is_finished = tokens[-1:] == [self._end]
        log_prob = score * max(1, len(ids)) ** alpha
        return Hypothesis(ids[:-1] if is_finished else ids, log_prob, score, [], is_finished)


def make_engine(translator: "Translator", compute_type: ComputeType) -> CTranslate2Engine:
    """The engine with the model of a run, which is exported into headway's cache once."""
    return CTranslate2Engine.of_run(translator, compute_type)


def require_supported(config: SearchConfig) -> None:
    """Refuses search settings that the engine lacks or understands differently.

    Raises:
        ConfigError: the message names all of them.
    """
    changed = [
        f"search.{name} = {json.dumps(getattr(config, name))}"
        for name, setting in SETTINGS.items()
        if not setting.ctranslate2 and getattr(config, name) != setting.default
    ]
    if changed:
        raise ConfigError(
            f"the engine CTranslate2 cannot search with {', '.join(changed)}; "
            f"leave {'it' if len(changed) == 1 else 'them'} out, or use headway's own engine"
        )


def _check_compute_type(name: str) -> None:
    if name not in COMPUTE_TYPES:
        raise ConfigError(f"compute_type = {name!r}: expected one of {', '.join(COMPUTE_TYPES)}")


def cached_export(translator: "Translator") -> Path:
    """The run's export in headway's cache, written and verified if it is not there yet.

    Its name is a hash of the run's content, so that other weights get another export.
    """
    target = default_cache() / "ctranslate2" / _fingerprint(translator)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # A folder of its own, because another process may export the same run at this moment.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as parent:
        model = export(translator, "ctranslate2", Path(parent) / "model").folder
        try:
            model.rename(target)
        except OSError:
            if not target.exists():
                raise
            shutil.rmtree(model)  # the other process was faster
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
    settings = [repr(translator.config.model), own_version(), engine]
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


def _end_token(folder: Path) -> str:
    """The token that ends an output."""
    token: str = _read(folder / "config.json", "configuration")["eos_token"]
    return token


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
    """Groups of rows with similar limits, each with its largest limit; blank sources go apart."""
    groups: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for row in rows:
        groups[len(sources[row]) == 1, limits[row] // step].append(row)
    for group in groups.values():
        yield max(limits[row] for row in group), group


def _exceeds(hypotheses: list[Hypothesis], limit: int, n_best: int) -> bool:
    """Whether one of the n best outputs reaches the limit.

    A lower limit only removes longer outputs: if all of the n best end before it, they are the n
    best under the limit too.
    """
    best = hypotheses[:n_best]
    return any(not h.finished or len(h.tokens) >= limit for h in best)
