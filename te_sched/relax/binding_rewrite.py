"""`DataflowBlockRewrite`: a dataflow block of a function, changed binding by binding."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError, repr_of
from te_sched.ir.graph import (
    Binding,
    DataflowBlock,
    DataflowVar,
    GraphFunction,
    GraphVar,
    SeqExpr,
    VarBinding,
    as_expr,
)
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.stmt import IRModule
from te_sched.ir.visitor import replace
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import all_vars, used_vars
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.expr_functor import PyExprMutator


class DataflowBlockRewrite:
    """Changes a dataflow block; the function that it came from stays as it is.

    Parameters
    ----------
    dfb : the block.
    root_fn : the function with the block.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         gv = builder.emit_output(x)
    ...     name = builder.emit_func_output(gv)
    >>> func = builder.get()["main"]
    >>> rewrite = DataflowBlockRewrite(func.body.blocks[0], func)
    >>> rewrite.add(relax.op.add(x, x), "twice")
    >>> [one.var.name_hint for one in rewrite.mutated_dfb().bindings]
    ['gv', 'twice']
    """

    def __init__(self, dfb: DataflowBlock, root_fn: GraphFunction) -> None:
        self._block, self._function = dfb, root_fn

    def mutated_dfb(self) -> DataflowBlock:
        """The block as it is now."""
        return self._block

    def mutated_root_fn(self) -> GraphFunction:
        """The function with the block as it is now."""
        return self._function

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """A module with the function as it is now, in place of the one of this name."""
        symbol = str(self._function.attrs.get("global_symbol", "main"))
        module = irmodule.clone()
        module.update_func(symbol, self._function)
        return module

    def add(self, expr: Any, name: str | None = None, is_dfvar: bool = True) -> None:
        """Append a binding to the block.

        Parameters
        ----------
        expr : its value; or a binding.
        name : the name of its variable.
        is_dfvar : whether the variable is visible in the block only.
        """
        if isinstance(expr, Binding):
            self._set([*self._block.bindings, expr])
            return
        names = UniqueNames(separator="")
        for var in all_vars(self._function):
            names.take(var.name_hint)
        value = BlockBuilder().normalize(as_expr(expr))
        kind = DataflowVar if is_dfvar else GraphVar
        var = kind(names.take(name or ("lv" if is_dfvar else "gv")), value.struct_info_)
        self._set([*self._block.bindings, VarBinding(var, value)])

    def replace_all_uses(self, old_var: GraphVar, new_var: GraphVar) -> None:
        """Use a variable instead of another one, in the whole function."""
        place, uses = self._place(), _Uses(old_var, new_var)
        body: Any = self._function.body
        blocks = [uses.visit_binding_block(one) for one in body.blocks]
        result = uses.visit_expr(body.body)
        self._block = blocks[place]
        self._function = replace(self._function, body=SeqExpr(tuple(blocks), result))

    def remove_unused(self, var: GraphVar, allow_undef: bool = False) -> None:
        """Remove the binding of a variable that is not used.

        Parameters
        ----------
        allow_undef : accept a variable that the block does not bind.
        """
        if not any(one.var is var for one in self._block.bindings):
            if allow_undef:
                return
            raise GraphError(
                f"the block does not bind variable {var.name_hint}",
                f"it binds {', '.join(one.var.name_hint for one in self._block.bindings)}",
                "give one of its variables, or allow_undef=True",
            )
        if var in used_vars(self._function.body):
            raise GraphError(
                f"variable {var.name_hint} is used",
                "a binding is removed only if nothing uses its variable",
                "replace its uses first: rewrite.replace_all_uses(old, new)",
            )
        self._set([one for one in self._block.bindings if one.var is not var])

    def remove_all_unused(self) -> None:
        """Remove the bindings of the function that nothing uses."""
        place = self._place()
        before: Any = self._function.body
        self._function = remove_all_unused(self._function)
        after: Any = self._function.body
        outputs = {one.var for one in before.blocks[place].bindings}
        kept = [
            one for one in after.blocks if outputs.intersection(two.var for two in one.bindings)
        ]
        self._block = kept[0] if kept else DataflowBlock(())

    def _place(self) -> int:
        body: Any = self._function.body
        for place, block in enumerate(body.blocks):
            if block is self._block:
                return place
        raise GraphError(
            f"the function does not contain the block {repr_of(self._block)}",
            "",
            "give a block of the body of the function",
        )

    def _set(self, bindings: list[Binding]) -> None:
        place = self._place()
        self._block = DataflowBlock(tuple(bindings))
        body: Any = self._function.body
        blocks = [*body.blocks]
        blocks[place : place + 1] = [self._block] if bindings else []
        seq = SeqExpr(tuple(blocks), body.body, body.struct_info_)
        self._function = replace(self._function, body=seq)


class _Uses(PyExprMutator):
    """Replaces the uses of a variable, but for its definition."""

    def __init__(self, old: GraphVar, new: GraphVar) -> None:
        super().__init__()
        self._old, self._new = old, new

    def visit_var_(self, op: GraphVar) -> Any:
        """The other variable."""
        return self._new if op is self._old else super().visit_var_(op)

    visit_dataflow_var_ = visit_var_
