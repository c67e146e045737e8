"""A trained run in use: translate, score, evaluate, look inside. Typed results, no printing.

What is asked is in `request.py` and `pieces.py`, what is given back in `results.py`, attention in
`attention.py`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from ..data.collate import pair_batch
from ..data.glossary import Glossary
from ..errors import ConfigError, DataError
from ..metrics.flags import flags
from ..models import FAMILIES, SequenceModel
from ..models.ensemble import Ensemble
from ..search import Hypothesis, SearchConfig, forced
from ..search.trace import SearchTrace
from ..tasks import Translate
from ..tasks.decoding import decode_batches
from ..view.report import Picture, Sample
from .attention import Attention, Layer, look
from .inspecting import Written, check_not_blank, forced_output, inspect_pairs
from .inspection import Inspection
from .pieces import Cutter, Piece, TooLong, check_length
from .request import Request
from .results import Evaluation, Output, Scored, Translation, blank, join
from .trained import Logged, Trained

if TYPE_CHECKING:
    from .ctranslate2_engine import ComputeType, CTranslate2Engine

Engine = Literal["headway", "ctranslate2"]
LOOKING = 4  # how many times smaller batches are when attention weights are held
LONGEST_PICTURE = 60  # tokens on one axis; beyond that cells are too small to read


class Translator(Trained):
    """A model with its vocabularies, made by `headway.load`."""

    commands = {"translate": "FILE", "score": "--data FILE"}  # noqa: RUF012
    task: Translate
    model: SequenceModel | Ensemble

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._engines: dict[ComputeType, CTranslate2Engine] = {}

    def translate(
        self,
        texts: Sequence[str | Request],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        *,
        glossary: Glossary | str | Path | None = None,
        align: bool | Layer = False,
        attend: bool = False,
        trace: bool = False,
        engine: Engine = "headway",
        compute_type: "ComputeType" = "default",
        first: int = 0,
        **search: Any,
    ) -> list[Translation]:
        """The best outputs of each text, in order.

        Blank lines give blank outputs.

        Args:
            texts: each a text, or a `Request` with terms that must or may not appear and with a
                beginning of the output.
            too_long: what to do with a text longer than `data.max_length`: refuse it, naming its
                line, or split it at spaces and join the outputs.
            places: what messages call each text, such as `news.en:7`; by default `line 7`.
            glossary: terms with their translations, which are required where a term occurs.
            align: give each output token its source token: True by the mean of all attention
                layers, a number by one layer.
            attend: keep the attention weights of each output.
            trace: record every step of the search.
            engine: `ctranslate2` computes with that library, which knows plain beam search only.
            compute_type: of `ctranslate2`, such as `int8`.
            first: number of the first text. Random draws depend on a text's number and the seed.
            search: settings of the search (`beam=5`, `alpha=1.0`, `n_best=1`, ...) in place of the
                run's own.

        Raises:
            DataError: a text is too long, a prefix cannot be written, or terms contradict.
            ConfigError: a search setting does not exist or does not fit.
        """
        if isinstance(texts, str):
            raise TypeError("translate takes a list of texts; write translate([text])")
        if trace and too_long == "split":
            raise ConfigError(
                "a trace shows one search, and split lines have several; leave out --trace or "
                "--split"
            )
        if attend and too_long == "split":
            raise ConfigError(
                "attention belongs to one search, and split lines have several; leave out attend "
                "or too_long"
            )
        if engine == "headway" and compute_type != "default":
            raise ConfigError(
                f"--compute-type {compute_type} is a setting of the engine ctranslate2; add "
                "--engine ctranslate2 or leave it out"
            )
        config = self.search_config(**search)
        if isinstance(glossary, str | Path):
            glossary = Glossary.read(glossary)
        requests = [Request(text) if isinstance(text, str) else text for text in texts]
        cutter = Cutter(self.task.source, self.task.target, self.max_length, too_long, glossary)
        pieces = cutter.cut(requests, places or _lines(texts))
        traces = None
        if engine != "headway":
            found = self._search_with(engine, compute_type, pieces, config, trace)
        elif trace:
            found, traces = self._traced(pieces, config)
        else:
            found = self._search(pieces, config, first)
        outputs = [[self.output(hypothesis) for hypothesis in row] for row in found]
        if align is not False or attend:
            layer: Layer | None = None if align is False else "mean" if align is True else align
            outputs = self._attended(pieces, found, outputs, layer, attend)
        return list(self._gathered(requests, pieces, outputs, traces, align is not False))

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        places: Sequence[str] | None = None,
    ) -> list[Scored]:
        """Forced log probabilities of given outputs; `places` as in `translate`."""
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources but {len(targets)} targets; give pairs")
        src = self.task.source.encode_batch(list(sources))
        tgt = self.task.target.encode_batch(list(targets))
        for place, source, target in zip(places or _lines(sources), src, tgt, strict=True):
            longest = max(len(source), len(target))
            check_length(longest, self.max_length, place, "shorten it or leave it out")
        results: list[Scored | None] = [None] * len(src)
        for rows in decode_batches([max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)], 1):
            values = self.forced([src[i] for i in rows], [tgt[i] for i in rows])
            for i, log_probs in zip(rows, values, strict=True):
                tokens = self.task.target.tokenizer.tokens([int(t) for t in tgt[i]])
                results[i] = Scored(float(log_probs.sum()), tokens, log_probs.tolist())
        return [result for result in results if result is not None]

    def evaluate(
        self,
        sources: Sequence[str],
        references: Sequence[str] | Sequence[Sequence[str]],
        tokenized: bool = False,
        metrics: Sequence[str] | None = None,
        resamples: int = 1000,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        **search: Any,
    ) -> Evaluation:
        """Translates and scores against references (one, or several alternatives, per source).

        Args:
            tokenized: the references are already tokenised: BLEU takes them as they are.
            metrics: by default the task's usual ones.
            places: as in `translate`.
        """
        if len(sources) != len(references):
            raise DataError(
                f"{len(sources)} sources but {len(references)} references; one per line is expected"
            )
        names = metrics or self.task.usual_metrics
        for name in names:  # before the search, which takes long
            if name not in self.task.metrics:
                raise self.task.unknown_metric(name)
        best = [t.outputs[0] for t in self.translate(sources, too_long, places, **search)]
        outputs = [output.text for output in best]
        scores = {
            name: self.task.judge(name, outputs, references, tokenized, resamples) for name in names
        }
        unproven = sum(output.proven is False for output in best)
        return Evaluation(scores, flags(sources, outputs, references), outputs, unproven)

    def attention(self, source: str, target: str | None = None) -> Attention:
        """Attention weights of one pair: a forced pass over `target`, or over the best output."""
        if target is None:
            target = self.translate([source])[0].text
        src = self.task.source.encode_batch([source])
        tgt = self.task.target.encode_batch([target])
        [(_, found)] = self._looked(src, tgt)
        return found

    def inspect(
        self,
        text: str | Request,
        target: str | None = None,
        *,
        outputs: Collection[int] | None = None,
        glossary: Glossary | str | Path | None = None,
        **search: Any,
    ) -> Inspection:
        """What the model does with a text: the search, and forced passes over its outputs.

        Args:
            text: or a `Request`, as in `translate`.
            target: an output to look at, in place of a search.
            outputs: numbers of the outputs that are looked at, from 0; all by default.
            search: as in `translate`, but for `n_best`, which is as large as the beam if left out.

        Raises:
            DataError: the text is blank, or text or target are too long.
            ConfigError: this is an ensemble, or a target is given with settings of a search.
        """
        model = self.only_model("looking inside")
        request = Request(text) if isinstance(text, str) else text
        check_not_blank(request.is_blank)
        [source] = self.task.source.encode_batch([request.source])
        check_length(len(source), self.max_length, "the text", "shorten it")
        if target is None:
            config = self.wide_search(**search)
            if isinstance(glossary, str | Path):
                glossary = Glossary.read(glossary)
            written, trace = self._found(request, glossary, config)
            how = config, trace
        elif search or glossary or replace(request, source="") != Request(""):
            raise ConfigError(
                "a target that is given is not searched for; leave it out, or leave out terms, "
                "prefix and settings of the search"
            )
        else:
            written, how = [self._given(model, source, target)], None
        return inspect_pairs(
            model,
            request.source,
            (self.task.source.tokenizer, source),
            self.task.target.tokenizer,
            written,
            outputs,
            self.background(),
            how,
        )

    def length(self, given: str, place: str, remedy: str) -> int:
        n = len(self.task.source.encode_batch([given])[0])
        check_length(n, self.max_length, place, remedy)
        return n

    def wide_search(self, **search: Any) -> SearchConfig:
        """Settings of a search that gives all that ended in its beam, unless told otherwise."""
        usual = self.config.search
        if search.get("n_best") is None and (search.get("method") or usual.method) == "beam":
            search["n_best"] = search.get("beam") or usual.beam
        return self.search_config(**search)

    def shown(self, rows: Sequence[Logged]) -> list[Sample]:
        found = self.translate([source for source, _, _ in rows], too_long="split")
        return [
            Sample(source, result.text, expected, result.outputs[0].confidence)
            for (source, _, expected), result in zip(rows, found, strict=True)
        ]

    def picture(self, sample: Sample) -> Picture | None:
        """Where each output token looks in the input."""
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

    def _found(
        self, request: Request, glossary: Glossary | None, config: SearchConfig
    ) -> tuple[list[Written], SearchTrace | None]:
        """The outputs of one request, and how they were found if that can be told."""
        codecs = self.task.source, self.task.target
        pieces = Cutter(*codecs, self.max_length, glossary=glossary).cut([request], ["the text"])
        trace = None
        if config.method == "beam":
            [found], [trace] = self._traced(pieces, config)
        else:
            [found] = self._search(pieces, config, first=0)
        end = [self.task.target.eos]
        return [(self.output(h), h.tokens + end * h.finished) for h in found], trace

    def _given(self, model: SequenceModel, source: np.ndarray, target: str) -> Written:
        """An output that the user gives."""
        [ids] = self.task.target.encode_batch([target])
        check_length(len(ids), self.max_length, "the target", "shorten it")
        alpha = self.config.search.alpha
        bos = self.task.target.bos
        return forced_output(model, target, source, ids, bos, alpha), ids.tolist()

    def _search(
        self, pieces: Sequence[Piece], config: SearchConfig, first: int
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each piece."""
        begins = any(piece.begins for piece in pieces)
        return self.task.predict(
            self.model,
            [piece.ids for piece in pieces],
            config,
            prefixes=[piece.prefix for piece in pieces] if begins else None,
            constraints=[piece.constraints for piece in pieces],
            ids=[first + piece.row + (piece.part << 32) for piece in pieces],
        )

    def _traced(
        self, pieces: Sequence[Piece], config: SearchConfig
    ) -> tuple[list[list[Hypothesis]], list[SearchTrace]]:
        """The hypotheses of each piece and how they were found."""
        found, traces = [], []
        for piece in pieces:
            hypotheses, trace = self.task.trace(
                self.model, piece.ids, config, piece.prefix, piece.constraints
            )
            found.append(hypotheses)
            traces.append(trace)
        return found, traces

    def _search_with(
        self,
        engine: str,
        compute_type: "ComputeType",
        pieces: Sequence[Piece],
        config: SearchConfig,
        trace: bool,
    ) -> list[list[Hypothesis]]:
        """The same by another library, as far as it goes."""
        if engine != "ctranslate2":
            raise ConfigError(f"no engine {engine!r}; expected headway or ctranslate2")
        if trace or any(piece.begins or piece.constraints for piece in pieces):
            raise ConfigError(
                "the engine ctranslate2 knows no required or forbidden terms, no prefix and no "
                "trace; use the engine headway for them"
            )
        self.only_model("the engine ctranslate2")
        if compute_type not in self._engines:
            from .ctranslate2_engine import CTranslate2Engine

            self._engines[compute_type] = CTranslate2Engine.of_run(self, compute_type)
        return self._engines[compute_type].predict([piece.ids for piece in pieces], config)

    def _attended(
        self,
        pieces: Sequence[Piece],
        found: Sequence[Sequence[Hypothesis]],
        outputs: Sequence[Sequence[Output]],
        layer: Layer | None,
        keep: bool,
    ) -> list[list[Output]]:
        """The outputs with what forced passes over all of them show.

        Args:
            layer: which layers give the alignment; None gives none.
            keep: whether the weights themselves are wanted.
        """
        flat = [(p.ids, h.tokens) for p, row in zip(pieces, found, strict=True) for h in row]
        seen: list[dict[str, Any]] = [{} for _ in flat]
        end = self.task.target.eos
        src, tgt = [ids for ids, _ in flat], [np.array([*tokens, end]) for _, tokens in flat]
        for i, attention in self._looked(src, tgt):
            if layer is not None:
                seen[i]["alignment"] = attention.alignment(layer)
            if keep:
                seen[i]["attention"] = attention
        shown = iter(seen)
        return [[replace(output, **next(shown)) for output in row] for row in outputs]

    def _looked(
        self, src: Sequence[np.ndarray], tgt: Sequence[np.ndarray]
    ) -> Iterator[tuple[int, Attention]]:
        """The attention of encoded pairs by number, pairs of like length at a time."""
        lengths = [max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)]
        models = self.model.members if isinstance(self.model, Ensemble) else (self.model,)
        attending = [model for model in models if isinstance(model, SequenceModel)]
        for rows in decode_batches(lengths, LOOKING):
            chosen = [src[i] for i in rows], [tgt[i] for i in rows]
            found = look(attending, *chosen, self.task.target.bos)
            for i, (maps, crossing) in zip(rows, found, strict=True):
                source = self.task.source.tokenizer.tokens(src[i].tolist())
                target = self.task.target.tokenizer.tokens(tgt[i].tolist())
                yield i, Attention(source, target, maps, crossing, self.task.source.begins)

    def _gathered(
        self,
        requests: Sequence[Request],
        pieces: Sequence[Piece],
        outputs: Sequence[list[Output]],
        traces: Sequence[SearchTrace] | None,
        aligned: bool,
    ) -> Iterator[Translation]:
        """One translation for each request, of its pieces; of none where the request is blank."""
        numbers = iter(range(len(pieces)))
        groups = {row: list(group) for row, group in groupby(numbers, lambda i: pieces[i].row)}
        for row, request in enumerate(requests):
            mine = groups.get(row, [])
            source = self.task.source
            words = [pieces[i].ids[int(source.begins) : -1] for i in mine]
            tokens = [source.tokenizer.tokens(ids.tolist()) for ids in words]
            best = join([outputs[i] for i in mine], [len(part) for part in tokens])
            if not mine:
                best = [replace(blank(), alignment=[] if aligned else None)]
            yield Translation(
                request.source,
                best,
                [token for part in tokens for token in part] if aligned else None,
                traces[mine[0]] if traces and mine else None,
            )

    def output(self, hypothesis: Hypothesis) -> Output:
        """A hypothesis in words."""
        return Output(
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
        """The log probability of every token of encoded targets, given their encoded sources."""
        bos = self.task.target.bos
        batch = self.to_device(pair_batch(src, tgt, bos))
        valid, targets = batch["tgt_valid"], batch["tgt_out"]
        if isinstance(self.model, Ensemble):
            log_probs = forced(self.model, batch, targets, valid, bos=bos)[valid]
        else:
            log_probs = self.model.output.log_probs(self.model(batch)[valid], targets[valid])
        lengths = [len(t) for t in tgt]
        return np.split(log_probs.float().cpu().numpy(), np.cumsum(lengths)[:-1])


def _lines(texts: Sequence[object]) -> list[str]:
    return [f"line {number}" for number in range(1, len(texts) + 1)]
