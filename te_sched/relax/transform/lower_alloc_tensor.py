"""LowerAllocTensor: each tensor that memory was not planned for gets a storage of its own."""

from __future__ import annotations

from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.struct_info import ShapeExpr
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.op import memory
from te_sched.relax.transform.base import FunctionPass


class LowerAllocTensor(FunctionPass):
    """The pass that replaces `R.builtin.alloc_tensor` by a storage and a tensor in it.

    >>> from te_sched import IRModule, relax
    >>> call = relax.op.builtin.alloc_tensor([4, 3], "float32", 0)
    >>> module = LowerAllocTensor()(IRModule({"main": relax.Function([], call)}))
    >>> [one.var.name_hint for one in module["main"].body.blocks[0].bindings]
    ['storage', 'gv']
    """

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Stored().visit_expr(func)


class _Stored(PyExprMutator):
    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A tensor in a new storage."""
        call = self.visit_expr_post_order(op)
        if call.op != "relax.builtin.alloc_tensor":
            return call
        shape, dtype, device, scope = call.args
        sizes = shape.values if isinstance(shape, ShapeExpr) else shape.struct_info.values
        if sizes is None:
            raise GraphError(
                f"cannot allocate a tensor of shape {shape}",
                "its sizes are not known",
                "give the sizes, or match them before: R.match_cast(shape, R.Shape([n, m]))",
            )
        size = ops.const(dtypes.storage_bytes(dtype.value), "int64")
        for extent in sizes:
            size = ops.mul(size, extent)
        allocation = memory.alloc_storage(ShapeExpr((size,)), device, scope, "uint8")
        storage = self.builder_.emit(allocation, "storage")
        return memory.alloc_tensor(storage, 0, shape, dtype)
