"""DeadCodeElimination: bindings and functions that nothing uses."""

from te_sched import IRModule, relax
from te_sched.relax.transform.dead_code_elimination import without_unused_functions
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


def test_functions_that_only_unused_ones_call_are_left_out():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    callee = None
    for name in ("inner", "outer", "other", "main"):
        param = relax.Var(x.name_hint, x.struct_info)
        with builder.function(name, [param], private=True) as own:
            result = param if callee is None else builder.emit(relax.Call(callee, [param]))
            whole = builder.emit_func_output(result)
        callee = whole if name != "other" else None
        assert own == whole
    module = builder.get()
    used = without_unused_functions(module, lambda name, func: name == "outer")
    assert sorted(map(str, used.functions)) == ["inner", "outer"]
    partial = IRModule({"outer": module["outer"], "main": module["main"]})
    kept = without_unused_functions(partial, lambda name, func: name == "main")
    assert sorted(map(str, kept.functions)) == ["main", "outer"]  # a function is missing
