"""Functions for lines of hostile schedules; scripts of findings begin with those they use.

They return None if there is no better argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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
    """A tensor that is not part of the schedule."""
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


def fill_extremes(array: Any, seed: int, is_summed: bool) -> None:
    """Store extreme numbers of its type in an array; for a sum, numbers that do not round."""
    rng = np.random.default_rng(seed)
    host = array.numpy() if hasattr(array, "numpy") else array
    if host.dtype.kind == "f":
        limits = np.finfo(host.dtype)
        chosen = [0.0, -0.0, 1.0, -1.0, 2.5, 0.5, -1.5, 3.0, np.nan, np.inf, -np.inf]
        if is_summed:
            chosen = [0.0, 1.0, -1.0, 2.0, 3.0, 0.0, 1.0, np.nan, np.inf, -np.inf]
        else:
            chosen += [limits.max, limits.min, limits.tiny, limits.smallest_subnormal]
    else:
        low, high = np.iinfo(host.dtype).min, np.iinfo(host.dtype).max
        chosen = [0, 0, 1, 2, 3, 7, 31, 32, high, high - 1, high // 2, low, low + 1]
        chosen += [-1, -2, -3] if low else [host.dtype.itemsize * 8, high // 3]
    numbers = np.array(chosen, host.dtype)
    host = numbers[rng.integers(0, len(numbers), host.shape)]
    if hasattr(array, "copyfrom"):
        array.copyfrom(host)
    else:
        array[...] = host


def twice(ins: Any, outs: Any) -> Any:
    """The body of an extern of one axis that doubles its input."""
    ib = te_sched.tir.ir_builder.create()
    with ib.for_range(0, ins[0].shape[0]) as i:
        ib.emit(outs[0].vstore(i, ins[0].vload(i) + ins[0].vload(i)))
    return ib.get()


def adding(less: int) -> Any:
    """The body of an extern with kernels: B = 0, B[I[i]] += A[i], except for the last i."""

    def body(ins: Any, outs: Any) -> Any:
        ib = te_sched.tir.ir_builder.create()
        a, indices, b = (ib.buffer_ptr(one) for one in (*ins, *outs))
        with ib.new_scope():
            bx = te.thread_axis("blockIdx.x")
            ib.scope_attr(bx, "thread_extent", outs[0].shape[0])
            b[bx.var] = te.const(0.0, "float32")
        with ib.new_scope():
            bx = te.thread_axis("blockIdx.x")
            ib.scope_attr(bx, "thread_extent", ins[1].shape[0] - less)
            place = tir.call_intrin("handle", "tir.address_of", b[indices[bx.var]])
            ib.emit(tir.call_extern("float32", "atomicAdd", place, a[bx.var]))
        return ib.get()

    return body


def with_value(array: Any, place: int, value: int) -> Any:
    """A copy of an array with another value at an index."""
    values = np.array(array.numpy() if hasattr(array, "numpy") else array)
    values[place] = value
    return te_sched.nd.array(values, array.device) if hasattr(array, "numpy") else values


def framed(shape: Any, seed: int = 0) -> np.ndarray:
    """An array within a larger one: of random whole numbers, or of -7, for results."""
    size = int(np.prod(shape))
    memory = np.full(size + 128, -7, "float32")
    if seed:
        memory[64 : 64 + size] = np.random.default_rng(seed).integers(-9, 9, size)
    return memory[64 : 64 + size].reshape(shape)


def few(extent: Callable[[], int]) -> int:
    """The extent of a passed array: the computed one, if it is valid."""
    try:
        return extent() if 0 <= extent() <= 10**5 else 0
    except ZeroDivisionError:
        return 0


def count(extent: int) -> int:
    """An extent that is neither negative nor too large."""
    if extent < 0:
        raise ValueError(f"{extent} elements")
    if extent > 10**6:
        raise MemoryError(f"{extent} elements")
    return extent


def rows(array: np.ndarray, low: int, high: int) -> np.ndarray:
    """A part of each row, which must exist."""
    if low != high and not 0 <= low < high <= array.shape[1]:
        raise ValueError(f"from {low} to {high}")
    return array[:, low:high] if low != high else array[:, :0]


def scatter(ins: Any, outs: Any, index: Any) -> Any:
    """The body of an extern operation: out[index(x, i)] = a[i], and zeros elsewhere."""
    builder = tir.ir_builder.create()
    a, x, out = (builder.buffer_ptr(one) for one in (*ins, *outs))
    with builder.for_range(0, outs[0].shape[0], name="j") as j:
        out[j] = te.const(0, outs[0].dtype)
    with builder.for_range(0, ins[1].shape[0], name="i") as i:
        out[index(x, i)] = a[i]
    return builder.get()
