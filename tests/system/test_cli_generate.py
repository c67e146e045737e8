"""`headway generate` as a user runs it: what is printed, when, and what is refused."""

import io
import json
import sys
from itertools import pairwise

import pytest
from cli_workdir import commands_in

from headway.cli import main

BOOK = "the cat sat on the mat\na dog saw the cat\n" * 20
RUN_FILE = """
task = "language"
data.train = {{ file = "book.txt", format = "text" }}
data.block = 16
data.max_length = 16
text.kind = "{kind}"
search.max_length = 16
[model]
{model}
"""
MODELS = {
    "chain": ("characters", 'family = "markov"\norder = 3'),
    "bytes": ("bytes", 'family = "markov"\norder = 2'),
    "decoder": (
        "characters",
        'family = "decoder"\nd_model = 8\nd_ff = 8\nn_heads = 2\nlayers = 1\n'
        'positions = "learned"\nmax_positions = 16\n[train]\nsteps = 2',
    ),
}


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generate")
    (folder / "book.txt").write_text(BOOK + "日本 🎉\n" * 5, "utf-8")
    (folder / "prompt.txt").write_text("a dog\nsaw\n", "utf-8")
    (folder / "prompts.txt").write_text("the cat\n\na dog\n", "utf-8")
    with commands_in(folder):
        for name, (kind, model) in MODELS.items():
            (folder / f"{name}.toml").write_text(RUN_FILE.format(kind=kind, model=model), "utf-8")
            assert main(["train", f"{name}.toml", "--out", name]) == 0
        yield folder


def test_a_text_is_gone_on_with(headway):
    code, stdout, stderr = headway("generate", "chain", "the c")
    assert (code, stderr) == (0, "")
    assert stdout.startswith("the c")
    assert stdout.endswith("\n")
    assert len(stdout) == len("the c") + 16 + 1
    assert headway("generate", "chain", "the c")[1] == stdout
    assert headway("generate", "chain", "the c", "--seed", "2")[1] != stdout


def test_the_prompt_may_be_empty_or_come_from_elsewhere(headway):
    assert headway("generate", "chain")[0] == 0
    code, from_file, _ = headway("generate", "chain", "--file", "prompt.txt")
    assert code == 0
    assert from_file.startswith("a dog\nsaw")
    assert headway("generate", "chain", "a dog\nsaw")[1] == from_file
    assert headway("generate", "chain", "--file", "-", typed="a dog\nsaw\n")[1] == from_file


def test_greedy_is_a_beam_of_one(headway):
    code, stdout, _ = headway("generate", "chain", "a do", "--beam", "1", "--max-length", "3")
    assert code == 0
    assert stdout == "a dog s\n"


class Screen(io.StringIO):
    """What was on the screen at each moment that it was brought up to date."""

    def __init__(self):
        super().__init__()
        self.moments = []

    def flush(self):
        self.moments.append(self.getvalue())


def test_one_output_is_shown_as_it_grows_in_whole_characters(workdir, monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    assert main(["generate", "bytes", "日本", "--temperature", "1.5", "--max-length", "40"]) == 0
    moments = list(dict.fromkeys(screen.moments))
    assert len(moments) > 10
    assert moments[0] == "日本"
    for before, after in pairwise(moments):
        assert after.startswith(before)
    [record] = [json.loads(line) for line in generated_json()]
    assert moments[-1].rstrip("\n") == "日本" + record["outputs"][0]["text"].rstrip("\n")


def generated_json():
    screen = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        options = ("--temperature", "1.5", "--max-length", "40", "--json")
        assert main(["generate", "bytes", "日本", *options]) == 0
    return screen.getvalue().splitlines()


def test_several_outputs_stand_under_lines_of_their_own(headway):
    code, stdout, _ = headway("generate", "chain", "the", "--nbest", "3", "--temperature", "1")
    assert code == 0
    heads = [line for line in stdout.splitlines() if line.startswith("---")]
    assert [head.split(",")[0] for head in heads] == ["--- 1 of 3", "--- 2 of 3", "--- 3 of 3"]
    scores = [float(head.split()[-1]) for head in heads]
    assert scores == sorted(scores, reverse=True)


def test_lines_are_prompts(headway):
    code, stdout, _ = headway("generate", "chain", "--file", "prompts.txt", "--lines")
    assert code == 0
    lines = stdout.splitlines()
    assert len(lines) == 3
    assert (lines[0][:7], lines[2][:5]) == ("the cat", "a dog")
    code, stdout, _ = headway(
        "generate", "chain", "--file", "prompts.txt", "--lines", "--beam", "4", "--nbest", "2"
    )
    assert code == 0
    assert [line.split(" ||| ")[0] for line in stdout.splitlines()] == [
        "0",
        "0",
        "1",
        "1",
        "2",
        "2",
    ]


def test_for_scripts(headway):
    options = ("--nbest", "2", "--json")
    code, stdout, _ = headway("generate", "chain", "--file", "prompts.txt", "--lines", *options)
    assert code == 0
    records = [json.loads(line) for line in stdout.splitlines()]
    assert [record["prompt"] for record in records] == ["the cat", "", "a dog"]
    for record in records:
        for output in record["outputs"]:
            assert list(output) == [
                "text",
                "log_prob",
                "score",
                "tokens",
                "token_log_probs",
                "finished",
            ]
            assert output["log_prob"] == pytest.approx(sum(output["token_log_probs"]), abs=1e-4)


def test_models_are_put_together(headway):
    assert headway("generate", "chain", "the", "--with", "decoder", "--max-length", "30")[0] == 0


def test_unknown_characters_are_warned_of(headway):
    code, stdout, stderr = headway("generate", "chain", "ÄÖ cat")
    assert code == 0
    assert stdout.startswith("ÄÖ cat")
    assert stderr == (
        "headway: warning: the prompt: 2 tokens unknown to the tokenizer, which the model cannot "
        "distinguish\n"
    )


def test_a_prompt_that_is_too_long(fails, headway):
    prompt = "the cat sat on the mat"
    assert fails(1, "generate", "decoder", prompt) == (
        "the prompt has 22 tokens and the model can look back at 15 of them at most; "
        "shorten it, or continue its end alone (--cut)"
    )
    code, stdout, _ = headway("generate", "decoder", prompt, "--cut", "--max-length", "50")
    assert code == 0
    assert stdout.startswith(prompt)
    assert headway("generate", "chain", prompt)[0] == 0


def test_what_is_refused(fails, workdir):
    assert fails(2, "generate", "chain", "a", "--file", "prompt.txt") == (
        "PROMPT and --file both set the prompt; leave one of them out"
    )
    assert fails(2, "generate", "chain", "--lines") == (
        "--lines needs a file; add --file FILE, or --file - to type"
    )
    assert fails(1, "generate", "chain", "--file", "missing.txt").startswith(
        "cannot read missing.txt: No such file"
    )
    assert 'top_k=3 has no meaning with method="beam"' in fails(
        2, "generate", "chain", "a", "--beam", "2", "--top-k", "3"
    )
    assert fails(2, "generate", "chain", "a", "--search", "min_ratio=1.0").startswith(
        "search.min_ratio depends on a source"
    )
    assert "temperature" in fails(2, "generate", "chain", "a", "--temperature", "0")
    (workdir / "pairs.tsv").write_text("a b\tc d\n" * 4, "utf-8")
    (workdir / "pairs.toml").write_text(
        'data.train = "pairs.tsv"\ntext.kind = "words"\ntrain.steps = 1\nmodel.d_model = 8\n'
        "model.n_heads = 2\n",
        "utf-8",
    )
    assert main(["train", "pairs.toml", "--out", "pairs"]) == 0
    assert fails(2, "generate", "pairs", "a").startswith(
        "headway generate has no use for pairs, which was trained for task 'translate'; try "
    )
