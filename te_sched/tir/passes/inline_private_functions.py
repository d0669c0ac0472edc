"""Put the statements of private functions where these are called.

    M.clear(T.address_of(A[i, 0]))     ->     row_data = T.address_of(A[i, 0])
                                              row = T.decl_buffer((8,), data=row_data)
                                              ...

Functions that return values, call themselves, have buffers as parameters, have blocks, or run on
another target than their callers are called as before. (TVM's name: InlinePrivateFunctions;
`inline_calls` is what `build` does.) Must not know targets.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.ir.calls import called_functions, callee_of
from te_sched.ir.expr import Call
from te_sched.ir.renew import renew_defs
from te_sched.ir.root_block import has_blocks
from te_sched.ir.specialize import specialize
from te_sched.ir.stmt import Evaluate, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, walk


def inline_private_functions(functions: Mapping[str, PrimFunc]) -> dict[str, PrimFunc]:
    """The functions of a module, without private functions that are not called any more.

    >>> from te_sched import tir
    >>> n, call = tir.Var("n"), tir.call_tir("f", 3)
    >>> private = tir.PrimFunc([n], tir.Evaluate(tir.call_extern("int32", "print", n)))
    >>> visible = tir.PrimFunc([], tir.Evaluate(call)).with_attr("global_symbol", "main")
    >>> inline_private_functions({"main": visible, "f": private})
    {'main': # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def main():
        T.call_extern("int32", "print", 3)}
    """
    callees = {name: called_functions(func.body) for name, func in functions.items()}
    inlined = {
        name: func
        for name, func in functions.items()
        if _is_simple(func) and name not in _reachable(name, callees)
    }
    if not inlined:
        return dict(functions)
    new_functions = {}
    for name, func in functions.items():
        new_functions[name] = func.with_body(_PrivateInliner(inlined, func).visit(func.body))
    used = {
        callee
        for name, func in new_functions.items()
        if name not in inlined
        for callee in called_functions(func.body)
    }
    return {
        name: func for name, func in new_functions.items() if name not in inlined or name in used
    }


def _is_simple(func: PrimFunc) -> bool:
    """Whether a private function is a plain sequence of statements."""
    if "global_symbol" in func.attrs or func.buffer_map or has_blocks(func.body):
        return False
    return not any(type(node) is Call and node.op == "tir.ret" for node in walk(func.body))


def _reachable(name: str, callees: Mapping[str, set[str]]) -> set[str]:
    """The functions that a function calls, and that these call."""
    names: set[str] = set()
    stack = [name]
    while stack:
        new = callees.get(stack.pop(), set()) - names
        names |= new
        stack += new
    return names


class _PrivateInliner(StatementMapper):
    """Replaces the calls of functions in one of them."""

    def __init__(self, functions: Mapping[str, PrimFunc], caller: PrimFunc) -> None:
        self.functions, self.target = functions, str(caller.attrs.get("target"))

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        call = node.value
        func = self.functions.get(callee_of(call) or "")
        if func is None or str(func.attrs.get("target")) != self.target:
            return node
        assert isinstance(call, Call)
        if len(func.params) != len(call.args) - 1:
            return node
        copy = renew_defs(func)
        body = specialize(copy, dict(zip(copy.params, call.args[1:], strict=True))).body
        inside: Stmt = self.visit(body)
        return inside
