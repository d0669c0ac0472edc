"""AttachAttrLayoutFreeBuffers: functions are told which arguments are weights."""

import numpy as np
import pytest

from te_sched import relax, topi
from te_sched.relax.transform import AttachAttrLayoutFreeBuffers

INFO = relax.TensorStructInfo([4, 4], "float32")
CONSTANT = relax.const(np.ones((4, 4), "float32"))


def places(*kinds, inputs=1):
    """The places of weights of a function of values of some kinds."""
    params = [relax.Var(f"p{at}", INFO) for at in range(3)]
    values = {
        "input": params[0],
        "weight": params[1],
        "other weight": params[2],
        "constant": CONSTANT,
    }
    builder = relax.BlockBuilder()
    attrs = None if inputs is None else {"num_input": inputs}
    with builder.function("main", params, attrs):
        total = builder.emit_te(
            lambda *given: topi.add(topi.add(*given[:2]), given[-1]),
            *[values[kind] for kind in kinds],
            primfunc_name_hint="total",
        )
        builder.emit_func_output(total)
    functions = AttachAttrLayoutFreeBuffers()(builder.get()).functions_of_loops
    return [func.attrs["layout_free_buffers"] for func in functions.values()]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("input", "weight", "other weight"), [1, 2]),
        (("constant", "input", "weight"), [0, 2]),
        (("input", "input"), []),
    ],
)
def test_weights_and_constants_have_a_free_layout(kinds, expected):
    assert places(*kinds) == [expected]


def test_without_a_number_of_inputs_constants_alone_are_weights():
    assert places("weight", "constant", "input", inputs=None) == [[1]]


def test_a_function_with_other_weights_is_another_one():
    x, w = relax.Var("x", INFO), relax.Var("w", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w], {"num_input": 1}):
        first = builder.emit_te(topi.add, x, w)
        builder.emit_func_output(builder.emit_te(topi.add, first, x))
    functions = AttachAttrLayoutFreeBuffers()(builder.get()).functions_of_loops
    marks = [func.attrs["layout_free_buffers"] for func in functions.values()]
    assert sorted(marks) == [[], [1]]
