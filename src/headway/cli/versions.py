"""The output of `headway --version`: headway, Python, torch and the optional packages.

It does not import torch, which would take longer than all the rest.
"""

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

from ..errors import DISTRIBUTION, own_version

# Extras for developers of headway.
INTERNAL = frozenset({"test", "dev", "docs"})
BUILDS = {"cuda": "CUDA", "hip": "ROCm", "xpu": "XPU"}


def versions() -> Iterator[str]:
    """The lines of the output; scripts read the first one."""
    yield f"headway {own_version()}"
    yield f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield torch_line()
    yield f"threads: {threads()}"
    extras = optional_packages()
    width = max((len(extra) for extra in extras), default=0)
    if extras:
        yield "extras:"
    for extra, packages in extras.items():
        known = [(package, _installed(package)) for package in packages]
        yield f"  {extra:<{width}}  " + ", ".join(
            f"{package} {number or '(not installed)'}" for package, number in known
        )


def torch_line() -> str:
    """Version and build of torch: CPU, or the accelerator with its version."""
    number = _installed("torch")
    if number is None:
        return "torch (not installed)"
    spec = util.find_spec("torch")
    file = Path(spec.origin).with_name("version.py") if spec and spec.origin else None
    if file is None or not file.is_file():
        return f"torch {number}"
    return f"torch {number}, {build(file.read_text(encoding='utf-8'))} build"


def build(text: str) -> str:
    """The accelerator that `torch/version.py` names, or CPU."""
    for name, label in BUILDS.items():
        if match := re.search(rf"^{name}\b[^=\n]*= *['\"]([^'\"]+)", text, re.MULTILINE):
            return f"{label} {match[1]}"
    return "CPU"


def threads() -> int:
    """The default number of threads of torch."""
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    if hasattr(os, "sched_getaffinity"):  # Linux: the cores this process may use
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def optional_packages() -> dict[str, list[str]]:
    """The packages of each extra, from the metadata of the installed package."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    packages: dict[str, list[str]] = {}
    for line in required:
        extra = re.search(r"extra *== *['\"]([\w-]+)['\"]", line)
        name = re.match(r"[\w.-]+", line)
        if extra and name and extra[1] not in INTERNAL:
            packages.setdefault(extra[1], []).append(name[0])
    return packages


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
