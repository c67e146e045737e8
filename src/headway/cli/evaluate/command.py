"""`headway evaluate`: scores with intervals and signatures, and counts of suspicious outputs."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..eval_data import evaluation_corpora
from ..options import (
    Cut,
    Data,
    Format,
    Json,
    Run,
    Source,
    Split,
    Target,
    Threads,
    Tokenized,
    Weights,
    With,
    refuse_options,
    set_threads,
    warn,
)
from ..search_options import NO_SEARCH_OPTIONS, SearchOptions, with_search_options
from ..translate import one_line
from .tables import report_lines, weights_record, write_outputs

Group = Annotated[
    bool,
    typer.Option(
        "--group", help="Lines with the same source are one item with several right answers."
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option("--metric", help="A metric of the run's task; repeatable."),
]
Outputs = Annotated[
    Path | None, typer.Option("--outputs", metavar="FILE", help="Also write the outputs to a file.")
]


@with_search_options("evaluate")
def evaluate(
    run: Run,
    source: Source = None,
    target: Target = None,
    data: Data = None,
    form: Format = None,
    metric: Metric = None,
    tokenized: Tokenized = False,
    group: Group = False,
    search: SearchOptions = NO_SEARCH_OPTIONS,
    split: Split = False,
    cut: Cut = False,
    outputs: Outputs = None,
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Scores a run on a test set. Default: its own.

    Metrics by task. {metrics}.

    Pronunciations as papers score them, which call ser the word error rate: --group --metric ser
    --metric per. For a language model, a plain file is read like the training data. For a
    classifier, texts are the source, labels the target. Accuracies of pretrain are those of its
    objective, beside the accuracy of the most frequent answer.

    Example: headway evaluate runs/mine --source test.en --target test.de
    """
    from ...inference.evaluation import EvaluationOptions
    from ...inference.load import load

    set_threads(threads)
    model = load(run, *(more or []), weights=weights)
    flags: dict[str, dict[str, Any]] = {
        "tokenized": {"--tokenized": tokenized},
        "group": {"--group": group},
        "search": dict.fromkeys(search.named(), True),
        "split": {"--split": split},
        "pair": {"--source": source, "--target": target},
        "outputs": {"--outputs": outputs},
        "cut": {"--cut": cut},
    }
    taken = model.evaluation_options | ({"pair"} if len(model.task.columns) > 1 else set())
    for name, values in flags.items():
        if name not in taken:
            refuse_options(run, model.config.task, values)
    options = EvaluationOptions(metric, tokenized, group, cut, split, search.settings())
    corpora, root = evaluation_corpora(model, source, target, data, form)
    report = model.evaluate_corpora(corpora, root, options)
    record = {"run": str(run), **report.record, **weights_record(model)}
    print(json.dumps(record) if as_json else "\n".join(report_lines(report, record)))
    for warning in report.warnings:
        warn(warning)
    write_outputs(outputs, map(one_line, report.outputs or ()))


def _help_values() -> dict[str, str]:
    from ...tasks import TASKS, make_task

    return {"metrics": "; ".join(f"{task}: {', '.join(make_task(task).metrics)}" for task in TASKS)}


evaluate.help_values = _help_values  # type: ignore[attr-defined]
