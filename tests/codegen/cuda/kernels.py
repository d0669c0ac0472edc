"""Kernels for the tests: from schedules, and written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import te_sched
from te_sched import te
from te_sched.codegen.cuda import print_kernels
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.kernel import is_kernel
from te_sched.lowering.device.pipeline import device_passes

TRUE = E.IntImm(1, "bool")


def kernels_of(schedule: Any, args: Sequence[Any], name: str = "main") -> dict[str, S.PrimFunc]:
    """The kernels of a schedule."""
    module = device_passes(te_sched.lower(schedule, list(args), name=name)[name])
    return {one: func for one, func in module.functions.items() if is_kernel(func)}


def elementwise(
    compute: Callable[..., Any],
    dtypes: Sequence[str],
    lanes: int = 1,
    name: str = "main",
    n: int = 64,
) -> dict[str, S.PrimFunc]:
    """C[i] = compute(A[i], B[i], ...), `lanes` elements in each of some threads."""
    inputs = [te.placeholder((n,), dtype, name="ABDEF"[k]) for k, dtype in enumerate(dtypes)]
    output = te.compute((n,), lambda i: compute(*[tensor[i] for tensor in inputs]), name="C")
    schedule = te.create_schedule(output.op)
    thread = output.op.axis[0]
    if lanes > 1:
        thread, inner = schedule[output].split(thread, factor=lanes)
        schedule[output].vectorize(inner)
    schedule[output].bind(thread, te.thread_axis("threadIdx.x"))
    return kernels_of(schedule, [*inputs, output], name)


def array(name: str, n: int, dtype: str = "float32", scope: str = "global") -> E.Buffer:
    """A buffer with a pointer of its own."""
    data = E.Var(name, "handle", E.PointerType(dtype, scope))
    return E.Buffer(data, dtype, (E.IntImm(n),), (), E.IntImm(0), name)


def thread() -> E.Var:
    """The variable of threadIdx.x."""
    return E.Var("tx")


def kernel(
    tx: E.Var, params: Sequence[E.Buffer | E.Var], body: S.Stmt, extent: int = 32
) -> S.PrimFunc:
    """A kernel of one block."""
    axis = E.IterVar(E.Range(E.IntImm(0), E.IntImm(extent)), tx, "ThreadIndex", "threadIdx.x")
    variables = tuple(one if isinstance(one, E.Var) else one.data for one in params)
    attrs = {"global_symbol": "f", "calling_conv": 2, "tir.noalias": True}
    return S.PrimFunc(
        variables, S.AttrStmt(axis, "thread_extent", E.IntImm(extent), body), {}, attrs
    )


def allocate(buffer: E.Buffer, body: S.Stmt) -> S.Stmt:
    """An allocation of the buffer with a body."""
    return S.Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, body)


def text_of(func: S.PrimFunc) -> list[str]:
    """The lines in the braces of a kernel, indented one step less."""
    text = print_kernels({"f": func})
    return body_of(text)


def body_of(text: str) -> list[str]:
    """The lines in the braces of the only kernel of a source."""
    kernel = text[text.index('extern "C"') :]
    return [line[2:] for line in kernel[kernel.index(") {") :].splitlines()[1:-1]]


def call(dtype: str, op: str, *args: Any) -> E.Call:
    """A call of an intrinsic."""
    values = [E.StringImm(arg) if isinstance(arg, str) else ops.convert(arg) for arg in args]
    return E.Call(dtype, f"tir.{op}", tuple(values))
