"""What `headway --version` prints: versions of headway, Python, torch and the optional packages.

Nothing of it imports torch, which alone takes longer than everything else here.
"""

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

from ..errors import DISTRIBUTION, own_version

# Extras of those who work on headway, not of those who use it.
INTERNAL = frozenset({"test", "dev", "docs"})
BUILDS = {"cuda": "CUDA", "hip": "ROCm", "xpu": "XPU"}


def versions() -> Iterator[str]:
    """The lines; scripts read the first one."""
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
    """Version and build of torch: CPU, or the accelerator with the version it is made for."""
    number = _installed("torch")
    if number is None:
        return "torch (not installed)"
    found = util.find_spec("torch")
    file = Path(found.origin).with_name("version.py") if found and found.origin else None
    if file is None or not file.is_file():
        return f"torch {number}"
    return f"torch {number}, {build(file.read_text(encoding='utf-8'))} build"


def build(text: str) -> str:
    """The accelerator that `torch/version.py` names, or CPU."""
    for name, label in BUILDS.items():
        if found := re.search(rf"^{name}\b[^=\n]*= *['\"]([^'\"]+)", text, re.MULTILINE):
            return f"{label} {found[1]}"
    return "CPU"


def threads() -> int:
    """How many threads torch takes unless told otherwise."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):  # Linux: the cores this process may use
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def optional_packages() -> dict[str, list[str]]:
    """The packages of each extra, from the metadata of the installed package."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in required:
        extra = re.search(r"extra *== *['\"]([\w-]+)['\"]", line)
        name = re.match(r"[\w.-]+", line)
        if extra and name and extra[1] not in INTERNAL:
            found.setdefault(extra[1], []).append(name[0])
    return found


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
