"""Other names for the functions of a module, where they are defined and where they are called."""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.errors import GraphError
from te_sched.ir.calls import callee_of
from te_sched.ir.expr import Call, StringImm
from te_sched.ir.graph import GraphCall, GraphFunction
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule, PrimFunc
from te_sched.ir.visitor import Mapper, replace
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.signatures import checked


@checked
def replace_global_vars(mod: IRModule, replacements: Mapping[str, str]) -> IRModule:
    """A module with functions of other names.

    Parameters
    ----------
    replacements : the new names, by the names that they replace.

    Raises
    ------
    GraphError if two functions would have one name.

    >>> from te_sched import IRModule, tir
    >>> func = tir.PrimFunc([], tir.Evaluate(tir.call_tir("f")), {})
    >>> module = replace_global_vars(IRModule({"f": func}), {"f": "g"})
    >>> print(module["g"].body)
    g()
    """
    names = {str(old): str(new) for old, new in replacements.items()}
    functions: dict[str, BaseFunc] = {}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction):
            func = _OfGraphs(mod, names).visit_expr(func)
        elif isinstance(func, PrimFunc):
            func = func.with_body(_OfPrograms(names).visit(func.body))
        if str(func.attrs.get("global_symbol", "")) in names and str(name) in names:
            func = func.with_attr("global_symbol", names[str(name)])
        new = names.get(str(name), str(name))
        if new in functions:
            raise GraphError(
                f"two functions would have the name {new}",
                "one of them would be lost",
                "give each function a name of its own",
            )
        functions[new] = func
    return replace(mod, functions=functions)


class _OfGraphs(PyExprMutator):
    def __init__(self, mod: IRModule, names: Mapping[str, str]) -> None:
        super().__init__()
        self._mod, self._names = mod, names

    def visit_global_var_(self, op: GlobalVar) -> GlobalVar:
        """The new name."""
        if str(op) not in self._names:
            return op
        gvar = GlobalVar(self._names[str(op)])
        func = self._mod.functions.get(str(op))
        gvar.struct_info_ = op.struct_info_ or getattr(func, "struct_info", None)
        return gvar

    def visit_call_(self, op: GraphCall) -> GraphCall:
        """The call; what is known of it stays."""
        new: GraphCall = map_call(self, op)
        return new if new is op else replace(new, struct_info_=op.struct_info_)


class _OfPrograms(Mapper):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Call(self, node: Call) -> Call:
        new: Call = self.generic(node)
        name = self._names.get(callee_of(new) or "")
        return new if name is None else replace(new, args=(StringImm(name), *new.args[1:]))
