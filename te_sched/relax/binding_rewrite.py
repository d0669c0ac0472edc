"""`DataflowBlockRewrite`: one dataflow block of a function is changed binding by binding.

The block and the function that are given stay as they are; the changed ones are read from the
rewriter.
"""

from __future__ import annotations

from typing import TypeVar

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir.graph import (
    Binding,
    DataflowBlock,
    DataflowVar,
    GraphFunction,
    GraphVar,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.roles import EVERY_ROLE
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.visitor import Mapper, replace
from te_sched.public_members import PublicObject
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import all_vars, used_vars
from te_sched.relax.block_builder import BlockBuilder
from te_sched.signatures import checked_methods

_Defined = TypeVar("_Defined")


class _Replaced(Mapper):
    """Replaces the uses of a variable."""

    reached = EVERY_ROLE

    def __init__(self, old: GraphVar, new: GraphVar) -> None:
        self.old, self.new = old, new

    def visit_GraphVar(self, node: GraphVar) -> GraphVar:
        return self.new if node is self.old else node

    def define(self, var: _Defined) -> _Defined:
        """Variables of sizes are kept."""
        return var


@checked_methods(GraphTypeError)
class DataflowBlockRewrite(PublicObject):
    """Changes a dataflow block of a function.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         out = builder.emit_output(x)
    ...     name = builder.emit_func_output(out)
    >>> function = builder.get()["main"]
    >>> rewrite = DataflowBlockRewrite(function.body.blocks[0], function)
    >>> rewrite.add(x, name="copy", is_dfvar=True)
    >>> [one.var.name_hint for one in rewrite.mutated_dfb().bindings]
    ['gv', 'copy']
    """

    def __init__(self, dfb: DataflowBlock, root_fn: GraphFunction) -> None:
        self._block, self._function = dfb, root_fn
        self._names = UniqueNames(separator="")
        for var in all_vars(root_fn):
            self._names.take(var.name_hint)

    def mutated_dfb(self) -> DataflowBlock:
        """The block as it is now."""
        return self._block

    def mutated_root_fn(self) -> GraphFunction:
        """The function as it is now."""
        return self._function

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """A module with the function as it is now, under its name."""
        name = str(self._function.attrs.get("global_symbol", "main"))
        new_module = irmodule.clone()
        new_module.update_func(GlobalVar(name), self._function)
        return new_module

    def add_binding(self, binding: Binding) -> None:
        """Append a binding to the block."""
        self._exchange((*self._block.bindings, binding))

    def add(self, expr: object, name: str | None = None, is_dfvar: bool = False) -> None:
        """Append a binding of an expression to a new variable.

        Parameters
        ----------
        name : of the variable; by default a new one.
        is_dfvar : whether it is visible in the block alone.
        """
        value = BlockBuilder().normalize(expr)
        assert not isinstance(value, Op)
        hint = name or self._names.take("lv" if is_dfvar else "gv")
        kind = DataflowVar if is_dfvar else GraphVar
        self.add_binding(VarBinding(kind(hint, value.struct_info_), value))

    def remove_unused(self, var: GraphVar, allow_undef: bool = False) -> None:
        """Remove the binding of a variable that nothing uses.

        Raises
        ------
        GraphError if it is used, or if the block does not define it and not `allow_undef`.
        """
        kept = tuple([binding for binding in self._block.bindings if binding.var is not var])
        if len(kept) == len(self._block.bindings):
            if allow_undef:
                return
            raise GraphError(
                f"the block does not define {var.name_hint}", "", "give a variable that it binds"
            )
        if any(var in used_vars(node) for node in (DataflowBlock(kept), self._after_block())):
            raise GraphError(
                f"{var.name_hint} is used", "", "use another variable first: replace_all_uses"
            )
        self._exchange(kept)

    def _after_block(self) -> SeqExpr:
        """The function without the block."""
        body = self._function.body
        others = tuple([block for block in body.blocks if block is not self._block])
        return SeqExpr(others, body.body)

    def remove_all_unused(self) -> None:
        """Remove the bindings that nothing uses, one after the other."""
        self._function = remove_all_unused(self._function)
        body = self._function.body
        own = {binding.var for binding in self._block.bindings}
        kept = (block for block in body.blocks if any(part.var in own for part in block.bindings))
        self._block = next(kept, DataflowBlock(()))

    def replace_all_uses(self, old_var: GraphVar, new_var: GraphVar) -> None:
        """Use another variable instead of one, in the whole function."""
        mapper = _Replaced(old_var, new_var)
        bindings = [
            replace(binding, value=mapper.visit(binding.value)) for binding in self._block.bindings
        ]
        self._exchange(tuple(bindings))
        body = self._function.body
        blocks = [block if block is self._block else mapper.visit(block) for block in body.blocks]
        changed = replace(body, blocks=tuple(blocks), body=mapper.visit(body.body))
        self._function = replace(self._function, body=changed)

    def _exchange(self, bindings: tuple[Binding, ...]) -> None:
        """The block has other bindings; a block without any is left out of the function."""
        new = DataflowBlock(bindings)
        body = self._function.body
        blocks = [new if block is self._block else block for block in body.blocks]
        kept = tuple([block for block in blocks if block.bindings])
        self._function = replace(self._function, body=replace(body, blocks=kept))
        self._block = new


_tell_of_absent_names(__name__)
