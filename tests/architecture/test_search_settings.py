"""A new search rule is a declared setting and a class: nothing outside `search` knows either.

One test reads the sources for tables that name settings by hand, one the pages. Another makes the
change, a minimum number of words, in a copy of the package, and asks every user of settings about
it.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from headway.search import SETTINGS

ROOT = Path(__file__).parents[2]
PACKAGE, DOCS = ROOT / "src" / "headway", ROOT / "docs"
FLAGS = {setting.flag for setting in SETTINGS.values() if setting.commands}
ALLOWED = {
    "cli/study.py": "--seed is that of a study",
    "compare/search_report.py": "the figures of a report, and what a beam and the argmax differ in",
    "config/synonyms.py": "other toolkits' names of settings",
    "interop/hugging_face/generation_config.py": "entries that count otherwise than the setting",
}
"""Files that may name settings, and why."""


def tables(package: Path) -> Iterator[tuple[str, int, list[str]]]:
    """File, line and names of whatever lists settings or flags, outside the room `search`."""
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package).as_posix()
        if where.startswith("search/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if len(names := _named(node) & set(SETTINGS)) > 1:
                yield where, node.lineno, sorted(names)
            elif isinstance(node, ast.Constant) and node.value in FLAGS:
                yield where, node.lineno, [node.value]


def _named(node: ast.AST) -> set[str]:
    """Strings of a collection, parameters of a function, or attributes that a class declares."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        parts = node.keys if isinstance(node, ast.Dict) else node.elts
        return {one.value for one in parts if isinstance(one, ast.Constant)} - {None}
    if isinstance(node, ast.FunctionDef):
        return {one.arg for one in [*node.args.args, *node.args.kwonlyargs]}
    if isinstance(node, ast.ClassDef):
        declared = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
        return {one.id for one in declared if isinstance(one, ast.Name)}
    return set()


def test_no_table_names_search_settings():
    found = [
        f"{where}:{line}: {names}" for where, line, names in tables(PACKAGE) if where not in ALLOWED
    ]
    assert not found, "derive it from headway.search.SETTINGS:\n" + "\n".join(found)


def test_what_is_allowed_is_needed():
    assert {where for where, _, _ in tables(PACKAGE)} == set(ALLOWED)


def test_the_checker_sees(tmp_path):
    sources = {
        "bounds.py": 'BOUNDS = ("max_length", "no_repeat")',
        "names.py": 'NAMES = {"alpha": 1, "top_k": 2}',
        "flag.py": 'option("--no-repeat")',
        "take.py": "def take(run, min_length=None, *, no_repeat=None): ...",
        "model.py": "class Model:\n    alpha: float\n    beam: int",
        "fine.py": 'LIMITS = ("max_length", "max_words")\nprint(config.alpha, config.beam)',
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    assert {where for where, _, _ in tables(tmp_path)} == set(sources) - {"fine.py"}


# The pages


def test_pages_name_the_settings_that_apply():
    serve, generate, export = (
        (DOCS / f"{name}.md").read_text("utf-8") for name in ("serve", "generate", "export")
    )
    [request] = [line for line in serve.splitlines() if line.startswith("| `/generate` |")]
    [shared] = re.findall(r"`generate` takes only (.*?) from", generate)
    for setting in SETTINGS.values():
        assert ("generate" in setting.requests) == (f"`{setting.name}`" in request), setting.name
        assert setting.prompts.is_shared == (f"`{setting.name}`" in shared), setting.name
        if setting.methods != ("exhaustive",):
            assert f"search.{setting.name}" in export, setting.name


# The change


SETTING = '''
    low_words: Annotated[int, Ge(0)] = setting(
        default=0,
        validation=True,
        prompts=PromptUse(is_shared=True),
        hugging_face=NoEntry("words are not counted"),
        ctranslate2=False,
        methods=("beam", "sample"),
        commands=("translate", "generate"),
        requests=("generate",),
        cost="tokens",
    )
    """The shortest output in words; 0 is off. Words are what white space separates."""

'''
RULE = '''

from .length import length_limits


class LowWordsRule(LogitsRule):
    """END does not come before an output has enough words."""

    settings = ("low_words",)

    def __init__(self, n: int, eos: int, spellings: TokenBytes, limits: Tensor) -> None:
        self._n, self._eos, self._spellings, self._limits = n, eos, spellings, limits

    @classmethod
    def make(cls, inputs: RuleInputs) -> Self:
        spellings = inputs.token_bytes("low_words counts words")
        limits = inputs.limits
        if limits is None:
            limits = length_limits(inputs.batch, inputs.config)
        return cls(inputs.config.low_words, inputs.eos, spellings, limits)

    def apply(self, logits: Tensor, past: Tensor, rows: Tensor, is_free: Tensor) -> None:
        has_room = self._limits[rows] > past.size(2) + 1  # for more than the end token (B,)
        for i, hypotheses in enumerate(past.tolist()):
            for j, tokens in enumerate(hypotheses):
                if has_room[i] and len(self._spellings.write(tokens).split()) < self._n:
                    logits[i, j, self._eos] = -torch.inf


'''
USERS = """
import torch
import typer
from headway.cli.program import VERBS, _app
from headway.config import describe
from headway.errors import ConfigError
from headway.inference.language_model import generation_config
from headway.interop.ctranslate2.engine import require_supported
from headway.interop.hugging_face.generation_config import search_obstacles
from headway.search import SETTINGS, SearchConfig, TokenBytes, greedy, make_logits_rules
from headway.serve import schema
from headway.teaching.table_model import TableModel

search = SearchConfig(low_words=2)

# A run file and its reference.
assert "The shortest output in words; 0 is off." in describe(SearchConfig)
# Methods.
try:
    SearchConfig(method="exhaustive", low_words=2)
except ValueError as error:
    assert 'low_words=2 has no meaning with method="exhaustive"' in str(error)
# Flags.
program = typer.main.get_command(_app())
for verb in VERBS:
    context = program.make_context("headway", [verb], resilient_parsing=True)
    flags = [one for one in program.get_command(context, verb).params if "--low-words" in one.opts]
    assert bool(flags) == (verb in ("translate", "generate")), verb
    assert all(one.help == "The shortest output in words; 0 is off." for one in flags)
# Requests.
assert schema.GenerateRequest(prompts=["a"], low_words=2).low_words == 2
assert schema.GenerateRequest.model_json_schema()["properties"]["low_words"]["anyOf"] == [
    {"minimum": 0, "type": "integer"}, {"type": "null"}
]
assert "low_words" not in schema.TranslateRequest.model_fields
# Validation during training.
assert SETTINGS["low_words"].validation
# Prompts.
assert generation_config(search).low_words == 2
# Exports.
assert search_obstacles(search) == ["search.low_words = 2 (words are not counted)"]
try:
    require_supported(search)
except ConfigError as error:
    assert "search.low_words = 2" in str(error)
else:
    raise AssertionError
# The search.
table = {"": {"END": -0.1, "a": -2.0}, "a": {"END": -0.1, "a": -3.0}, "a a": {"END": -0.5}}
model, limits = TableModel(table), torch.tensor([9])
batch = {"rows": torch.zeros(1)}
rules = make_logits_rules(
    batch, search, eos=1, limits=limits, spellings=lambda: TokenBytes([b"", b"", b" a"])
)
[found] = greedy(
    model, batch, bos=0, eos=1, config=search, limits=limits, normalise=False, rules=rules
)
assert model.decode(found.tokens) == "a a" and found.finished
limits = torch.tensor([2])  # room for one word
rules = make_logits_rules(
    batch, search, eos=1, limits=limits, spellings=lambda: TokenBytes([b"", b"", b" a"])
)
[found] = greedy(
    model, batch, bos=0, eos=1, config=search, limits=limits, normalise=False, rules=rules
)
assert model.decode(found.tokens) == "a" and found.finished
try:
    make_logits_rules(batch, search, eos=1, limits=limits)
except ValueError as error:
    assert str(error) == "low_words counts words, which needs the bytes of tokens; pass spellings="
else:
    raise AssertionError
"""


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1
    path.write_text(source.replace(before, text + before), encoding="utf-8")


def test_a_new_rule_is_a_setting_and_a_class(tmp_path):
    copy = tmp_path / "headway"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    insert(copy / "search" / "config.py", "    def __post_init__(self)", SETTING.lstrip("\n"))
    with (copy / "search" / "logits_rules.py").open("a", encoding="utf-8") as rules:
        rules.write(RULE + "RULES += (LowWordsRule,)\n")
    done = subprocess.run(
        [sys.executable, "-c", USERS],
        env={"PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


# What a command line costs


def test_settings_are_declared_without_torch():
    code = "import sys, headway.cli; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
