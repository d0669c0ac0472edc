"""Pages of the documentation site: docs/ and other documents of the repository.

A hook of mkdocs, named in mkdocs.yml. The path of a page is that of its file in the repository
without `docs/`. Links to other pages are adapted, links to files that are not pages are replaced by
their text. Names with `*` in the navigation are expanded to the matching files. Must not know the
content of pages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# Pages outside of docs/.
ELSEWHERE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "tutorials/README.md",
    "tutorials/*.ipynb",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "benchmarks/results/*.png",
    "tests/golden/README.md",
)
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_HREF = re.compile(r'href="(?P<target>[^"]+)"')
_FORMULA = re.compile(
    r"<(pre|code|script|style|svg)\b.*?</\1>|\$(?P<formula>[^$<\n]+)\$", re.DOTALL
)


def on_config(config: Any) -> None:
    """Expand the names with `*` in the navigation."""
    config.nav = [_with_globs(entry) for entry in config.nav]


def _with_globs(entry: Any) -> Any:
    if isinstance(entry, dict):
        ((title, content),) = entry.items()
        if isinstance(content, list):
            content = [one for item in content for one in _expanded(item)]
        return {title: content}
    return entry


def _expanded(item: Any) -> Iterator[Any]:
    if not isinstance(item, str) or "*" not in item:
        yield item
        return
    for path in sorted(ROOT.glob(item)):
        if path.name != "README.md":
            yield path.relative_to(ROOT).as_posix()


@event_priority(100)  # before the plugin that makes pages of notebooks
def on_files(files: Files, config: Any) -> Files:
    """Add the files that are not in docs/."""
    for pattern in ELSEWHERE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The text with links to pages instead of links to files."""
    source = Path(page.file.abs_src_path)
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

    return _outside_code(markdown, relinked)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """The same for notebooks, which mkdocs does not convert; formulas become MathML."""
    source = Path(page.file.abs_src_path)
    if source.suffix != ".ipynb":
        return html

    def relinked(match: re.Match[str]) -> str:
        target, anchor = _split(match["target"])
        uri = page_of(source, target)
        if uri is None:
            return match[0]
        file = files.get_file_from_path(uri)
        return f'href="{file.url_relative_to(page.file)}{anchor}"' if file else ""

    return with_formulas(_HREF.sub(relinked, html))


def with_formulas(html: str) -> str:
    """The page with formulas between dollars converted to MathML, which needs no script."""

    def converted(match: re.Match[str]) -> str:
        return match[0] if match["formula"] is None else convert(unescape(match["formula"]))

    return _FORMULA.sub(converted, html)


def page_of(source: Path, target: str) -> str | None:
    """The path in the site of a linked file; None if it is not a page."""
    if not target or re.match(r"\w+:", target):
        return None
    path = (source.parent / target).resolve()
    if not path.exists() or not path.is_relative_to(ROOT):
        return None
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
