"""AlterOpImpl and OptimizeLayoutTransform: functions of blocks with other layouts."""

import pytest

from te_sched import relax, topi
from te_sched.errors import GraphError
from te_sched.relax.transform import AlterOpImpl
from tests.relax.described import described
from tests.relax.running import assert_same_results
from tests.relax.transform.altered import TILES, calls, implementation


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
