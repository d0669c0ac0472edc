"""InlinePrivateFunctions: calls of private functions are replaced by their bodies."""

from __future__ import annotations

from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule
from te_sched.ir.visitor import replace
from te_sched.passes import ModulePass
from te_sched.relax.analysis.recursion import detect_recursion
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.copying import inline_functions
from te_sched.relax.transform.dead_code_elimination import callees_of


class InlinePrivateFunctions(ModulePass):
    """The pass that puts the bodies of private functions where they are called, and removes those
    that are not called any more. Functions that call themselves stay.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("twice", [x], private=True):
    ...     twice = builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    >>> y = relax.Var("y", relax.TensorStructInfo([4], "float32"))
    >>> with builder.function("main", [y]):
    ...     main = builder.emit_func_output(builder.emit(relax.Call(twice, [y])))
    >>> [str(name) for name in InlinePrivateFunctions()(builder.get()).functions]
    ['main']
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        recursive = {name for group in detect_recursion(mod) for name in group}
        private = {
            str(name): func
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction)
            and func.body is not None
            and "global_symbol" not in func.attrs
            and name not in recursive
        }
        if not private:
            return mod
        functions = {
            name: _inlined(func, private) if isinstance(func, GraphFunction) else func
            for name, func in mod.functions.items()
        }
        used = {
            callee
            for name, func in functions.items()
            if name not in private
            for callee in callees_of(func)
        }
        kept = {
            name: func for name, func in functions.items() if name not in private or name in used
        }
        return replace(mod, functions=kept)


def _inlined(func: GraphFunction, private: dict[str, GraphFunction]) -> GraphFunction:
    """The function with others inside, without bindings that it does not use."""
    new: GraphFunction = remove_all_unused(inline_functions(func, private))
    return new
