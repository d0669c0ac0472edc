"""FuseOps: what is fused, and the functions that are made; TVM makes the same ones."""

import pytest

from te_sched import relax, topi
from te_sched.relax.transform import AnnotateTIROpPattern, FuseOps
from tests.relax.transform.fusing import TENSOR, built, chain, fused


def test_element_wise_operators_are_one_function():
    assert fused(chain, TENSOR) == {
        "main": "(x) gv* = fused_add_exp_tanh(x, 1.0); gv",
        "fused_add_exp_tanh": "(x, param_0) lv = add(x, param_0); lv1 = exp(lv); "
        "gv* = tanh(lv1); gv",
    }


def test_a_value_that_leaves_the_block_is_not_hidden():
    def write(builder, x):
        y = builder.emit_output(builder.call_te(topi.exp, x))
        return builder.emit_output((y, builder.emit_te(topi.tanh, y)))

    assert set(fused(write, TENSOR)) == {"main"}


def test_calls_of_libraries_stay():
    def write(builder, x):
        called = builder.emit(relax.Call(relax.ExternFunc("library"), [x], None, [TENSOR]))
        return builder.emit_output(builder.call_te(topi.exp, called))

    assert fused(write, TENSOR) == {"main": "(x) lv = library(x); gv* = exp(lv); gv"}


@pytest.mark.parametrize(("options", "count"), [({"fuse_opt_level": 0}, 1), ({}, 2)])
def test_the_level_decides_whether_anything_is_fused(options, count):
    assert len(fused(chain, TENSOR, **options)) == count


def test_functions_that_are_primitive_stay():
    module = AnnotateTIROpPattern()(built(chain, TENSOR))
    module["main"] = module["main"].with_attr("Primitive", 1)
    assert set(FuseOps()(module).functions) == set(module.functions)
