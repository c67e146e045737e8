"""What required terms do to a test set: one rare word of each reference has to appear.

Translates a test set twice with a trained run, freely and with the rarest word of each reference as
a required term, and compares BLEU. A word counts as met as whole words of the output; what is not
met must have been reported. Progress goes to standard error; the last line, on standard output, is
JSON.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import headway
from headway.data.formats.lines import read_lines
from headway.errors import DataError, HeadwayError
from headway.text.word_matching import contains


def rarest_word(reference: str, counts: Counter[str]) -> str | None:
    """The word that is rarest in the counts; of equally rare ones the longest, then the first."""
    words = [word for word in reference.split() if word.isalpha()]
    return min(words, key=lambda word: (counts[word], -len(word)), default=None)


def compare(
    model: headway.Translator,
    sources: list[str],
    references: list[str],
    counts: Counter[str],
    **search: Any,
) -> dict[str, Any]:
    words = [rarest_word(reference, counts) for reference in references]
    requests = [
        headway.TranslationRequest(source, require=[word] if word else [])
        for source, word in zip(sources, words, strict=True)
    ]
    seconds, found = {}, {}
    for name, asked in (("free", list(sources)), ("with terms", requests)):
        start = time.perf_counter()
        found[name] = model.translate(asked, **search)
        seconds[name] = time.perf_counter() - start
        say(f"{name}: {seconds[name]:.1f} s")

    def met(name: str) -> int:
        return sum(
            word is not None and contains(one.text, word)
            for one, word in zip(found[name], words, strict=True)
        )

    silent = sum(
        word is not None and not contains(one.text, word) and not one.outputs[0].unmet
        for one, word in zip(found["with terms"], words, strict=True)
    )
    bleu = {
        name: model.task.judge("bleu", [one.text for one in outputs], references, True, 1000)
        for name, outputs in found.items()
    }
    return {
        "sentences": len(sources),
        "terms": sum(word is not None for word in words),
        "met": {name: met(name) for name in found},
        "not met and not reported": silent,
        "bleu": {name: score.to_dict() for name, score in bleu.items()},
        "seconds": {name: float(f"{value:.3g}") for name, value in seconds.items()},
        "examples": [
            {"source": s, "term": w, "free": a.text, "with term": b.text}
            for s, w, a, b in zip(sources, words, found["free"], found["with terms"], strict=True)
            if w and not contains(a.text, w)
        ][:10],
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", help="a run directory")
    parser.add_argument("--source", required=True, help="file of source lines")
    parser.add_argument("--target", required=True, help="file of references, tokenised")
    parser.add_argument(
        "--counts", required=True, help="file of target lines that words are counted in"
    )
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--limit", type=int, default=None)
    given = parser.parse_args(arguments)
    try:
        model = headway.load(given.run)
        sources, references = (
            list(read_lines(name))[: given.limit] for name in (given.source, given.target)
        )
        if len(sources) != len(references):
            raise DataError(
                f"{given.source} has {len(sources)} lines and {given.target} {len(references)}; "
                "give files whose lines belong together"
            )
        counts = Counter(word for line in read_lines(given.counts) for word in line.split())
        result = compare(model, sources, references, counts, beam=given.beam)
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    seconds = result["seconds"]
    record = {
        "name": "terms",
        "ratios": {"free/with terms": round(seconds["with terms"] / seconds["free"], 2)},
        "compared": "sentences per second without terms and with one in each",
    }
    print(json.dumps({**record, **result}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
