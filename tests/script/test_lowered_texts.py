"""Texts that passes of the pipeline leave are read back, and what is read runs."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.ir.structural import structural_difference, structural_equal
from te_sched.script import from_source
from tests.read_back import difference

HEAD = "# from tvm.script import tir as T\n\n@T.prim_func\n"


TEXTS = [
    """\
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.launch_kernel("main_kernel", A.data, B.data, 64, 0)""",
    """\
def main(A: T.Buffer((8,), "float32")):
    B = T.Buffer((8,))
    T.realize(B[0:8])
    B[0] = A[0]""",
    """\
def main(A: T.handle, n: T.int32):
    A_1 = T.match_buffer(A, (n,), strides=("A_1_s0",), buffer_type="auto")
    A_2 = T.Buffer((A_1.strides[0] * n,), data=A_1.data, buffer_type="auto")
    A_2[0] = T.float32(1)""",
    """\
def main(A: T.Buffer((64,), "float32"), n: T.int32):
    for i in range(T.Let(T.Let(x + y, where={y: x * 2}), where={x: n + 1})):
        x = T.int32()
        y = T.int32()
        A[i] = T.float32(1)""",
    """\
def main(A: T.Buffer((128,), "uint8"), B: T.Buffer((128,), "uint8")):
    x: T.uint8x128 = A[0:128]
    B[0:128] = x""",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_read_and_printed(text: str) -> None:
    assert from_source(HEAD + text).script() == HEAD + text


def test_a_realization_has_a_scope_if_one_is_given() -> None:
    plain = from_source(HEAD + TEXTS[1]).body
    scoped = from_source(HEAD + TEXTS[1].replace("B[0:8])", 'B[0:8], "shared")')).body
    assert (type(plain).__name__, type(scoped).__name__) == ("BufferRealize", "AttrStmt")


def test_registers_of_all_threads_have_the_result_of_a_program_that_is_read() -> None:
    A = te.placeholder((4, 32), "float32", name="A")
    k = te.reduce_axis((0, 32), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((4, 32), lambda i, j: A[i, j] / B[i], name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    s[B].set_scope("shared")
    module = te_sched.lower(s, [A, C])
    again = from_source(module.script())
    assert structural_difference(again, module) is None
    a = np.arange(1, 129, dtype="float32").reshape(4, 32)
    device = te_sched.emulated_cuda(0)
    c = te_sched.nd.empty((4, 32), "float32", device)
    te_sched.build(again, target="cuda")(te_sched.nd.array(a, device), c)
    np.testing.assert_allclose(c.numpy(), a / a.sum(1, keepdims=True), rtol=1e-5)


def test_programs_that_are_not_read_back_are_told() -> None:
    program = from_source(HEAD + TEXTS[0])
    assert difference(program, HEAD + TEXTS[0]) is None
    assert "65 != 64" in str(difference(program, (HEAD + TEXTS[0]).replace("64, 0", "65, 0")))
    assert "not read" in str(difference(program, HEAD[:-2]))


def test_extents_are_simplified_when_they_are_read() -> None:
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    inner = tir.For(j, 0, (i + 1) * 2 - i, tir.ForKind.SERIAL, tir.Evaluate(j))
    program = tir.PrimFunc([], tir.For(i, 0, 4, tir.ForKind.SERIAL, inner))
    assert difference(program, program.script()) is None
    assert difference(program, program.script().replace("range(4)", "range(5)")) is not None


def test_the_dtype_of_a_call_that_raises_may_be_given() -> None:
    text = HEAD + 'def main():\n    T.evaluate(T.tvm_throw_last_error(dtype="int32"))\n'
    assert difference(from_source(text), from_source(text).script()) is None


def test_a_lowered_prefetch_is_read_back() -> None:
    A = te.placeholder((32, 32), "float32", name="A")
    B = te.compute((32, 32), lambda i, j: A[i, j] + 1, name="B")
    schedule = te.create_schedule(B.op)
    schedule[B].prefetch(A, B.op.axis[0], 1)
    module = te_sched.lower(schedule, [A, B], simple_mode=True)
    text = module.script()
    assert "T.prefetch(T.address_of(" in text
    assert structural_equal(from_source(text), module)


TEXT = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((2,), "uint64")):
    for i in range(2):
        A[i] = {}
"""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ('T.max_value("uint64")', 2**64 - 1),
        ("T.uint64(9223372036854775809)", 2**63 + 1),
        ("T.large_uint_imm(T.uint32(3), T.uint32(2147483648))", 2**63 + 3),
    ],
)
def test_large_numbers_are_read_back(number: str, value: int) -> None:
    func = from_source(TEXT.format(number))
    text = func.script()
    assert "T.large_uint_imm(T.uint32(" in text
    assert from_source(text).script() == text
    array = te_sched.nd.array(np.zeros(2, "uint64"))
    te_sched.build(from_source(text))(array)
    assert array.numpy().tolist() == [value] * 2
