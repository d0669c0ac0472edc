"""Names in printed programs: unique within a text. Must not know what is named."""

from __future__ import annotations

import re

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


class UniqueNames:
    """Hands out names that are not in use; a name may be given back."""

    def __init__(self, reserved: tuple[str, ...] = ()) -> None:
        self.used: set[str] = set(reserved)

    def take(self, hint: str) -> str:
        """The hint itself, or the hint with the first free number."""
        name = hint
        if name in self.used:
            number = 1
            while (name := f"{hint}_{number}") in self.used:
                number += 1
        self.used.add(name)
        return name

    def give_back(self, names: list[str]) -> None:
        """These names may be taken again."""
        self.used.difference_update(names)


def identifier(hint: str, default: str = "v") -> str:
    """A name without characters that Python's identifiers cannot have."""
    return _ILLEGAL.sub("_", hint) or default
