"""ToNonDataflow: dataflow blocks become ordinary blocks, and their variables ordinary ones."""

from __future__ import annotations

from te_sched.ir.graph import BindingBlock, DataflowBlock, GraphFunction, GraphVar
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass


class ToNonDataflow(FunctionPass):
    """The pass that makes ordinary blocks of dataflow blocks.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]), builder.dataflow():
    ...     gv = builder.emit_output(relax.op.add(x, x))
    ...     name = builder.emit_func_output(gv)
    >>> type(ToNonDataflow()(builder.get())["main"].body.blocks[0]).__name__
    'BindingBlock'
    """

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Ordinary().visit_expr(func)


class _Ordinary(PyExprMutator):
    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The bindings, as an ordinary block."""
        return self.visit_binding_block_(BindingBlock(block.bindings))

    def visit_dataflow_var_def_(self, var: GraphVar) -> GraphVar:
        """An ordinary variable of the same name."""
        new_var = GraphVar(var.name_hint, var.struct_info_)
        self.set_var_remap(var, new_var)
        return new_var
