"""FuseOps: what is fused, and the functions that are made; TVM makes the same ones."""

import pytest

from te_sched import relax, tir, topi, transform
from te_sched.relax.transform import AnnotateTIROpPattern, FuseOps
from tests.relax.described import described_module

TENSOR = relax.TensorStructInfo([8, 8], "float32")
PAIR = relax.TupleStructInfo([TENSOR, TENSOR])


def built(write, *infos):
    """A module with a function of which `write(builder, *params)` writes the dataflow block."""
    params = [relax.Var(name, info) for name, info in zip("xyz", infos, strict=False)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            output = write(builder, *params)
        builder.emit_func_output(output)
    return builder.get()


def fused(write, *infos, **options):
    """The functions after FuseOps, by name."""
    return described_module(FuseOps(**options)(AnnotateTIROpPattern()(built(write, *infos))))


def chain(builder, x):
    y = builder.emit_te(topi.add, x, relax.const(1.0))
    return builder.emit_output(builder.call_te(topi.tanh, builder.emit_te(topi.exp, y)))


def test_element_wise_operators_are_one_function():
    assert fused(chain, TENSOR) == {
        "main": "(x) gv* = fused_add_exp_tanh(x, 1.0); gv",
        "fused_add_exp_tanh": "(x, param_0) lv = add(x, param_0); lv1 = exp(lv); "
        "gv* = tanh(lv1); gv",
    }


def test_a_product_is_fused_with_what_follows_but_not_before():
    def write(builder, x, y):
        product = builder.emit_te(topi.matmul, builder.emit_te(topi.exp, x), y)
        return builder.emit_output(builder.call_te(topi.nn.relu, product))

    assert fused(write, TENSOR, TENSOR) == {
        "main": "(x, y) lv = exp(x); gv* = fused_matmul_relu(lv, y); gv",
        "fused_matmul_relu": "(lv, y) lv1 = matmul(lv, y); gv* = relu(lv1); gv",
    }


def test_a_reduction_is_fused_with_what_precedes_it_but_not_after():
    def write(builder, x):
        total = builder.emit_te(topi.sum, builder.emit_te(topi.exp, x), 1)
        return builder.emit_output(builder.call_te(topi.tanh, total))

    assert fused(write, TENSOR)["main"] == "(x) lv = fused_exp_sum(x); gv* = tanh(lv); gv"


def test_a_product_does_not_swallow_a_layout_change():
    def write(builder, x):
        product = builder.emit_te(topi.matmul, x, x)
        turned = builder.emit_te(topi.transpose, builder.emit_te(topi.exp, product))
        return builder.emit_output(builder.call_te(topi.tanh, turned))

    assert fused(write, TENSOR)["main"] == (
        "(x) lv = fused_matmul_exp(x); gv* = fused_transpose_tanh(lv); gv"
    )


def test_branches_that_meet_are_fused():
    def write(builder, x):
        y = builder.emit_te(topi.exp, x)
        both = builder.call_te(topi.add, builder.emit_te(topi.sin, y), builder.emit_te(topi.cos, y))
        return builder.emit_output(both)

    assert fused(write, TENSOR)["main"] == "(x) gv* = fused_exp_sin_cos_add(x); gv"


def test_a_value_that_leaves_the_block_is_not_hidden():
    def write(builder, x):
        y = builder.emit_output(builder.call_te(topi.exp, x))
        return builder.emit_output((y, builder.emit_te(topi.tanh, y)))

    assert set(fused(write, TENSOR)) == {"main"}


def test_elements_of_a_tuple_become_parameters():
    def write(builder, x):
        items = [builder.emit(relax.TupleGetItem(x, place)) for place in (0, 1)]
        return builder.emit_output(builder.call_te(topi.exp, builder.emit_te(topi.add, *items)))

    assert fused(write, PAIR) == {
        "main": "(x) lv = x[0]; lv1 = x[1]; gv* = fused_add_exp(lv, lv1); gv",
        "fused_add_exp": "(x_0, x_1) lv2 = add(x_0, x_1); gv* = exp(lv2); gv",
    }


def test_equal_groups_are_one_function():
    def write(builder, x, y):
        ends = [builder.emit_te(topi.tanh, builder.emit_te(topi.exp, one)) for one in (x, y)]
        return builder.emit_output(builder.call_te(topi.matmul, *ends))

    assert fused(write, TENSOR, TENSOR)["main"] == (
        "(x, y) lv = fused_exp_tanh(x); lv1 = fused_exp_tanh(y); gv* = matmul(lv, lv1); gv"
    )


def test_a_group_of_which_nothing_is_used_is_dropped():
    def write(builder, x):
        builder.emit_te(topi.tanh, builder.emit_te(topi.exp, x))
        return builder.emit_output(builder.call_te(topi.sin, x))

    assert fused(write, TENSOR) == {"main": "(x) gv* = sin(x); gv"}


def test_a_group_stands_after_what_it_uses():
    def write(builder, x, y):
        first = builder.emit_te(topi.exp, x)
        other = builder.emit_te(topi.cumsum, y, 0)
        return builder.emit_output(builder.call_te(topi.add, first, other))

    assert fused(write, TENSOR, TENSOR)["main"] == (
        "(x, y) lv1 = cumsum(y); gv* = fused_exp_add(x, lv1); gv"
    )


def test_sizes_that_no_shape_gives_are_passed():
    n = tir.Var("n", "int64")

    def write(builder, x):
        full = builder.emit_te(topi.full, [n, n], "float32", 0.0)
        return builder.emit_output(builder.call_te(topi.exp, full))

    assert fused(write, relax.ShapeStructInfo([n])) == {
        "main": "(x) gv* = fused_full_exp([n]); gv",
        "fused_full_exp": "(tir_vars) lv = full(); gv* = exp(lv); gv",
    }


def test_the_new_function_has_its_own_sizes():
    n = tir.Var("n", "int64")
    module = AnnotateTIROpPattern()(built(chain, relax.TensorStructInfo([n], "float32")))
    func = FuseOps()(module)["fused_add_exp_tanh"]
    size = func.params[0].struct_info.shape.values[0]
    assert size is not n
    assert func.ret_struct_info.shape.values[0] is size


def test_calls_of_libraries_stay():
    def write(builder, x):
        called = builder.emit(relax.Call(relax.ExternFunc("library"), [x], None, [TENSOR]))
        return builder.emit_output(builder.call_te(topi.exp, called))

    assert fused(write, TENSOR) == {"main": "(x) lv = library(x); gv* = exp(lv); gv"}


@pytest.mark.parametrize(("options", "count"), [({"fuse_opt_level": 0}, 1), ({}, 2)])
def test_the_level_decides_whether_anything_is_fused(options, count):
    assert len(fused(chain, TENSOR, **options)) == count


def test_the_size_of_a_function_is_limited():
    with transform.PassContext(config={"relax.FuseOps.max_depth": 2}):
        assert fused(chain, TENSOR)["main"] == "(x) lv = fused_add_exp(x, 1.0); gv* = tanh(lv); gv"


def test_functions_that_are_primitive_stay():
    module = AnnotateTIROpPattern()(built(chain, TENSOR))
    module["main"] = module["main"].with_attr("Primitive", 1)
    assert set(FuseOps()(module).functions) == set(module.functions)
