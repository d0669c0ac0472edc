"""Words that lines of hostile schedules are made of; scripts of findings begin with those they use.

A word gives what a user might write by mistake where there is nothing better: None.
"""

from __future__ import annotations

from typing import Any

import te_sched
from te_sched import te, tir


def leaf(stage: Any, number: int) -> Any:
    """A loop of a stage."""
    leaves = stage.leaf_iter_vars
    return leaves[number % len(leaves)] if leaves else None


def known(stage: Any, number: int) -> Any:
    """An axis that a stage has or had."""
    axes = stage.all_iter_vars
    return axes[number % len(axes)] if axes else None


def own(stage: Any, number: int) -> Any:
    """An axis of the operation of a stage."""
    axes = getattr(stage.op, "axis", ())
    return axes[number % len(axes)] if axes else None


def reduced(stage: Any, number: int) -> Any:
    """A reduction axis of the operation of a stage."""
    axes = getattr(stage.op, "reduce_axis", ())
    return axes[number % len(axes)] if axes else None


def strange_tensor() -> Any:
    """A tensor that no schedule here has."""
    X = te.placeholder((8, 8), name="X")
    return te.compute((8, 8), lambda i, j: X[i, j] + 1, name="Y")


def strange_stage() -> Any:
    """A stage of another schedule."""
    Y = strange_tensor()
    return te.create_schedule(Y.op)[Y]


def adder(length: int, dtype: str = "float32", is_wrong: bool = False) -> Any:
    """A tensor intrinsic that adds vectors."""
    a = te.placeholder((length,), dtype, name="a")
    b = te.placeholder((length,), dtype, name="b")
    c = te.compute((length,), lambda i: a[i] + b[i], name="c")
    buffers = {t: tir.decl_buffer((length,), dtype, t.op.name, offset_factor=1) for t in (a, b, c)}

    def body(ins: Any, outs: Any) -> Any:
        if is_wrong:
            return None
        ib = te_sched.tir.ir_builder.create()
        with ib.for_range(0, length) as i:
            ib.emit(outs[0].vstore(i, ins[0].vload(i) + ins[1].vload(i)))
        return ib.get()

    return te.decl_tensor_intrin(c.op, body, binds=buffers)


def twice(ins: Any, outs: Any) -> Any:
    """The body of an extern of one axis that doubles its input."""
    ib = te_sched.tir.ir_builder.create()
    with ib.for_range(0, ins[0].shape[0]) as i:
        ib.emit(outs[0].vstore(i, ins[0].vload(i) + ins[0].vload(i)))
    return ib.get()
