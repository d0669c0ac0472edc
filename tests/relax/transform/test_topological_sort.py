"""TopologicalSort: the order of bindings."""

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from tests.relax.transform.cleaned import bindings_of, check_kept


def test_topological_sort_rejects_unknown_orders():
    with pytest.raises(GraphError, match="TopologicalSort has no order 'deep'"):
        relax.transform.TopologicalSort("deep")
    with pytest.raises(GraphError, match="TopologicalSort has no direction 'up'"):
        relax.transform.TopologicalSort("breadth-first", "up")


def test_breadth_first_sorts_by_distance():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]), builder.dataflow():
        a = builder.emit(relax.op.add(x, x), "a")
        b = builder.emit(relax.op.add(a, x), "b")
        c = builder.emit(relax.op.exp(x), "c")
        builder.emit_func_output(builder.emit_output(relax.op.add(b, c), "d"))
    breadth = relax.transform.TopologicalSort("breadth-first")(builder.get())
    assert [one.var.name_hint for one in bindings_of(breadth)] == ["a", "c", "b", "d"]
    deep = relax.transform.TopologicalSort("depth-first", "from-outputs")(breadth)
    assert [one.var.name_hint for one in bindings_of(deep)] == ["a", "b", "c", "d"]


def test_the_graph_computes_the_same():
    check_kept(relax.transform.TopologicalSort(), 8)
