"""The report page of runs that finished, that did not, and that have just begun."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from headway.api import train
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import RunError
from headway.inference.load import load
from headway.inspection.report import write_report
from headway.metrics.score import Score
from headway.models.recurrent import RecurrentConfig
from headway.models.transformer import TransformerConfig
from headway.run_config import RunConfig
from headway.runs import RunDir
from headway.search import SearchConfig
from headway.training.config import TrainConfig
from headway.view.report import Command, Sample


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learned nothing much from reversed letters in six steps."""
    folder = tmp_path_factory.mktemp("report")
    draw = random.Random(1)
    words = sorted({"".join(draw.choices("abcd", k=5)) for _ in range(60)})
    for name, some in (("train", words[:40]), ("valid", words[40:])):
        lines = [f"{word}\t{word[::-1]}\n" for word in some]
        (folder / f"{name}.tsv").write_text("".join(lines))
    config = RunConfig(
        data=DataConfig(train="train.tsv", valid="valid.tsv", root=str(folder)),
        text=TextConfig(kind="characters"),
        model=TransformerConfig(preset="tiny", d_model=16, n_heads=2, encoder_layers=1, d_ff=16),
        train=TrainConfig(steps=6, evaluate_every=2, batch_tokens=64, metric="exact"),
        search=SearchConfig(beam=1),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        train(config, folder / "run")
    return folder / "run"


def test_a_model_without_attention_has_a_page_without_its_picture(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_CACHE", str(finished.parent / "cache"))
    config = RunConfig(
        data=DataConfig(train="train.tsv", valid="valid.tsv", root=str(finished.parent)),
        text=TextConfig(kind="characters"),
        model=RecurrentConfig(d_model=8, attention="none"),
        train=TrainConfig(steps=2, evaluate_every=1, batch_tokens=64),
    )
    train(config, tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert '<h2 dir="auto">Samples</h2>' in page
    assert '<h2 dir="auto">Attention</h2>' not in page


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> RunDir:
    shutil.copytree(finished, tmp_path / "my run")
    return RunDir.open(tmp_path / "my run")


def test_training_leaves_it(finished: Path) -> None:
    page = (finished / "report.html").read_text(encoding="utf-8")
    assert "Trained for" in page
    assert '<h2 dir="auto">Samples</h2>' in page


def model_of(run: RunDir) -> Any:
    return load(run.path) if run.has_weights() else None


def written(run: RunDir, **extra: object) -> str:
    path = write_report(run.path, model_of(run), **extra)  # type: ignore[arg-type]
    assert path == run.path / "report.html"
    return path.read_text(encoding="utf-8")


def test_a_finished_run(copy: RunDir) -> None:
    page = written(copy)
    assert "<title>my run</title>" in page
    assert "Trained for" in page
    for part in ("This run", "Samples", "Training", "Outputs while it learned", "Attention"):
        assert f'<h2 dir="auto">{part}</h2>' in page
    assert '"metrics":{"exact":"Exact match"}' in page
    assert '<dd dir="auto">40</dd>' in page  # training examples
    assert f"{load(copy.path).n_parameters:,}" in page
    assert "train: leak check: of 40 training examples 0 also occur in the valid data" in page
    assert "headway resume" not in page
    assert "headway evaluate &#39;" + str(copy.path) + "&#39; --data FILE" in page


def test_samples_are_what_the_kept_weights_say(copy: RunDir) -> None:
    source, _, expected = [r for r in copy.log.read() if "samples" in r][-1]["samples"][0]
    (result,) = load(copy.path).translate([source])
    page = written(copy)
    row = f'<td dir="auto">{source}</td><td dir="auto">{result.text}</td>'
    assert f'<tr>{row}<td dir="auto">{expected}</td>' in page
    assert f"{100 * result.outputs[0].confidence:.1f}%" in page


def test_what_the_caller_gives_is_shown_instead(copy: RunDir) -> None:
    score = Score("exact match", 12.5, 10.0, 20.0, "exact|n:8")
    page = written(
        copy,
        title="Reversed",
        subtitle="Letters",
        scores={"Test": [score]},
        samples=[Sample("abcd", "dcba", "dcba", 0.5, True)],
        commands=[Command("do this")],
    )
    assert "<title>Reversed</title>" in page
    assert "12.50" in page
    assert "✓ right" in page
    assert "do this" in page
    assert "headway translate" not in page


def replace_log(copy: RunDir, text: str) -> None:
    (copy.path / "manifest.json").unlink()
    copy.write_text("log.jsonl", text)


def test_a_run_that_was_stopped_says_how_to_go_on(copy: RunDir) -> None:
    records = [record for record in copy.log.read() if record["step"] <= 4]
    replace_log(copy, "".join(json.dumps(record) + "\n" for record in records))
    page = written(copy)
    assert "Not finished: the log ends at step 4 of 6." in page
    assert f"headway resume &#39;{copy.path}&#39;" in page


def test_a_run_without_weights_shows_what_was_logged(copy: RunDir) -> None:
    (copy.path / "model.safetensors").unlink()
    sample = [r for r in copy.log.read() if "samples" in r][-1]["samples"][0]
    page = written(copy)
    assert "".join(f'<td dir="auto">{value}</td>' for value in sample) in page
    assert "Attention" not in page
    assert "headway translate" not in page


def test_a_run_that_has_only_begun(copy: RunDir) -> None:
    (copy.path / "model.safetensors").unlink()
    replace_log(copy, "")
    page = written(copy)
    assert "Not finished: the log ends at step 0 of 6." in page
    assert '<h2 dir="auto">Training</h2>' not in page


def test_a_history_keeps_the_moments_of_change(copy: RunDir) -> None:
    outputs = ["a", "a", "b", "b", "a"]
    records = [
        {"step": step, "minutes": step / 4, "samples": [["in", output, "b"]]}
        for step, output in enumerate(outputs, 1)
    ]
    replace_log(copy, "".join(json.dumps(record) + "\n" for record in records))
    table = written(copy).partition("Outputs while it learned")[2].partition("</table>")[0]
    shown = [part.partition("<")[0] for part in table.split('<td class="number">')[1:]]
    assert shown == ["1", "0.2", "3", "0.8", "5", "1.2"]


def test_a_writer_at_work_is_not_disturbed(copy: RunDir) -> None:
    with copy.lock(), pytest.raises(RunError):
        write_report(copy.path, None)
