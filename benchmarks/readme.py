"""Tables in a README, between marks. Must not know what they show."""

from __future__ import annotations

from pathlib import Path

_END = "<!-- end -->"


def write_between(path: Path, name: str, text: str) -> None:
    """Put a text between the marks of a name: `<!-- name -->` and the next `<!-- end -->`."""
    begin = f"<!-- {name} -->"
    before, found, rest = path.read_text().partition(begin)
    _, end, after = rest.partition(_END)
    if not found or not end:
        raise SystemExit(f"{path} has no {begin} ... {_END}")
    path.write_text(f"{before}{begin}\n{text}\n{_END}{after}")
