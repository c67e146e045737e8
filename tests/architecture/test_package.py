"""The package as it is handed out: one name everywhere, and a Dockerfile that fits the rest."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from docs_pages import PAGES, ROOT

from headway.cli.program import VERBS
from headway.errors import DISTRIBUTION, install_hint
from headway.serve.app import PATHS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SPEAKING = [
    *PAGES,
    *(ROOT / name for name in ("Makefile", "Dockerfile", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "recipes").rglob("*.toml")),
    *sorted((ROOT / "benchmarks").glob("*.py")),
]
# `headway` itself as what pip installs, quoted or not, with extras or without.
FOREIGN = re.compile(r"pip install (?:-\S+ )*[\"']?headway(?![\w-])")


def text_of(name: str | Path) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pin(package: str) -> str:
    [found] = re.findall(rf"^{package}==(\S+)$", text_of("constraints.txt"), re.MULTILINE)
    return found


# The name


def test_the_name_is_that_of_the_project_file():
    assert PROJECT["name"] == DISTRIBUTION
    assert list(PROJECT["scripts"]) == ["headway"]


@pytest.mark.parametrize(
    ("text", "is_foreign"),
    [
        ("pip install headway", True),
        ("pip install 'headway[serve]'", True),
        ("pip install -U headway\n", True),
        ("pip install 'headway-attention[serve]'", False),
        ("pip install .", False),
    ],
)
def test_the_pattern(text, is_foreign):
    assert bool(FOREIGN.search(text)) == is_foreign


def test_nobody_is_told_to_install_the_other_project():
    for path in SPEAKING:
        assert not FOREIGN.search(text_of(path)), path


def test_every_extra_has_a_row_on_the_install_page():
    rows = re.findall(r"^\| `(\w+)` \|", text_of("docs/install.md"), re.MULTILINE)
    assert rows == [extra for extra in EXTRAS if extra not in ("test", "docs", "dev")]
    assert install_hint("serve") == "pip install 'headway-attention[serve]'"


def test_torch_has_one_version():
    named = re.findall(r"torch==([\d.]+)", text_of("Makefile") + text_of("Dockerfile"))
    assert set(named) == {pin("torch")}


def test_every_target_is_in_the_help():
    makefile = text_of("Makefile")
    [phony] = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    listed = re.findall(r'^\t@echo "make (\w+)', makefile, re.MULTILINE)
    assert set(listed) == set(phony.split()) - {"help"}


# The Dockerfile


def instructions() -> list[tuple[str, str]]:
    """Instruction and rest of each line; comments are gone and continued lines are one."""
    lines = [line for line in text_of("Dockerfile").splitlines() if not line.startswith("#")]
    joined = re.sub(r" *\\\n *", " ", "\n".join(lines))
    return [(line.split()[0], line.split(None, 1)[1]) for line in joined.splitlines() if line]


def rests(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def test_two_stages_of_one_pinned_python():
    images = [rest.split()[0] for rest in rests("FROM")]
    assert len(images) == 2
    assert len(set(images)) == 1
    version = re.fullmatch(r"python:(3\.\d+)\.\d+-slim-\w+", images[0])
    assert version
    assert f"Programming Language :: Python :: {version[1]}" in PROJECT["classifiers"]
    assert rests("FROM")[0].endswith(" AS build")
    assert "--from=build /opt/headway /opt/headway" in rests("COPY")


def test_what_is_copied_is_there():
    for rest in rests("COPY"):
        if "--from" not in rest:
            *sources, _ = rest.split()
            for source in sources:
                assert (ROOT / source).exists(), source
    ignored = text_of(".dockerignore").split()
    assert not {"src", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"} & set(ignored)
    assert {".git", ".venv", "runs"} <= set(ignored)


def test_the_cpu_build_comes_first_and_versions_are_pinned():
    installs = [rest for rest in rests("RUN") if "pip install" in rest]
    assert len(installs) == 2
    assert '${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch==' in installs[0]
    assert "-c constraints.txt" in installs[1]
    [extra] = re.findall(r"'\.\[(\w+)\]'", installs[1])
    assert extra == "serve"
    assert all("--no-cache-dir" in install for install in installs)


def test_it_does_not_run_as_root():
    names = [name for name, _ in instructions()]
    [user] = rests("USER")
    assert user not in ("root", "0")
    assert any(rest.startswith("useradd") and rest.endswith(f" {user}") for rest in rests("RUN"))
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_it_starts_a_command_that_exists():
    words = json.loads(rests("ENTRYPOINT")[0])
    assert words[:2] == ["headway", "serve"]
    app = typer.Typer()
    app.command()(VERBS["serve"])
    known = {option for p in typer.main.get_command(app).params for option in p.opts}
    assert {word for word in words if word.startswith("--")} <= known
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert options == {"--host": "0.0.0.0", "--port": rests("EXPOSE")[0]}
    [run] = json.loads(rests("CMD")[0])
    assert f":{run}:ro" in text_of("docs/install.md")


def test_the_health_check_asks_a_path_that_exists():
    [rest] = rests("HEALTHCHECK")
    program, option, code = json.loads(rest.partition(" CMD ")[2])
    assert (program, option) == ("python", "-c")
    compile(code, "health check", "exec")
    port, path = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", code)[0]
    assert (port, path in PATHS) == (rests("EXPOSE")[0], True)
    assert {word.split("=")[0] for word in shlex.split(rest.partition(" CMD ")[0])} == {
        "--interval",
        "--timeout",
        "--start-period",
    }
