"""Devices, precisions and compilers: the choice, and the notes when one is missing."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from headway import device
from headway.device import autocast, compile_model, pick_device
from headway.errors import ConfigError

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("cuda", "mps", "name"), [(False, False, "cpu"), (True, True, "cuda"), (False, True, "mps")]
)
def test_auto_prefers_cuda_then_apple(monkeypatch, cuda, mps, name):
    requested = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(
        device.torch, "zeros", lambda size, device: requested.append(device) or torch.ones(size)
    )
    assert pick_device("auto") == CPU  # the device of the fake tensor
    assert requested == [name]


@pytest.mark.parametrize("name", ["gpu", "meta:x"])
def test_a_device_that_is_not_there(name):
    with pytest.raises(ConfigError) as caught:
        pick_device(name)
    assert str(caught.value).startswith(f"device = {name!r} cannot be used here (")
    assert str(caught.value).endswith("); try 'auto'")
    assert "\n" not in str(caught.value)


def test_fp32_is_no_context():
    notes = []
    assert autocast(CPU, "fp32", notes.append) is nullcontext
    assert notes == []


@pytest.mark.parametrize("has_it", [True, False])
def test_bfloat16_where_the_hardware_has_it(monkeypatch, has_it):
    notes = []
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_it)
    with autocast(CPU, "bf16", notes.append)():
        product = torch.ones(1, 1) @ torch.ones(1, 1)
    assert product.dtype == (torch.bfloat16 if has_it else torch.float32)
    assert notes == ([] if has_it else ["this cpu has no bfloat16 arithmetic; computing in fp32"])


@pytest.mark.parametrize("setting", ["off", "auto"])
def test_a_cpu_compiles_only_when_asked(setting):
    notes = []
    assert compile_model(torch.nn.Identity(), setting, CPU, notes.append) is False
    assert notes == []


def test_without_a_compiler_it_is_said(monkeypatch):
    notes = []
    monkeypatch.setattr(device.shutil, "which", lambda name: None)
    assert compile_model(torch.nn.Identity(), "on", CPU, notes.append) is False
    assert notes == ["there is no C++ compiler; training without torch.compile"]


def test_a_model_is_compiled_in_place(monkeypatch):
    model, calls = torch.nn.Identity(), []
    monkeypatch.setattr(device.shutil, "which", lambda name: name)
    monkeypatch.setattr(model, "compile", lambda **settings: calls.append(settings))
    stand_in = SimpleNamespace(config=SimpleNamespace(suppress_errors=False))
    monkeypatch.setitem(vars(torch), "_dynamo", stand_in)  # the real one takes seconds to import
    assert compile_model(model, "on", CPU, print) is True
    assert calls == [{"dynamic": True}]
    assert stand_in.config.suppress_errors
