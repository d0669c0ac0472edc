"""ExpandTupleArguments: private functions take the elements of tuples as parameters."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import StructInfo, TupleStructInfo
from te_sched.passes import ModulePass
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.canonicalize_bindings import CanonicalizeBindings
from te_sched.relax.transform.dead_code_elimination import DeadCodeElimination
from te_sched.relax.transform.private_calls import (
    CallRewriter,
    Rewrite,
    called_private_functions,
    named_function,
)
from te_sched.transform import Sequential


class ExpandTupleArguments(Sequential):
    """The pass that makes parameters of the elements of the tuples which private functions take.

    Parameters
    ----------
    to_run : as that of `DeadCodeElimination`; functions that `FuseTIR` does not fuse stay.

    >>> from te_sched import relax
    >>> info = relax.TensorStructInfo([4], "float32")
    >>> pair = relax.Var("pair", relax.TupleStructInfo([info, info]))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("first", [pair], private=True):
    ...     first = builder.emit_func_output(builder.emit(relax.TupleGetItem(pair, 0)))
    >>> a = relax.Var("a", info)
    >>> with builder.function("main", [a]):
    ...     name = builder.emit_func_output(builder.emit(relax.Call(first, [relax.Tuple([a, a])])))
    >>> [one.name_hint for one in ExpandTupleArguments()(builder.get())["first"].params]
    ['pair_0', 'pair_1']
    """

    def __init__(self, *, to_run: bool = False) -> None:
        cleaning = DeadCodeElimination(to_run=to_run)
        passes = [_ExpandTupleArguments(to_run), CanonicalizeBindings(), cleaning]
        super().__init__(passes, name="ExpandTupleArguments")


class _ExpandTupleArguments(ModulePass, name="ExpandTupleArgumentsInner"):
    def __init__(self, to_run: bool) -> None:
        self.to_run = to_run

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        changed: dict[str, GraphFunction] = {}
        rewrites: dict[str, Rewrite] = {}
        for name, func in called_private_functions(mod, self.to_run).items():
            if any(isinstance(param.struct_info_, TupleStructInfo) for param in func.params):
                changed[name] = _expanded(func)
                rewrites[name] = _rewrite(name, changed[name])
        if not changed:
            return mod
        functions = {
            name: CallRewriter(rewrites).visit_expr(changed.get(str(name), func))
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction)
        }
        return mod.with_functions(functions)


def _rewrite(name: str, func: GraphFunction) -> Rewrite:
    def rewrite(builder: BlockBuilder, call: GraphCall) -> GraphCall:
        args = [part for arg in call.args for part in _elements(builder, arg)]
        return GraphCall(named_function(name, func), tuple(args))

    return rewrite


def _elements(builder: BlockBuilder, arg: GraphValue) -> list[GraphValue]:
    """The values in an argument: its elements, if it is a tuple."""
    info = arg.struct_info
    if not isinstance(info, TupleStructInfo) or isinstance(arg, GlobalVar):
        return [arg]
    parts: Sequence[GraphValue]
    if isinstance(arg, Tuple):
        parts = arg.fields
    else:
        parts = [builder.emit(TupleGetItem(arg, index)) for index in range(len(info.fields))]
    return [element for part in parts for element in _elements(builder, part)]


def _expanded(func: GraphFunction) -> GraphFunction:
    params: list[GraphVar] = []
    bindings: list[Binding] = []

    def expand(name: str, info: StructInfo) -> GraphExpr:
        if isinstance(info, TupleStructInfo):
            parts = [expand(f"{name}_{index}", field) for index, field in enumerate(info.fields)]
            return Tuple(tuple(parts))
        params.append(GraphVar(name, info))
        return params[-1]

    for param in func.params:
        if isinstance(param.struct_info_, TupleStructInfo):
            bindings.append(VarBinding(param, expand(param.name_hint, param.struct_info_)))
        else:
            params.append(param)
    body = func.body
    seq = SeqExpr((BindingBlock(tuple(bindings)), *body.blocks), body.body, body.struct_info_)
    return GraphFunction(tuple(params), seq, func.ret_struct_info, func.is_pure, func.attrs)
