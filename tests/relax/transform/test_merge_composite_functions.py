"""MergeCompositeFunctions: calls of functions of one library become one function."""

import pytest

from te_sched import relax
from te_sched.relax.dpl import is_op, wildcard
from te_sched.relax.transform import FuseOpsByPattern, MergeCompositeFunctions
from tests.relax.transform.matched import EXP, built

ADD = is_op("relax.add")(wildcard(), wildcard())


def chain(builder, x):
    y = builder.emit(relax.op.exp(x))
    z = builder.emit(relax.op.sin(y))
    return relax.op.add(builder.emit(relax.op.cos(z)), builder.emit(relax.op.exp(z)))


def merged(*patterns):
    return MergeCompositeFunctions()(FuseOpsByPattern(patterns)(built(chain)))


def test_calls_of_one_library_are_merged():
    sin = is_op("relax.sin")(wildcard())
    module = merged(("lib.exp", EXP), ("lib.sin", sin))
    assert set(map(str, module.functions)) == {
        "main",
        "fused_relax_exp_relax_sin_relax_exp_lib",
    }
    func = module["fused_relax_exp_relax_sin_relax_exp_lib"]
    values = [one.value for one in func.body.blocks[0].bindings]
    assert sum(isinstance(one, relax.Function) for one in values) == 2


def test_calls_with_something_between_are_not_merged():
    sin = is_op("relax.sin")(wildcard())
    cos = is_op("relax.cos")(wildcard())
    module = merged(("lib.sin", sin), ("other.cos", cos), ("lib.add", ADD))
    libraries = {
        str(name): func.attrs["Codegen"]
        for name, func in module.functions_items()
        if name != "main"
    }
    assert sorted(libraries.values()) == ["lib", "lib", "other"]


def test_a_module_without_such_calls_stays():
    module = built(chain)
    assert MergeCompositeFunctions()(module) is module


@pytest.mark.parametrize("bind_constants", [False, True])
def test_constants_that_are_arguments_stay_arguments_of_merged_functions(bind_constants):
    patterns = [("lib.add", ADD), ("lib.exp", EXP)]
    before = built(lambda builder, x: relax.op.exp(relax.op.add(x, relax.const([1.0] * 4))))
    module = MergeCompositeFunctions()(FuseOpsByPattern(patterns, bind_constants)(before))
    (merged,) = [one for _, one in module.functions_items() if "Codegen" in one.attrs]
    assert [one.name_hint for one in merged.params] == ["x", *["param_0"] * (not bind_constants)]
