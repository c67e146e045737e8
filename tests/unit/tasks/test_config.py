"""The settings of `[answer]` and `[forecast]`: defaults, bounds and messages of a run file."""

import pytest

from headway.config import load, parse, to_toml
from headway.errors import ConfigError
from headway.run_config import RunConfig
from headway.tasks.config import AnswerConfig, ForecastConfig

RUN_FILE = 'task = "answer"\ndata.train = "rows.jsonl"\n'
PART, SHARE = "a number of at least 0 and less than 1", "a number of at least 0 and of at most 1"
COUNT = "a whole number of at least 1"


def test_an_empty_table_has_the_defaults():
    assert parse({}, AnswerConfig, "run.toml") == AnswerConfig(0.5, 0.1, 30)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"overlap": 0, "elsewhere": 0, "longest": 1}, AnswerConfig(0.0, 0.0, 1)),
        ({"overlap": 0.999, "elsewhere": 1}, AnswerConfig(0.999, 1.0, 30)),
    ],
    ids=["smallest", "largest"],
)
def test_bounds_are_part_of_the_range_unless_said(settings, expected):
    config = parse(settings, AnswerConfig, "run.toml")
    assert config == expected
    assert (type(config.overlap), type(config.elsewhere)) == (float, float)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"overlap": 1}, f"overlap = 1: expected {PART}"),
        ({"overlap": -0.1}, f"overlap = -0.1: expected {PART}"),
        ({"overlap": "half"}, f'overlap = "half": expected {PART}'),
        ({"elsewhere": 1.5}, f"elsewhere = 1.5: expected {SHARE}"),
        ({"elsewhere": float("nan")}, f"elsewhere = nan: expected {SHARE}"),
        ({"longest": 0}, f"longest = 0: expected {COUNT}"),
        ({"longest": 2.5}, f"longest = 2.5: expected {COUNT}"),
        ({"longst": 3}, "unknown key longst; did you mean longest?"),
    ],
    ids=str,
)
def test_values_out_of_range(settings, message):
    with pytest.raises(ConfigError) as caught:
        parse(settings, AnswerConfig, "run.toml")
    assert str(caught.value) == f"run.toml: {message}"


def test_all_mistakes_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        parse({"overlap": 1, "longest": 0}, AnswerConfig, "run.toml")
    assert str(caught.value).splitlines() == [
        f"run.toml: overlap = 1: expected {PART}",
        f"run.toml: longest = 0: expected {COUNT}",
    ]


def test_a_run_file_gives_them_to_the_task_and_writes_them_back(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(f"{RUN_FILE}[answer]\noverlap = 0.25\nlongest = 8\n")
    config = load(file, RunConfig)
    assert config.make_task().config == config.answer == AnswerConfig(0.25, 0.1, 8)
    file.write_text(to_toml(config))
    assert load(file, RunConfig).answer == config.answer


def test_a_mistake_is_named_with_its_table(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(f"{RUN_FILE}[answer]\nlongest = 0\n")
    with pytest.raises(ConfigError) as caught:
        load(file, RunConfig)
    assert str(caught.value) == f"{file}: answer.longest = 0: expected {COUNT}"


def test_a_run_file_without_the_table_has_the_defaults(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(RUN_FILE)
    assert load(file, RunConfig).answer == AnswerConfig()


class TestForecast:
    def message(self, **settings):
        with pytest.raises(ConfigError) as caught:
            parse(settings, ForecastConfig, "run.toml")
        return str(caught.value)

    def test_an_empty_table_has_the_defaults(self):
        config = parse({}, ForecastConfig, "run.toml")
        assert config == ForecastConfig()
        assert (config.horizon, config.lookback, config.season, config.split) == (24, *[None] * 3)
        assert (config.quantiles, config.levels, config.calendar) == (None, None, None)

    def test_a_full_table(self):
        settings = {
            "horizon": 96,
            "lookback": 336,
            "season": 24,
            "split": [0.7, 0.1, 0.2],
            "channels": "mixed",
            "scaling": "series",
            "normalise": "last",
            "calendar": ["hour", "weekday"],
            "loss": "mse",
            "quantiles": [0.1, 0.5, 0.9],
            "levels": [0.5, 0.95],
            "stride": 2,
            "step": 24,
        }
        config = parse(settings, ForecastConfig, "run.toml")
        assert {name: getattr(config, name) for name in settings} == settings

    def test_splits_may_be_steps_or_dates(self):
        for split in ([8640, 2880, 2880], ["2017-07-01", "2017-11-01"]):
            assert parse({"split": split}, ForecastConfig, "run.toml").split == split

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"horizon": 0}, f"horizon = 0: expected {COUNT}"),
            ({"lookback": 0}, f'lookback = 0: expected {COUNT} or "none"'),
            ({"season": 0}, f'season = 0: expected {COUNT} or "none"'),
            ({"stride": 0}, f"stride = 0: expected {COUNT}"),
            ({"step": 0}, f"step = 0: expected {COUNT}"),
            ({"channels": "all"}, 'channels = "all": expected one of "apart", "mixed"'),
            ({"scaling": 1}, 'scaling = 1: expected one of "column", "series", "none" or "none"'),
            ({"normalise": "mean"}, 'normalise = "mean": expected one of "window", "last", "none"'),
            ({"loss": "rmse"}, 'loss = "rmse": expected one of "mse", "mae"; did you mean "mse"?'),
            (
                {"quantiles": [0.1, 0.9]},
                "quantiles = [0.1, 0.9] has no 0.5, which is the forecast; add it",
            ),
            (
                {"quantiles": [0.9, 0.5, 0.1]},
                "quantiles = [0.9, 0.5, 0.1] is not ascending; sort it, each number once",
            ),
            (
                {"levels": [0.8, 0.8]},
                "levels = [0.8, 0.8] is not ascending; sort it, each number once",
            ),
            ({"look_back": 3}, "unknown key look_back; did you mean lookback?"),
        ],
        ids=str,
    )
    def test_values_that_are_refused(self, settings, message):
        assert self.message(**settings) == f"run.toml: {message}"

    @pytest.mark.parametrize("settings", [{"quantiles": [0.5, 1.0]}, {"levels": [0.0]}], ids=str)
    def test_quantiles_and_levels_lie_between_0_and_1(self, settings):
        assert "expected a number greater than 0 and less than 1" in self.message(**settings)

    def test_an_unknown_fact_of_the_calendar(self):
        found = self.message(calendar=["hour", "holiday"])
        assert "calendar" in found
        assert (
            'expected one of "minute", "hour", "weekday", "monthday", "yearday", "month"' in found
        )

    def test_no_quantiles_are_none_at_all(self):
        assert "quantiles" in self.message(quantiles=[])

    def test_the_table_is_for_forecasts_alone(self, tmp_path):
        file = tmp_path / "run.toml"
        file.write_text(f"{RUN_FILE}[forecast]\nhorizon = 3\n")
        with pytest.raises(ConfigError) as caught:
            load(file, RunConfig)
        assert str(caught.value).endswith(
            '[forecast] is for task = "forecast", and this run file has task = "answer"; leave it '
            "out"
        )

    def test_a_run_file_writes_it_back(self, tmp_path):
        file = tmp_path / "run.toml"
        text = 'task = "forecast"\ndata.train = "a.csv"\n[forecast]\nsplit = [5, 6, 7]\n'
        file.write_text(text)
        config = load(file, RunConfig)
        file.write_text(to_toml(config))
        assert load(file, RunConfig).forecast == config.forecast == ForecastConfig(split=[5, 6, 7])
