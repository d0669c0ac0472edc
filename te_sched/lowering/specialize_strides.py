"""A second body for the most common strides of arrays: 1 between the elements of a row.

    if A_stride == 1 and B_stride == 1:         vectors of neighbors
        B[ramp(i * 8, 1, 8)] = ...
    else:                                       lane by lane
        B[ramp(i * 8 * B_stride, B_stride, 8)] = ...

TVM also has such strides at run time, but then does not vectorize. Applied to programs to run, not
to printed ones; a long program gets no second body, since that doubles compile time. Must not know
callers.
"""

from __future__ import annotations

from functools import reduce

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.stmt import IfThenElse, PrimFunc
from te_sched.ir.visitor import variables_of
from te_sched.lowering.simplify import simplify
from te_sched.lowering.statements import fresh_copy, stores_and_calls

_LONG = 256  # stores and calls


def specialize_strides(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function, with a second body for dense rows if strides are not constants."""
    innermost = [buffer.strides[-1] for buffer in func.buffer_map.values() if buffer.strides]
    used = variables_of(func.body)
    dense = {
        stride: IntImm(1, stride.dtype)
        for stride in innermost
        if type(stride) is Var and stride in used
    }
    if not dense or stores_and_calls(func.body) > _LONG:
        return func
    body = simplify(func.with_body(fresh_copy(func.body, dict(dense))), settings).body
    is_dense = reduce(ops.logical_and, [ops.equal(stride, one) for stride, one in dense.items()])
    return func.with_body(IfThenElse(is_dense, body, func.body))
