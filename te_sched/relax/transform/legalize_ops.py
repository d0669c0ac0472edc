"""`LegalizeOps`: calls of operators become calls of functions of blocks.

The rule of an operator is a column of its declaration, or the attribute "FLegalize" that a program
sets; what it returns may have calls of operators again. Must not know any operator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, overload

from te_sched.config import TO_RUN
from te_sched.errors import GraphError, kind_of, warn
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.op import Op, register_op_attr
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.passes import ModulePass
from te_sched.relax.emit_te import EqualCalls
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.calls import call_packed, call_pure_packed
from te_sched.relax.operators.registry import Rewrite, legalization_of, operator_of
from te_sched.relax.transform.collect_size_relations import collect_size_relations
from te_sched.signatures import check_function


@overload
def register_legalize(op_name: str) -> Callable[[Rewrite], Rewrite]: ...
@overload
def register_legalize(op_name: str, legal_func: Rewrite) -> Rewrite: ...
def register_legalize(op_name: str, legal_func: Rewrite | None = None) -> object:
    """Register the rule of an operator; without a function, returns a decorator.

    >>> from te_sched import relax, topi
    >>> def twice(builder, call):
    ...     return builder.call_te(topi.add, call.args[0], call.args[0])
    >>> register_legalize("demo.twice", twice) is twice
    True
    """
    return register_op_attr(op_name, "FLegalize", legal_func)


class LegalizeOps(ModulePass):
    """Replace calls of operators by calls of functions of blocks, where all shapes are known.

    Parameters
    ----------
    customize_cmap : rules by name of the operator, which are used instead of the registered ones.
    enable_warning : warn of the operators that have no rule.
    to_run : whether the graph will be built, as in `relax.build`: special values (NaN, infinities,
        signed zeros) are those of torch and ONNX. By default the functions have TVM's text.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    >>> module = LegalizeOps()(builder.get())
    >>> [str(name) for name in module.functions]
    ['main', 'add']
    """

    def __init__(
        self, customize_cmap: Any = None, enable_warning: bool = False, *, to_run: bool = False
    ) -> None:
        if customize_cmap is not None and not isinstance(customize_cmap, Mapping):
            raise GraphError(
                f"the rules of LegalizeOps are {kind_of(customize_cmap)}, expected a dictionary",
                "",
                "give rules by names of operators, or none",
            )
        for name, rule in (customize_cmap or {}).items():
            check_function(rule, 2, f"the rule of {name}", "lambda builder, call: call")
        self.customize_cmap, self.enable_warning = dict(customize_cmap or {}), enable_warning
        self.to_run = to_run

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with legalized functions."""
        mod = collect_size_relations(mod)  # the calls of kernels do not have them
        return legalize_functions(
            mod, self.customize_cmap, self.enable_warning, is_exact=self.to_run
        )


def legalize_functions(
    mod: IRModule,
    rules: Mapping[str, Rewrite],
    warns: bool,
    operators: Collection[str] | None = None,
    is_exact: bool = False,
) -> IRModule:
    """The module with the calls of operators replaced, of the ones that are listed or of all."""
    legalizer = _Legalizer(mod, rules, warns, operators, is_exact)
    builder = legalizer.builder_
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction):
            new = legalizer.visit_expr(func)
            if new is not func:
                builder.update_func(name, new)
    return builder.finalize()


class _Legalizer(PyExprMutator):
    def __init__(
        self,
        mod: IRModule,
        rules: Mapping[str, Rewrite],
        warns: bool,
        operators: Collection[str] | None,
        is_exact: bool,
    ) -> None:
        super().__init__(mod)
        self._rules, self._warns, self._operators = rules, warns, operators
        self._is_exact = is_exact
        self.builder_.calls = EqualCalls()
        if is_exact:
            self.builder_.settings = TO_RUN

    def visit_call_(self, op: GraphCall) -> Any:
        """The call, or what its rule makes of it, until no rule applies."""
        call = self.visit_expr_post_order(op)
        if not isinstance(call, GraphCall) or not isinstance(call.op, Op):
            return call
        if self._operators is not None and str(call.op) not in self._operators:
            return call
        rule = self._rules.get(str(call.op)) or legalization_of(call.op, self._is_exact)
        is_special = call.op.get_attr("FDataDependent")
        packed = call.op.get_attr("FCallPacked")
        if rule is None and packed is not None:
            make = call_pure_packed if operator_of(call.op).is_pure else call_packed
            return make(packed, *call.args, sinfo_args=call.struct_info)
        if rule is None or not all(_is_known(arg) for arg in call.args):
            return self._kept(call, rule is None)
        if not is_special and not has_known_shape(call.struct_info):
            return call
        return self._applied(rule, call)

    def _applied(self, rule: Rewrite, call: GraphCall) -> Any:
        """What a rule makes of a call; what it emits is legalized, too."""
        builder = self.builder_
        if builder.current_block_is_dataflow():
            builder._begin_dataflow_block()
        else:
            builder._begin_binding_block()
        try:
            replacement = rule(builder, call)
        finally:
            block = builder._end_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        if replacement is call:
            return builder.normalize(call)
        return self._sized(builder.normalize(self._again(replacement)), call.struct_info)

    def _sized(self, call: Any, expected: StructInfo) -> Any:
        """A call with the sizes that were inferred, where they are known to be those that it has:
        tensor expressions do not know that sizes are not negative."""
        info = getattr(call, "struct_info_", None)
        shape, wanted = [getattr(struct_info, "shape", None) for struct_info in (info, expected)]
        if not isinstance(shape, ShapeExpr) or not isinstance(wanted, ShapeExpr):
            return call
        if not isinstance(call, GraphCall):
            return call
        pairs = list(zip(shape.values, wanted.values, strict=True))
        if call.sinfo_args != (info,) or all(isinstance(size, IntImm) for size, _ in pairs):
            return call
        if not all(self.builder_.analyzer.can_prove_equal(*pair) for pair in pairs):
            return call
        return self.builder_.normalize(GraphCall(call.op, call.args, call.attrs, (expected,)))

    def _kept(self, call: GraphCall, has_no_rule: bool) -> GraphCall:
        if self._warns and has_no_rule:
            warn(f"no legalization rule for {call.op}")
        return call

    def _again(self, expr: Any) -> Any:
        return self.visit_expr(expr) if isinstance(expr, GraphExpr) else expr


def _is_known(arg: Any) -> bool:
    info = getattr(arg, "struct_info_", None)
    return info is None or has_known_shape(info)


def has_known_shape(info: StructInfo) -> bool:
    """Whether the sizes of a value are known, and of each value of a tuple."""
    if isinstance(info, TensorStructInfo):
        return isinstance(info.shape, ShapeExpr)
    if isinstance(info, ShapeStructInfo):
        return info.values is not None
    if isinstance(info, TupleStructInfo):
        return all(has_known_shape(field) for field in info.fields)
    return True
