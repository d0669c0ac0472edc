"""Which instance of a reduction initializes its result: the first one in the order of execution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import relax, tir
from te_sched.analysis import check
from te_sched.errors import BuildError
from te_sched.script import from_source

RESETS = "block R resets R during its reduction"
INCOMPLETE = "block R does not initialize all elements of R"
UPDATE = """\
with T.init():
    R[vi] = 0
R[vi] = R[vi] + A[vi, vk]"""


def row_sums(
    loops: str,
    *bindings: str,
    rows: int = 4,
    columns: int = 8,
    where: str = "",
    update: str = UPDATE,
) -> Any:
    """A function of the sums of rows: its loops, one a line, and the iterators of its block."""
    lines = [*loops.splitlines(), 'with T.block("R"):']
    indented = ["  " * number + line for number, line in enumerate(lines)]
    inside = [*bindings, *([where] if where else []), *update.splitlines()]
    indented += ["  " * len(lines) + line for line in inside]
    body = "\n".join("    " + line for line in indented)
    return from_source(
        f'@T.prim_func\ndef main(A: T.Buffer(({rows}, {columns}), "int32"), '
        f'R: T.Buffer(({rows},), "int32")):\n{body}\n'
    )


def is_right(func: Any, rows: int = 4, columns: int = 8) -> bool:
    """Whether a function computes the sums of rows."""
    a = np.arange(rows * columns, dtype="int32").reshape(rows, columns)
    r = np.full(rows, 7, "int32")
    te_sched.build(func)(a, r)
    return bool((r == a.sum(axis=1)).all())


def refused(func: Any, match: str, **options: Any) -> None:
    """`build` and `check` refuse a function with a reason."""
    assert match in str(check(func))
    with pytest.raises(BuildError, match=match):
        te_sched.build(func, **options)
    te_sched.build(func, verify=False, **options)


GRID = "for i, k in T.grid(4, 8):"
VI = "vi = T.axis.spatial(4, i)"


@pytest.mark.parametrize(
    "value",
    [
        "7 - k",
        "(k + 3) % 8",
        "T.if_then_else(k < 4, k + 4, k - 4)",
        "k // 2 * 2 + 1 - k % 2",
        "(k * 3 + 1) % 8",
    ],
)
@pytest.mark.parametrize("loops", [GRID, "for k, i in T.grid(8, 4):"])
def test_a_reduction_whose_begin_is_not_first_is_refused(value: str, loops: str) -> None:
    refused(row_sums(loops, VI, f"vk = T.axis.reduce(8, {value})"), RESETS)


@pytest.mark.parametrize(
    ("loops", "spatial", "value"),
    [
        (GRID, "3 - i", "k"),
        ("for k, i in T.grid(8, 4):", "i", "k"),
        ("for f in range(32):", "f // 8", "f % 8"),
        ("for f in range(32):", "f % 4", "f // 4"),
        (GRID, "i", "(k * 3) % 8"),
        ("for i in range(4):\nfor ki, ko in T.grid(4, 2):", "i", "ko * 4 + ki"),
    ],
)
def test_the_order_of_the_other_instances_is_free(loops: str, spatial: str, value: str) -> None:
    func = row_sums(loops, f"vi = T.axis.spatial(4, {spatial})", f"vk = T.axis.reduce(8, {value})")
    assert not check(func).unproved
    assert is_right(func)


def test_a_domain_may_begin_elsewhere() -> None:
    update = UPDATE.replace("vk]", "vk - 1]")
    assert is_right(row_sums(GRID, VI, "vk = T.axis.reduce((1, 9), k + 1)", update=update))
    func = row_sums(GRID, VI, "vk = T.axis.reduce((1, 9), 8 - k)", update=update)
    refused(func, RESETS)


def test_the_begin_of_a_row_in_another_iteration_is_refused() -> None:
    func = row_sums(
        "for i, k in T.grid(2, 31):", "vi = T.axis.spatial(2, i)", "vk = T.axis.reduce(31, k)",
        rows=2, columns=31,
    )  # fmt: skip
    sch = tir.Schedule(func)
    outer, inner = sch.split(sch.fuse(*sch.get_loops("R")), factors=[31, 2])
    assert is_right(sch.mod, 2, 31)
    sch.reorder(inner, outer)
    refused(sch.mod, RESETS)


def test_reductions_of_many_iterations_are_judged_by_the_first_ones() -> None:
    loops, vi = "for f in range(1048576):", "vi = T.axis.spatial(1024, f // 1024)"
    func = row_sums(loops, vi, "vk = T.axis.reduce(1024, f % 1024)", rows=1024, columns=1024)
    assert not check(func).unproved
    assert is_right(func, 1024, 1024)
    func = row_sums(loops, vi, "vk = T.axis.reduce(1024, 1023 - f % 1024)", rows=1024, columns=1024)
    refused(func, RESETS)
    where = "T.where(f < 1048576 - f % 1024)"
    func = row_sums(
        loops, vi, "vk = T.axis.reduce(1024, f % 1024)", rows=1024, columns=1024, where=where
    )
    found = [one.message for one in check(func).unproved if one.kind == "rule"]
    assert found == ["block R may initialize its result after its first instance"]


def test_an_initialization_that_is_not_executed_is_refused() -> None:
    reduced = "vk = T.axis.reduce(8, k)"
    refused(row_sums(GRID, VI, reduced, where="T.where(k >= 1)"), INCOMPLETE)
    refused(row_sums(f"{GRID}\nif k > 0:", VI, reduced), INCOMPLETE)
    refused(row_sums(GRID, "vi = T.axis.reduce(4, i)", reduced), INCOMPLETE)
    assert is_right(row_sums(GRID, VI, reduced, where="T.where(i * 8 + k < 32)"))


def test_symbolic_sizes_are_sampled() -> None:
    source = """
@T.prim_func
def main(a: T.handle, r: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "int32")
    R = T.match_buffer(r, (n,), "int32")
    for i, k in T.grid(n, n):
        with T.block("R"):
            vi = T.axis.spatial(n, i)
            vk = T.axis.reduce(n, {})
            with T.init():
                R[vi] = 0
            R[vi] = R[vi] + A[vi, vk]
"""
    assert is_right(from_source(source.format("k")), 8)
    refused(from_source(source.format("n - 1 - k")), RESETS)
    func = from_source(source.format("(k + 1) % n"))
    refused(func, RESETS)
    assert "instance vk = 1 of the same element comes before it (for n = 16)" in str(check(func))


def test_instances_of_inner_blocks_are_those_of_all_loops() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), R: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("rows"):
            wi = T.axis.spatial(4, i)
            wk = T.axis.reduce(8, {})
            with T.block("R"):
                vi = T.axis.spatial(4, wi)
                vk = T.axis.reduce(8, wk)
                with T.init():
                    R[vi] = 0
                R[vi] = R[vi] + A[vi, vk]
"""
    assert is_right(from_source(source.format("k")))
    refused(from_source(source.format("7 - k")), RESETS)


def test_threads_execute_their_loops_in_order() -> None:
    loops = 'for i in T.thread_binding(4, thread="threadIdx.x"):\nfor k in range(8):'
    func = row_sums(loops, VI, "vk = T.axis.reduce(8, 7 - k)")
    refused(func, RESETS, target="cuda")
    te_sched.build(row_sums(loops, VI, "vk = T.axis.reduce(8, k)"), target="cuda")


def test_a_function_that_a_graph_calls_is_judged() -> None:
    module = from_source("""
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce(8, 7 - k)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = Module
        return R.call_tir(cls.sums, (x,), out_sinfo=R.Tensor((4,), "float32"))
""")
    with pytest.raises(BuildError, match="block B resets B during its reduction"):
        relax.build(module, "llvm")


# -- T.init() without a reduction axis -------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_a_reduction_axis_declared_as_spatial_is_refused(dtype: str) -> None:
    source = f"""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 8), "{dtype}")
    B = T.match_buffer(b, (8, 4), "{dtype}")
    C = T.match_buffer(c, (4, 4), "{dtype}")
    for i, j, k in T.grid(4, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            with T.init():
                C[vi, vj] = T.{dtype}(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    func = from_source(source)
    (finding,) = check(func).refuted
    assert finding.message == "block C has T.init() but no reduction axis"
    assert finding.why.startswith("vk indexes nothing that the block writes")
    assert 'did you mean T.axis.remap("SSR", ...)?' in finding.help
    with pytest.raises(BuildError, match="no reduction axis"):
        te_sched.build(func)
    te_sched.build(from_source(source.replace("SSS", "SSR")))


def test_a_second_reduction_axis_declared_as_spatial_is_refused() -> None:
    func = row_sums(
        "for i, k, l in T.grid(4, 4, 2):",
        *(VI, "vk = T.axis.spatial(4, k)", "vl = T.axis.reduce(2, l)"),
        update=UPDATE.replace("vk]", "vk * 2 + vl]"),
    )
    match = "block R resets its result for each value of vk, which is declared as a spatial axis"
    refused(func, match)
    assert '"SRR"' in str(check(func))


def test_an_init_without_reduction_may_initialize_each_element() -> None:
    func = from_source("""
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for i, j, u in T.grid(4, 8, 1):
        with T.block("B"):
            vi, vj, vu = T.axis.remap("SSS", [i, j, u])
            with T.init():
                B[vi, vj] = 1
            B[vi, vj] = B[vi, vj] + A[vi, vj]
""")
    a, b = np.arange(32, dtype="int32").reshape(4, 8), np.zeros((4, 8), "int32")
    te_sched.build(func)(a, b)
    np.testing.assert_array_equal(b, a + 1)
