"""Blocks and loops that are found by names and from each other."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import ScheduleError, TeSchedError
from te_sched.tensorir.primitives.finding import check_not_root
from tests.tensorir.programs import MATMUL, OTHERS, function, program
from tests.tensorir.schedules import scheduled

THREE = function(
    "A:8 D:8",
    """
B = T.alloc_buffer((8,), "float32")
C = T.alloc_buffer((8,), "float32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = C[vi] * B[vi]
""",
)


def test_producers_are_in_the_order_of_the_reads() -> None:
    sch = tir.Schedule(program(THREE))
    assert [block.name for block in sch.get_producers("D")] == ["C", "B"]


def test_blocks_around_and_in_others() -> None:
    sch = scheduled(MATMUL)
    i, _, k = sch.get_loops("C")
    sch.blockize(k)
    assert [block.name for block in sch.get_child_blocks("root")] == ["C_o", "D"]
    assert [block.name for block in sch.get_child_blocks(i)] == ["C_o"]
    assert [loop.name for loop in sch.get_loops("C")] == ["k"]
    assert [block.name for block in sch.get_consumers("C_o")] == ["D"]
    assert [block.name for block in sch.get_producers("D")] == ["C_o"]
    assert [block.name for block in sch.get_output_blocks("root")] == ["D"]


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        (MATMUL, "sch.get_block('E')", "no block of main has the name 'E'"),
        (MATMUL, "sch.get_block(3)", "the name of a block is a text, got an int"),
        (MATMUL, "sch.get_block('C', 'f')", "the module has no function f"),
        (MATMUL, "sch.get_loops(sch.get_loops('C')[0])", "get_loops needs a block, got"),
        (OTHERS["twice"], "sch.get_block('B')", "2 blocks of main have the name B"),
        (OTHERS["two functions"], "sch.get_block('B')", "which function to be working on"),
    ],
)
def test_finding_rejects(program: str, code: str, message: str) -> None:
    with pytest.raises(TeSchedError, match=message):
        eval(code, {"sch": scheduled(program)})


def test_the_root_block_is_refused() -> None:
    sch = scheduled(MATMUL)
    root, inner = sch.get_block("root").key, sch.get_block("C").key
    check_not_root(sch, inner, "move")
    with pytest.raises(ScheduleError, match="cannot move the root block"):
        check_not_root(sch, root, "move")
