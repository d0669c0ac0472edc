"""Kernels for the tests: from schedules, and written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import te_sched
from te_sched import te
from te_sched.codegen.cuda import expressions, intrinsics, print_kernels, statements
from te_sched.codegen.cuda.writer import KernelText, Unit, Writers
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
    return printed({"f": func})


def body_of(text: str) -> list[str]:
    """The lines in the braces of the only kernel of a source."""
    kernel = text[text.index('extern "C"') :]
    return [line[2:] for line in kernel[kernel.index(") {") :].splitlines()[1:-1]]


def call(dtype: str, op: str, *args: Any) -> E.Call:
    """A call of an intrinsic."""
    values = [E.StringImm(arg) if isinstance(arg, str) else ops.convert(arg) for arg in args]
    return E.Call(dtype, f"tir.{op}", tuple(values))


def empty_text() -> KernelText:
    """The text of a kernel without lines."""
    writers = Writers(expressions.WRITERS, statements.WRITERS, intrinsics.CALLS)
    return KernelText("f", Unit(), writers)


def printed(kernels: Mapping[str, S.PrimFunc]) -> list[str]:
    """The lines in the braces of the only kernel."""
    return body_of(print_kernels(kernels))


def stored(
    value: Callable[[E.Var], E.Expr],
    dtype: str = "float32",
    params: Sequence[E.Buffer | E.Var] = (),
) -> list[str]:
    """The lines of C[tx] = value(tx)."""
    tx, c = thread(), array("C", 32, dtype)
    return text_of(kernel(tx, [c, *params], S.BufferStore(c, value(tx), (tx,))))


def address(buffer: E.Buffer) -> E.Call:
    """The address of the first element."""
    return E.Call("handle", "tir.address_of", (E.BufferLoad(buffer, (E.IntImm(0),)),))


def wmma_kernel() -> S.PrimFunc:
    """C = A @ B of one 16x16x16 fragment."""
    tx = thread()
    a, b, c = array("A", 256, "float16"), array("B", 256, "float16"), array("C", 256)
    pairs = [(a, "matrix_a"), (b, "matrix_b"), (c, "accumulator")]
    fa, fb, fc = (array(f"{m.name}.frag", 256, m.dtype, f"wmma.{use}") for m, use in pairs)
    shape = (16, 16, 16)
    steps = [call("handle", "tvm_fill_fragment", fc.data, *shape, 0, E.FloatImm(0.0))]
    for place, matrix, layout in ((fa, a, "row_major"), (fb, b, "col_major")):
        source = address(matrix)
        steps.append(
            call("handle", "tvm_load_matrix_sync", place.data, *shape, 0, source, 16, layout)
        )
    products = [part for one in (fc, fa, fb, fc) for part in (one.data, 0)]
    steps.append(call("handle", "tvm_mma_sync", *products))
    steps.append(
        call("handle", "tvm_store_matrix_sync", fc.data, *shape, 0, address(c), 16, "row_major")
    )
    body = S.SeqStmt(tuple(S.Evaluate(step) for step in steps))
    return kernel(tx, [a, b, c], allocate(fa, allocate(fb, allocate(fc, body))))


def mma_kernel() -> S.PrimFunc:
    """mma.sync m16n8k16 with registers of the thread, A through ldmatrix."""
    tx, c, shared = thread(), array("C", 256), array("s", 256, "float16", "shared")
    a, b = array("a", 8, "float16", "local"), array("b", 4, "float16", "local")
    d = array("d", 4, "float32", "local")
    load = call("handle", "ptx_ldmatrix", 0, 4, ".b16", a.data, 0, shared.data, tx * 8)
    types = ("fp16", "fp16", "fp32")
    product = call(
        *("handle", "ptx_mma", "m16n8k16", "row", "col", *types),
        *(a.data, 0, b.data, 0, d.data, 0, E.IntImm(0, "bool")),
    )
    steps = (
        S.Evaluate(load),
        S.Evaluate(product),
        S.BufferStore(c, E.BufferLoad(d, (E.IntImm(0),)), (tx,)),
    )
    body = S.SeqStmt(steps)
    for one in (a, b, d, shared):
        body = allocate(one, body)
    return kernel(tx, [c], body)
