"""`headway search-report`: separates errors of the search from errors of the model."""

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError
from .eval_data import read_test_rows
from .evaluate.command import Group
from .options import (
    Data,
    Format,
    Json,
    Run,
    Source,
    Target,
    Threads,
    Weights,
    With,
    set_threads,
    whole_numbers,
)
from .search_options import NO_SEARCH_OPTIONS, SearchOptions, with_search_options

if TYPE_CHECKING:
    from ..inference.translator import Translator

SECONDS = 5.0  # between two lines of progress

Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first N inputs.")]
Beams = Annotated[
    str, typer.Option("--beams", help="The beams to compare with the argmax, as 1,2,5,10.")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]


@with_search_options("search-report", any_setting=False)
def search_report(
    run: Run,
    source: Source = None,
    target: Target = None,
    data: Data = None,
    form: Format = None,
    group: Group = False,
    limit: Limit = None,
    beams: Beams = "1,2,5,10",
    search: SearchOptions = NO_SEARCH_OPTIONS,
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
    markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Compares beam search with the true argmax.

    Reports how often each beam found the argmax, and the score it lost otherwise. With references,
    separates errors of the model from errors of the search. Default: the run's test set; --source
    alone gives inputs without references. For short outputs; the table reports inputs whose argmax
    is not proven within --max-nodes.

    Example: headway search-report runs/mine --limit 200
    """
    from ..compare.search_report import search_report as make_report
    from ..inference.load import load_for
    from ..inference.translator import Translator

    widths = whole_numbers("--beams", beams, example="1,2,5,10")
    set_threads(threads)
    translator = load_for("search-report", Translator, run, *(more or []), weights=weights)
    sources, references, locations = _inputs(translator, source, target, data, form, group)
    report = make_report(
        translator,
        sources[:limit],
        None if references is None else references[:limit],
        beams=widths,
        **search.settings(),
        places=locations[:limit],
        progress=ProgressLines(),
    )
    if as_json:
        print(json.dumps({"run": str(run), **report.to_dict()}, ensure_ascii=False))
    else:
        print(report.markdown() if markdown else report.text())


class ProgressLines:
    """Prints the progress of the search on standard error every few seconds."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self.last >= SECONDS:
            self.last = time.monotonic()
            print(f"{done}/{total} inputs searched", file=sys.stderr, flush=True)


def _inputs(
    translator: "Translator",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
    group: bool,
) -> tuple[list[str], list[list[str]] | None, list[str]]:
    """Sources, references if there are any, and locations."""
    if source is None or target is not None or data is not None:
        from ..inference.evaluation import grouped, ungrouped

        rows = read_test_rows(translator, source, target, data, form)
        return grouped(rows) if group else ungrouped(rows)
    if form is not None or group:
        name, partner = ("--format", "--data") if form is not None else ("--group", "--target")
        raise ConfigError(f"{name} needs {partner}; --source alone is plain lines of inputs")
    from ..data.formats.lines import read_lines

    sources = list(read_lines(source))
    return sources, None, [f"{source}:{number}" for number in range(1, len(sources) + 1)]
