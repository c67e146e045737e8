"""How the modules in `assets` are joined into one script, and what they may do."""

import re
from importlib import resources

import pytest

from headway.view import bundle
from headway.view.bundle import bundle_script

ASSETS = resources.files("headway.view").joinpath("assets")
MODULES = sorted(
    path.name.removesuffix(".js") for path in ASSETS.iterdir() if path.name[-3:] == ".js"
)
ENTRIES = ("inspection_page", "report_page")


def test_every_module_is_in_a_page_and_once():
    bundled = set()
    for entry in ENTRIES:
        script = bundle_script(entry)
        names = re.findall(r"^const \$(\w+) = \(\(\) => \{$", script, re.M)
        assert len(names) == len(set(names))
        assert names[-1] == entry
        assert not re.search(r"^(import|export) ", script, re.M)
        bundled |= set(names)
    assert sorted(bundled) == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_modules_import_what_others_export(name):
    source = bundle.asset(f"{name}.js")
    for names, other in bundle._IMPORT.findall(source):
        exported = bundle._EXPORT.findall(bundle.asset(f"{other}.js"))
        wanted = {word.strip() for word in names.split(",") if word.strip()}
        assert wanted <= set(exported), other
        for word in wanted:
            assert len(re.findall(rf"\b{re.escape(word)}\b", source)) > 1, f"{word} is not used"


@pytest.mark.parametrize("name", MODULES)
def test_modules_never_write_markup_or_look_elsewhere(name):
    source = bundle.asset(f"{name}.js")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source
    )
    assert set(re.findall(r"https?://[^\"' ]+", source)) <= {"http://www.w3.org/2000/svg"}
    assert len(source.splitlines()) < 360
    assert source.startswith("/**")


def test_modules_that_import_each_other_are_refused(monkeypatch):
    sources = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    monkeypatch.setattr(bundle, "asset", sources.__getitem__)
    with pytest.raises(ValueError, match=r"a\.js imports itself through a and b"):
        bundle_script.__wrapped__("a")


def test_modules_are_joined_in_order_of_need(monkeypatch):
    sources = {
        "a.js": 'import { b, c } from "./b.js";\nexport function a() {\n  return b;\n}\n',
        "b.js": "export const b = 1;\nexport class c {}\n",
    }
    monkeypatch.setattr(bundle, "asset", sources.__getitem__)
    assert bundle_script.__wrapped__("a") == (
        "const $b = (() => {\nconst b = 1;\nclass c {}\nreturn { b, c };\n})();\n"
        "const $a = (() => {\nconst { b, c } = $b;\n"
        "function a() {\n  return b;\n}\nreturn { a };\n})();\n"
    )
