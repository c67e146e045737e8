"""Forecasts as PNG: what is drawn, and what is refused."""

import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from headway.errors import MissingExtra
from headway.view import forecast_png as module
from headway.view.forecast_png import FORECAST, INK, forecast_png


def window(times=None, history=None, truth=None, **more):
    n, horizon = 30, 6
    days = [str(np.datetime64("2024-01-01") + i) for i in range(n + horizon)]
    plain = {
        "series": "",
        "column": "sales $5 日",
        "times": times or days,
        "history": history or [float(i % 7) for i in range(n)],
        "forecast": [2.0] * horizon,
        "truth": truth,
        "bands": [{"level": 0.8, "low": [1.0] * horizon, "high": [3.0] * horizon}],
        "floors": {"naive": [1.0] * horizon, "ridge": [2.5] * horizon},
    }
    return plain | more


def pixels(png, colour):
    """The number of pixels near a colour."""
    image = np.asarray(Image.open(BytesIO(png)).convert("RGB")).astype(int)
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return int((np.abs(image - wanted).max(-1) < 12).sum())


def test_history_forecast_and_truth_are_drawn():
    png = forecast_png(window())
    assert pixels(png, INK) > 1000
    assert pixels(png, FORECAST) > 500
    assert pixels(forecast_png(window(truth=[4.0] * 6)), INK) > pixels(png, INK) + 100


def test_a_gap_is_not_drawn_over():
    history = [float(i % 7) for i in range(30)]
    gap = [None if 12 <= i < 20 else value for i, value in enumerate(history)]
    assert pixels(forecast_png(window(history=gap)), INK) < pixels(forecast_png(window()), INK)


def test_a_strip_shows_the_patches_that_the_forecast_draws_on():
    looks = [((0, 9), 0.1), ((10, 19), 0.6), ((20, 29), 0.3)]
    png = forecast_png(window(), looks)
    assert pixels(png, FORECAST) > pixels(forecast_png(window()), FORECAST) + 1000
    assert pixels(png, INK) > 1000


def test_steps_may_have_numbers():
    png = forecast_png(window(times=[str(i - 3) for i in range(36)]))
    assert png.startswith(b"\x89PNG")


def test_the_first_simple_model_and_ridge():
    drawn = [name for name, _ in module._floors({"naive": [], "seasonal": [], "ridge": []})]
    assert drawn == ["seasonal", "ridge"]
    assert module._floors({}) == []


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match="plot"):
        forecast_png(window())
