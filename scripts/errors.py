"""Write the pages of docs/errors: the mistakes of tests/refusals/mistakes with their messages.

    python scripts/errors.py            write the pages
    python scripts/errors.py --check    fail if they are out of date

The programs are run to produce the messages.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import html
import inspect
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from te_sched import errors  # noqa: E402
from tests.refusals.all import AREAS, TABLE  # noqa: E402
from tests.refusals.table import Refusal  # noqa: E402

FOLDER = ROOT / "docs" / "errors"
_ISSUES = "https://github.com/apache/tvm/issues/"
_HEAD = """\
# Errors

Every error that te_sched raises on purpose is a `TeSchedError` (`tvm.error.TVMError`, under the
`tvm` alias). Its message has four parts, which are also attributes:

    split factor of axis i must be at least 1, got 0              error.fault
      where: stage D (declared at prog.py:7), axis i, prog.py:9   error.where
      why: the reason, where the fault does not state it          error.why
      help: give a positive integer                               error.help

`where` ends with the line that raised the error; the line in parentheses is the one that declared
the stage or scheduled the axis. `error.loops` is a drawing of the loops, for errors about them.

Programs read data instead of the text: `error.names("stage")` lists the stages concerned,
`error.names("axis")` the axes, likewise for `buffer`, `tensor`, `kernel`, `function` and
`argument`; `error.about` holds all of these and the source lines; `error.can_override` is true if
`build(..., verify=False)` builds anyway.

{classes}

## All errors by topic

Each entry leads to a program that raises the error, the full message, and the corrected program.
The test suite runs both.
"""
_TOPIC = """\
# Errors: {title}

The examples run after `given.py`, below; each is a file `program.py` of its own. A number such as
[#7420]({issues}7420) is a report of the mistake by users of TVM. [All errors](index.md)

```python title="given.py"
{given}
```
"""


def pages() -> dict[str, str]:
    """The text of each page, by file name."""
    index, topics = [_HEAD.format(classes=_classes())], {}
    for title, module in AREAS.items():
        given, name = _Given(module), f"{module.__name__.rpartition('.')[2]}.md"
        told = [
            (one, message(one, given)) for one in TABLE if one.call.__module__ == module.__name__
        ]
        index.append(f"### [{title}]({name})\n")
        index.append("\n".join(_link(one, text, name) for one, text in told) + "\n")
        topics[name] = _topic(title, given, told)
    return {"index.md": "\n".join(index), **topics}


def _classes() -> str:
    lines = ["| class | meaning |", "| --- | --- |"]
    for name, value in vars(errors).items():
        is_error = isinstance(value, type) and issubclass(value, errors.TeSchedError)
        if is_error and name == value.__name__:  # not an alias
            text = (inspect.getdoc(value) or "").split("\n\n")[0]
            lines.append(f"| `{name}` | {' '.join(text.split())} |")
    return "\n".join(lines)


def _link(one: Refusal, text: str, page: str) -> str:
    """The first line of a message as a link to its entry."""
    fault = re.sub(r"([\\`*_\[\]])", r"\\\1", html.escape(text.splitlines()[0], quote=False))
    return f"- [{fault}]({page}#{_anchor(one.title)})"


def _anchor(title: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def _topic(title: str, given: _Given, told: list[tuple[Refusal, str]]) -> str:
    head = _TOPIC.format(title=title, issues=_ISSUES, given=given.text)
    return "\n".join([head, *(line for one in told for line in _entry(*one))])


def _entry(one: Refusal, text: str) -> Iterator[str]:
    thread = f" ([#{one.issue}]({_ISSUES}{one.issue}))" if one.issue else ""
    yield f"## {one.title}\n"
    yield _code(_body(one.call)[0])
    yield f"`{one.error.__name__}`{thread}:\n"
    yield _code(text, "text")
    if one.right is not None:
        yield "Correct:\n"
        yield _code(_body(one.right)[0])


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


class _Given:
    """The imports and declarations before the mistakes of a module.

    `shown` maps a line of the file to its line on the page.
    """

    def __init__(self, module: ModuleType) -> None:
        source = inspect.getsource(module)
        lines, shown = source.splitlines(), {}
        text: list[str] = []
        last = None
        for node in ast.parse(source).body[1:]:
            if getattr(node, "decorator_list", None) or _is_of_tests(node):
                continue
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            if last is not None and (last != is_import or isinstance(node, ast.FunctionDef)):
                text.append("")
            last = is_import
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                text.append(lines[number - 1])
                shown[number] = len(text)
        self.text, self.shown = "\n".join(text), shown


def _is_of_tests(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("tests") or node.module == "te_sched.errors"
    return False


def _body(function: Callable[..., Any]) -> tuple[str, int]:
    """The statements of a function, and the line of the first."""
    lines, start = inspect.getsourcelines(function)
    node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(node, ast.FunctionDef)
    decorators = getattr(node.body[0], "decorator_list", [])
    first = min(one.lineno for one in (node.body[0], *decorators))
    return textwrap.dedent("".join(lines[first - 1 :])), start + first - 1


def message(one: Refusal, given: _Given) -> str:
    """The message of the error, with the lines of the page."""
    start = _body(one.call)[1]
    file = re.escape(inspect.getsourcefile(one.call) or "")

    def line(match: re.Match[str]) -> str:
        number = int(match[1])
        known = given.shown.get(number)
        return f"given.py:{known}" if known else f"program.py:{number - start + 1}"

    with tempfile.TemporaryDirectory() as folder:
        text = _refused(one, Path(folder))
        text = text.replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "")
    text = re.sub(rf"{file}:(\d+)", line, text)
    text = re.sub(r"(?m)^( +\d+ \| ) {4}(.*\n[ ^]*\| ) {4}", r"\1\2", text)  # of the function
    return re.sub(r"(?m)^( +\d+)(?= \| )", lambda found: shown(found, start), text)


def shown(number: re.Match[str], start: int) -> str:
    """The line number of an excerpt, as one of the page, in the same width."""
    return str(int(number[1]) - start + 1).rjust(len(number[1]))


def _refused(one: Refusal, folder: Path) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):
            one.call(*[folder for _ in inspect.signature(one.call).parameters])
    except errors.TeSchedError as error:
        error.program = None  # the page has the messages alone
        return str(error)
    raise AssertionError(f"{one.name} is not refused")


def main() -> None:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the pages are out of date")
    is_check = parser.parse_args().check
    new = pages()
    old = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    if is_check:
        lines = [line for name in sorted(old | new) for line in _difference(name, old, new)]
        sys.exit("\n".join(lines) if lines else 0)
    FOLDER.mkdir(exist_ok=True)
    for name in old.keys() - new.keys():
        (FOLDER / name).unlink()
    for name, text in new.items():
        (FOLDER / name).write_text(text)


def _difference(name: str, old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    before, after = (pages.get(name, "").splitlines() for pages in (old, new))
    return difflib.unified_diff(before, after, f"docs/errors/{name}", "new", lineterm="")


if __name__ == "__main__":
    main()
