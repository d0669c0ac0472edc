"""Statements with variables and buffers replaced, and blocks that continue others."""

from __future__ import annotations

from te_sched.ir import ops
from te_sched.ir.expr import IntImm, Range, Var
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tensorir.rewriting import (
    BlockMapper,
    IndexMapper,
    Rebind,
    SimplifiedValues,
    Swap,
    Values,
    nested,
    simplified,
)
from tests.tensorir.programs import MATMUL, STAGES, function
from tests.tensorir.schedules import scheduled

X, Y = Var("x", "int32"), Var("y", "int32")
RANGES = {X: Range(IntImm(0), IntImm(8)), Y: Range(IntImm(0), IntImm(4))}


def text_of(statement: object, start: str) -> list[str]:
    lines = [line.strip() for line in str(statement).splitlines()]
    return [line for line in lines if line.startswith(start)]


def test_new_blocks_continue_old_ones() -> None:
    sch = scheduled(STAGES)
    node, (i, _) = sch.get(sch.get_block("B")), sch.get_loops("B")
    assert BlockMapper().visit(node) is node
    values = Values({node.iter_vars[0].var: IntImm(3)})
    new = values.visit(node)
    assert values.continued == {new: node}
    assert "B[3, vj]" in str(new.body)
    untouched = Values({Y: X})
    assert untouched.visit(sch.get(i)) is sch.get(i)
    assert untouched.continued == {}


def test_bindings_are_simplified_and_get_a_predicate() -> None:
    sch = scheduled(STAGES)
    i, j = [loop.key for loop in sch.get_loops("B")]
    value = X % 8
    rebind = Rebind({i: value, j: IntImm(2)}, RANGES, Y < 3)
    new = rebind.visit(sch.loop(j).body)
    assert text_of(new, "v") == [
        "vi = T.axis.spatial(8, x)",
        "vj = T.axis.spatial(8, 2)",
    ]
    assert text_of(new, "T.where") == ["T.where(y < 3)"]
    assert new.block is sch.get(sch.get_block("B"))  # its body names no loop
    assert [*map(str, simplified((value, Y), RANGES, ops.const(True)))] == ["x", "y"]


def test_indices_are_simplified_where_a_condition_holds() -> None:
    mapper = SimplifiedValues({}, RANGES)
    assert [*map(str, mapper.simplified_indices((X % 8, Y % 4)))] == ["x", "y"]
    mapper = IndexMapper()
    mapper.ranges = {X: Range(IntImm(0), IntImm(1))}
    assert mapper.simplified_indices((X,)) == (X,)  # a variable stays


def test_indices_of_accesses_and_regions_have_the_values() -> None:
    sch = scheduled(STAGES)
    block = sch.get(sch.get_block("B"))
    vi, vj = [axis.var for axis in block.iter_vars]
    mapper = SimplifiedValues({vi: X % 8, vj: Y % 4}, RANGES)
    new = mapper.visit_parts(block)
    assert str(new.body).splitlines()[-1].strip().startswith("B[x, y] = A[x, y]")
    assert [str(region) for region in (*new.reads, *new.writes)] == ["A[x, y]", "B[x, y]"]
    assert SimplifiedValues({}, {}).visit_parts(block) is not block


VIEWS = function(
    "A:8 C:8",
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        T.reads(A[vi])
        T.writes(B[vi])
        V = T.match_buffer(B[vi], (1,), offset_factor=1)
        V[0] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
""",
)


def test_buffers_and_views_of_them_are_swapped() -> None:
    sch = scheduled(VIEWS)
    root = sch.get_block("root").key
    b, c = [sch.get(sch.get_block(name)) for name in "BC"]
    buffer = b.writes[0].buffer
    new = copy_of(buffer, "B_shared", "shared")
    swap = Swap({buffer: new})
    realize = swap.visit(sch.realize(root))
    assert swap.continued[realize.block] is sch.block(root)
    first, second = [part.body.block for part in realize.block.body.seq]
    assert (first.writes[0].buffer, second.reads[0].buffer) == (new, new)
    (view,) = first.match_buffers
    assert (view.source.buffer, view.buffer.scope(), view.buffer.name) == (
        new,
        "shared",
        "V_shared",
    )
    assert first.body.buffer is view.buffer
    assert Swap({new: buffer}).visit(sch.realize(root)) is sch.realize(root)
    assert swap.continued[second] is c


def test_nests() -> None:
    sch = scheduled(MATMUL)
    loops = [sch.get(loop) for loop in sch.get_loops("C")]
    nest = nested(loops[::-1], loops[2].body)
    names = [nest.loop_var.name, nest.body.loop_var.name, nest.body.body.loop_var.name]
    assert names == ["k", "j", "i"]
    assert nest.body.body.body is loops[2].body
