"""Unique names in printed programs. Must not know what they name."""

from __future__ import annotations

import re

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


class UniqueNames:
    """Assigns names that are not in use; a name can be released."""

    def __init__(self, reserved: tuple[str, ...] = (), separator: str = "_") -> None:
        self.used: set[str] = set(reserved)
        self.separator = separator  # between a name and its number
        self._last: dict[str, int] = {}  # by hint: all numbers before are in use

    def take(self, hint: str) -> str:
        """A free name: the hint, or the hint with the first free number."""
        name = hint
        if name in self.used:
            number = self._last.get(hint, 1)
            while (name := f"{hint}{self.separator}{number}") in self.used:
                number += 1
            self._last[hint] = number
        self.used.add(name)
        return name

    def give_back(self, names: list[str]) -> None:
        """Release names."""
        self.used.difference_update(names)
        self._last.clear()


def identifier(hint: str, default: str = "v") -> str:
    """The name with characters replaced that are invalid in Python's identifiers."""
    return _ILLEGAL.sub("_", hint) or default
