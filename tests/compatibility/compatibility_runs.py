"""Which runs are kept of a format: their data, their run files, and what they are asked.

Every pair of task and family, every objective of `pretrain`, and what else leaves a trace in a run
directory: tokenizers, shared and separate vocabularies, averages, tuned and imported models,
interruptions.
"""

from typing import Any

WIDE = 16
TRANSFORMER = {"d_model": WIDE, "d_ff": 24, "n_heads": 2, "dropout": 0.0}
SIZES: dict[str, dict[str, Any]] = {
    "transformer": {**TRANSFORMER, "encoder_layers": 1, "decoder_layers": 1},
    "recurrent": {"d_model": WIDE, "dropout": 0.0},
    "convolutional": {
        "d_model": WIDE,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "dropout": 0.0,
    },
    "decoder": {**TRANSFORMER, "layers": 1},
    "recurrent_decoder": {"d_model": WIDE, "dropout": 0.0},
    "encoder": {**TRANSFORMER, "layers": 1},
    "recurrent_encoder": {"d_model": WIDE, "dropout": 0.0},
    "unilm": {**TRANSFORMER, "layers": 1},
    "markov": {},
    "bag": {},
}
TRAIN = {
    "steps": 300,
    "batch_tokens": 300,
    "accumulate": 1,
    "lr": 0.01,
    "warmup": 20,
    "evaluate_every": 100,
    "keep": 1,
}
INTERRUPTED = {"steps": 120, "evaluate_every": 20, "choose": "best"}
LONGER = {"steps": 700, "choose": "last", "label_smoothing": 0.0}
"""For what writes: its outputs should be clear."""
LIMITS = {"max_length": 40, "block": 32}
SEARCH = {"max_length": 24, "beam": 2}
BERT = {"preset": "bert-tiny", "max_positions": 40}
T5 = {
    "norm": "rms",
    "bias": False,
    "score": "dot",
    "positions": "relative",
    "position_buckets": 8,
    "position_distance": 12,
    "scale_embeddings": False,
    "scale_output": True,
}
BART = {
    "residual": "post",
    "positions": "learned",
    "max_positions": 40,
    "embedding_norm": True,
    "scale_embeddings": False,
    "activation": "gelu",
}
GPT2 = {
    "positions": "learned",
    "max_positions": 40,
    "activation": "gelu_tanh",
    "scale_embeddings": False,
}
WORDS = {"kind": "words"}
CHARACTERS = {"kind": "characters"}
PIECES = {"kind": "wordpiece", "size": 80, "lowercase": True}


def _files(name: str, extension: str, **columns: Any) -> dict[str, Any]:
    """The three corpora of a kind of data."""
    files = {"train": "", "valid": "-valid", "test": "-test"}
    named = {part: f"{name}{ending}.{extension}" for part, ending in files.items()}
    if not columns:
        return named
    return {part: {"file": file, **columns} for part, file in named.items()}


def _parallel(**columns: str) -> dict[str, Any]:
    endings = {"train": "", "valid": "-valid", "test": "-test"}
    return {
        part: {column: f"{name}{ending}.txt" for column, name in columns.items()}
        for part, ending in endings.items()
    }


def _squad(start: float, stop: float) -> dict[str, Any]:
    return {"file": "squad.json", "format": "squad", "part": [start, stop]}


DATA: dict[str, dict[str, Any]] = {
    "pairs": _files("pairs", "tsv"),
    "parallel": _parallel(source="english", target="german"),
    "sounds": _files("sounds", "dict"),
    "lines": _files("english", "txt"),
    "text": _files("documents", "txt", format="text"),
    "documents": _files("documents", "txt", format="documents"),
    "both": {"train": ["english.txt", "german.txt"], "valid": "english-valid.txt"},
    "labels": _files("labels", "csv"),
    "couples": _files("couples", "tsv", text="first", text2="second", label="same"),
    "numbers": _files("numbers", "csv"),
    "alike": _files("alike", "tsv", text="first", text2="second", value="difference"),
    "entities": _files("entities", "conll"),
    "inside": _files("inside", "conll"),
    "kinds": _files("entities", "conll", words=1, tags=2),
    "questions": _files("questions", "jsonl"),
    "squad": {"train": _squad(0, 0.8), "valid": _squad(0.8, 0.9), "test": _squad(0.9, 1)},
}
EVALUATED: dict[str, list[str]] = {
    "parallel": ["--source", "english-test.txt", "--target", "german-test.txt"],
    "both": ["--data", "english-test.txt"],
    "squad": ["--data", "squad.json"],
    **{
        name: ["--data", parts["test"] if isinstance(parts["test"], str) else parts["test"]["file"]]
        for name, parts in DATA.items()
        if name not in ("parallel", "both", "squad")
    },
}
"""What `headway evaluate` is told, in the folder of the data."""

TEXTS = ["the man likes the cat today", "the old woman sees the horse"]
DOCUMENT = "the old man hears the woman .\nthen the man likes the woman ."
PAIRS = {
    "sources": [*TEXTS, "the dog finds the child"],
    "targets": ["der Mann mag die Katze heute", "die alte Frau sieht das Pferd", "die Frau hier"],
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "pairs": {
        "score": PAIRS,
        "translate": {"texts": [*TEXTS, "the child likes the woman"]},
        "attention": {"source": PAIRS["sources"][0], "target": PAIRS["targets"][0]},
    },
    "sounds": {
        "score": {"sources": ["BET", "KIKO"], "targets": ["B EH T", "K IH K OW"]},
        "translate": {"texts": ["BET", "GAG", "TOKA"]},
        "attention": {"source": "BET", "target": "B EH T"},
    },
    "lines": {
        "score": {"texts": [*TEXTS, "the cat cat"]},
        "generate": {"prompts": ["the old man sees", "the child likes", "the old"]},
    },
    "text": {
        "score": {"texts": [DOCUMENT, "the cat"]},
        "generate": {"prompts": ["at last th", "the old man hea"]},
    },
    "labels": {"predict": {"inputs": ["what a sweet soup", "it is a broken lamp", "a garden"]}},
    "couples": {
        "predict": {
            "inputs": [["a lovely lamp", "this lamp is lovely"], ["a dull song", "this soup"]]
        }
    },
    "numbers": {"predict": {"inputs": ["I see two songs", "there are six lamps", "chairs"]}},
    "alike": {"predict": {"inputs": [["two songs", "five songs"], ["six lamps", "one lamps"]]}},
    "entities": {"predict": {"inputs": ["Mia Berg lives in Oslo now", "Karl comes from Rome"]}},
    "questions": {
        "predict": {
            "inputs": [
                ["where does Mia live", "Anna lives in Rome and Mia lives in Oslo"],
                ["where does Anna live", "Anna lives in Rome and Mia lives in Oslo"],
                ["where does Eva live", "Anna lives in Rome and Mia lives in Oslo"],
            ]
        }
    },
    "pretrain": {"fill": {"text": "the old [MASK] hears the [MASK] ."}},
}
for _name, _like in {
    "parallel": "pairs",
    "documents": "text",
    "inside": "entities",
    "kinds": "entities",
    "squad": "questions",
}.items():
    QUESTIONS[_name] = QUESTIONS[_like]
QUESTIONS["both"] = QUESTIONS["lines"]

COMMANDS: dict[str, list[list[str]]] = {
    "translate": [
        ["translate", "texts.txt", "--beam", "2", "--nbest", "2", "--json"],
        ["score", "--data", "pairs-test.tsv", "--json"],
    ],
    "language": [
        ["generate", "the", "--beam", "1", "--max-length", "4", "--json"],
        ["score", "--data", "english-test.txt", "--format", "lines", "--json"],
    ],
    "classify": [["predict", "texts.txt", "--json"]],
    "tag": [["predict", "texts.txt", "--json"]],
    "regress": [["predict", "texts.txt", "--json"]],
    "answer": [["predict", "asked.txt", "--json"]],
    "pretrain": [],
}
"""Further commands, in the folder of the data, without the run, which comes second."""
OF_PAIRS = [["predict", "text-pairs.txt", "--json"]]
EMBED = ["embed", "texts.txt"]
FILL = ["fill", "the old [MASK] hears", "--json"]


def _run(task: str, data: str, family: str | None, **tables: Any) -> dict[str, Any]:
    """A run file; `family` is None where it is that of `init`."""
    model = {} if family is None else {"family": family, **SIZES[family]}
    counts = family in ("markov", "bag")
    train = TRAIN | (LONGER if task in ("translate", "language") else {})
    given = {
        "task": task,
        "data": {**DATA[data], **LIMITS},
        "model": model | tables.pop("model", {}),
        "train": {} if counts else train | tables.pop("train", {}),
        "search": SEARCH,
        **tables,
    }
    return {"data": data, "file": given}


def _begun(task: str, data: str, family: str | None, **tables: Any) -> dict[str, Any]:
    """One that is interrupted."""
    train = INTERRUPTED | tables.pop("train", {})
    return {**_run(task, data, family, train=train, **tables), "is_interrupted": True}


SMALL = {"d_model": 8, "d_ff": 8}


def _recurrent(score: str, attention: str, cell: str, **more: Any) -> dict[str, Any]:
    model = {"score": score, "attention": attention, "cell": cell, **more}
    return _run("translate", "pairs", "recurrent", text=WORDS, model=model)


def _chain(**model: Any) -> dict[str, Any]:
    return _run("language", "lines", "markov", text=WORDS, model=model)


def _bag(weighting: str, longest: int) -> dict[str, Any]:
    model = {"weighting": weighting, "ngrams": [1, longest]}
    return _run("classify", "labels", "bag", text=WORDS, model=model)


def _pretrain(data: str, family: str, text: dict[str, Any], **objective: Any) -> dict[str, Any]:
    model = objective.pop("model", {})
    return _run("pretrain", data, family, text=text, model=model, pretrain=objective)


TRAINED: dict[str, dict[str, Any]] = {
    # Any text to any text.
    "translate-transformer": _run(
        "translate",
        "pairs",
        "transformer",
        text={"kind": "bpe", "size": 290},
    ),
    "translate-transformer-separate": _run(
        "translate",
        "parallel",
        "transformer",
        text={"source": WORDS, "target": WORDS},
        model={"residual": "post"},
    ),
    "translate-transformer-average": _run(
        "translate",
        "pairs",
        "transformer",
        text=WORDS,
        model={"positions": "rotary", "gated": True, "activation": "silu"},
        train={"average": 3, "keep": 3, "evaluate_every": 50},
    ),
    "translate-transformer-ema": _run(
        "translate",
        "pairs",
        "transformer",
        text={"kind": "unigram", "size": 300, "shared": True},
        model=T5,
        train={"ema": 0.95},
    ),
    "translate-transformer-bart": _run(
        "translate", "pairs", "transformer", text=PIECES, model=BART
    ),
    "translate-transformer-sounds": _run(
        "translate", "sounds", "transformer", text={"source": CHARACTERS, "target": WORDS}
    ),
    "translate-transformer-lora": _run(
        "translate",
        "pairs",
        None,
        init="translate-transformer",
        tune={"mode": "lora", "rank": 2},
    ),
    "translate-recurrent-general": _recurrent("auto", "luong", "gru"),
    "translate-recurrent-basic": _recurrent("basic", "luong", "gru", bidirectional=False),
    "translate-recurrent-dot": _recurrent("dot", "luong", "lstm", input_feeding=True),
    "translate-recurrent-scaled_dot": _recurrent("scaled_dot", "luong", "rnn"),
    "translate-recurrent-cosine": _recurrent("cosine", "luong", "gru"),
    "translate-recurrent-concat": _recurrent("concat", "bahdanau", "lstm"),
    "translate-recurrent-additive": _recurrent("auto", "bahdanau", "gru"),
    "translate-recurrent-location": _recurrent("location", "bahdanau", "rnn", max_positions=40),
    "translate-recurrent-none": _recurrent("auto", "none", "gru", layers=2),
    "translate-convolutional": _run(
        "translate",
        "pairs",
        "convolutional",
        text=WORDS,
        model={"positions": "learned", "max_positions": 40},
    ),
    "translate-unilm": _run("translate", "pairs", "unilm", text=PIECES),
    # The next token.
    "language-decoder": _run("language", "lines", "decoder", text=WORDS),
    "language-decoder-text": _run("language", "text", "decoder", text=CHARACTERS, model=GPT2),
    "language-decoder-documents": _run("language", "documents", "decoder", text={"kind": "bytes"}),
    "language-recurrent_decoder": _run(
        "language", "text", "recurrent_decoder", text=CHARACTERS, model={"cell": "lstm"}
    ),
    "language-unilm": _run("language", "lines", "unilm", text=WORDS),
    "language-markov-none": _chain(order=1, smoothing="none"),
    "language-markov-add-k": _chain(order=3, smoothing="add-k", k=0.1),
    "language-markov-kneser-ney": _chain(order=2, smoothing="kneser-ney"),
    "language-markov-skips": _chain(order=2, skips=True),
    "language-markov-selective": _chain(order=2, skips=3, selective=True),
    # Hidden words and damaged texts.
    "pretrain-masked-encoder": _pretrain("documents", "encoder", PIECES, objective="masked"),
    "pretrain-masked_next-encoder": _pretrain(
        "documents", "encoder", PIECES, objective="masked_next", model=BERT
    ),
    "pretrain-next-recurrent_encoder": _pretrain(
        "documents", "recurrent_encoder", WORDS, objective="next"
    ),
    "pretrain-masked-unilm": _pretrain("documents", "unilm", WORDS, objective="masked"),
    "pretrain-unilm-unilm": _pretrain("documents", "unilm", PIECES, objective="unilm"),
    "pretrain-bart-transformer": _pretrain("both", "transformer", WORDS, objective="bart"),
    "pretrain-bart-convolutional": _pretrain(
        "both", "convolutional", WORDS, objective="bart", infill=0.2, delete=0.1
    ),
    "pretrain-t5-transformer": _pretrain(
        "both", "transformer", WORDS, objective="t5", sentinels=8, model=T5
    ),
    "pretrain-t5-recurrent": _pretrain("both", "recurrent", WORDS, objective="t5", sentinels=8),
    # Labels.
    "classify-bag-tfidf": _bag("tfidf", 2),
    "classify-bag-counts": _bag("counts", 1),
    "classify-bag-presence": _bag("presence", 3),
    "classify-recurrent_encoder": _run(
        "classify",
        "labels",
        "recurrent_encoder",
        text=WORDS,
        model={"cell": "lstm", "pooling": "mean"},
    ),
    "classify-encoder": _run("classify", "labels", "encoder", text=CHARACTERS, model=BERT),
    "classify-encoder-pairs": _run(
        "classify",
        "couples",
        None,
        init="pretrain-masked_next-encoder",
        tune={"mode": "lora", "rank": 2, "where": "attention"},
    ),
    "classify-unilm": _run("classify", "labels", "unilm", text=WORDS),
    # Tags.
    "tag-encoder": _run("tag", "entities", "encoder", text=WORDS),
    "tag-encoder-inside": _run("tag", "inside", "encoder", text=PIECES, model=BERT),
    "tag-recurrent_encoder-plain": _run("tag", "kinds", "recurrent_encoder", text=WORDS),
    "tag-unilm": _run(
        "tag", "entities", "unilm", text={"kind": "bpe", "size": 280, "dropout": 0.1}
    ),
    # Answers.
    "answer-encoder": _run(
        "answer", "questions", "encoder", text=WORDS, model={"segments": 2, "positions": "rotary"}
    ),
    "answer-recurrent_encoder": _run("answer", "squad", "recurrent_encoder", text=WORDS),
    "answer-unilm": _run("answer", "questions", "unilm", text=WORDS, answer={"longest": 4}),
    # Values.
    "regress-encoder": _run("regress", "numbers", "encoder", text=WORDS),
    "regress-recurrent_encoder-pairs": _run("regress", "alike", "recurrent_encoder", text=WORDS),
    "regress-unilm": _run("regress", "numbers", "unilm", text=WORDS),
    # Stopped in the middle.
    "interrupted-translate": _begun(
        "translate",
        "pairs",
        "transformer",
        text=WORDS,
        model=SMALL,
        train={"ema": 0.9, "keep": 2},
    ),
    "interrupted-translate-lora": _begun(
        "translate",
        "pairs",
        None,
        init="translate-transformer",
        tune={"mode": "lora", "rank": 2},
    ),
    "interrupted-language": _begun(
        "language", "documents", "recurrent_decoder", text=CHARACTERS, model={"d_model": 8}
    ),
    "interrupted-classify": _begun("classify", "labels", "encoder", text=WORDS, model=SMALL),
    "interrupted-tag": _begun(
        "tag", "entities", "recurrent_encoder", text=WORDS, model={"d_model": 8}
    ),
    "interrupted-answer": _begun("answer", "questions", "encoder", text=WORDS, model=SMALL),
    "interrupted-regress": _begun(
        "regress", "alike", "unilm", text=WORDS, model=SMALL, train={"optimizer": "sgd"}
    ),
    "interrupted-pretrain": _begun(
        "pretrain",
        "documents",
        "encoder",
        text=PIECES,
        model=SMALL,
        pretrain={"objective": "masked_next"},
    ),
}
"""Run files by name; an `init` comes before what begins with it, and is named like a run here."""

AVERAGED = {"translate-transformer-averaged": "translate-transformer-average"}
"""Means of the checkpoints of a run, made afterwards."""

IMPORTED = {
    "imported-bert": ("bert", "documents"),
    "imported-bert-bare": ("bert-bare", None),
    "imported-bert-labels": ("bert-labels", None),
    "imported-roberta": ("roberta", "documents"),
    "imported-distilbert": ("distilbert", "documents"),
    "imported-gpt2": ("gpt2", "lines"),
    "imported-t5": ("t5", "pairs"),
    "imported-bart": ("bart", "pairs"),
    "imported-marian": ("marian", "pairs"),
}
"""The model, and the data that it is evaluated on."""
