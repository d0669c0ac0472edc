"""Paths from a program to a part of it: `<root>.body.seq[1].value`.

Must not know nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from te_sched.errors import DeclarationError, kind_of, repr_of

_MISSING = "missing"
Step = tuple[str, Any]  # its kind, and a name, an index or the key of a mapping


class ObjectPath:
    """A path, which grows step by step from the root.

    Steps are attributes, elements of sequences and values of mappings; a path may also end at what
    is missing there. Paths with the same steps are equal.

    >>> path = ObjectPath.root().attr("body").attr("seq").array_index(1)
    >>> path
    <root>.body.seq[1]
    >>> path.parent == ObjectPath.root().attr("body").attr("seq")
    True
    """

    __slots__ = ("_steps",)

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps = tuple(steps)

    @staticmethod
    def root(name: str = "") -> ObjectPath:
        """The path to the program itself, whose text may have a name."""
        return ObjectPath((("root", name),) if name else ())

    def attr(self, attr_key: str | None) -> ObjectPath:
        """The path to an attribute; None is one that is missing."""
        if attr_key is None:
            return self._with("attr", _MISSING)
        if not isinstance(attr_key, str):
            raise DeclarationError(
                f"the attribute of a path is {repr_of(attr_key)}, expected a name",
                "",
                'write path.attr("body")',
            )
        return self._with("attr", attr_key)

    def array_index(self, index: int | None) -> ObjectPath:
        """The path to an element."""
        return self._with("index", _integer(index))

    def missing_array_element(self, index: int) -> ObjectPath:
        """The path to an element that the sequence does not have."""
        return self._with("no element", _integer(index))

    def map_value(self, key: object) -> ObjectPath:
        """The path to the value of a key."""
        return self._with("key", key)

    def missing_map_entry(self) -> ObjectPath:
        """The path to an entry that the mapping does not have."""
        return self._with("no entry", _MISSING)

    def _with(self, kind: str, what: object) -> ObjectPath:
        return ObjectPath((*self._steps, (kind, what)))

    @property
    def parent(self) -> ObjectPath | None:
        """The path without its last step; None of the root."""
        return ObjectPath(self._steps[:-1]) if self._steps else None

    def __len__(self) -> int:
        return len(self._steps) + 1

    def get_prefix(self, length: int) -> ObjectPath:
        """The first `length` parts of the path; the root is the first one."""
        count = _integer(length)
        if not 1 <= count <= len(self):
            raise DeclarationError(
                f"a path of {len(self)} parts has no beginning of {count}",
                "the root is the first part",
                f"give a number from 1 to {len(self)}",
            )
        return ObjectPath(self._steps[: count - 1])

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether the other path begins with this one."""
        if not isinstance(other, ObjectPath):
            raise DeclarationError(
                f"cannot compare a path with {kind_of(other)}", "", "give an ObjectPath"
            )
        count = len(self._steps)
        return len(other._steps) >= count and self == ObjectPath(other._steps[:count])

    def find(self, program: Any) -> Any:
        """The part of a program at this path.

        Raises
        ------
        DeclarationError if the program has no such part.
        """
        value = program
        for kind, what in self._steps:
            try:
                if kind == "attr":
                    value = getattr(value, what)
                elif kind in ("index", "key"):
                    value = value[what]
            except (AttributeError, LookupError, TypeError):
                value = None
            if value is None or kind.startswith("no "):
                raise DeclarationError(
                    f"the program has nothing at {self}",
                    f"{_shown(kind, what)} is not there",
                    "give the path to a part of it",
                )
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath) or len(self._steps) != len(other._steps):
            return False
        pairs = zip(self._steps, other._steps, strict=True)
        return all(first[0] == two[0] and _are_same(first[1], two[1]) for first, two in pairs)

    def __hash__(self) -> int:
        return hash(tuple([kind for kind, _ in self._steps]))

    def __repr__(self) -> str:
        name = dict(self._steps[:1]).get("root", "root")
        return f"<{name}>" + "".join([_shown(*step) for step in self._steps if step[0] != "root"])


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DeclarationError(
            f"the position of a path is {repr_of(value)}, expected an int", "", "give an int"
        )
    return value


def _are_same(first: object, two: object) -> bool:
    """Whether two steps lead to the same part; expressions are keys by identity."""
    return first is two or (
        isinstance(first, str | int) and type(first) is type(two) and first == two
    )


def _shown(kind: str, what: object) -> str:
    if kind == "attr":
        return f".{what}" if what is not _MISSING else ".<unknown attribute>"
    if kind == "index":
        return f"[{what}]"
    if kind == "no element":
        return f"[<missing element #{what}>]"
    if kind == "no entry":
        return "[<missing entry>]"
    if hasattr(what, "name_hint"):
        return f'[I.GlobalVar("{what}")]'
    return f"[{json.dumps(what)}]" if type(what) is str else f"[{what!r}]"
