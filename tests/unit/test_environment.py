"""The facts that exact resuming depends on, and the refusal to go on under others."""

import pytest
import torch

from headway.environment import current_environment, require_same_environment
from headway.errors import RunError
from headway.runs import RunDir


def test_facts_of_this_process(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    facts = current_environment("cpu")
    assert (facts["torch"], facts["device"], facts["processes"]) == (torch.__version__, "cpu", 2)
    assert facts["threads"] == torch.get_num_threads()
    monkeypatch.delenv("WORLD_SIZE")
    assert current_environment("cpu")["processes"] == 1


def test_every_other_fact_is_named(tmp_path):
    run = RunDir.create(tmp_path / "run", {"torch": "1", "threads": 2, "old": True})
    with pytest.raises(RunError) as caught:
        require_same_environment(run, {"torch": "1", "threads": 4, "device": "cpu"})
    assert str(caught.value) == (
        f"{run.path} cannot go on exactly: threads was 2 and is 4; device was None and is cpu; "
        "restore that, or add `inexact=True`"
    )


def test_the_same_facts_may_go_on(tmp_path):
    facts = current_environment("cpu")
    run = RunDir.create(tmp_path / "run", facts)
    require_same_environment(run, facts)
    assert run.facts == facts
