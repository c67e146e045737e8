"""`headway evaluate`: scores with intervals and signatures, and counts of strange outputs."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .figures import metric_lines, weight_lines, weights_record, write_outputs
from .options import (
    Alpha,
    Beam,
    Cut,
    Data,
    Format,
    Json,
    MaxLength,
    Run,
    Settings,
    Source,
    Split,
    Target,
    Threads,
    Tokenized,
    With,
    refuse_options,
    search_settings,
    set_threads,
    warn,
)
from .outputs import evaluate_outputs
from .pairs import grouped, read_pairs, ungrouped
from .restored import evaluate_restored
from .texts import evaluate_texts
from .translate import one_line

if TYPE_CHECKING:
    from ..api import Evaluation

Group = Annotated[
    bool,
    typer.Option(
        "--group", help="Lines with the same source are one item with several right answers."
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option("--metric", help="One that the run's task has; may be given again."),
]
Outputs = Annotated[
    Path | None, typer.Option("--outputs", metavar="FILE", help="Also write the outputs here.")
]


def evaluate(
    run: Run,
    source: Source = None,
    target: Target = None,
    data: Data = None,
    form: Format = None,
    metric: Metric = None,
    tokenized: Tokenized = False,
    group: Group = False,
    beam: Beam = None,
    alpha: Alpha = None,
    max_length: MaxLength = None,
    settings: Settings = None,
    split: Split = False,
    cut: Cut = False,
    outputs: Outputs = None,
    more: With = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Scores a run on a test set: by default its own.

    A translation by bleu, chrf, ter, exact, wer, per; for pronunciations as the papers count them:
    --group --metric wer --metric per. A language model by loss, perplexity, bits_per_character,
    bits_per_byte, word_perplexity; a plain file is read as the training data were. A classifier by
    accuracy and macro_f1; its texts are the source and their labels the target. A tagger by
    entity_f1, precision, recall, strict_f1, accuracy; answers by f1 and exact; values by spearman,
    pearson, mse. A pre-trained model by the loss and the share of right answers of what it was
    asked, beside the share that the most frequent answer gets to.

    Example: headway evaluate runs/mine --source test.en --target test.de
    """
    from ..api import LanguageModel, Predictor, Pretrained, load

    set_threads(threads)
    translator = load(run, *(more or []))
    of_translation = {
        "--tokenized": tokenized,
        "--group": group,
        "--beam": beam,
        "--alpha": alpha is not None,
        "--max-length": max_length,
        "--search": settings,
        "--split": split,
    }
    if isinstance(translator, LanguageModel):
        others = {"--source": source, "--target": target, "--outputs": outputs, "--cut": cut}
        refuse_options(run, "language", {**of_translation, **others})
        evaluate_texts(run, translator, data, form, metric, as_json)
        return
    if isinstance(translator, Pretrained):
        others = {"--source": source, "--target": target, "--outputs": outputs, "--cut": cut}
        refuse_options(run, "pretrain", {**of_translation, **others})
        evaluate_restored(run, translator, data, form, metric, as_json)
        return
    if isinstance(translator, Predictor):
        refuse_options(run, translator.config.task, of_translation)
        rows = read_pairs(translator, source, target, data, form, as_learned=True)
        evaluate_outputs(run, translator, rows, metric, cut, outputs, as_json)
        return
    refuse_options(run, "translate", {"--cut": cut})
    search = search_settings(settings, beam=beam, alpha=alpha, max_length=max_length)
    config = translator.search_config(**search)
    rows = read_pairs(translator, source, target, data, form)
    sources, references, places = grouped(rows) if group else ungrouped(rows)
    result = translator.evaluate(
        sources,
        references,
        tokenized=tokenized,
        metrics=metric,
        too_long="split" if split else "refuse",
        places=places,
        **search,
    )
    record = {
        "run": str(run),
        "n": len(sources),
        "metrics": {name: score.to_dict() for name, score in result.scores.items()},
        "flags": result.flags.to_dict(),
        "search": asdict(config),
        **weights_record(translator),
    }
    print(json.dumps(record) if as_json else "\n".join(_table(result, record)))
    if result.unproven:
        warn(
            f"{result.unproven} of {len(sources)} outputs are not proven to be the best within "
            f"max_nodes={config.max_nodes}; raise search.max_nodes"
        )
    write_outputs(outputs, map(one_line, result.outputs))


def _table(result: "Evaluation", record: dict[str, Any]) -> Iterator[str]:
    yield from metric_lines(result.scores)
    search = record["search"]
    method = f"beam {search['beam']}" if search["method"] == "beam" else search["method"]
    yield ""
    yield from weight_lines(f"{record['n']} lines, {method}, alpha {search['alpha']:g}", record)
    counts = result.flags.counts.items()
    yield "strange outputs: " + ", ".join(f"{name} {count}" for name, count in counts)
