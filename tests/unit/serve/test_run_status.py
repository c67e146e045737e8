"""The training log of a served run, with or without weights."""

import asyncio
import shutil

import pytest
from serve_helpers import Echo, error
from served_runs import LIMITS
from starlette.testclient import TestClient

from headway import api
from headway.run_config import load_run_config
from headway.runs import RunDir
from headway.serve import schema
from headway.serve.app import make_app
from headway.serve.run_status import ServedRun
from headway.serve.validate import RequestValidator


def test_the_log_is_read_anew_each_time(runs, tmp_path):
    shutil.copytree(runs / "mine", tmp_path / "mine")
    log = tmp_path / "mine" / "log.jsonl"
    validator = RequestValidator("mine", api.load(tmp_path / "mine"), LIMITS)
    with TestClient(make_app({"mine": validator}, Echo(), LIMITS)[0]) as client:
        found = client.get("/training?model=mine").json()
        assert found["model"] == "mine"
        assert found["rows"][-1]["step"] == 80
        assert client.get("/training").json() == found  # there is only one
        with log.open("a") as file:
            file.write('{"step": 90, "loss": NaN, "note": "x"}\n{"step": 91, "lo')
        after = client.get("/training").json()["rows"]
        assert after == [*found["rows"], {"step": 90, "loss": None}]
        log.unlink()
        error(client.get("/training"), 503, "failed")  # the manifest lists it
        (tmp_path / "mine" / "manifest.json").unlink()
        assert client.get("/training").json()["rows"] == []


def test_a_damaged_log_is_no_mistake_of_the_client(runs, tmp_path, capfd):
    shutil.copytree(runs / "mine", tmp_path / "mine")
    (tmp_path / "mine" / "log.jsonl").write_text("[]\n")
    validator = RequestValidator("mine", api.load(tmp_path / "mine"), LIMITS)
    with TestClient(make_app({"mine": validator}, Echo(), LIMITS)[0]) as client:
        assert str(tmp_path) not in error(client.get("/training"), 503, "failed")["message"]
    assert "log.jsonl was changed or cut off; restore it" in capfd.readouterr().err


@pytest.mark.parametrize("query", ["?model=other", "?model=%00", "?model=%ff", "?model=", ""])
def test_training_of_a_model_that_is_not_served(client, query):
    found = error(client.get(f"/training{query}"), 422, "invalid")
    assert found["field"] == "model"
    assert "'mine', 'labels', 'lines'" in found["message"]


def test_a_run_without_weights_is_watched(runs, tmp_path, validators):
    shutil.copytree(runs / "mine", tmp_path / "new")
    (tmp_path / "new" / "model.safetensors").unlink()
    run = RunDir.open(tmp_path / "new")
    both = {"new": ServedRun("new", run, load_run_config(run)), "mine": validators["mine"]}
    app, service = make_app(both, Echo(), LIMITS)
    asyncio.run(service.warm_up())
    with TestClient(app) as client:
        model = client.get("/models").json()["models"][0]
        schema.ModelInfo.model_validate(model)
        assert (model["name"], model["verbs"], model["parameters"]) == ("new", [], None)
        rows = client.get("/training?model=new").json()["rows"]
        assert rows[-1]["step"] == max(record.get("step", 0) for record in run.log.read())
        for path, body in (("/inspect", {"text": "a"}), ("/translate", {"texts": ["a"]})):
            found = error(client.post(path, json={"model": "new", **body}), 422, "invalid")
            assert found["message"].startswith("model 'new' has no weights yet, only its training")
            assert found["field"] == "model"
