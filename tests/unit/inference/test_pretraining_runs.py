"""Pre-training from the run file to figures, and runs of other tasks that start from it."""

import shutil
from dataclasses import replace

import pytest
import torch

from headway import api
from headway.compare.evaluate import evaluate_run
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, DataError
from headway.inference.load import require_task
from headway.inspection.run_info import info
from headway.interop.export import export
from headway.models.encoder import EncoderConfig
from headway.models.transformer import TransformerConfig
from headway.models.unilm import UnilmModelConfig
from headway.run_config import load_run_config
from headway.runs import RunDir
from headway.tasks import OBJECTIVES
from headway.tasks.pretrain.config import CONFIGS
from headway.training.config import TrainConfig

ASKING = [name for name in OBJECTIVES if name != "none"]
READER = EncoderConfig(
    d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.1, segments=2, pooling="first"
)
WRITER = TransformerConfig(
    d_model=8, d_ff=8, n_heads=2, encoder_layers=1, decoder_layers=1, dropout=0.1
)
BOTH = UnilmModelConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.1)
STEPS = TrainConfig(steps=6, evaluate_every=3, batch_tokens=128, lr=1e-2)
ANIMALS, VERBS = ["cat", "dog", "hat", "trout", "bird"], ["sees", "eats", "likes"]
DOCUMENTS = [
    "\n".join(
        f"The {ANIMALS[(d + s) % 5]} {VERBS[s % 3]} a {ANIMALS[(d * s) % 5]} . It is {d} ."
        for s in range(4 + d)
    )
    for d in range(8)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrain")
    (folder / "train.txt").write_text("\n\n".join(DOCUMENTS[:6]), "utf-8")
    (folder / "valid.txt").write_text("\n\n".join(DOCUMENTS[6:]), "utf-8")
    rows = [line for document in DOCUMENTS for line in document.split("\n")]
    labels = "".join(f"{row}\t{'even' if len(row) % 2 else 'odd'}\n" for row in rows)
    (folder / "labels.tsv").write_text(labels, "utf-8")
    pairs = "".join(f"{row}\t{row.lower()}\n" for row in rows)
    (folder / "pairs.tsv").write_text(pairs, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        yield folder


def config_of(folder, objective, **changes):
    data = DataConfig(
        train=Corpus(file="train.txt", format="documents"),
        valid=Corpus(file="valid.txt", format="documents"),
        root=str(folder),
        block=24,
    )
    pretrain = CONFIGS[objective](**({"sentinels": 4} if objective == "t5" else {}))
    model = {"bart": WRITER, "t5": WRITER, "unilm": BOTH}.get(objective, READER)
    given = {"text": TextConfig(kind="words"), "model": model, "train": STEPS, **changes}
    return api.RunConfig(data=data, task="pretrain", pretrain=pretrain, **given)


@pytest.fixture(scope="module")
def runs(folder):
    return {name: api.train(config_of(folder, name), folder / name) for name in ASKING}


@pytest.mark.parametrize("objective", ASKING)
def test_validation_in_training_and_evaluation_agree(runs, objective, folder):
    model = runs[objective]
    assert isinstance(model, api.Pretrained)
    held_out = [Corpus(file="valid.txt", format="documents")]
    found = model.evaluate(held_out, root=folder, resamples=20)
    assert tuple(found.scores) == model.task.metrics
    logged = RunDir.open(folder / objective).log.read()
    best = min(record["valid_loss"] for record in logged if "valid_loss" in record)
    total = sum(found.scores[f"{part}_loss"].value for part in model.task.parts)
    assert total == pytest.approx(best, rel=1e-5)
    [one] = model.evaluate(held_out, model.task.metrics[:1], folder).scores
    assert one == model.task.metrics[0]


@pytest.mark.parametrize("objective", ASKING)
def test_a_run_is_resumed_exactly(runs, objective, folder, tmp_path):
    shutil.copytree(folder / objective, tmp_path / "again")
    run = RunDir.open(tmp_path / "again")
    (run.path / "model.safetensors").unlink()
    shutil.rmtree(run.path / "checkpoints" / "step-6")
    api.resume(run.path)
    expected = RunDir.open(folder / objective).load_weights()[0]
    found = run.load_weights()[0]
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("objective", ASKING)
def test_it_is_described_and_reported(runs, objective, folder):
    known = info(RunDir.open(folder / objective))
    assert (known["task"], known["vocabulary"]["kind"]) == ("pretrain", "words")
    assert known["best"]["metric"] == "loss"
    assert load_run_config(RunDir.open(folder / objective)).pretrain.objective == objective
    page = (folder / objective / "report.html").read_text("utf-8")
    assert f"headway evaluate {folder / objective} --data FILE" in page


@pytest.mark.parametrize(("objective", "metric"), [("masked_next", "masked"), ("t5", "token")])
def test_runs_are_compared_by_what_they_restore(runs, objective, metric, folder):
    found = evaluate_run(folder / objective)
    assert (found.metric, found.lower_is_better) == (f"{metric}_accuracy", False)
    held_out = [Corpus(file="valid.txt", format="documents")]
    expected = runs[objective].evaluate(held_out, root=folder).scores[found.metric]
    assert found.score == expected


def test_parts_of_the_loss_are_logged(runs, folder):
    records = RunDir.open(folder / "masked_next").log.read()
    [first, *_] = [record for record in records if "lr" in record]
    assert first["loss"] == pytest.approx(first["masked_loss"] + first["next_loss"])
    [first, *_] = [record for record in RunDir.open(folder / "t5").log.read() if "lr" in record]
    assert "token_loss" not in first


@pytest.mark.parametrize("objective", ["masked", "masked_next", "next", "unilm"])
def test_a_classifier_starts_from_a_reader(runs, objective, folder):
    data = DataConfig(train="labels.tsv", valid="labels.tsv", root=str(folder))
    config = api.RunConfig(data, task="classify", init=str(folder / objective), train=STEPS)
    out = folder / f"labels-from-{objective}"
    classifier = api.train(config, out)
    before, started = (
        RunDir.open(folder / objective).load_weights()[0],
        RunDir.open(out).load_init(),
    )
    assert started.keys() == {name for name in before if name.startswith("backbone.")}
    assert all(torch.equal(started[name], before[name]) for name in started)
    assert classifier.predict(["The cat sees a hat ."])[0].label in ("even", "odd")
    [ids] = classifier.task.codec.encode_batch(["The cat"])
    codec = classifier.task.codec
    begin = [] if objective == "unilm" else [codec.bos]
    assert ids.tolist() == [*begin, *ids[-3:-1], codec.eos]  # as it was pre-trained


@pytest.mark.parametrize("objective", ["bart", "t5", "unilm"])
def test_a_translator_starts_from_an_encoder_decoder(runs, objective, folder):
    data = DataConfig(train="pairs.tsv", valid="pairs.tsv", root=str(folder))
    config = api.RunConfig(data, init=str(folder / objective), train=STEPS)
    out = folder / f"pairs-from-{objective}"
    translator = api.train(config, out)
    before, started = (
        RunDir.open(folder / objective).load_weights()[0],
        RunDir.open(out).load_init(),
    )
    assert started.keys() == before.keys()
    assert all(torch.equal(started[name], before[name]) for name in started)
    assert isinstance(translator.translate(["The cat sees a hat ."])[0].text, str)


def test_what_restores_text_is_no_translator_for_ctranslate2(runs, folder):
    with pytest.raises(ConfigError, match=r"'ctranslate2' because of task = \"pretrain\""):
        export(api.load(folder / "bart"), "ctranslate2", folder / "exported")
    with pytest.raises(ConfigError, match="; it has no counterpart of 'unilm', which is for use h"):
        export(api.load(folder / "unilm"), "hf", folder / "exported")
    assert not (folder / "exported").exists()


def test_an_objective_starts_from_another(runs, folder):
    """The backbone is taken, and each head of what the other one asks for too."""
    new = "is new; all other weights are those of init"
    for begun, objective, heads, said in (
        ("masked_next", "masked_next", {"masked", "next"}, []),
        ("masked_next", "masked", {"masked"}, []),
        ("masked", "masked_next", {"masked"}, [f"the head for next sentences {new}"]),
        ("masked_next", "next", set(), [f"the head {new}"]),
    ):
        out = folder / f"{objective}-from-{begun}"
        config = config_of(folder, objective, init=str(folder / begun), text=TextConfig())
        api.train(config, out)
        run, before = RunDir.open(out), RunDir.open(folder / begun).load_weights()[0]
        started = run.load_init()
        assert {name.split(".")[0] for name in started} == {"backbone", *heads}
        assert all(torch.equal(started[name], before[name]) for name in started)
        settings = next(iter(run.log.read()))["notes"]["Settings"]
        assert [note for note in settings if "new" in note] == said
    config = config_of(folder, "t5", init=str(folder / "bart"), text=TextConfig())
    with pytest.raises(ConfigError, match="'t5' needs the special token 'sentinel_0', which this"):
        api.train(config, folder / "no")
    assert not (folder / "no").exists()


def test_a_run_file_without_a_model_gets_one_that_fits(folder):
    families = {"masked_next": "encoder", "bart": "transformer", "unilm": "unilm"}
    for objective, family in families.items():
        config = config_of(folder, objective, model=None)
        assert config.model.family == family
        assert config.text.begin == (family == "encoder")
    data = DataConfig(train="train.txt")
    assert api.RunConfig(data, task="pretrain").pretrain.objective == "masked"
    assert api.RunConfig(data).pretrain is None


def test_run_files_are_read_and_written(folder):
    path = folder / "run.toml"
    path.write_text(
        'task = "pretrain"\n[data]\ntrain = { file = "train.txt", format = "documents" }\n'
        '[pretrain]\nobjective = "t5"\nspan = 2.0\n',
        "utf-8",
    )
    config = api.read_config(path, ["pretrain.rate=0.3"])
    assert config.pretrain == CONFIGS["t5"](rate=0.3, span=2.0)
    with pytest.raises(ConfigError, match=r"pretrain\.whole_words"):
        api.read_config(path, ["pretrain.whole_words=true"])
    with pytest.raises(ConfigError, match="expected one of"):
        api.read_config(path, ["pretrain.objective=cloze"])


def test_settings_that_have_no_meaning(folder):
    data = DataConfig(train="pairs.tsv")
    with pytest.raises(ValueError, match=r'\[pretrain\] is for task = "pretrain", and this run'):
        api.RunConfig(data, pretrain=CONFIGS["masked"]())
    with pytest.raises(ValueError, match=r"text\.dropout = 0\.1 has no meaning for format"):
        config_of(folder, "masked", text=TextConfig(dropout=0.1))
    lines = DataConfig(train="train.txt")
    with pytest.raises(ValueError, match=r'no meaning for task = "pretrain": text in blocks'):
        api.RunConfig(lines, task="pretrain", text=TextConfig(dropout=0.1))
    message = r"pretrain\.objective = 'masked' needs a model with a source that can read"
    with pytest.raises(ValueError, match=message):
        config_of(folder, "masked", model=WRITER)
    with pytest.raises(ValueError, match=r"objective = 'bart' needs a model .* can score, step"):
        config_of(folder, "bart", model=READER)
    with pytest.raises(ValueError, match=r"expected one of auto, loss, masked_accuracy;"):
        config_of(folder, "masked", train=TrainConfig(metric="next_accuracy"))


@pytest.mark.parametrize("objective", ["masked", "masked_next", "next", "unilm"])
def test_the_attention_of_a_model_that_reads_is_shown(runs, objective):
    model, text = runs[objective], "The cat sees a dog"
    found = model.inspect(text)
    assert (found.kind, found.outputs) == ("pretrain", [])
    weights = found.map().weights
    assert weights.shape == (len(found.tokens), len(found.tokens))
    assert weights.sum(-1) == pytest.approx(1.0, abs=1e-5)
    data = found.to_dict()
    assert data["source"]["tokens"][-1] == "⟨eos⟩"
    assert {part["kind"] for part in data["encoder"]} == {"encoder"}


def test_gaps_of_a_text_that_is_looked_at_are_filled(runs):
    text = "The [MASK] sees a [MASK] ."
    found = runs["masked"].inspect(text)
    assert "⟨mask⟩" in found.tokens
    filled = runs["masked"].fill(text).gaps
    assert [one.output.text for one in found.outputs] == [
        *(f"The {filler.text} sees a [MASK] ." for filler in filled[0]),
        *(f"The [MASK] sees a {filler.text} ." for filler in filled[1]),
    ]
    assert found.outputs[0].output.confidence == pytest.approx(filled[0][0].probability)
    asked_nothing = runs["next"].inspect(text)  # of which hidden words mean nothing
    assert "⟨mask⟩" not in asked_nothing.tokens


def test_what_cannot_be_done_is_said(runs, folder):
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'pretrain'; expected one of"):
        runs["masked"].evaluate([], ["bleu"])
    with pytest.raises(ConfigError, match="which gives no states of a text"):
        runs["bart"].inspect("The cat")
    with pytest.raises(DataError, match="the text is blank"):
        runs["masked"].inspect(" ")
    with pytest.raises(ConfigError, match=r"trained for task 'pretrain'; try headway fill"):
        require_task("translate", api.Translator, folder / "masked")
    one = replace(
        config_of(folder, "next").data, train=Corpus(file="train.txt", format="text"), valid=None
    )
    config = replace(config_of(folder, "next"), data=one)
    with pytest.raises(DataError, match="all of the text is one document"):
        api.train(config, folder / "one")
    assert not (folder / "one").exists()
    with pytest.raises(ConfigError, match=r"restoring text takes one run, not an ensemble"):
        api.load(folder / "masked", folder / "masked").evaluate([Corpus(file="valid.txt")])
