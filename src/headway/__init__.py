"""headway trains, decodes, shows and serves attention models on your own sequences.

    import headway

    model = headway.train(headway.read_config("run.toml"), "runs/mine")
    print(model.translate(["a man in a hat"])[0].text)
    model = headway.load("runs/mine")  # later

All names of `headway.api` are here too. It is imported when one of them is first used, so that
`import headway` is fast.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module(".api", __name__).__all__})


def __getattr__(name: str) -> Any:
    # `from . import config` asks here first: a submodule is not a public name.
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
        api = import_module(".api", __name__)
        if name in api.__all__ or name in api.OLD_NAMES:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
