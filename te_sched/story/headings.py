"""The heading of a step: the effect of its primitive, as "Split j (1024) into j.outer (64), ...".

Must not know pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from te_sched.ir.expr import IterVar
from te_sched.story.model import LoopRow
from te_sched.te.tensor import Tensor
from te_sched.tensorir.handles import LoopRV
from te_sched.trace.entries import Entry, HandleReference

_LOOP = re.compile(r"(\S+)  \d+:")  # its name in a line of a loop tree


def heading(entry: Entry, before: Iterable[LoopRow], after: Iterable[LoopRow]) -> str:
    """The effect of a primitive, "" if it has no heading; extents of loops are those of the nests
    before and after it.
    """
    owner = entry.arguments.get("parent", entry.arguments.get("tensor"))  # of the axes
    is_owner = isinstance(owner, HandleReference | Tensor)
    stage = owner.name if is_owner else entry.target_name
    extents = _extents(after, stage) | _extents(before, stage)
    values = {name: _words(value, extents) for name, value in entry.arguments.items()}
    results = _words(entry.results, extents)
    return entry.primitive.heading.format(**values, results=results, stage=entry.target_name)


def _extents(rows: Iterable[LoopRow], stage: str) -> dict[str, int]:
    """The extents of the loops of a stage, by name; without one, of all loops whose names have one
    extent.
    """
    extents_of: dict[str, set[int]] = {}
    for row in rows:
        name = _LOOP.search(row.text) if row.stages[:1] == (stage,) or not stage else None
        if name is not None and row.extent is not None:
            extents_of.setdefault(name[1], set()).add(row.extent)
    return {name: extents.pop() for name, extents in extents_of.items() if len(extents) == 1}


def _words(value: Any, extents: Mapping[str, int]) -> str:
    """The name of a value; for an axis with its extent."""
    if isinstance(value, list | tuple):
        words = [_words(element, extents) for element in value]
        return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
    if isinstance(value, IterVar | LoopRV):
        name = value.name if isinstance(value, LoopRV) else value.var.name
        extent = extents.get(name)
        return name if extent is None else f"{name} ({extent})"
    if isinstance(value, HandleReference | Tensor):
        return value.name
    return str(getattr(value, "name", value))
