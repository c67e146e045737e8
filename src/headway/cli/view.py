"""`headway view`: what a model does with one text, as a page, a picture or data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .options import Json, Run, Threads, refuse_options, set_threads, whole
from .search_options import NOTHING_SAID, SearchOptions, with_search_options
from .translate import GlossaryFile, Prefix

if TYPE_CHECKING:
    from ..inspection.inspection import Inspection

PICTURE = "Picture"

Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="What to look at; - or none: standard input."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="The page, one HTML file that needs no other."),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TEXT",
        help="Look at this output, in place of those that a search finds.",
    ),
]
Png = Annotated[
    Path | None,
    typer.Option(
        "--png",
        metavar="FILE",
        help="A heat map of attention as a picture, by matplotlib.",
        rich_help_panel=PICTURE,
    ),
]
Attention = Annotated[
    str | None,
    typer.Option(
        "--attention",
        metavar="KIND",
        help="Of the picture: cross (output to input), encoder or decoder; else what there is.",
        rich_help_panel=PICTURE,
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        "--layer",
        metavar="N|mean",
        help="Of the picture: one layer, from 0 (or -1 backwards); else the mean of all.",
        rich_help_panel=PICTURE,
    ),
]
Head = Annotated[
    str | None,
    typer.Option(
        "--head",
        metavar="N|mean",
        help="Of the picture: one head, from 0; else the mean of all.",
        rich_help_panel=PICTURE,
    ),
]
Number = Annotated[
    int | None,
    typer.Option(
        "--output",
        parser=whole,
        metavar="N",
        help="Of the picture: which output, from 0, the best.",
        rich_help_panel=PICTURE,
    ),
]


@with_search_options("view")
def view(
    run: Run,
    given: Text = None,
    out: Out = None,
    as_json: Json = False,
    target: Target = None,
    search: SearchOptions = NOTHING_SAID,
    glossary: GlossaryFile = None,
    prefix: Prefix = None,
    png: Png = None,
    attention: Attention = None,
    layer: Layer = None,
    head: Head = None,
    output: Number = None,
    threads: Threads = None,
) -> None:
    """Shows what a model does with a text.

    The page shows the outputs (all of the beam unless --nbest is given), alternative tokens, the
    search and the attention of every layer; open it in a browser. --json prints its data, with
    tensors in base64. Separate the texts of a pair, or question and text, with a tab.

    Example: headway view runs/mine "a man in a hat" --out page.html
    """
    from ..inference.load import load

    if out is None and png is None and not as_json:
        raise ConfigError("nothing to make; give --out page.html, --png picture.png or --json")
    chosen = {"--attention": attention, "--layer": layer, "--head": head, "--output": output}
    if png is None:
        for option, value in chosen.items():
            if value is not None:
                raise ConfigError(f"{option} chooses a picture; add --png FILE or leave it out")
    set_threads(threads)
    model = load(run)
    settings = search.settings()
    options = {"target": target, "glossary": glossary, "prefix": prefix}
    text = _text(given)
    if model.has_search:
        found = _inspected(model, text, options, settings)
    else:
        named: dict[str, Any] = {f"--{name}": value for name, value in options.items()}
        named |= {f"the search setting {name}": True for name in settings}
        refuse_options(run, model.config.task, named)
        found = model.inspect(tuple(text.split("\t")) if len(model.inputs) > 1 else text)
    if png is not None:
        _draw(found, png, attention, _place("--layer", layer), _place("--head", head), output or 0)
    if out is not None:
        found.view().save(out)
    if as_json:
        print(found.to_json())


def _text(given: str | None) -> str:
    """That of the command line, or all of standard input."""
    if given not in (None, "-"):
        return str(given)
    from ..data.formats.lines import read_lines

    return "\n".join(read_lines("-"))


def _inspected(
    model: Any, text: str, options: dict[str, Any], search: dict[str, Any]
) -> "Inspection":
    from ..data.glossary import Glossary
    from ..inference.requests import TranslationRequest

    glossary, prefix = options["glossary"], options["prefix"]
    terms = Glossary.read(glossary) if glossary is not None else None
    request = TranslationRequest(text, prefix=prefix or "")
    found: Inspection = model.inspect(request, options["target"], glossary=terms, **search)
    return found


def _draw(
    found: "Inspection",
    path: Path,
    kind: str | None,
    layer: Any,
    head: Any,
    output: int,
) -> None:
    from ..inspection.html_page import save_bytes
    from ..view.heatmap_png import heatmap_png

    if kind not in (None, "cross", "encoder", "decoder"):
        raise ConfigError(f"--attention {kind}: expected cross, encoder or decoder")
    drawn = found.map(kind, layer, head, output)  # type: ignore[arg-type]
    places = [
        f"mean of {what}s" if place == "mean" else f"{what} {place}"
        for what, place in (("layer", layer), ("head", head))
    ]
    title = f"{drawn.kind} attention, {', '.join(places)}"
    save_bytes(path, heatmap_png(drawn.weights.tolist(), drawn.rows, drawn.columns, title))


def _place(option: str, given: str | None) -> Any:
    """The number of a layer or a head, or `mean`."""
    if given is None or given == "mean":
        return "mean"
    try:
        return int(given)
    except ValueError:
        raise ConfigError(f"{option} {given}: expected a number, or mean") from None
