"""Inspections of models that do not exist: random tensors, a real search over made-up words."""

import base64
import math

import numpy as np

END = "</s>"
DATE = (["3.", "März", "2021,", "Mittwoch"], ["2021", "-", "03", "-", "03"])
ARABIC = (["٣", "مارس", "٢٠٢١", "،", "الأربعاء"], ["水曜日", "二〇二一年", "三月", "三日"])
CAT = (["The", "cat", "sat", "on", "the", "mat"], ["Кот", "сел", "на", "коврик"])


def pack(array, dtype="float32"):
    array = np.ascontiguousarray(array, dtype="<f2" if dtype == "float16" else "<f4")
    data = base64.b64encode(array.tobytes()).decode()
    return {"shape": list(array.shape), "dtype": dtype, "data": data}


def unpack(tensor):
    dtype = "<f2" if tensor["dtype"] == "float16" else "<f4"
    flat = np.frombuffer(base64.b64decode(tensor["data"]), dtype)
    return flat.reshape(tensor["shape"]).astype(np.float64)


def weights_of(part, memory=None):
    """What the page must show of a part: (H, R, C)."""
    part = {**(memory or {}), **part}
    if part["form"] == "weights":
        return unpack(part["weights"])
    scores = part["scale"] * unpack(part["query"]) @ unpack(part["key"]).swapaxes(1, 2)
    if part["causal"]:
        scores[:, ~np.tri(*scores.shape[1:], dtype=bool)] = -math.inf
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def codes(n, width, base=10000.0):
    """Sinusoidal positions."""
    angle = np.arange(n)[:, None] / base ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, width)


def long_words(n, seed=0):
    draw = np.random.default_rng(seed)
    parts = ["ta", "ri", "mo", "sel", "ek", "ung", "ver", "lo", "水", "مر"]
    return ["".join(draw.choice(parts, draw.integers(1, 4))) for _ in range(n)]


class Maker:
    """The parts of one inspection, from a seed."""

    def __init__(self, layers, heads, width, dtype, seed):
        self.draw = np.random.default_rng(seed)
        self.layers, self.heads, self.width, self.dtype = layers, heads, width, dtype
        self.inner = width // heads

    def pack(self, array):
        return pack(array, self.dtype)

    def vectors(self, n):
        """(H, n, E): a bit of noise and a bit of place, so that maps have a shape."""
        noise = self.draw.normal(size=(self.heads, n, self.inner))
        turn = self.draw.normal(size=(self.heads, 1, 1)) + 1.5
        return noise + 2.2 * turn * codes(n, self.inner, 60.0)[None]

    def part(self, kind, layer, rows, columns, causal=False):
        scale = self.inner**-0.5
        return {
            "name": f"{'encoder' if kind == 'encoder' else 'decoder'}.{layer}."
            f"{'cross' if kind == 'cross' else 'attention'}",
            "kind": kind,
            "layer": layer,
            "heads": self.heads,
            "rows": "source" if kind == "encoder" else "target",
            "columns": "target" if kind == "decoder" else "source",
            "causal": causal,
            "form": "dot",
            "scale": scale,
            "query": self.pack(self.vectors(rows)),
            "key": self.pack(self.vectors(columns)),
            "value": self.pack(self.draw.normal(size=(self.heads, columns, self.inner))),
            "out": self.pack(self.draw.normal(size=(self.width, self.width)) * 0.1),
            "bias": self.pack(self.draw.normal(size=self.width) * 0.05),
        }

    def weights_part(self, rows, columns):
        raw = np.exp(2.5 * self.draw.normal(size=(1, rows, columns)))
        return {
            "name": "decoder.attention",
            "kind": "cross",
            "layer": 0,
            "heads": 1,
            "rows": "target",
            "columns": "source",
            "causal": False,
            "form": "weights",
            "weights": self.pack(raw / raw.sum(-1, keepdims=True)),
            "value": None,
            "out": None,
            "bias": None,
        }

    def inputs(self, n):
        embedding = self.draw.normal(size=(n, self.width))
        return {
            "embedding": self.pack(embedding),
            "position": self.pack(codes(n, self.width)),
        }


def search(target, beam, alpha, n_best, seed):
    """A beam search with a model that likes `target`: trace and outputs of an inspection."""
    vocabulary = [*dict.fromkeys([*target, "der", "ein", "und", "mit", "auf", "水", "في"]), END]
    wanted = [*target, END]

    def log_probs(prefix):
        draw = np.random.default_rng([seed, len(prefix), sum(map(len, prefix))])
        logits = draw.normal(size=len(vocabulary))
        if len(prefix) < len(wanted):
            logits[vocabulary.index(wanted[len(prefix)])] += 5.0
        if len(prefix) > len(wanted):
            logits[-1] += 8.0
        return logits - np.log(np.exp(logits).sum())

    kept, steps, ended = [((), 0.0, ())], [], []
    for length in range(1, len(wanted) + 4):
        table = [
            (total + step, parent, word, step)
            for parent, (prefix, total, _) in enumerate(kept)
            for word, step in zip(vocabulary, log_probs(prefix), strict=True)
        ]
        best = sorted(table, key=lambda c: -c[0])[: 2 * beam]
        step = {k: [] for k in ("parent", "token", "log_prob", "token_log_prob", "score", "fate")}
        following = []
        for rank, (total, parent, word, share) in enumerate(best):
            prefix, _, shares = kept[parent]
            fate = "pruned"
            if word == END and rank < beam:
                fate = "ended"
                ended.append(((*prefix, word), total, (*shares, share)))
            elif word != END and len(following) < beam:
                fate = "kept"
                following.append(((*prefix, word), total, (*shares, share)))
            score = total / length**alpha
            values = (parent, vocabulary.index(word), total, share, score, fate)
            for key, value in zip(step, values, strict=True):
                step[key].append(round(value, 4) if isinstance(value, float) else value)
        steps.append(step | {"text": [c[2] for c in best]})
        kept = following
        if len(ended) >= beam:
            break
    ended.sort(key=lambda end: -end[1] / len(end[0]) ** alpha)
    outputs = [
        {
            "text": " ".join(tokens[:-1]),
            "tokens": list(tokens),
            "log_prob": float(total),
            "score": float(total / len(tokens) ** alpha),
            "token_log_probs": [float(share) for share in shares],
            "finished": True,
            "unmet": [],
            "top": [alternatives(log_probs(tokens[:t]), vocabulary) for t in range(len(tokens))],
        }
        for tokens, total, shares in ended[:n_best]
    ]
    return {"beam": beam, "alpha": alpha, "steps": steps}, outputs


def alternatives(log_probs, vocabulary):
    best = np.argsort(-log_probs)[:5]
    return [[vocabulary[i], float(np.exp(log_probs[i]))] for i in best]


def training_rows(n=600):
    draw = np.random.default_rng(0)
    rows = [{"step": 0, "notes": {"Data": ["600 examples"]}}]
    for step in range(10, n + 1, 10):
        row = {
            "step": step,
            "minutes": step / n * 2.7,
            "loss": 0.12 + 3.4 * math.exp(-step / 90) + float(draw.random()) * 0.08,
            "lr": 2e-3 * min(step / 60, math.sqrt(60 / step)),
            "tokens_per_second": 11800 + float(draw.normal()) * 350,
            "norm": 0.5,
        }
        rows.append(row)
        if step % 100 == 0:
            right = step >= 400
            rows.append(
                {
                    "step": step,
                    "minutes": step / n * 2.7,
                    "valid_loss": 0.1 + 3.1 * math.exp(-step / 85),
                    "exact": 100 * (1 - math.exp(-step / 105)),
                    "samples": [
                        ["14 січня 2016", "2016-01-14" if right else "2000-06-16", "2016-01-14"],
                        ["24 בדצמבר 1978", "1978-12-24", "1978-12-24"],
                        ["'37 június 11", "2037-01-11", "2037-06-11"],
                    ],
                }
            )
    return rows


def inspection(
    pair=DATE,
    family="transformer",
    layers=3,
    heads=4,
    width=32,
    beam=5,
    n_best=5,
    dtype="float32",
    name="dates",
    seed=1,
):
    """One inspection of a family: transformer, gru, plain (without attention), language, labels."""
    maker = Maker(layers, heads, width, dtype, seed)
    source, target = pair
    read = [*source, END]
    trace, outputs = search(target, beam, 1.0, n_best, seed)
    made = {
        "format": 1,
        "precision": "half" if dtype == "float16" else "full",
        "run": {
            "name": name,
            "family": family,
            "parameters": 509824,
            "facts": [["Task", "translate"], ["Vocabulary", "341 and 15"], ["Seed", "1"]],
        },
        "kind": "translate",
        "begin": "⟨bos⟩",
        "limit": 8_000_000,
        "left_out": [],
        "source": {"text": " ".join(source), "tokens": read},
        "search": {"beam": beam, "alpha": 1.0, "n_best": n_best},
        "outputs": outputs,
        "encoder": [],
        "memory": {},
        "inputs": None,
        "trace": trace,
        "positions": None,
        "training": {"rows": training_rows()},
    }
    fill = {"transformer": transformer, "gru": gru, "language": language, "labels": labels}
    fill.get(family, plain)(made, maker)
    return made


def transformer(made, maker):
    n = len(made["source"]["tokens"])
    layers = range(maker.layers)
    made["encoder"] = [maker.part("encoder", layer, n, n) for layer in layers]
    for layer in layers:
        part = maker.part("cross", layer, 1, n)
        made["memory"][part["name"]] = {key: part[key] for key in ("key", "value", "out", "bias")}
    for output in made["outputs"]:
        length = len(output["tokens"])
        output["attention"] = [maker.part("decoder", i, length, length, True) for i in layers]
        for layer in layers:
            part = maker.part("cross", layer, length, n)
            for key in ("key", "value", "out", "bias"):
                del part[key]
            output["attention"].append(part)
        output["inputs"] = maker.inputs(length)
    made["inputs"] = maker.inputs(n)
    made["positions"] = {
        "kind": "sinusoidal",
        "base": 10000.0,
        "table": maker.pack(codes(64, maker.width)),
    }


def gru(made, maker):
    n = len(made["source"]["tokens"])
    for output in made["outputs"]:
        output["attention"] = [maker.weights_part(len(output["tokens"]), n)]
        output["inputs"] = None


def plain(made, maker):
    for output in made["outputs"]:
        output["attention"] = []
        output["inputs"] = None


def language(made, maker):
    made.update(kind="language", source=None, search=None, trace=None)
    del made["outputs"][1:]
    for output in made["outputs"]:
        length = len(output["tokens"])
        output["attention"] = [
            maker.part("decoder", i, length, length, True) for i in range(maker.layers)
        ]
        output["inputs"] = maker.inputs(length)


def labels(made, maker):
    n = len(made["source"]["tokens"])
    made["encoder"] = [maker.part("encoder", layer, n, n) for layer in range(maker.layers)]
    made["inputs"] = maker.inputs(n)
    made.update(kind="classify", search=None, trace=None)
    shares = [("date", 0.91), ("number", 0.07), ("other", 0.02)]
    made["outputs"] = [
        {
            "text": label,
            "log_prob": math.log(p),
            "score": p,
            "finished": True,
            "unmet": [],
            "inputs": None,
            **{key: [] for key in ("tokens", "token_log_probs", "top", "attention")},
        }
        for label, p in shares
    ]


def long_inspection(n=512, layers=3, heads=4, width=256):
    """As long as inputs get: one output of n tokens from n tokens, in half precision."""
    made = inspection(
        (long_words(n - 1), ["x"]), "plain", layers, heads, width, dtype="float16", name="long"
    )
    maker = Maker(layers, heads, width, "float16", 2)
    tokens = [*long_words(n - 1, 1), END]
    draw = np.random.default_rng(3)
    logs = np.log(draw.uniform(0.3, 1.0, n))
    made["outputs"] = [
        {
            "text": " ".join(tokens[:-1]),
            "tokens": tokens,
            "log_prob": float(logs.sum()),
            "score": float(logs.mean()),
            "token_log_probs": logs.tolist(),
            "finished": True,
            "unmet": [],
            "top": [[[word, 0.6], ["or", 0.1], ["else", 0.05]] for word in tokens],
        }
    ]
    transformer(made, maker)
    made["trace"] = search(long_words(99, 4), 10, 1.0, 10, 5)[0]
    made["search"] = {"beam": 10, "alpha": 1.0, "n_best": 10}
    return made
