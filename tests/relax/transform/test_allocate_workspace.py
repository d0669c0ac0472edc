"""Workspaces of library functions."""

import te_sched
from te_sched import relax
from te_sched.relax import transform
from tests.relax.described import described
from tests.relax.transform.lowered import INFO


def test_workspaces_are_allocated_by_callers():
    x = relax.Var("x", INFO)
    library = relax.Function([x], x).with_attrs({"Codegen": "a", "WorkspaceSize": 64})
    module = te_sched.IRModule({"a_exp": library})
    builder = relax.BlockBuilder(module)
    y = relax.Var("y", INFO)
    with builder.function("main", [y]):
        with builder.dataflow():
            call = relax.Call(module.get_global_var("a_exp"), [y])
            out = builder.emit_output(call)
        builder.emit_func_output(out)
    after = transform.AllocateWorkspace()(builder.get())
    assert sorted(after.functions) == ["a_exp1", "main"]
    assert described(after["main"]).endswith("gv* = a_exp1(y, workspace_main); gv")
    assert "WorkspaceSize" not in after["a_exp1"].attrs


def test_the_largest_workspace_serves_all_functions():
    x = relax.Var("x", INFO)
    sizes = {"a": 64, "b": 256}
    functions = {
        name: relax.Function([x], x).with_attrs({"Codegen": "lib", "WorkspaceSize": size})
        for name, size in sizes.items()
    }
    builder = relax.BlockBuilder(te_sched.IRModule(functions))
    y = relax.Var("y", INFO)
    with builder.function("main", [y]):
        with builder.dataflow():
            value = y
            for name in sizes:
                called = builder.get().get_global_var(name)
                value = builder.emit(relax.Call(called, [value]))
            out = builder.emit_output(value)
        builder.emit_func_output(out)
    text = described(transform.AllocateWorkspace()(builder.get())["main"])
    assert text.count("alloc_tensor([256]") == 1
    assert text.count("workspace_main)") == 2


def test_modules_without_workspaces_stay():
    x = relax.Var("x", INFO)
    library = relax.Function([x], x).with_attrs({"Codegen": "a"})
    module = te_sched.IRModule({"a_exp": library})
    assert transform.AllocateWorkspace()(module)["a_exp"] is library
