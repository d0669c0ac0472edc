"""Flat storage: allocations, strides, scopes, views."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import Buffer, Call, Expr
from te_sched.ir.stmt import AttrStmt, Evaluate, IRModule, PrimFunc, Stmt
from te_sched.lowering.flatten_storage import flatten_storage
from te_sched.script import tir as T
from te_sched.tir import transform
from tests.lowering.build import (
    attribute,
    block,
    expected,
    function,
    loop,
    read,
    realize,
    region,
    store,
    temporary,
    text,
    thread,
    var,
)

A = decl_buffer((4, 8), name="A")
C = decl_buffer((4, 8), name="C")
i, j = var("i"), var("j")


def staged(B: Buffer, bounds: tuple[tuple[Expr | int, int], ...]) -> Stmt:
    """C = B + 1, where B = A."""
    copy = loop(j, 8, store(B, read(A, i, j), i, j))
    use = loop(j, 8, store(C, read(B, i, j) + 1.0, i, j))
    return realize(B, region(*bounds), copy, use)


def test_indices_are_relative_to_the_realized_region() -> None:
    body = loop(i, 4, staged(temporary("B", 4, 8), ((i, 1), (0, 8))))
    assert text(flatten_storage(function(body, A, C))) == expected("""
        for i in range(4):
            B = T.allocate([8], "float32", "global")
            B_1 = T.Buffer((8,), data=B, align=32)
            for j in range(8):
                A_1 = T.Buffer((32,), data=A.data)
                B_1[j] = A_1[i * 8 + j]
            for j in range(8):
                C_1 = T.Buffer((32,), data=C.data)
                C_1[i * 8 + j] = B_1[j] + T.float32(1)
    """)


def test_temporaries_without_dimensions_have_one_element() -> None:
    @T.prim_func
    def total(A: T.Buffer((4,), "float32"), B: T.Buffer((), "float32")):
        S = T.alloc_buffer((), "float32")
        S[()] = T.float32(0)
        for i in range(4):
            with T.block("S"):
                S[()] = S[()] + A[T.axis.reduce(4, i)]
        B[()] = S[()] * T.float32(2)

    values, result = np.arange(4, dtype="float32"), np.zeros((), "float32")
    te_sched.build(total, target="llvm")(values, result)
    assert result == 12


def test_parameters_of_one_dimension_stay_in_schedules() -> None:
    V = decl_buffer((8,), name="V")
    func = function(loop(i, 8, store(V, 0.0, i)), V)
    scheduled = func.with_attr("from_legacy_te_schedule", True)
    found = flatten_storage(PrimFunc(func.params, func.body, func.buffer_map, scheduled.attrs))
    assert found.body.body.buffer is V  # type: ignore[attr-defined]


def test_parameters_of_written_functions_become_others() -> None:
    V = decl_buffer((8,), name="V")
    found = text(flatten_storage(function(loop(i, 8, store(V, 0.0, i)), V)))
    assert "V_1 = T.Buffer((8,), data=V.data)" in found


def test_realization_of_a_parameter_goes() -> None:
    body = block(
        store(A, 0.0, 0, 0),
        realize(C, region((0, 4), (0, 8)), store(C, 0.0, 0, 0), store(C, 1.0, 0, 1)),
    )
    found = flatten_storage(function(body, A, C))
    assert text(found).count("\n") == 4
    assert "allocate" not in text(found)


def test_strides_and_offset_of_a_parameter_count() -> None:
    strides = (var("s0"), var("s1"))
    P = decl_buffer((4, 8), name="P", strides=strides, elem_offset=var("start"))
    found = flatten_storage(function(loop(i, 4, store(P, 0.0, i, 2)), P))
    assert "P_2[i * P_1.strides[0] + (P_1.strides[1] * 2 + P_1.elem_offset)]" in text(found)


@pytest.mark.parametrize(("dim", "index"), [(0, "i * 19 + j"), (1, "i * 24 + j * 3")])
def test_storage_align_pads(dim: int, index: str) -> None:
    B = temporary("B", 4, 8)
    numbers = tuple(ops.convert(number) for number in (dim, 16, 3))
    inner = realize(B, region((0, 4), (0, 8)), loop(i, 4, loop(j, 8, store(B, 0.0, i, j))))
    body = AttrStmt(B, "buffer_dim_align", Call("handle", "tir.tvm_tuple", numbers), inner)
    assert f"B_1[{index}]" in text(flatten_storage(function(body)))


@pytest.mark.parametrize(
    ("tags", "scope"),
    [
        ((), "global"),
        (("blockIdx.x",), "shared"),
        (("blockIdx.x", "threadIdx.x"), "local"),
        (("vthread",), "global"),
    ],
)
def test_threads_round_a_stage_choose_its_scope(tags: tuple[str, ...], scope: str) -> None:
    B = temporary("B", 4)
    body: Stmt = realize(B, region((0, 4)), store(B, 0.0, 0))
    for tag in reversed(tags):
        body = thread(tag, 4, var(tag.split(".")[0]), body)
    assert f'allocate([4], "float32", "{scope}")' in text(flatten_storage(function(body)))


def test_scope_of_a_stage_is_kept() -> None:
    B = temporary("B", 4, scope="shared")
    body = realize(B, region((0, 4)), store(B, 0.0, 0))
    found = flatten_storage(function(body)).body
    assert found.buffer_var is B.data  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("dtype", "count", "align"), [("float32", 1, 4), ("int8", 3, 2), ("float64", 5, 32)]
)
def test_small_temporaries_are_aligned_to_their_size(dtype: str, count: int, align: int) -> None:
    B = temporary("B", count, dtype=dtype)
    body = realize(B, region((0, count)), store(B, 0, 0))
    assert f"align={align}" in text(flatten_storage(function(body)))


def test_truth_values_are_stored_as_bytes() -> None:
    B = temporary("B", 4, dtype="bool")
    inner = loop(i, 4, store(B, i < 2, i)), loop(i, 4, store(B, ops.logical_not(read(B, i)), i))
    found = text(flatten_storage(function(realize(B, region((0, 4)), *inner))))
    assert 'B_1[i] = T.Cast("int8", i < 2)' in found
    assert 'B_1[i] = T.Cast("int8", not T.Cast("bool", B_1[i]))' in found


def test_double_buffer_scope_names_the_allocation() -> None:
    B = temporary("B", 4, scope="local")
    body = realize(B, region((0, 4)), attribute(B, "double_buffer_scope", 1, store(B, 0.0, 0)))
    found = flatten_storage(function(body)).body
    assert found.body.node is found.buffer_var  # type: ignore[attr-defined]


# -- views -----------------------------------------------------------------------------------------


def viewed(view: Buffer, *bounds: object) -> PrimFunc:
    """A function that calls something with a view of A."""
    use = Evaluate(call_extern("int32", "f", view.access_ptr("r"), *view.strides))
    numbers = tuple(ops.convert(bound) for bound in bounds)
    tuple_of = Call("handle", "tir.tvm_tuple", numbers)
    return function(loop(i, 4, AttrStmt((view, A), "buffer_bind_scope", tuple_of, use)), A)


def test_view_becomes_its_region() -> None:
    view = decl_buffer((8,), name="v", strides=[var("s")], offset_factor=1)
    found = text(flatten_storage(viewed(view, i, 1, 0, 8)))
    assert (
        'T.tvm_access_ptr(T.type_annotation("float32"), A.data, i * 8, T.Mul(1, 8), 1), 1)' in found
    )
    assert "buffer_bind_scope" not in found


def test_access_to_a_view_is_an_access_to_its_buffer() -> None:
    view = decl_buffer((2, 4), name="v", strides=[var("s"), 1], offset_factor=1)
    numbers = tuple(ops.convert(number) for number in (1, 2, 4, 4))
    tuple_of = Call("handle", "tir.tvm_tuple", numbers)
    body = AttrStmt((view, A), "buffer_bind_scope", tuple_of, loop(i, 2, store(view, 0.0, i, 3)))
    assert "A_1[i * 8 + 15] = T.float32(0)" in text(flatten_storage(function(body, A)))


def test_view_without_strides_rejects_a_region_with_gaps() -> None:
    view = decl_buffer((4, 4), name="v", offset_factor=1)
    with pytest.raises(LoweringError, match=r"(?s)bind buffer v.*not compact.*stage A"):
        flatten_storage(viewed(view, 0, 4, 0, 4))


def test_view_of_fewer_dimensions_rejects_what_it_would_drop() -> None:
    view = decl_buffer((8,), name="v", strides=[1], offset_factor=1)
    with pytest.raises(LoweringError, match="more dimensions of more than one element"):
        flatten_storage(viewed(view, 0, 2, 0, 8))


def test_view_of_another_scope_is_rejected() -> None:
    view = decl_buffer((8,), name="v", strides=[1], offset_factor=1, scope="local")
    with pytest.raises(LoweringError, match="declared in scope 'local', but A is in 'global'"):
        flatten_storage(viewed(view, i, 1, 0, 8))


def test_view_may_be_bound_again() -> None:
    view = decl_buffer((8,), name="v", strides=[1], offset_factor=1)
    first, second = viewed(view, i, 1, 0, 8).body, viewed(view, i + 1, 1, 0, 8).body
    found = text(flatten_storage(function(block(first, second), A)))
    assert "A.data, i * 8, 8" in found
    assert "A.data, i * 8 + 8, 8" in found


@T.prim_func
def tiled_rows(A: T.Buffer((8, 16), "float32")) -> None:
    B = T.alloc_buffer((8, 16))
    for i in range(4):
        with T.block("rows"):
            v = T.axis.spatial(4, i)
            T.reads(A[v * 2, 0:16])
            T.writes(B[v * 2, 0:16])
            for j in range(16):
                B[v * 2, j] = A[v * 2, j]


def test_buffers_and_regions_of_blocks_become_flat() -> None:
    root = flatten_storage(tiled_rows).body.block
    rows = root.body.body.block
    assert [buffer.shape[0] for buffer in root.alloc_buffers] == [128]
    assert rows.writes[0].buffer is root.alloc_buffers[0]
    low, extent = rows.writes[0].region[0].min, rows.writes[0].region[0].extent
    assert str(low) == "v * 32"
    assert ops.is_const(Analyzer().simplify(extent), 16)


@T.prim_func
def viewed_row(A: T.Buffer((8, 16), "float32")) -> None:
    with T.block("view"):
        T.reads()
        T.writes(A[2, 0:16])
        V = T.match_buffer(A[2, 0:16], (16,), offset_factor=1)
        V[3] = T.float32(1)


def test_flattening_rejects_matched_views() -> None:
    with pytest.raises(LoweringError, match="cannot flatten block view: it has the matched view V"):
        flatten_storage(viewed_row)


def lowered_index(index: str, shape: str = "(256,)") -> str:
    """The lowered index of this element."""
    source = f"""
@T.prim_func
def main(A: T.Buffer({shape}, "float32"), B: T.Buffer((1,), "float32")):
    for i, j in T.grid(8, 8):
        B[0] = A[{index}]
"""
    text = str(te_sched.lower(te_sched.script.from_source(source)))
    return text.partition("] = A_1[")[2].partition("]")[0]


def test_indices_of_functions_are_maps_of_iterators() -> None:
    assert lowered_index("i // 2 * 2 + i % 2, j", "(8, 8)") == "i * 8 + j"
    assert lowered_index("(i * 8 + j) // 8, 0", "(8, 8)") == "i * 8"
    assert lowered_index("(7 - i) // 2, j", "(8, 8)") == "(7 - i) // 2 * 8 + j"


@pytest.mark.parametrize(
    ("condition", "index", "expected"),
    [
        ("i < 1", "i * 8 + j", "j"),
        ("i < 1", "i * 16 + j * 3", "j * 3"),
        ("i < 1 and j < 3", "i * 8 + j", "j"),
        ("i < 1", "i * 8 + j * 4 + k", "i * 8 + j * 4 + k"),  # not a map: it has gaps
        ("i < 1 and j == 0", "i * 8 + j", "i * 8 + j"),
        ("i * 2 < 2", "i * 8 + j", "i * 8 + j"),
        ("i * 8 + j < 8", "i * 8 + j", "i * 8 + j"),
        ("i < 1 and j < n", "i * 8 + j", "j"),
    ],
)
def test_iterators_of_one_value_leave_maps(condition: str, index: str, expected: str) -> None:
    source = f"""
@T.prim_func
def main(A: T.Buffer((256,), "float32"), n: T.int32):
    for i, j, k in T.grid(8, 8, 3):
        if {condition}:
            A[{index}] = 1.0
"""
    flat = transform.FlattenBuffer()(IRModule({"main": te_sched.script.from_source(source)}))
    assert f"A_1[{expected}] = " in str(flat)
    func = te_sched.build(te_sched.script.from_source(source))
    a, wanted = np.zeros(256, "float32"), np.zeros(256, "float32")
    func(a, 5)
    for values in itertools.product(range(8), range(8), range(3)):
        names = dict(zip("ijk", values, strict=True), n=5)
        if eval(condition, names):
            wanted[eval(index, names)] = 1.0
    np.testing.assert_array_equal(a, wanted)


def test_symbolic_strides_are_joined() -> None:
    source = """
@T.prim_func
def main(a: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8, 8), "float32", strides=["s", "t"])
    for i in range(8):
        B[i] = A[7 - i, 0]
"""
    lowered = str(te_sched.lower(te_sched.script.from_source(source)))
    assert "A_1[A.strides[0] * (7 - i)]" in lowered


def test_sizes_in_indices_follow_loops() -> None:
    source = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (2, n), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for j in range(n):
        B[j] = A[1, j]
"""
    assert "B_1[j] = A_1[j + n]" in str(te_sched.lower(te_sched.script.from_source(source)))
    found, given = np.zeros(3, "float32"), np.arange(6, dtype="float32").reshape(2, 3)
    te_sched.build(te_sched.script.from_source(source))(given, found)
    np.testing.assert_array_equal(found, given[1])


def test_sizes_of_flat_buffers_are_simplified() -> None:
    source = """
@T.prim_func
def main(a: T.handle):
    m = T.int32()
    A = T.match_buffer(a, (16, m, 3), "float32")
    for i in range(m):
        A[0, i, 0] = 1.0
"""
    assert "A_1 = T.Buffer((m * 48,), data=A.data)" in str(
        te_sched.lower(te_sched.script.from_source(source))
    )


def test_symbolic_sizes_of_functions_are_simplified() -> None:
    @T.prim_func
    def copy(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (4, n, n), "float32")
        B = T.match_buffer(b, (4, n, n), "float32")
        for i in range(n * n * 4):
            B[i // (n * n), i % (n * n) // n, i % n] = A[i // (n * n), i % (n * n) // n, i % n]

    text = str(transform.FlattenBuffer()(IRModule({"copy": copy})))
    assert "A_1 = T.Buffer((n * n * 4,), data=A.data)" in text
    assert "B_1[i] = A_1[i]" in text
    a = np.arange(36, dtype="float32").reshape(4, 3, 3)
    b = np.zeros_like(a)
    te_sched.build(copy)(a, b, 3)
    np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize(
    ("extents", "index", "expected"),
    [
        ("2, 4, n", "i * 4 + j, k", "i * (n * 4) + j * n + k"),
        ("2, 4, n + 7", "i * 3 + j, k", "i * (n * 3) + j * n + k"),  # values that repeat
        ("2, 4, n", "i + j, k", "i * n + j * n + k"),
        ("2, 4, n // 2", "i * 4 + j, k", "(i * 4 + j) * n + k"),  # not a map: it has gaps
        ("2, 4, n", "i * 5 + j, k", "(i * 5 + j) * n + k"),
    ],
)
def test_symbolic_rows_are_ordered(extents: str, index: str, expected: str) -> None:
    source = f"""
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (9, n), "float32")
    for i, j, k in T.grid({extents}):
        A[{index}] = T.float32(1)
"""
    flat = transform.FlattenBuffer()(IRModule({"main": te_sched.script.from_source(source)}))
    assert f"A_1[{expected}] = " in str(flat)


GUARDED = """
@T.prim_func
def main(a: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "float32")
    for i in range((n + 2) // 3):
        for j, k, l in T.grid(m, 3, 2):
            if i * 3 + k < n and {condition}:
                A[{row}, {column}] = T.float32(1)
"""


@pytest.mark.parametrize(
    ("condition", "row", "column", "index"),
    [
        ("l < 2", "i * 3 + k", "j", "(i * 3 + k) * m + j"),
        # As TVM: with an equation, no condition is used.
        ("l == 0", "i * 3 + k", "j", "i * m * 3 + k * m + j"),
        ("l != 1", "i * 3 + k", "j", "i * m * 3 + k * m + j"),
        ("l < 1", "i * 3 + k", "j + l", "(i * 3 + k) * m + j"),
    ],
)
def test_conditions_restrict_iterators(condition: str, row: str, column: str, index: str) -> None:
    source = GUARDED.format(condition=condition, row=row, column=column)
    module = IRModule({"main": te_sched.script.from_source(source)})
    text = str(transform.Simplify()(transform.FlattenBuffer()(module)))
    assert f"A_1[{index}] = " in text


def test_functions_of_schedules_stay() -> None:
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    module = te_sched.lower(te.create_schedule(B.op), [A, B], stop_after="schedule_ops")
    assert transform.FlattenBuffer()(module)["main"] is module["main"]


def flattened(condition: str, tail: str = "") -> str:
    """The store of a program under a condition, as FlattenBuffer leaves it."""
    source = f"""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((16, 16), "float32")):
    for k, i in T.grid(4, 4):
        if {condition}:
            B[k, i] = A[i, k]{tail}
"""
    text = str(transform.FlattenBuffer()(IRModule({"main": te_sched.script.from_source(source)})))
    return next(line.strip() for line in text.splitlines() if "B_1[" in line)


@pytest.mark.parametrize(
    ("condition", "store"),
    [
        ("i < 1", "B_1[k * 16] = A_1[k]"),
        ("3 <= i", "B_1[k * 16 + 3] = A_1[k + 24]"),
        ("1 <= i and i < 2", "B_1[k * 16 + 1] = A_1[k + 8]"),
        ("i == 0", "B_1[k * 16 + i] = A_1[i * 8 + k]"),
        ("i < 1 and k != 0", "B_1[k * 16 + i] = A_1[i * 8 + k]"),
        ("i < 1 and A[i, k] < 1.0", "B_1[k * 16 + i] = A_1[i * 8 + k]"),
    ],
)
def test_conditions_of_one_value_give_constants(condition: str, store: str) -> None:
    assert flattened(condition) == store


def test_branches_of_if_then_else_that_do_not_hold_have_no_predicate() -> None:
    tail = " + T.if_then_else(k < 1, A[i, k], T.if_then_else(i < 1, A[k, i], 0.0))"
    expected = "T.if_then_else(k < 1, A_1[i * 8], T.if_then_else(i < 1, A_1[k * 8 + i], "
    assert expected in flattened("i < 4", tail)
