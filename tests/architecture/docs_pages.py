"""The pages of the project as tests see them: fenced blocks, code spans, links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: the first word behind the fence.
        label: the other words: `fragment`, or the name of the file that is shown.
        line: of the page, where the content begins.
    """

    language: str
    label: str
    content: str
    line: int


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for match in re.finditer(r"^```(\S+)[ ]?(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE):
        language, label, content = match.groups()
        line = text[: match.start(3)].count("\n") + 1
        found.append(Block(language, label, content, line))
    return found


def spans(text: str) -> list[str]:
    """What stands in single back-quotes outside fenced blocks."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def commands(text: str) -> list[str]:
    """The lines of the shell blocks, without their comments, and the code spans."""
    lines = [
        line.split(" #")[0].strip()
        for block in blocks(text)
        if block.language == "sh"
        for line in block.content.splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#")] + spans(text)


def links(text: str) -> list[str]:
    """Where the links and pictures of a page lead."""
    return re.findall(r"\]\(([^)\s]+)\)", text)
