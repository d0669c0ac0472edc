"""Hand-written lowered programs for the tests of code generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.lowering.join_dimensions import join_dimensions
from te_sched.runtime.build import build_functions
from te_sched.runtime.module import Module


def buffer(name: str, shape: Sequence[Any], dtype: str = "float32", **options: Any) -> E.Buffer:
    """A buffer with a new data pointer."""
    extents = tuple(ops.convert(extent) for extent in shape)
    strides = tuple(ops.convert(step) for step in options.pop("strides", ()))
    data = E.Var(name, "handle", E.PointerType(dtype))
    return E.Buffer(data, dtype, extents, strides, E.IntImm(0), name, **options)


def function(arguments: Sequence[E.Buffer | E.Var], body: S.Stmt, **attrs: Any) -> S.PrimFunc:
    """A PrimFunc of buffers and scalars."""
    params = [arg if isinstance(arg, E.Var) else E.Var(arg.name, "handle") for arg in arguments]
    pairs = zip(params, arguments, strict=True)
    buffers = {param: arg for param, arg in pairs if isinstance(arg, E.Buffer)}
    return S.PrimFunc(tuple(params), body, buffers, {"tir.noalias": True, **attrs})


def loop(extent: Any, body: Callable[[E.Var], S.Stmt], kind: str = "serial") -> S.For:
    """for i in 0 .. extent - 1: body(i)"""
    var = E.Var("i")
    return S.For(var, E.IntImm(0), ops.convert(extent), kind, body(var))


def elementwise(
    compute: Callable[..., E.Expr],
    dtypes: Sequence[str],
    n: Any,
    kind: str = "serial",
    lanes: int = 1,
    result: str | None = None,
) -> S.PrimFunc:
    """C[i] = compute(A0[i], A1[i], ...), `lanes` elements at a time; of type `result`."""
    inputs = [buffer(f"A{k}", [n], dtype) for k, dtype in enumerate(dtypes)]

    def index(i: E.Var) -> E.Expr:
        return i if lanes == 1 else E.Ramp(ops.mul(i, lanes), E.IntImm(1), lanes)

    dtype = result or compute(*[E.BufferLoad(a, (E.IntImm(0),)) for a in inputs]).dtype
    output = buffer("C", [n], dtype)

    def body(i: E.Var) -> S.Stmt:
        return S.BufferStore(
            output, compute(*[E.BufferLoad(a, (index(i),)) for a in inputs]), (index(i),)
        )

    return function([*inputs, output], loop(ops.floordiv(n, lanes), body, kind))


@walks_deeply("compile a program of a test")
def build(func: S.PrimFunc, target: str = "llvm", name: str = "main") -> Module:
    """Compile one function."""
    return build_functions({name: join_dimensions(func)}, target)
