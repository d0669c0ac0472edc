"""What calls check before native code runs, and what they take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.runtime.module import Module
from tests.codegen.programs import buffer, build, elementwise, function, loop

N = 32


@pytest.fixture(scope="module")
def add_one() -> Module:
    return build(elementwise(lambda x: ops.add(x, 1.0), ["float32"], N))


@pytest.fixture(scope="module")
def symbolic() -> Module:
    """B[i] = A[i] * 2 of strided arrays of n elements, with C of n * 2 elements."""
    n, step = E.Var("n"), E.Var("step")
    source, target = buffer("A", [n], strides=[step]), buffer("B", [n])
    other = buffer("C", [ops.mul(n, 2)])
    flat = E.Buffer(source.data, "float32", (ops.mul(n, step),), (), E.IntImm(0), "A")

    def body(i: E.Var) -> S.Stmt:
        return S.BufferStore(target, ops.mul(E.BufferLoad(flat, (ops.mul(i, step),)), 2.0), (i,))

    return build(function([source, target, other], loop(n, body)))


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def test_takes_numpy_and_ndarrays_without_copies(add_one: Module) -> None:
    a = floats(N)
    for output in (np.zeros(N, "float32"), nd.empty((N,))):
        add_one(nd.array(a), output)
        np.testing.assert_array_equal(np.asarray(output), a + 1)
        add_one(a, output)
        np.testing.assert_array_equal(np.asarray(output), a + 1)


def test_a_stride_that_is_not_used_may_be_any() -> None:
    """numpy says of an array of one element that its stride is that of compact rows."""
    n, step = te.var("n"), te.var("step")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2, name="B")
    strided = te_sched.tir.decl_buffer((n,), "float32", "A", strides=[step])
    module = te_sched.build(te.create_schedule(b.op), [step, a, b], binds={a: strided})
    for count in (0, 1, 2):
        result = np.zeros(count, "float32")
        module(3, floats(3 * count)[::3], result)
        np.testing.assert_array_equal(result, floats(3 * count)[::3] * 2)
    with pytest.raises(CallError, match=r"strides\[0\] 3, expected 2: step is 2 by argument step"):
        module(2, floats(6)[::3], np.zeros(2, "float32"))


class Foreign:
    """An array of another library: all that is known of it is DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: object) -> object:
        return self.values.__dlpack__()


def test_takes_dlpack_without_copies(add_one: Module) -> None:
    a, b = floats(N), np.zeros(N, "float32")
    for _ in range(3):
        add_one(Foreign(a), Foreign(b))
        np.testing.assert_array_equal(b, a + 1)
        a += 1


class Failing:
    """An array of a library that says no."""

    def __dlpack__(self, **options: object) -> object:
        raise ValueError("no such device")

    def __dlpack_device__(self) -> tuple[int, int]:
        raise ValueError("no such device")


def test_what_other_libraries_say_is_passed_on(add_one: Module) -> None:
    with pytest.raises(CallError, match="its library says: ValueError: no such device"):
        add_one(Failing(), floats(N))


class Negated(Foreign):
    """As torch has it: the memory holds the negative of what it stands for."""

    def is_neg(self) -> bool:
        return True

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_negated_tensors_are_refused(add_one: Module) -> None:
    with pytest.raises(CallError, match="negative bit"):
        add_one(Negated(floats(N)), floats(N))
    with pytest.raises(CallError, match="negative bit"):
        nd.from_dlpack(Negated(floats(N)))


def test_memory_maps_and_subclasses_are_arrays(add_one: Module, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    floats(N).tofile(path)
    source = np.memmap(path, "float32", "r")
    target = np.zeros(N, "float32").view(np.recarray)
    add_one(source, target)
    np.testing.assert_array_equal(target, floats(N) + 1)
    with pytest.raises(CallError, match="its memory is read-only"):
        add_one(floats(N), source)


def test_takes_slices_of_compact_rows(add_one: Module) -> None:
    a, b = floats(4, N), np.zeros((4, N), "float32")
    add_one(a[2], b[3])
    np.testing.assert_array_equal(b[3], a[2] + 1)


def read_only() -> np.ndarray:
    values = np.zeros(N, "float32")
    values.flags.writeable = False
    return values


def misaligned() -> np.ndarray:
    return np.zeros(4 * N + 1, "uint8")[1:].view("float32")


BAD = {
    "few": ((floats(N),), "got 1\n"),
    "many": ((floats(N),) * 3, "takes 2 arguments, got"),
    "list": ((floats(N), [0.0] * N), "must be an array, got a list"),
    "dtype": (
        (floats(N).astype("float64"), floats(N)),
        "has dtype float64, expected float32",
    ),
    "byte order": (
        (floats(N).astype(">f4"), floats(N)),
        r"foreign byte order(.|\n)*convert it: x.astype\(\"float32\"\)$",
    ),
    "rank": ((floats(1, N), floats(N)), r"has shape \(1, 32\), expected \(32,\)"),
    "shape": ((floats(N + 1), floats(N)), rf"has shape \({N + 1},\), expected {N}"),
    "strides": ((floats(2 * N)[::2], floats(N)), "has strides"),
    "negative": ((floats(N)[::-1], floats(N)), "expected a positive integer"),
    "read-only": ((floats(N), read_only()), "its memory is read-only"),
    "alignment": ((misaligned(), floats(N)), "not aligned to its elements of 4 bytes"),
    "none": ((None, floats(N)), "must be an array, got None"),
    "int": ((5, floats(N)), "must be an array, got an int"),
    "class": ((np.ndarray, floats(N)), "must be an array, got the class ndarray"),
    "numpy scalar": ((np.float32(1), floats(N)), "must be an array, got a float32"),
    "objects": ((np.zeros(N, object), floats(N)), "has dtype object"),
    "records": ((np.zeros(N, [("a", "f4")]), floats(N)), r"has dtype \[\('a', '<f4'\)\]"),
    "bools": ((np.zeros(N, "bool"), floats(N)), "has dtype bool"),
    "mask": (
        (np.ma.masked_array(floats(N), mask=True), floats(N)),
        "cannot read a MaskedArray: its mask would be ignored",
    ),
    "mask of output": ((floats(N), np.ma.masked_array(floats(N), mask=True)), "its mask would"),
    "one element": ((np.broadcast_to(np.float32(1), (N,)), floats(N)), "has strides"),
}


@pytest.mark.parametrize("case", BAD)
def test_rejects(case: str, add_one: Module) -> None:
    arguments, message = BAD[case]
    add_one(floats(N), np.zeros(N, "float32"))  # good ones are remembered, bad ones must not pass
    with pytest.raises(CallError, match=message):
        add_one(*arguments)


def test_error_has_four_parts(add_one: Module) -> None:
    with pytest.raises(CallError) as caught:
        add_one(floats(N + 1), floats(N))
    error = caught.value
    assert error.fault == "argument A0 has shape (33,), expected 32 along axis 0"
    assert error.names("argument") == ["A0"]
    assert "argument 0 of main()" in error.where
    assert "test_arguments.py" in error.where
    assert error.help == f"pass an array of shape ({N},)"


def test_rejects_outputs_that_share_memory(add_one: Module) -> None:
    memory = floats(2 * N)
    fault = "^argument C, which is written, shares memory with argument A0\n"
    with pytest.raises(CallError, match=fault) as caught:
        add_one(memory[:N], memory[N // 2 : N // 2 + N])
    assert caught.value.names("function") == ["main"]
    add_one(memory[:N], memory[N:])


def test_symbolic_shapes_are_bound_and_compared(symbolic: Module) -> None:
    for n in (0, 1, 5, 40):
        a, b = floats(n), np.zeros(n, "float32")
        symbolic(a, b, floats(2 * n))
        np.testing.assert_array_equal(b, 2 * a)
    with pytest.raises(
        CallError, match=r"has shape\[0\] 6, expected 5: n is 5 by shape\[0\] of argument A"
    ):
        symbolic(floats(5), floats(6), floats(10))
    with pytest.raises(CallError, match=r"expected 10 along axis 0 \(\(n \* 2\)\)"):
        symbolic(floats(5), floats(5), floats(11))


def test_empty_arrays_share_nothing(symbolic: Module) -> None:
    memory = floats(8)
    symbolic(memory[3:3], memory[3:3], memory[2:2])


def test_symbolic_strides_are_bound(symbolic: Module) -> None:
    a, b = floats(30)[::3], np.zeros(10, "float32")
    symbolic(a, b, floats(20))
    np.testing.assert_array_equal(b, 2 * a)


def test_size_that_no_argument_gives_is_refused() -> None:
    n = E.Var("n")
    source, target = buffer("A", [ops.mul(n, 2)]), buffer("B", [1])
    body = S.BufferStore(target, E.BufferLoad(source, (E.IntImm(0),)), (E.IntImm(0),))
    with pytest.raises(BuildError, match="the value of n cannot be read from any argument"):
        build(function([source, target], body))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int32", "int64", "float32", "float64", "float16", "bool"]
)
def test_scalars(dtype: str) -> None:
    x = E.Var("x", dtype)
    target = buffer("B", [1], dtype)
    module = build(function([x, target], S.BufferStore(target, x, (E.IntImm(0),))))
    b = np.zeros(1, dtype)
    for value in (1, np.dtype(dtype).type(1)):
        value = (
            bool(value) if dtype == "bool" else float(value) if dtype.startswith("float") else value
        )
        b[:] = 0
        module(value, b)
        assert b[0] == 1


def test_rejects_scalars_that_do_not_fit() -> None:
    x, y = E.Var("x", "int8"), E.Var("y", "float32")
    target = buffer("B", [1], "int8")
    module = build(function([x, y, target], S.BufferStore(target, x, (E.IntImm(0),))))
    b = np.zeros(1, "int8")
    module(1, 1.0, b)
    for wrong, message in (
        (200, "is 200, too large for int8"),
        (1.0, "must be an int8, got a float"),
        (True, "got a bool"),
    ):
        with pytest.raises(CallError, match=message):
            module(wrong, 1.0, b)
    with pytest.raises(CallError, match="must be a float32, got a str"):
        module(1, "1", b)


class Int(int):
    """As those of enumerations are."""


def test_other_ints_are_judged_by_their_value() -> None:
    x, target = E.Var("x"), buffer("B", [1], "int32")
    module = build(function([x, target], S.BufferStore(target, x, (E.IntImm(0),))))
    b = np.zeros(1, "int32")
    for _ in range(3):
        module(Int(4), b)  # it is gone afterwards, and the next may be where it was
        with pytest.raises(CallError, match="too large for int32"):
            module(Int(2**40), b)


def test_rejects_outputs_whose_elements_meet() -> None:
    n, m, steps = E.Var("n"), E.Var("m"), [E.Var("s0"), E.Var("s1")]
    target = buffer("B", [n, m], strides=steps)
    flat = E.Buffer(target.data, "float32", (ops.mul(n, steps[0]),), (), E.IntImm(0), "B")

    def body(i: E.Var) -> S.Stmt:
        index = ops.mul(i, steps[0])
        return S.BufferStore(flat, ops.cast("float32", ops.add(i, m)), (index,))

    module = build(function([target], loop(n, body)))
    memory = np.zeros(16, "float32")
    for strides in ((3, 1), (1, 3), (3, 2), (5, 1)):
        view = np.lib.stride_tricks.as_strided(memory, (3, 3), [4 * step for step in strides])
        view = view[:, :2] if strides == (3, 2) else view
        module(view)
    for strides in ((1, 1), (2, 1), (2, 4)):
        with pytest.raises(CallError, match="elements overlap"):
            module(np.lib.stride_tricks.as_strided(memory, (3, 3), [4 * step for step in strides]))


def test_many_shapes_do_not_pile_up(symbolic: Module) -> None:
    for n in range(600):
        symbolic(floats(n), np.zeros(n, "float32"), floats(2 * n))
    assert len(symbolic["main"]._good) <= 256


def test_what_was_good_once_does_not_hold_for_other_arrays():
    module = build(elementwise(lambda x: ops.add(x, x), ["float32"], 4))
    good, result = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    module(good, result)
    frozen = np.zeros(4, "float32")
    frozen.flags.writeable = False
    module(frozen, result)  # an input may be read-only
    for bad in (
        frozen,
        np.zeros(8, "float32")[::2],
        np.zeros(4, ">f4"),
        np.zeros(4, "int32"),
        np.zeros((2, 2), "float32"),
        np.frombuffer(bytearray(17), "uint8")[1:].view("float32"),
    ):
        with pytest.raises(CallError, match=r"argument C "):
            module(good, bad)
    module(good, result)
    np.testing.assert_array_equal(result, good + good)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_names_are_refused(target: str) -> None:
    a = te.placeholder((N,), name="A")
    c = te.compute((N,), lambda i: a[i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    if target == "cuda":
        s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [a, c], target=target)
    device = te_sched.emulated_cuda(0) if target == "cuda" else te_sched.cpu(0)
    timer = module.time_evaluator("main", device, number=1)
    for call in (module, module["main"], timer):
        for given in ((), (floats(N),)):
            with pytest.raises(CallError, match=r"by position, got C=\.\.\.(.|\n)*are A, C\n"):
                call(*given, C=floats(N))


@pytest.mark.parametrize(
    ("module", "method"), [("numpy", ".astype"), ("torch", ".to(torch.float32)")]
)
def test_another_dtype_is_converted_by_a_method_of_the_array(
    add_one: Module, module: str, method: str
) -> None:
    kind = type("Tensor", (np.ndarray,), {"__module__": module})
    with pytest.raises(CallError) as caught:
        add_one(floats(N).astype("float64").view(kind), floats(N))
    assert caught.value.help == f"convert it to float32 ({method}), or declare A0 as float64"
