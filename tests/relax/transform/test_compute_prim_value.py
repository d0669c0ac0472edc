"""ComputePrimValue: numbers of sizes that functions compute."""

import pytest

from te_sched import IRModule, nd, relax, tir

N = tir.Var("n", "int64")


def computed(value):
    x = relax.Var("x", relax.ShapeStructInfo([N]))
    func = relax.Function([x], relax.PrimValue(value)).with_attr("global_symbol", "main")
    return relax.transform.ComputePrimValue()(IRModule({"main": func}))


def test_a_number_of_sizes_is_computed():
    module = computed(N * 2 + 1)
    assert sorted(map(str, module.functions)) == ["compute_symbolic_expr", "main"]
    machine = relax.VirtualMachine(relax.build(module, "llvm"), nd.cpu())
    assert machine["main"](relax.vm.ShapeTuple([5])) == 11


@pytest.mark.parametrize("value", [4, N])
def test_numbers_and_variables_need_no_function(value):
    assert list(map(str, computed(value).functions)) == ["main"]
