"""Functions that compiled code calls: C, LLVM IR, pointers, Python."""

from __future__ import annotations

import ctypes
import math
import threading
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.runtime import csource, registry
from te_sched.runtime.ndarray import NDArray
from tests.codegen import programs
from tests.codegen.programs import buffer, build, elementwise, function, loop

pytestmark = pytest.mark.usefixtures("own_registry")

N = 16
A, B = buffer("A", [N]), buffer("B", [N])


def extern(name: str, *arguments: E.Expr, dtype: str = "float32", pure: bool = False) -> E.Call:
    op = "tir.call_pure_extern" if pure else "tir.call_extern"
    return E.Call(dtype, op, (E.StringImm(name), *arguments))


def pointer(place: E.Buffer, offset: int = 0) -> E.Call:
    kind = E.Call(place.dtype, "tir.type_annotation", ())
    return E.Call(
        "handle",
        "tir.tvm_access_ptr",
        (kind, place.data, E.IntImm(offset), E.IntImm(N), E.IntImm(3)),
    )


def unary(name: str, *pragmas: tuple[str, str]) -> S.PrimFunc:
    """B[i] = name(A[i]), the first pragma outermost"""
    program = elementwise(lambda x: extern(name, x, pure=True), ["float32"], N)
    body = program.body
    for key, text in reversed(pragmas):
        body = S.AttrStmt(E.StringImm(""), f"pragma_{key}", E.StringImm(text), body)
    return S.PrimFunc(program.params, body, program.buffer_map, program.attrs)


def check(program: S.PrimFunc, expected) -> None:
    a, b = np.linspace(0, 1, N).astype("float32"), np.zeros(N, "float32")
    build(program)(a, b)
    np.testing.assert_allclose(b, expected(a), 1e-6)


def test_function_of_libm() -> None:
    check(unary("cbrtf"), np.cbrt)


def test_missing_function_is_refused_by_name() -> None:
    with pytest.raises(BuildError, match="undefined external function nowhere_to_be_found"):
        build(unary("nowhere_to_be_found"))


def test_ctypes_pointer() -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)
    registry.register_extern("twice", kind(lambda x: 2 * x))
    check(unary("twice"), lambda a: 2 * a)


def test_address() -> None:
    libm = ctypes.CDLL(None)
    registry.register_extern("my_sin", ctypes.cast(libm.sinf, ctypes.c_void_p).value)
    check(unary("my_sin"), np.sin)


def test_python_function() -> None:
    registry.register_extern("slow_exp", math.exp)
    check(unary("slow_exp"), np.exp)


def test_python_function_reads_and_writes_pointers() -> None:
    def reverse(target, source, n) -> int:
        values = np.ctypeslib.as_array(source, (n,))
        np.ctypeslib.as_array(target, (n,))[:] = values[::-1]
        return 0

    registry.register_extern("reverse", reverse)
    call = extern("reverse", pointer(B), pointer(A), E.IntImm(N), dtype="int32")
    check(function([A, B], S.Evaluate(call)), lambda a: a[::-1])


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_exception_in_a_callback_reaches_the_caller(kind: str) -> None:
    class Mishap(Exception):
        pass

    def fail(x: float) -> float:
        raise Mishap(f"at {x}")

    registry.register_extern("fail", fail)
    room = buffer("T", [1 << 20])

    def body(i: E.Var) -> S.Stmt:
        value = extern("fail", E.BufferLoad(A, (i,)))
        return S.Allocate(room.data, "float32", room.shape, ops.TRUE, S.BufferStore(B, value, (i,)))

    module = build(function([A, B], loop(N, body, kind)))
    for _ in range(3):
        with pytest.raises(Mishap, match="at "):
            module(np.ones(N, "float32"), np.zeros(N, "float32"))


IR = "define float @halve(float %x) {\n  %y = fmul float %x, 0.5\n  ret float %y\n}"
C = "#include <math.h>\nfloat third(float x) { return x / 3.0f; }\n"


def test_llvm_ir_of_a_pragma_is_linked() -> None:
    check(unary("halve", ("import_llvm", IR)), lambda a: a / 2)


def test_llvm_ir_of_a_file_is_linked(tmp_path: Path) -> None:
    (tmp_path / "halve.ll").write_text(IR)
    check(unary("halve", ("import_llvm", str(tmp_path / "halve.ll"))), lambda a: a / 2)
    with pytest.raises(BuildError, match="No such file or directory"):
        build(unary("halve", ("import_llvm", str(tmp_path / "none.ll"))))


def test_llvm_ir_with_a_mistake_is_refused() -> None:
    with pytest.raises(BuildError, match="the LLVM IR of a pragma import_llvm"):
        build(unary("halve", ("import_llvm", "define float @halve(")))


needs_compiler = pytest.mark.skipif(csource.find_compiler() is None, reason="no C compiler")


@needs_compiler
def test_c_source_of_a_pragma_is_compiled() -> None:
    check(unary("third", ("import_c", C)), lambda a: a / 3)


@needs_compiler
def test_c_source_with_a_mistake_is_refused() -> None:
    with pytest.raises(BuildError, match="error"):
        build(unary("third", ("import_c", "float third(float x) { return y; }\n")))


@needs_compiler
def test_c_source_that_lacks_the_function_is_refused() -> None:
    with pytest.raises(BuildError, match="third"):
        build(
            unary(
                "third",
                ("import_c", "float third(float);\nfloat other(float x) { return third(x); }\n"),
            )
        )


def packed(name: str, *arguments: E.Expr) -> E.Call:
    return E.Call("int32", "tir.tvm_call_packed", (E.StringImm(name), *arguments))


def as_array(
    place: E.Buffer, shape: tuple[int, ...], strides: tuple[int, ...] = (), offset: int = 0
) -> E.Call:
    make = "tir.tvm_stack_make_shape"
    extents = E.Call("handle", make, tuple(map(E.IntImm, shape)))
    steps = E.Call("handle", make, tuple(map(E.IntImm, strides))) if strides else E.IntImm(0)
    sample = ops.const(0, place.dtype)
    arguments = (place.data, extents, steps, E.IntImm(len(shape)), sample, E.IntImm(offset))
    return E.Call("handle", "tir.tvm_stack_make_array", arguments)


def test_packed_function_gets_arrays_and_scalars() -> None:
    seen = []

    @registry.register_func("test.scale")
    def scale(
        source: NDArray, target: NDArray, factor: float, count: int, label: str, flag: bool
    ) -> None:
        seen.append((source.shape, factor, count, label, flag))
        target[:] = source.numpy() * factor

    arguments = (E.FloatImm(2.5), E.IntImm(-3), E.StringImm("x"), E.IntImm(1, "bool"))
    call = packed("test.scale", as_array(A, (4, 4)), as_array(B, (4, 4)), *arguments)
    check(function([A, B], S.Evaluate(call)), lambda a: a * 2.5)
    assert seen == [((4, 4), 2.5, -3, "x", True)]


def test_packed_function_gets_strided_parts() -> None:
    @registry.register_func("test.copy")
    def copy(source: NDArray, target: NDArray) -> None:
        target[:] = source

    call = packed("test.copy", as_array(A, (2, 3), (8, 2), 1), as_array(B, (2, 3)))
    a, b = np.arange(N, dtype="float32"), np.zeros(N, "float32")
    build(function([A, B], S.Evaluate(call)))(a, b)
    np.testing.assert_array_equal(b[:6], [1, 3, 5, 9, 11, 13])


def test_packed_function_may_be_registered_later() -> None:
    with pytest.warns(UserWarning, match=r"'test\.later', which is not registered") as warned:
        module = build(function([A, B], S.Evaluate(packed("test.later", as_array(B, (N,))))))
    assert [warning.filename for warning in warned] == [programs.__file__]
    a, b = np.zeros(N, "float32"), np.zeros(N, "float32")
    with pytest.raises(CallError, match=r"no function is registered as 'test\.later'"):
        module(a, b)
    registry.register_func("test.later", lambda target: target.copyfrom(np.ones(N)))
    module(a, b)
    np.testing.assert_array_equal(b, np.ones(N))


def test_callbacks_from_several_threads() -> None:
    names = set()

    def record(x: float) -> float:
        names.add(threading.get_ident())
        return x

    registry.register_extern("record", record)
    module = build(elementwise(lambda x: extern("record", x), ["float32"], N, "parallel"))
    a, b = np.arange(N, dtype="float32"), np.zeros(N, "float32")
    module(a, b)
    np.testing.assert_array_equal(a, b)
    assert names


def test_the_later_of_two_pragmas_counts() -> None:
    other = IR.replace("0.5", "4.0") + "\ndefine float @more(float %x) {\n  ret float %x\n}"
    twice = unary("halve", ("import_llvm", IR), ("import_llvm", other))
    check(twice, lambda a: a * 4)
    check(unary("halve", ("import_llvm", other), ("import_llvm", IR)), lambda a: a / 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_python_gets_small_floats_as_numbers(dtype: str) -> None:
    seen: list[tuple[float, int]] = []
    registry.register_extern("small", lambda x, k: seen.append((x, k)) or x)  # type: ignore[func-returns-value]
    half = E.Cast(dtype, E.BufferLoad(A, (E.IntImm(0),)))
    call = extern("small", half, E.IntImm(7))
    a, b = np.full(N, 1.5, "float32"), np.zeros(N, "float32")
    build(function([A, B], S.BufferStore(B, call, (E.IntImm(0),))))(a, b)
    assert seen == [(1.5, 7)]
    assert b[0] == 1.5


def test_packed_functions_get_no_more_than_64_dimensions() -> None:
    te_sched.register_func("looks_at_it", lambda *_: None, override=True)
    X = te.placeholder((8,), name="X")
    deep = te.compute((1,) * 65, lambda *i: X[0], name="deep")
    Z = te.extern((8,), [deep], lambda i, o: tir.call_packed("looks_at_it", i[0], o[0]), name="Z")
    module = te_sched.build(te.create_schedule(Z.op), [X, Z])
    with pytest.raises(CallError, match=r"cannot pass a buffer of 65 dimensions"):
        module(np.zeros(8, "float32"), np.zeros(8, "float32"))


def test_echo_returns_numbers_and_pointers() -> None:
    ib = tir.ir_builder.create()
    buffer = tir.decl_buffer((2,), "float32", name="A")
    pointer = ib.buffer_ptr(buffer)

    def echo(value: E.Expr) -> E.Call:
        return E.Call(value.dtype, "tir.tvm_call_packed", (E.StringImm("testing.echo"), value))

    pointer[0] = echo(tir.const(1.5, "float32"))
    ib.let("same", echo(pointer.asobject().data))
    ib.emit(tir.BufferStore(pointer, tir.const(2.5, "float32"), [1]))
    a = np.zeros(2, "float32")
    te_sched.build(tir.PrimFunc([buffer], ib.get()))(a)
    np.testing.assert_array_equal(a, [1.5, 2.5])
