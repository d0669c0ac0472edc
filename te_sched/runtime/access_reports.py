"""The functions that compiled programs call when a check of an access fails: they raise errors.

The program passes what was known at build time, as JSON, and numbers. Must not know how
checks are made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.errors import AccessError, Subject


def report_access(site: str, *numbers: int) -> None:
    """End a call before an invalid access.

    Raises
    ------
    AccessError always.
    """
    facts = json.loads(site)
    loops: list[str] = facts["loops"]
    count = len(numbers) - len(loops)
    values = dict(zip(loops, numbers[count:], strict=True))
    what, why, help = _REPORTS[facts["kind"]](facts, numbers[:count], _where(values))
    kind, name = facts.get("memory", "stage"), facts.get("stage", "")  # older files have neither
    stage = Subject(kind, name, facts["where"])
    raise AccessError(what, why, help, stage if name or stage.text else ())


def _where(values: Mapping[str, int]) -> str:
    return " and ".join(f"{name} = {value}" for name, value in values.items())


def _outside(site: Mapping[str, Any], numbers: Sequence[int], where: str) -> tuple[str, str, str]:
    index, low, end = numbers
    buffer, dimension, does = site["buffer"], site["dimension"], site["does"]
    has = f"has the indices {low} to {end - 1}" if end > low else "has no elements there"
    return (
        f"{does} {buffer} at {index} in dimension {dimension}",
        f"the index {site['index']} is {index}{_at(where)}, and {buffer} {has}",
        f"give indices that are within {buffer}, or guard the {does}: "
        + site.get("guard", f"te.if_then_else(te.all(...), {buffer}[...], 0.0)"),
    )


def _uninitialized(
    site: Mapping[str, Any], numbers: Sequence[int], where: str
) -> tuple[str, str, str]:
    element = _element(site, numbers)
    return (
        f"read {element} before it is written",
        f"nothing has written {element}{_at(where)}",
        f"write all of {site['buffer']} that is read, before it is read",
    )


def _overflow(site: Mapping[str, Any], numbers: Sequence[int], where: str) -> tuple[str, str, str]:
    wide = site.get("wide", "te.var(name, dtype='int64')")
    index = f", in the index {site['index']}" if site["index"] != site["part"] else ""
    if not site["index"]:
        index = ""
    return (
        f"{site['does']} {site['buffer']} by an index that overflows",
        f"{site['part']} is {numbers[0]}{_at(where)}, which int32 does not hold{index}",
        f"compute it in 64 bits: declare the sizes as {wide}",
    )


def _race(site: Mapping[str, Any], numbers: Sequence[int], where: str) -> tuple[str, str, str]:
    mine, other, *indices = numbers
    element, axis = _element(site, indices), site["axis"]
    return (
        f"{site['does']} {element} in two iterations of the {site['how']} loop {axis}",
        f"the iteration {axis} = {mine} {site['does']}s it{_at(where)}, "
        f"and {axis} = {other} {site['did']} it",
        f"let each iteration of {axis} touch elements of its own, or leave the loop serial",
    )


def _element(site: Mapping[str, Any], indices: Sequence[int]) -> str:
    return f"{site['buffer']}[{', '.join(map(str, indices))}]"


def _at(where: str) -> str:
    return f" where {where}" if where else ""


_REPORTS: dict[str, Callable[[Mapping[str, Any], Sequence[int], str], tuple[str, str, str]]] = {
    "bounds": _outside,
    "uninitialized": _uninitialized,
    "overflow": _overflow,
    "race": _race,
}

PACKED_FUNCTIONS: dict[str, Callable[..., Any]] = {"te_sched.report_access": report_access}
