"""Writes docs/errors/: the mistakes of tests/refusals/mistakes, each with its message and help.

A page for each topic, and an overview with the first lines of the messages.

    python scripts/errors.py            write the pages
    python scripts/errors.py --check    fail where they differ

The programs are run for it: the messages are those that users see.
"""

from __future__ import annotations

import argparse
import ast
import difflib
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

PAGES = ROOT / "docs" / "errors"
_ISSUES = "https://github.com/apache/tvm/issues/"
_HEAD = """\
# Errors

Every error that te_sched raises on purpose is a `TeSchedError` (`tvm.error.TVMError`, under the
`tvm` alias). Its message has four parts, which are also attributes:

    split factor of axis i must be at least 1, got 0           error.fault
      where: stage D (declared at prog.py:7), axis i, prog.py:9    error.where, with your lines
      why: ...                                                 error.why: the rule behind it
      help: give a positive integer                            error.help: what to do

`where` names the line that failed last, and behind a stage or an axis the line on which it was
declared or scheduled. Where the loops explain something they are drawn below (`error.loops`).

The text is for people. For programs, `error.names("stage")` has the stages that an error is about,
`error.names("axis")` its axes, and so for a buffer, tensor, kernel, function or argument;
`error.about` has all of these and the lines, and `error.can_override` says whether
`build(..., verify=False)` builds anyway.

{classes}

Below are the first lines of the errors that the tests of te_sched provoke, by topic; each links
to the program, the whole message and the corrected program.
"""
_ABOUT = """\
`given.py` is the code at the beginning of this page, `program.py` each example; lines are counted
in the code as shown. The tests run the programs under "Instead" too. A number such as
[#7420]({issues}7420) is a thread of TVM's users about the mistake. [All topics](README.md).
"""


def pages() -> dict[str, str]:
    """The texts of the pages by the names of their files."""
    topics = {f"{_anchor(title)}.md": (title, module) for title, module in AREAS.items()}
    made: dict[str, str] = {}
    index = [_HEAD.format(classes=_classes())]
    for name, (title, module) in topics.items():
        given = _Given(module)
        told = {one: message(one, given) for one in TABLE if one.call.__module__ == module.__name__}
        index += [f"## {title}\n", *(_line(name, one, text) for one, text in told.items()), ""]
        parts = [f"# {title}\n", _ABOUT.format(issues=_ISSUES), _code(given.text)]
        for one, text in told.items():
            parts += _entry(one, text)
        made[name] = "\n".join(parts)
    return {"README.md": "\n".join(index), **made}


def _line(page: str, one: Refusal, text: str) -> str:
    fault = text.partition("\n")[0].replace("`", "")
    return f"- [{one.title}]({page}#{_anchor(one.title)}): `{fault}`"


def _classes() -> str:
    lines = ["| class | meaning |", "| --- | --- |"]
    for name, value in vars(errors).items():
        is_error = isinstance(value, type) and issubclass(value, errors.TeSchedError)
        if is_error and name == value.__name__:  # not TVM's name of one
            lines.append(f"| `{name}` | {(value.__doc__ or '').splitlines()[0]} |")
    return "\n".join(lines)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _entry(one: Refusal, text: str) -> Iterator[str]:
    thread = f" ([#{one.issue}]({_ISSUES}{one.issue}))" if one.issue else ""
    yield f"## {one.title}\n"
    yield _code(_body(one.call)[0])
    yield f"`{one.error.__name__}`{thread}:\n"
    yield _code(text, "text")
    if one.right is not None:
        yield "Instead:\n"
        yield _code(_body(one.right)[0])


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


class _Given:
    """What stands before the mistakes of a module: imports and declarations.

    `shown` has the line on the page for each line of the file.
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
    first = node.body[0].lineno
    return textwrap.dedent("".join(lines[first - 1 :])), start + first - 1


def message(one: Refusal, given: _Given) -> str:
    """The message of an error, with the lines of the page."""
    start = _body(one.call)[1]
    file = re.escape(inspect.getsourcefile(one.call) or "")

    def line(match: re.Match[str]) -> str:
        number = int(match[1])
        known = given.shown.get(number)
        return f"given.py:{known}" if known else f"program.py:{number - start + 1}"

    with tempfile.TemporaryDirectory() as folder:
        text = _refused(one, Path(folder))
        text = text.replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "")
    return re.sub(rf"{file}:(\d+)", line, text)


def _refused(one: Refusal, folder: Path) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):
            one.call(*[folder for _ in inspect.signature(one.call).parameters])
    except errors.TeSchedError as error:
        return str(error)
    raise AssertionError(f"{one.name} is not refused")


def main() -> None:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the pages differ")
    is_check = parser.parse_args().check
    old = {path.name: path.read_text() for path in PAGES.glob("*.md")}
    new = pages()
    for name in sorted({*old, *new}):
        before, after = (texts.get(name, "").splitlines() for texts in (old, new))
        difference = list(difflib.unified_diff(before, after, f"docs/errors/{name}", "new"))
        if is_check and difference:
            sys.exit("\n".join(difference))
        if not is_check and name in new:
            (PAGES / name).write_text(new[name])
        elif not is_check:
            (PAGES / name).unlink()


if __name__ == "__main__":
    main()
