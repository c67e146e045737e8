"""The objective `none`: its codecs can be loaded; training and evaluation are refused."""

import pytest
from pretraining_tasks import DOCUMENTS, make_store, make_task

from headway import tasks
from headway.data.codecs.text import TextConfig
from headway.errors import ConfigError
from headway.tasks.pretrain.config import CONFIGS

REFUSAL = r'^pretrain\.objective = "none" .*; train another task from it with init, or choose'


@pytest.fixture
def headless(tmp_path):
    """A task with the codecs of another objective, as after an import."""
    make_task("masked").save_codecs(tmp_path)
    return tasks.make_task("pretrain", CONFIGS["none"]()).load_codecs(tmp_path)


def test_the_model_has_no_head(headless):
    size = headless.codec.tokenizer.size
    vocabularies = headless.vocabularies
    assert (vocabularies.source, vocabularies.target) == (size, size)
    assert vocabularies.head == "none"


def test_no_special_token_is_required(tmp_path):
    make_task("t5", sentinels=1).save_codecs(tmp_path)  # without a mask
    task = tasks.make_task("pretrain", CONFIGS["none"]()).load_codecs(tmp_path)
    assert "mask" not in task.codec.tokenizer.specials


def test_training_and_evaluation_are_refused(headless, tmp_path):
    store = make_store(make_task("masked"), tmp_path)
    for refused in (
        lambda: headless.fit_codecs(lambda: iter([(DOCUMENTS[0],)]), TextConfig(kind="words")),
        lambda: headless.check(store),
        lambda: headless.objective(None, 0.0),
        lambda: next(headless.fixed_batches(store)),
    ):
        with pytest.raises(ConfigError, match=REFUSAL):
            refused()


def test_there_is_nothing_to_measure(headless):
    assert headless.parts == headless.metrics == ()
    assert headless.labels({}) == {}
    assert headless.output_states(None, {}) == {}
