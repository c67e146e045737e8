"""`headway export`: its output, and the names it refuses."""

import json
from pathlib import Path

import pytest

from headway.cli import main
from headway.interop.export import Exported
from headway.interop.verify import Check


@pytest.fixture
def exported(monkeypatch):
    """Replaces loading and exporting; `check` of the result is set by the test."""
    result = {"check": Check(0.000123, "logits", 18, "the test set")}

    def export(model, to, out, quantization):
        result["arguments"] = (model, to, out, quantization)
        return Exported(out, "Marian", result["check"])

    monkeypatch.setattr("headway.inference.load.load", lambda run, device, weights: (run, device))
    monkeypatch.setattr("headway.interop.export.export", export)
    return result


def test_the_layout_and_the_largest_difference(exported, capsys):
    assert main(["export", "run", "--to", "hf", "--out", "out"]) == 0
    assert capsys.readouterr() == (
        "out: Marian\nlargest difference of logits: 0.00012 (18 sentences of the test set)\n",
        "",
    )
    assert exported["arguments"] == ((Path("run"), "cpu"), "hf", Path("out"), "float32")


def test_json(exported, capsys):
    arguments = ["--to", "ctranslate2", "--quantization", "int8", "--out", "out", "--json"]
    assert main(["export", "run", *arguments]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "out": "out",
        "to": "ctranslate2",
        "layout": "Marian",
        "check": {
            "difference": 0.000123,
            "what": "logits",
            "sentences": 18,
            "origin": "the test set",
        },
    }


@pytest.mark.parametrize(("to", "package"), [("hf", "transformers"), ("ctranslate2",) * 2])
def test_an_export_without_a_check_says_so(exported, capsys, to, package):
    exported["check"] = None
    assert main(["export", "run", "--to", to, "--out", "out", "--json"]) == 0
    stdout, stderr = capsys.readouterr()
    assert json.loads(stdout)["check"] is None
    assert stderr == (
        f"the export was not checked: {package} is not installed; "
        f"pip install 'headway-attention[{to}]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "onnx"], "--to onnx: expected one of hf, ctranslate2"),
        (
            ["--to", "ctranslate2", "--quantization", "int4"],
            "--quantization int4: expected one of float32, int8, int8_float32",
        ),
    ],
)
def test_unknown_names_are_refused_before_anything_is_loaded(exported, capsys, arguments, message):
    assert main(["export", "run", *arguments, "--out", "out"]) == 2
    assert capsys.readouterr() == ("", f"headway: error: {message}\n")
    assert "arguments" not in exported
