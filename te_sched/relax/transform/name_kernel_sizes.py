"""NameKernelSizes: sizes of a kernel's buffers that are computed by divisions get names.

    A: ((n - 1) // 2 + 1,), n: int64             A: (size,)
    for i in range((n - 1) // 2 + 3)      ->     for i in range(size + 2)

A call gives each buffer its shape, so a kernel need not know of what its sizes were computed,
unless it uses the same variables otherwise. Its loops and guards are those of plain variables,
which schedules split and simplify fast, and the sizes around are no longer passed. Must not know
schedules.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeVar

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Add, BinaryOp, Expr, FloorDiv, IntImm, Sub, Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import ReferenceMapper, replace
from te_sched.passes import ModulePass
from te_sched.relax.core.sizes import variables_in
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
        named = {
            name: (new, places)
            for name, func in mod.functions_of_loops.items()
            if not func.attrs.get("tir.is_scheduled")
            for new, places in [_with_named_sizes(func)]
            if new is not func
        }
        if not named:  # as in graphs of constant shapes, which need not be walked
            return mod
        calls = _Calls()
        graphs = {
            name: func
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction) and func.body is not None
        }
        for graph in graphs.values():
            calls.visit_expr(graph)
        free = [name for name in named if name in calls.called and name not in calls.others]
        if not free:
            return mod
        changed: dict[str, BaseFunc] = {name: named[name][0] for name in free}
        rewriter = _FewerSizes({name: named[name][1] for name in free})
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
        self._kept = kept  # by function, the places of the sizes that are still passed

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call with the sizes that its kernel has."""
        call = self.visit_expr_post_order(op)
        if not is_call_of(call, "relax.call_tir") or len(call.args) < 3:
            return call
        places = self._kept.get(str(call.args[0]))
        shape = call.args[2]
        if places is None or not isinstance(shape, ShapeExpr) or len(places) == len(shape.values):
            return call
        sizes = ShapeExpr(tuple(shape.values[index] for index in places))
        return replace(call, args=(*call.args[:2], *((sizes,) if places else ())))


def _with_named_sizes(func: PrimFunc) -> tuple[PrimFunc, list[int]]:
    """The function, and the places among its scalar parameters of those that it keeps."""
    names = _Names(func)
    if not names.names or names.are_related:
        return func, []
    namer = _Namer(names.names)
    new = namer.visit(func)
    if namer.used & names.replaced:  # the relation of other sizes to the named ones would be lost
        return func, []
    scalars = [param for param in func.params if param not in func.buffer_map]
    kept = [index for index, scalar in enumerate(scalars) if id(scalar) in namer.used]
    handles = [param for param in new.params if param in new.buffer_map]
    return replace(new, params=(*handles, *(scalars[index] for index in kept))), kept


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


class _Names:
    """What replaces the divisions in sizes of the buffers of a function, by their keys: a new
    variable, without the number that the size adds to the division, or that divided further:
    (n + 3) // 4 is (size + 1) // 2 where (n + 1) // 2 is.
    `replaced` are the variables that were divided, by their ids; `are_related` says that two
    dividends share some, so that names would lose a relation.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.names: dict[Hashable, Expr] = {}
        self.replaced: set[int] = set()
        self.are_related = False
        divisions: dict[Hashable, list[_Division]] = {}
        for size in _sizes_of_buffers(func):
            quotient, added = _without_constant(size)
            if isinstance(quotient, FloorDiv) and isinstance(quotient.b, IntImm):
                dividend, offset = _without_constant(quotient.a)
                part = _Division(quotient, dividend, offset, quotient.b.value, added)
                divisions.setdefault(term_key(dividend), []).append(part)
        for parts in divisions.values():
            self._name(sorted(parts, key=lambda part: part.divisor))

    def _name(self, parts: list[_Division]) -> None:
        """Name the quotients of one dividend, the smallest divisor first."""
        first = parts[0]
        variable = Var("size", first.quotient.dtype)
        quotient = variable - first.added if first.added else variable
        for part in parts:
            more = part.offset - first.offset
            if first.divisor > 0 and not part.divisor % first.divisor and not more % first.divisor:
                further, moved = part.divisor // first.divisor, more // first.divisor
                name = quotient + moved if moved else quotient
                name = name if further == 1 else ops.floordiv(name, further)
                self.names[term_key(part.quotient)] = Analyzer().simplify(name)
        divided = {id(var) for var in variables_in(first.dividend)}
        self.are_related |= bool(divided & self.replaced)
        self.replaced |= divided


class _Division(NamedTuple):
    """A size: (dividend + offset) // divisor + added."""

    quotient: FloorDiv
    dividend: Expr
    offset: int
    divisor: int
    added: int


def _without_constant(size: Expr) -> tuple[Expr, int]:
    """A size without the number that is added to it, and that number."""
    if isinstance(size, Add | Sub) and isinstance(size.b, IntImm):
        return size.a, size.b.value if isinstance(size, Add) else -size.b.value
    return size, 0


def _sizes_of_buffers(func: PrimFunc) -> list[Expr]:
    buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    return [size for buffer in buffers for size in buffer.shape]
