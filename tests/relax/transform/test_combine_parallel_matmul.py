"""CombineParallelMatmul: products of one matrix become one."""

from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.transform.applied import applied, check_values, is_kept


@R.function
def parallel(
    x: R.Tensor((4, 8), "float32"),
    v: R.Tensor((8, 3), "float32"),
    w: R.Tensor((8, 5), "float32"),
    a: R.Tensor((3,), "float32"),
    b: R.Tensor((5,), "float32"),
):
    with R.dataflow():
        y = R.nn.relu(R.add(R.matmul(x, v), a))
        z = R.nn.relu(R.add(R.matmul(x, w), b))
        out = R.concat((y, z), axis=1)
        R.output(out)
    return out


def test_parallel_products_with_bias_and_activation():
    assert applied(transform.CombineParallelMatmul(), parallel) == (
        "(x, v, w, a, b) lv = concat((v, w)); lv1 = matmul(x, lv); lv2 = concat((a, b)); "
        "lv3 = add(lv1, lv2); lv4 = nn.relu(lv3); lv5 = split(lv4); y = lv5[0]; z = lv5[1]; "
        "out* = concat((y, z)); out"
    )
    check_values(transform.CombineParallelMatmul(), parallel)


def test_products_of_which_some_have_a_bias():
    @R.function
    def func(
        x: R.Tensor((4, 8), "float32"),
        v: R.Tensor((8, 3), "float32"),
        w: R.Tensor((8, 3), "float32"),
        a: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            p = R.matmul(x, v)
            y = R.add(p, a)
            z = R.matmul(x, w)
            out = R.add(y, z)
            R.output(out)
        return out

    assert applied(transform.CombineParallelMatmul(), func) == (
        "(x, v, w, a) lv = concat((v, w)); lv1 = matmul(x, lv); lv2 = split(lv1); p = lv2[0]; "
        "y = add(p, a); z = lv2[1]; out* = add(y, z); out"
    )


def test_a_product_that_depends_on_another_one_is_not_combined():
    @R.function
    def func(x: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.matmul(x, v)
            z = R.matmul(x, y)
            out = R.add(y, z)
            R.output(out)
        return out

    assert is_kept(transform.CombineParallelMatmul(), func)


def test_a_check_can_refuse_to_combine():
    seen = []

    def check(source, weights, biases, bindings):
        seen.append((source.name_hint, len(weights), len(biases), len(bindings)))
        return False

    assert is_kept(transform.CombineParallelMatmul(check), parallel)
    assert seen == [("x", 2, 2, 7)]
