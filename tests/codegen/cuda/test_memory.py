"""Loads and stores: wide where they are aligned, by elements elsewhere."""

import pytest

from te_sched.codegen.cuda import memory
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import (
    array,
    elementwise,
    empty_text,
    kernel,
    printed,
    text_of,
    thread,
)


def test_vector_copy_is_one_access():
    assert printed(elementwise(lambda a: a, ["float32"], 4)) == [
        "*(float4*)(C + ((int)threadIdx.x) * 4) = *(const float4*)(A + ((int)threadIdx.x) * 4);"
    ]


def test_eight_halves_are_one_access():
    assert printed(elementwise(lambda a: a, ["float16"], 8)) == [
        "*(uint4*)(C + ((int)threadIdx.x) * 8) = *(const uint4*)(A + ((int)threadIdx.x) * 8);"
    ]


def test_access_wider_than_16_bytes_is_cut():
    assert printed(elementwise(lambda a: a, ["float64"], 4)) == [
        "const int i = ((int)threadIdx.x) * 4;",
        "const int i_1 = ((int)threadIdx.x) * 4;",
        "*(double2*)(C + i) = *(const double2*)(A + i_1);",
        "*(double2*)(C + (i + 2)) = *(const double2*)(A + (i_1 + 2));",
    ]


def test_misaligned_vector_is_read_in_parts():
    tx, a, c = thread(), array("A", 64), array("C", 64)
    one = E.IntImm(1)
    load = E.BufferLoad(a, (E.Ramp(tx * 2 + 1, one, 2),))
    lines = text_of(kernel(tx, [a, c], S.BufferStore(c, load, (E.Ramp(tx * 2, one, 2),))))
    assert lines == [
        "const int i = ((int)threadIdx.x) * 2 + 1;",
        "*(float2*)(C + ((int)threadIdx.x) * 2) = make_float2(A[i], A[i + 1]);",
    ]


def test_strided_store_in_place_reads_all_lanes_first():
    tx, a = thread(), array("A", 64)
    load = E.BufferLoad(a, (E.Ramp(E.IntImm(0), E.IntImm(3), 2),))
    lines = text_of(kernel(tx, [a], S.BufferStore(a, load, (E.Ramp(tx, E.IntImm(2), 2),))))
    assert lines == [
        "const float v = A[0];",
        "const float v_1 = A[3];",
        "A[((int)threadIdx.x)] = v;",
        "A[((int)threadIdx.x) + 2] = v_1;",
    ]


SPANS = [  # a type, an index of tx, the elements of an access: count and step
    ("float32", lambda tx: E.Ramp(tx * 4, E.IntImm(1), 4), (4, 4)),
    ("float32", lambda tx: E.Ramp(tx * 4 + 2, E.IntImm(1), 4), (4, 2)),
    ("float32", lambda tx: E.Ramp(tx * 4 + 1, E.IntImm(1), 4), (4, 1)),
    ("float32", lambda tx: E.Ramp(E.IntImm(0), E.IntImm(1), 8), (8, 4)),
    ("float32", lambda tx: E.Ramp(tx, E.IntImm(2), 4), None),
    ("int8", lambda tx: E.Ramp(tx * 16, E.IntImm(1), 16), (16, 16)),
    ("bool", lambda tx: E.Ramp(tx * 4, E.IntImm(1), 4), (4, 1)),
    ("float32x2", lambda tx: tx, (2, 2)),
    ("float32x3", lambda tx: tx, (3, 1)),
]


@pytest.mark.parametrize(("dtype", "index", "expected"), SPANS)
def test_span(dtype, index, expected):
    span = memory.span_of(empty_text(), array("A", 64, dtype), index(thread()))
    assert (None if span is None else (span.count, span.step)) == expected


def test_pointer_of_another_type_is_converted():
    tx, a, c = thread(), array("A", 32), array("C", 32, "int32")
    words = E.Buffer(a.data, "int32", a.shape, (), E.IntImm(0), "words")
    assert text_of(kernel(tx, [a, c], S.BufferStore(c, E.BufferLoad(words, (tx,)), (tx,)))) == [
        "C[((int)threadIdx.x)] = ((const int*)A)[((int)threadIdx.x)];"
    ]


def test_vectors_that_are_not_side_by_side_are_read_by_elements():
    tx, a, c = thread(), array("A", 64, "float32x2"), array("C", 256)
    pairs = E.BufferLoad(a, (E.Ramp(E.IntImm(1), E.IntImm(3), 2),))
    assert text_of(
        kernel(tx, [a, c], S.BufferStore(c, pairs, (E.Ramp(tx * 4, E.IntImm(1), 4),)))
    ) == [
        "*(float4*)(C + ((int)threadIdx.x) * 4) = "
        "make_float4(A[1 * 2], A[1 * 2 + 1], A[4 * 2], A[4 * 2 + 1]);"
    ]
