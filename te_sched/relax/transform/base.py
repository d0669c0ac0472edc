"""Passes over the functions of graphs in a module, and over their dataflow blocks.

A pass of te_sched is a class of one of the kinds, as a user's class is after its decorator:

    class Normalize(FunctionPass, opt_level=1):
        def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> ...

with the arguments of its `__init__` as its options. One over whole modules is a `ModulePass`, a
sequence of others a `Sequential`. Must not know operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import GraphError, kind_of
from te_sched.ir.graph import (
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphFunction,
    GraphVar,
)
from te_sched.ir.stmt import IRModule
from te_sched.pass_context import PassContext
from te_sched.passes import Pass, PassInfo, info_of, pass_of
from te_sched.public_members import missing_method
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.signatures import checked


class FunctionPass(Pass):
    """A pass that maps each function of graphs in a module: a class with a method
    `transform_function`. PrimFuncs stay.
    """

    kind = "Function"

    def run(self, mod: IRModule) -> IRModule:
        """The module with the new functions; the module itself if none changed."""
        context = PassContext.current()
        changed: dict[str, GraphFunction] = {}
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                new = self.transform_function(func, mod, context)
                if not isinstance(new, GraphFunction):
                    raise GraphError(
                        f"pass {self.info.name} must return a function, got {kind_of(new)}",
                        f"it was called with function {name}",
                        "return the function, even if the pass changes nothing",
                    )
                if new is not func:
                    changed[name] = new
        return mod.with_functions(changed)

    def transform_function(
        self, func: GraphFunction, mod: IRModule, context: PassContext, /
    ) -> GraphFunction:
        """The function after the pass."""
        raise missing_method(self, "transform_function")


class DataflowBlockPass(FunctionPass):
    """A pass that maps each dataflow block of the functions of a module: a class with a method
    `transform_dataflowblock`. The block that it returns defines the variables that are used outside
    of it.
    """

    kind = "DataflowBlock"

    def transform_function(
        self, func: GraphFunction, mod: IRModule, context: PassContext, /
    ) -> GraphFunction:
        """The function with the new blocks."""
        blocks = _Blocks(self.transform_dataflowblock, mod, context, self.info)
        return blocks.visit_expr(func)

    def transform_dataflowblock(
        self, block: DataflowBlock, mod: IRModule, context: PassContext, /
    ) -> BindingBlock:
        """The block after the pass."""
        raise missing_method(self, "transform_dataflowblock")


class _Blocks(PyExprMutator):
    """Maps the dataflow blocks of a function."""

    def __init__(
        self, transform: Callable[..., object], mod: IRModule, context: PassContext, info: PassInfo
    ) -> None:
        super().__init__()
        self._transform = transform
        self._mod, self._context, self._info = mod, context, info

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block that the pass returns."""
        new = self._transform(super().visit_dataflow_block_(block), self._mod, self._context)
        if not isinstance(new, BindingBlock):
            raise GraphError(
                f"pass {self._info.name} must return a dataflow block, got {kind_of(new)}",
                "",
                "return the block, even if the pass changes nothing",
            )
        missing = _outputs(block) - _outputs(new)
        if missing:
            names = ", ".join(sorted(var.name_hint for var in missing))
            raise GraphError(
                f"pass {self._info.name} must keep the outputs of a block, it lost {names}",
                "they are used outside of the block",
                "bind the same variables in the block that the pass returns",
            )
        return new


def _outputs(block: BindingBlock) -> set[GraphVar]:
    """The variables of a block that are visible outside of it."""
    return {binding.var for binding in block.bindings if not isinstance(binding.var, DataflowVar)}


@checked
def function_pass(
    pass_func: Callable[..., Any] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A decorator that makes a pass of a function (function, module, context) -> function, or a
    class of passes of a class with such a method `transform_function`.

    >>> from te_sched import IRModule, relax
    >>> @function_pass(opt_level=1)
    ... def mark(func, module, context):
    ...     return func.with_attr("marked", 1)
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> mark(IRModule({"main": relax.Function([x], x)}))["main"].attrs["marked"]
    1
    """
    if pass_func is None:
        return lambda decorated: function_pass(decorated, opt_level, name, required, traceable)
    info = info_of(pass_func, opt_level, name, required, traceable)
    return pass_of(FunctionPass, pass_func, "transform_function", info)


@checked
def dataflowblock_pass(
    pass_func: Callable[..., Any] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A decorator that makes a pass of a function (block, module, context) -> block, or a class of
    passes of a class with such a method `transform_dataflowblock`.

    >>> @dataflowblock_pass(opt_level=1, name="count")
    ... def count(block, module, context):
    ...     print(len(block.bindings))
    ...     return block
    >>> count
    Run DataflowBlock pass: count at the optimization level 1
    """
    if pass_func is None:
        return lambda decorated: dataflowblock_pass(decorated, opt_level, name, required, traceable)
    info = info_of(pass_func, opt_level, name, required, traceable)
    return pass_of(DataflowBlockPass, pass_func, "transform_dataflowblock", info)
