"""Sizes that a call must make equal have one name in kernels: no refusal of calls that fit."""

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import TeSchedError
from te_sched.relax import op
from te_sched.relax.transform import LegalizeOps
from te_sched.relax.transform.collect_size_relations import collect_size_relations
from te_sched.relax.transform.use_size_relations import use_size_relations
from tests.relax.transform.test_collect_size_relations import module_of, run


def batch_norm(sizes, x, *weights):
    return relax.TupleGetItem(op.nn.batch_norm(x, *weights, 1), 0)


# The shapes of arguments: sizes of 4 must be equal.
CALLS = {
    "conv1d": ([(2, 4, 5), (3, 4, 2)], lambda _, x, w: op.nn.conv1d(x, w, 1, 1)),
    "conv2d, NHWC": (
        [(1, 5, 5, 4), (3, 2, 2, 4)],
        lambda _, x, w: op.nn.conv2d(x, w, 1, 1, data_layout="NHWC", kernel_layout="OHWI"),
    ),
    "transposed": ([(2, 4, 5), (4, 3, 2)], lambda _, x, w: op.nn.conv1d_transpose(x, w, 2, 1)),
    "einsum": ([(4, 3), (5, 4)], lambda _, x, w: op.einsum((x, w), "ij,ki->kj")),
    "batch_norm": ([(2, 4, 3), (4,), (4,), (4,), (4,)], batch_norm),
}


def machine_of(shapes, call):
    executable = relax.build(module_of(shapes, call), "llvm")
    return relax.VirtualMachine(executable, te_sched.cpu())["main"]


@pytest.mark.parametrize("name", CALLS)
def test_sizes_that_must_be_equal(name):
    shapes, call = CALLS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, "float32") + 1 for shape in shapes]
    other = [np.pad(arrays[0], [(0, 2 * (size == 4)) for size in shapes[0]]), *arrays[1:]]
    expected = machine_of(shapes, call)(*arrays).numpy()
    for first, rest in (("m", 4), (4, "m"), ("m", "p")):
        own = [[first if size == 4 else size for size in shapes[0]]]
        own += [[rest if size == 4 else size for size in shape] for shape in shapes[1:]]
        function = machine_of(own, call)
        np.testing.assert_allclose(function(*arrays).numpy(), expected, rtol=1e-5)
        with pytest.raises(TeSchedError, match="6"):
            function(*other)


def test_channels_of_groups():
    arrays = np.ones((2, 4, 5), "float32"), np.ones((4, 2, 2), "float32")
    for shapes in ([(2, "m", 5), (4, 2, 2)], [(2, 4, 5), (4, "h", 2)], [(2, "m", 5), (4, "h", 2)]):
        function = machine_of(shapes, lambda _, x, w: op.nn.conv1d(x, w, groups=2))
        np.testing.assert_array_equal(function(*arrays).numpy(), np.full((2, 4, 4), 4.0))


def test_einsum_with_other_sizes_of_a_call_is_not_refused():
    x, w = np.arange(4.0, dtype="float32").reshape(2, 2), np.ones((3, 2), "float32")
    call = lambda _, x, w: op.einsum((x, w), "ij,kj->ki")  # noqa: E731
    module = module_of([("p", "p"), ("n", 2)], call)
    for mod in (module, LegalizeOps()(module)):
        np.testing.assert_array_equal(run(mod, x, w).numpy(), np.einsum("ij,kj->ki", x, w))


def test_variables_become_numbers_or_other_variables():
    mod = module_of(
        [("n",), ("m", 2), ("k",)],
        lambda v, x, y, z: op.add(op.reshape(x, (4, 5)), op.reshape(y, (v["k"], 1))),
    )
    new = use_size_relations(collect_size_relations(mod))["main"]
    casts = new.body.blocks[0].bindings
    assert str(casts[0].struct_info) == 'R.Tensor((20,), dtype="float32")'
    assert new.params == mod["main"].params


def test_relations_without_a_variable_alone_change_nothing():
    mod = collect_size_relations(module_of([("n", "m")], lambda _, x: op.reshape(x, (4, 5))))
    assert use_size_relations(mod)["main"] is mod["main"]
