"""The matrix of models and equivalences: its columns, why cells are blank, how it is printed."""

from collections.abc import Mapping

from equivalence_cases import RECURRENT_SCORES, TRANSFORMER_SCORES

COLUMNS = {
    "cached": "cached step = teacher-forced pass",
    "prefix": "several tokens in one step, or a prefix = one by one",
    "fused": "fused attention = eager attention",
    "greedy": "beam 1 = greedy",
    "wide": "wide beam = all outputs, ranked",
    "best": "exhaustive search = the best of all outputs",
    "terms": "constrained by nothing = beam",
    "drawn": "samples of a batch = samples of singles",
    "ensemble": "ensemble of one = the model",
    "edges": "an empty source, one word, the longest source",
    "batch": "batch = singles",
    "padded": "padded = unpadded",
    "forced": "search score = forced score = teacher-forced log probabilities",
    "accum": "accumulated = big batch",
    "procs": "two processes = one",
    "resumed": "resumed = uninterrupted, bit for bit",
    "refer": "ours = a reference implementation with copied weights",
}

_LOOP = (
    "the loop and the run directory know tensors by name only; the family's own row stands for it"
)
_NO_SOURCE = "a language model has no source that could be empty or long"
_PART = (
    "no reference has this variant; its part is compared with torch.nn or its formula, in unit/nn"
)
_NO_STEP = "it writes nothing: there is no step, and nothing to search"
_LABEL_LOOP = "as for the other families: two processes know an objective, not what it is of"
_FITTED = "it is fitted at once, without updates"
_NOTHING = "without attention there is nothing to look at"
_COUNTED = "what is counted once has no updates to accumulate"
_FORMULAS = "compared with the formulas, in fractions and dictionaries or by hand, in unit/models"

TRANSFORMERS = (
    "transformer rms",
    "transformer rotary",
    "transformer learned",
    "transformer gated silu",
    "transformer d_head free",
    "transformer d_value other",
    "transformer share target",
    "transformer share none",
    "transformer additive",
    "transformer general",
    *(f"transformer {name}" for name in TRANSFORMER_SCORES),
)
RECURRENTS = (
    "recurrent rnn none",
    "recurrent lstm none",
    "recurrent gru bahdanau",
    "recurrent lstm bahdanau",
    "recurrent rnn location",
    "recurrent gru cosine",
    "recurrent gru feeding",
    "recurrent lstm feeding",
    *(f"recurrent {name}" for name in RECURRENT_SCORES),
)
COPIED = ("transformer post-norm", "transformer bart", "transformer t5", "transformer t5 gated")
DECODERS = ("decoder gpt-2", "decoder additive", "decoder relative")
RECURRENT_DECODERS = ("recurrent_decoder rnn", "recurrent_decoder lstm")
UNILMS = ("unilm bert", "unilm relative")
MARKOVS = ("markov add-k", "markov skips", "markov selective")
VARIANTS = (
    *COPIED,
    *TRANSFORMERS,
    *RECURRENTS,
    *DECODERS,
    *RECURRENT_DECODERS,
    *MARKOVS,
    *UNILMS,
)
COUNTED = ("markov", *MARKOVS)
WITHOUT_ATTENTION = (
    "recurrent rnn none",
    "recurrent lstm none",
    "recurrent_decoder",
    *RECURRENT_DECODERS,
    *COUNTED,
)
WITHOUT_SOURCE = ("decoder", *DECODERS, "recurrent_decoder", *RECURRENT_DECODERS, *COUNTED)
STEPPING = ("cached", "prefix", "greedy", "wide", "best", "terms", "drawn", "forced")
ENCODERS = (
    "encoder",
    "encoder first",
    "encoder post-norm",
    "encoder cosine",
    "encoder bert",
    "encoder relative",
)
RECURRENT_ENCODERS = ("recurrent_encoder", "recurrent_encoder lstm", "recurrent_encoder rnn mean")
BAGS = ("bag", "bag counts")
LABELLERS = (*BAGS, *RECURRENT_ENCODERS, *ENCODERS)
BLANKS: dict[tuple[str, str], str] = {
    **{(row, "procs"): _LOOP for row in VARIANTS if row != "unilm bert"},
    **{(row, "resumed"): _LOOP for row in VARIANTS},
    **{(row, "refer"): _PART for row in (*TRANSFORMERS, "decoder", *DECODERS[1:])},
    **{(row, "refer"): _FORMULAS for row in COUNTED},
    **{(row, "fused"): _NOTHING for row in WITHOUT_ATTENTION},
    **{(row, "edges"): _NO_SOURCE for row in WITHOUT_SOURCE},
    **{(row, "accum"): _COUNTED for row in COUNTED},
    **{(row, column): _NO_STEP for row in LABELLERS for column in STEPPING},
    **{(row, "fused"): _NOTHING for row in (*BAGS, *RECURRENT_ENCODERS)},
    **{(row, column): _FITTED for row in BAGS for column in ("accum", "procs", "resumed")},
    **{(row, "procs"): _LABEL_LOOP for row in (*RECURRENT_ENCODERS, *ENCODERS)},
    **{(row, "resumed"): _LOOP for row in (*RECURRENT_ENCODERS[1:], *ENCODERS[1:])},
    **{(row, "refer"): _PART for row in ("encoder first", "encoder cosine", "encoder relative")},
    ("unilm relative", "refer"): _PART,
    ("unilm", "refer"): "its variant of BERT's layers is compared; the rest is that of the encoder",
}

Outcomes = Mapping[tuple[str, str], set[str]]


def show(rows: list[str], outcomes: Outcomes) -> list[str]:
    """The matrix as lines: `ok`, `FAIL`, `skip`, `-` (not run now), or the number of a reason."""
    reasons = list(dict.fromkeys(BLANKS.values()))
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"{name:>9}" for name in COLUMNS)]
    for row in rows:
        cells = (_cell(outcomes.get((row, column)), (row, column), reasons) for column in COLUMNS)
        lines.append(f"{row:<{width}}" + "".join(f"{cell:>9}" for cell in cells))
    lines += ["", *(f"{name:>9}  {meaning}" for name, meaning in COLUMNS.items())]
    return lines + [f"{f'({i})':>9}  {reason}" for i, reason in enumerate(reasons, 1)]


def _cell(outcome: set[str] | None, place: tuple[str, str], reasons: list[str]) -> str:
    if outcome is None:
        return f"({reasons.index(BLANKS[place]) + 1})" if place in BLANKS else "-"
    for bad, shown in (("failed", "FAIL"), ("skipped", "skip")):
        if bad in outcome:
            return shown
    return "ok"
