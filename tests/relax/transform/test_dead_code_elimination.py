"""DeadCodeElimination: bindings and functions that nothing uses."""

from te_sched import relax
from tests.relax.transform.cleaned import Module, bindings_of, check_kept


def test_together_they_leave_two_calls():
    names = ["EliminateCommonSubexpr", "CanonicalizeBindings", "DeadCodeElimination"]
    module = Module
    for name in names:
        module = getattr(relax.transform, name)()(module)
    assert [str(one.value.op) for one in bindings_of(module)] == ["relax.add", "relax.multiply"]
    assert [str(name) for name in module.functions] == ["main"]


def test_the_graph_computes_the_same():
    check_kept(relax.transform.DeadCodeElimination(), 7)
