"""What `evaluate` and `score` do with language models: which texts, and how figures are printed."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..errors import ConfigError
from .figures import metric_lines, weight_lines, weights_record
from .options import warn

if TYPE_CHECKING:
    from ..api import LanguageModel, Scored, TextEvaluation
    from ..api.trained import Trained
    from ..data.corpora import Corpus
    from ..data.read import Row

CHUNK_LINES = 4096


def evaluate_texts(
    run: Path,
    model: "LanguageModel",
    data: str | None,
    form: str | None,
    metrics: list[str] | None,
    as_json: bool,
) -> None:
    """Prints how well texts are predicted."""
    texts = [row.values[0] for row in read_texts(model, data, form)]
    result = model.evaluate(texts, metrics)
    record = {
        "run": str(run),
        "n": result.n_texts,
        "tokens": result.n_tokens,
        "unknown": result.n_unknown,
        "window": model.window,
        "metrics": {name: score.to_dict() for name, score in result.scores.items()},
        **weights_record(model),
    }
    print(json.dumps(record) if as_json else "\n".join(_table(result, record)))
    if result.n_unknown:
        warn(
            f"{result.n_unknown} of {result.n_tokens} tokens are unknown to the tokenizer, which "
            "makes every figure too good; a kind of [text] that knows all is bpe or bytes"
        )


def _table(result: "TextEvaluation", record: dict[str, Any]) -> Iterator[str]:
    yield from metric_lines(result.scores, name=18, digits=4)
    yield ""
    texts = f"{result.n_texts} {'text' if result.n_texts == 1 else 'texts'}"
    size = f"{result.n_tokens} tokens, windows of {record['window']}"
    yield from weight_lines(f"{texts}, {size}", record)


def score_texts(model: "LanguageModel", data: str | None, form: str | None, as_json: bool) -> None:
    """Prints the log probability of each text."""
    rows = read_texts(model, data, form)
    while chunk := list(islice(rows, CHUNK_LINES)):
        texts = [row.values[0] for row in chunk]
        for text, scored in zip(texts, model.score(texts), strict=True):
            print(_json(text, scored) if as_json else _line(scored))


def _line(scored: "Scored") -> str:
    return f"{scored.log_prob:.6f}\t{len(scored.token_log_probs)}"


def _json(text: str, scored: "Scored") -> str:
    record = {
        "text": text,
        "log_prob": scored.log_prob,
        "tokens": scored.tokens,
        "token_log_probs": scored.token_log_probs,
    }
    return json.dumps(record, ensure_ascii=False)


def read_texts(model: "LanguageModel", data: str | None, form: str | None) -> Iterator["Row"]:
    """The run's test texts, or those of a file; a running text is one row, all of it."""
    from ..data.read import read_whole

    corpora, root = given_corpora(model, data, form)
    for corpus in corpora:
        yield from read_whole(corpus, model.task.columns, root)


def given_corpora(
    model: "Trained", data: str | None, form: str | None
) -> tuple[tuple["Corpus", ...], Path]:
    """The run's test data, or a file, and the folder that names start from."""
    from ..data.corpora import as_corpora

    if data is not None:
        return (_corpus(model, data, form),), Path()
    corpora = as_corpora(model.config.data.test, "data.test")
    if not corpora:
        raise ConfigError(f"the run file of {model.run.path} names no data.test; give --data FILE")
    return corpora, Path(model.config.data.root or ".")


def _corpus(model: "Trained", data: str, form: str | None) -> "Corpus":
    """A file; one that does not tell its format is read as the training data were."""
    from ..data.corpora import EXTENSIONS, WHOLE, Corpus, Format, learned_from

    if form is not None and form not in get_args(Format):
        raise ConfigError(f"--format {form}: expected one of {', '.join(get_args(Format))}")
    extension = Path(data.removesuffix(".gz")).suffix.lower()
    if form is None and extension not in EXTENSIONS:
        learned = {corpus.format for corpus in learned_from(model.config.data)}
        form = next((whole for whole in WHOLE if whole in learned), "lines")
    return Corpus(file=data, format=form or "auto")  # type: ignore[arg-type]
