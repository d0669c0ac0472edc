"""The values of expressions of constants, which are computed while a model is read.

Must not know rows of operators.
"""

from __future__ import annotations

from te_sched.ir.expr import Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    GraphFunction,
    GraphVar,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule
from te_sched.ir.visitor import walk
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.onnx.sizes import Numbers
from te_sched.relax.vm.build import build
from te_sched.relax.vm.machine import VirtualMachine


def evaluate(builder: BlockBuilder, var: GraphVar) -> Numbers | None:
    """The value of a variable that depends on constants alone; None if an input decides it.

    >>> from te_sched import relax
    >>> builder = BlockBuilder()
    >>> with builder.function("main", []):
    ...     var = builder.emit(relax.op.add(relax.const([1, 2]), relax.const([3, 4])))
    ...     array = evaluate(builder, var)
    ...     name = builder.emit_func_output(var)
    >>> array
    array([4, 6], dtype=int32)
    """
    bindings = _bindings_of(builder, var)
    if bindings is None:
        return None
    function = GraphFunction((), SeqExpr((BindingBlock(tuple(bindings)),), var), None, True)
    function = function.with_attr("global_symbol", "value")
    called = {str(node) for node in walk(function.body) if isinstance(node, GlobalVar)}
    functions: dict[str, BaseFunc] = {
        str(name): func for name, func in builder.get().functions.items() if str(name) in called
    }
    functions["value"] = function
    machine = VirtualMachine(build(IRModule(functions), "llvm"))
    array: Numbers = machine["value"]().numpy()
    return array


def is_of_constants(builder: BlockBuilder, var: GraphVar) -> bool:
    """Whether a variable depends on constants alone."""
    return _bindings_of(builder, var) is not None


def _bindings_of(builder: BlockBuilder, var: GraphVar) -> list[Binding] | None:
    """The bindings that compute a variable, in their order; None if some have no value yet."""
    order: dict[GraphVar, Binding] = {}
    waiting: list[tuple[GraphVar, bool]] = [(var, False)]
    while waiting:
        current, is_ready = waiting.pop()
        value = builder.lookup_binding(current)
        if value is None or any(type(node) is Var for node in walk(value)):
            return None
        if is_ready:
            order.setdefault(current, VarBinding(current, value))
        elif current not in order:
            waiting.append((current, True))
            waiting += [(node, False) for node in walk(value) if isinstance(node, GraphVar)]
    return list(order.values())
