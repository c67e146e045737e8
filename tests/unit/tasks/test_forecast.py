"""The task `forecast`: what it fits, its windows; values by hand."""

import numpy as np
import pytest
import torch
from forecast_runs import NAN, all_windows, fitted, series, stored, wave

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.frequency import Frequency
from headway.data.prepare import prepare
from headway.errors import ConfigError, DataError
from headway.models import FAMILIES, VocabularySizes, build_model
from headway.models.family import Vectors
from headway.run_config import RunConfig
from headway.tasks.config import ForecastConfig
from headway.tasks.forecast import Forecast

DATA = DataConfig(train="a.csv")
PLAIN = {"lookback": 3, "horizon": 2, "scaling": "none", "normalise": "none"}


class TestFitting:
    def test_season_and_look_back_by_the_data(self):
        facts = fitted([series(wave(720))], horizon=24).inputs.facts
        assert (facts.season, facts.history, facts.frequency) == (24, 240, "h")
        assert not facts.has_gaps

    def test_settings_come_first(self):
        facts = fitted([series([1, NAN, 3])], season=5, lookback=2, horizon=1).inputs.facts
        assert (facts.season, facts.history, facts.has_gaps) == (5, 2, True)

    def test_the_look_back_is_that_of_a_typical_series(self):
        rows = [series(range(n)) for n in (30, 300, 3000)]
        assert fitted(rows, horizon=5).inputs.facts.history == 96  # a third, in whole days

    def test_several_series_are_scaled_each(self):
        for n, expected in ((1, "column"), (2, "series")):
            task = fitted([series(range(9))] * n, lookback=2, horizon=1)
            assert task.inputs.facts.scaling == expected
        assert fitted([series([1, 2])] * 2, scaling="none").inputs.facts.scaling == "none"

    def test_no_series(self):
        with pytest.raises(DataError) as caught:
            Forecast().fit_codecs(lambda: iter(()), TextConfig())
        assert str(caught.value) == "the training data have no series; name a file with some"

    def test_a_calendar_of_numbered_steps(self):
        numbered = series(range(9), start=0, frequency=Frequency("step"))
        with pytest.raises(DataError, match=r"^forecast.calendar reads dates, and the steps of"):
            fitted([numbered], calendar=["hour"])

    def test_series_of_different_steps(self):
        daily = series(range(9), name="d", frequency=Frequency("D"))
        with pytest.raises(DataError) as caught:
            fitted([series(range(9)), daily])
        assert str(caught.value) == (
            "the steps of some series are h long, and those of 'd' D; train a model for each, or "
            "set frequency"
        )
        numbered = series(range(9), start=0, frequency=Frequency("step"))
        with pytest.raises(DataError, match="some series have dates, and others numbered steps"):
            fitted([series(range(9)), numbered])

    def test_codecs_are_fitted_to_the_training_part(self):
        task = Forecast(ForecastConfig())
        task.columns = ("target",)
        values = task.training_values([series(range(100))], Corpus(part=(0.0, 0.7)))
        assert values[0].values[:, 0].tolist() == list(range(70))
        task.columns = ("target", "known", "static")
        row = [series(range(10)), series(range(14)), series([[1, 2]])]
        target, known, static = task.training_values(row, Corpus(part=(0, 4)))
        assert (len(target), len(known), len(static)) == (4, 4, 1)

    def test_codecs_are_saved_and_loaded(self, tmp_path):
        row = {
            "target": series([[1, 2], [3, 9], [4, 4]]),
            "known": series([1, 2, 3], ("k",)),
            "static": series([[5.0]], ("s",)),
        }
        task = fitted([row], horizon=1)
        task.save_codecs(tmp_path)
        loaded = Forecast(task.config).load_codecs(tmp_path)
        assert loaded.columns == ("target", "known", "static")
        assert loaded.inputs.facts == task.inputs.facts
        for name, codec in task.codecs.items():
            assert loaded.codecs[name].fingerprint() == codec.fingerprint()
        assert loaded.vocabularies == task.vocabularies
        assert task.describe()["columns"] == ["a", "b"]

    def test_sizes_of_a_model(self):
        rows = [series([[t, t + 1, t * t] for t in range(9)])]
        sizes = fitted(rows, **PLAIN, quantiles=[0.1, 0.5, 0.9]).vocabularies
        assert (sizes.target, sizes.vectors.features, sizes.vectors.size) == (6, 1, (3,))
        mixed = fitted(rows, **PLAIN, channels="mixed", step=4, calendar=["hour"]).vocabularies
        assert (mixed.target, mixed.target_features, mixed.target_outputs) == (6, 12, 12)
        assert (mixed.vectors.features, mixed.vectors.size) == (8, (5,))
        assert mixed.vectors.future == 2


class TestWindows:
    def test_their_number_in_each_corpus(self):
        rows = [series(range(n)) for n in (9, 1, 6)]
        task = fitted(rows, **PLAIN)
        windows, counts = task.windows(stored(task, rows), [1, 2], [Corpus(), Corpus()])
        assert counts == (5, 2)
        assert len(windows) == 7

    def test_each_corpus_has_its_part(self):
        rows = [series(range(20)), series(range(20))]
        task = fitted(rows, **PLAIN)
        corpora = [Corpus(part=(0, 10)), Corpus(part=(10, 20))]
        windows, counts = task.windows(stored(task, rows), [1, 1], corpora)
        assert counts == (6, 9)
        assert windows.firsts_of(0).tolist() == [3, 4, 5, 6, 7, 8]
        assert windows.firsts_of(1).tolist() == list(range(10, 19))

    def test_history_is_never_a_target(self):
        """A test file with its history, as in M4: the targets are those of the file alone."""
        rows = [series(range(12), history=10)]
        task = fitted(rows, **PLAIN)
        assert all_windows(task, rows).firsts_of(0).tolist() == [10]

    def test_two_look_backs_score_the_same_targets(self):
        rows = [series(range(60))]
        found = []
        for lookback in (1, 8, 40, 300):
            task = fitted(rows, lookback=lookback, horizon=4)
            windows = all_windows(task, rows, part=(0.5, 1.0))
            found.append(windows.places(np.arange(len(windows))).first.tolist())
        assert found == [list(range(30, 57))] * 4

    @pytest.mark.parametrize("n", [1, 2])
    def test_no_window_at_all(self, n):
        task = fitted([series(range(9))], **PLAIN)
        with pytest.raises(DataError) as caught:
            all_windows(task, [series(range(n))])
        assert str(caught.value) == (
            "data.test: no window of forecast.horizon = 2 steps and one step before them: the "
            f"longest series has {('1 step', '2 steps')[n - 1]}, and at most {n} "
            f"{('is', 'are')[n - 1]} in this part; lower the horizon, "
            "give longer series, or change forecast.split"
        )

    def test_strides_are_for_training_alone(self, tmp_path):
        lines = "".join(f"2024-01-01 {t:02d}:00,{t}\n" for t in range(24))
        (tmp_path / "a.csv").write_text("date,a\n" + lines)
        task = fitted([series(range(24))], **PLAIN, stride=5)
        corpus = Corpus(file="a.csv")
        prepared = prepare([corpus], dict(task.codecs), tmp_path / "s", root=tmp_path, rules=task)
        train, valid = (task.examples(prepared, [corpus], key) for key in ("train", "valid"))
        assert train.store.firsts_of(0).tolist() == [7, 12, 17, 22]
        assert (len(valid.store), valid.sizes) == (20, (20,))


class TestRemarks:
    def test_windows_short_and_constant_series(self):
        rows = [series([[t, 7.0] for t in range(9)]), series([[1.0, 7.0]])]
        task = fitted(rows, lookback=3, horizon=2)
        assert task.remarks(all_windows(task, rows)) == [
            "windows of 3 and 2 steps of h, season 24",
            "warning: constant in the training data: b",
            "warning: 1 series is too short for a window and is not used",
        ]

    def test_a_deviation_of_one_is_not_constant(self):
        rows = [series([-1.0, 1.0] * 6)]
        task = fitted(rows, lookback=3, horizon=2)
        assert task.inputs.target.deviation.tolist() == [1.0]
        assert not any("constant" in line for line in task.remarks(all_windows(task, rows)))

    def test_constant_series_among_others(self):
        rows = [series(range(9), name="a"), *(series([n] * 9, name=f"s{n}") for n in range(7))]
        task = fitted(rows, lookback=3, horizon=2)
        windows = task.windows(stored(task, rows), [8], [Corpus()], key="train")[0]
        assert task.remarks(windows)[1:] == [
            "warning: 7 series are constant in the training data: s0, s1, s2, s3, s4, ..."
        ]

    def test_all_zero_is_constant_too(self):
        rows = [series([0.0] * 9)]
        task = fitted(rows, lookback=3, horizon=2)
        assert "warning: constant in the training data: a" in task.remarks(all_windows(task, rows))

    def test_without_scaling_nothing_is_known(self):
        rows = [series(range(9))]
        task = fitted(rows, **PLAIN)
        assert task.remarks(all_windows(task, rows)) == ["windows of 3 and 2 steps of h, season 24"]

    def test_overlapping_parts_are_reported(self):
        rows = [series(np.random.default_rng(0).normal(size=100))]
        task = fitted(rows, **PLAIN)
        training, clean, dirty = (
            all_windows(task, rows, p) for p in ((0, 60), (60, 100), (40, 90))
        )
        assert task.leaks(training, {"valid": clean}) == (
            "leak check: of 56 training windows 0 have the targets of valid"
        )
        assert task.leaks(training, {"valid": clean, "test": dirty}) == (
            "warning: leak check: of 56 training windows 0 have the targets of valid, 19 have the "
            "targets of test"
        )
        assert task.leaks(training, {}) is None


class TestFamilies:
    def test_which_fit(self):
        able = {name for name, family in FAMILIES.items() if Forecast().fits(family)}
        floors = {"naive", "seasonal", "ridge"}
        gradient = {"encoder", "transformer", "recurrent", "recurrent_encoder", "convolutional"}
        assert able == floors | gradient

    def test_quantiles_need_a_model_that_predicts_them(self):
        config = ForecastConfig(quantiles=[0.1, 0.5, 0.9])
        for name in ("naive", "seasonal", "ridge"):
            with pytest.raises(ValueError, match=f"^forecast.quantiles are not for .*'{name}'"):
                RunConfig(DATA, task="forecast", forecast=config, model=FAMILIES[name].config())
        assert RunConfig(DATA, task="forecast", forecast=config).model.family == "encoder"

    def test_the_usual_model(self):
        model = RunConfig(DATA, task="forecast").model
        assert (model.family, model.preset, model.pooling) == ("encoder", "series", "all")

    @pytest.mark.parametrize("family", ["encoder", "transformer", "convolutional"])
    def test_learned_positions_count_patches(self, family):
        """512 steps are 32 patches, whatever `data.max_length` is about texts."""
        settings = {"positions": "learned", "max_positions": 64}
        model = FAMILIES[family].config(**settings)
        config = RunConfig(DATA, task="forecast", model=model)
        sizes = VocabularySizes(0, 24, shared=False, vectors=Vectors(1, (512,)), target_features=16)
        build_model(config.model.resolve(100, sizes), sizes)
        few = FAMILIES[family].config(**settings | {"max_positions": 31})
        with pytest.raises(ConfigError) as caught:
            build_model(few.resolve(100, sizes), sizes)
        assert str(caught.value) == (
            "model: max_positions = 31 is less than the 32 patches of an input; raise it to 32, or "
            "set a larger model.input.patch"
        )


def test_the_validation_never_sees_targets_of_the_test():
    """What training and validation read does not change with the values of the test part."""
    values = wave(200)
    changed = values.copy()
    changed[160:] += 1000 * np.random.default_rng(1).normal(size=40)
    found = []
    for each in (values, changed):
        whole = series(each)
        task = Forecast(ForecastConfig(lookback=24, horizon=6))
        task.columns = ("target",)
        corpora = [Corpus(part=(0.0, 0.7)), Corpus(part=(0.7, 0.8))]
        codec_rows = [task.training_values([whole], corpora[0])]
        task = task.fit_codecs(lambda rows=codec_rows: iter(rows), TextConfig())
        store = stored(task, [whole])
        batches = []
        for corpus in corpora:
            windows, _ = task.windows(store, [1], [corpus])
            batches.append(task.batch(windows, np.arange(len(windows))))
        found.append((task.codecs["target"].columns, task.inputs.facts, batches))
    assert found[0][:2] == found[1][:2]
    for ours, theirs in zip(found[0][2], found[1][2], strict=True):
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("part", [(0.7, 0.8), (0.8, 1.0), None], ids=str)
@pytest.mark.parametrize("is_own", [True, False])
def test_scaling_by_series_does_not_read_the_test_either(part, is_own):
    """What a window reads does not change with its targets or later values, wherever it is."""
    values, training = wave(200), [Corpus(file="a.csv", part=(0.0, 0.7))] if is_own else []
    task = fitted([series(values)], lookback=24, horizon=6, scaling="series", normalise="none")
    corpora = [Corpus(file="a.csv", part=part)]
    whole = task.windows(stored(task, [series(values)]), [1], corpora, training=training)[0]
    for index in range(0, len(whole), 13):
        [first] = whole.places(np.array([index])).first
        changed = values.copy()
        changed[first:] += 1000
        other = task.windows(stored(task, [series(changed)]), [1], corpora, training=training)[0]
        ours, theirs = (task.batch(windows, np.array([index]))["src"] for windows in (whole, other))
        assert torch.equal(ours, theirs)
        assert ours.abs().max() < 5


def test_the_parts_of_a_run_are_scaled_alike():
    """Validation and test by the deviation of the training part, not by all steps before them."""
    values = np.cumsum(np.random.default_rng(0).normal(size=300))
    task = fitted([series(values)], lookback=24, horizon=6, scaling="series")
    corpora = [Corpus(file="a.csv", part=part) for part in ((0.0, 0.7), (0.7, 0.8), (0.8, 1.0))]
    store = stored(task, [series(values)])
    found = set()
    for corpus, key in zip(corpora, ("train", "valid", "test"), strict=True):
        windows = task.windows(store, [1], [corpus], key=key, training=corpora[:1])[0]
        target = task.inputs.target
        [[[location, deviation]]] = windows.scales.values * target.deviation + [target.mean[0], 0]
        found.add((round(location, 6), round(deviation, 6)))
    assert found == {(round(values[:210].mean(), 6), round(values[:210].std(), 6))}
