"""Give constant memory its elements by stores.

    with T.allocate_const([1, 2], "int32", [2]) as p:   ->   p = T.allocate([2], "int32", "global")
        ...                                                  p[0] = 1; p[1] = 2; ...

Programs to run go through this pass first: what comes after knows memory and stores. Must not know
targets.
"""

from __future__ import annotations

from te_sched.errors import LoweringError, Subject
from te_sched.ir import ops
from te_sched.ir.blocks import AllocateConst
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.stmt import Allocate, BufferStore, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, statements
from te_sched.lowering.statements import sequence

MOST_ELEMENTS = 4096


def lower_constants(func: PrimFunc) -> PrimFunc:
    """The function with ordinary memory in place of constant memory.

    Raises LoweringError for constants of more than `MOST_ELEMENTS` elements.
    """
    if not any(type(stmt) is AllocateConst for stmt in statements(func.body)):
        return func
    return func.with_body(_Constants().visit(func.body))


class _Constants(StatementMapper):
    def visit_AllocateConst(self, node: AllocateConst) -> Stmt:
        data, name = node.data, node.buffer_var.name
        if data.size > MOST_ELEMENTS:
            raise LoweringError(
                f"constant {name} of {data.size} elements is too large to run",
                f"each element is a store of the program; {MOST_ELEMENTS} are the most",
                "make it a parameter of the function",
                Subject("buffer", name),
            )
        places = decl_buffer(node.extents, node.dtype, name, data=node.buffer_var)
        stores = [
            BufferStore(
                places,
                ops.const(data[index].item(), node.dtype),
                tuple(
                    [
                        ops.const(coordinate, size.dtype)
                        for coordinate, size in zip(index, node.extents, strict=True)
                    ]
                ),
            )
            for index in _indices(data.shape)
        ]
        body = sequence([*stores, self.visit(node.body)])
        return Allocate(node.buffer_var, node.dtype, node.extents, ops.TRUE, body, node.annotations)


def _indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The indices of all elements, in order."""
    indices: list[tuple[int, ...]] = [()]
    for size in shape:
        indices = [(*index, position) for index in indices for position in range(size)]
    return indices
