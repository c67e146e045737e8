"""Whether the packages of the extra `serve` are there: asked before anything else takes time."""

from importlib import import_module

from ..errors import MissingExtra

PACKAGES = {"fastapi": "fastapi", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client"}
"""Their names by those under which they are imported."""


def require_extras() -> None:
    """Imports them.

    Raises:
        MissingExtra: one is not installed.
    """
    for module, package in PACKAGES.items():
        try:
            import_module(module)
        except ModuleNotFoundError:
            raise MissingExtra("headway serve", package, "serve") from None
