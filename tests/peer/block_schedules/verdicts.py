"""Faults of programs, found by executing them: if TVM's program has one that te_sched's does not
have, this explains that they differ. Must not know steps.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from te_sched import lower, script
from te_sched.errors import TeSchedError
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import walk
from tests.peer.block_schedules.sources import Instance
from tests.peer.differential import interpret
from tests.peer.differential.faults import faults

WRONG = "it computes something else"
UNREADABLE = "it is not a program"
STRIDES = "a buffer has strides for other dimensions than its own"
_TOO_FEW_STRIDES = re.compile(r"T\.alloc_buffer\(\(\d+, \d[^)]*\).*strides=\(\d+,\)")


def fault_of(module: Any, program: Instance, is_strict: bool = True) -> str:
    """What is wrong with a program, given as text or module; "" if nothing was found.

    A check that `is_strict` includes the regions that blocks state and races of parallel loops.
    Results are those of the `program`, unless its arguments have new layouts.
    """
    if isinstance(module, str):
        if _TOO_FEW_STRIDES.search(module):  # te_sched reads them as those of a compact buffer
            return STRIDES
        try:
            module = script.from_source(module)
        except TeSchedError as error:
            return f"{UNREADABLE}: {error.fault}"
    (func,) = [one for one in module.functions.values() if isinstance(one, PrimFunc)]
    blocks = [node for node in walk(func.body) if type(node) is Block]
    buffers = [buffer for block in blocks for buffer in block.alloc_buffers]
    if any(one.strides and len(one.strides) != len(one.shape) for one in buffers):
        return STRIDES
    rng = np.random.default_rng(0)
    shapes = [_shape(func.buffer_map[param]) for param in func.params]
    data = [rng.random(shape, "float32") for shape in shapes]
    expected = program.results(*data) if shapes == program.shapes else ()
    try:
        interpret.run(func, data, {}, is_strict)
    except interpret.Undefined as why:
        return str(why)
    except interpret.Unsupported:
        return min(faults(lower(func)["main"] if blocks else func, {}), default="")
    found = data[len(data) - len(expected) :]
    pairs = zip(found, expected, strict=True)
    return "" if all(np.allclose(a, b, 1e-4, 1e-4) for a, b in pairs) else WRONG


def _shape(buffer: Buffer) -> tuple[int, ...]:
    return tuple([int(extent) for extent in buffer.shape])


def fault_of_theirs(theirs: str, ours: Any, program: Instance) -> str:
    """The fault of TVM's program that te_sched's (None if it was refused) does not have.

    Where both access more than they state, as with cached indices, what they compute decides.
    """
    for is_strict in (True, False):
        found = fault_of(theirs, program, is_strict)
        if not found:
            return ""
        if ours is None or not fault_of(ours, program, is_strict):
            return found
    return ""
