"""Replaces variables of sizes by what a call must give them (`relax.size_relations`).

What the relations say is checked when the function is entered, so its body may rely on it: sizes
that must be equal have one name, and kernels see that their loops fit their buffers.

    def main(x: (n, c), w: (4, k)):             def main(x: (n, c), w: (4, k)):
        # n == 4, c == k                            x_1 = match_cast(x, (4, k))
        y = x * w                         ->        y = x_1 * w
"""

from __future__ import annotations

from collections.abc import Iterable

from te_sched.errors import GraphError
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.graph import BindingBlock, GraphFunction, MatchCast, SeqExpr
from te_sched.ir.stmt import IRModule
from te_sched.ir.visitor import replace, substitute
from te_sched.relax.binding import bind_symbolic_vars
from te_sched.relax.core.sizes import variables_in
from te_sched.relax.size_relations import SizeRelation, relations_of


def use_size_relations(mod: IRModule) -> IRModule:
    """The module whose functions have one name for sizes that their relations say are equal.

    >>> from te_sched import relax, tir
    >>> from te_sched.relax.transform.collect_size_relations import collect_size_relations
    >>> x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64")], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit(relax.op.reshape(x, (4, 5))))
    >>> mod = use_size_relations(collect_size_relations(builder.get()))
    >>> mod["main"].body.blocks[0].bindings[0].struct_info
    R.Tensor((20,), dtype="float32")
    """
    changed = {
        name: new
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction) and (new := _with_equal_sizes(func)) is not func
    }
    return mod.with_functions(changed)


def _with_equal_sizes(func: GraphFunction) -> GraphFunction:
    own = {var for param in func.params for var in variables_in(param.struct_info)}
    sizes = _solved(relations_of(func), own)
    if not sizes or not isinstance(func.body, SeqExpr):
        return func
    try:
        bound = bind_symbolic_vars(func, sizes)
    except GraphError:  # no call fits, which the error of a call says better
        return func
    pairs = zip(func.params, bound.params, strict=True)
    casts = [MatchCast(new, old, new.struct_info) for old, new in pairs if new is not old]
    assert isinstance(bound.body, SeqExpr)
    blocks = (BindingBlock(tuple(casts)), *bound.body.blocks)
    return replace(func, body=replace(bound.body, blocks=blocks))


def _solved(relations: Iterable[SizeRelation], own: set[Var]) -> dict[Var, Expr]:
    """What variables of the parameters must be: numbers or expressions of other ones."""
    solution: dict[Var, Expr] = {}
    for relation in relations:
        if relation.kind != "equal":
            continue
        sides = [substitute(side, solution) for side in (relation.size, relation.other)]
        for size, other in (sides, sides[::-1]):
            inside = variables_in(other)
            if type(size) is Var and size in own and size not in inside and own >= {*inside}:
                if isinstance(other, IntImm) and other.value < 0:
                    break
                solution = {
                    var: substitute(value, {size: other}) for var, value in solution.items()
                }
                solution[size] = other
                break
    return solution
