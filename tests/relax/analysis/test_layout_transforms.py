"""suggest_layout_transforms: the layouts of inputs that fit those of the results."""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.errors import GraphAssertionError, GraphError
from te_sched.relax.analysis import suggest_layout_transforms


def function(make, *sizes):
    inputs = [te.placeholder(one, name=f"p{at}") for at, one in enumerate(sizes)]
    made = make(*inputs)
    return te.create_prim_func([*inputs, *(made if isinstance(made, list) else [made])])


def suggested(func, *layouts):
    """The suggestions by name of block and of buffer."""
    found = suggest_layout_transforms(func, list(layouts))
    return {
        block.name_hint: {
            getattr(key, "name_hint", None) or key.name: str(one).removeprefix("T.index_map")
            for key, one in own.items()
        }
        for block, own in found.items()
    }


def check_applied(func, *layouts):
    """Apply the suggestions, and compare the function with the one without them."""
    sch = tir.Schedule(func)
    for block, own in suggest_layout_transforms(func, list(layouts)).items():
        for key, one in own.items():
            if key is block:
                sch.transform_block_layout(block.name_hint, one)
            else:
                sch.transform_layout(sch.get_block(block.name_hint), key, one)
    new = sch.mod["main"]
    numbers = np.random.default_rng(0)
    old_buffers, new_buffers = list(func.buffer_map.values()), list(new.buffer_map.values())
    maps = {}
    for own in suggest_layout_transforms(func, list(layouts)).values():
        maps |= {key.name: one for key, one in own.items() if hasattr(key, "shape")}
    before, after = [], []
    for old, changed in zip(old_buffers, new_buffers, strict=True):
        array = numbers.uniform(-1, 1, [size.value for size in old.shape]).astype(old.dtype)
        before.append(te_sched.nd.array(array))
        map_ = maps.get(old.name)
        after.append(before[-1] if map_ is None else map_.map_ndarray(before[-1]))
        assert list(after[-1].shape) == [size.value for size in changed.shape]
    te_sched.build(func, target="llvm")(*before)
    te_sched.build(new, target="llvm")(*after)
    for one, other, buffer in zip(before, after, old_buffers, strict=True):
        map_ = maps.get(buffer.name)
        expected = one if map_ is None else map_.map_ndarray(one)
        np.testing.assert_allclose(other.numpy(), expected.numpy(), 1e-5)


def nhwc(n, c, h, w):
    return (n, h, w, c)


def test_inputs_get_the_layout_of_the_result():
    func = function(topi.add, (2, 3, 4, 5), (3, 4, 5))
    found = suggested(func, nhwc)["T_add"]
    assert found["p0"] == "(lambda i0, i1, i2, i3: (i0, i2, i3, i1))"
    assert found["p1"] == "(lambda i0, i1, i2: (i1, i2, i0))"
    check_applied(func, nhwc)


def test_reductions_stay_in_their_places():
    func = function(lambda x: topi.sum(x, axis=[1, 3]), (2, 5, 8, 3))
    (found,) = suggested(func, lambda n, c: (n, c // 4, c % 4)).values()
    assert found["p0"] == "(lambda i0, i1, i2, i3: (i0, i1, i2 // 4, i3, i2 % 4))"
    check_applied(func, lambda n, c: (n, c // 4, c % 4))


def test_layouts_pass_through_intermediate_results():
    func = function(lambda x: topi.tanh(topi.exp(x)), (4, 6))
    found = suggested(func, lambda i, j: (j, i))
    assert len(found) == 2
    assert [sum(name == "p0" for name in one) for one in found.values()] == [0, 1]
    check_applied(func, lambda i, j: (j, i))


def test_a_buffer_is_suggested_once():
    func = function(lambda x: topi.split(x, 2, axis=1), (4, 6, 2))
    swap = [lambda a, b, c: (a, c, b)] * 2
    found = list(suggested(func, *swap).values())
    assert len(found) == 2
    assert sum("p0" in one for one in found) == 1
    check_applied(func, *swap)


@pytest.mark.parametrize(
    ("make", "size", "layout"),
    [
        (topi.exp, (4, 6), lambda i, j: (i, j // 4, j % 4)),  # with padding
        (lambda x: topi.reshape(x, (24,)), (4, 6), lambda i: (i // 5, i % 5)),
    ],
)
def test_without_an_inverse_nothing_is_suggested(make, size, layout):
    assert suggested(function(make, size), layout) == {}


def test_inputs_in_another_order_stay():
    func = function(lambda x: topi.transpose(x, (0, 3, 1, 2)), (2, 4, 5, 3))
    (found,) = suggested(func, nhwc).values()
    assert "p0" not in found
    check_applied(func, nhwc)
    assert suggested(func) == {}


def test_rejects_layouts_that_do_not_fit():
    func = function(topi.exp, (4, 6))
    with pytest.raises(GraphError, match="3 layouts are given for a function of 2 buffers"):
        suggest_layout_transforms(func, [lambda i, j: (j, i)] * 3)
    with pytest.raises(GraphError, match=r"has 1 index, expected 2"):
        suggest_layout_transforms(func, [lambda i: (i,)])
    with pytest.raises(GraphAssertionError, match="the layout of buffer compute is 2"):
        suggest_layout_transforms(func, [2])
