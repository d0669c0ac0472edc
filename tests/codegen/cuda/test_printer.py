"""The text of small kernels, to the letter."""

import pytest

from te_sched.codegen.cuda import print_kernels
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import array, call, elementwise, kernel, thread


def test_whole_source():
    assert print_kernels(elementwise(lambda a, b: a + b, ["float32"] * 2)) == (
        'extern "C" __global__ void __launch_bounds__(64) main_kernel(\n'
        "    const float* __restrict__ A,\n"
        "    const float* __restrict__ B,\n"
        "    float* __restrict__ C) {\n"
        "  C[((int)threadIdx.x)] = A[((int)threadIdx.x)] + B[((int)threadIdx.x)];\n"
        "}\n"
    )


def test_names_are_identifiers_of_their_own():
    tx, c = thread(), array("float", 32)
    other = array("a.b", 32)
    text = print_kernels(
        {"f": kernel(tx, [c, other], S.BufferStore(c, E.BufferLoad(other, (tx,)), (tx,)))}
    )
    assert text.splitlines()[1:3] == [
        "    float* __restrict__ float_1,",
        "    const float* __restrict__ a_b) {",
    ]


def test_imported_source_stands_before_the_kernels():
    tx, c = thread(), array("C", 32)
    value = call("float32", "call_pure_extern", "twice", E.FloatImm(2.0))
    source = "__device__ float twice(float x) { return x + x; }"
    body = S.AttrStmt(
        E.StringImm(""), "pragma_import_c", E.StringImm(source), S.BufferStore(c, value, (tx,))
    )
    text = print_kernels({"f": kernel(tx, [c], body)})
    assert text.startswith(source)
    assert "C[((int)threadIdx.x)] = twice(2.0f);" in text


def test_refuses_kernel_names_that_c_does_not_allow():
    tx, c = thread(), array("C", 32)
    body = S.BufferStore(c, E.FloatImm(0.0), (tx,))
    with pytest.raises(BuildError, match="kernel name 'a-b'"):
        print_kernels({"a-b": kernel(tx, [c], body)})


def test_refuses_kernel_names_that_nvrtc_would_crash_of():
    tx, c = thread(), array("C", 32)
    body = S.BufferStore(c, E.FloatImm(0.0), (tx,))
    with pytest.raises(BuildError, match="kernel name 'xxx"):
        print_kernels({"x" * 100_000: kernel(tx, [c], body)})
