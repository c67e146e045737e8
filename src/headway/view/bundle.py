"""Joins the modules in `assets` into one script, so that a page works from a file."""

import re
from functools import cache
from importlib import resources

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


@cache
def asset(name: str) -> str:
    """The text of a file in `assets`."""
    return resources.files("headway.view").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def bundle_script(entry: str) -> str:
    """A module and its imports as one script, each in its own scope, imported modules first."""
    scopes: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"{name}.js imports itself through {' and '.join(importers)}")
        if name in scopes:
            return
        source = asset(f"{name}.js")
        for _, imported in _IMPORT.findall(source):
            add(imported, (*importers, name))
        exported = ", ".join(_EXPORT.findall(source))
        body = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = $\2;\n", source))
        scopes[name] = f"const ${name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    add(entry, ())
    return "".join(scopes.values())
