"""Small trained runs to serve, one of each task, and applications around them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_runs import LIMITS, READING, make_served_runs
from starlette.testclient import TestClient
from viewed_series import make_forecast_runs

from headway import api
from headway.serve.app import make_app
from headway.serve.engine import Engine
from headway.serve.validate import RequestValidator
from headway.serve.workers import ThreadWorker

SERIES = "plain"
"""The run that forecasts."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of `make_served_runs`."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        make_served_runs(folder)
        make_forecast_runs(folder, SERIES)
    return folder


@pytest.fixture(scope="session")
def trained(runs: Path) -> dict[str, api.Translator]:
    """The runs, loaded."""
    return {name: api.load(runs / name) for name in ("mine", "labels", "lines", *READING, SERIES)}


@pytest.fixture(scope="session")
def validators(trained) -> dict[str, RequestValidator]:
    return {name: RequestValidator(name, one, LIMITS) for name, one in trained.items()}


@pytest.fixture(scope="session")
def engines(trained) -> dict[str, Engine]:
    return {name: Engine(one) for name, one in trained.items()}


@pytest.fixture
def make(validators, engines):
    """Makes applications, which end with the test."""
    pools = []

    def made(limits=LIMITS, token=None, only=None, work=None, **options):
        chosen = {
            name: RequestValidator(name, validator.trained, limits)
            for name, validator in validators.items()
            if only is None or name in only
        }
        pool = ThreadWorker(engines)
        if work is not None:
            pool.answer = work
        pools.append(pool)
        return make_app(chosen, pool, limits, token, **options)

    yield made
    for pool in pools:
        pool.close()


@pytest.fixture
def client(make) -> Iterator[TestClient]:
    """Asks an application with all the runs."""
    with TestClient(make()[0], raise_server_exceptions=True) as asking:
        yield asking
