"""Makes the site: pages of `docs/`, the README, run files, an API reference and live samples.

Pages are copied to a folder of their own first, where links that lead out of `docs/` are turned
into links to pages of the site; on the code host they work as they are. Zensical does the rest,
strictly: a link to a page or heading that does not exist stops it. Its settings are in
`zensical.toml`, pages and files that only the site has in `site/`.
"""

import argparse
import inspect
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import tomli_w

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SETTINGS = DOCS / "zensical.toml"
# Pages of the site that are no files of docs/, by the file or folder that they show.
ELSEWHERE = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "benchmarks/README.md": "benchmark-programs.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.md",
    "SECURITY.md": "reporting.md",
    "recipes": "recipes.md",
}
SAMPLES = ("demo.html", "demo-report.html", "minilm.html")


def make_site(samples: Path, out: Path, work: Path) -> int:
    """Writes the site into the folder `out`.

    Args:
        samples: the folder that `make_samples.py` fills.
        work: a folder for the copied pages, made anew.

    Returns:
        The exit code of the generator.
    """
    pages = work / "docs"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(DOCS / "images", pages / "images")
    write_pages(pages)
    lay_samples(samples, pages / "samples")
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    require_all_in_nav(settings["project"]["nav"], {path.name for path in pages.glob("*.md")})
    settings["project"] |= {"docs_dir": "docs", "site_dir": "site"}
    python = settings["project"]["plugins"]["mkdocstrings"]["handlers"]["python"]
    python["paths"] = [str(ROOT / "src")]
    (work / "zensical.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run([*command, "-f", "zensical.toml"], cwd=work)
    if done.returncode:
        return done.returncode
    if faults := list(find_faults(work / "site")):
        print(*faults, sep="\n", file=sys.stderr)
        return 1
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(work / "site", out)
    return 0


def write_pages(folder: Path) -> None:
    """Writes every page of the site, and its style and scripts."""
    for path in sorted(DOCS.glob("*.md")):
        if str(path.relative_to(ROOT)) not in ELSEWHERE:
            write(folder / path.name, page_of(path))
    for name, page in ELSEWHERE.items():
        if name.endswith(".md"):
            write(folder / page, page_of(ROOT / name))
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    write(folder / ELSEWHERE["LICENSE"], f"# Licence\n\n{fenced(licence, 'text')}")
    write(folder / ELSEWHERE["recipes"], recipes_page())
    write(folder / "api.md", api_page())
    for asset in (DOCS / "site").iterdir():
        shutil.copy(asset, folder)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def page_of(path: Path) -> str:
    """A file of the project as a page of the site."""
    lines, is_code = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = not is_code
            line = line.split(" ")[0]  # the words behind the language are for the tests
        lines.append(line)
    text = "\n".join(lines) + "\n"
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [
        re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", lambda link: linked(link[1], link[2], path), part)
        for part in parts[::2]
    ]
    return "".join(parts)


def linked(text: str, link: str, page: Path) -> str:
    """A link of a file as the site has it, with the title of a page in place of its file name."""
    if re.fullmatch(r"[\w./-]+\.md", text) and (page.parent / link.partition("#")[0]).is_file():
        source = (page.parent / link.partition("#")[0]).read_text(encoding="utf-8")
        text = re.findall(r"^# (.+)$", source, re.MULTILINE)[0]
    return f"[{text}]({moved(link, page)})"


def moved(link: str, page: Path) -> str:
    """Where a link of a file leads on the site.

    Raises:
        SystemExit: it leads to a file that the site does not show.
    """
    if re.match(r"[a-z]+:|#", link):
        return link
    path, mark, anchor = link.partition("#")
    home = page.parent.relative_to(ROOT).as_posix()
    target = posixpath.normpath(posixpath.join(home, path))
    if target in ELSEWHERE:
        return ELSEWHERE[target] + mark + anchor
    if target.startswith("docs/"):
        return target.removeprefix("docs/") + mark + anchor
    if target.startswith("recipes/") and (ROOT / target).is_file():
        return f"{ELSEWHERE['recipes']}#{recipe_anchor(target)}"
    sys.exit(f"{page.relative_to(ROOT)}: {link} leads to a file that the site does not show")


def recipes_page() -> str:
    """All run files, each under its name."""
    lines = [
        "# Recipes",
        "",
        "Run files to start from. The comment of each has its score, its time and the machine.",
        "",
    ]
    for path in sorted((ROOT / "recipes").rglob("*.toml"), key=lambda p: (len(p.parts), p)):
        name = path.relative_to(ROOT).as_posix()
        lines += [f"## {name} {{ #{recipe_anchor(name)} }}", ""]
        lines += [fenced(path.read_text(encoding="utf-8"), "toml"), ""]
    return "\n".join(lines)


def recipe_anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.removeprefix("recipes/").removesuffix(".toml").lower())


def api_page() -> str:
    """What `import headway` gives, from the docstrings; the names are those of `headway.api`."""
    from headway import api

    names = sorted(api.__all__, key=lambda name: (inspect.isclass(getattr(api, name)), name))
    lines = [
        "# Python",
        "",
        "What `import headway` gives. Every name is one of `headway` itself.",
        "",
    ]
    is_class = None
    for name in names:
        if is_class is not inspect.isclass(getattr(api, name)):
            is_class = inspect.isclass(getattr(api, name))
            lines += ["## Classes" if is_class else "## Functions", ""]
        lines += [f"::: headway.api.{name}", ""]
    return "\n".join(lines)


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def lay_samples(samples: Path, folder: Path) -> None:
    """Puts the sample pages beside the others.

    Raises:
        SystemExit: one is missing.
    """
    folder.mkdir()
    for name in SAMPLES:
        if not (samples / name).is_file():
            sys.exit(f"{samples / name} is missing; `make samples` writes it")
        shutil.copy(samples / name, folder / name)


def require_all_in_nav(nav: list[Any], pages: set[str]) -> None:
    """Stops where a page is not in the menu, or an entry of the menu has no page.

    Raises:
        SystemExit: with the names.
    """
    listed = set(entries(nav))
    if missing := sorted(pages - listed):
        sys.exit(f"not in `nav` of docs/zensical.toml: {', '.join(missing)}")
    if unknown := sorted(listed - pages):
        sys.exit(f"in `nav` of docs/zensical.toml, but no page: {', '.join(unknown)}")


def entries(nav: Any) -> Iterator[str]:
    """The pages of a menu, at any depth."""
    if isinstance(nav, str):
        yield nav
    else:
        for item in nav.values() if isinstance(nav, dict) else nav:
            yield from entries(item)


class Addresses(HTMLParser):
    """What a page links to, and what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and name in ("src", "href", "srcset", "data", "poster"):
                is_link = name == "href" and tag in ("a", "use")
                (self.links if is_link else self.loaded).append(value)


def find_faults(site: Path) -> Iterator[str]:
    """Files that pages name and that are not there, and files that come from another host.

    Zensical checks links between pages; this checks pictures, samples, scripts and styles as well.
    """
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # shown under any address, so its own are absolute
            continue
        page = path.relative_to(site).as_posix()
        found = Addresses(path.read_text(encoding="utf-8"))
        for address in found.loaded:
            if re.match(r"(https?:)?//", address):
                yield f"{page} loads {address} from another host"
        for address in {*found.links, *found.loaded}:
            file = unquote(re.split(r"[?#]", address)[0])
            if file and not re.match(r"[a-z]+:|//", file) and not (path.parent / file).exists():
                yield f"{page} names {address}, which is not there"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=Path, required=True, help="folder of the sample pages")
    parser.add_argument("--out", type=Path, required=True, help="folder of the site, made anew")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "site")
    given = parser.parse_args()
    sys.exit(make_site(given.samples, given.out, given.work))
