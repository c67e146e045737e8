"""Runs whose targets BLEU cannot judge keep the weights that are good, not the first ones.

BLEU is 0 for all outputs of up to three words and for unspaced text that is not cut into words.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import pytest

import headway

Pairs = list[tuple[str, str]]

ENDINGS = {"y": "ies", "s": "ses", "x": "xes", "t": "ts", "n": "ns"}
PLACES = ("kitchen", "hall", "cellar", "garden", "attic")
THINGS = ("lamp", "fan", "radio", "door", "oven")
WISHES = {
    "on": ("turn on the {thing} in the {place}", "start the {place} {thing} please"),
    "off": ("turn off the {thing} in the {place}", "stop the {place} {thing} please"),
    "check": ("is the {thing} in the {place} on", "what about the {place} {thing}"),
}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September")
MONTHS += ("October", "November", "December")
HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
MINUTES = {
    **dict(enumerate((*HOURS, "twelve", "thirteen", "fourteen", "a quarter"), 1)),
    **{20 + i: f"twenty {word}" for i, word in enumerate(HOURS[:9], 1)},
    20: "twenty",
    30: "half",
}


def plurals() -> Pairs:
    """Made-up words of four letters with regular plurals."""
    words = ["".join(letters) for letters in product("bdfg", "aeio", "lr", ENDINGS)]
    return [(word, word[:-1] + ENDINGS[word[-1]]) for word in words]


def commands() -> Pairs:
    """Wishes for a home, and the same as three words."""
    return [
        (form.format(thing=thing, place=place), f"{action} {thing} {place}")
        for action, forms in WISHES.items()
        for form, thing, place in product(forms, THINGS, PLACES)
    ]


def chinese_days() -> Pairs:
    """Days in English and in Chinese, which has no spaces."""
    return [
        (f"{month} {day}", f"{number}月{day}日")
        for (number, month), day in product(enumerate(MONTHS, 1), range(1, 29))
    ]


def clock_times() -> Pairs:
    """Clock times in words, and as hours and minutes."""
    return [
        (f"{words} past {hour}", f"{number:02}:{minute:02}")
        for (number, hour), (minute, words) in product(enumerate(HOURS, 1), MINUTES.items())
    ]


@pytest.mark.parametrize(
    ("make", "metric", "tokens"),
    [
        (plurals, "exact", ("characters", "characters")),
        (commands, "exact", ("words", "words")),
        (chinese_days, "chrf", ("words", "characters")),
        (clock_times, "exact", ("words", "characters")),
    ],
)
def test_the_kept_weights_are_good(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], Pairs],
    metric: str,
    tokens: tuple[str, str],
) -> None:
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    pairs = make()
    Random(1).shuffle(pairs)
    n_valid = len(pairs) // 5
    for name, part in (("train", pairs[n_valid:]), ("valid", pairs[:n_valid])):
        lines = [f"{source}\t{target}\n" for source, target in part]
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "run.toml").write_text('[data]\ntrain = "train.tsv"\nvalid = "valid.tsv"\n')
    settings = [f"text.source.kind={tokens[0]}", f"text.target.kind={tokens[1]}"]
    settings += ["train.steps=300", "train.batch_tokens=512"]
    settings += ["model.d_model=64", "model.d_ff=128", "model.n_heads=2", "model.encoder_layers=1"]
    settings += ["model.decoder_layers=1", "train.accumulate=1", "train.patience=4"]

    model = headway.train(headway.read_config(tmp_path / "run.toml", settings), tmp_path / "run")

    assert model.config.train.metric == metric
    assert int(model.weights_info["step"]) > 30  # the first validation
    sources, targets = zip(*pairs[:n_valid], strict=True)
    outputs = [translation.text for translation in model.translate(sources)]
    right = sum(map(str.__eq__, outputs, targets))
    assert right > 0.8 * n_valid
