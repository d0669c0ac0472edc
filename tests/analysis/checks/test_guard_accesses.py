"""Checks of indices that are known at run time alone: where they stand, and what they find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import AccessError, IRModule, te, tir
from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.ir.stmt import BufferStore, Evaluate, For, IfThenElse, Stmt, While
from te_sched.ir.visitor import parts_of
from tests.analysis.parsed import parsed

A = te.placeholder((64,), name="A")


J = te.placeholder((10,), "int32", name="J")


def gather(how=lambda s, b: None, index=lambda i: J[i]):
    b = te.compute((10,), lambda i: A[index(i)], name="B")
    s = te.create_schedule(b.op)
    how(s, b)
    return te_sched.build(s, [A, J, b])


def run(function, **changes):
    places = np.arange(10, dtype="int32")
    for place, value in changes.items():
        places[int(place[1:])] = value
    result = np.zeros(10, "float32")
    function(np.arange(64, dtype="float32"), places, result)
    return result


def split_and(how):
    def change(s, b):
        outer, inner = s[b].split(b.op.axis[0], factor=5)
        getattr(s[b], how)(outer if how == "parallel" else inner)

    return change


@pytest.mark.parametrize("how", ["vectorize", "parallel", "unroll"])
@pytest.mark.parametrize("value", [64, -1, 2**31 - 1, -(2**31)])
def test_gather_is_checked_when_it_runs(how, value):
    function = gather(split_and(how))
    np.testing.assert_array_equal(run(function, _4=63), [0, 1, 2, 3, 63, 5, 6, 7, 8, 9])
    with pytest.raises(
        AccessError, match=rf"read A at {value} in(.*\n)*.*where .* has the indices 0"
    ):
        run(function, _7=value)


def test_index_of_data_is_checked_without_overflow():
    function = gather(index=lambda i: J[i] * 65536)
    with pytest.raises(AccessError, match="read A at 4294967296 in dimension 0"):
        run(function, _0=0, **{f"_{i}": 0 for i in range(1, 10)} | {"_3": 65536})


def test_check_leaves_the_loops_that_it_does_not_depend_on():
    table, k = te.placeholder((64, 32), name="T"), te.reduce_axis((0, 32), "k")
    b = te.compute((10,), lambda i: te.sum(table[J[i], k], k), name="B")
    func = te_sched.lower(te.create_schedule(b.op), [table, J, b], stop_after="schedule_ops")[
        "main"
    ]
    text = IRModule({"main": guard_accesses(func).func}).script()
    assert text.index("report_access") < text.index("for k")


def test_checks_can_be_switched_off():
    with te_sched.config.scoped(check_accesses=False):
        source = gather().get_source()
    # What reports an access is the only function of the process that is called.
    assert "@te_sched_slots = local_unnamed_addr global [0 x ptr]" in source
    assert "@te_sched_slots = local_unnamed_addr global [1 x ptr]" in gather().get_source()


def test_checks_stay_in_saved_libraries(tmp_path):
    gather().export_library(tmp_path / "gather.so")
    loaded = te_sched.runtime.load_module(str(tmp_path / "gather.so"))
    with pytest.raises(AccessError, match="read A at 64"):
        run(loaded, _2=64)


def test_lowered_program_is_checked():
    b = te.compute((10,), lambda i: A[J[i]], name="B")
    s = te.create_schedule(b.op)
    s[b].vectorize(s[b].split(b.op.axis[0], factor=5)[1])
    function = te_sched.build(te_sched.lower(s, [A, J, b]))
    run(function)
    with pytest.raises(AccessError, match="read A at 64"):
        run(function, _9=64)


def test_condition_on_memory_that_changes_proves_nothing():
    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        place = ib.allocate("int32", 1, name="place")
        place[0] = 3
        with ib.if_scope(tir.all(place[0] >= 0, place[0] < 64)):
            place[0] = place[0] + 100
            out[0] = a[place[0]]
        return ib.get()

    e = te.extern([(1,)], [A], body, name="E", dtype="float32")
    function = te_sched.build(te.create_schedule(e.op), [A, e])
    with pytest.raises(AccessError, match="read A at 103"):
        function(np.zeros(64, "float32"), np.zeros(1, "float32"))


def test_name_of_what_memory_held_is_not_what_it_holds():
    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        place = ib.allocate("int32", 1, name="place")
        place[0] = 300
        held = ib.let("held", place[0])
        place[0] = 3
        with ib.if_scope(tir.all(place[0] >= 0, place[0] < 64)):
            out[0] = a[held]
        return ib.get()

    e = te.extern([(1,)], [A], body, name="E", dtype="float32")
    function = te_sched.build(te.create_schedule(e.op), [A, e])
    with pytest.raises(AccessError, match="read A at 300"):
        function(np.zeros(64, "float32"), np.zeros(1, "float32"))


@pytest.mark.parametrize("ends", [(0, 17), (-1, 2), (0, 2**31 - 1), (-(2**31), 0)])
def test_loops_that_memory_bounds_stay_within_arrays(ends: tuple[int, int]) -> None:
    ends_of, values = te.placeholder((2,), "int32", name="E"), te.placeholder((16,), name="V")

    def rows(ins: Any, outs: Any) -> Any:
        ib = te_sched.tir.ir_builder.create()
        e, v, out = (ib.buffer_ptr(one) for one in (*ins, *outs))
        out[0] = te.const(0.0, "float32")
        with ib.for_range(e[0], e[1], name="j") as j:
            out[0] = out[0] + v[j]
        return ib.get()

    total = te.extern((1,), [ends_of, values], rows, name="total", dtype="float32")
    module = te_sched.build(te.create_schedule(total.op), [ends_of, values, total])
    given = np.arange(16, dtype="float32"), np.zeros(1, "float32")
    module(np.array([2, 5], "int32"), *given)
    assert given[1] == 9
    with pytest.raises(AccessError, match="read V at"):
        module(np.array(ends, "int32"), *given)


def outline(func: tir.PrimFunc) -> str:
    """The loops, conditions, reports and names of stored buffers, nested in brackets."""

    def visit(node: Stmt) -> str:
        inner = " ".join(map(visit, parts_of(node)))
        if isinstance(node, BufferStore):
            return node.buffer.name
        if isinstance(node, Evaluate):
            return "report"
        words = {For: "for", IfThenElse: "if", While: "while"}
        word = "vector" if getattr(node, "kind", "") == "vectorized" else words.get(type(node))
        return f"{word}({inner})" if word else inner

    return visit(func.body)


ROWS = "for i in range({}):\n    for j in range(8):\n        {}"


@pytest.mark.parametrize(
    ("body", "checked", "expected"),
    [
        ("for i in range(16):\n    C[i] = A[i]", 0, "for(C)"),
        ("C[0] = A[I[0]]", 1, "if(report) C"),
        (ROWS.format(2, "C[j] = A[I[0]]"), 1, "if(report) for(for(C))"),
        (ROWS.format("I[1]", "C[j] = A[I[0]]"), 1, "if(if(report)) for(for(C))"),
        (ROWS.format(2, "I[j] = I[I[j]]"), 1, "for(for(if(report) I))"),
        ("for i in T.vectorized(8):\n    I[i] = I[I[i]]", 1, "for(if(report) I)"),
        ("for i in T.vectorized(8):\n    C[i] = A[I[i]]", 1, "for(if(report)) vector(C)"),
        (
            "if I[0] < 9:\n    C[0] = A[I[0]]\nelse:\n    C[I[0]] = 1.0",
            *(2, "if(if(report) C if(report) C)"),
        ),
        ("while I[I[0]] < 9:\n    I[0] = I[0] + 1", 1, "if(report) while(I if(report))"),
        ("C[0] = A[I[I[0]]]", 2, "if(report) if(report) C"),
    ],
)
def test_checks_stand_where_their_index_is_known(body: str, checked: int, expected: str) -> None:
    func = parsed(body)
    guarded = guard_accesses(func, notes=False)
    assert guarded.checked == checked
    assert outline(guarded.func) == expected
    assert guard_accesses(func, insert=False).func.body is func.body


def test_a_loop_is_tested_as_a_whole_before_it_runs() -> None:
    func = guard_accesses(parsed("for i in range(16):\n    C[i] = A[I[i]]")).func
    assert outline(func) == "vector(outside) for(outside) for(if(for(if(report)))) for(C)"


def test_what_is_refuted_is_a_finding() -> None:
    guarded = guard_accesses(parsed("for i in range(16):\n    C[i] = A[i + 1]"))
    (finding,) = guarded.findings.refuted
    assert (finding.kind, finding.buffer, guarded.checked) == ("bounds", "A", 0)
    n = "A: T.handle, n: T.int32"
    body = (
        "m = T.int32()\nC = T.match_buffer(A, (m,), 'float32')\nfor i in range(n):\n    C[i] = 1.0"
    )
    (size,) = guard_accesses(parsed(body, n)).sizes
    assert (str(size.extent), str(size.least)) == ("m", "n")


VIEWS = """
A1 = T.Buffer((3, 20), data=A.data)
B1 = T.Buffer((2, 20), data=B.data)
for k, p in T.grid(2, 20):
    B1[{write}, p] = A1[{read}, p]
"""
SQUARES = 'A: T.Buffer((3, 4, 5)), B: T.Buffer((2, 4, 5)), I: T.Buffer((2,), "int64")'


@pytest.mark.parametrize(("read", "write"), [("I[k]", "k"), ("k", "I[k]")])
def test_accesses_to_views_of_another_rank_are_checked(read: str, write: str) -> None:
    func = parsed(VIEWS.format(read=read, write=write), SQUARES)
    built = te_sched.build(func, target="llvm")
    arrays = np.ones((3, 4, 5), "float32"), np.zeros((2, 4, 5), "float32")
    built(*arrays, np.array([1, 0]))
    assert arrays[1].sum() == 40
    for value in (60, -1, 3):
        with pytest.raises(AccessError, match=rf" at {value} in dimension 0"):
            built(*arrays, np.array([0, value]))


@pytest.mark.parametrize(
    ("view", "is_within"),
    [
        ("(3, 20)", True),  # of another rank
        ("(4, 20)", False),
        ("(2, 6, 5)", True),  # of the same rank
        ("(2, 6, 6)", False),
        ('(3, 4, 5), "int8"', True),  # of smaller and greater elements
        ('(3, 4, 20), "int8"', True),
        ('(3, 4, 21), "int8"', False),
        ('(3, 4, 5), "float64"', False),
        ('(3, 10), "float64"', True),
        ("(2, 4, 5), elem_offset=20", True),  # that begins later
        ("(3, 4, 5), elem_offset=1", False),
        ("(20,), elem_offset=40", True),
        ("(20,), elem_offset=41", False),
        ("(2, 2, 5), strides=(40, 10, 1)", True),  # with gaps
        ("(3, 4, 5), strides=(40, 5, 1)", False),
        ("(20,), strides=(3,)", True),
        ("(21,), strides=(3,)", False),
    ],
)
def test_views_are_judged_by_their_own_layout(view: str, is_within: bool) -> None:
    shape = view[1 : view.index(")")].removesuffix(",")
    at = ", ".join("kpq"[: shape.count(",") + 1])
    text = f"V = T.Buffer({view}, data=A.data)\nfor {at} in T.grid({shape}):\n"
    guarded = guard_accesses(parsed(f"{text}    V[{at}] = V[{at}]", "A: T.Buffer((3, 4, 5))"))
    assert bool(guarded.findings.refuted) != is_within
    assert guarded.checked == 0
