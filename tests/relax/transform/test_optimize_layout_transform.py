"""OptimizeLayoutTransform: changes of layouts that undo each other are removed."""

from te_sched import relax, te, topi
from te_sched.relax.transform import AlterOpImpl, DeadCodeElimination, OptimizeLayoutTransform
from tests.relax.described import described
from tests.relax.running import assert_same_results
from tests.relax.transform.altered import TILES, calls, implementation


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
