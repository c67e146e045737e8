"""The commands as a user runs them: output, messages and exit codes.

Whole processes where the process matters (streams, signals, start-up time); the rest goes through
`main`, which is what the process calls, so that torch is imported once.
"""

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_place import commands_in

from headway.cli import main

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
VERBS = ("demo", "train", "resume", "translate", "evaluate", "score", "search-report", "info")
VERBS += ("compare", "config", "average", "export", "generate", "fill", "embed")
RUN_FILE = """
[data]
train = { source = "train.src", target = "train.tgt" }
valid = { source = "valid.src", target = "valid.tgt" }
test = { source = "test.src", target = "test.tgt" }
max_length = 24

[text]
kind = "words"

[model]
d_model = 16
d_ff = 16
n_heads = 2
encoder_layers = 1
decoder_layers = 1

[train]
steps = 40
evaluate_every = 16
lr = 0.01

[search]
max_length = 12
"""


def write_pairs(folder: Path, name: str, n: int, first: int = 0) -> None:
    """Numbers in words and the same backwards, all different."""
    rows = [[WORDS[i % 9], WORDS[i // 9 % 9], WORDS[i // 81 % 9]] for i in range(first, first + n)]
    (folder / f"{name}.src").write_text("".join(f"{' '.join(row)}\n" for row in rows))
    (folder / f"{name}.tgt").write_text("".join(f"{' '.join(row[::-1])}\n" for row in rows))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data and a run file, where the commands are given."""
    folder = tmp_path_factory.mktemp("place")
    write_pairs(folder, "train", 60)
    write_pairs(folder, "valid", 8, first=100)
    write_pairs(folder, "test", 8, first=200)
    (folder / "run.toml").write_text(RUN_FILE)
    with commands_in(folder):
        yield folder


def start(*arguments: str, **options) -> subprocess.Popen:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "headway", *arguments]
    return subprocess.Popen(command, text=True, **{**pipes, **options})


@pytest.fixture(scope="module")
def trained(place):
    """What `headway train` said, in a process of its own; its run is `run`."""
    process = start("train", "run.toml", "--out", "run", cwd=place)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    return stdout, stderr


# Starting


def test_help_is_quick_and_light(place):
    code = (
        "import sys; from headway.cli import main; main(['--help']);"
        "print(*{'torch', 'numpy', 'sacrebleu', 'tokenizers', 'rich'} & set(sys.modules))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert out.splitlines()[-1] == "", "heavy packages were imported"
    assert "Usage: headway" in out
    # Of computing, not of waiting for a busy machine; about 0.4.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


def test_without_arguments_there_is_help(headway):
    code, stdout, _ = headway()
    assert code == 0
    assert stdout == headway("--help")[1]
    for verb in VERBS:
        assert re.search(rf"^  {verb} +\w", stdout, re.MULTILINE)
    assert "..." not in stdout.partition("Commands:")[2], "a summary is cut off"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(headway, verb):
    code, stdout, _ = headway(verb, "--help")
    assert code == 0
    assert f"  Example: headway {verb} " in stdout
    assert "--json" in stdout


def test_version(headway):
    assert headway("--version")[:2] == (0, "headway 0.1.0\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian'"),
        (["train", "run.toml"], "Missing option '--out'; see headway train --help"),
        (["train", "--out", "x"], "Missing argument 'RUN.toml'; see headway train --help"),
        (["info", "run", "--jsno"], "No such option: --jsno"),
        (["translate", "run", "--beam", "many"], "--beam"),
        (["average", "run", "--last", "0", "--out", "x"], "--last"),
    ],
)
def test_wrong_usage(fails, arguments, message):
    assert message in fails(2, *arguments)


# Training


def test_train_says_where_the_run_is_and_what_to_type_next(trained, place):
    stdout, stderr = trained
    assert re.search(r"^run: +run \(40 updates", stdout, re.MULTILINE)
    assert re.search(
        r"^best: +bleu [0-9.]+ on validation, at step (16|32|40)$", stdout, re.MULTILINE
    )
    assert "headway translate run" in stdout
    assert "headway evaluate run" in stdout
    assert "headway resume" not in stdout
    assert "step 40/40" in stderr
    assert "60 examples" in stderr
    page = re.search(r"^report: +(.+)$", stdout, re.MULTILINE)[1]
    assert (place / page).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_train_and_resume_in_json(headway, trained):
    code, stdout, _ = headway("resume", "run", "--inexact", "--json")
    assert code == 0
    result = json.loads(stdout)
    assert result["run"] == "run"
    assert result["steps"]["done"] == result["steps"]["planned"] == 40
    assert result["steps"]["finished"] is True
    assert Path(result["report"]).is_file()


def test_interrupted_training_says_how_to_go_on(place):
    process = start("train", "run.toml", "train.steps=100000", "--out", "stopped", cwd=place)
    seen = []
    for line in process.stderr:
        seen.append(line)
        if "validation:" in line:
            break
    process.send_signal(signal.SIGINT)
    stdout, rest = process.communicate(timeout=300)
    assert process.returncode == 130, "".join(seen) + rest
    assert stdout == ""
    found = re.search(r"^headway: error: stopped at step (\d+) of 100000, saved; ", rest, re.M)
    assert rest.splitlines()[-1].endswith("go on with: headway resume stopped")
    assert "Traceback" not in rest
    process = start("resume", "stopped", cwd=place)
    for line in process.stderr:
        if line.startswith("going on"):
            break
    assert line == f"going on after step {found[1]} of 100000\n"
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=300)
    assert process.returncode == 143
    assert "headway resume stopped" in rest.splitlines()[-1]


def test_interrupted_before_the_first_update(headway, place, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.tasks.translate.learn_codecs", stopped)
    code, _, stderr = headway("train", "run.toml", "--out", "early")
    assert code == 130
    assert stderr.splitlines()[-1].endswith("error: stopped; go on with: headway resume early")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.learning_rat=1", "unknown key train.learning_rat"),
        ("trian.lr=1", "unknown key trian; did you mean train?"),
        ("model.n_heads=3", "d_model=16 is not divisible by n_heads=3; try n_heads=4"),
        ("train.lr", "'train.lr' has no '='"),
        ("train.metric=blue", "train.metric = 'blue': expected one of auto, loss, bleu"),
    ],
)
def test_wrong_settings(fails, override, message):
    assert message in fails(2, "train", "run.toml", override, "--out", "never")
    assert not Path("never").exists()


def test_a_typo_in_the_run_file_is_named(fails, tmp_path):
    file = tmp_path / "typo.toml"
    file.write_text(RUN_FILE.replace("n_heads", "n_haeds"))
    message = fails(2, "train", str(file), "--out", "never")
    assert message == f"{file}: unknown key model.n_haeds; did you mean model.n_heads?"


def test_all_mistakes_are_said_at_once(headway):
    code, _, stderr = headway("config", "run.toml", "train.lr=fast", "model.d_modle=3")
    assert code == 2
    assert [line[:16] for line in stderr.splitlines()] == ["headway: error: "] * 2


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ('data.train.source="trian.src"', "trian.src; did you mean train.src?"),
        ("text={kind='bpe', size=5000}", "size=5000"),
    ],
)
def test_data_that_do_not_fit(fails, tmp_path, override, message):
    out = str(tmp_path / "out")
    code = 2 if "size" in override else 1
    assert message in fails(code, "train", "run.toml", override, "--out", out)


def test_a_line_too_many(fails, place, tmp_path):
    (place / "longer.tgt").write_text((place / "train.tgt").read_text() + "one\n")
    message = fails(
        1, "train", "run.toml", 'data.train.target="longer.tgt"', "--out", str(tmp_path / "out")
    )
    assert message.startswith("train.src ends after line 60 while longer.tgt goes on; ")


def test_places_that_are_taken(fails, trained, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    message = fails(1, "train", "run.toml", "--out", str(tmp_path))
    assert message == f"{tmp_path} is not empty (it holds notes.txt); choose another --out"
    message = fails(1, "train", "run.toml", "--out", "run")
    assert message.startswith("run already holds a run; continue it with `headway resume run`")


@pytest.mark.parametrize("verb", ["resume", "translate", "evaluate", "score", "info"])
def test_directories_that_are_no_run(fails, tmp_path, verb):
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not a run directory (it has no headway.json)" in fails(1, verb, str(tmp_path))
    assert "does not exist" in fails(1, verb, str(tmp_path / "absent"))


# Using


@pytest.fixture(scope="module")
def inputs(place):
    """A file with a blank line, no end after its last one, and lengths out of order."""
    file = place / "inputs.txt"
    file.write_text("one two three four five six\n\nnine\nseven eight")
    return file


def test_translate_keeps_order_and_blank_lines(headway, trained, inputs):
    code, stdout, stderr = headway("translate", "run", str(inputs), "--beam", "2")
    assert (code, stderr) == (0, "")
    lines = stdout.removesuffix("\n").split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    _, alone, _ = headway("translate", "run", str(inputs), str(inputs), "--beam", "2")
    assert alone == stdout * 2


def test_translate_reads_standard_input(trained, place, inputs):
    expected = start("translate", "run", str(inputs), cwd=place)
    with open(inputs) as stream:
        got = start("translate", "run", "--threads", "1", stdin=stream, cwd=place)
    assert got.communicate(timeout=300)[0] == expected.communicate(timeout=300)[0] != ""


def test_translate_in_json(headway, trained, inputs):
    code, stdout, _ = headway("translate", "run", str(inputs), "--beam", "3", "--json")
    assert code == 0
    records = [json.loads(line) for line in stdout.splitlines()]
    assert [record["source"] for record in records] == inputs.read_text().split("\n")
    for record in records:
        assert set(record) == {"source", "outputs"}
        [best] = record["outputs"]
        assert {"text", "log_prob", "score", "tokens"} <= set(best)
        n_ends = best["finished"] if best["text"] else 0  # a blank line is not searched
        assert len(best["token_log_probs"]) == len(best["tokens"]) + n_ends
    assert records[1]["outputs"][0]["text"] == ""


def test_n_best_lists(headway, trained, inputs):
    options = ("--beam", "3", "--nbest", "2")
    code, stdout, _ = headway("translate", "run", str(inputs), *options)
    assert code == 0
    rows = [line.split(" ||| ") for line in stdout.splitlines()]
    # A blank line has one output, itself.
    assert [row[0] for row in rows] == ["0", "0", "1", "2", "2", "3", "3"]
    assert all(len(row) == 3 for row in rows)
    assert float(rows[0][2]) >= float(rows[1][2])


def test_long_input_is_taken_in_chunks(headway, trained, inputs, monkeypatch):
    whole = headway("translate", "run", str(inputs), "--beam", "1")[1]
    monkeypatch.setattr("headway.cli.translate.CHUNK_LINES", 2)
    assert headway("translate", "run", str(inputs), "--beam", "1")[1] == whole
    file = inputs.with_name("long.txt")
    file.write_text("one\ntwo\n" + "three " * 40 + "\n")
    code, stdout, stderr = headway("translate", "run", str(file), "--beam", "1")
    assert code == 1
    assert len(stdout.splitlines()) == 2, "the lines before are translated"
    assert re.search(
        rf"^headway: error: {file}:3 has \d+ tokens and the model was trained with at most 24; "
        r"shorten it, or split long lines \(--split\)$",
        stderr,
    )
    code, stdout, _ = headway("translate", "run", str(file), "--beam", "1", "--split")
    assert (code, len(stdout.splitlines())) == (0, 3)


def test_line_breaks_inside_an_output_do_not_break_the_order():
    from headway.cli.translate import one_line

    assert one_line("a\r\nb\u2028c") == "a  b\u2028c"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--beam", "0"), "search: beam = 0: expected a whole number of at least 1"),
        (("--alpha", "nan"), "search: alpha = nan: expected a number"),
        (("--beam", "2", "--nbest", "3"), "search: n_best=3 does not fit beam=2"),
        (("--max-length", "0"), "search: max_length = 0: expected"),
    ],
)
def test_wrong_search_settings(fails, trained, options, message):
    assert fails(2, "translate", "run", "test.src", *options).startswith(message)


def test_missing_and_damaged_input(fails, trained, place):
    assert "cannot read absent.txt" in fails(1, "translate", "run", "absent.txt")
    (place / "latin.txt").write_bytes("naïve\n".encode("latin-1"))
    assert fails(1, "translate", "run", "latin.txt").startswith("latin.txt:1: not UTF-8")


def test_evaluate_prints_a_table(headway, trained, place):
    code, stdout, _ = headway("evaluate", "run", "--beam", "1", "--outputs", "outputs.txt")
    assert code == 0
    lines = stdout.splitlines()
    assert lines[0].split() == ["metric", "value", "95%", "interval", "signature"]
    assert [line.split()[0] for line in lines[1:5]] == ["BLEU", "chrF", "TER", "exact"]
    assert "tok:13a" in lines[1]
    assert lines[6].startswith("8 lines, beam 1, alpha 1; weights: best by bleu, step ")
    assert re.fullmatch(r"strange outputs: repetition \d, empty \d, copied \d, length \d", lines[7])
    assert len((place / "outputs.txt").read_text().splitlines()) == 8


def test_evaluate_in_json_on_other_data(headway, trained, place):
    sources, targets = ((place / f"test.{end}").read_text().split("\n") for end in ("src", "tgt"))
    rows = zip(sources[:-1], targets[:-1], strict=True)
    (place / "test.tsv").write_text("".join(f"{a}\tx\t{b}\n" for a, b in rows))
    options = ("--beam", "1", "--metric", "chrf", "--json")
    files = ("--source", "test.src", "--target", "test.tgt")
    table = ("--data", "test.tsv", "--source", "1", "--target", "-1")
    own, from_files, from_table = (
        json.loads(headway("evaluate", "run", *data, *options)[1]) for data in ((), files, table)
    )
    assert own == from_files == from_table
    assert set(own["metrics"]) == {"chrf"}
    assert set(own["metrics"]["chrf"]) == {"value", "low", "high", "signature"}
    assert own["n"] == 8
    assert own["search"]["beam"] == 1
    assert own["weights"]["rule"].startswith("best by bleu")


def test_evaluate_with_alternatives(headway, trained, place):
    """A word is right if any of its pronunciations is: the model's own output is made one."""
    output = headway("translate", "run", "test.src", "--beam", "1")[1].splitlines()[0]
    source = (place / "test.src").read_text().splitlines()[0]
    (place / "several.src").write_text(f"{source}\nnine\n{source}\n")
    (place / "several.tgt").write_text(f"wrong\nwrong\n{output}\n")
    files = ("--source", "several.src", "--target", "several.tgt", "--beam", "1")
    metrics = ("--metric", "wer", "--metric", "per", "--json")
    grouped = json.loads(headway("evaluate", "run", *files, *metrics, "--group")[1])
    assert grouped["n"] == 2
    assert grouped["metrics"]["wer"]["value"] == 50.0
    assert set(grouped["metrics"]) == {"wer", "per"}
    apart = json.loads(headway("evaluate", "run", *files, *metrics)[1])
    assert apart["n"] == 3
    assert apart["metrics"]["wer"]["value"] == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--metric", "blue"), 2, "no metric 'blue' for task 'translate'; expected one of bleu,"),
        (("--source", "test.src"), 2, "--target is missing: give --source and --target together"),
        (("--data", "test.src"), 2, "set format to one of tsv, csv, jsonl"),
        (("--data", "test.src", "--format", "tvs"), 2, "--format tvs: expected one of auto, lines"),
        (("--data", "tets.tsv"), 1, "no file tets.tsv"),
        (("--source", "test.src", "--target", "train.tgt"), 1, "test.src ends after line 8"),
    ],
)
def test_evaluate_refuses(fails, trained, options, code, message):
    assert message in fails(code, "evaluate", "run", *options)


def test_score_agrees_with_translate(headway, trained, place):
    """What the search says of an output that came to its end is its forced log probability."""
    stdout = headway("translate", "run", "test.src", "--beam", "1", "--json")[1]
    best = [json.loads(line)["outputs"][0] for line in stdout.splitlines()]
    (place / "best.tgt").write_text("".join(f"{output['text']}\n" for output in best))
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


def test_info(headway, trained, place):
    code, stdout, _ = headway("info", "run")
    assert code == 0
    for line in (
        r"model: +transformer, d_model 16, ",
        r"parameters: +[\d,]+$",
        r"vocabulary: +1\d words, shared$",
        r"  train: +train\.src, train\.tgt \(key [0-9a-f]{32}\)$",
        r"updates: +40 of 40, .+, finished; checkpoints: 16, 32, 40$",
        r"weights: +best by bleu, step (16|32|40)$",
        r"made with: +headway .+, torch .+, threads 1, device cpu",
        r"format: +1$",
    ):
        assert re.search("^" + line, stdout, re.MULTILINE), line
    facts = json.loads(headway("info", "run", "--json")[1])
    assert facts["steps"]["planned"] == 40
    assert facts["parameters"] > 0
    assert set(facts["data"]) == {"root", "train", "valid", "test"}


def test_info_of_a_run_that_has_only_begun(headway, place, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.tasks.translate.learn_codecs", stopped)
    assert headway("train", "run.toml", "--out", "begun")[0] == 130
    code, stdout, _ = headway("info", "begun")
    assert code == 0
    assert re.search(r"^parameters: +not decided yet$", stdout, re.MULTILINE)
    assert re.search(r"^weights: +none yet$", stdout, re.MULTILINE)
    code, _, stderr = headway("translate", "begun", "test.src")
    assert code == 1
    assert "begun has no weights yet" in stderr


def test_config(headway, place, tmp_path):
    code, stdout, _ = headway("config", "run.toml", "train.lr=0.5")
    assert code == 0
    assert "lr = 0.5\n" in stdout
    assert 'schedule = "cosine"\n' in stdout, "defaults are filled in"
    (tmp_path / "again.toml").write_text(stdout)
    assert headway("config", str(tmp_path / "again.toml"))[1] == stdout
    assert json.loads(headway("config", "run.toml", "--json")[1])["model"]["d_model"] == 16
    code, reference, _ = headway("config")
    assert code == 0
    assert "| `train.lr` |" in reference


def test_average(headway, fails, trained, place):
    code, stdout, _ = headway("average", "run", "--last", "2", "--out", "averaged")
    assert (code, stdout) == (0, "averaged: average of steps 32, 40\n")
    assert len(headway("translate", "averaged", "test.src", "--beam", "1")[1].splitlines()) == 8
    assert "weights:      average of steps 32, 40, step 40" in headway("info", "averaged")[1]
    assert "is an average of checkpoints and has nothing to go on from; resume " in fails(
        1, "resume", "averaged"
    )
    message = fails(1, "average", "run", "--last", "9", "--out", "more")
    assert message.startswith(
        "run has 3 regular checkpoints: steps 16, 32, 40; the last 9 cannot be"
    )
    assert "already holds a run" in fails(1, "average", "run", "--last", "2", "--out", "averaged")


@pytest.fixture
def small_demo(monkeypatch):
    """The demo of dates with few dates and few updates."""
    from headway.studies import demo

    few = {"steps": 4, "n_train": 80, "n_valid": 8, "n_test": 8, "n_unseen": 8}
    monkeypatch.setitem(demo.DEMOS, "dates", lambda: demo.dates_demo(**few))


def test_demo(headway, fails, small_demo, place):
    code, stdout, stderr = headway("demo", "--out", "demo")
    assert code == 0
    assert re.search(r"3\. März 2021 .+ \d+\.\d%", stdout)
    assert re.search(
        r"^Test set: 8 dates .+:\n  exact match 0\.00%  \[0\.00, ", stdout, re.MULTILINE
    )
    assert "report:  demo/report.html" in stdout
    assert "| headway translate demo  # Try inputs of your own." in stdout
    assert "step 4/4" in stderr
    code, stdout, _ = headway("demo", "--out", "demo2", "--json")
    assert code == 0
    figures = json.loads(stdout.splitlines()[-1])
    assert figures["run"] == "demo2"
    assert figures["metrics"]["exact"]["value"] == 0.0
    assert "demo already holds a run" in fails(1, "demo", "--out", "demo")
    assert fails(2, "demo", "datse").startswith("no demo 'datse'; expected one of dates, pronounce")


# When things go wrong


def test_a_bug_is_one_line_unless_debugging(headway, trained, monkeypatch):
    def broken(*_):
        raise KeyError("nobody expected\nthis")

    monkeypatch.setattr("headway.api.info.info", broken)
    code, stdout, stderr = headway("info", "run")
    assert (code, stdout) == (1, "")
    assert stderr == (
        "headway: error: KeyError: 'nobody expected\\nthis' "
        "(this is a bug; run again with --debug for the traceback)\n"
    )
    for arguments in (("--debug", "info", "run"), ("info", "run", "--debug")):
        code, _, stderr = headway(*arguments)
        assert code == 1
        assert stderr.startswith("Traceback")
        assert stderr.endswith("(this is a bug)\n")


def test_debug_shows_where_a_mistake_was_found(headway):
    code, _, stderr = headway("info", "absent", "--debug")
    assert code == 1
    assert stderr.startswith("Traceback")
    assert stderr.splitlines()[-1].startswith("headway: error: absent does not exist")


def test_debug_after_two_dashes_is_a_file(headway, trained):
    assert "cannot read --debug" in headway("translate", "run", "--", "--debug")[2]


def test_ctrl_c_in_a_quick_command(headway, trained, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.api.info.info", stopped)
    assert headway("info", "run") == (130, "", "headway: interrupted\n")


def test_output_is_utf8_whatever_the_locale(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    assert main(["config"]) == 0
    assert "™" in buffer.getvalue().decode("utf-8")


FULL = "headway: error: standard output cannot be written: No space left on device; "
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("config",), ("--help",), ("--version",)], ids=" ".join)
def test_a_full_disk_behind_standard_output(place, arguments, unbuffered):
    surroundings = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        process = start(*arguments, stdout=full, cwd=place, env=surroundings)
        _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (1, f"{FULL}make room or write elsewhere\n")


@needs_full
def test_a_full_disk_behind_a_translation(fails, trained, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert fails(1, "translate", "run", "test.src", "--beam", "1").startswith(
            FULL.removeprefix("headway: error: ")
        )


@needs_full
def test_a_full_disk_behind_standard_error_leaves_the_exit_code(place):
    with open("/dev/full", "w") as full:
        process = start("info", "absent", stderr=full, cwd=place)
        stdout, _ = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        (b"info", b"no\xff"),
        (b"train", b"run\xff.toml", b"--out", b"new"),
        (b"train", b"run.toml", b"--out", b"new\xff"),
        (b"config", b"run.toml", b"data.root=\xff"),
        (b"translate", b"run", b"inputs.txt", b"--prefix", b"six \xff"),
        (b"no\xff",),
    ],
)
def test_an_argument_that_is_no_text(fails, place, arguments):
    [wrong] = [repr(os.fsdecode(one)) for one in arguments if b"\xff" in one]
    assert fails(2, *map(os.fsdecode, arguments)) == (
        f"the argument {wrong} is not UTF-8; write it in UTF-8, or rename the file"
    )
    assert not list(place.glob("new*"))


def test_an_argument_that_is_no_text_in_a_process(place):
    process = start(b"config", b"run\xff.toml", cwd=place)
    stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (2, "")
    assert stderr == (
        "headway: error: the argument 'run\\udcff.toml' is not UTF-8; write it in UTF-8, or rename "
        "the file\n"
    )


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="every file name is text there")
def test_a_folder_whose_name_is_no_text(fails, place, monkeypatch):
    folder = place / os.fsdecode(b"latin\xe9")
    folder.mkdir()
    (folder / "run.toml").write_text(RUN_FILE)
    monkeypatch.chdir(folder)
    assert fails(2, "train", "run.toml", "--out", "new") == (
        f"data.root is {str(folder)!r}, which is not UTF-8, and a run file is; rename the folder"
    )


def test_a_reader_that_goes_away(place):
    reading, writing = os.pipe()
    os.close(reading)
    process = start("config", stdout=writing, cwd=place)
    os.close(writing)
    _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (141, "")
