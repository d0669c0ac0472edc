"""NameKernelSizes: sizes of a kernel's buffers that are computed by divisions get names.

    A: ((n - 1) // 2 + 1,), n: int64             A: (size,)
    for i in range((n - 1) // 2 + 3)      ->     for i in range(size + 2)

A call gives each buffer its shape, so a kernel need not know of what its sizes were computed. Its
loops and guards are those of plain variables, which schedules split and simplify fast, and sizes
that nothing else needs are no longer passed. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Add, BinaryOp, Expr, FloorDiv, IntImm, Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import ReferenceMapper, replace
from te_sched.passes import ModulePass
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprMutator, PyExprVisitor

_Sum = TypeVar("_Sum", bound=BinaryOp)


class NameKernelSizes(ModulePass):
    """The pass that names sizes which are computed by divisions, in functions of blocks that only
    `R.call_tir` calls and that have no schedule.

    >>> from te_sched import relax, topi, tir
    >>> x = relax.Var("x", relax.TensorStructInfo([(tir.Var("n", "int64") + 1) // 2], "float32"))
    >>> n = relax.Var("s", relax.ShapeStructInfo([x.struct_info.shape[0].a.a]))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, n]):
    ...     gv = builder.emit_func_output(builder.emit_te(topi.exp, x))
    >>> module = NameKernelSizes()(builder.get())
    >>> module["exp"].buffer_map[module["exp"].params[0]].shape, len(module["exp"].params)
    ((size,), 2)
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module whose kernels have named sizes, and whose calls pass fewer."""
        calls = _Calls()
        graphs = {
            name: func
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction) and func.body is not None
        }
        for graph in graphs.values():
            calls.visit_expr(graph)
        changed: dict[str, BaseFunc] = {}
        kept: dict[str, list[int]] = {}  # the places of the sizes that are still passed
        for name, func in mod.functions_of_loops.items():
            is_free = name in calls.called and name not in calls.others
            if is_free and not func.attrs.get("tir.is_scheduled"):
                new, places = _with_named_sizes(func)
                if new is not func:
                    changed[name], kept[name] = new, places
        if not changed:
            return mod
        rewriter = _FewerSizes(kept)
        changed.update({name: rewriter.visit_expr(graph) for name, graph in graphs.items()})
        return mod.with_functions(changed)


class _Calls(PyExprVisitor):
    """The functions that `R.call_tir` calls, and those that are used in other ways."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.others: set[str] = set()

    def visit_call_(self, op: GraphCall) -> None:
        """A call: its first argument is the function that it calls."""
        if not is_call_of(op, "relax.call_tir"):
            super().visit_call_(op)
            return
        self.called.add(str(op.args[0]))
        for arg in op.args[1:]:
            self.visit_expr(arg)

    def visit_global_var_(self, op: GlobalVar) -> None:
        """A function that is used."""
        self.others.add(str(op))


class _FewerSizes(PyExprMutator):
    """Calls without the sizes that kernels no longer have."""

    def __init__(self, kept: dict[str, list[int]]) -> None:
        super().__init__()
        self._kept = kept

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call with the sizes that its kernel has."""
        call = self.visit_expr_post_order(op)
        if not is_call_of(call, "relax.call_tir") or len(call.args) < 3:
            return call
        places = self._kept.get(str(call.args[0]))
        shape = call.args[2]
        if places is None or not isinstance(shape, ShapeExpr) or len(places) == len(shape.values):
            return call
        sizes = ShapeExpr(tuple(shape.values[place] for place in places))
        return replace(call, args=(*call.args[:2], *((sizes,) if places else ())))


def _with_named_sizes(func: PrimFunc) -> tuple[PrimFunc, list[int]]:
    """The function, and the places among its scalar parameters of those that it keeps."""
    scalars = [param for param in func.params if param not in func.buffer_map]
    namer = _Namer(_names(func))
    if not namer.names:
        return func, []
    new = namer.visit(func)
    kept = [place for place, scalar in enumerate(scalars) if id(scalar) in namer.used]
    handles = [param for param in new.params if param in new.buffer_map]
    return replace(new, params=(*handles, *(scalars[place] for place in kept))), kept


class _Namer(ReferenceMapper):
    """Replaces divisions by their names, and simplifies sums around them."""

    def __init__(self, names: dict[Hashable, Expr]) -> None:
        self.names = names
        self.used: set[int] = set()  # ids of variables
        self._analyzer = Analyzer()

    def visit_Var(self, node: Var) -> Expr:
        self.used.add(id(node))
        return node

    def visit_FloorDiv(self, node: FloorDiv) -> Expr:
        name = self.names.get(term_key(node))
        return self._sum(node) if name is None else name

    def _sum(self, node: _Sum) -> Expr:
        new = self.generic(node)
        return new if new is node else self._analyzer.simplify(new)

    visit_Add = visit_Sub = visit_Mul = visit_FloorMod = _sum


def _names(func: PrimFunc) -> dict[Hashable, Expr]:
    """What replaces the divisions in sizes of buffers, by their keys: a new variable, without the
    number that the size adds to the division.
    """
    names: dict[Hashable, Expr] = {}
    for param in func.params:
        buffer = func.buffer_map.get(param)
        for size in () if buffer is None else buffer.shape:
            division, added = size, 0
            if isinstance(size, Add) and isinstance(size.b, IntImm):
                division, added = size.a, size.b.value
            if isinstance(division, FloorDiv) and term_key(division) not in names:
                variable = Var("size", size.dtype)
                names[term_key(division)] = variable - added if added else variable
    return names
