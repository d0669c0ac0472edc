"""The accesses of programs: which elements, in which order, under which conditions."""

from __future__ import annotations

import pytest

from te_sched.analysis.programs.accesses import (
    Access,
    by_memory,
    executions_of,
    reads_own,
)
from te_sched.ir.expr import BufferLoad
from te_sched.ir.scopes import Loop
from te_sched.ir.stmt import BufferStore
from tests.analysis.parsed import accesses, parsed


def text(access: Access) -> str:
    """An access as "w C[i, 4+3] in i if x", with the number of its elements where it is not 1."""
    index = "?"
    if access.index is not None:
        pairs = zip(access.index, access.sizes, strict=True)
        index = ", ".join(f"{at}" + f"+{size}" * (f"{size}" != "1") for at, size in pairs)
    loops = "".join(f" in {loop.var.name}" for loop in access.loops)
    conditions = "".join(f" if {condition}" for condition in access.conditions)
    sure = "" if access.is_sure else " maybe"
    return f"{'rw'[access.writes]} {access.data.name}[{index}]{loops}{conditions}{sure}"


POINTER = "T.evaluate(T.call_extern('int32', 'f', T.tvm_access_ptr({}), A.data))"
POINTER = POINTER.format("T.type_annotation('float32'), A.data, 4, 3, {}") + "\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "for i in range(8):\n    C[i] = A[i + 1] + C[i]",
            ["r A[i + 1] in i", "r C[i] in i", "w C[i] in i"],
        ),
        ("C[0:8] = A[4:12]", ["r A[4+8]", "w C[0+8]"]),
        # The lanes of a strided vector are a loop; those of an index from memory are not known.
        ("C[0:8] = A[0:16:2]", ["r A[T.Add(0, lane * 2)] in lane", "w C[0+8]"]),
        ("C[0:8] = A[I[0:8]]", ["r I[0+8]", "r A[?] maybe", "w C[0+8]"]),
        (
            "for i in range(8):\n    if I[i] > 0:\n        C[i] = A[0]\n    "
            "else:\n        I[i] = 2",
            [
                *("r I[i] in i", "r A[0] in i if I_1[i] > 0", "w C[i] in i if I_1[i] > 0"),
                "w I[i] in i if not I_1[i] > 0",
            ],
        ),
        (
            "C[0] = T.if_then_else(I[0] > 0, A[0], A[1])",
            ["r I[0]", "r A[0] if I_1[0] > 0", "r A[1] if not I_1[0] > 0", "w C[0]"],
        ),
        (
            POINTER.format(2) + POINTER.format(3),
            ["w A[4+3]", "w A[?] maybe", "w A[4+3] maybe", "w A[?] maybe"],
        ),
    ],
)
def test_elements_of_accesses(body: str, expected: list[str]) -> None:
    assert [text(access) for access in accesses(body).accesses] == expected


def test_the_order_of_statements_and_loops() -> None:
    body = "C[0] = A[0]\nfor i in range(8):\n    C[i] = A[i]\n    A[i] = 1.0"
    orders = [
        [part.var.name if isinstance(part, Loop) else part for part in access.order]
        for access in accesses(body).accesses
    ]
    assert orders == [[0, 0], [0, 1], [1, "i", 0, 0], [1, "i", 0, 1], [1, "i", 1, 1]]


def test_threads_of_one_axis_are_one_variable() -> None:
    kernel = "bx = T.launch_thread('blockIdx.x', 2)\n"
    kernel += "with T.launch_thread('threadIdx.x', 8) as t:\n    C[t] = A[bx]\n"
    kernel += "with T.launch_thread('threadIdx.x', 8) as u:\n    A[u] = C[bx]\n"
    program = accesses(kernel)
    first, second = (access for access in program.accesses if access.writes)
    assert first.index == second.index
    assert len({loop.var for access in program.accesses for loop in access.loops}) == 2


def test_atomic_accesses_are_none() -> None:
    call = "T.call_intrin('float32', 'tir.atomic_add', T.address_of(C[0]), T.float32(1))"
    assert not accesses(f"T.evaluate({call})").accesses
    program = accesses(f"C[1] = A[0]\nA[{call}] = 1.0".replace("float32'", "int32'"))
    counts = {data.name: len(found) for data, found in by_memory(program.accesses).items()}
    assert counts == {"A": 2, "C": 1}


@pytest.mark.parametrize(
    ("value", "is_own"), [("C[0] + A[0]", True), ("C[1]", False), ("A[0]", False), ("-C[0]", True)]
)
def test_updates_read_their_own_element(value: str, is_own: bool) -> None:
    store = parsed(f"C[0] = {value}").body
    assert isinstance(store, BufferStore)
    assert reads_own(store) == is_own


MATCHED = """
m = T.int32()
A = T.match_buffer(a, (n, m), "int8")
for i in T.parallel(n):
    for j in range(m):
        A[i, j] = A[i, {}]
"""


def test_sizes_are_sampled() -> None:
    program = accesses(MATCHED.format("j"), "a: T.handle, n: T.int32")
    runs = [*executions_of(program, 100)]
    assert len(runs) > 1
    assert [sorted(var.name for var in run.sizes) for run in runs] == [["m", "n"]] * len(runs)
    assert len({tuple(run.sizes.values()) for run in runs}) == len(runs)
    assert [run.sizes for run in executions_of(accesses("C[0] = A[0]"), 100)] == [{}]


STRIDED = """
m = T.int32()
s = T.int32()
A = T.match_buffer(a, (n, m), "int8", strides=(s, 1))
A[0, 0] = T.int8(1)
"""


def test_strides_are_those_of_compact_arrays() -> None:
    for run in executions_of(accesses(STRIDED, "a: T.handle, n: T.int32"), 100):
        sizes = {var.name: value for var, value in run.sizes.items()}
        assert sizes["A_s0"] == sizes["m"]


@pytest.mark.parametrize(
    ("index", "loop", "is_apart"),
    [("j", 0, True), ("j", 1, True), ("0", 0, True), ("0", 1, False), ("m - 1 - j", 1, False)],
)
def test_accesses_that_are_proved_apart(index: str, loop: int, is_apart: bool) -> None:
    program = accesses(MATCHED.format(index), "a: T.handle, n: T.int32")
    read, write = program.accesses
    others = [other for other in write.loops if other is not write.loops[loop]]
    assert program.are_apart(read, write, [write.loops[loop]], others) == is_apart


def test_forms_of_the_same_loops_share_their_bounds_but_not_what_is_read() -> None:
    program = accesses("for i in range(8):\n    C[i] = A[i]\nfor j in range(4):\n    C[j] = A[j]")
    read, write, other, _ = program.accesses
    first, second = program.forms(read), program.forms(read, write)
    assert first.limits is second.limits is not program.forms(other).limits
    assert first.ranges == second.ranges
    value = BufferLoad(program.func.buffer_map[program.func.params[0]], read.index or ())
    assert first.of(value) == first.of(value) != second.of(value)
    loops = [access.loops[0].var for access in (write, other)]
    assert program.forms(write, other).ranges.keys() == {*loops}


def test_lanes_of_a_predicate_are_iterations_of_a_loop() -> None:
    body = (
        "n = T.int32()\nC.vstore([T.Ramp(4, 1, 8)], T.Broadcast(T.float32(1), 8), "
        "predicate=T.get_active_lane_mask('uint1x8', 4, n))"
    )
    (store,) = accesses(body).accesses
    assert text(store).startswith("w C[4 + lane] in lane if 4 + lane < n")


def test_lanes_of_several_predicates_have_all_their_conditions() -> None:
    body = (
        "n = T.int32()\nC.vstore([T.Ramp(4, 1, 8)], T.Broadcast(T.float32(1), 8), "
        "predicate=T.And(T.Not(T.get_active_lane_mask('uint1x8', 4, 6)), T.Broadcast(n < 3, 8)))"
    )
    (store,) = accesses(body).accesses
    assert text(store).endswith("if not 4 + lane < 6 if n < 3")
