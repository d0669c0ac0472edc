"""RewriteDataflowReshape: calls of functions of loops that only reshape become `R.reshape`.

The machine reshapes without a copy. Results of dataflow blocks stay calls: they may be results of
the function, which have memory of their own.
"""

from __future__ import annotations

import math

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import DataflowVar, GraphCall, GraphFunction, GraphValue, Tuple, VarBinding
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo
from te_sched.relax.analysis import has_reshape_pattern
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.registry import make_call
from te_sched.relax.transform.base import FunctionPass


class RewriteDataflowReshape(FunctionPass):
    """The pass that finds reshapes among the calls of functions of loops.

    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]), builder.dataflow():
    ...     lv = builder.emit_te(topi.reshape, x, (2, 2))
    ...     gv = builder.emit_output(builder.emit_te(topi.exp, lv))
    ...     name = builder.emit_func_output(gv)
    >>> module = RewriteDataflowReshape()(builder.get())
    >>> module["main"].body.blocks[0].bindings[0].value.op.name
    'relax.reshape'
    """

    def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> GraphFunction:
        return _Reshaped(mod).visit_expr(func)


class _Reshaped(PyExprMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._mod = mod
        self._patterns: dict[str, bool] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding; of a dataflow variable, perhaps to a reshape."""
        if isinstance(binding.var, DataflowVar):
            new = self._reshape(binding.value)
            if new is not None:
                self.reemit_binding(binding, self.visit_expr(new))
                return
        super().visit_var_binding_(binding)

    def _reshape(self, value: GraphValue) -> GraphCall | None:
        if not is_call_of(value, "relax.call_tir"):
            return None
        function, args, *_ = value.args
        info = value.sinfo_args[0]
        if not isinstance(args, Tuple) or not args.fields or not self._is_reshape(function):
            return None
        operand = args.fields[0]
        operand_info = operand.struct_info
        if not isinstance(operand_info, TensorStructInfo) or not isinstance(info, TensorStructInfo):
            return None
        if operand_info.dtype != info.dtype or not isinstance(info.shape, ShapeExpr):
            return None
        if not isinstance(operand_info.shape, ShapeExpr):
            return None
        analyzer = Analyzer()
        if not analyzer.can_prove_equal(_count(operand_info.shape), _count(info.shape)):
            return None
        return make_call("relax.reshape", [operand, info.shape])

    def _is_reshape(self, name: str) -> bool:
        """Whether a function reshapes its first argument."""
        if name not in self._patterns:
            func = self._mod.functions.get(name)
            self._patterns[name] = isinstance(func, PrimFunc) and has_reshape_pattern(func)
        return self._patterns[name]


def _count(shape: ShapeExpr) -> Expr:
    return math.prod(shape.values, start=ops.const(1, "int64"))
