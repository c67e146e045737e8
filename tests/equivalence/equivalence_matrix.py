"""The matrix of models and equivalences: its columns, why cells are blank, how it is printed."""

from collections.abc import Mapping

from equivalence_cases import CASES, Case, is_family

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
_FORECASTS = "the mean of forecasts is the work of their task, in unit/tasks"
_FORMULAS = "compared with the formulas, in fractions and dictionaries or by hand, in unit/models"

_VECTORS = (
    "its layers are compared as a model of tokens, its input module with the formulas, in unit/nn"
)
_UNILM = "its variant of BERT's layers is compared; the rest is that of the encoder"

STEPPING = ("cached", "prefix", "greedy", "wide", "best", "terms", "drawn", "forced")
COMPARED_FAMILIES = ("recurrent", "recurrent_decoder", "recurrent_encoder", "bag", "ridge")
COMPARED = (
    "transformer",
    "transformer post-norm",
    "transformer bart",
    "transformer t5",
    "transformer t5 gated",
    "convolutional",
    "decoder gpt-2",
    "encoder",
    "encoder post-norm",
    "encoder bert",
    "unilm bert",
)
"""The cases with a reference implementation, besides those of whole families."""
TRAINED_TWICE = ("unilm bert",)
"""Variants that two processes train too."""


def blanks(case: Case) -> dict[str, str]:
    """Why columns do not apply to a case: from what it can do, whatever its name."""
    found: dict[str, str] = {}
    is_stepped = "step" in case.abilities
    if not is_family(case):
        found["resumed"] = _LOOP
    if not is_family(case) and case.name not in TRAINED_TWICE:
        found["procs"] = _LOOP
    if "attend" not in case.abilities:
        found["fused"] = _NOTHING
    if not case.has_source:
        found["edges"] = _NO_SOURCE
    if not is_stepped:
        found |= dict.fromkeys(STEPPING, _NO_STEP) | {"procs": _LABEL_LOOP}
    if "forecast" in case.abilities:
        found["ensemble"] = _FORECASTS
    if case.counts:
        fitted = dict.fromkeys(("accum", "procs", "resumed"), _FITTED)
        found |= {"accum": _COUNTED} if is_stepped else fitted
    if not case.has_tokens:
        found["refer"] = _VECTORS
    elif case.name not in COMPARED and case.family not in COMPARED_FAMILIES:
        found["refer"] = _FORMULAS if case.counts else _UNILM if case.name == "unilm" else _PART
    return found


BLANKS = {(case.name, column): why for case in CASES for column, why in blanks(case).items()}

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
