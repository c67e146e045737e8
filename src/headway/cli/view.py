"""`headway view`: an input, what a model made of it, and its attention: page, picture, data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError
from .options import Json, Run, Threads, Weights, refuse_options, set_threads, warn, whole
from .search_options import NO_SEARCH_OPTIONS, SearchOptions, with_search_options
from .translate import GlossaryFile, Prefix

if TYPE_CHECKING:
    from ..inspection.inspection import Inspection
    from ..inspection.series import SeriesInspection

PICTURE, SERIES = "Picture", "Series"

Text = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT|FILE",
        help="The text to inspect; - or none: standard input. For a run of series a file of them; "
        "none: the run's data, of a forecast the last window.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the page, one self-contained HTML file."),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TEXT",
        help="Inspect this output, instead of searching for outputs.",
    ),
]
IMAGES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".gif", ".webp")
Png = Annotated[
    Path | None,
    typer.Option(
        "--png",
        metavar="FILE",
        help="Write a heat map of attention, or a forecast, as a picture, by matplotlib.",
        rich_help_panel=PICTURE,
    ),
]
Attention = Annotated[
    str | None,
    typer.Option(
        "--attention",
        metavar="NAME",
        help="For the picture: cross (output to input), encoder or decoder. Default: the first "
        "that the model has.",
        rich_help_panel=PICTURE,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        "--layer",
        metavar="N|mean",
        help="For the picture: a layer, from 0 (or -1 backwards). Default: mean of all.",
        rich_help_panel=PICTURE,
    ),
]
Head = Annotated[
    str | None,
    typer.Option(
        "--head",
        metavar="N|mean",
        help="For the picture: a head, from 0. Default: mean of all.",
        rich_help_panel=PICTURE,
    ),
]
Number = Annotated[
    int | None,
    typer.Option(
        "--output",
        parser=whole,
        metavar="N",
        help="For the picture: an output, from 0, the best.",
        rich_help_panel=PICTURE,
    ),
]

At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME|-N",
        help="First step of the forecast: a time, or a number of steps before the end. Default: "
        "after the end of FILE. For forecasts.",
        rich_help_panel=SERIES,
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        help="The column to look at. Default: the first. For forecasts.",
        rich_help_panel=SERIES,
    ),
]
SeriesName = Annotated[
    str | None,
    typer.Option(
        "--series",
        metavar="NAME|N",
        help="The series to look at, by its name or its number from 1. Default: the first.",
        rich_help_panel=SERIES,
    ),
]


@with_search_options("view")
def view(
    run: Run,
    argument: Text = None,
    out: Out = None,
    as_json: Json = False,
    weights: Weights = None,
    target: Target = None,
    search: SearchOptions = NO_SEARCH_OPTIONS,
    glossary: GlossaryFile = None,
    prefix: Prefix = None,
    png: Png = None,
    attention: Attention = None,
    layer: Layer = None,
    head: Head = None,
    output: Number = None,
    at: At = None,
    column: Column = None,
    series: SeriesName = None,
    threads: Threads = None,
) -> None:
    """Shows outputs, search and attention for a text or series.


    The page shows the outputs (all of the beam, unless --nbest is set), alternative tokens, the
    search and the attention of every layer; open it in a browser. --json prints its data, with
    tensors in base64. Separate the texts of a pair, or question and text, with a tab.

    Example: headway view runs/mine "a man in a hat" --out page.html
    """
    from ..data.config import reads_series
    from ..inference.load import load

    if out is not None and out.suffix.lower() in IMAGES:
        raise ConfigError(f"--out {out} would be an HTML page; for a picture use --png {out}")
    if out is None and png is None and not as_json:
        raise ConfigError("nothing to make; add --out page.html, --png picture.png or --json")
    chosen = {"--attention": attention, "--layer": layer, "--head": head, "--output": output}
    if png is None:
        for option, value in chosen.items():
            if value is not None:
                raise ConfigError(f"{option} chooses a picture; add --png FILE or leave it out")
    set_threads(threads)
    model = load(run, weights=weights)
    settings = search.settings()
    texts = {"target": target, "glossary": glossary, "prefix": prefix}
    windows = {"at": at, "column": column}
    named: dict[str, Any] = {}
    if not model.has_search:
        named |= {f"--{name}": value for name, value in texts.items()}
        named |= {f"the search setting {name}": True for name in settings}
    named |= chosen if model.forecasts_windows else {f"--{name}": x for name, x in windows.items()}
    are_series = reads_series(model.task.columns)
    named |= {} if are_series else {"--series": series}
    refuse_options(run, model.config.task, named)
    if model.forecasts_windows:
        _show_series(_inspect_window(model, argument, series, windows), png, out, as_json)
        return
    if are_series:
        inspection = _inspect_series(model, argument, series)
    elif model.has_search:
        inspection = _inspect(model, _text(argument), texts, settings)
    else:
        text = _text(argument)
        inspection = model.inspect(tuple(text.split("\t")) if len(model.inputs) > 1 else text)
    if png is not None:
        indices = _index("--layer", layer), _index("--head", head)
        _draw(inspection, png, attention, *indices, output or 0)
    _write(inspection, out, as_json)


def _write(inspection: "Inspection | SeriesInspection", out: Path | None, as_json: bool) -> None:
    if out is not None:
        inspection.view().save(out)
    if as_json:
        print(inspection.to_json())


def _inspect_window(
    model: Any, file: str | None, series: str | None, options: dict[str, str | None]
) -> "SeriesInspection":
    """The inspection of a series of a file, or of the last window of the run's own data."""
    from ..inference.series_files import corpora_of

    [corpus, *_], root = corpora_of(model.config.data, file)
    found = model.read(corpus, root)
    names = [row["target"].name for row in found.rows]
    usual = f"-{model.task.config.horizon}" if file is None else None
    number = _number(series, names, corpus.file)
    result: SeriesInspection = model.inspect(
        found.rows[number],
        options["column"],
        options["at"] or usual,
        names,
        found.places[number],
    )
    for text in (*found.warnings, *model.warnings([found.rows[number]], [found.places[number]])):
        warn(text)
    return result


def _inspect_series(model: Any, file: str | None, series: str | None) -> "Inspection":
    """The inspection of a series of a file, or of the run's own data."""
    from ..inference.series_files import corpora_of, read_series, without_labels

    [corpus, *_], root = corpora_of(model.config.data, file)
    codecs = {name: model.task.codecs[name] for name in model.inputs}
    found = read_series(without_labels(corpus, model.task.columns), codecs, root)
    rows = [row["series"] for row in found.rows]
    number = _number(series, [row.name for row in rows], corpus.file)
    model.task.inputs.check(rows[number], found.places[number])
    for text in found.warnings:
        warn(text)
    result: Inspection = model.inspect(rows[number])
    return result


def _number(series: str | None, names: Sequence[str], file: str | None) -> int:
    """The index of a series by its name, or by its number from 1."""
    if series is None:
        return 0
    if series in names:
        return names.index(series)
    if series.isascii() and series.isdecimal() and 1 <= int(series[:9]) <= len(names):
        return int(series[:9]) - 1
    known = ", ".join(filter(None, names[:8])) + (", ..." if len(names) > 8 else "")
    numbers = f"{len(names)} series without names; give a number up to {len(names)}"
    alone = "one series without a name" if len(names) == 1 else numbers
    raise DataError(f"--series {series}: {file} has {known if any(names) else alone}")


def _show_series(
    inspection: "SeriesInspection", png: Path | None, out: Path | None, as_json: bool
) -> None:
    from ..inspection.html_page import save_bytes
    from ..view.forecast_png import forecast_png

    if png is not None:
        save_bytes(png, forecast_png(inspection.plain_window(), inspection.looks()))
    _write(inspection, out, as_json)


def _text(argument: str | None) -> str:
    """The text of the command line, or all of standard input."""
    if argument not in (None, "-"):
        return str(argument)
    from ..data.formats.lines import read_lines

    return "\n".join(read_lines("-"))


def _inspect(
    model: Any, text: str, options: dict[str, Any], search: dict[str, Any]
) -> "Inspection":
    from ..data.glossary import Glossary
    from ..inference.requests import TranslationRequest

    glossary, prefix = options["glossary"], options["prefix"]
    terms = Glossary.read(glossary) if glossary is not None else None
    request = TranslationRequest(text, prefix=prefix or "")
    result: Inspection = model.inspect(request, options["target"], glossary=terms, **search)
    return result


def _draw(
    inspection: "Inspection",
    path: Path,
    attention: str | None,
    layer: Any,
    head: Any,
    output: int,
) -> None:
    from ..inspection.html_page import save_bytes
    from ..view.heatmap_png import heatmap_png

    if attention not in (None, "cross", "encoder", "decoder"):
        raise ConfigError(f"--attention {attention}: expected cross, encoder or decoder")
    drawn = inspection.map(attention, layer, head, output)  # type: ignore[arg-type]
    parts = [
        f"mean of {noun}s" if index == "mean" else f"{noun} {index}"
        for noun, index in (("layer", layer), ("head", head))
    ]
    title = f"{drawn.kind} attention, {', '.join(parts)}"
    save_bytes(path, heatmap_png(drawn.weights.tolist(), drawn.rows, drawn.columns, title))


def _index(option: str, text: str | None) -> Any:
    """The index of a layer or a head, or `mean`."""
    if text is None or text == "mean":
        return "mean"
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{option} {text}: expected a number, or mean") from None
