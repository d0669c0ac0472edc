"""AlterOpImpl and OptimizeLayoutTransform: functions of blocks with other layouts."""

import pytest

from te_sched import relax, te, topi
from te_sched.errors import GraphError
from te_sched.relax.transform import (
    AlterOpImpl,
    DeadCodeElimination,
    OptimizeLayoutTransform,
)
from tests.relax.described import described
from tests.relax.running import assert_same_results


def calls(functions, sizes=(16,), count=1):
    """A module that calls functions one after the other: each of its result, or of two `count`."""
    info = relax.TensorStructInfo(sizes, "float32")
    builder = relax.BlockBuilder()
    params = [relax.Var(name, info) for name in "xy"[:count]]
    with builder.function("main", params):
        with builder.dataflow():
            values = params
            for name, function in functions:
                attrs = {"operator_name": name}
                found = builder.emit_te(function, *values, primfunc_attrs=attrs)
                values = [found, *params[1:]]
            out = builder.emit_output(relax.op.negative(found))
        builder.emit_func_output(out)
    return builder.get()


def implementation(function, *sizes):
    """The function for inputs of these sizes."""
    inputs = [te.placeholder(one, name=f"p{at}") for at, one in enumerate(sizes)]
    made = function(*inputs)
    outputs = made if isinstance(made, list) else [made]
    return te.create_prim_func([*inputs, *outputs], index_dtype_override="int64")


TILES = lambda i: (i // 4, i % 4)  # noqa: E731


def test_arguments_and_the_result_change_their_layout():
    before = calls([("add", topi.add)], count=2)
    func = implementation(topi.add, (4, 4), (4, 4))
    after = AlterOpImpl({"add": func}, {"add": [TILES, TILES, TILES]})(before)
    assert described(after["main"]) == (
        "(x, y) lv = layout_transform(x); lv1 = layout_transform(y); "
        "lv2 = add_replacement(lv, lv1); lv = layout_transform(lv2); gv* = negative(lv); gv"
    )
    assert after["add_replacement"].attrs["operator_name"] == "add"
    assert_same_results(before, after)


def test_layouts_that_undo_each_other_are_removed():
    before = calls([("exp", topi.exp), ("tanh", topi.tanh)])
    layouts = {"exp": [None, TILES], "tanh": [TILES, TILES]}

    def tiled_exp(x):
        return te.compute((4, 4), lambda a, b: te.exp(x[a * 4 + b]))

    functions = {
        "exp": implementation(tiled_exp, (16,)),
        "tanh": implementation(topi.tanh, (4, 4)),
    }
    altered = AlterOpImpl(functions, layouts)(before)
    after = DeadCodeElimination()(OptimizeLayoutTransform()(altered))
    assert described(altered["main"]).count("layout_transform") == 3
    assert described(after["main"]).count("layout_transform") == 1
    assert_same_results(before, after)


def test_padding_is_removed_from_results():
    before = calls([("exp", topi.exp), ("tanh", topi.tanh)], (14,))
    functions = {
        name: implementation(one, (4, 4)) for name, one in (("exp", topi.exp), ("tanh", topi.tanh))
    }
    layouts = {"exp": [TILES, TILES], "tanh": [TILES, TILES]}
    altered = AlterOpImpl(functions, layouts)(before)
    assert described(altered["main"]).count("remove_pad") == 2
    assert altered["remove_pad"].attrs["operator_name"] == "remove_pad"
    assert_same_results(before, altered)
    after = DeadCodeElimination()(OptimizeLayoutTransform()(altered))
    assert described(after["main"]).count("remove_pad") == 1
    assert described(after["main"]).count("layout_transform") == 2
    assert_same_results(before, after)


def test_several_results():
    def both(x):
        return [topi.exp(x), topi.tanh(x)]

    info = relax.TensorStructInfo([16], "float32")
    builder = relax.BlockBuilder()
    x = relax.Var("x", info)
    with builder.function("main", [x]):
        pair = builder.emit_te(both, x, primfunc_attrs={"operator_name": "both"})
        builder.emit_func_output(pair)
    before = builder.get()
    func = implementation(both, (4, 4))
    after = AlterOpImpl({"both": func}, {"both": [TILES, TILES, TILES]})(before)
    assert described(after["main"]).count("layout_transform") == 3
    assert_same_results(before, after)
    stays = AlterOpImpl({"both": implementation(both, (16,))}, {"both": []})(before)
    assert "layout_transform" not in described(stays["main"])
    assert_same_results(before, stays)


def transformed(*maps, **attrs):
    """Changes of layouts one after the other, optimized."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo([4, 4], "float32"))
    with builder.function("main", [x]):
        value = x
        for number, one in enumerate(maps):
            more = attrs if number == len(maps) - 1 else {}
            value = builder.emit(relax.op.layout_transform(value, one, **more))
        builder.emit_func_output(builder.emit(relax.op.negative(value)))
    before = builder.get()
    after = DeadCodeElimination()(OptimizeLayoutTransform()(before))
    assert_same_results(before, after)
    return described(after["main"]).count("layout_transform")


def test_only_layouts_that_undo_each_other_are_removed():
    def flat(i, j):
        return (i * 4 + j,)

    assert transformed(flat, TILES) == 0
    assert transformed(lambda i, j: (j, i), lambda i, j: (j, i)) == 0
    assert transformed(flat, lambda i: (i % 4, i // 4)) == 2
    assert transformed(flat, lambda i: (i // 2, i % 2)) == 2
    assert transformed(flat, TILES, pad_value=0.0) == 0


@pytest.mark.parametrize(
    ("layouts", "separators", "fault"),
    [
        ([TILES], None, r"has 1 layouts for 2 buffers"),
        ([TILES, TILES], [[1]], r"has 1 axis separators for 2 buffers"),
        ([3, TILES], None, r"a layout of operator exp is 3"),
    ],
)
def test_rejects_other_numbers_of_layouts(layouts, separators, fault):
    func = implementation(topi.exp, (4, 4))
    with pytest.raises(GraphError, match=fault):
        AlterOpImpl({"exp": func}, {"exp": layouts}, {"exp": separators})(
            calls([("exp", topi.exp)])
        )


def test_rejects_results_of_unknown_shape():
    before = calls([("exp", topi.exp)])
    info = relax.TensorStructInfo(None, "float32", ndim=1)
    builder = relax.BlockBuilder(before)
    x = relax.Var("x", info)
    with builder.function("other", [x]):
        call = relax.call_tir(before.get_global_var("exp"), [x], info)
        builder.emit_func_output(builder.emit(call))
    func = implementation(topi.exp, (4, 4))
    with pytest.raises(GraphError, match="the layout of a result is changed"):
        AlterOpImpl({"exp": func}, {"exp": [TILES, TILES]})(builder.get())
