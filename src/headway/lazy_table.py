"""Tables by name whose rows are imported on first use.

A program that translates with a model loads its family and its task, not all of them.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Generic, TypeVar

Row = TypeVar("Row")


class LazyTable(MutableMapping[str, Row], Generic[Row]):
    """A mapping from names to rows, declared as `module:attribute`.

    Names are known without any import. A row may also be set directly.

    Args:
        package: the package of relative module names.
        rows: the location of each row by name, such as `.transformer:TRANSFORMER`.
    """

    def __init__(self, package: str, rows: Mapping[str, str]) -> None:
        self._package = package
        self._rows: dict[str, str | Row] = dict(rows)
        self._loaded: dict[str, Row] = {}

    def __getitem__(self, name: str) -> Row:
        if name not in self._loaded:
            module, _, attribute = str(self._rows[name]).partition(":")
            self._loaded[name] = getattr(import_module(module, self._package), attribute)
        return self._loaded[name]

    def __setitem__(self, name: str, row: Row) -> None:
        self._rows[name] = self._loaded[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]
        self._loaded.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"LazyTable({', '.join(self)})"
