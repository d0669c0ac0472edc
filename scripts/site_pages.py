"""Pages of the documentation site: docs/ and other documents of the repository.

A hook of mkdocs, named in mkdocs.yml. The path of a page is that of its file in the repository
without `docs/`; the home page stands in place of README. Links to other pages are adapted, links to
files that are not pages are replaced by their text. Names with `*` in the navigation are expanded
to the matching files, and numbered as those are. Must not know the content of pages.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# Pages outside of docs/, beside the notebooks (notebook_pages.py).
ELSEWHERE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "tutorials/README.md",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "benchmarks/results/*.png",
    "tests/golden/README.md",
)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_TEXT = re.compile(
    r"^(?P<fence>```+)(?:text|\{ \.text (?P<classes>[^}\n]*)\})\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_OUTPUT = re.compile(
    r"(?<=^```\n\n)```text\n", re.MULTILINE
)  # right after a program: what it prints
# How a program begins that is printed, and its language.
_LANGUAGES = (
    (re.compile(r"^ *@[TIR]\.\w|^# from tvm\.script import", re.MULTILINE), "python"),
    (re.compile(r"^(extern \"C\" )?__global__", re.MULTILINE), "cuda"),
    (re.compile(r"^define [\w ]*@", re.MULTILINE), "llvm"),
)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<td\b([^>]*>)")
_TAG = re.compile(r"<[^>]*>")
_ERROR = re.compile(r"(\w+\.)*\w+Error\b")


def on_config(config: Any) -> None:
    """Expand the names with `*` in the navigation."""
    config.nav = [_with_globs(entry) for entry in config.nav]


def _with_globs(entry: Any) -> Any:
    if isinstance(entry, dict):
        ((title, content),) = entry.items()
        if isinstance(content, list):
            content = [page for item in content for page in _expanded(item)]
        return {title: content}
    return entry


def _expanded(item: Any) -> Iterator[Any]:
    """The pages of an entry; a notebook is one of Markdown, with its number before its title."""
    if not isinstance(item, str) or "*" not in item:
        yield item
        return
    for path in sorted(ROOT.glob(item)):
        number = path.name.partition("_")[0]
        yield {f"{number} {title_of(path)}": path.relative_to(ROOT).with_suffix(".md").as_posix()}


def title_of(notebook: Path) -> str:
    """The title of a notebook: the heading of its first cell."""
    first = json.loads(notebook.read_text("utf-8"))["cells"][0]["source"]
    return "".join(first).partition("\n")[0].removeprefix("# ")


def on_files(files: Files, config: Any) -> Files:
    """Add the files that are not in docs/."""
    for pattern in ELSEWHERE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The text with links to pages instead of links to files, and programs in their languages."""
    source = Path(page.file.abs_src_path or ROOT / page.file.src_uri)
    if page.file.src_uri.startswith("errors/"):
        page.meta["search"] = {"boost": 4}  # messages of errors are found first

    def relinked(match: re.Match[str]) -> str:
        target, anchor = _split(match["target"])
        uri = page_of(source, target)
        if uri is None:
            return match[0]
        if files.get_file_from_path(uri) is None:
            return match[0] if match["image"] else match["text"]
        relative = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
        return f"{match['image']}[{match['text']}]({relative}{anchor})"

    text = _OUTPUT.sub("```{ .text .output .no-copy }\n", _outside_code(markdown, relinked))
    return _TEXT.sub(_in_its_language, text)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """The page with the name of its column at each cell, for rows that are shown as lists."""
    return _TABLE.sub(lambda table: with_columns(table[0]), html)


def with_columns(table: str) -> str:
    """A table with the name of its column at each cell."""
    names = [escape(unescape(_TAG.sub("", name)).strip()) for name in _HEAD.findall(table)]

    def named(row: re.Match[str]) -> str:
        columns = iter(names)
        return _CELL.sub(lambda cell: f'<td data-column="{next(columns, "")}"{cell[1]}', row[0])

    return _ROW.sub(named, table)


def _in_its_language(block: re.Match[str]) -> str:
    """A block of text with the name of its language, if it is a program."""
    language = language_of(block["text"])
    if language == "text":
        return block[0]
    head = f".{language} {block['classes'] or ''}".rstrip()
    return f"{block['fence']}{{ {head} }}\n{block['text']}{block['fence']}"


def language_of(text: str) -> str:
    """The language of what a program printed; "text" if that is no program."""
    if _ERROR.match(text):
        return "text"
    return next((name for begin, name in _LANGUAGES if begin.search(text)), "text")


def page_of(source: Path, target: str) -> str | None:
    """The path in the site of a linked file; None if it is not a page."""
    if not target or re.match(r"\w+:", target):
        return None
    path = (source.parent / target).resolve()
    if not path.exists() or not path.is_relative_to(ROOT):
        return None
    if path == ROOT / "README.md":
        return "index.md"
    if path.suffix == ".ipynb":
        path = path.with_suffix(".md")
    return path.relative_to(ROOT).as_posix().removeprefix("docs/")


def _split(target: str) -> tuple[str, str]:
    path, mark, anchor = target.partition("#")
    return path, mark + anchor


def _outside_code(markdown: str, relinked: Any) -> str:
    """The text with changed links, except inside of code."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(relinked, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(relinked, markdown[end:])])
