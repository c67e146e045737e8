"""`headway score` as a user runs it."""

import json

import pytest


def test_score_agrees_with_translate(headway, trained, workdir):
    """What the search says of an output that came to its end is its forced log probability."""
    stdout = headway("translate", "run", "test.src", "--beam", "1", "--json")[1]
    best = [json.loads(line)["outputs"][0] for line in stdout.splitlines()]
    (workdir / "best.tgt").write_text("".join(f"{output['text']}\n" for output in best))
    files = ("--source", "test.src", "--target", "best.tgt")
    code, stdout, _ = headway("score", "run", *files, "--json")
    assert code == 0
    scored = [json.loads(line) for line in stdout.splitlines()]
    ended = [(s, o) for s, o in zip(scored, best, strict=True) if len(o["tokens"]) < 12]
    assert ended
    for record, output in ended:
        assert record["target"] == output["text"]
        assert record["log_prob"] == pytest.approx(output["log_prob"], abs=1e-4)
        assert record["tokens"] == [*output["tokens"], "⟨eos⟩"]
    code, stdout, _ = headway("score", "run", *files)
    assert code == 0
    for line, record in zip(stdout.splitlines(), scored, strict=True):
        log_prob, tokens = line.split("\t")
        assert float(log_prob) == pytest.approx(sum(record["token_log_probs"]), abs=1e-4)
        assert int(tokens) == len(record["tokens"])
