"""The engine CTranslate2 finds what headway's own search finds, or says what it cannot do."""

import shutil
import sys
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from export_sources import SOURCES

import headway
from headway.errors import ConfigError, MissingExtra, RunError
from headway.interop.ctranslate2.engine import CTranslate2Engine, cached_export
from headway.text import EOS


@pytest.fixture(scope="module", params=["pre", "post"])
def ours(folder, request):
    return headway.load(folder / request.param)


@pytest.fixture(scope="module")
def engine(ours):
    return CTranslate2Engine.of_run(ours, threads=1)


@pytest.fixture(scope="module")
def encoded(ours):
    """Sources of many lengths: known ones, nonsense, and none."""
    return ours.task.source.encode_batch([*SOURCES[::4], "dog", "", "ten ten ten ten", "xyz zyx"])


def assert_same(found, expected):
    assert [[h.tokens for h in row] for row in found] == [
        [h.tokens for h in row] for row in expected
    ]
    for mine, theirs in zip(
        (h for row in expected for h in row), (h for row in found for h in row), strict=True
    ):
        assert theirs.finished == mine.finished
        assert theirs.log_prob == pytest.approx(mine.log_prob, abs=1e-4)
        assert theirs.score == pytest.approx(mine.score, abs=1e-4)


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"n_best": 3},
        {"beam": 1},
        {"beam": 5, "n_best": 5, "alpha": 0.0},
        {"alpha": 0.6, "n_best": 2},
        {"alpha": -0.5},
        {"beam": 200, "n_best": 2, "max_length": 3},
    ],
    ids=str,
)
def test_the_search_is_headways(ours, engine, encoded, search):
    config = ours.search_config(**search)
    found = engine.predict(encoded, config)
    assert_same(found, ours.task.predict(ours.model, encoded, config))


@pytest.mark.parametrize("search", [{"n_best": 3}, {"beam": 1}, {"alpha": 0.0}], ids=str)
def test_limits_are_kept_and_outputs_cut_there_come_last(ours, engine, encoded, search):
    config = ours.search_config(**search)
    for limits in ([1] * len(encoded), [2 + i % 12 for i in range(len(encoded))]):
        expected = ours.task.predict(ours.model, encoded, config, limits)
        assert any(not h.finished for row in expected for h in row)
        assert_same(engine.predict(encoded, config, limits), expected)


def test_scores_of_tokens_on_request(ours, engine, encoded):
    config = ours.search_config(n_best=2)
    limits = [4] * len(encoded)
    expected = ours.task.predict(ours.model, encoded, config, limits)
    found = engine.predict(encoded, config, limits, token_scores=True)
    for mine, theirs in zip(
        (h for row in expected for h in row), (h for row in found for h in row), strict=True
    ):
        assert theirs.token_log_probs == pytest.approx(mine.token_log_probs, abs=1e-4)
    assert engine.predict(encoded[:1], config)[0][0].token_log_probs == []


def test_nothing_in_nothing_out(ours, engine):
    assert engine.predict([], ours.search_config()) == []


def test_order_and_company_do_not_matter(ours, engine, encoded):
    config = ours.search_config()
    together = engine.predict(encoded, config)
    backwards = engine.predict(encoded[::-1], config)[::-1]
    alone = [engine.predict([source], config)[0] for source in encoded]
    assert_same(backwards, together)
    assert_same(alone, together)


def test_whole_numbers_give_outputs_too(ours, encoded):
    engine = CTranslate2Engine.of_run(ours, "int8", threads=1)
    found = engine.predict(encoded, ours.search_config())
    assert all(len(row) == 1 and np.isfinite(row[0].score) for row in found)


def test_settings_it_does_not_have_are_refused_by_name(ours, engine, encoded):
    with pytest.raises(ConfigError) as caught:
        engine.predict(encoded, ours.search_config(stop="safe", no_repeat=2))
    assert str(caught.value) == (
        'the engine CTranslate2 cannot search with search.no_repeat = 2, search.stop = "safe"; '
        "leave them out, or use headway's own engine"
    )
    with pytest.raises(
        ConfigError, match=r'cannot search with search\.method = "sample"; leave it'
    ):
        engine.predict(encoded, ours.search_config(method="sample"))


def test_a_run_is_exported_once_and_other_weights_anew(folder, tmp_path):
    first = cached_export(headway.load(folder / "pre"))
    written = (first / "model.bin").stat().st_mtime_ns
    shutil.copytree(folder / "pre", tmp_path / "copy")
    assert cached_export(headway.load(tmp_path / "copy")) == first
    assert (first / "model.bin").stat().st_mtime_ns == written
    assert cached_export(headway.load(folder / "post")) != first
    assert not [path for path in first.parent.iterdir() if path.name.startswith(".")]


def test_a_model_it_cannot_compute_is_refused(folder):
    with pytest.raises(ConfigError, match=r"'ctranslate2' because of model\.d_value = 5"):
        CTranslate2Engine.of_run(headway.load(folder / "values"))


def test_an_input_beyond_the_positions_is_said(engine, ours):
    source = np.array([4] * 1500 + [EOS])
    with pytest.raises(RunError, match=r"CTranslate2 failed \(.+\); shorten the input"):
        engine.predict([source], ours.search_config())


def test_a_foreign_or_damaged_folder_is_said(ours, tmp_path):
    with pytest.raises(
        RunError, match=r"cannot be loaded by CTranslate2 \(.+\); export the run again"
    ):
        CTranslate2Engine(tmp_path)
    shutil.copytree(cached_export(ours), tmp_path / "copy")
    (tmp_path / "copy" / "model.bin").write_bytes(b"damaged")
    with pytest.raises(RunError, match="cannot be loaded by CTranslate2"):
        CTranslate2Engine(tmp_path / "copy")


def test_without_the_package(ours, tmp_path, monkeypatch):
    def version(name):
        if name == "ctranslate2":
            raise PackageNotFoundError(name)
        return "1"

    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    monkeypatch.setattr("importlib.metadata.version", version)
    for start in (lambda: CTranslate2Engine(tmp_path), lambda: CTranslate2Engine.of_run(ours)):
        with pytest.raises(MissingExtra) as caught:
            start()
        assert str(caught.value) == (
            "the engine CTranslate2 needs the package 'ctranslate2', which is not installed; "
            "pip install 'headway-attention[ctranslate2]'"
        )
