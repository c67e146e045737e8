"""headway trains, decodes, shows and serves attention models on your own sequences.

    import headway

    model = headway.train(headway.read_config("run.toml"), "runs/mine")
    print(model.translate(["a man in a hat"])[0].text)
    model = headway.load("runs/mine")  # later

What `headway.api` offers stands here too; it is imported when first used, so that `import headway`
is fast.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        api = import_module(".api", __name__)
        if name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
