"""Write docs/config.md: the table of all switches, from te_sched.config.

python scripts/config.py            write the page
python scripts/config.py --check    fail if it is out of date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from te_sched import config  # noqa: E402

PAGE = ROOT / "docs" / "config.md"
_HEAD = """\
# Switches

A switch changes the behavior of te_sched for a block of code, in the current thread or task:

```python
import te_sched
from te_sched import te

A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] + 1, name="B")
with te_sched.config(verify_passes=True):
    te_sched.lower(te.create_schedule(B.op), [A, B])
```

or, for a whole process, by its environment variable, which is read on first use: `1`, `true` and
`on` enable it; `0`, `false`, `off` and the empty string disable it. `te_sched.config.current()`
returns the switches in force, `te_sched.config.table()` the records of this table.

| switch | variable | default | effect |
| --- | --- | --- | --- |
"""
_FOOT = """
A variable without a switch applies to the whole process. The options of
`te_sched.transform.PassContext` are in its documentation.
"""


def page() -> str:
    """The text of the page."""
    rows = [
        " | ".join(
            [_code(row["switch"]), _code(row["variable"]), _code(row["default"]), row["what"]]
        )
        for row in config.table()
    ]
    return _HEAD + "".join(f"| {row} |\n" for row in rows) + _FOOT


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        is_same = PAGE.read_text() == page()
        print("docs/config.md is up to date" if is_same else "run python scripts/config.py")
        return 0 if is_same else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
