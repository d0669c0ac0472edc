"""The pass `RemoveRedundantReshape`."""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.graph import GraphExpr, GraphFunction
from te_sched.relax.core.sizes import are_equal_sizes, sizes_of
from te_sched.relax.core.values import shape_of_value
from te_sched.relax.dpl.pattern import Matches, is_op, wildcard
from te_sched.relax.op import reshape
from te_sched.relax.transform.rewriting import Rules, RulesPass


class RemoveRedundantReshape(RulesPass):
    """The pass that removes reshapes to the same shape, and all but the last of several.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2, 4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = builder.emit(relax.op.reshape(x, [8]))
    ...     gv = builder.emit_func_output(builder.emit(relax.op.reshape(y, [4, 2])))
    >>> func = RemoveRedundantReshape()(builder.get())["main"]
    >>> len(func.body.blocks[0].bindings)
    1
    """

    def rules(self, func: GraphFunction) -> Rules:
        """The rules for a function."""
        return _rules()


def _rules() -> Rules:
    source, inner, shape = wildcard(), wildcard(), wildcard()
    twice = is_op("relax.reshape")(is_op("relax.reshape")(source, inner), shape)
    once = is_op("relax.reshape")(source, shape)
    analyzer = Analyzer()

    def last_of_two(expr: GraphExpr, matches: Matches) -> GraphExpr:
        sizes = sizes_of(matches[shape].struct_info)
        return expr if sizes is None else reshape(matches[source], sizes)

    def to_the_same(expr: GraphExpr, matches: Matches) -> GraphExpr:
        source_shape = shape_of_value(matches[source])
        is_same = are_equal_sizes(source_shape, shape_of_value(expr), analyzer)
        value: GraphExpr = matches[source]
        return value if is_same else expr

    return [(once, to_the_same), (twice, last_of_two)]
