"""FoldConstant: calls whose arguments are constants become constants.

Calls of functions of blocks are built and run; in dataflow blocks, operators are legalized for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from te_sched import nd
from te_sched.config import TO_RUN
from te_sched.driver import build
from te_sched.errors import TeSchedError
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    PrimValue,
    Tuple,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo
from te_sched.relax.analysis.purity import is_impure_call
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import uses_of, written_in_place
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import as_sizes
from te_sched.relax.core.values import is_call_of, is_large, static_shape
from te_sched.relax.expr_functor import PyExprMutator, PyExprVisitor
from te_sched.relax.operators.registry import find_operator, legalization_of
from te_sched.relax.transform.annotate_tir_op_pattern import OpPatternKind, annotated_kind
from te_sched.relax.transform.base import FunctionPass
from te_sched.relax.transform.grouping import dataflow_blocks


class FoldConstant(FunctionPass):
    """The pass that evaluates calls of which all arguments are constants, and removes what is not
    used.

    Parameters
    ----------
    to_run : whether the graph will be built, as in `relax.build`: calls of functions of the program
        stay even if nothing uses their results, since those of Python may have effects.
    leaves_large : whether calls of functions with large results stay which only products and
        windows use: schedules pack such values, and `FusePacking` computes them where they are
        packed, without a copy in between.

    >>> from te_sched import relax
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", []):
    ...     with builder.dataflow():
    ...         gv = builder.emit_output(relax.op.add(relax.const(1.0), relax.const(2.0)))
    ...     name = builder.emit_func_output(gv)
    >>> FoldConstant()(builder.get())["main"].body.body.data.numpy().item()
    3.0
    """

    def __init__(self, *, to_run: bool = False, leaves_large: bool = False) -> None:
        self.to_run, self.leaves_large = to_run, leaves_large

    def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> GraphFunction:
        """The function with constants in place of calls."""
        left = written_in_place(func)
        if self.leaves_large:
            left |= _large_operands(func, mod)
        calls = _ConstantCalls(mod, left)
        calls.visit_expr(func)
        folder = _Folder(mod, left)
        folder.build(calls.functions)
        return remove_all_unused(folder.visit_expr(func), self.to_run)


class _Folder(PyExprMutator):
    """Computes calls, and uses constants in place of the variables that are bound to them; some
    variables are left.
    """

    def __init__(self, mod: IRModule, left: set[GraphVar]) -> None:
        super().__init__()
        self._mod, self._left = mod, left
        self._built: dict[PrimFunc, Callable[..., object] | None] = {}  # None: cannot be built
        self._constants: dict[GraphVar, Constant | ShapeExpr] = {}
        self._is_dataflow = False

    def build(self, functions: list[PrimFunc]) -> None:
        """Compile functions, together if that is possible: LLVM has its costs by module."""
        missing = [function for function in dict.fromkeys(functions) if function not in self._built]
        if not missing:
            return
        named = {f"fold{k}": function for k, function in enumerate(missing)}
        try:
            module = build(
                {
                    name: function.with_attr("global_symbol", name)
                    for name, function in named.items()
                },
                target="llvm -opt-level=1",  # they run once
            )
            self._built.update({function: module[name] for name, function in named.items()})
        except TeSchedError:  # the machine of the compiler cannot run some of them
            if len(missing) == 1:
                self._built[missing[0]] = None
                return
            for func in missing:
                self.build([func])

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """A block in which operators are computed, too."""
        outer, self._is_dataflow = self._is_dataflow, True
        new_block = super().visit_dataflow_block_(block)
        self._is_dataflow = outer
        return new_block

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """The constant to which a variable is bound."""
        return self._constants[op] if op in self._constants else super().visit_var_(op)

    visit_dataflow_var_ = visit_var_

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding, unless its value is a constant, and its variable is not left."""
        if binding.var in self._left and isinstance(binding.value, GraphCall):
            self.reemit_binding(binding, self.visit_expr_post_order(binding.value))
            return
        value = self.visit_expr(binding.value)
        if isinstance(value, ShapeExpr | Constant) and _is_known(value):
            self._constants[binding.var] = value
        else:
            self.reemit_binding(binding, value)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, or its value."""
        call = self.visit_expr_post_order(op)
        if not isinstance(call, GraphCall) or not isinstance(call.op, Op):
            return call
        name = str(call.op)
        if name == "relax.call_tir":
            return self._run(call, self._mod) or call
        operator = find_operator(call.op)
        reads_shape = operator is not None and operator.reads_shape
        operands = call.args[1:] if reads_shape else call.args
        if name == "relax.arange":  # as in TVM
            return call
        if not self._is_dataflow or not all(map(_is_known, operands)) or is_impure_call(call):
            return call
        if name == "relax.tensor_to_shape":
            return ShapeExpr(as_sizes(map(int, call.args[0].data.numpy())))
        if name == "relax.shape_to_tensor":
            sizes = [size.value for size in call.args[0].values]
            return Constant(nd.array(np.array(sizes, "int64")))
        return self._legalized(call) or call

    def _legalized(self, call: GraphCall) -> Constant | None:
        """The value of a call of an operator; None if it is not one call of a function."""
        rule = legalization_of(call.op, is_exact=True)
        if rule is None:
            return None
        builder = BlockBuilder()
        builder.settings = TO_RUN
        with builder.testing_scope():
            replacement = rule(builder, call)
            is_bound = bool(builder._block().bindings)
        if not is_call_of(replacement, "relax.call_tir") or is_bound:
            return None
        return self._run(replacement, builder.get())

    def _run(self, call: GraphCall, mod: IRModule) -> Constant | None:
        """The value of a call of a PrimFunc; None if it is not known before it runs."""
        called = _called(call, mod)
        if called is None or not all(map(_is_array, called[1])):
            return None
        func, fields = called
        info = call.sinfo_args[0]
        shape = static_shape(info)
        assert isinstance(info, TensorStructInfo)
        if func not in self._built:
            self.build([func])
        run = self._built[func]
        if run is None:
            return None
        result = nd.empty(shape, info.dtype)
        try:
            run(*[field.data for field in fields if isinstance(field, Constant)], result)
        except TeSchedError:
            return None
        return Constant(result)


class _ConstantCalls(PyExprVisitor):
    """Collects the functions whose calls can be computed, with all arguments known."""

    def __init__(self, mod: IRModule, left: set[GraphVar]) -> None:
        self.functions: list[PrimFunc] = []
        self._mod, self._left = mod, left
        self.known: set[GraphVar] = set()

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding of a result."""
        super().visit_var_binding_(binding)
        value = binding.value
        if binding.var in self._left:
            return
        if isinstance(value, Constant) or value in self.known or self._is_taken(value):
            self.known.add(binding.var)

    def _is_taken(self, call: GraphValue) -> bool:
        """Whether a value is a call that can be computed; its function is taken."""
        if not is_call_of(call, "relax.call_tir"):
            return False
        called = _called(call, self._mod)
        is_taken = called is not None and all(
            _is_array(arg) or arg in self.known for arg in called[1]
        )
        if called is not None and is_taken:
            self.functions.append(called[0])
        return is_taken


def _called(call: GraphCall, mod: IRModule) -> tuple[PrimFunc, tuple[GraphExpr, ...]] | None:
    """The function and the arrays of a call; None unless it has one result of a known shape."""
    info = call.sinfo_args[0] if len(call.sinfo_args) == 1 else None
    if static_shape(info) is None or len(call.args) > 2:
        return None
    args = call.args[1]
    func = mod.functions.get(call.args[0]) if isinstance(call.args[0], GlobalVar) else None
    if not isinstance(func, PrimFunc):
        return None
    return func, args.fields if isinstance(args, Tuple) else (args,)


def _is_array(value: GraphExpr) -> bool:
    return isinstance(value, Constant)


def _is_known(value: GraphExpr) -> bool:
    if isinstance(value, Tuple):
        return all(map(_is_known, value.fields))
    if isinstance(value, ShapeExpr):
        return all(isinstance(size, IntImm) for size in value.values)
    if isinstance(value, PrimValue):
        return isinstance(value.value, IntImm | FloatImm)
    return isinstance(value, Constant)


def _large_operands(func: GraphFunction, mod: IRModule) -> set[GraphVar]:
    """The variables of large results of injective functions that one product or window uses."""
    operands: set[GraphVar] = set()
    counts = Counter(uses_of(func))
    for block in dataflow_blocks(func):
        large = {
            binding.var
            for binding in block.bindings
            if isinstance(binding.var, DataflowVar)
            and counts[binding.var] == 1
            and is_large(binding.var.struct_info)
            and _kind_of(binding, mod) <= OpPatternKind.INJECTIVE
        }
        for binding in block.bindings if large else ():
            if _kind_of(binding, mod) is OpPatternKind.OUT_ELEMENT_WISE_FUSABLE:
                operands |= large.intersection(uses_of(binding.value))
    return operands


def _kind_of(binding: Binding, mod: IRModule) -> OpPatternKind:
    """The pattern kind of the function of a call, if it has one."""
    value = binding.value
    if not isinstance(binding, VarBinding) or not is_call_of(value, "relax.call_tir"):
        return OpPatternKind.OPAQUE
    return annotated_kind(value.args[0], mod)
