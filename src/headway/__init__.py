"""headway trains, decodes, shows and serves attention models on your own sequences.

    import headway

    config = headway.read_config("run.toml")
    headway.train(config, "runs/mine")
    print(headway.load("runs/mine").translate(["a man in a hat"])[0].text)

The names below are imported when first used, so that `import headway` is fast.
"""

from importlib import import_module
from typing import Any

_API = (
    "Attention",
    "Evaluation",
    "Output",
    "RunConfig",
    "Scored",
    "Translation",
    "Translator",
    "load",
    "read_config",
    "resume",
    "train",
)
__all__ = list(_API)


def __getattr__(name: str) -> Any:
    if name in _API:
        return getattr(import_module(".api", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
