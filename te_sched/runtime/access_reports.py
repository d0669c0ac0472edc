"""What a compiled program calls when a check of an access fails: the errors of its caller.

The program gives what was known when it was built, as JSON, and then numbers. Must not know how
checks are made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.errors import AccessError


def report_access(site: str, *numbers: int) -> None:
    """End a call: an access that it was about to do is wrong.

    Raises
    ------
    AccessError always.
    """
    known = json.loads(site)
    loops: list[str] = known["loops"]
    count = len(numbers) - len(loops)
    values = dict(zip(loops, numbers[count:], strict=True))
    what, why, cure = _REPORTS[known["kind"]](known, numbers[:count], _where(values))
    raise AccessError(what, why, cure, known["where"])


def _where(values: Mapping[str, int]) -> str:
    return " and ".join(f"{name} = {value}" for name, value in values.items())


def _outside(site: Mapping[str, Any], numbers: Sequence[int], where: str) -> tuple[str, str, str]:
    index, low, end = numbers
    buffer, dimension, does = site["buffer"], site["dimension"], site["does"]
    at = f" where {where}" if where else ""
    return (
        f"{does} {buffer} at {index} in dimension {dimension}",
        f"the index {site['index']} is {index}{at}, and {buffer} has the indices {low} to {end - 1}"
        if end > low
        else f"the index {site['index']} is {index}{at}, and {buffer} has no elements there",
        f"give indices that are within {buffer}, or guard the {does}: "
        f"te.if_then_else(te.all(...), {buffer}[...], 0.0)",
    )


_REPORTS: dict[str, Callable[[Mapping[str, Any], Sequence[int], str], tuple[str, str, str]]] = {
    "bounds": _outside,
}

PACKED_FUNCTIONS: dict[str, Callable[..., Any]] = {"te_sched.report_access": report_access}
