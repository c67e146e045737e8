"""A trained translation run in use: translate, score, evaluate, inspect. No printing.

Requests are encoded in `requests.py` and searched in `segment_search.py`. Result types are in
`results.py`, attention of outputs is in `output_attention.py`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from ..arguments import checked
from ..data.collate import pair_batch
from ..data.config import Corpus
from ..data.glossary import Glossary
from ..errors import ConfigError, DataError, InputError
from ..inspection.attention import Attention, Layer
from ..inspection.build import Written, check_not_blank, forced_output, inspect_pairs
from ..inspection.hypothesis import TextHypothesis
from ..inspection.inspection import Inspection
from ..inspection.report import CommandUse
from ..metrics.interval import RESAMPLES
from ..metrics.output_checks import flags
from ..metrics.score import Score
from ..models import FAMILIES, SequenceModel
from ..models.ensemble import Ensemble
from ..parallel import decode_batches
from ..search import Hypothesis, SearchConfig, score_targets
from ..search.trace import SearchTrace
from ..tasks.translate import Translate
from ..view.report import Picture, Sample
from .base import Logged, TrainedModel
from .engines import ENGINES, OWN, SearchEngine, engine_module
from .evaluation import (
    EvaluationOptions,
    EvaluationReport,
    TimedEvaluation,
    UsableRows,
    grouped,
    scores_to_dict,
    timed,
    ungrouped,
    usable_rows,
    warn_of_same_outputs,
)
from .input_errors import InputErrors, OnError
from .output_attention import add_attention, pair_attention
from .requests import RequestEncoder, Segment, SplitTooLong, TranslationRequest, check_length
from .results import Evaluation, ScoredText, Translation, join_translations
from .segment_search import search_segments, trace_segments

LONGEST_PICTURE = 60
"""Largest number of tokens on an axis; beyond it cells are too small to read."""


class Translator(TrainedModel):
    """A model with its vocabularies, made by `headway.load`."""

    commands: ClassVar[Mapping[str, CommandUse]] = {
        "translate": CommandUse("FILE", "Use it; without FILE, type."),
        "score": CommandUse("--data FILE", "Log probabilities of lines of your own."),
    }
    scored_inputs = "pairs"
    has_search = True
    evaluation_options = frozenset({"tokenized", "group", "split", "search", "outputs"})
    columns_as_trained = False
    scores_by_length = True
    task: Translate
    model: SequenceModel | Ensemble

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._engines: dict[tuple[str, str], SearchEngine] = {}

    @checked
    def translate(
        self,
        texts: Iterable[str | TranslationRequest | InputError],
        too_long: SplitTooLong = "refuse",
        places: Sequence[str] | None = None,
        *,
        glossary: Glossary | str | Path | None = None,
        align: bool | Layer = False,
        attend: bool = False,
        trace: bool = False,
        engine: str = OWN,
        compute_type: str = "default",
        first: int = 0,
        on_error: OnError = "stop",
        **search: Any,
    ) -> list[Translation]:
        """The best outputs of each text, in order.

        Blank lines give blank outputs.

        Args:
            texts: texts, or `TranslationRequest`s with required and forbidden terms and a prefix.
            too_long: refuse a text longer than `data.max_length`, with an error that names it, or
                split it at spaces and join the outputs.
            places: names of the texts in messages, such as `news.en:7`; by default `line 7`.
            glossary: terms with their translations, which are required where a term occurs.
            align: give each output token its source token: True by the mean of all attention
                layers, a number by one layer.
            attend: keep the attention weights of each output.
            trace: record every step of the search.
            engine: `ctranslate2` searches with that library, which has plain beam search only.
            compute_type: a setting of `ctranslate2`, such as `int8`.
            first: number of the first text. Random draws depend on a text's number and the seed.
            on_error: stop at the first text that cannot be used, or keep going: its result is then
                an `InputError`.
            search: search settings that replace those of the run, such as `beam=5`.

        Raises:
            InputError: a text is too long, a prefix cannot be written, or terms contradict.
            ConfigError: a search setting does not exist or does not fit.
        """
        _check_options(too_long, attend, trace, engine, compute_type)
        config = self.search_config(**search)
        requests = [_as_request(text) for text in texts]
        locations = places or _lines(requests)
        errors = InputErrors(list(texts), on_error, locations.__getitem__)
        segments = self._request_encoder(glossary, too_long).cut(requests, locations, errors)
        traces = None
        if engine != OWN:
            hypotheses = self._search_with(engine, compute_type, segments, config, trace)
        elif trace:
            hypotheses, traces = trace_segments(self.task, self.model, segments, config)
        else:
            hypotheses = search_segments(self.task, self.model, segments, config, first)
        outputs = [[self.output(hypothesis) for hypothesis in best] for best in hypotheses]
        if align is not False or attend:
            layer: Layer | None = None if align is False else "mean" if align is True else align
            outputs = add_attention(
                self.task, self.model, segments, hypotheses, outputs, layer, attend
            )
        source, is_aligned = self.task.source, align is not False
        joined = join_translations(requests, segments, outputs, traces, source, is_aligned)
        return errors.with_results(joined[row] for row in errors.rows)

    @checked
    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> list[ScoredText]:
        """Forced log probabilities of targets; `places` and `on_error` as in `translate`."""
        sources, targets = list(sources), list(targets)
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources but {len(targets)} targets; give pairs")
        locations = places or _lines(sources)
        pairs = list(zip(sources, targets, strict=True))
        errors = InputErrors(pairs, on_error, locations.__getitem__)
        rows = errors.rows
        src = self.task.source.encode_batch([sources[row] for row in rows])
        tgt = self.task.target.encode_batch([targets[row] for row in rows])
        encoded = dict(zip(rows, zip(src, tgt, strict=True), strict=True))
        for row, pair in encoded.items():
            with errors.of(row):
                longest = max(map(len, pair))
                check_length(longest, self.max_length, locations[row], "shorten it or leave it out")
        return errors.with_results(self._score_encoded([encoded[row] for row in errors.rows]))

    def _score_encoded(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[ScoredText]:
        results: dict[int, ScoredText] = {}
        for rows in decode_batches([max(map(len, pair)) for pair in pairs], 1):
            src, tgt = ([pairs[i][side] for i in rows] for side in (0, 1))
            for i, log_probs in zip(rows, self.forced(src, tgt), strict=True):
                tokens = self.task.target.tokenizer.tokens([int(t) for t in pairs[i][1]])
                results[i] = ScoredText(float(log_probs.sum()), tokens, log_probs.tolist())
        return [results[i] for i in range(len(pairs))]

    @checked
    def evaluate(
        self,
        sources: Iterable[str],
        references: Iterable[str] | Iterable[Sequence[str]],
        tokenized: bool = False,
        metrics: Sequence[str] | None = None,
        resamples: int = 1000,
        too_long: SplitTooLong = "refuse",
        places: Sequence[str] | None = None,
        **search: Any,
    ) -> Evaluation:
        """Translates and scores against references (one, or several alternatives, per source).

        Args:
            tokenized: whether the references are tokenised already, so that BLEU takes them as
                they are.
            metrics: by default the usual metrics of the task.
            places: as in `translate`.
        """
        sources, references = list(sources), list(references)
        if len(sources) != len(references):
            raise DataError(
                f"{len(sources)} sources but {len(references)} references; one per line is expected"
            )
        names = metrics or self.task.usual_metrics
        self.check_metrics(names)  # before the search, which takes long
        best = [t.outputs[0] for t in self.translate(sources, too_long, places, **search)]
        outputs = [output.text for output in best]
        scores = {
            name: self.task.judge(name, outputs, references, tokenized, resamples) for name in names
        }
        unproven = sum(output.proven is False for output in best)
        return Evaluation(scores, flags(sources, outputs, references), outputs, unproven)

    def public_info(self) -> dict[str, Any]:
        return {"search": asdict(self.config.search)}

    def evaluate_corpora(
        self, corpora: Sequence[Corpus], root: Path, options: EvaluationOptions
    ) -> EvaluationReport:
        """Translates the sources and compares the outputs with the references.

        Rows without source or target are left out.
        """
        config = self.search_config(**options.search)
        test = self._test_rows(corpora, root)
        arrange = grouped if options.group else ungrouped
        sources, references, places = arrange(test.rows)
        result = self.evaluate(
            sources,
            references,
            tokenized=options.tokenized,
            metrics=options.metrics,
            too_long="split" if options.split else "refuse",
            places=places,
            **options.search,
        )
        warnings = [*test.warnings]
        if result.unproven:
            warnings.append(
                f"{result.unproven} of {len(sources)} outputs are not proven to be the best within "
                f"max_nodes={config.max_nodes}; raise search.max_nodes"
            )
        if (bleu := result.scores.get("bleu")) is not None and bleu.value == 0:
            warnings.append(_why_zero(result.outputs))
        warnings += warn_of_same_outputs(result.outputs, [row[0] for row in references])
        method = f"beam {config.beam}" if config.method == "beam" else config.method
        counts = result.flags.counts.items()
        return EvaluationReport(
            result.scores,
            {
                "n": len(sources),
                "metrics": scores_to_dict(result.scores),
                "flags": result.flags.to_dict(),
                "search": asdict(config),
            },
            f"{len(sources)} lines, {method}, alpha {config.alpha:g}",
            remarks=["strange outputs: " + ", ".join(f"{name} {count}" for name, count in counts)],
            warnings=warnings,
            outputs=result.outputs if options.group else test.in_line(result.outputs),
        )

    def time_evaluation(
        self, corpora: Sequence[Corpus], root: Path, metric: str, tokenized: bool
    ) -> TimedEvaluation:
        """The score and speed of the run's own search."""
        test = self._test_rows(corpora, root)
        rows = test.rows
        sources, references = ([row.values[i] for row in rows] for i in (0, 1))
        # Refusing a long line here would waste a trained run.
        translations, seconds = timed(
            lambda: self.translate(sources, "split", [row.where for row in rows])
        )

        def score(chosen: Sequence[int] | None) -> Score:
            numbers = range(len(rows)) if chosen is None else chosen
            outputs = [translations[i].text for i in numbers]
            answers = [references[i] for i in numbers]
            return self.task.judge(metric, outputs, answers, tokenized, RESAMPLES)

        n_tokens = sum(len(translation.outputs[0].tokens) for translation in translations)
        speed = n_tokens / seconds
        return TimedEvaluation(
            score, len(rows), "inputs", speed, "output tokens", sources, test.warnings
        )

    def _test_rows(self, corpora: Sequence[Corpus], root: Path) -> UsableRows:
        """The rows with source and target."""
        codecs = self.task.codecs
        return usable_rows(corpora, codecs, root, needed=len(codecs))

    @checked
    def attention(self, source: str, target: str | None = None) -> Attention:
        """Attention weights of a forced pass over `target`, by default the best output."""
        if target is None:
            target = self.translate([source])[0].text
        src = self.task.source.encode_batch([source])
        tgt = self.task.target.encode_batch([target])
        [(_, attention)] = pair_attention(self.task, self.model, src, tgt)
        return attention

    @checked
    def inspect(
        self,
        text: str | TranslationRequest,
        target: str | None = None,
        *,
        outputs: Collection[int] | None = None,
        glossary: Glossary | str | Path | None = None,
        **search: Any,
    ) -> Inspection:
        """The inspection of a text: its search, and forced passes over the outputs.

        Args:
            text: a text, or a `TranslationRequest` as in `translate`.
            target: an output to inspect, without a search.
            outputs: indices of the outputs to inspect, from 0; by default all.
            search: as in `translate`, but `n_best` is the beam by default.

        Raises:
            DataError: the text is blank, or text or target is too long.
            ConfigError: this is an ensemble, or there are a target and search settings.
        """
        model = self.single_model("looking inside")
        request = _as_request(text)
        check_not_blank(request.is_blank)
        [source] = self.task.source.encode_batch([request.source])
        check_length(len(source), self.max_length, "the text", "shorten it")
        if target is None:
            config = self.wide_search(**search)
            [segment] = self._request_encoder(glossary).cut([request], ["the text"])
            written, trace = self._searched(segment, config)
            searched = config, trace
        elif search or glossary or replace(request, source="") != TranslationRequest(""):
            raise ConfigError(
                "a target that is given is not searched for; leave it out, or leave out terms, "
                "prefix and settings of the search"
            )
        else:
            written, searched = [self._forced_target(model, source, target)], None
        return inspect_pairs(
            model,
            request.source,
            (self.task.source.tokenizer, source),
            self.task.target.tokenizer,
            written,
            outputs,
            self.background(),
            searched,
        )

    def length(self, text: str, location: str, remedy: str) -> int:
        n = len(self.task.source.encode_batch([text])[0])
        check_length(n, self.max_length, location, remedy)
        return n

    def wide_search(self, **search: Any) -> SearchConfig:
        """Search settings of `inspect`: `n_best` is as large as the beam, unless it is set."""
        default = self.config.search
        if search.get("n_best") is None and (search.get("method") or default.method) == "beam":
            search["n_best"] = search.get("beam") or default.beam
        return self.search_config(**search)

    def report_samples(self, rows: Sequence[Logged]) -> list[Sample]:
        translations = self.translate([source for source, _, _ in rows], too_long="split")
        return [
            Sample(source, result.text, expected, result.outputs[0].confidence)
            for (source, _, expected), result in zip(rows, translations, strict=True)
        ]

    def picture(self, sample: Sample) -> Picture | None:
        """Cross-attention of a sample, mean of layers and heads; None if there is none to show."""
        attends = "attend" in FAMILIES[self.config.model.family].abilities
        if not attends or not sample.source.strip():
            return None
        attention = self.attention(sample.source, sample.output)
        if not all(attention.crossing):  # a recurrent model without attention
            return None
        if max(len(attention.source), len(attention.target)) > LONGEST_PICTURE:
            return None
        title = "Where each output token looks in the input (mean of layers and heads)"
        return Picture(title, attention.cross().tolist(), attention.target, attention.source)

    def _request_encoder(
        self, glossary: Glossary | str | Path | None, too_long: SplitTooLong = "refuse"
    ) -> RequestEncoder:
        if isinstance(glossary, str | Path):
            glossary = Glossary.read(glossary)
        return RequestEncoder(
            self.task.source, self.task.target, self.max_length, too_long, glossary
        )

    def _searched(
        self, segment: Segment, config: SearchConfig
    ) -> tuple[list[Written], SearchTrace | None]:
        """The outputs of one segment, and the trace of its search if the method has one."""
        trace = None
        if config.method == "beam":
            [hypotheses], [trace] = trace_segments(self.task, self.model, [segment], config)
        else:
            [hypotheses] = search_segments(self.task, self.model, [segment], config)
        end = [self.task.target.eos]
        return [(self.output(h), h.tokens + end * h.finished) for h in hypotheses], trace

    def _forced_target(self, model: SequenceModel, source: np.ndarray, target: str) -> Written:
        """The user's target, with the scores of a forced pass."""
        [ids] = self.task.target.encode_batch([target])
        check_length(len(ids), self.max_length, "the target", "shorten it")
        alpha = self.config.search.alpha
        bos = self.task.target.bos
        return forced_output(model, target, source, ids, bos, alpha), ids.tolist()

    def _search_with(
        self,
        engine: str,
        compute_type: str,
        segments: Sequence[Segment],
        config: SearchConfig,
        trace: bool,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each segment, searched by another library."""
        module = engine_module(engine)
        if trace or any(segment.begins or segment.constraints for segment in segments):
            raise ConfigError(
                f"the engine {engine} knows no required or forbidden terms, no prefix and no "
                f"trace; use the engine {OWN} for them"
            )
        self.single_model(f"the engine {engine}")
        key = engine, compute_type
        if key not in self._engines:
            self._engines[key] = module.make_engine(self, compute_type)
        return self._engines[key].predict([segment.ids for segment in segments], config)

    def output(self, hypothesis: Hypothesis) -> TextHypothesis:
        """A hypothesis with its text and readable tokens."""
        return TextHypothesis(
            self.task.text(hypothesis),
            hypothesis.log_prob,
            hypothesis.score,
            self.task.target.tokenizer.tokens(hypothesis.tokens),
            hypothesis.token_log_probs,
            hypothesis.finished,
            unmet=list(hypothesis.unmet),
            proven=hypothesis.proven,
        )

    @torch.inference_mode()
    def forced(self, src: Sequence[np.ndarray], tgt: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Log probabilities of every token of encoded targets, given their encoded sources."""
        bos = self.task.target.bos
        batch = self.to_device(pair_batch(src, tgt, bos))
        valid, targets = batch["tgt_valid"], batch["tgt_out"]
        if isinstance(self.model, Ensemble):
            log_probs = score_targets(self.model, batch, targets, valid, bos=bos)[valid]
        else:
            log_probs = self.model.output.log_probs(self.model(batch)[valid], targets[valid])
        lengths = [len(t) for t in tgt]
        return np.split(log_probs.float().cpu().numpy(), np.cumsum(lengths)[:-1])


def _check_options(
    too_long: SplitTooLong, attend: bool, trace: bool, engine: str, compute_type: str
) -> None:
    """Refuses options of `translate` that exclude each other."""
    if trace and too_long == "split":
        raise ConfigError(
            "a trace shows one search, and split lines have several; leave out trace or too_long"
        )
    if attend and too_long == "split":
        raise ConfigError(
            "attention belongs to one search, and split lines have several; leave out attend or "
            "too_long"
        )
    if engine == OWN and compute_type != "default":
        raise ConfigError(
            f"compute_type = {compute_type!r} is a setting of the engine "
            f"{' or '.join(ENGINES)}; set engine, or leave it out"
        )


def _as_request(text: str | TranslationRequest | InputError) -> TranslationRequest:
    """The request of a text; a blank one for an error in place of a text."""
    if isinstance(text, TranslationRequest):
        return text
    return TranslationRequest(text if isinstance(text, str) else "")


def _lines(texts: Sequence[object]) -> list[str]:
    return [f"line {number}" for number in range(1, len(texts) + 1)]


def _why_zero(outputs: Sequence[str]) -> str:
    mean = sum(len(output.split()) for output in outputs) / max(1, len(outputs))
    return (
        f"BLEU is 0 because no output shares four words in a row with its reference (outputs have "
        f"{mean:.1f} words on average); exact match and chrF also judge shorter outputs"
    )
