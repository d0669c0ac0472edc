"""Copies of functions with new variables, and calls replaced by the body of the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphVar,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.visitor import replace
from te_sched.relax.analysis.symbolic import defined_symbolic_vars
from te_sched.relax.core.sizes import bind_sizes
from te_sched.relax.core.substitution import Substitution
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.size_relations import map_relations
from te_sched.relax.struct_info import is_base_of
from te_sched.relax.transform.canonicalize_bindings import canonical_bindings
from te_sched.signatures import checked_as


def copy_with_new_vars(
    func: GraphFunction, sizes: Mapping[Var, Expr] | None = None
) -> GraphFunction:
    """A function with other variables, also those of sizes, unless they are given.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> copy_with_new_vars(relax.Function([x], x)).params[0] is x
    False
    """
    copier = _Copier(None, sizes)
    copier.renew_sizes(func)
    params = [copier.visit_var_def(param) for param in func.params]
    body = copier.visit_with_new_scope(func.body, params)
    ret = None if func.ret_struct_info is None else copier.visit_struct_info(func.ret_struct_info)
    attrs = map_relations(func.attrs, copier.visit_prim_expr)
    return replace(
        func, params=tuple(params), body=body, ret_struct_info=ret, attrs=attrs, struct_info_=None
    )


class _Copier(Substitution):
    """Copies a body with new variables; some are given values."""

    def renew_sizes(self, func: GraphFunction) -> None:
        """Give the variables of sizes of a function new ones, unless they have a value."""
        for size in defined_symbolic_vars(func):
            self.sizes.setdefault(size, Var(size.name, size.dtype))

    def visit_var_def_(self, var: GraphVar) -> GraphVar:
        """A new variable."""
        if var not in self._renamed:
            info = var.struct_info_
            return self._retyped(var, var, None if info is None else self.visit_struct_info(info))
        return self._renamed[var]

    visit_dataflow_var_def_ = visit_var_def_


_Name = TypeVar("_Name", bound=str)


@checked_as(GraphTypeError)
def inline_functions(
    func: GraphFunction, function_map: Mapping[_Name, GraphFunction]
) -> GraphFunction:
    """A function in which the calls of some functions are replaced by their bodies.

    Parameters
    ----------
    function_map : the functions by name, or GlobalVar; none may call itself.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("f", [x]):
    ...     f = builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    >>> y = relax.Var("y", relax.TensorStructInfo([4], "float32"))
    >>> with builder.function("main", [y]):
    ...     main = builder.emit_func_output(builder.emit(relax.Call(f, [y])))
    >>> module = builder.get()
    >>> str(module["main"].inline_functions({"f": module["f"]}).body.blocks[0].bindings[0].value.op)
    'relax.add'
    """
    functions: dict[str, GraphFunction] = {}
    for name, function in function_map.items():
        if str(name) in functions:
            raise GraphError(
                f"function {name} is given twice", "", "give it by its name or its GlobalVar"
            )
        functions[str(name)] = function
    inliner = _GraphInliner(functions)
    new = inliner.visit_expr(func)
    return canonical_bindings(new) if inliner.has_inlined else func


class _GraphInliner(PyExprMutator):
    """Replaces calls of functions by their bodies."""

    def __init__(self, functions: Mapping[str, GraphFunction], around: Sequence[str] = ()) -> None:
        super().__init__()
        self._functions, self._around = functions, tuple(around)
        self.has_inlined = False

    def visit_seq_expr_(self, op: SeqExpr) -> GraphExpr:
        """The sequence with the blocks of functions between its own."""
        blocks = [new for block in op.blocks for new in self._inlined(block)]
        body = self.visit_expr(op.body)
        kept = [block for block in blocks if block.bindings]
        is_same = len(kept) == len(op.blocks) and all(
            new is old for new, old in zip(kept, op.blocks, strict=True)
        )
        return op if is_same and body is op.body else SeqExpr(tuple(kept), body)

    def _inlined(self, block: BindingBlock) -> list[BindingBlock]:
        calls = [binding for binding in block.bindings if self._callee(binding) is not None]
        if not calls:
            return [self.visit_binding_block(block)]
        blocks: list[BindingBlock] = []
        self._begin(block)
        for binding in block.bindings:
            call = binding.value
            if self._callee(binding) is None or not isinstance(call, GraphCall):
                self.visit_binding(binding)
                continue
            body = self._body(self.visit_expr_post_order(call))
            for inner in body.blocks:
                if isinstance(inner, DataflowBlock) == isinstance(block, DataflowBlock):
                    for inner_binding in inner.bindings:
                        self.builder_.emit_normalized(inner_binding)
                else:
                    blocks += [self.builder_._end_block(), inner]
                    self._begin(block)
            self.reemit_binding(binding, body.body)  # type: ignore[arg-type]
        return [*blocks, self.builder_._end_block()]

    def _begin(self, block: BindingBlock) -> None:
        if isinstance(block, DataflowBlock):
            self.builder_._begin_dataflow_block()
        else:
            self.builder_._begin_binding_block()

    def _callee(self, binding: Binding) -> GraphFunction | None:
        value = binding.value
        if not isinstance(binding, VarBinding) or not isinstance(value, GraphCall):
            return None
        return self._functions.get(str(value.op)) if isinstance(value.op, GlobalVar) else None

    def _body(self, call: GraphCall) -> SeqExpr:
        """The body of the function that is called, with the arguments in place of parameters."""
        self.has_inlined = True
        name = str(call.op)
        func = self._functions[name]
        if name in self._around:
            raise GraphError(
                f"function {name} calls itself, so its calls cannot be replaced by its body",
                f"it is called from {', '.join(self._around)}",
                "leave it out, or use relax.transform.InlinePrivateFunctions()",
            )
        sizes: dict[Var, Expr] = {}
        for param, arg in zip(func.params, call.args, strict=True):
            bind_sizes(param.struct_info, arg.struct_info, sizes)
        values: dict[GraphVar, GraphExpr] = {}
        copier = _Copier(values, sizes)
        copier.renew_sizes(func)
        casts: list[MatchCast] = []
        for param, arg in zip(func.params, call.args, strict=True):
            info = copier.visit_struct_info(param.struct_info)
            if not is_base_of(info, arg.struct_info):
                casts.append(MatchCast(GraphVar(param.name_hint, info), arg, info))
                arg = casts[-1].var
            values[param] = arg
        body = copier.visit_with_new_scope(func.body, list(func.params))
        body = _GraphInliner(self._functions, (*self._around, name)).visit_expr(body)
        first = [BindingBlock(tuple(casts))] if casts else []
        return SeqExpr((*first, *body.blocks), body.body)


GraphFunction.inline_functions = inline_functions  # type: ignore[attr-defined]
