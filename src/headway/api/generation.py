"""Settings of the search as Hugging Face's `generation_config.json` has them, both ways."""

from collections.abc import Mapping
from typing import Any

from ..runs.obstacles import Obstacles
from ..search import SearchConfig


def search_obstacles(search: SearchConfig) -> list[str]:
    """The settings that `generation_config.json` has no place for."""
    found = Obstacles()
    if search.method == "exhaustive":
        found.add("search.method", search.method, "only beam and sample")
    if search.min_ratio:
        found.add("search.min_ratio", search.min_ratio, "no limit follows the input")
    if search.stop == "safe" and search.beam == 1:
        found.add("search.stop", search.stop, "a beam of 1 stops at its first end")
    return found.found


def generation_of(search: SearchConfig) -> dict[str, Any]:
    """The file's entries."""
    settings: dict[str, Any] = {
        "max_length": search.max_length + 1,  # the library counts the begin mark too
        "num_return_sequences": search.n_best,
        # It also counts the begin mark here, but not the end mark.
        "min_length": min(search.min_length, search.max_length),
        "no_repeat_ngram_size": search.no_repeat,
    }
    if search.method == "sample":
        drawn = {name: getattr(search, name) for name in ("temperature", "top_k", "top_p")}
        return {**settings, "do_sample": True, "num_beams": 1, **drawn}
    settings |= {"do_sample": False, "num_beams": search.beam}
    if search.beam > 1:
        settings["length_penalty"] = search.alpha
        settings["early_stopping"] = True if search.stop == "finished" else "never"
    return settings


def search_of(generation: Mapping[str, Any], longest: int) -> SearchConfig:
    """The search that a folder asks for: width and ranking of the beam, lengths, repetitions.

    Sampling is asked for with each call, so that a folder's beam is searched unless told otherwise.

    Args:
        longest: number of positions of the model.
    """

    def number(name: str, usual: float, least: float) -> Any:
        value: Any = generation.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number and value >= least else usual

    usual = SearchConfig()
    return SearchConfig(
        beam=int(number("num_beams", usual.beam, 1)),
        alpha=float(number("length_penalty", usual.alpha, float("-inf"))),
        # The library counts the mark that outputs begin with.
        max_length=min(longest, int(number("max_length", usual.max_length + 1, 2)) - 1),
        min_length=int(number("min_length", usual.min_length, 0)),
        no_repeat=int(number("no_repeat_ngram_size", usual.no_repeat, 0)),
    )
