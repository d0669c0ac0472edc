"""Groups of bindings become functions: parameters, results, names, order."""

from te_sched import relax, tir, topi
from te_sched.relax.transform import AnnotateTIROpPattern, FuseOps
from tests.relax.transform.fusing import TENSOR, built, chain, fused

PAIR = relax.TupleStructInfo([TENSOR, TENSOR])


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


def test_a_group_stands_after_the_match_that_gives_its_sizes():
    n = tir.Var("n", "int64")

    def write(builder, x, y):
        first = builder.emit_te(topi.exp, x)
        shape = builder.emit(relax.op.tensor_to_shape(y))
        builder.match_cast(shape, relax.ShapeStructInfo([n]))
        scaled = builder.call_te(lambda a, size: topi.multiply(a, size.astype("float32")), first, n)
        return builder.emit_output(scaled)

    assert fused(write, TENSOR, relax.TensorStructInfo([1], "int64"))["main"] == (
        "(x, y) lv1 = tensor_to_shape(y); lv2 = lv1; gv* = fused_exp_<lambda>(x, [n]); gv"
    )
