"""Small translation runs, and a display that remembers what it was shown."""

from dataclasses import replace

from headway.config import to_toml
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.models.transformer import TransformerConfig
from headway.run_config import RunConfig
from headway.runs import RunDir
from headway.training.config import TrainConfig
from headway.training.context import TrainingContext
from headway.training.distributed import Processes
from headway.training.progress import Silent

SMALL = TransformerConfig(d_model=8, d_ff=8, n_heads=2, encoder_layers=1, decoder_layers=1)
ALONE = Processes()


class Recorder(Silent):
    """Remembers notes, validations and samples."""

    def __init__(self):
        self.notes, self.validations, self.shown_samples = [], [], []

    def note(self, text):
        self.notes.append(text)

    def validation(self, step, figures, is_best):
        self.validations.append((step, dict(figures), is_best))

    def samples(self, rows):
        self.shown_samples += rows


def config_of(folder, **changes):
    """A run file about `folder / "data" / "pairs.tsv"`."""
    config = RunConfig(
        data=DataConfig(train="pairs.tsv", valid="pairs.tsv", root=str(folder / "data")),
        text=TextConfig(kind="characters"),
        model=SMALL,
        train=TrainConfig(steps=4, evaluate_every=2, evaluate_sample=4, batch_tokens=32),
    )
    return replace(config, **changes)


def make_context(folder, config, group=ALONE, out="run"):
    """The beginning of a run in `folder / out`, of whichever process."""
    run = RunDir.create(folder / out, {}, to_toml(config))
    return TrainingContext(run, config, group, Recorder())
