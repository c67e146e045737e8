"""What a page computes from its data = what attention did, for every model that attends.

The arithmetic here is that of a page: from tensors in base64, in numpy, by the names of the fields.
"""

import base64

import numpy as np
import pytest
import torch
from equivalence_cases import CASES, EOS, make_batch, words

from headway.inspection.attention import trace_forward
from headway.inspection.hypothesis import TextHypothesis
from headway.inspection.inspection import InspectedOutput, Inspection, RunSummary
from headway.models.unilm import UnilmModel
from headway.nn.capture import capture
from headway.nn.scores import SCORES, Dot, make_score

ATTENDING = [case for case in CASES if "attend" in case.abilities]
PRODUCTS = {"auto", *(name for name in SCORES if isinstance(make_score(name, 4), Dot))}
"""Scores that are products, so that a page gets queries and keys."""
attending = pytest.mark.parametrize("case", ATTENDING, ids=[case.name for case in ATTENDING])


LENGTHS = [(5, 7), (4, 4), (3, 2), (0, 0)]
"""Of source and target, to which end marks come."""


def batch_for(case, n_source, n_target):
    batch = make_batch([words(n_source, 1)], [words(n_target, 2)])
    if "step" not in case.abilities:
        return {name: batch[name] for name in ("src", "src_valid")}
    if not case.has_source:
        return {name: value for name, value in batch.items() if not name.startswith("src")}
    return batch


def inspected(case, batch):
    """The data of a page, of one output."""
    seen = trace_forward(case.build(), batch)
    parts = [part for part in seen.parts if part.kind != "encoder"]
    output = TextHypothesis(
        "", 0.0, 0.0, ["x"] * batch.get("tgt_in", batch.get("src")).size(1), [], True
    )
    encoder = [part for part in seen.parts if part.kind == "encoder"]
    one = InspectedOutput(output, [], parts, seen.inputs.get("target"))
    source = seen.inputs.get("source")
    return Inspection("", "", [], [one], RunSummary({}), "b", encoder, source)


def numbers(tensor):
    dtype = {"float32": "<f4", "float16": "<f2"}[tensor["dtype"]]
    flat = np.frombuffer(base64.b64decode(tensor["data"]), dtype)
    return flat.reshape(tensor["shape"]).astype(np.float64)


def field(data, part, name):
    found = part.get(name) or data["memory"].get(part["name"], {}).get(name)
    return None if found is None else numbers(found)


def weights_of(data, part):
    if part["form"] == "weights":
        return field(data, part, "weights")
    query, key = field(data, part, "query"), field(data, part, "key")
    scores = part["scale"] * query @ key.transpose(0, 2, 1)
    if part["causal"]:
        rows, columns = np.indices(scores.shape[1:])
        scores[:, columns > rows] = -np.inf
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def parts_of(data):
    return [*data["encoder"], *(data["outputs"][0]["attention"] or [])]


def captured(model, batch):
    """Maps by name; those of a stream of source and target are cut apart, by hand."""
    with torch.inference_mode(), capture(model) as maps:
        model(batch)
    found = {name: weights[0].numpy() for name, weights in maps.items()}
    if not isinstance(model, UnilmModel):
        return found
    S, parts = batch["src"].size(1), {}
    for name, weights in found.items():
        parts[f"{name}.encoder"] = weights[:, :S, :S]
        parts[f"{name}.cross"] = weights[:, S:, :S]
        parts[f"{name}.decoder"] = weights[:, S:, S:]
        assert not weights[:, :S, S:].any()
    return parts


@attending
def test_weights(case):
    for lengths in LENGTHS:
        batch = batch_for(case, *lengths)
        expected = captured(case.build(), batch)
        data = inspected(case, batch).to_dict()
        assert {part["name"] for part in parts_of(data)} == expected.keys()
        for part in parts_of(data):
            found = weights_of(data, part)
            assert found.shape == expected[part["name"]].shape
            assert part["heads"] == len(found)
            np.testing.assert_allclose(found, expected[part["name"]], atol=1e-5)


@attending
def test_a_product_is_sent_as_queries_and_keys(case):
    score = case.settings.get("score", "auto")
    is_additive = score == "auto" and case.settings.get("attention") == "bahdanau"
    expected = "dot" if score in PRODUCTS and not is_additive else "weights"
    is_biased = case.settings.get("positions") == "relative"
    data = inspected(case, batch_for(case, 5, 7)).to_dict()
    for part in parts_of(data):
        is_own = part["kind"] != "cross"  # relative positions are of words of one sequence
        is_share = case.family == "unilm" and part["kind"] != "encoder"  # of a larger softmax
        is_masked = case.is_padded and part["kind"] != "decoder"
        is_plain = not (is_own and is_biased) and not is_share and not is_masked
        assert part["form"] == (expected if is_plain else "weights")


@attending
def test_what_all_heads_add_is_what_the_module_puts_out(case):
    model, batch = case.build(), batch_for(case, 5, 7)
    added = {}
    for name, module in model.named_modules():
        if name.endswith(".out"):
            module.register_forward_hook(
                lambda _, __, found, name=name: added.update({name: found[0].numpy()})
            )
    captured(model, batch)
    data = inspected(case, batch).to_dict()
    if case.family == "unilm":
        added = added_in_stream(added, data, batch["src"].size(1))
    for part in parts_of(data):
        out = field(data, part, "out")
        if case.family == "recurrent":
            assert out is None
            continue
        value, weights = field(data, part, "value"), weights_of(data, part)
        width = value.shape[2]
        found = sum(
            (weights[head] @ value[head]) @ out[:, head * width : (head + 1) * width].T
            for head in range(part["heads"])
        )
        bias = field(data, part, "bias")
        assert (bias is None) == (case.settings.get("bias") is False)
        found = found if bias is None else found + bias
        np.testing.assert_allclose(found, added[f"{part['name']}.out"], atol=1e-5)


def added_in_stream(added, data, n_source):
    """What each part adds, of what a stream adds in all: the rest is what the other parts add."""
    found = {}
    for name, total in added.items():
        owner = name.removesuffix(".out")
        parts = {part["kind"]: part for part in parts_of(data) if owner in part["name"]}
        found[f"{owner}.encoder.out"] = total[:n_source]
        for one, other in (("cross", "decoder"), ("decoder", "cross")):
            value, out = (field(data, parts[other], part) for part in ("value", "out"))
            weights = weights_of(data, parts[other])
            heads = np.concatenate([w @ v for w, v in zip(weights, value, strict=True)], axis=1)
            found[f"{owner}.{one}.out"] = total[n_source:] - heads @ out.T
    return found


@attending
def test_embedding_and_position_are_what_the_first_layer_reads(case):
    if case.family == "recurrent":
        return
    model, batch = case.build(), batch_for(case, 5, 7)
    read = {}
    for name, module in model.named_modules():
        if name.split(".")[-1] in ("positions", "target_positions", "source_positions"):
            module.register_forward_hook(
                lambda _, __, found, name=name: read.update({name: found[0].numpy()})
            )
    captured(model, batch)
    data = inspected(case, batch).to_dict()
    given = [data["inputs"], data["outputs"][0]["inputs"]]
    found = [
        numbers(one["embedding"]) + (numbers(one["position"]) if one["position"] else 0.0)
        for one in given
        if one
    ]
    if case.family == "unilm":
        found = [np.concatenate(found)]
    assert len(found) == len(read) > 0
    for expected in read.values():
        assert any(
            one.shape == expected.squeeze().shape and np.allclose(one, expected, atol=1e-5)
            for one in found
        )


@attending
def test_half_precision_is_close(case):
    batch = batch_for(case, 5, 7)
    inspection = inspected(case, batch)
    full, half = inspection.to_dict(), inspection.to_dict(limit=len(inspection.to_json()) - 1)
    assert (full["precision"], half["precision"]) == ("full", "half")
    for before, after in zip(parts_of(full), parts_of(half), strict=True):
        np.testing.assert_allclose(weights_of(half, after), weights_of(full, before), atol=5e-3)


def test_the_words_at_the_top_are_those_of_the_forced_pass():
    case = CASES[0]
    model, batch = case.build(), batch_for(case, 5, 7)
    with torch.inference_mode():
        expected = model.output(model(batch))[0].log_softmax(-1).numpy()
    np.testing.assert_allclose(trace_forward(model, batch).log_probs, expected, atol=1e-5)
    assert batch["tgt_out"][0, -1] == EOS
