"""Tables by name whose rows are imported when they are first used.

A program that translates with one model loads one family and one task, not all of them.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Generic, TypeVar

Row = TypeVar("Row")


class LazyTable(MutableMapping[str, Row], Generic[Row]):
    """A mapping from names to rows, given as `module:attribute`.

    Names are known without any import. A row may also be set as it is.

    Args:
        package: what relative module names start from.
        rows: where the row of each name is, such as `.transformer:TRANSFORMER`.
    """

    def __init__(self, package: str, rows: Mapping[str, str]) -> None:
        self._package = package
        self._rows: dict[str, str | Row] = dict(rows)
        self._loaded: dict[str, Row] = {}

    def __getitem__(self, name: str) -> Row:
        if name not in self._loaded:
            where = self._rows[name]
            module, _, attribute = str(where).partition(":")
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
