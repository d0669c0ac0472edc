"""UpdateParamStructInfo: parameters with other struct infos."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.graph import GraphFunction, GraphVar
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.ir.struct_info import StructInfo
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator


class UpdateParamStructInfo(ModulePass):
    """The pass that changes the struct infos of parameters; what is computed of them follows.

    Parameters
    ----------
    sinfo_func : returns the new struct info of a parameter, or None to keep the old one.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> half = UpdateParamStructInfo(lambda param: relax.TensorStructInfo([4], "float16"))
    >>> half(IRModule({"main": relax.Function([x], x)}))["main"].struct_info.ret
    R.Tensor((4,), dtype="float16")
    """

    def __init__(self, sinfo_func: Callable[[GraphVar], StructInfo | None]) -> None:
        self.sinfo_func = sinfo_func

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        changed: dict[str, BaseFunc] = {}
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                new = _Updater(func, self.sinfo_func).visit_expr(func)
                if new is not func:
                    changed[name] = new
        return mod.with_functions(changed)


class _Updater(PyExprMutator):
    def __init__(
        self, func: GraphFunction, choose: Callable[[GraphVar], StructInfo | None]
    ) -> None:
        super().__init__()
        for param in func.params:
            info = choose(param)
            if info is not None:
                self.set_var_remap(param, GraphVar(param.name_hint, info))
