"""Run the examples of the documentation and write their output below them.

    python scripts/examples.py                 update README.md and the pages with examples
    python scripts/examples.py --check         list the pages that are out of date
    python scripts/examples.py [--check] faq   only the pages of these names

The blocks of a page marked `python` are one program, from top to bottom, that runs in an empty
folder; a block marked `text` directly after one of them is its output. A block that imports a
package of `OPTIONAL` stays as it is where that is not installed, so the blocks after it do not use
its names. Must not know the content of pages.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import linecache
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/getting_started.md",
    "docs/guide/*.md",
    "docs/config.md",
    "docs/explain.md",
    "docs/faq.md",
    "docs/legality.md",
    "docs/migration.md",
)
_EXAMPLE = re.compile(
    r"^```python\n(?P<program>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


# Packages of extras that examples import.
OPTIONAL = ("torch", "onnx")
_FILE = "program.py"


def pages() -> list[Path]:
    """The pages with examples."""
    return [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]


def renewed(text: str) -> str:
    """The text of a page with the current output of its examples."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _renewed(text, names)


def _renewed(text: str, names: dict[str, Any]) -> str:
    return _EXAMPLE.sub(
        lambda match: match[0] if _lacks(match["program"]) else _example(match["program"], names),
        text,
    )


def _lacks(program: str) -> bool:
    """Whether a program imports an optional package that is not installed."""
    imported = re.findall(r"^(?:import|from) (\w+)", program, re.MULTILINE)
    return any(name in OPTIONAL and importlib.util.find_spec(name) is None for name in imported)


def _example(program: str, names: dict[str, Any]) -> str:
    lines = program.splitlines(keepends=True)
    linecache.cache[_FILE] = (len(program), None, lines, _FILE)  # scripts are read as text
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, _FILE, "exec"), names)
    shown = "\n".join(line.rstrip() for line in printed.getvalue().rstrip().split("\n"))
    return f"```python\n{program}```\n" + (f"\n```text\n{shown}\n```\n" if shown else "")


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or compare them."""
    stale = 0
    wanted = [name for name in arguments if name != "--check"]
    for page in pages():
        if wanted and page.stem not in wanted:
            continue
        old = page.read_text()
        new = renewed(old)
        if new != old:
            stale += 1
            print(page.relative_to(ROOT))
            if "--check" not in arguments:
                page.write_text(new)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
