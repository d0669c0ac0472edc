"""Tables in pages, between marks. Must not know what they show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_END = "<!-- end -->"


def fill(path: Path, tables: Mapping[str, str]) -> None:
    """Put each table between its marks, where a page has them: `<!-- name -->`, `<!-- end -->`."""
    text, found = path.read_text(), False
    for name, table in tables.items():
        begin = f"<!-- {name} -->"
        before, mark, rest = text.partition(begin)
        _, end, after = rest.partition(_END)
        if mark and end:
            text, found = f"{before}{begin}\n{table}\n{_END}{after}", True
    if not found:
        raise SystemExit(f"{path} has no <!-- {next(iter(tables))} --> ... {_END}")
    path.write_text(text)
