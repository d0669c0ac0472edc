"""States are written in their memory where nothing else reads what is written over."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.transform.update_state_in_place import update_state_in_place
from te_sched.script import from_source

SOURCE = """
@I.ir_module
class Module:
    @R.function
    def main(at: R.Tensor((1, 2), "int64"), row: R.Tensor((1, 2), "float32"),
             cache: R.Tensor((4, 2), "float32")):
        R.func_attr({{"state": {{"cache": "{state}"}}, "initial_state": "first"}})
        with R.dataflow():
            {body}
            gv = (out, (new,))
            R.output(gv)
        return gv

    @R.function
    def first():
        return (R.zeros((4, 2), "float32"),)
"""
ROW = "R.scatter_elements(cache, at, row)"
# Of each body the number of calls that write in place.
BODIES = {
    "a row": (f"new = {ROW}\n            out = R.sum(new)", 1),
    "two rows": (
        f"old = {ROW}\n            more = R.add(at, R.const(1, 'int64'))\n"
        "            new = R.scatter_elements(old, more, row)\n            out = R.sum(new)",
        2,
    ),
    "another name": (f"same = cache\n            new = {ROW}\n            out = R.sum(new)", 1),
    "the old value is used": (f"out = R.sum(cache)\n            new = {ROW}", 0),
    "the old value is a result": (f"out = cache\n            new = {ROW}", 0),
    "the first row is used": (
        f"old = {ROW}\n            new = R.scatter_elements(old, at, row)\n"
        "            out = R.sum(old)",
        0,
    ),
    "another operator": ("new = R.add(cache, row)\n            out = R.sum(new)", 0),
}


def _count(module: te_sched.IRModule) -> int:
    return str(module["main"]).count("R.call_tir_inplace(")


@pytest.mark.parametrize("name", BODIES)
def test_what_is_written_in_place_has_the_values_of_copies(name: str) -> None:
    body, count = BODIES[name]
    module = from_source(SOURCE.format(state="cache", body=body))
    assert _count(update_state_in_place(module)) == count
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    plain = from_source(SOURCE.format(state="cache", body=body))
    plain.update_func(
        plain.get_global_var("main"), plain["main"].without_attr("state").with_attr("x", 1)
    )
    reference = relax.VirtualMachine(relax.build(plain, "llvm"))
    cache = nd.array(np.zeros((4, 2), "float32"))
    for place in (0, 2, 1):
        args = np.full((1, 2), place, "int64"), np.full((1, 2), place + 1, "float32")
        expected, (cache,) = reference["main"](*args, cache)
        np.testing.assert_array_equal(machine["main"](*args).numpy(), expected.numpy())
        np.testing.assert_array_equal(machine.get_state("cache").numpy(), cache.numpy())


def test_arrays_of_callers_are_not_written_in_place() -> None:
    module = from_source(SOURCE.format(state="", body=BODIES["a row"][0]))
    assert _count(update_state_in_place(module)) == 0


def test_the_function_stores_the_changed_elements_alone() -> None:
    module = update_state_in_place(
        from_source(SOURCE.format(state="cache", body=BODIES["a row"][0]))
    )
    text = module["scatter_elements_inplace"].script()
    assert text.count("for ") == 1
    assert "T.grid(T.int64(1), T.int64(2))" in text


def test_modules_without_states_stay_the_same() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    module = te_sched.IRModule({"main": relax.Function([x], x)})
    assert update_state_in_place(module) is module
